//! Who a heartbeat is from, and whether it may go on. Nothing is written here, so that a refusal leaves nothing behind.

use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;

use super::error::HeartbeatError;
use super::group::ConsumerGroup;
use super::member::{JOIN_EPOCH, Member, MemberState, Named};
use super::partitions::{self, holds};
use crate::coordinator::groups::GroupSettings;
use crate::coordinator::{GroupId, InstanceId, MemberId};

/// Who a heartbeat is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Visitor {
    /// A member.
    Member(MemberId),
    /// Somebody new.
    New(MemberId),
    /// A static member that goes on under a new id, or comes back under the old one.
    Replaces { old: MemberId, new: MemberId },
}

impl Visitor {
    /// The id that it has from now on.
    pub(super) fn id(&self) -> &MemberId {
        match self {
            Self::Member(id) | Self::New(id) => id,
            Self::Replaces { new, .. } => new,
        }
    }
}

/// What a heartbeat says of its sender.
#[derive(Debug)]
pub(super) struct Caller<'a> {
    pub(super) group: &'a GroupId,
    /// As in the request, or made for it where the request has none.
    pub(super) member: MemberId,
    pub(super) request: &'a ConsumerGroupHeartbeatRequest,
}

/// Tells who it is, in a group that may not exist yet: then it is a join.
pub(super) fn admit(
    settings: &GroupSettings,
    group: Option<&ConsumerGroup>,
    caller: &Caller<'_>,
) -> Result<Visitor, HeartbeatError> {
    let request = caller.request;
    let Some(group) = group else { return Ok(Visitor::New(caller.member.clone())) };
    check_size(settings, group, caller)?;
    let visitor = match request.instance_id.as_deref() {
        Some(instance) => admit_static(group, &InstanceId::new(instance), caller)?,
        None => admit_dynamic(group, caller)?,
    };
    let known = match &visitor {
        Visitor::Member(id) | Visitor::Replaces { old: id, .. } => group.member(id.as_str()),
        Visitor::New(_) => None,
    };
    if let Some(member) = known {
        check_state(member, request)?;
    }
    Ok(visitor)
}

/// A leave: the member that it is about.
pub(super) fn leaver<'a>(
    group: &'a ConsumerGroup,
    caller: &Caller<'_>,
) -> Result<Named<'a>, HeartbeatError> {
    match caller.request.instance_id.as_deref() {
        Some(instance) => owner(group, &InstanceId::new(instance), caller),
        None => group.named(caller.member.as_str()).ok_or_else(|| unknown_member(caller)),
    }
}

fn check_size(
    settings: &GroupSettings,
    group: &ConsumerGroup,
    caller: &Caller<'_>,
) -> Result<(), HeartbeatError> {
    let max = settings.consumer_max_size;
    let instance = caller.request.instance_id.as_deref();
    let is_known = instance.is_some_and(|instance| group.static_member(instance).is_some())
        || group.member(caller.member.as_str()).is_some();
    if group.members().len() >= max && !is_known { Err(HeartbeatError::Full(max)) } else { Ok(()) }
}

fn admit_dynamic(group: &ConsumerGroup, caller: &Caller<'_>) -> Result<Visitor, HeartbeatError> {
    match group.named(caller.member.as_str()) {
        Some((id, member)) => {
            check_epoch(member, caller.request)?;
            Ok(Visitor::Member(id.clone()))
        }
        None if caller.request.member_epoch == JOIN_EPOCH => {
            Ok(Visitor::New(caller.member.clone()))
        }
        None => Err(unknown_member(caller)),
    }
}

fn admit_static(
    group: &ConsumerGroup,
    instance: &InstanceId,
    caller: &Caller<'_>,
) -> Result<Visitor, HeartbeatError> {
    if caller.request.member_epoch != JOIN_EPOCH {
        let (id, member) = owner(group, instance, caller)?;
        check_epoch(member, caller.request)?;
        return Ok(Visitor::Member(id.clone()));
    }
    match group.static_member(instance.as_str()) {
        // An id of a member without this instance is a member all the same, as in Kafka.
        None => Ok(match group.named(caller.member.as_str()) {
            Some((id, _)) => Visitor::Member(id.clone()),
            None => Visitor::New(caller.member.clone()),
        }),
        Some((owner, member)) if !member.is_away() && !member.is_classic() => {
            let (instance, owner) = (instance.clone(), owner.clone());
            Err(HeartbeatError::UnreleasedInstance { instance, owner })
        }
        Some((old, _)) => Ok(Visitor::Replaces { old: old.clone(), new: caller.member.clone() }),
    }
}

/// The member behind an instance, if it is the caller.
fn owner<'a>(
    group: &'a ConsumerGroup,
    instance: &InstanceId,
    caller: &Caller<'_>,
) -> Result<Named<'a>, HeartbeatError> {
    let known = group.static_member(instance.as_str());
    let (owner, member) = known.ok_or_else(|| HeartbeatError::UnknownInstance(instance.clone()))?;
    if *owner == caller.member {
        return Ok((owner, member));
    }
    Err(HeartbeatError::FencedInstance { instance: instance.clone(), owner: owner.clone() })
}

/// The epoch that the member was told last; or the one before, if it has nothing that it should not have: then the last
/// answer was lost on its way.
fn check_epoch(
    member: &Member,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), HeartbeatError> {
    let (received, current) = (request.member_epoch, &member.current);
    let owns_only_assigned = || match &request.topic_partitions {
        None => false,
        Some(owned) => partitions::reported(owned).all(|at| holds(&current.assigned, at)),
    };
    let is_known = received == JOIN_EPOCH
        || received == current.epoch
        || (received < current.epoch && received == current.previous_epoch && owns_only_assigned());
    if is_known {
        return Ok(());
    }
    Err(HeartbeatError::FencedEpoch { received, known: current.epoch })
}

fn check_state(
    member: &Member,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), HeartbeatError> {
    let owns_nothing = request.topic_partitions.as_ref().is_some_and(Vec::is_empty);
    if member.current.state == MemberState::Unknown && !owns_nothing {
        return Err(HeartbeatError::UnknownState);
    }
    Ok(())
}

fn unknown_member(caller: &Caller<'_>) -> HeartbeatError {
    let (group, member) = (caller.group.clone(), caller.member.to_string());
    HeartbeatError::UnknownMember { group, member }
}
