//! A member's step towards its target, written down.

use super::group::ConsumerGroup;
use super::member::{Current, Member, MemberState};
use super::partitions::TopicIdPartition;
use super::reconcile::{self, Surroundings};
use super::subscription::Subscribed;
use super::{consumer_group, timers};
use crate::coordinator::groups::GroupTurn;
use crate::coordinator::records::GroupRecord;
use crate::coordinator::{GroupId, MemberId};
use crate::metadata::Image;
use crate::types::{TopicId, TopicName};

/// Takes the member as far as it can go; true if what it is assigned has changed. What it says it owns is looked at only if
/// it is on its way.
pub(super) fn advance(
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    id: &MemberId,
    reported: impl FnOnce() -> Option<Vec<TopicIdPartition>>,
    subscribed: Subscribed,
) -> bool {
    let Some(known) = consumer_group(turn.hard(), group.as_str()) else { return false };
    let Some(member) = known.member(id.as_str()) else { return false };
    let subscription_changed = subscribed == Subscribed::Anew;
    if member.current.is_reconciled_to(known.target.epoch) && !subscription_changed {
        return false;
    }
    let around = Surroundings {
        subscribed: subscribed_ids(turn.image, known, member),
        target_epoch: known.target.epoch,
        target: known.target_of(id.as_str()),
        owners: known.owners(),
        reported: reported(),
        subscription_changed,
    };
    let next = reconcile::step(member, &around);
    if next == member.current {
        return false;
    }
    let moved = next.assigned != member.current.assigned;
    let rebalance_timeout_ms =
        (!member.is_classic()).then_some(member.subscription.rebalance_timeout_ms);
    write(turn, group, id, &next);
    if let Some(timeout_ms) = rebalance_timeout_ms {
        watch_revocation(turn, group, id, &next, timeout_ms);
    }
    moved
}

fn subscribed_ids(image: &Image, group: &ConsumerGroup, member: &Member) -> Vec<TopicId> {
    let id = |name: &TopicName| image.topic(name.as_str()).map(|topic| topic.id);
    let mut ids: Vec<_> = group.subscription(member).filter_map(id).collect();
    ids.sort_unstable();
    ids
}

fn write(turn: &mut GroupTurn<'_>, group: &GroupId, member: &MemberId, next: &Current) {
    turn.write(GroupRecord::CurrentAssignment {
        group: group.clone(),
        member: member.clone(),
        value: Some(next.to_record()),
    });
}

/// Who must let go has the rebalance time-out for it. Classic members have time-outs of their own.
fn watch_revocation(
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    member: &MemberId,
    next: &Current,
    timeout_ms: i32,
) {
    if next.state == MemberState::UnrevokedPartitions {
        timers::start_rebalance(turn, group, member, timeout_ms);
    } else {
        timers::stop_rebalance(turn, group, member);
    }
}
