//! Produce (0) without copies: a reader for requests of versions 3-13 and a writer for their responses.
//!
//! [`ProduceRequest::parse`] walks the whole body once, so a request with a broken tail has no effect at all; what it hands
//! out afterwards are slices of the frame. It allocates nothing and trusts no count.

use bytes::Bytes;

use super::{LeaderIdAndEpoch, Progress, TopicKey};
use crate::kafka::ErrorCode;
use crate::kafka::handler::{Disconnect, Request, Response};
use crate::kafka::wire::{Malformed, Reader, Writer};
use crate::types::{Offset, PartitionIndex, Timestamp};

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 9;
/// First version that names topics by id.
const TOPIC_IDS_FROM: i16 = 13;

/// A Produce request, known to be well formed.
#[derive(Debug)]
pub struct ProduceRequest {
    body: Bytes,
    version: i16,
    transactional_id_at: usize,
    topics_at: usize,
    /// −1 all, 0 none, 1 leader; other values are the caller's to refuse.
    pub acks: i16,
    /// How long the producer waits.
    pub timeout_ms: i32,
    /// Number of topics that something is written to.
    pub topics: usize,
    /// Number of partitions, all topics.
    pub partitions: usize,
}

/// One topic of a request.
#[derive(Clone, Copy, Debug)]
pub struct TopicData<'a> {
    /// Which.
    pub topic: TopicKey<'a>,
    /// Number of partitions.
    pub partitions: usize,
    reader: Reader<'a>,
}

/// One partition of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionData<'a> {
    /// Which.
    pub index: PartitionIndex,
    /// Its batches, `None` for null.
    pub records: Option<&'a [u8]>,
}

impl ProduceRequest {
    /// Reads the body of `request`.
    pub fn parse(request: &Request) -> Result<Self, Disconnect> {
        Self::parse_body(request.body.clone(), request.version)
            .map_err(|malformed| Disconnect(format!("malformed body: {malformed}")))
    }

    /// As [`ProduceRequest::parse`], for a body that is at hand.
    pub fn parse_body(body: Bytes, version: i16) -> Result<Self, Malformed> {
        let mut reader = Reader::new(&body, version >= FLEXIBLE_FROM);
        let transactional_id_at = reader.position();
        reader.nullable_text()?;
        let acks = reader.int16()?;
        let timeout_ms = reader.int32()?;
        let topics_at = reader.position();
        let (mut topics, mut partitions) = (0, 0);
        for _ in 0..topic_count(&mut reader)? {
            let topic = topic(&mut reader, version)?;
            skip_partitions(&mut reader, topic.partitions)?;
            topics += usize::from(topic.partitions > 0);
            partitions += topic.partitions;
        }
        reader.skip_tags()?;
        Ok(Self {
            version,
            transactional_id_at,
            topics_at,
            acks,
            timeout_ms,
            topics,
            partitions,
            body,
        })
    }

    /// The transactional id, if the producer has one.
    pub fn transactional_id(&self) -> Option<&str> {
        self.reader(self.transactional_id_at).nullable_text().ok().flatten()
    }

    /// The topics in wire order, but for those without partitions: Kafka's answer does not name them. No read in here fails:
    /// `parse` has done the same ones.
    pub fn topics(&self) -> impl Iterator<Item = TopicData<'_>> {
        let mut reader = self.reader(self.topics_at);
        let count = topic_count(&mut reader).unwrap_or(0);
        let topics = (0..count).map_while(move |_| {
            let topic = topic(&mut reader, self.version).ok()?;
            skip_partitions(&mut reader, topic.partitions).ok()?;
            Some(topic)
        });
        topics.filter(|topic| topic.partitions > 0)
    }

    /// The shared form of a slice that this request handed out; it keeps the whole frame alive.
    pub fn share(&self, records: &[u8]) -> Bytes {
        self.body.slice_ref(records)
    }

    fn reader(&self, at: usize) -> Reader<'_> {
        Reader::at(&self.body, at, self.version >= FLEXIBLE_FROM)
    }
}

impl<'a> TopicData<'a> {
    /// The partitions in wire order.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionData<'a>> + use<'a> {
        let mut reader = self.reader;
        (0..self.partitions).map_while(move |_| partition(&mut reader).ok())
    }
}

fn topic_count(reader: &mut Reader<'_>) -> Result<usize, Malformed> {
    // A name or id, an array and tags.
    let least = if reader.is_flexible() { 3 } else { 6 };
    reader.elements_not_null(least)
}

