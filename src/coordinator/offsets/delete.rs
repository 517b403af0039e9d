//! Deleting offsets: OffsetDelete, DeleteGroups, and what is left of topics that are gone.

use std::collections::BTreeSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_delete_request::OffsetDeleteRequestTopic;
use kafka_protocol::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use kafka_protocol::messages::{OffsetDeleteRequest, OffsetDeleteResponse};

use super::deletions;
use crate::coordinator::groups::{GroupKind, GroupReply, GroupTurn, Groups, GroupsHard};
use crate::coordinator::machine::Token;
use crate::coordinator::records::GroupRecord;
use crate::coordinator::{GroupId, classic};
use crate::metadata::Image;
use crate::types::{PartitionIndex, TopicId, TopicName};

/// OffsetDelete. An offset that does not exist is deleted without an error.
pub(in crate::coordinator) fn delete(
    shard: &Groups,
    turn: &mut GroupTurn<'_>,
    request: &OffsetDeleteRequest,
    token: Token,
) {
    let group = GroupId::new(&request.group_id);
    let response = match check(shard, turn.hard(), &group) {
        Ok(kind) => {
            let topics = request.topics.iter().map(|topic| {
                let outcome = delete_topic(shard, turn, kind, &group, topic);
                answer(topic, outcome)
            });
            OffsetDeleteResponse::default().with_topics(topics.collect())
        }
        Err(error) => OffsetDeleteResponse::default().with_error_code(error.code()),
    };
    turn.answer(token, GroupReply::DeleteOffsets(response));
}

fn check(shard: &Groups, hard: &GroupsHard, group: &GroupId) -> Result<GroupKind, ResponseError> {
    let kind = GroupKind::of(shard, hard, group.as_str()).ok_or(ResponseError::GroupIdNotFound)?;
    match kind {
        GroupKind::Classic => classic::check_delete_offsets(shard, group).map(|()| kind),
        GroupKind::Consumer | GroupKind::Simple => Ok(kind),
    }
}

fn delete_topic(
    shard: &Groups,
    turn: &mut GroupTurn<'_>,
    kind: GroupKind,
    group: &GroupId,
    asked: &OffsetDeleteRequestTopic,
) -> Result<(), ResponseError> {
    // No offset has a topic that cannot exist.
    let Ok(topic) = TopicName::new(&asked.name) else { return Ok(()) };
    if kind.is_subscribed(shard, turn.hard(), group, &topic) {
        return Err(ResponseError::GroupSubscribedToTopic);
    }
    for partition in &asked.partitions {
        let partition = PartitionIndex::new(partition.partition_index);
        let offsets = &turn.hard().offsets;
        let is_known = offsets.get(group.as_str(), topic.as_str(), partition).is_some()
            || offsets.pending().is_unstable(group.as_str(), topic.as_str(), partition);
        if is_known {
            turn.write(tombstone(group, &topic, partition));
            shard.metrics.group_offset_deletions.increment();
        }
    }
    Ok(())
}

fn answer(
    asked: &OffsetDeleteRequestTopic,
    outcome: Result<(), ResponseError>,
) -> OffsetDeleteResponseTopic {
    let code = outcome.err().map_or(0, |error| error.code());
    let partitions = asked.partitions.iter().map(|partition| {
        OffsetDeleteResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_error_code(code)
    });
    OffsetDeleteResponseTopic::default()
        .with_name(asked.name.clone())
        .with_partitions(partitions.collect())
}

/// Deletes every offset of a group, those of open transactions too.
pub(in crate::coordinator) fn delete_all(
    shard: &Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
) {
    let offsets = &turn.hard().offsets;
    let committed = offsets.of_group(group.as_str()).map(|at| (at.topic.clone(), at.partition));
    let pending = offsets.pending().of_group(group.as_str());
    let pending = pending.map(|(topic, partition)| (topic.clone(), partition));
    let doomed: BTreeSet<_> = committed.chain(pending).collect();
    shard.metrics.group_offset_deletions.add(doomed.len() as u64);
    for (topic, partition) in doomed {
        turn.write(tombstone(group, &topic, partition));
    }
}

/// Deletes the offsets of topics that are gone, also where another one has the name now.
///
/// Looks up each topic that has offsets in this shard, whatever the number of groups and partitions.
pub(super) fn drop_deleted_topics(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let (offsets, image) = (&turn.hard().offsets, turn.image);
    let committed = offsets.topics().map(|(topic, id)| (topic, *id));
    let pending = offsets.pending().all().map(|(_, topic, id, _)| (topic, id));
    let gone = committed.chain(pending).filter(|(topic, id)| !exists(image, topic, *id));
    let gone: Vec<_> = gone.map(|(topic, id)| (topic.clone(), id)).collect();
    deletions::add_topics(shard, turn, gone);
}

fn exists(image: &Image, topic: &TopicName, id: TopicId) -> bool {
    image.topic(topic.as_str()).is_some_and(|known| id.is_zero() || known.id == id)
}

/// The end of an offset.
pub(super) fn tombstone(
    group: &GroupId,
    topic: &TopicName,
    partition: PartitionIndex,
) -> GroupRecord {
    let (group, topic) = (group.clone(), topic.clone());
    GroupRecord::OffsetCommit { group, topic, partition, value: None }
}
