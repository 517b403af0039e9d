//! Topics come, grow and go: the groups that this concerns look at them with their next heartbeat.

use std::collections::HashMap;
use std::sync::Arc;

use super::group::ConsumerGroup;
use crate::coordinator::GroupId;
use crate::coordinator::groups::{GroupTurn, Groups, HardGroup};
use crate::metadata::Topic;
use crate::types::TopicName;

type Topics = Arc<HashMap<TopicName, Arc<Topic>>>;

/// The topics that a shard has seen last.
#[derive(Debug, Default)]
pub struct SeenTopics {
    topics: Topics,
    /// End of the metadata when they last changed: patterns that were matched before are matched again.
    pub(super) changed_at: i64,
}

/// Marks the groups that subscribe to a topic that is another one than before. Costs a look-up for each subscribed topic.
pub(super) fn changed(shard: &mut Groups, turn: &GroupTurn<'_>) {
    if Arc::ptr_eq(&shard.consumer_topics.topics, &turn.image.topics) {
        return;
    }
    let before = see(shard, turn);
    for (id, group) in &turn.hard().groups {
        if let HardGroup::Consumer(group) = group
            && is_concerned(group, &before, &turn.image.topics)
        {
            mark(shard, id);
        }
    }
}

/// Takes note of the topics there are; returns those there were.
pub(super) fn see(shard: &mut Groups, turn: &GroupTurn<'_>) -> Topics {
    let seen = &mut shard.consumer_topics;
    seen.changed_at = turn.image.end_offset.get();
    std::mem::replace(&mut seen.topics, Arc::clone(&turn.image.topics))
}

fn is_concerned(group: &ConsumerGroup, before: &Topics, after: &Topics) -> bool {
    let is_other = |name: &TopicName| match (before.get(name), after.get(name)) {
        (Some(before), Some(after)) => !Arc::ptr_eq(before, after),
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    };
    group.topics().any(|(name, _)| is_other(name))
}

fn mark(shard: &mut Groups, id: &GroupId) {
    super::sessions(shard, id).refresh_metadata = true;
}
