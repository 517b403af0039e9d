//! Records: produce, fetch, offsets.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{FetchRequest, ListOffsetsRequest, ProduceRequest};

use super::admin::topic_name;
use super::patience::Patience;
use super::{Client, ClientError};
use crate::log::Isolation;
use crate::types::{LeaderEpoch, Offset, PartitionIndex, Timestamp};

/// The last version that names topics by name.
const PRODUCE_VERSION: i16 = 12;
/// The last version that names topics by name.
const FETCH_VERSION: i16 = 12;
const LIST_OFFSETS_VERSION: i16 = 8;

/// How long the broker may take to make records durable.
const PRODUCE_TIMEOUT: Duration = Duration::from_secs(30);

/// What a produce call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Nothing; there is no answer.
    None,
    /// The append.
    Leader,
    /// The append and what the broker's durability asks for.
    All,
}

/// Where to produce.
#[derive(Clone, Copy, Debug)]
pub struct ProduceTo<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: PartitionIndex,
    /// What to wait for.
    pub acks: Acks,
}

/// What to fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchFrom<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: PartitionIndex,
    /// First offset wanted.
    pub offset: Offset,
    /// How long the broker waits for the first byte.
    pub wait: Duration,
    /// Most bytes; a first batch that is larger comes whole.
    pub bytes_max: i32,
    /// Which records are visible.
    pub isolation: Isolation,
}

/// What a fetch returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Whole batches, possibly a cut one at the end. The first may begin before the offset asked for.
    pub records: Bytes,
    /// End of what consumers may see.
    pub high_watermark: Offset,
    /// First offset there is.
    pub log_start: Offset,
}

/// A point in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetAt {
    /// The first offset there is.
    Earliest,
    /// The end.
    Latest,
    /// The first record at or after this time.
    Time(Timestamp),
    /// The record with the largest timestamp.
    LargestTimestamp,
}

/// An offset found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedOffset {
    /// −1 if there is no such record.
    pub offset: Offset,
    /// Of the record; −1 where the question was not about one.
    pub timestamp: Timestamp,
    /// Epoch that the record was written in, −1 if unknown.
    pub leader_epoch: LeaderEpoch,
}

/// A partition and the offset found in it.
pub type ListedPartition = (PartitionIndex, Result<ListedOffset, ClientError>);

