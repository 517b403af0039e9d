//! The bytes of a batch that lost records or got a delete horizon (Kafka's `buildRetainedRecordsInto`).
//!
//! Base offset, last offset, producer, sequence and codec stay, offsets keep their gaps; base timestamp, largest timestamp,
//! count and checksum are those of what is left.

use std::io;

use crate::config::{Codec, TimestampType};
use crate::log::batch::{
    BatchHeader, HEADER_LEN, LENGTH_PREFIX, MAGIC_V2, codec_of, compute_crc, make_attributes,
    set_crc,
};
use crate::log::compress::Compression;
use crate::log::legacy::{LegacyMessages, LegacyRecord};
use crate::log::reader::{ReadRecordError, STORED_BYTES_MAX, each_record};
use crate::log::record::{Headers, Record};
use crate::log::scan::StoredBatch;
use crate::types::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};

/// Why a batch cannot be written anew.
#[derive(Debug, thiserror::Error)]
pub(super) enum RewriteError {
    #[error(transparent)]
    Records(#[from] ReadRecordError),
    #[error("its records cannot be compressed: {0}")]
    Compress(io::Error),
    #[error("its offsets lie too far apart for one batch")]
    Offsets,
    #[error("it would have more than 2 GiB")]
    TooLarge,
}

/// Appends `batch` with only the records that `kept` names, at least one.
pub(super) fn rewrite_batch(
    header: &BatchHeader,
    batch: &StoredBatch<'_>,
    kept: &[bool],
    new_horizon: Option<Timestamp>,
    out: &mut Vec<u8>,
) -> Result<(), RewriteError> {
    let records = &batch.bytes()[HEADER_LEN..];
    let mut new = NewBatch::begin(new_horizon.or(header.delete_horizon()), out);
    let mut kept = kept.iter();
    each_record(header, records, STORED_BYTES_MAX, |record| {
        if kept.next().is_some_and(|kept| *kept) {
            new.add(record, record.timestamp(header), out);
        }
    })?;
    let header = match new_horizon {
        Some(horizon) => header.with_delete_horizon(horizon),
        None => *header,
    };
    new.finish(header, out)
}

/// Appends a batch of magic 2 with those messages of magic 0 or 1 that `kept` names, at least one.
pub(super) fn rewrite_messages(
    batch: &StoredBatch<'_>,
    messages: &LegacyMessages<'_>,
    kept: &[bool],
    new_horizon: Option<Timestamp>,
    out: &mut Vec<u8>,
) -> Result<(), RewriteError> {
    let kept = messages.iter().zip(kept).filter_map(|(message, kept)| kept.then_some(message));
    let mut new = NewBatch::begin(new_horizon, out);
    let (mut first, mut last) = (None, 0);
    for message in kept {
        let base = *first.get_or_insert(message.offset);
        last = i32::try_from(message.offset.get().saturating_sub(base.get()))
            .map_err(|_| RewriteError::Offsets)?;
        new.add(&to_record(&message, last), message.timestamp, out);
    }
    let header = legacy_header(batch, messages.timestamp_type(), first.unwrap_or(Offset::ZERO));
    let header = BatchHeader { last_offset_delta: last, ..header };
    let header = match new_horizon {
        Some(horizon) => header.with_delete_horizon(horizon),
        None => header,
    };
    new.finish(header, out)
}

/// Appends the batch without any record.
pub(super) fn write_empty(header: &BatchHeader, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + HEADER_LEN, 0);
    write_header(&header.emptied(), &mut out[start..]);
}

fn to_record<'m>(message: &LegacyRecord<'m>, offset_delta: i32) -> Record<'m> {
    Record {
        attributes: 0,
        timestamp_delta: 0,
        offset_delta,
        key: message.key,
        value: message.value,
        headers: Headers::NONE,
    }
}

fn legacy_header(
    batch: &StoredBatch<'_>,
    timestamp_type: TimestampType,
    base_offset: Offset,
) -> BatchHeader {
    // Read already, so there is such a codec.
    let codec = codec_of(i16::from(batch.bytes()[17])).unwrap_or(Codec::None);
    BatchHeader {
        base_offset,
        batch_length: 0,
        partition_leader_epoch: LeaderEpoch::NONE,
        magic: MAGIC_V2,
        crc: 0,
        attributes: make_attributes(codec, timestamp_type, false, false),
        last_offset_delta: 0,
        base_timestamp: Timestamp::NONE,
        max_timestamp: batch.max_timestamp(),
        producer_id: ProducerId::NONE,
        producer_epoch: ProducerEpoch::NONE,
        base_sequence: -1,
        records_count: 0,
    }
}

/// A batch that is being written at the end of a buffer.
struct NewBatch {
    start: usize,
    count: i32,
    base_timestamp: Option<Timestamp>,
    max_timestamp: Timestamp,
}

impl NewBatch {
    /// `horizon` stands in the place of the base timestamp.
    fn begin(horizon: Option<Timestamp>, out: &mut Vec<u8>) -> Self {
        let start = out.len();
        out.resize(start + HEADER_LEN, 0);
        Self { start, count: 0, base_timestamp: horizon, max_timestamp: Timestamp::NONE }
    }

    fn add(&mut self, record: &Record<'_>, timestamp: Timestamp, out: &mut Vec<u8>) {
        let base = *self.base_timestamp.get_or_insert(timestamp);
        let timestamp_delta = timestamp.get().wrapping_sub(base.get());
        Record { timestamp_delta, ..*record }.write(out);
        self.count += 1;
        self.max_timestamp = self.max_timestamp.max(timestamp);
    }

    /// Compresses the records and writes the header in front of them.
    fn finish(self, header: BatchHeader, out: &mut Vec<u8>) -> Result<(), RewriteError> {
        let records = self.start + HEADER_LEN;
        let codec = codec_of(header.attributes).unwrap_or(Codec::None);
        if codec != Codec::None {
            let packed = Compression::default_of(codec).compress(&out[records..]);
            let packed = packed.map_err(RewriteError::Compress)?;
            out.truncate(records);
            out.extend_from_slice(&packed);
        }
        let length = out.len() - self.start - LENGTH_PREFIX;
        let max_timestamp = match header.timestamp_type() {
            TimestampType::CreateTime => self.max_timestamp,
            TimestampType::LogAppendTime => header.max_timestamp,
        };
        let header = BatchHeader {
            batch_length: i32::try_from(length).map_err(|_| RewriteError::TooLarge)?,
            base_timestamp: self.base_timestamp.unwrap_or(Timestamp::NONE),
            max_timestamp,
            records_count: self.count,
            ..header
        };
        write_header(&header, &mut out[self.start..]);
        Ok(())
    }
}

/// Writes the header and the checksum of a whole batch.
fn write_header(header: &BatchHeader, batch: &mut [u8]) {
    let first: &mut [u8; HEADER_LEN] =
        batch.first_chunk_mut().expect("room for the header was made before the records");
    header.write(first);
    let crc = compute_crc(batch);
    set_crc(batch, crc);
}
