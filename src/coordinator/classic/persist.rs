//! What is written of a group, and how a group comes back from it.
//!
//! Kafka writes a group when it comes into being, when a generation is complete, when the last member has left, and when a
//! static member was replaced. Between these a restart goes back to the last complete generation: members whose
//! generation is newer are told so by their next request and join again.

use std::sync::Arc;

use super::ClassicTimer;
use super::group::{ClassicGroup, State};
use super::member::{Member, Protocols};
use super::step::GroupStep;
use crate::coordinator::groups::{Client, GroupTurn, Groups, GroupsHard, HardGroup};
use crate::coordinator::records::{ClassicGroupMember, ClassicGroupValue, GroupRecord};
use crate::coordinator::{Footprint, GroupId, MemberId};
use crate::types::Timestamp;

/// The group as it stands.
pub(super) fn record(group: &ClassicGroup) -> GroupRecord {
    let value = ClassicGroupValue {
        protocol_type: group.protocol_type.as_deref().unwrap_or("").to_owned(),
        generation: group.generation,
        protocol: group.protocol.as_deref().map(str::to_owned),
        leader: group.leader.clone(),
        current_state_timestamp: group.state_since,
        members: group.members().map(|(id, member)| member_value(group, id, member)).collect(),
    };
    GroupRecord::ClassicGroup { group: group.id.clone(), value: Some(value) }
}

fn member_value(group: &ClassicGroup, id: &MemberId, member: &Member) -> ClassicGroupMember {
    ClassicGroupMember {
        member_id: id.clone(),
        group_instance_id: member.instance.clone(),
        client_id: member.client.id.as_ref().to_owned(),
        client_host: member.client.host.as_ref().to_owned(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        session_timeout_ms: member.session_timeout_ms,
        subscription: group.subscription_of(member),
        assignment: member.assignment.clone(),
    }
}

/// Gives a record of type 2 its meaning.
pub(in crate::coordinator) fn apply(
    hard: &mut GroupsHard,
    group: &GroupId,
    value: Option<&ClassicGroupValue>,
) {
    match value {
        Some(value) => hard.put(group, HardGroup::Classic(value.clone())),
        None if matches!(hard.groups.get(group), Some(HardGroup::Classic(_))) => {
            hard.remove(group);
        }
        // A group that has become one of the new protocol is no longer this record's to end.
        None => {}
    }
}

/// The shard was just read from its log: every group lives again, and every member has a session from now on.
pub(in crate::coordinator) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    shard.classic.clear();
    for (id, group) in &turn.hard().groups {
        if let HardGroup::Classic(value) = group {
            shard.classic.insert(id.clone(), restored(id, value, &shard.footprint));
        }
    }
    let (settings, metrics) = (Arc::clone(&shard.settings), Arc::clone(&shard.metrics));
    for group in shard.classic.values_mut() {
        let mut step = GroupStep { group, turn, settings: &settings, metrics: &metrics };
        for id in step.group.member_ids() {
            step.touch(&id);
        }
        if step.group.members().len() > settings.group_max_size {
            step.prepare_rebalance("the group is larger than group.max.size");
        }
    }
}

/// The group of a record: `Stable` with members, else `Empty`. Each member speaks the protocol of the group only.
pub(super) fn restored(
    id: &GroupId,
    value: &ClassicGroupValue,
    footprint: &Footprint,
) -> ClassicGroup {
    let mut group = ClassicGroup::new(id.clone(), Timestamp::new(-1), footprint);
    let protocol_type: Arc<str> = value.protocol_type.as_str().into();
    let is_typed = !protocol_type.is_empty();
    group.generation = value.generation;
    group.protocol_type = is_typed.then(|| Arc::clone(&protocol_type));
    group.protocol = value.protocol.as_deref().map(Arc::from);
    let is_known = |leader: &&MemberId| value.members.iter().any(|it| it.member_id == **leader);
    group.leader = value.leader.as_ref().filter(is_known).cloned();
    let protocol = group.protocol.clone().unwrap_or_else(|| Arc::from(""));
    for member in &value.members {
        if !group.has_member(member.member_id.as_str()) {
            let restored = restored_member(member, &protocol);
            group.add(member.member_id.clone(), &protocol_type, restored);
        }
    }
    let is_empty = value.members.is_empty();
    let state = if is_empty { State::Empty } else { State::Stable };
    group.enter(state, value.current_state_timestamp);
    group.topics = group.subscribed_topics();
    group
}

fn restored_member(value: &ClassicGroupMember, protocol: &Arc<str>) -> Member {
    let client =
        Client { id: value.client_id.as_str().into(), host: value.client_host.as_str().into() };
    let protocols = Protocols::new([(Arc::clone(protocol), value.subscription.clone())]);
    // Records of Kafka before 0.10.1 have one time-out for both.
    let has_own_timeout = value.rebalance_timeout_ms != -1;
    Member {
        instance: value.group_instance_id.clone(),
        rebalance_timeout_ms: match has_own_timeout {
            true => value.rebalance_timeout_ms,
            false => value.session_timeout_ms,
        },
        session_timeout_ms: value.session_timeout_ms,
        assignment: value.assignment.clone(),
        ..Member::new(client, protocols)
    }
}

impl GroupStep<'_, '_> {
    /// Nothing that was set for the group runs out any more.
    pub(super) fn cancel_all_timers(&mut self) {
        self.cancel_timer(ClassicTimer::Join);
        self.cancel_timer(ClassicTimer::Sync);
        for id in self.group.member_ids() {
            self.cancel_timer(ClassicTimer::Session(id));
        }
        let pending: Vec<_> = self.group.pending.iter().cloned().collect();
        for id in pending {
            self.cancel_timer(ClassicTimer::Pending(id));
        }
    }
}
