//! What records of types 3 to 8 and 16 mean (Kafka's `GroupMetadataManager.replay`).
//!
//! Order is not relied upon more than a compacted log keeps it: a member may be known by what it holds before it is known
//! by what it subscribes to, and tombstones may come for what was never seen.

use super::group::{ConsumerGroup, TargetAssignment};
use super::member::Current;
use super::partitions;
use crate::coordinator::GroupId;
use crate::coordinator::groups::{GroupsHard, HardGroup};
use crate::coordinator::records::GroupRecord;
use crate::types::Timestamp;

/// Gives a record its meaning; other types are none of this module's business.
pub(super) fn apply(hard: &mut GroupsHard, record: &GroupRecord) {
    if let GroupRecord::ConsumerGroup { group, value: None } = record {
        if known(hard, group).is_some() {
            hard.groups.remove(group);
        }
        return;
    }
    let Some((group, is_tombstone)) = subject(record) else { return };
    let group = if is_tombstone { known(hard, group) } else { Some(made(hard, group)) };
    if let Some(group) = group {
        change(group, record);
    }
}

fn subject(record: &GroupRecord) -> Option<(&GroupId, bool)> {
    match record {
        GroupRecord::OffsetCommit { .. } | GroupRecord::ClassicGroup { .. } => None,
        GroupRecord::ConsumerGroup { group, value } => Some((group, value.is_none())),
        GroupRecord::ConsumerGroupPartitions { group, is_tombstone } => {
            Some((group, *is_tombstone))
        }
        GroupRecord::ConsumerMember { group, value, .. } => Some((group, value.is_none())),
        GroupRecord::TargetAssignment { group, value } => Some((group, value.is_none())),
        GroupRecord::TargetMember { group, value, .. } => Some((group, value.is_none())),
        GroupRecord::CurrentAssignment { group, value, .. } => Some((group, value.is_none())),
        GroupRecord::RegularExpression { group, value, .. } => Some((group, value.is_none())),
    }
}

fn known<'a>(hard: &'a mut GroupsHard, group: &GroupId) -> Option<&'a mut ConsumerGroup> {
    match hard.groups.get_mut(group) {
        Some(HardGroup::Consumer(group)) => Some(group),
        Some(HardGroup::Classic(_)) | None => None,
    }
}

/// The group, which begins with the first record of it. A classic group that it takes the place of is gone.
fn made<'a>(hard: &'a mut GroupsHard, group: &GroupId) -> &'a mut ConsumerGroup {
    let entry = hard
        .groups
        .entry(group.clone())
        .or_insert_with(|| HardGroup::Consumer(Box::new(ConsumerGroup::fresh())));
    if let HardGroup::Classic(_) = entry {
        *entry = HardGroup::Consumer(Box::new(ConsumerGroup::fresh()));
    }
    match entry {
        HardGroup::Consumer(group) => group,
        HardGroup::Classic(_) => unreachable!("replaced above"),
    }
}

fn change(group: &mut ConsumerGroup, record: &GroupRecord) {
    match record {
        GroupRecord::OffsetCommit { .. } | GroupRecord::ClassicGroup { .. } => {}
        GroupRecord::ConsumerGroup { value, .. } => {
            if let Some(value) = value {
                group.epoch = value.epoch;
                group.metadata_hash = value.metadata_hash;
            }
        }
        GroupRecord::ConsumerGroupPartitions { is_tombstone, .. } => {
            group.has_partitions_record = !is_tombstone;
        }
        GroupRecord::ConsumerMember { member, value, .. } => match value {
            Some(value) => group.set_subscription(member, value.clone()),
            None => group.remove_member(member),
        },
        GroupRecord::TargetAssignment { value, .. } => {
            let (epoch, made_at) = value.as_ref().map_or((-1, Timestamp::new(0)), |value| {
                (value.assignment_epoch, value.assignment_timestamp)
            });
            let members = std::mem::take(&mut group.target.members);
            group.target = TargetAssignment { epoch, made_at, members };
        }
        GroupRecord::TargetMember { member, value, .. } => {
            match value {
                Some(value) => {
                    let target = partitions::target_from_record(&value.topic_partitions);
                    group.target.members.insert(member.clone(), target)
                }
                None => group.target.members.remove(member),
            };
        }
        GroupRecord::CurrentAssignment { member, value, .. } => match value {
            Some(value) => group.set_current(member, Current::from_record(value)),
            None if group.member(member.as_str()).is_some() => {
                group.set_current(member, Current::leaving());
            }
            None => {}
        },
        GroupRecord::RegularExpression { expression, value, .. } => {
            group.set_resolved(expression, value.clone());
        }
    }
}
