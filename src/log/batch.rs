//! Header of a record batch, magic 2 (Kafka's `DefaultRecordBatch`).
//!
//! Pure functions over bytes; nothing here holds state. All integers are big-endian:
//!
//! | at | field | | at | field |
//! |---|---|---|---|---|
//! | 0 | base offset i64 | | 27 | base timestamp i64 |
//! | 8 | batch length i32, of what follows it | | 35 | max timestamp i64 |
//! | 12 | partition leader epoch i32 | | 43 | producer id i64 |
//! | 16 | magic i8 | | 51 | producer epoch i16 |
//! | 17 | CRC-32C u32 of everything from 21 on | | 53 | base sequence i32 |
//! | 21 | attributes i16 | | 57 | records count i32 |
//! | 23 | last offset delta i32 | | 61 | records |
//!
//! Base offset and leader epoch lie outside the checksum, so a leader sets them without touching the rest. Attributes and
//! max timestamp lie inside it.

use crate::config::{Codec, TimestampType};
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

#[cfg(test)]
mod tests;

/// Bytes before the records of a batch.
pub const HEADER_LEN: usize = 61;

/// Bytes up to and including the length field; `batch_length` counts what follows them.
pub const LENGTH_PREFIX: usize = 12;

/// The only magic that is written.
pub const MAGIC_V2: i8 = 2;

const AT_LEADER_EPOCH: usize = 12;
const AT_CRC: usize = 17;
const AT_ATTRIBUTES: usize = 21;
const AT_MAX_TIMESTAMP: usize = 35;

const CODEC_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
const DELETE_HORIZON: i16 = 0x40;

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

/// Codec bits 5 to 7 of the attributes, which no Kafka defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown compression type id: {0}")]
pub struct UnknownCodec(pub u8);

impl BatchHeader {
    /// Reads the fields as they stand; `None` if there are fewer than [`HEADER_LEN`] bytes. Checks nothing, not even the
    /// magic: see [`super::scan`] for framing and checksum.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        Some(Self {
            base_offset: Offset::new(i64::from_be_bytes(field(bytes, 0))),
            batch_length: i32::from_be_bytes(field(bytes, 8)),
            partition_leader_epoch: LeaderEpoch::new(i32::from_be_bytes(field(
                bytes,
                AT_LEADER_EPOCH,
            ))),
            magic: i8::from_be_bytes(field(bytes, 16)),
            crc: u32::from_be_bytes(field(bytes, AT_CRC)),
            attributes: i16::from_be_bytes(field(bytes, AT_ATTRIBUTES)),
            last_offset_delta: i32::from_be_bytes(field(bytes, 23)),
            base_timestamp: Timestamp::new(i64::from_be_bytes(field(bytes, 27))),
            max_timestamp: Timestamp::new(i64::from_be_bytes(field(bytes, AT_MAX_TIMESTAMP))),
            producer_id: ProducerId::new(i64::from_be_bytes(field(bytes, 43))),
            producer_epoch: ProducerEpoch::new(i16::from_be_bytes(field(bytes, 51))),
            base_sequence: i32::from_be_bytes(field(bytes, 53)),
            records_count: i32::from_be_bytes(field(bytes, 57)),
        })
    }

    /// Writes the fields as they stand, the CRC included.
    pub fn write(&self, to: &mut [u8; HEADER_LEN]) {
        to[0..8].copy_from_slice(&self.base_offset.get().to_be_bytes());
        to[8..12].copy_from_slice(&self.batch_length.to_be_bytes());
        to[12..16].copy_from_slice(&self.partition_leader_epoch.get().to_be_bytes());
        to[16..17].copy_from_slice(&self.magic.to_be_bytes());
        to[17..21].copy_from_slice(&self.crc.to_be_bytes());
        to[21..23].copy_from_slice(&self.attributes.to_be_bytes());
        to[23..27].copy_from_slice(&self.last_offset_delta.to_be_bytes());
        to[27..35].copy_from_slice(&self.base_timestamp.get().to_be_bytes());
        to[35..43].copy_from_slice(&self.max_timestamp.get().to_be_bytes());
        to[43..51].copy_from_slice(&self.producer_id.get().to_be_bytes());
        to[51..53].copy_from_slice(&self.producer_epoch.get().to_be_bytes());
        to[53..57].copy_from_slice(&self.base_sequence.to_be_bytes());
        to[57..61].copy_from_slice(&self.records_count.to_be_bytes());
    }

    /// Bytes of the whole batch; 0 if the length field is negative.
    pub fn size(&self) -> usize {
        usize::try_from(self.batch_length).map_or(0, |length| length + LENGTH_PREFIX)
    }

    /// Offset of the last record the batch ever had; compaction may have removed it since.
    pub fn last_offset(&self) -> Offset {
        Offset::new(self.base_offset.get().saturating_add(i64::from(self.last_offset_delta)))
    }

    /// Sequence of the last record, −1 if the batch has none. After 2³¹−1 comes 0.
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence < 0 {
            return -1;
        }
        increment_sequence(self.base_sequence, self.last_offset_delta.max(0))
    }

    /// How the records are compressed.
    pub fn codec(&self) -> Result<Codec, UnknownCodec> {
        codec_of(self.attributes)
    }

    /// Whose clock the record timestamps show.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes & LOG_APPEND_TIME == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }

    /// The header as [`set_timestamps`] leaves it, but for the checksum.
    pub(super) fn with_timestamps(
        mut self,
        timestamp_type: TimestampType,
        max_timestamp: Timestamp,
    ) -> Self {
        match timestamp_type {
            TimestampType::CreateTime => self.attributes &= !LOG_APPEND_TIME,
            TimestampType::LogAppendTime => self.attributes |= LOG_APPEND_TIME,
        }
        self.max_timestamp = max_timestamp;
        self
    }

    /// Part of a transaction: data of it, or its marker.
    pub fn is_transactional(&self) -> bool {
        self.attributes & TRANSACTIONAL != 0
    }

    /// Holds control records (transaction markers and the like), which consumers do not see.
    pub fn is_control(&self) -> bool {
        self.attributes & CONTROL != 0
    }

    /// Has a producer id, so takes part in idempotence.
    pub fn has_producer_id(&self) -> bool {
        self.producer_id.get() >= 0
    }

    /// The same without records, as compaction leaves it for its producer's sake (Kafka's `writeEmptyHeader`); the checksum
    /// is yet to be set.
    pub(super) fn emptied(self) -> Self {
        Self {
            batch_length: (HEADER_LEN - LENGTH_PREFIX) as i32,
            attributes: self.attributes & !(CODEC_MASK | DELETE_HORIZON),
            base_timestamp: Timestamp::NONE,
            records_count: 0,
            ..self
        }
    }

    /// The same with a time from which on its tombstones and its marker may go; the record timestamps must be written
    /// relative to it.
    pub(super) fn with_delete_horizon(self, horizon: Timestamp) -> Self {
        Self { attributes: self.attributes | DELETE_HORIZON, base_timestamp: horizon, ..self }
    }

    /// When the cleaner may drop the tombstones of this batch, if it has set that time; it then stands in the place of the
    /// base timestamp.
    pub fn delete_horizon(&self) -> Option<Timestamp> {
        (self.attributes & DELETE_HORIZON != 0).then_some(self.base_timestamp)
    }
}

