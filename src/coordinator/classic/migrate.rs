//! Groups that change their protocol with members in them (KIP-848, `group.consumer.migration.policy`).

use std::sync::Arc;

use kafka_protocol::ResponseError;

use super::group::{CONSUMER_PROTOCOL_TYPE, ClassicGroup, State};
use super::member::Member;
use super::step::GroupStep;
use crate::coordinator::groups::{GroupTurn, Groups};
use crate::coordinator::{GroupId, MemberId};

impl ClassicGroup {
    /// The generation that members are in, or are about to leave.
    pub(in crate::coordinator) fn generation(&self) -> i32 {
        self.generation
    }

    /// The protocol of that generation; `None` before the first.
    pub(in crate::coordinator) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// True if members are consumers: only those can go over to the new protocol.
    pub(in crate::coordinator) fn uses_consumer_protocol(&self) -> bool {
        self.has_consumers()
    }

    /// True if it has no members.
    pub(in crate::coordinator) fn is_empty(&self) -> bool {
        self.state == State::Empty
    }
}

/// Ends a group of this kind so that one of the new protocol can take its place: whoever waits for a join or an assignment is
/// told that there is a rebalance, timers end, the tombstone is written. What is returned has the members still: id, instance,
/// client, time-outs, protocols in order of preference, assignment. `None` if there is no such group.
pub(in crate::coordinator) fn end(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
) -> Option<ClassicGroup> {
    let mut step = super::find(shard, turn, group.as_str())?;
    step.end_all_waits(ResponseError::RebalanceInProgress);
    step.cancel_all_timers();
    step.write_tombstone();
    shard.classic.remove(group)
}

/// Puts a group of this kind in the place of one of the new protocol, whose tombstones have been written: `Stable` in
/// generation `generation`, all members consumers with the assignment that they have, sessions begun. Its record is written.
pub(in crate::coordinator) fn begin(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    id: &GroupId,
    generation: i32,
    members: impl IntoIterator<Item = (MemberId, Member)>,
) {
    let mut group = ClassicGroup::new(id.clone(), turn.now.wall, &shard.footprint);
    group.generation = generation;
    let protocol_type: Arc<str> = CONSUMER_PROTOCOL_TYPE.into();
    group.protocol_type = Some(Arc::clone(&protocol_type));
    for (id, member) in members {
        group.add(id, &protocol_type, member);
    }
    group.protocol = group.select_protocol();
    group.topics = group.subscribed_topics();
    let is_empty = group.members().len() == 0;
    group.enter(if is_empty { State::Empty } else { State::Stable }, turn.now.wall);
    shard.classic.insert(id.clone(), group);
    let Some(mut step) = super::find(shard, turn, id.as_str()) else { return };
    step.write();
    for id in step.group.member_ids() {
        step.touch(&id);
    }
}

/// Has the members of a stable group join again, as after [`begin`] when a member has left.
pub(in crate::coordinator) fn rebalance(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    reason: &str,
) {
    if let Some(mut step) = super::find(shard, turn, group.as_str()) {
        step.rebalance(reason);
    }
}

impl GroupStep<'_, '_> {
    /// The group is gone from the records.
    pub(super) fn write_tombstone(&mut self) {
        let group = self.group.id.clone();
        self.turn
            .write(crate::coordinator::records::GroupRecord::ClassicGroup { group, value: None });
    }
}