impl Acks {
    const fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

impl OffsetAt {
    const fn number(self) -> i64 {
        match self {
            Self::Latest => -1,
            Self::Earliest => -2,
            Self::LargestTimestamp => -3,
            Self::Time(timestamp) => timestamp.get(),
        }
    }
}

impl Client {
    /// Appends one batch. The offset of its first record; −1 with [`Acks::None`].
    pub async fn produce(
        &mut self,
        to: ProduceTo<'_>,
        batch: Bytes,
    ) -> Result<Offset, ClientError> {
        let mut patience = Patience::default();
        loop {
            match self.produce_once(to, batch.clone()).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn produce_once(
        &mut self,
        to: ProduceTo<'_>,
        batch: Bytes,
    ) -> Result<Offset, ClientError> {
        let data = PartitionProduceData::default()
            .with_index(to.partition.get())
            .with_records(Some(batch));
        let topic = TopicProduceData::default()
            .with_name(topic_name(to.topic))
            .with_partition_data(vec![data]);
        let request = ProduceRequest::default()
            .with_acks(to.acks.number())
            .with_timeout_ms(PRODUCE_TIMEOUT.as_millis() as i32)
            .with_topic_data(vec![topic]);
        if to.acks == Acks::None {
            self.link.send(&request, PRODUCE_VERSION).await?;
            return Ok(Offset::NONE);
        }
        let answer = self.link.call_within(&request, PRODUCE_VERSION, PRODUCE_TIMEOUT).await?;
        let result = answer.responses.first().and_then(|topic| topic.partition_responses.first());
        let Some(result) = result else {
            return Err(self.link.malformed("the answer names no partition"));
        };
        let message = result.error_message.as_ref().map(|text| text.as_str());
        ClientError::check(result.error_code, message, || name(to.topic, to.partition))?;
        Ok(Offset::new(result.base_offset))
    }

    /// Fetches records, waiting for some if there are none yet.
    pub async fn fetch(&mut self, from: FetchFrom<'_>) -> Result<Fetched, ClientError> {
        let mut patience = Patience::default();
        loop {
            match self.fetch_once(from).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn fetch_once(&mut self, from: FetchFrom<'_>) -> Result<Fetched, ClientError> {
        let partition = FetchPartition::default()
            .with_partition(from.partition.get())
            .with_fetch_offset(from.offset.get())
            .with_partition_max_bytes(from.bytes_max);
        let topic = FetchTopic::default()
            .with_topic(topic_name(from.topic))
            .with_partitions(vec![partition]);
        let request = FetchRequest::default()
            .with_max_wait_ms(i32::try_from(from.wait.as_millis()).unwrap_or(i32::MAX))
            .with_min_bytes(1)
            .with_max_bytes(from.bytes_max)
            .with_isolation_level(isolation_number(from.isolation))
            .with_session_epoch(-1)
            .with_topics(vec![topic]);
        let answer = self.link.call_within(&request, FETCH_VERSION, from.wait).await?;
        let what = || name(from.topic, from.partition);
        ClientError::check(answer.error_code, None, what)?;
        let result = answer.responses.first().and_then(|topic| topic.partitions.first());
        let Some(result) = result else {
            return Err(self.link.malformed("the answer names no partition"));
        };
        ClientError::check(result.error_code, None, what)?;
        Ok(Fetched {
            records: result.records.clone().unwrap_or_default(),
            high_watermark: Offset::new(result.high_watermark),
            log_start: Offset::new(result.log_start_offset),
        })
    }

    /// Finds an offset in a partition.
    pub async fn list_offset(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
        at: OffsetAt,
    ) -> Result<ListedOffset, ClientError> {
        let mut patience = Patience::default();
        loop {
            match self.list_offset_once(topic, partition, at).await {
                Err(error) if patience.allows(&error).await => {}
                result => return result,
            }
        }
    }

    async fn list_offset_once(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
        at: OffsetAt,
    ) -> Result<ListedOffset, ClientError> {
        let listed = self.list_offsets(topic, &[partition], at).await?;
        match listed.into_iter().next() {
            Some((_, result)) => result,
            None => Err(self.link.malformed("the answer names no partition")),
        }
    }

    /// Finds an offset in each of some partitions of a topic.
    pub async fn list_offsets(
        &mut self,
        topic: &str,
        partitions: &[PartitionIndex],
        at: OffsetAt,
    ) -> Result<Vec<ListedPartition>, ClientError> {
        let asked = partitions.iter().map(|partition| {
            ListOffsetsPartition::default()
                .with_partition_index(partition.get())
                .with_timestamp(at.number())
        });
        let topics = ListOffsetsTopic::default()
            .with_name(topic_name(topic))
            .with_partitions(asked.collect());
        let request =
            ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topics]);
        let answer = self.link.call(&request, LIST_OFFSETS_VERSION).await?;
        let listed = |result: &ListOffsetsPartitionResponse| {
            let partition = PartitionIndex::new(result.partition_index);
            ClientError::check(result.error_code, None, || name(topic, partition))?;
            Ok(ListedOffset {
                offset: Offset::new(result.offset),
                timestamp: Timestamp::new(result.timestamp),
                leader_epoch: LeaderEpoch::new(result.leader_epoch),
            })
        };
        let results = answer.topics.iter().flat_map(|topic| &topic.partitions);
        Ok(results
            .map(|result| (PartitionIndex::new(result.partition_index), listed(result)))
            .collect())
    }
}

fn name(topic: &str, partition: PartitionIndex) -> String {
    format!("{topic}-{partition}")
}

fn isolation_number(isolation: Isolation) -> i8 {
    match isolation {
        Isolation::ReadUncommitted => 0,
        Isolation::ReadCommitted => 1,
    }
}
