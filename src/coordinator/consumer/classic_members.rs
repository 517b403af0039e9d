//! SyncGroup, Heartbeat and LeaveGroup of members of the classic protocol in a group of the new one.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::{
    HeartbeatRequest, LeaveGroupRequest, SyncGroupRequest, SyncGroupResponse,
};

use super::classic_join::PROTOCOL_TYPE;
use super::embedded::{self, NamedPartitions};
use super::group::ConsumerGroup;
use super::member::{Member, MemberState, Named};
use super::partitions::{TopicIdPartition, holds};
use super::{consumer_group, fencing, timers};
use crate::coordinator::classic::answers;
use crate::coordinator::classic::leave::{leaving, left};
use crate::coordinator::groups::{Call, GroupReply, GroupTurn, Groups};
use crate::coordinator::records::ClassicMemberMetadata;
use crate::coordinator::{GroupId, MemberId};
use crate::metadata::Image;

/// What the member was given when it joined.
pub(super) fn sync(turn: &mut GroupTurn<'_>, call: &Call<SyncGroupRequest>) -> GroupReply {
    let group = GroupId::new(&call.request.group_id);
    match synced(turn, &group, &call.request) {
        Ok((member, session_timeout_ms, answer)) => {
            timers::stop_sync(turn, &group, &member);
            timers::start_session(turn, &group, &member, session_timeout_ms);
            GroupReply::Sync(answer)
        }
        Err(error) => {
            expect_join(turn, &group, &call.request.member_id, error);
            answers::sync_refused(error)
        }
    }
}

fn synced(
    turn: &GroupTurn<'_>,
    id: &GroupId,
    request: &SyncGroupRequest,
) -> Result<(MemberId, i32, SyncGroupResponse), ResponseError> {
    let group = consumer_group(turn.hard(), id.as_str()).ok_or(ResponseError::UnknownMemberId)?;
    let instance = request.group_instance_id.as_deref();
    let (name, member) = find(group, &request.member_id, instance)?;
    let classic = member.subscription.classic.as_ref().ok_or(ResponseError::UnknownMemberId)?;
    if request.generation_id != member.current.epoch {
        return Err(ResponseError::IllegalGeneration);
    }
    check_protocol(classic, request)?;
    let must_join = group.target.epoch > member.current.epoch;
    if must_join && member.current.state != MemberState::UnrevokedPartitions {
        return Err(ResponseError::RebalanceInProgress);
    }
    let assigned: Vec<_> = member.current.assigned.iter().map(|held| held.at).collect();
    let answer = SyncGroupResponse::default()
        .with_protocol_type(request.protocol_type.clone())
        .with_protocol_name(request.protocol_name.clone())
        .with_assignment(assignment(turn.image, classic, &assigned));
    Ok((name.clone(), classic.session_timeout_ms, answer))
}

/// Since version 5 a member says which protocol it takes the assignment to be in.
fn check_protocol(
    classic: &ClassicMemberMetadata,
    request: &SyncGroupRequest,
) -> Result<(), ResponseError> {
    let spoken = classic.supported_protocols.first().map(|(name, _)| name.as_str());
    let is_type = request.protocol_type.as_deref().is_none_or(|said| said == PROTOCOL_TYPE);
    let is_name = request.protocol_name.as_deref().is_none_or(|said| Some(said) == spoken);
    if is_type && is_name { Ok(()) } else { Err(ResponseError::InconsistentGroupProtocol) }
}

/// Partitions as consumers of the classic protocol are told them.
pub(super) fn assignment(
    image: &Image,
    classic: &ClassicMemberMetadata,
    partitions: &[TopicIdPartition],
) -> Bytes {
    let named = |chunk: &[TopicIdPartition]| -> Option<NamedPartitions> {
        let topic = image.topic_by_id(chunk[0].topic)?;
        Some((topic.name.to_string(), chunk.iter().map(|at| at.partition.get()).collect()))
    };
    let named: Vec<_> = partitions.chunk_by(|a, b| a.topic == b.topic).filter_map(named).collect();
    let subscription = classic.supported_protocols.first().map(|(_, bytes)| bytes);
    embedded::write_assignment(subscription.map_or(&[][..], |bytes| bytes), &named)
}

