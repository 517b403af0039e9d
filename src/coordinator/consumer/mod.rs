//! Groups of the new consumer protocol (KIP-848; Kafka's `ConsumerGroup`), and classic members in them.
//!
//! The coordinator decides who has what. Each change of members, subscriptions or topics begins an epoch of the group; a
//! target assignment is made for it; each member is taken towards its part of the target, heartbeat by heartbeat, such that
//! no partition has two owners.
//!
//! What is here only forwards; `heartbeat` is where to begin reading.

mod admission;
mod apply;
mod assign;
mod classic_join;
mod classic_members;
mod commit;
mod describe;
mod embedded;
mod epoch;
mod error;
mod fencing;
mod footprint;
mod group;
mod heartbeat;
mod image;
mod limits;
mod member;
mod metadata_hash;
mod migrate;
mod partitions;
mod progress;
mod reconcile;
mod removal;
mod static_members;
mod subscription;
mod target;
#[cfg(test)]
mod tests;
mod timers;
mod validate;

pub(super) use footprint::{heartbeat_grows, join_grows};
pub use group::{ConsumerGroup, ConsumerSessions};
pub use image::SeenTopics;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    OffsetCommitRequest, SyncGroupRequest, TxnOffsetCommitRequest,
};

use limits::Limits;

use super::groups::{Call, GroupTurn, Groups, GroupsHard, HardGroup};
use super::machine::Token;
use super::records::GroupRecord;
use super::{GroupId, MemberId};
use crate::types::TopicName;

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
    heartbeat::heartbeat(shard, turn, &call, token);
}

/// JoinGroup of a member of the classic protocol in a group of the new one.
pub(super) fn classic_join(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<JoinGroupRequest>,
    token: Token,
) {
    classic_join::join(shard, turn, call, token);
}

/// SyncGroup of a member of the classic protocol in a group of the new one.
pub(super) fn classic_sync(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<SyncGroupRequest>,
    token: Token,
) {
    let _ = shard;
    let answer = classic_members::sync(turn, &call);
    turn.answer(token, answer);
}

/// Heartbeat of a member of the classic protocol in a group of the new one.
pub(super) fn classic_heartbeat(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<HeartbeatRequest>,
    token: Token,
) {
    let _ = shard;
    let answer = classic_members::heartbeat(turn, &call);
    turn.answer(token, answer);
}

/// LeaveGroup of members of the classic protocol (or of static members of either) in a group of the new one.
pub(super) fn classic_leave(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<LeaveGroupRequest>,
    token: Token,
) {
    let answer = classic_members::leave(shard, turn, &call);
    turn.answer(token, answer);
}

/// ConsumerGroupDescribe for a group of this kind.
pub(super) fn describe(shard: &Groups, turn: &GroupTurn<'_>, group: &GroupId) -> DescribedGroup {
    describe::describe(shard, turn, group)
}

/// Gives a record of types 3 to 8 and 16 its meaning.
pub(super) fn apply(hard: &mut GroupsHard, record: &GroupRecord) {
    apply::apply(hard, record);
}

/// Topics were created, deleted or grown: groups that subscribe to them get a new epoch.
pub(super) fn image_changed(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    image::changed(shard, turn);
}

/// A timer of this kind of group has run out.
pub(super) fn expired(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    timer: ConsumerTimer,
) {
    timers::expired(shard, turn, group, timer);
}

/// The shard was just read from its log: makes the soft state of every group of this kind and sets its timers.
pub(super) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    image::see(shard, turn);
    timers::loaded(shard, turn);
}

/// Whether an offset may be committed for a group of this kind; what is allowed also keeps the member's session alive.
pub(super) fn check_commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
) -> Result<(), ResponseError> {
    let _ = shard;
    commit::check_commit(turn, call)
}

/// Whether an offset may be committed in a transaction for a group of this kind.
pub(super) fn check_commit_in_transaction(
    turn: &GroupTurn<'_>,
    request: &TxnOffsetCommitRequest,
) -> Result<(), ResponseError> {
    commit::check_commit_in_transaction(turn, request)
}

/// Whether offsets of a group of this kind may be read (OffsetFetch 9 names a member and its epoch).
pub(super) fn check_fetch(
    hard: &GroupsHard,
    group: &OffsetFetchRequestGroup,
) -> Result<(), ResponseError> {
    commit::check_fetch(hard, group)
}

/// True if a live member of the group subscribes to the topic: its offsets can neither be deleted nor expire.
pub(super) fn is_subscribed(
    shard: &Groups,
    hard: &GroupsHard,
    group: &GroupId,
    topic: &TopicName,
) -> bool {
    let _ = shard;
    consumer_group(hard, group.as_str()).is_some_and(|group| group.is_subscribed(topic))
}

/// Deletes the group, which has no offsets any more. `NON_EMPTY_GROUP` while it has members.
pub(super) fn delete(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
) -> Result<(), ResponseError> {
    let known =
        consumer_group(turn.hard(), group.as_str()).ok_or(ResponseError::GroupIdNotFound)?;
    if !known.is_empty() {
        return Err(ResponseError::NonEmptyGroup);
    }
    removal::write(turn, group);
    shard.consumer.remove(group);
    Ok(())
}

/// State of the group as ListGroups names it.
pub(super) fn state(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> &'static str {
    let _ = shard;
    consumer_group(hard, group.as_str()).map_or("Dead", ConsumerGroup::state)
}

/// Number of members.
pub(super) fn members(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> usize {
    let _ = shard;
    consumer_group(hard, group.as_str()).map_or(0, |group| group.members().len())
}

/// A group of this kind.
fn consumer_group<'a>(hard: &'a GroupsHard, group: &str) -> Option<&'a ConsumerGroup> {
    match hard.groups.get(group)? {
        HardGroup::Consumer(group) => Some(group),
        HardGroup::Classic(_) => None,
    }
}

fn sessions<'a>(shard: &'a mut Groups, group: &GroupId) -> &'a mut ConsumerSessions {
    if !shard.consumer.contains_key(group) {
        shard.consumer.insert(group.clone(), ConsumerSessions::default());
    }
    shard.consumer.get_mut(group).expect("inserted above")
}

fn limits_of(shard: &Groups, turn: &GroupTurn<'_>, group: &GroupId) -> Limits {
    Limits::of(&shard.settings, turn.image, group.as_str())
}
