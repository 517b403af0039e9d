//! Members go: by themselves, or because they were not heard of in time.

use super::epoch::{self, Bump};
use super::{consumer_group, migrate, timers};
use crate::coordinator::groups::{GroupTurn, Groups};
use crate::coordinator::records::{GroupRecord, TargetAssignmentValue};
use crate::coordinator::{GroupId, MemberId};
use crate::types::Timestamp;

/// Removes members of a group. If those who stay all speak the classic protocol, it becomes a classic group.
pub(super) fn remove(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    members: &[MemberId],
) {
    if members.is_empty() || migrate::downgraded(shard, turn, group, members) {
        return;
    }
    let patterns = patterns(turn, group, members);
    for member in members {
        write_removal(turn, group, member);
        timers::stop(turn, group, member);
    }
    forget_unused(turn, group, patterns);
    epoch::refresh(shard, turn, group, Bump::Always);
    close_if_empty(turn, group);
}

/// What a member is known by, in the order in which it must go.
pub(super) fn write_removal(turn: &mut GroupTurn<'_>, group: &GroupId, member: &MemberId) {
    let of = || (group.clone(), member.clone());
    let (group, member) = of();
    turn.write(GroupRecord::CurrentAssignment { group, member, value: None });
    let (group, member) = of();
    turn.write(GroupRecord::TargetMember { group, member, value: None });
    let (group, member) = of();
    turn.write(GroupRecord::ConsumerMember { group, member, value: None });
}

/// Patterns that members subscribe to, each once.
fn patterns(turn: &GroupTurn<'_>, group: &GroupId, members: &[MemberId]) -> Vec<String> {
    let Some(group) = consumer_group(turn.hard(), group.as_str()) else { return Vec::new() };
    let members = members.iter().filter_map(|id| group.member(id.as_str()));
    let mut patterns: Vec<_> =
        members.filter_map(|member| member.pattern().map(str::to_owned)).collect();
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

/// Drops what patterns matched that nobody subscribes to any more.
pub(super) fn forget_unused(turn: &mut GroupTurn<'_>, group: &GroupId, patterns: Vec<String>) {
    for expression in patterns {
        let Some(known) = consumer_group(turn.hard(), group.as_str()) else { return };
        if known.pattern_subscribers(&expression) == 0 {
            let group = group.clone();
            turn.write(GroupRecord::RegularExpression { group, expression, value: None });
        }
    }
}

/// A group without members needs no target: the next member must not wait for the assignment interval.
fn close_if_empty(turn: &mut GroupTurn<'_>, group: &GroupId) {
    let Some(known) = consumer_group(turn.hard(), group.as_str()) else { return };
    if known.is_empty() {
        let value = TargetAssignmentValue {
            assignment_epoch: known.epoch,
            assignment_timestamp: Timestamp::new(0),
        };
        turn.write(GroupRecord::TargetAssignment { group: group.clone(), value: Some(value) });
    }
}
