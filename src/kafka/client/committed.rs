//! Committed offsets of a group: read, set, delete.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest};

use super::admin::topic_name;
use super::groups::{group_id, what};
use super::{Client, ClientError};
use crate::kafka::ErrorCode;
use crate::types::{LeaderEpoch, Offset, PartitionIndex};

/// The last version that names topics by name.
const OFFSET_FETCH_VERSION: i16 = 9;
/// First version that asks for groups by the list, which is the only form used here.
const OFFSET_FETCH_VERSION_MIN: i16 = 8;
/// The last version that names topics by name.
const OFFSET_COMMIT_VERSION: i16 = 9;
/// First version with leader epochs.
const LEADER_EPOCH_FROM: i16 = 6;
const OFFSET_DELETE_VERSION: i16 = 0;

/// Generation of whoever commits without being a member.
const NO_GENERATION: i32 = -1;

/// A partition and the offset that a group has committed for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: PartitionIndex,
    /// The next offset to read.
    pub offset: Offset,
    /// Epoch of the record before it, −1 if the consumer did not say.
    pub leader_epoch: LeaderEpoch,
}

/// What became of a partition that a call was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOutcome {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: PartitionIndex,
    /// Why it was refused.
    pub refused: Option<ErrorCode>,
}

impl Client {
    /// Everything that a group has committed, by topic and partition.
    pub async fn committed(&mut self, group: &str) -> Result<Vec<CommittedOffset>, ClientError> {
        let version = self.link.version_of::<OffsetFetchRequest>(OFFSET_FETCH_VERSION)?;
        if version < OFFSET_FETCH_VERSION_MIN {
            return Err(ClientError::Unsupported { api: "OffsetFetch" });
        }
        let asked = OffsetFetchRequestGroup::default()
            .with_group_id(group_id(group))
            .with_member_id(None)
            .with_member_epoch(-1)
            .with_topics(None);
        let request = OffsetFetchRequest::default().with_groups(vec![asked]);
        let answer = self.link.call(&request, version).await?;
        let Some(result) = answer.groups.first() else {
            return Err(self.link.malformed("the answer names no group"));
        };
        ClientError::check(result.error_code, None, || what(group))?;
        let mut committed = Vec::new();
        for topic in &result.topics {
            for partition in &topic.partitions {
                let (name, index) = (topic.name.to_string(), partition.partition_index);
                ClientError::check(partition.error_code, None, || format!("{name}-{index}"))?;
                committed.push(CommittedOffset {
                    topic: name,
                    partition: PartitionIndex::new(index),
                    offset: Offset::new(partition.committed_offset),
                    leader_epoch: LeaderEpoch::new(partition.committed_leader_epoch),
                });
            }
        }
        committed.retain(|entry| entry.offset > Offset::NONE);
        committed.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
        Ok(committed)
    }

    /// Sets offsets of a group from outside; refused for each partition while the group has members.
    pub async fn commit(
        &mut self,
        group: &str,
        offsets: &[CommittedOffset],
    ) -> Result<Vec<PartitionOutcome>, ClientError> {
        let version = self.link.version_of::<OffsetCommitRequest>(OFFSET_COMMIT_VERSION)?;
        let topics = by_topic(offsets, |entry| &entry.topic).map(|(topic, entries)| {
            let partitions = entries.iter().map(|entry| {
                let epoch =
                    if version >= LEADER_EPOCH_FROM { entry.leader_epoch.get() } else { -1 };
                OffsetCommitRequestPartition::default()
                    .with_partition_index(entry.partition.get())
                    .with_committed_offset(entry.offset.get())
                    .with_committed_leader_epoch(epoch)
                    .with_committed_metadata(Some(Default::default()))
            });
            OffsetCommitRequestTopic::default()
                .with_name(topic_name(topic))
                .with_partitions(partitions.collect())
        });
        let request = OffsetCommitRequest::default()
            .with_group_id(group_id(group))
            .with_generation_id_or_member_epoch(NO_GENERATION)
            .with_topics(topics.collect());
        let answer = self.link.call(&request, version).await?;
        let results = answer.topics.iter().flat_map(|topic| {
            let name = topic.name.to_string();
            topic.partitions.iter().map(move |partition| {
                (name.clone(), partition.partition_index, partition.error_code)
            })
        });
        Ok(outcomes(results))
    }

    /// Deletes committed offsets; refused for topics that a member subscribes to.
    pub async fn delete_offsets(
        &mut self,
        group: &str,
        partitions: &[(String, PartitionIndex)],
    ) -> Result<Vec<PartitionOutcome>, ClientError> {
        let topics = by_topic(partitions, |(topic, _)| topic).map(|(topic, entries)| {
            let partitions = entries.iter().map(|(_, index)| {
                OffsetDeleteRequestPartition::default().with_partition_index(index.get())
            });
            OffsetDeleteRequestTopic::default()
                .with_name(topic_name(topic))
                .with_partitions(partitions.collect())
        });
        let request = OffsetDeleteRequest::default()
            .with_group_id(group_id(group))
            .with_topics(topics.collect());
        let answer = self.link.call(&request, OFFSET_DELETE_VERSION).await?;
        ClientError::check(answer.error_code, None, || what(group))?;
        let results = answer.topics.iter().flat_map(|topic| {
            let name = topic.name.to_string();
            topic.partitions.iter().map(move |partition| {
                (name.clone(), partition.partition_index, partition.error_code)
            })
        });
        Ok(outcomes(results))
    }
}

/// Runs of entries of the same topic.
fn by_topic<'a, T>(
    entries: &'a [T],
    topic: impl Fn(&T) -> &String + Copy + 'a,
) -> impl Iterator<Item = (&'a str, &'a [T])> {
    entries
        .chunk_by(move |a, b| topic(a) == topic(b))
        .map(move |run| (topic(&run[0]).as_str(), run))
}

/// In order of topics and partitions, whatever the order of the answer.
fn outcomes(results: impl Iterator<Item = (String, i32, i16)>) -> Vec<PartitionOutcome> {
    let mut outcomes: Vec<PartitionOutcome> = results.map(outcome).collect();
    outcomes.sort_by(|a, b| (&a.topic, a.partition).cmp(&(&b.topic, b.partition)));
    outcomes
}

fn outcome((topic, partition, code): (String, i32, i16)) -> PartitionOutcome {
    // A code newer than this list is still a refusal.
    let code = ErrorCode::from_number(code).unwrap_or(ErrorCode::UnknownServerError);
    let refused = Some(code).filter(|code| code.is_error());
    PartitionOutcome { topic, partition: PartitionIndex::new(partition), refused }
}
