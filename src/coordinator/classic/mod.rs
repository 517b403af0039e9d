//! Groups of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup (Kafka's `ClassicGroup`).

use kafka_protocol::ResponseError;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, OffsetCommitRequest, SyncGroupRequest,
};

use super::groups::{Call, GroupTurn, Groups, GroupsHard};
use super::machine::Token;
use super::records::ClassicGroupValue;
use super::{GroupId, MemberId};
use crate::types::{Timestamp, TopicName};

/// A group as it lives.
#[derive(Debug)]
pub struct ClassicGroup {}

/// Timers of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ClassicTimer {
    /// A member was not heard of.
    Session(MemberId),
    /// A member that was given an id did not come back with it.
    Pending(MemberId),
    /// Members did not join in time.
    Join,
    /// Members did not ask for their assignment in time.
    Sync,
}

/// JoinGroup for a group that is not of the new protocol; the answer may come in a later turn.
pub(super) fn join(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<JoinGroupRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("classic")
}

/// SyncGroup; the answer may come in a later turn.
pub(super) fn sync(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<SyncGroupRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("classic")
}

/// Heartbeat.
pub(super) fn heartbeat(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<HeartbeatRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("classic")
}

/// LeaveGroup.
pub(super) fn leave(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<LeaveGroupRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("classic")
}

/// DescribeGroups for a group of this kind.
pub(super) fn describe(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> DescribedGroup {
    let _ = (shard, hard, group);
    unimplemented!("classic")
}

/// Gives a record of type 2 its meaning.
pub(super) fn apply(hard: &mut GroupsHard, group: &GroupId, value: Option<&ClassicGroupValue>) {
    let _ = (hard, group, value);
    unimplemented!("classic")
}

/// A timer of this kind of group has run out.
pub(super) fn expired(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    timer: ClassicTimer,
) {
    let _ = (shard, turn, group, timer);
    unimplemented!("classic")
}

/// The shard was just read from its log: makes the soft state of every group of this kind and sets its timers.
pub(super) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let _ = (shard, turn);
    unimplemented!("classic")
}

/// Whether an offset may be committed for a group of this kind; what is allowed also keeps the member's session alive.
pub(super) fn check_commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
) -> Result<(), ResponseError> {
    let _ = (shard, turn, call);
    unimplemented!("classic")
}

/// Whether offsets of a group of this kind may be read (OffsetFetch 9 names a member and its epoch).
pub(super) fn check_fetch(
    hard: &GroupsHard,
    group: &OffsetFetchRequestGroup,
) -> Result<(), ResponseError> {
    let _ = (hard, group);
    unimplemented!("classic")
}

/// True if a live member of the group subscribes to the topic: its offsets can neither be deleted nor expire.
pub(super) fn is_subscribed(
    shard: &Groups,
    hard: &GroupsHard,
    group: &GroupId,
    topic: &TopicName,
) -> bool {
    let _ = (shard, hard, group, topic);
    unimplemented!("classic")
}

/// When the group became empty; `None` while it has members (offsets of a group with members do not expire but for
/// topics that it no longer subscribes to).
pub(super) fn empty_since(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> Option<Timestamp> {
    let _ = (shard, hard, group);
    unimplemented!("classic")
}

/// Deletes the group, which has no offsets any more. `NON_EMPTY_GROUP` while it has members.
pub(super) fn delete(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
) -> Result<(), ResponseError> {
    let _ = (shard, turn, group);
    unimplemented!("classic")
}

/// State of the group as ListGroups names it.
pub(super) fn state(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> &'static str {
    let _ = (shard, hard, group);
    unimplemented!("classic")
}

/// Number of members.
pub(super) fn members(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> usize {
    let _ = (shard, hard, group);
    unimplemented!("classic")
}
