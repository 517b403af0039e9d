//! One member's next step from what it has to what it should have (Kafka's `CurrentAssignmentBuilder`).
//!
//! A member first lets go of what it should not have, stays in its epoch until it says that it has, and only then enters the
//! epoch of the target and is given what nobody else holds. So no partition has two owners at any time.
//!
//! ```text
//! Stable ── new target ─┬─ must let go ──> UnrevokedPartitions ── it has ─┐
//!    ^                  └──────────────────────────────┬──────────────────┘
//!    └── everything is there ── UnreleasedPartitions <─┴─ others hold a part
//! ```

use super::member::{Current, Member, MemberState};
use super::partitions::{Held, Holding, Owners, TopicIdPartition, holds, topics};
use crate::types::TopicId;

/// What a step depends on beside the member.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    /// Topics that the member subscribes to and that exist, in the order of their ids.
    pub(super) subscribed: Vec<TopicId>,
    pub(super) target_epoch: i32,
    pub(super) target: &'a [TopicIdPartition],
    /// Who holds what in the group.
    pub(super) owners: &'a Owners,
    /// What the member says it owns, if it says so.
    pub(super) reported: Option<Vec<TopicIdPartition>>,
    /// The subscription has just changed: topics that it no longer names are to be let go of even without a new target.
    pub(super) subscription_changed: bool,
}

/// Where the member is after the step; the same as before if it cannot go further.
pub(super) fn step(member: &Member, around: &Surroundings<'_>) -> Current {
    let current = &member.current;
    match current.state {
        MemberState::Stable if current.epoch != around.target_epoch => approach(current, around),
        MemberState::Stable if around.subscription_changed => shrink(current, around),
        MemberState::Stable => current.clone(),
        MemberState::UnrevokedPartitions if around.owns_any(&current.pending_revocation) => {
            if around.subscription_changed {
                shrink(current, around)
            } else {
                current.clone()
            }
        }
        MemberState::UnrevokedPartitions | MemberState::UnreleasedPartitions => {
            approach(current, around)
        }
        MemberState::Unknown => {
            approach(&Current { epoch: around.target_epoch, ..current.clone() }, around)
        }
    }
}

impl Surroundings<'_> {
    fn is_subscribed(&self, topic: TopicId) -> bool {
        self.subscribed.binary_search(&topic).is_ok()
    }

    fn is_wanted(&self, at: TopicIdPartition) -> bool {
        self.is_subscribed(at.topic) && self.target.binary_search(&at).is_ok()
    }

    /// True if the member still owns one of them; one that does not say counts as one that does.
    fn owns_any(&self, holding: &[Held]) -> bool {
        match &self.reported {
            None => true,
            Some(reported) => reported.iter().any(|at| holds(holding, *at)),
        }
    }
}

/// Towards the target.
fn approach(current: &Current, around: &Surroundings<'_>) -> Current {
    let (kept, revoked): (Holding, Holding) =
        current.assigned.iter().partition(|held| around.is_wanted(held.at));
    let mut next = current.clone();
    if !revoked.is_empty() && around.owns_any(&revoked) {
        next.state = MemberState::UnrevokedPartitions;
        next.enter(current.epoch);
        next.assigned = kept;
        next.pending_revocation = revoked;
        return next;
    }
    let (assigned, all_free) = with_what_is_free(kept, current, around);
    next.state = if all_free { MemberState::Stable } else { MemberState::UnreleasedPartitions };
    next.enter(around.target_epoch);
    next.assigned = assigned;
    next.pending_revocation = Holding::new();
    next
}

/// What the member keeps and whatever else of its target nobody holds; whether that is all of it.
fn with_what_is_free(
    mut assigned: Holding,
    current: &Current,
    around: &Surroundings<'_>,
) -> (Holding, bool) {
    let kept = assigned.len();
    let missing =
        |at: &&TopicIdPartition| around.is_subscribed(at.topic) && !holds(&assigned[..kept], **at);
    let (free, held): (Vec<&TopicIdPartition>, Vec<&TopicIdPartition>) =
        around.target.iter().filter(missing).partition(|at| {
            // What the member itself was about to let go of is not somebody else's.
            !around.owners.is_held(**at) || holds(&current.pending_revocation, **at)
        });
    let since_epoch = around.target_epoch;
    assigned.extend(free.into_iter().map(|at| Held { at: *at, since_epoch }));
    assigned.sort_unstable();
    (assigned, held.is_empty())
}

/// Without the topics that the member no longer subscribes to, in the same epoch.
fn shrink(current: &Current, around: &Surroundings<'_>) -> Current {
    if topics(&current.assigned).all(|topic| around.is_subscribed(topic)) {
        return current.clone();
    }
    let (kept, mut revoked): (Holding, Holding) =
        current.assigned.iter().partition(|held| around.is_subscribed(held.at.topic));
    revoked.extend_from_slice(&current.pending_revocation);
    revoked.sort_unstable();
    let mut next = current.clone();
    next.enter(current.epoch);
    next.assigned = kept;
    if around.owns_any(&revoked) {
        next.state = MemberState::UnrevokedPartitions;
        next.pending_revocation = revoked;
    }
    next
}