pub(super) fn heartbeat(turn: &mut GroupTurn<'_>, call: &Call<HeartbeatRequest>) -> GroupReply {
    let request = &call.request;
    let group = GroupId::new(&request.group_id);
    let beat = beat(turn, &group, request);
    let outcome = beat.and_then(|(member, session_timeout_ms, must_join)| {
        timers::start_session(turn, &group, &member, session_timeout_ms);
        if must_join { Err(ResponseError::RebalanceInProgress) } else { Ok(()) }
    });
    if let Err(error) = outcome {
        expect_join(turn, &group, &request.member_id, error);
    }
    answers::heartbeat(outcome)
}

/// The member, its session time-out, and whether it must join again: a new target is there, it has something to let go of,
/// or what it waits for has become free.
fn beat(
    turn: &GroupTurn<'_>,
    id: &GroupId,
    request: &HeartbeatRequest,
) -> Result<(MemberId, i32, bool), ResponseError> {
    let group = consumer_group(turn.hard(), id.as_str()).ok_or(ResponseError::UnknownMemberId)?;
    let (name, member) = find(group, &request.member_id, request.group_instance_id.as_deref())?;
    let classic = member.subscription.classic.as_ref().ok_or(ResponseError::UnknownMemberId)?;
    if request.generation_id != member.current.epoch {
        return Err(ResponseError::IllegalGeneration);
    }
    let must_join = member.current.epoch < group.target.epoch
        || match member.current.state {
            MemberState::UnrevokedPartitions => true,
            MemberState::UnreleasedPartitions => !waits_for_others(group, name, member),
            MemberState::Stable | MemberState::Unknown => false,
        };
    Ok((name.clone(), classic.session_timeout_ms, must_join))
}

fn waits_for_others(group: &ConsumerGroup, id: &MemberId, member: &Member) -> bool {
    let is_missing = |at: &&TopicIdPartition| !holds(&member.current.assigned, **at);
    let mut missing = group.target_of(id.as_str()).iter().filter(is_missing);
    missing.any(|at| group.owners().is_held(*at))
}

/// A member that was told to join again has its rebalance time-out for it, from the first time it is told.
fn expect_join(turn: &mut GroupTurn<'_>, group: &GroupId, member: &str, error: ResponseError) {
    if error == ResponseError::RebalanceInProgress
        && let Some(known) = consumer_group(turn.hard(), group.as_str())
        && let Some((id, member)) = known.named(member)
    {
        let (id, timeout_ms) = (id.clone(), member.subscription.rebalance_timeout_ms);
        timers::start_join_if_none(turn, group, &id, timeout_ms);
    }
}

fn find<'a>(
    group: &'a ConsumerGroup,
    member: &str,
    instance: Option<&str>,
) -> Result<Named<'a>, ResponseError> {
    let Some(instance) = instance else {
        return group.named(member).ok_or(ResponseError::UnknownMemberId);
    };
    let known = group.static_member(instance).ok_or(ResponseError::UnknownMemberId)?;
    if known.0.as_str() == member { Ok(known) } else { Err(ResponseError::FencedInstanceId) }
}

/// Also members of the new protocol are taken out, as administrators ask it for static ones.
pub(super) fn leave(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<LeaveGroupRequest>,
) -> GroupReply {
    let id = GroupId::new(&call.request.group_id);
    let mut gone = Vec::new();
    let answer = left(call.version, &leaving(call), |who| {
        let member = leaver(turn, &id, who)?;
        gone.push(member);
        Ok(())
    });
    gone.sort_unstable();
    gone.dedup();
    fencing::remove(shard, turn, &id, &gone);
    answer
}

fn leaver(
    turn: &GroupTurn<'_>,
    id: &GroupId,
    who: &MemberIdentity,
) -> Result<MemberId, ResponseError> {
    let group = consumer_group(turn.hard(), id.as_str()).ok_or(ResponseError::UnknownMemberId)?;
    let instance = who.group_instance_id.as_deref();
    let found = match instance.and_then(|instance| group.static_member(instance)) {
        // An administrator names the instance alone.
        Some(known) if who.member_id.is_empty() => known,
        Some(_) | None => find(group, &who.member_id, instance)?,
    };
    Ok(found.0.clone())
}
