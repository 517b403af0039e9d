//! OffsetCommit.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse};

use crate::coordinator::groups::{Call, GroupKind, GroupReply, GroupTurn, Groups};
use crate::coordinator::machine::Token;
use crate::coordinator::records::{GroupRecord, OffsetCommitValue};
use crate::coordinator::{GroupId, classic, consumer};
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicName, Uuid};

/// What a request says that leaves the retention to the broker.
const DEFAULT_RETENTION: i64 = -1;

/// OffsetCommit: members of a group and simple consumers without one.
pub(in crate::coordinator) fn commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
    token: Token,
) {
    let allowed = check(shard, turn, call);
    let group = GroupId::new(&call.request.group_id);
    let topics = call.request.topics.iter().map(|topic| match allowed {
        Ok(()) => commit_topic(shard, turn, &group, call.request.retention_time_ms, topic),
        Err(error) => answer(topic, |_| Err(error)),
    });
    let response = OffsetCommitResponse::default().with_topics(topics.collect());
    turn.answer(token, GroupReply::CommitOffsets(response));
}

fn check(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
) -> Result<(), ResponseError> {
    match GroupKind::of(shard, turn.hard(), &call.request.group_id) {
        Some(GroupKind::Consumer) => consumer::check_commit(shard, turn, call),
        // An empty group: nobody is a member of it, and everybody may commit who does not claim to be one.
        Some(GroupKind::Simple) if call.request.generation_id_or_member_epoch >= 0 => {
            Err(ResponseError::UnknownMemberId)
        }
        Some(GroupKind::Simple) => Ok(()),
        Some(GroupKind::Classic) | None => classic::check_commit(shard, turn, call),
    }
}

fn commit_topic(
    shard: &Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    retention_ms: i64,
    asked: &OffsetCommitRequestTopic,
) -> OffsetCommitResponseTopic {
    let known = turn.image.topic(&asked.name);
    let topic = known.map(|known| known.name.clone()).or_else(|| TopicName::new(&asked.name).ok());
    let now = turn.now.wall;
    let expire_timestamp = (retention_ms != DEFAULT_RETENTION)
        .then(|| Timestamp::new(now.get().saturating_add(retention_ms)));
    let topic_id = match expire_timestamp {
        None => Uuid::from_bytes(asked.topic_id.into_bytes()),
        // The record that says when it expires has no place for it, and what is in memory is what the log says.
        Some(_) => Uuid::ZERO,
    };
    answer(asked, |partition| {
        let topic = topic.clone().ok_or(ResponseError::UnknownTopicOrPartition)?;
        let metadata = partition.committed_metadata.as_deref().unwrap_or("");
        if is_longer(metadata, shard.settings.offset_metadata_max_bytes) {
            return Err(ResponseError::OffsetMetadataTooLarge);
        }
        turn.write(GroupRecord::OffsetCommit {
            group: group.clone(),
            topic,
            partition: PartitionIndex::new(partition.partition_index),
            value: Some(OffsetCommitValue {
                offset: Offset::new(partition.committed_offset),
                leader_epoch: LeaderEpoch::new(partition.committed_leader_epoch),
                metadata: metadata.to_owned(),
                commit_timestamp: now,
                expire_timestamp,
                topic_id,
            }),
        });
        shard.metrics.group_offset_commits.increment();
        Ok(())
    })
}

/// Kafka compares what Java calls the length of a string: UTF-16 units, never more than the bytes.
pub(super) fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && text.encode_utf16().count() > max
}

/// A topic's part of the answer, in the order of the question.
fn answer(
    asked: &OffsetCommitRequestTopic,
    mut outcome: impl FnMut(&OffsetCommitRequestPartition) -> Result<(), ResponseError>,
) -> OffsetCommitResponseTopic {
    let partitions = asked.partitions.iter().map(|partition| {
        OffsetCommitResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_error_code(outcome(partition).err().map_or(0, |error| error.code()))
    });
    OffsetCommitResponseTopic::default()
        .with_name(asked.name.clone())
        .with_topic_id(asked.topic_id)
        .with_partitions(partitions.collect())
}
