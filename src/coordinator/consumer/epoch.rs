//! The epoch of a group: what begins a new one.

use super::{consumer_group, metadata_hash, sessions};
use crate::coordinator::GroupId;
use crate::coordinator::groups::{GroupTurn, Groups};
use crate::coordinator::pattern::Pattern;
use crate::coordinator::records::{ConsumerGroupValue, GroupRecord, RegularExpressionValue};

/// Whether something has already happened that needs a new target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bump {
    /// The epoch ends whatever the topics look like.
    Always,
    /// It ends if the topics look different.
    IfTopicsChanged,
}

impl Bump {
    pub(super) fn when(changed: bool) -> Self {
        if changed { Self::Always } else { Self::IfTopicsChanged }
    }
}

/// Compares the topics with what they were when the epoch began, and begins a new one if need be.
pub(super) fn refresh(shard: &mut Groups, turn: &mut GroupTurn<'_>, id: &GroupId, bump: Bump) {
    let Some(group) = consumer_group(turn.hard(), id.as_str()) else { return };
    let topics = group.topics().filter_map(|(name, _)| turn.image.topic(name.as_str()));
    let metadata_hash = metadata_hash::of_group(turn.image, topics);
    let has_partitions_record = group.has_partitions_record;
    if bump == Bump::Always || metadata_hash != group.metadata_hash {
        let epoch = group.epoch.saturating_add(1);
        let value = Some(ConsumerGroupValue { epoch, metadata_hash });
        turn.write(GroupRecord::ConsumerGroup { group: id.clone(), value });
        shard.metrics.group_consumer_rebalances.increment();
    }
    if has_partitions_record {
        let group = id.clone();
        turn.write(GroupRecord::ConsumerGroupPartitions { group, is_tombstone: true });
    }
    sessions(shard, id).refresh_metadata = false;
}

/// Matches patterns with the topics there are and writes down what they match. True if that has changed.
pub(super) fn resolve(turn: &mut GroupTurn<'_>, id: &GroupId, patterns: Vec<String>) -> bool {
    let mut changed = false;
    for expression in patterns {
        // Patterns that members subscribe to have been compiled before; a log may hold others, which match nothing.
        let topics = Pattern::of_topics(&expression)
            .map(|pattern| pattern.topics(&turn.image.topics))
            .unwrap_or_default();
        let known = consumer_group(turn.hard(), id.as_str())
            .and_then(|group| group.resolved.get(&expression))
            .map_or(&[][..], |resolved| &resolved.topics);
        changed |= known != topics;
        let value = RegularExpressionValue {
            topics,
            version: turn.image.end_offset.get(),
            timestamp: turn.now.wall,
        };
        let group = id.clone();
        turn.write(GroupRecord::RegularExpression { group, expression, value: Some(value) });
    }
    changed
}
