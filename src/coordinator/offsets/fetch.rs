//! OffsetFetch.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use kafka_protocol::protocol::StrBytes;

use super::{CommittedOffset, CommittedOffsets};
use crate::coordinator::groups::{GroupKind, GroupReply, GroupTurn, Groups, GroupsHard};
use crate::coordinator::machine::Token;
use crate::coordinator::{classic, consumer};
use crate::types::{PartitionIndex, TopicName, Uuid};

/// First version that names topics by id.
const TOPIC_IDS_FROM: i16 = 10;

/// OffsetFetch for one group.
#[derive(Debug)]
pub(in crate::coordinator) struct Fetch {
    pub(in crate::coordinator) version: i16,
    pub(in crate::coordinator) group: OffsetFetchRequestGroup,
    /// Offsets that an open transaction may change are an error.
    pub(in crate::coordinator) require_stable: bool,
}

/// OffsetFetch. What does not exist is no error: it has the offset -1.
pub(in crate::coordinator) fn fetch(
    shard: &Groups,
    turn: &mut GroupTurn<'_>,
    fetch: &Fetch,
    token: Token,
) {
    let hard = turn.hard();
    let group = OffsetFetchResponseGroup::default().with_group_id(fetch.group.group_id.clone());
    let answer = match check(shard, hard, &fetch.group) {
        Ok(()) => group.with_topics(fetch.topics(&hard.offsets)),
        Err(error) => group.with_error_code(error.code()),
    };
    turn.answer(token, GroupReply::FetchOffsets(answer));
}

fn check(
    shard: &Groups,
    hard: &GroupsHard,
    group: &OffsetFetchRequestGroup,
) -> Result<(), ResponseError> {
    match GroupKind::of(shard, hard, &group.group_id) {
        Some(GroupKind::Consumer) => consumer::check_fetch(hard, group),
        Some(GroupKind::Classic) => classic::check_fetch(hard, group),
        Some(GroupKind::Simple) | None => Ok(()),
    }
}

impl Fetch {
    fn topics(&self, offsets: &CommittedOffsets) -> Vec<OffsetFetchResponseTopics> {
        match &self.group.topics {
            Some(topics) => topics.iter().map(|topic| self.asked_topic(offsets, topic)).collect(),
            None => self.all_topics(offsets),
        }
    }

    fn asked_topic(
        &self,
        offsets: &CommittedOffsets,
        asked: &OffsetFetchRequestTopics,
    ) -> OffsetFetchResponseTopics {
        let id = Uuid::from_bytes(asked.topic_id.into_bytes());
        let partitions = asked.partition_indexes.iter().map(|index| {
            let partition = PartitionIndex::new(*index);
            if self.is_unstable(offsets, &asked.name, partition) {
                return unstable(*index);
            }
            let committed = offsets.get(&self.group.group_id, &asked.name, partition);
            // An offset of a topic of this name that was deleted says nothing about this one.
            let same = |committed: &CommittedOffset<'_>| {
                id.is_zero() || committed.topic_id.is_zero() || id == committed.topic_id
            };
            committed.filter(same).map_or_else(|| absent(*index), present)
        });
        OffsetFetchResponseTopics::default()
            .with_name(asked.name.clone())
            .with_topic_id(asked.topic_id)
            .with_partitions(partitions.collect())
    }

    fn all_topics(&self, offsets: &CommittedOffsets) -> Vec<OffsetFetchResponseTopics> {
        let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
        let mut last: Option<(&TopicName, Uuid)> = None;
        for committed in offsets.of_group(&self.group.group_id) {
            let key = (committed.topic, self.shown_id(&committed));
            if last != Some(key) {
                topics.push(topic(key.0, key.1));
                last = Some(key);
            }
            let partitions = topics.last_mut().map(|topic| &mut topic.partitions);
            partitions.into_iter().for_each(|partitions| {
                partitions.push(self.committed_or_unstable(offsets, committed));
            });
        }
        topics
    }

    fn committed_or_unstable(
        &self,
        offsets: &CommittedOffsets,
        committed: CommittedOffset<'_>,
    ) -> OffsetFetchResponsePartitions {
        if self.is_unstable(offsets, committed.topic.as_str(), committed.partition) {
            unstable(committed.partition.get())
        } else {
            present(committed)
        }
    }

    fn is_unstable(
        &self,
        offsets: &CommittedOffsets,
        topic: &str,
        partition: PartitionIndex,
    ) -> bool {
        self.require_stable && offsets.pending().is_unstable(&self.group.group_id, topic, partition)
    }

    /// Versions without ids know one topic of a name only.
    fn shown_id(&self, committed: &CommittedOffset<'_>) -> Uuid {
        if self.version >= TOPIC_IDS_FROM { committed.topic_id } else { Uuid::ZERO }
    }
}

fn topic(name: &TopicName, id: Uuid) -> OffsetFetchResponseTopics {
    OffsetFetchResponseTopics::default()
        .with_name(StrBytes::from_string(name.as_str().to_owned()).into())
        .with_topic_id(uuid::Uuid::from_bytes(id.to_bytes()))
}

fn present(committed: CommittedOffset<'_>) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions::default()
        .with_partition_index(committed.partition.get())
        .with_committed_offset(committed.offset.get())
        .with_committed_leader_epoch(committed.leader_epoch.get())
        .with_metadata(Some(StrBytes::from_string(committed.metadata.to_owned())))
}

fn absent(index: i32) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions::default()
        .with_partition_index(index)
        .with_committed_offset(-1)
        .with_committed_leader_epoch(-1)
        .with_metadata(Some(StrBytes::default()))
}

fn unstable(index: i32) -> OffsetFetchResponsePartitions {
    absent(index).with_error_code(ResponseError::UnstableOffsetCommit.code())
}
