//! The target assignment: made anew when the group's epoch has outrun it (Kafka's `TargetAssignmentBuilder`).

use super::assign::{self, AssignedTopic, Assignor, Problem, Subscriber, Subscriptions};
use super::group::ConsumerGroup;
use super::partitions::{self, Target};
use super::{consumer_group, limits};
use crate::coordinator::groups::{GroupSettings, GroupTurn, Groups};
use crate::coordinator::records::{GroupRecord, TargetAssignmentValue, TargetMemberValue};
use crate::coordinator::{GroupId, MemberId};
use crate::metadata::Image;
use crate::types::TopicName;

/// Makes the target of the group's epoch, unless the last one is too young for it: members then go on towards that one, and
/// a later heartbeat makes the next.
pub(super) fn update(shard: &Groups, turn: &mut GroupTurn<'_>, id: &GroupId) {
    let Some(group) = consumer_group(turn.hard(), id.as_str()) else { return };
    if group.target.epoch >= group.epoch {
        return;
    }
    let interval_ms = limits::assignment_interval_ms(&shard.settings, turn.image, id.as_str());
    if !is_due(group, i64::from(interval_ms), turn.now.wall.get()) {
        return;
    }
    let epoch = group.epoch;
    for (member, target) in changes(&shard.settings, turn.image, group) {
        let value = TargetMemberValue { topic_partitions: partitions::target_to_record(&target) };
        turn.write(GroupRecord::TargetMember { group: id.clone(), member, value: Some(value) });
    }
    let value =
        TargetAssignmentValue { assignment_epoch: epoch, assignment_timestamp: turn.now.wall };
    turn.write(GroupRecord::TargetAssignment { group: id.clone(), value: Some(value) });
}

/// Kafka's `group.consumer.assignment.interval.ms`: many members that come at once cost few targets.
fn is_due(group: &ConsumerGroup, interval_ms: i64, now_ms: i64) -> bool {
    let made_at_ms = group.target.made_at.get();
    made_at_ms <= 0 || interval_ms == 0 || now_ms >= made_at_ms.saturating_add(interval_ms)
}

/// Members whose target is another one than before.
fn changes(
    settings: &GroupSettings,
    image: &Image,
    group: &ConsumerGroup,
) -> Vec<(MemberId, Target)> {
    let topics = existing_topics(image, group);
    let problem = problem(image, group, &topics);
    let targets = assign::assign(assignor(settings, group), &problem);
    let is_change = |id: &MemberId, target: &Target| group.target.members.get(id) != Some(target);
    group
        .members()
        .zip(targets)
        .filter(|((id, _), target)| is_change(id, target))
        .map(|((id, _), target)| (id.clone(), target))
        .collect()
}

/// What most members ask for, else the first of `group.consumer.assignors`.
fn assignor(settings: &GroupSettings, group: &ConsumerGroup) -> Assignor {
    let known = &settings.consumer_assignors;
    let name = group.preferred_assignor(known).or(known.first().map(String::as_str));
    name.and_then(Assignor::named).unwrap_or(Assignor::Uniform)
}

/// Subscribed topics that exist, in the order of their ids.
fn existing_topics(image: &Image, group: &ConsumerGroup) -> Vec<(AssignedTopic, TopicName)> {
    let exists = |(name, _): (&TopicName, _)| {
        let topic = image.topic(name.as_str())?;
        let partitions = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
        Some((AssignedTopic { id: topic.id, partitions }, name.clone()))
    };
    let mut topics: Vec<_> = group.topics().filter_map(exists).collect();
    topics.sort_unstable_by_key(|(topic, _)| topic.id);
    topics
}

fn problem<'a>(
    image: &Image,
    group: &'a ConsumerGroup,
    topics: &[(AssignedTopic, TopicName)],
) -> Problem<'a> {
    let topics: Vec<_> = topics.iter().map(|(topic, _)| *topic).collect();
    let members = group.members().map(|(id, member)| Subscriber {
        instance: member.instance().map(crate::coordinator::InstanceId::as_str),
        target: group.target_of(id.as_str()),
    });
    let subscriptions = if group.is_homogeneous() {
        Subscriptions::Same
    } else {
        Subscriptions::Each(indices(image, group, &topics))
    };
    Problem { members: members.collect(), subscriptions, topics }
}

/// For each member the indices of its topics, in rising order.
fn indices(image: &Image, group: &ConsumerGroup, topics: &[AssignedTopic]) -> Vec<Vec<usize>> {
    let index = |name: &TopicName| {
        let id = image.topic(name.as_str())?.id;
        topics.binary_search_by(|topic| topic.id.cmp(&id)).ok()
    };
    let of_member = |member| {
        let mut indices: Vec<usize> = group.subscription(member).filter_map(index).collect();
        indices.sort_unstable();
        indices
    };
    group.members().map(|(_, member)| of_member(member)).collect()
}
