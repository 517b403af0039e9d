//! Header of a record batch, magic 2 (Kafka's `DefaultRecordBatch`).

use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// Bytes before the records of a batch.
pub const HEADER_LEN: usize = 61;

/// The 61 bytes in front of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's message format")]
pub struct BatchHeader {
    pub base_offset: Offset,
    pub batch_length: i32,
    pub partition_leader_epoch: LeaderEpoch,
    pub magic: i8,
    pub crc: u32,
    pub attributes: i16,
    pub last_offset_delta: i32,
    pub base_timestamp: Timestamp,
    pub max_timestamp: Timestamp,
    pub producer_id: ProducerId,
    pub producer_epoch: ProducerEpoch,
    pub base_sequence: i32,
    pub records_count: i32,
}
