//! Deadlines of members.

use super::member::MemberState;
use super::{ConsumerTimer, consumer_group, fencing, limits_of};
use crate::coordinator::groups::{GroupTimer, GroupTurn, Groups, HardGroup};
use crate::coordinator::{GroupId, MemberId};

/// A member was not heard of, or has not done what it had to, in time.
pub(super) fn expired(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    timer: ConsumerTimer,
) {
    let (id, is_due) = match timer {
        ConsumerTimer::Session(id) | ConsumerTimer::Join(id) | ConsumerTimer::Sync(id) => {
            (id, true)
        }
        ConsumerTimer::Rebalance(id) => {
            let is_due = must_revoke(turn, group, &id);
            (id, is_due)
        }
    };
    let known = consumer_group(turn.hard(), group.as_str());
    if is_due && known.is_some_and(|group| group.member(id.as_str()).is_some()) {
        fencing::remove(shard, turn, group, &[id]);
    }
}

fn must_revoke(turn: &GroupTurn<'_>, group: &GroupId, id: &MemberId) -> bool {
    let known = consumer_group(turn.hard(), group.as_str());
    known.and_then(|group| group.member(id.as_str())).is_some_and(|member| {
        member.current.state == MemberState::UnrevokedPartitions
            && !member.is_away()
            && !member.is_classic()
    })
}

/// After a load every member has a whole session time-out to be heard of.
pub(super) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    for (group, id) in all_members(turn) {
        let Some(known) = consumer_group(turn.hard(), group.as_str()) else { continue };
        let Some(member) = known.member(id.as_str()) else { continue };
        let session_ms = match &member.subscription.classic {
            Some(classic) => classic.session_timeout_ms,
            None => limits_of(shard, turn, &group).session_timeout_ms,
        };
        let rebalance_ms = member.subscription.rebalance_timeout_ms;
        start_session(turn, &group, &id, session_ms);
        if must_revoke(turn, &group, &id) {
            start_rebalance(turn, &group, &id, rebalance_ms);
        }
    }
}

fn all_members(turn: &GroupTurn<'_>) -> Vec<(GroupId, MemberId)> {
    let members = |(id, group): (&GroupId, &HardGroup)| match group {
        HardGroup::Consumer(group) => {
            group.members().map(|(member, _)| (id.clone(), member.clone())).collect::<Vec<_>>()
        }
        HardGroup::Classic(_) => Vec::new(),
    };
    turn.hard().groups.iter().flat_map(members).collect()
}

pub(super) fn start_session(
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    member: &MemberId,
    timeout_ms: i32,
) {
    let timer = GroupTimer::Consumer(group.clone(), ConsumerTimer::Session(member.clone()));
    turn.set_timer(timer, i64::from(timeout_ms));
}

pub(super) fn start_rebalance(
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    member: &MemberId,
    timeout_ms: i32,
) {
    let timer = GroupTimer::Consumer(group.clone(), ConsumerTimer::Rebalance(member.clone()));
    turn.set_timer(timer, i64::from(timeout_ms));
}

pub(super) fn stop_rebalance(turn: &mut GroupTurn<'_>, group: &GroupId, member: &MemberId) {
    turn.cancel_timer(&GroupTimer::Consumer(
        group.clone(),
        ConsumerTimer::Rebalance(member.clone()),
    ));
}

/// A member that was told to join again has that long from the first time it was told.
pub(super) fn start_join_if_none(
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    member: &MemberId,
    timeout_ms: i32,
) {
    let timer = GroupTimer::Consumer(group.clone(), ConsumerTimer::Join(member.clone()));
    if !turn.has_timer(&timer) {
        turn.set_timer(timer, i64::from(timeout_ms));
    }
}

pub(super) fn stop_join(turn: &mut GroupTurn<'_>, group: &GroupId, member: &MemberId) {
    turn.cancel_timer(&GroupTimer::Consumer(group.clone(), ConsumerTimer::Join(member.clone())));
}

/// A member that has joined must ask for its assignment.
pub(super) fn start_sync(
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    member: &MemberId,
    timeout_ms: i32,
) {
    let timer = GroupTimer::Consumer(group.clone(), ConsumerTimer::Sync(member.clone()));
    turn.set_timer(timer, i64::from(timeout_ms));
}

pub(super) fn stop_sync(turn: &mut GroupTurn<'_>, group: &GroupId, member: &MemberId) {
    turn.cancel_timer(&GroupTimer::Consumer(group.clone(), ConsumerTimer::Sync(member.clone())));
}

/// Forgets all deadlines of a member.
pub(super) fn stop(turn: &mut GroupTurn<'_>, group: &GroupId, member: &MemberId) {
    for timer in [
        ConsumerTimer::Session(member.clone()),
        ConsumerTimer::Rebalance(member.clone()),
        ConsumerTimer::Join(member.clone()),
        ConsumerTimer::Sync(member.clone()),
    ] {
        turn.cancel_timer(&GroupTimer::Consumer(group.clone(), timer));
    }
}
