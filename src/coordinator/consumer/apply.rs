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
        if matches!(hard.groups.get(group), Some(HardGroup::Consumer(_))) {
            hard.remove(group);
        }
        return;
    }
    let Some((group, is_tombstone)) = subject(record) else { return };
    if !is_tombstone {
        make(hard, group);
    }
    hard.change(group, |group| change(group, record));
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

/// A group begins with the first record of it. A classic group that it takes the place of is gone.
fn make(hard: &mut GroupsHard, group: &GroupId) {
    if !matches!(hard.groups.get(group), Some(HardGroup::Consumer(_))) {
        hard.put(group, HardGroup::Consumer(Box::new(ConsumerGroup::fresh())));
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
            let topics = value.as_ref().map(|value| &value.topic_partitions);
            group.set_target(member, topics.map(|topics| partitions::target_from_record(topics)));
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
