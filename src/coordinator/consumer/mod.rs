//! Groups of the new consumer protocol (KIP-848; Kafka's `ConsumerGroup`), and classic members in them.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetCommitRequest, SyncGroupRequest,
};

use super::groups::{Call, GroupTurn, Groups, GroupsHard};
use super::machine::Token;
use super::records::GroupRecord;
use super::{GroupId, MemberId};
use crate::types::{Timestamp, TopicName};

/// What the records of a group add up to.
#[derive(Debug, Default)]
pub struct ConsumerGroup {}

/// What a group needs beside its records.
#[derive(Debug, Default)]
pub struct ConsumerSessions {}

/// Timers of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConsumerTimer {
    /// A member was not heard of.
    Session(MemberId),
    /// A member did not let its partitions go in time.
    Rebalance(MemberId),
    /// A member of the classic protocol did not join again in time.
    Join(MemberId),
    /// A member of the classic protocol did not ask for its assignment in time.
    Sync(MemberId),
}

/// ConsumerGroupHeartbeat, also the first one of a group that does not exist or is a classic one yet.
pub(super) fn heartbeat(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<ConsumerGroupHeartbeatRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("consumer")
}

/// JoinGroup of a member of the classic protocol in a group of the new one.
pub(super) fn classic_join(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<JoinGroupRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("consumer")
}

/// SyncGroup of a member of the classic protocol in a group of the new one.
pub(super) fn classic_sync(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<SyncGroupRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("consumer")
}

/// Heartbeat of a member of the classic protocol in a group of the new one.
pub(super) fn classic_heartbeat(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<HeartbeatRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("consumer")
}

/// LeaveGroup of members of the classic protocol (or of static members of either) in a group of the new one.
pub(super) fn classic_leave(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<LeaveGroupRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("consumer")
}

/// ConsumerGroupDescribe for a group of this kind.
pub(super) fn describe(shard: &Groups, turn: &GroupTurn<'_>, group: &GroupId) -> DescribedGroup {
    let _ = (shard, turn, group);
    unimplemented!("consumer")
}

/// Gives a record of types 3 to 8 and 16 its meaning.
pub(super) fn apply(hard: &mut GroupsHard, record: &GroupRecord) {
    let _ = (hard, record);
    unimplemented!("consumer")
}

/// Topics were created, deleted or grown: groups that subscribe to them get a new epoch.
pub(super) fn image_changed(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let _ = (shard, turn);
    unimplemented!("consumer")
}

/// A timer of this kind of group has run out.
pub(super) fn expired(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    timer: ConsumerTimer,
) {
    let _ = (shard, turn, group, timer);
    unimplemented!("consumer")
}

/// The shard was just read from its log: makes the soft state of every group of this kind and sets its timers.
pub(super) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let _ = (shard, turn);
    unimplemented!("consumer")
}

/// Whether an offset may be committed for a group of this kind; what is allowed also keeps the member's session alive.
pub(super) fn check_commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
) -> Result<(), ResponseError> {
    let _ = (shard, turn, call);
    unimplemented!("consumer")
}

/// Whether offsets of a group of this kind may be read (OffsetFetch 9 names a member and its epoch).
pub(super) fn check_fetch(
    hard: &GroupsHard,
    group: &OffsetFetchRequestGroup,
) -> Result<(), ResponseError> {
    let _ = (hard, group);
    unimplemented!("consumer")
}

/// True if a live member of the group subscribes to the topic: its offsets can neither be deleted nor expire.
pub(super) fn is_subscribed(
    shard: &Groups,
    hard: &GroupsHard,
    group: &GroupId,
    topic: &TopicName,
) -> bool {
    let _ = (shard, hard, group, topic);
    unimplemented!("consumer")
}

/// When the group became empty; `None` while it has members (offsets of a group with members do not expire but for
/// topics that it no longer subscribes to).
pub(super) fn empty_since(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> Option<Timestamp> {
    let _ = (shard, hard, group);
    unimplemented!("consumer")
}

/// Deletes the group, which has no offsets any more. `NON_EMPTY_GROUP` while it has members.
pub(super) fn delete(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
) -> Result<(), ResponseError> {
    let _ = (shard, turn, group);
    unimplemented!("consumer")
}

/// State of the group as ListGroups names it.
pub(super) fn state(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> &'static str {
    let _ = (shard, hard, group);
    unimplemented!("consumer")
}

/// Number of members.
pub(super) fn members(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> usize {
    let _ = (shard, hard, group);
    unimplemented!("consumer")
}
