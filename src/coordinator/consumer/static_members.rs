//! Static members (KIP-345) leave for a while and come back under another id, with what they had.

use super::consumer_group;
use super::member::{Current, STATIC_LEAVE_EPOCH};
use super::partitions::Holding;
use super::{fencing, partitions, timers};
use crate::coordinator::groups::GroupTurn;
use crate::coordinator::records::{GroupRecord, TargetMemberValue};
use crate::coordinator::{GroupId, MemberId};

/// The member keeps its place until its session ends; whatever it was to let go of, it has.
pub(super) fn leave_for_a_while(turn: &mut GroupTurn<'_>, group: &GroupId, id: &MemberId) {
    let known =
        consumer_group(turn.hard(), group.as_str()).and_then(|group| group.member(id.as_str()));
    let Some(member) = known else { return };
    let mut current = member.current.clone();
    current.epoch = STATIC_LEAVE_EPOCH;
    current.pending_revocation = Holding::new();
    // Whoever comes back has had them for ever: no commit of it is too old.
    current.assigned.iter_mut().for_each(|held| held.since_epoch = 0);
    write_current(turn, group, id, &current);
    timers::stop_rebalance(turn, group, id);
}

/// The member goes on as `new`, which joins: with the subscription, the target and the partitions of `old`.
pub(super) fn replace(turn: &mut GroupTurn<'_>, group: &GroupId, old: &MemberId, new: &MemberId) {
    let Some(known) = consumer_group(turn.hard(), group.as_str()) else { return };
    let Some(member) = known.member(old.as_str()).cloned() else { return };
    let topic_partitions = partitions::target_to_record(known.target_of(old.as_str()));
    fencing::write_removal(turn, group, old);
    timers::stop(turn, group, old);
    turn.write(GroupRecord::ConsumerMember {
        group: group.clone(),
        member: new.clone(),
        value: Some(member.subscription),
    });
    turn.write(GroupRecord::TargetMember {
        group: group.clone(),
        member: new.clone(),
        value: Some(TargetMemberValue { topic_partitions }),
    });
    write_current(turn, group, new, &Current { epoch: 0, previous_epoch: 0, ..member.current });
}

fn write_current(turn: &mut GroupTurn<'_>, group: &GroupId, id: &MemberId, current: &Current) {
    turn.write(GroupRecord::CurrentAssignment {
        group: group.clone(),
        member: id.clone(),
        value: Some(current.to_record()),
    });
}
