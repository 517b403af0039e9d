//! What a group means for its committed offsets: who may commit, and which may go.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{OffsetCommitRequest, TxnOffsetCommitRequest};

use super::group::{ClassicGroup, State};
use crate::coordinator::groups::{Call, GroupTurn, Groups, GroupsHard};
use crate::coordinator::{GroupId, MemberId};
use crate::types::{Timestamp, TopicName};

/// Since this version a commit in the name of a group that does not exist is answered by its own error.
const GROUP_ID_NOT_FOUND_SINCE: i16 = 9;

/// From when on the retention of a group's offsets counts, but for topics that [`is_subscribed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordinator) enum OffsetExpiry {
    /// From the commit of each.
    Committed,
    /// From the time at which the last member left.
    Since(Timestamp),
    /// They do not expire.
    Never,
}

/// Whether an offset may be committed for a group of this kind, or one that does not exist; what is allowed also keeps
/// the member's session alive.
pub(in crate::coordinator) fn check_commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
) -> Result<(), ResponseError> {
    let request = &call.request;
    let Some(mut step) = super::find(shard, turn, &request.group_id) else {
        return match request.generation_id_or_member_epoch {
            // A consumer that only stores offsets.
            ..0 => Ok(()),
            _ if call.version >= GROUP_ID_NOT_FOUND_SINCE => Err(ResponseError::GroupIdNotFound),
            _ => Err(ResponseError::IllegalGeneration),
        };
    };
    if let Some(member) = may_commit(step.group, request)? {
        step.touch(&member);
    }
    Ok(())
}

/// The member that may commit; `None` for who is no member and may.
fn may_commit(
    group: &ClassicGroup,
    request: &OffsetCommitRequest,
) -> Result<Option<MemberId>, ResponseError> {
    let generation = request.generation_id_or_member_epoch;
    if generation < 0 && group.state == State::Empty {
        // An administrator, or a consumer that only stores offsets.
        return Ok(None);
    }
    let instance = request.group_instance_id.as_deref();
    let member = group.check_member(&request.member_id, instance)?;
    if generation != group.generation {
        return Err(ResponseError::IllegalGeneration);
    }
    match group.state {
        // It knows the generation, so it has been told to ask for its assignment first.
        State::CompletingRebalance => Err(ResponseError::RebalanceInProgress),
        State::Empty | State::PreparingRebalance | State::Stable => Ok(Some(member)),
    }
}

/// Whether an offset may be committed in a transaction for a group of this kind. Its state is no matter, and requests of
/// versions that cannot name a member are taken for what they say.
pub(in crate::coordinator) fn check_commit_in_transaction(
    shard: &Groups,
    request: &TxnOffsetCommitRequest,
) -> Result<(), ResponseError> {
    let group = shard.classic.get(request.group_id.as_str());
    let group = group.ok_or(ResponseError::IllegalGeneration)?;
    let instance = request.group_instance_id.as_deref();
    let names_nobody = request.member_id.is_empty() && instance.is_none();
    if request.generation_id < 0 && (group.state == State::Empty || names_nobody) {
        return Ok(());
    }
    group.check_member(&request.member_id, instance)?;
    if request.generation_id == group.generation {
        Ok(())
    } else {
        Err(ResponseError::IllegalGeneration)
    }
}

/// Whether offsets of a group of this kind may be read: always. Member and epoch of OffsetFetch 9 are the new protocol's.
pub(in crate::coordinator) fn check_fetch(
    hard: &GroupsHard,
    group: &OffsetFetchRequestGroup,
) -> Result<(), ResponseError> {
    let _ = (hard, group);
    Ok(())
}

/// Whether OffsetDelete may touch a group: consumers are asked per topic, other members are not understood.
pub(in crate::coordinator) fn check_delete_offsets(
    shard: &Groups,
    group: &GroupId,
) -> Result<(), ResponseError> {
    match shard.classic.get(group) {
        Some(group) if group.state != State::Empty && !group.has_consumers() => {
            Err(ResponseError::NonEmptyGroup)
        }
        Some(_) => Ok(()),
        None => Err(ResponseError::GroupIdNotFound),
    }
}

/// True if a live member of the group subscribes to the topic: its offsets can neither be deleted nor expire. Consumers
/// whose subscription cannot be read might subscribe to anything.
pub(in crate::coordinator) fn is_subscribed(
    shard: &Groups,
    _hard: &GroupsHard,
    group: &GroupId,
    topic: &TopicName,
) -> bool {
    shard.classic.get(group).is_some_and(|group| match &group.topics {
        Some(topics) => topics.contains(topic.as_str()),
        None => group.has_consumers(),
    })
}

/// From when on the retention of the group's offsets counts.
pub(in crate::coordinator) fn offset_expiry(shard: &Groups, group: &GroupId) -> OffsetExpiry {
    let Some(group) = shard.classic.get(group) else { return OffsetExpiry::Committed };
    match group.state {
        // Nobody has ever joined: offsets are all that it is for.
        _ if group.protocol_type.is_none() => OffsetExpiry::Committed,
        State::Empty if group.state_since.get() < 0 => OffsetExpiry::Committed,
        State::Empty => OffsetExpiry::Since(group.state_since),
        State::Stable if group.has_consumers() && group.topics.is_some() => OffsetExpiry::Committed,
        State::Stable | State::PreparingRebalance | State::CompletingRebalance => {
            OffsetExpiry::Never
        }
    }
}

/// Deletes the group, which has no offsets any more. `NON_EMPTY_GROUP` while it has members.
pub(in crate::coordinator) fn delete(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    id: &GroupId,
) -> Result<(), ResponseError> {
    let mut step = super::find(shard, turn, id.as_str()).ok_or(ResponseError::GroupIdNotFound)?;
    if step.group.state != State::Empty {
        return Err(ResponseError::NonEmptyGroup);
    }
    step.cancel_all_timers();
    step.write_tombstone();
    shard.classic.remove(id);
    Ok(())
}
