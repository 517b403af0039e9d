//! Groups of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup (Kafka's `ClassicGroup`).
//!
//! ```text
//!            join                 all have joined, or time is up           leader's SyncGroup
//! Empty ─────────────> Preparing ─────────────────────────────> Completing ──────────────────> Stable
//!   ^                  Rebalance <───────────────────────────── Rebalance                        │
//!   │  nobody has joined │   ^    join with new protocols, member gone, SyncGroups missing         │
//!   └────────────────────┘   └───────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A group lives in [`ClassicGroup`] (soft state). What is written of it is the last complete generation, see `persist`. An answer
//! that depends on a record is given in the turn that writes it, so it leaves when the record is durable.
//!
//! A heartbeat costs three look-ups and a timer that moves, and copies no text. Work that grows with the group is done once for each generation.
//! A member costs about 1 KiB with its timers, ids of 43 bytes and a subscription of 11 included; longer ones cost their length,
//! subscription and assignment once, client id and host twice (the second time in the record that the shard holds). A group
//! costs another 2 KiB. `footprint` keeps the sum.
//!
//! Deviations from Kafka: with `group.initial.rebalance.delay.ms=0` the first join is answered in the turn that brings it, not
//! after a timer of 0 ms. A group whose first JoinGroup is refused does not come into being. Requests that are given up for a
//! newer one of the same member are answered (`REBALANCE_IN_PROGRESS`), and so are the SyncGroups of members that are taken out
//! (`UNKNOWN_MEMBER_ID`); Kafka never answers these. Where Kafka's choice follows the order of a hash map, names decide: the first
//! member by id leads when the leader is gone, the first protocol by name wins a tied vote. A protocol named twice counts once.

pub(super) mod answers;
mod describe;
mod footprint;
mod group;
mod heartbeat;
mod join;
pub(super) mod leave;
mod member;
mod migrate;
mod offsets;
mod pending;
mod persist;
mod rebalance;
mod static_members;
mod step;
mod subscription;
mod sync;
#[cfg(test)]
mod tests;

pub(super) use describe::{describe, members, protocol_type, state};
pub(super) use footprint::{join_grows, record_bytes, sync_grows};
pub use group::ClassicGroup;
pub use member::{Member, Protocols};
pub(super) use migrate::{begin, end, rebalance};
pub(super) use offsets::{
    OffsetExpiry, check_commit, check_commit_in_transaction, check_delete_offsets, check_fetch,
    delete, is_subscribed, offset_expiry,
};
pub(super) use persist::{apply, loaded};

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, LeaveGroupResponse, SyncGroupRequest,
};

use super::groups::{Call, GroupReply, GroupTurn, Groups};
use super::machine::Token;
use super::{GroupId, MemberId};
use join::Joining;
use step::GroupStep;

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
    let outcome = join_check(shard, &call.request);
    let joining = Joining::copied(&call, token);
    let id = GroupId::new(&call.request.group_id);
    let outcome = outcome.and_then(|()| create_if_first(shard, turn, &id, &joining));
    match (outcome, find(shard, turn, id.as_str())) {
        (Ok(()), Some(mut step)) => step.join(joining),
        (Ok(()), None) => no_such_group(turn, &id, &joining),
        (Err(error), _) => {
            turn.answer(token, answers::join_refused(joining.member_id.as_str(), error));
        }
    }
}

/// SyncGroup; the answer may come in a later turn.
pub(super) fn sync(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<SyncGroupRequest>,
    token: Token,
) {
    match find_known(shard, turn, &call.request.group_id) {
        Ok(mut step) => step.sync(&call.request, token),
        Err(error) => turn.answer(token, answers::sync_refused(error)),
    }
}

/// Heartbeat.
pub(super) fn heartbeat(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<HeartbeatRequest>,
    token: Token,
) {
    let found = find_known(shard, turn, &call.request.group_id);
    let outcome = found.and_then(|mut step| step.heartbeat(&call.request));
    turn.answer(token, answers::heartbeat(outcome));
}

/// LeaveGroup.
pub(super) fn leave(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<LeaveGroupRequest>,
    token: Token,
) {
    let leaving = leave::leaving(&call);
    let answer = match find_known(shard, turn, &call.request.group_id) {
        Ok(mut step) => step.leave(call.version, &leaving),
        Err(error @ ResponseError::InvalidGroupId) => {
            GroupReply::Leave(LeaveGroupResponse::default().with_error_code(error.code()))
        }
        Err(error) => leave::left(call.version, &leaving, |_| Err(error)),
    };
    turn.answer(token, answer);
}

/// A timer of this kind of group has run out.
pub(super) fn expired(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    timer: ClassicTimer,
) {
    let Some(mut step) = find(shard, turn, group.as_str()) else { return };
    match timer {
        ClassicTimer::Session(member) => step.session_expired(&member),
        ClassicTimer::Pending(member) => step.pending_expired(&member),
        ClassicTimer::Join => step.join_expired(),
        ClassicTimer::Sync => step.sync_expired(),
    }
}

fn join_check(shard: &Groups, request: &JoinGroupRequest) -> Result<(), ResponseError> {
    let settings = &shard.settings;
    let allowed = settings.group_min_session_timeout_ms..=settings.group_max_session_timeout_ms;
    if request.group_id.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    if !allowed.contains(&request.session_timeout_ms) {
        return Err(ResponseError::InvalidSessionTimeout);
    }
    Ok(())
}

/// A member without an id brings its group into being, which is written down at once.
fn create_if_first(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    id: &GroupId,
    joining: &Joining,
) -> Result<(), ResponseError> {
    if !joining.is_unknown() || shard.classic.contains_key(id) {
        return Ok(());
    }
    let group = ClassicGroup::new(id.clone(), turn.now.wall, &shard.footprint);
    if !group.supports(&joining.protocol_type, &joining.protocols) {
        return Err(ResponseError::InconsistentGroupProtocol);
    }
    turn.write(persist::record(&group));
    shard.classic.insert(id.clone(), group);
    Ok(())
}

/// Nobody is a member of a group that does not exist. One that has offsets only is an empty one, as in Kafka, which looks at what
/// the member speaks first.
fn no_such_group(turn: &mut GroupTurn<'_>, id: &GroupId, joining: &Joining) {
    let is_empty = turn.hard().offsets.has_group(id.as_str());
    let speaks = !joining.protocol_type.is_empty() && joining.protocols.names().next().is_some();
    let error = if is_empty && !speaks {
        ResponseError::InconsistentGroupProtocol
    } else {
        ResponseError::UnknownMemberId
    };
    turn.answer(joining.token, answers::join_refused(joining.member_id.as_str(), error));
}

/// A group that a request of a member is for: nobody is a member of one that does not exist.
fn find_known<'s, 't>(
    shard: &'s mut Groups,
    turn: &'s mut GroupTurn<'t>,
    group: &str,
) -> Result<GroupStep<'s, 't>, ResponseError> {
    if group.is_empty() {
        return Err(ResponseError::InvalidGroupId);
    }
    find(shard, turn, group).ok_or(ResponseError::UnknownMemberId)
}

fn find<'s, 't>(
    shard: &'s mut Groups,
    turn: &'s mut GroupTurn<'t>,
    group: &str,
) -> Option<GroupStep<'s, 't>> {
    let (settings, metrics) = (&shard.settings, &shard.metrics);
    shard.classic.get_mut(group).map(|group| GroupStep { group, turn, settings, metrics })
}