/// A topic up to its first partition.
fn topic<'a>(reader: &mut Reader<'a>, version: i16) -> Result<TopicData<'a>, Malformed> {
    let topic = if version >= TOPIC_IDS_FROM {
        TopicKey::Id(reader.uuid()?)
    } else {
        TopicKey::Name(reader.text()?)
    };
    // An index, a length and tags.
    let partitions = reader.elements_not_null(if reader.is_flexible() { 6 } else { 8 })?;
    Ok(TopicData { topic, partitions, reader: *reader })
}

fn partition<'a>(reader: &mut Reader<'a>) -> Result<PartitionData<'a>, Malformed> {
    let index = PartitionIndex::new(reader.int32()?);
    let records = reader.nullable_bytes()?;
    reader.skip_tags()?;
    Ok(PartitionData { index, records })
}

fn skip_partitions(reader: &mut Reader<'_>, count: usize) -> Result<(), Malformed> {
    (0..count).try_for_each(|_| partition(reader).map(|_| ()))?;
    reader.skip_tags()
}

/// Writes a Produce response: for each topic [`ProduceResponse::topic`], then its partitions, in the order of the request.
#[derive(Debug)]
pub struct ProduceResponse {
    writer: Writer,
    version: i16,
    progress: Progress,
}

/// What is answered for one partition. [`PartitionAnswer::failed`] has Kafka's values for an error.
#[derive(Clone, Copy, Debug)]
pub struct PartitionAnswer<'a> {
    /// Which.
    pub index: PartitionIndex,
    /// Success or why not.
    pub error: ErrorCode,
    /// Offset of the first record, −1 on error.
    pub base_offset: Offset,
    /// When the broker appended it where the topic says LogAppendTime, else −1.
    pub log_append_time: Timestamp,
    /// First offset of the log, −1 on error.
    pub log_start: Offset,
    /// Records at fault: position in the batch and why (since version 8).
    pub record_errors: &'a [(i32, Option<&'a str>)],
    /// Text for people (since version 8).
    pub error_message: Option<&'a str>,
    /// Whom to ask instead (since version 10, with NOT_LEADER_OR_FOLLOWER).
    pub current_leader: Option<LeaderIdAndEpoch>,
}

impl PartitionAnswer<'_> {
    /// An error for a partition without further detail.
    pub const fn failed(index: PartitionIndex, error: ErrorCode) -> Self {
        Self {
            index,
            error,
            base_offset: Offset::NONE,
            log_append_time: Timestamp::NONE,
            log_start: Offset::NONE,
            record_errors: &[],
            error_message: None,
            current_leader: None,
        }
    }
}

impl ProduceResponse {
    /// Begins the response to `request`.
    pub fn answering(request: &ProduceRequest) -> Self {
        Self::new(request.version, request.topics, request.partitions)
    }

    /// Begins a response with so many topics; `partitions` of all topics only sizes the buffer.
    pub fn new(version: i16, topics: usize, partitions: usize) -> Self {
        const HEAD_AND_TAIL_BYTES: usize = 16;
        const TOPIC_BYTES: usize = 64;
        const PARTITION_BYTES: usize = 48;
        let capacity = HEAD_AND_TAIL_BYTES + topics * TOPIC_BYTES + partitions * PARTITION_BYTES;
        let mut writer = Writer::new(capacity, version >= FLEXIBLE_FROM);
        writer.len(Some(topics));
        Self { writer, version, progress: Progress::new(topics) }
    }

    /// Begins a topic with so many partitions.
    pub fn topic(&mut self, topic: TopicKey<'_>, partitions: usize) {
        topic.write(&mut self.writer);
        self.writer.len(Some(partitions));
        if self.progress.topic(partitions) {
            self.writer.tag_count(0);
        }
    }

    /// The next partition of the topic.
    pub fn partition(&mut self, answer: &PartitionAnswer<'_>) {
        let writer = &mut self.writer;
        writer.int32(answer.index.get());
        writer.int16(answer.error.number());
        writer.int64(answer.base_offset.get());
        writer.int64(answer.log_append_time.get());
        if self.version >= 5 {
            writer.int64(answer.log_start.get());
        }
        if self.version >= 8 {
            writer.len(Some(answer.record_errors.len()));
            for (position, message) in answer.record_errors {
                writer.int32(*position);
                writer.text(*message);
                writer.tag_count(0);
            }
            writer.text(answer.error_message);
        }
        match answer.current_leader {
            Some(leader) if self.version >= 10 => {
                writer.tag_count(1);
                leader.write_tag(writer, 0);
            }
            _ => writer.tag_count(0),
        }
        if self.progress.partition() {
            self.writer.tag_count(0);
        }
    }

    /// Ends the response.
    pub fn finish(mut self, throttle_ms: i32) -> Response {
        self.progress.finish();
        self.writer.int32(throttle_ms);
        self.writer.tag_count(0);
        Response::from(self.writer.into_inner())
    }
}
