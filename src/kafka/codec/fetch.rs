//! Fetch (1): a writer for responses of versions 4-18 that puts records between the fields without copying them. Requests go
//! through the generated decoder.

use kafka_protocol::messages::FetchRequest;

use super::{LeaderIdAndEpoch, Progress, TopicKey, decode_body};
use crate::kafka::ErrorCode;
use crate::kafka::handler::{Disconnect, Request, Response, ResponsePart};
use crate::kafka::wire::Writer;
use crate::log::{AbortedTransaction, Slice};
use crate::types::{BrokerId, LeaderEpoch, Offset, PartitionIndex};

/// First version with compact lengths and tags.
const FLEXIBLE_FROM: i16 = 12;

/// Last version that the generated codec knows. Version 18 adds one tagged field, which only followers send (KIP-1166): without
/// it, its requests and responses are those of version 17.
pub const GENERATED_TO: i16 = 17;

/// Reads a Fetch request.
pub fn request(request: &Request) -> Result<FetchRequest, Disconnect> {
    decode_body(request.body.clone(), request.version.min(GENERATED_TO))
}

/// What a Fetch response says as a whole.
#[derive(Clone, Copy, Debug)]
pub struct FetchHead {
    /// How long the client is to pause.
    pub throttle_ms: i32,
    /// Error of the request as a whole (since version 7): then there are no topics.
    pub error: ErrorCode,
    /// Fetch session, 0 for none (since version 7).
    pub session_id: i32,
}

/// What is answered for one partition beside the records.
#[derive(Clone, Copy, Debug)]
pub struct FetchPartition<'a> {
    /// Which.
    pub index: PartitionIndex,
    /// Success or why not.
    pub error: ErrorCode,
    /// −1 on error.
    pub high_watermark: Offset,
    /// −1 on error.
    pub last_stable_offset: Offset,
    /// −1 on error (since version 5).
    pub log_start: Offset,
    /// `Some`, possibly empty, for read_committed; null otherwise.
    pub aborted: Option<&'a [AbortedTransaction]>,
    /// −1: read here (since version 11).
    pub preferred_read_replica: BrokerId,
    /// Where the reader's log and ours part, with the end of that epoch (since version 12).
    pub diverging_epoch: Option<(LeaderEpoch, Offset)>,
    /// Whom to ask instead (since version 12).
    pub current_leader: Option<LeaderIdAndEpoch>,
}

impl FetchPartition<'_> {
    /// An error for a partition.
    pub const fn failed(index: PartitionIndex, error: ErrorCode) -> Self {
        Self {
            index,
            error,
            high_watermark: Offset::NONE,
            last_stable_offset: Offset::NONE,
            log_start: Offset::NONE,
            aborted: None,
            preferred_read_replica: BrokerId::new(-1),
            diverging_epoch: None,
            current_leader: None,
        }
    }
}

/// Writes a Fetch response: for each topic [`FetchResponse::topic`], then its partitions.
#[derive(Debug)]
pub struct FetchResponse {
    writer: Writer,
    response: Response,
    version: i16,
    progress: Progress,
}

impl FetchResponse {
    /// Begins a response with so many topics; `partitions` of all topics only sizes the buffer.
    pub fn new(version: i16, head: FetchHead, topics: usize, partitions: usize) -> Self {
        const HEAD_AND_TAIL_BYTES: usize = 24;
        const TOPIC_BYTES: usize = 64;
        const PARTITION_BYTES: usize = 72;
        let capacity = HEAD_AND_TAIL_BYTES + topics * TOPIC_BYTES + partitions * PARTITION_BYTES;
        let mut writer = Writer::new(capacity, version >= FLEXIBLE_FROM);
        writer.int32(head.throttle_ms);
        if version >= 7 {
            writer.int16(head.error.number());
            writer.int32(head.session_id);
        }
        writer.len(Some(topics));
        Self { writer, response: Response::default(), version, progress: Progress::new(topics) }
    }

    /// Begins a topic with so many partitions.
    pub fn topic(&mut self, topic: TopicKey<'_>, partitions: usize) {
        topic.write(&mut self.writer);
        self.writer.len(Some(partitions));
        if self.progress.topic(partitions) {
            self.writer.tag_count(0);
        }
    }

    /// The next partition of the topic. `records` may be empty; on the wire they are never null, which clients refuse.
    pub fn partition(&mut self, partition: &FetchPartition<'_>, records: Slice) {
        self.fields(partition);
        self.writer.len(Some(records.len));
        if records.len > 0 {
            self.response.parts.push(ResponsePart::Inline(self.writer.split()));
            self.response.parts.push(ResponsePart::Records(records));
        }
        self.tags(partition);
        if self.progress.partition() {
            self.writer.tag_count(0);
        }
    }

    /// Ends the response.
    pub fn finish(mut self) -> Response {
        self.progress.finish();
        self.writer.tag_count(0);
        let tail = self.writer.into_inner();
        if !tail.is_empty() {
            self.response.parts.push(ResponsePart::Inline(tail));
        }
        self.response
    }

    fn fields(&mut self, partition: &FetchPartition<'_>) {
        let writer = &mut self.writer;
        writer.int32(partition.index.get());
        writer.int16(partition.error.number());
        writer.int64(partition.high_watermark.get());
        writer.int64(partition.last_stable_offset.get());
        if self.version >= 5 {
            writer.int64(partition.log_start.get());
        }
        writer.len(partition.aborted.map(<[_]>::len));
        for transaction in partition.aborted.unwrap_or_default() {
            writer.int64(transaction.producer_id.get());
            writer.int64(transaction.first_offset.get());
            writer.tag_count(0);
        }
        if self.version >= 11 {
            writer.int32(partition.preferred_read_replica.get());
        }
    }

    fn tags(&mut self, partition: &FetchPartition<'_>) {
        const EPOCH_AND_OFFSET_BYTES: u32 = 4 + 8 + 1;
        if self.version < FLEXIBLE_FROM {
            return;
        }
        let count = u32::from(partition.diverging_epoch.is_some())
            + u32::from(partition.current_leader.is_some());
        self.writer.tag_count(count);
        if let Some((epoch, end)) = partition.diverging_epoch {
            self.writer.tag(0, EPOCH_AND_OFFSET_BYTES);
            self.writer.int32(epoch.get());
            self.writer.int64(end.get());
            self.writer.tag_count(0);
        }
        if let Some(leader) = partition.current_leader {
            leader.write_tag(&mut self.writer, 1);
        }
    }
}