/// `sequence` moved on by `by` records, both not negative; after 2³¹−1 comes 0 (Kafka's `incrementSequence`).
pub fn increment_sequence(sequence: i32, by: i32) -> i32 {
    debug_assert!(sequence >= 0 && by >= 0);
    sequence.wrapping_add(by) & i32::MAX
}

/// The codec in the lowest three attribute bits.
pub fn codec_of(attributes: i16) -> Result<Codec, UnknownCodec> {
    match attributes & CODEC_MASK {
        0 => Ok(Codec::None),
        1 => Ok(Codec::Gzip),
        2 => Ok(Codec::Snappy),
        3 => Ok(Codec::Lz4),
        4 => Ok(Codec::Zstd),
        other => Err(UnknownCodec(other as u8)),
    }
}

/// The attributes of a batch.
pub(super) fn make_attributes(
    codec: Codec,
    timestamp_type: TimestampType,
    transactional: bool,
    control: bool,
) -> i16 {
    let codec = match codec {
        Codec::None => 0,
        Codec::Gzip => 1,
        Codec::Snappy => 2,
        Codec::Lz4 => 3,
        Codec::Zstd => 4,
    };
    let time = if timestamp_type == TimestampType::LogAppendTime { LOG_APPEND_TIME } else { 0 };
    let transactional = if transactional { TRANSACTIONAL } else { 0 };
    let control = if control { CONTROL } else { 0 };
    codec | time | transactional | control
}

/// CRC-32C (Castagnoli) of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// The checksum that the batch must carry.
///
/// # Panics
/// If `batch` is shorter than a header: framing comes first.
pub fn compute_crc(batch: &[u8]) -> u32 {
    crc32c(&batch[AT_ATTRIBUTES..])
}

/// Sets what the leader assigns, in a whole batch of magic 2. The checksum does not cover it.
///
/// # Panics
/// If `batch` is shorter than a header.
pub fn set_offset_and_epoch(batch: &mut [u8], base_offset: Offset, epoch: LeaderEpoch) {
    batch[..8].copy_from_slice(&base_offset.get().to_be_bytes());
    batch[AT_LEADER_EPOCH..AT_LEADER_EPOCH + 4].copy_from_slice(&epoch.get().to_be_bytes());
}

/// Sets whose time a whole batch of magic 2 shows, and its largest timestamp: for LogAppendTime that is the timestamp of
/// every record. Renews the checksum.
///
/// # Panics
/// If `batch` is shorter than a header.
pub fn set_timestamps(batch: &mut [u8], timestamp_type: TimestampType, max_timestamp: Timestamp) {
    let low_attributes = &mut batch[AT_ATTRIBUTES + 1];
    match timestamp_type {
        TimestampType::CreateTime => *low_attributes &= !(LOG_APPEND_TIME as u8),
        TimestampType::LogAppendTime => *low_attributes |= LOG_APPEND_TIME as u8,
    }
    let max_timestamp = max_timestamp.get().to_be_bytes();
    batch[AT_MAX_TIMESTAMP..AT_MAX_TIMESTAMP + 8].copy_from_slice(&max_timestamp);
    let crc = compute_crc(batch);
    set_crc(batch, crc);
}

/// Stores the checksum.
///
/// # Panics
/// If `batch` is shorter than a header.
pub(super) fn set_crc(batch: &mut [u8], crc: u32) {
    batch[AT_CRC..AT_CRC + 4].copy_from_slice(&crc.to_be_bytes());
}

fn field<const N: usize>(bytes: &[u8; HEADER_LEN], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}
