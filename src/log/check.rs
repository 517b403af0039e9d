//! Checks of a batch from a client, before any lock is taken (Kafka's `ProduceRequest.validateRecords`, `LogValidator` and
//! the checks of `UnifiedLog` that need no state). Pure functions over bytes, for any thread.
//!
//! Order and error classes are Kafka's: one batch of magic 2 · codec allowed, which is all that [`check_form`] looks at · base
//! offset 0 · size · checksum · codec known · counts, flags · every record · rewriting, if the topic wants another codec · size
//! against the segment. Texts are Kafka's without the name of the partition, which is not known here.
//!
//! Stricter than Kafka: bytes behind the batch are refused even where they are no whole batch (Kafka drops them), and
//! varints must fit their type. Where the offsets inside an uncompressed batch are not 0, 1, 2, ..., the batch is rewritten,
//! as Kafka does for compressed ones only.

mod records;
mod rewrite;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use super::batch::{
    BatchHeader, HEADER_LEN, MAGIC_V2, compute_crc, set_offset_and_epoch, set_timestamps,
};
use super::compress::{Compression, DecompressError};
use super::joins::JoinGuard;
use super::reader::ReadRecordError;
use super::scan::{Framing, FramingError, frame};
use crate::config::{Codec, TargetCodec, TimestampType, TopicSettings, Validation};
use crate::env::ByteBudget;
use crate::types::{LeaderEpoch, Offset, Timestamp, TransactionVersion};

use records::{Walk, walk};
use rewrite::rewrite;

/// A batch may decompress to this many times `max.message.bytes`, and in any case to [`DECOMPRESSED_BYTES_MIN`].
const DECOMPRESSION_RATIO_MAX: usize = 128;

/// See [`DECOMPRESSION_RATIO_MAX`].
const DECOMPRESSED_BYTES_MIN: usize = 16 << 20;

/// `max.decompressed.message.bytes` unless set: no limit beyond the array that Kafka can allocate.
const RECORD_BYTES_UNLIMITED: i32 = i32::MAX - 8;

/// Most work on a compressed batch that [`check_batch_inline`] does: about half a millisecond.
const INLINE_DECOMPRESSED_MAX: usize = 512 << 10;

/// Compressed batches above this go to the pool without a try.
const INLINE_COMPRESSED_MAX: usize = 64 << 10;

/// What a batch must satisfy in one topic.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields are named as Kafka's topic settings")]
pub struct BatchRules {
    pub max_message_bytes: i32,
    pub segment_bytes: i32,
    /// Compacted topic: every record has a key.
    pub keys_required: bool,
    pub timestamp_type: TimestampType,
    pub timestamp_before_max_ms: i64,
    pub timestamp_after_max_ms: i64,
    pub compression: TargetCodec,
    /// Level of a codec that the topic fixes.
    pub compression_level: i32,
    /// Most bytes a batch may decompress to.
    pub decompressed_bytes_max: usize,
    /// Largest record of a compressed batch.
    pub max_decompressed_message_bytes: i32,
    /// Whether the records of a batch are walked where its header may be trusted.
    pub validation: Validation,
    /// Produce before v7 may not carry zstd.
    pub zstd_allowed: bool,
    /// Where the memory of batches that are rewritten counts; nowhere for `None`.
    pub memory: Option<Arc<ByteBudget>>,
}

impl BatchRules {
    /// The rules of a topic.
    pub fn of(settings: &TopicSettings) -> Self {
        let message_bytes_max = usize::try_from(settings.max_message_bytes).unwrap_or(0);
        Self {
            max_message_bytes: settings.max_message_bytes,
            segment_bytes: settings.segment_bytes,
            keys_required: settings.cleanup_policy.compact,
            timestamp_type: settings.message_timestamp_type,
            timestamp_before_max_ms: settings.message_timestamp_before_max_ms,
            timestamp_after_max_ms: settings.message_timestamp_after_max_ms,
            compression: settings.compression_type,
            compression_level: compression_level(settings),
            decompressed_bytes_max: message_bytes_max
                .saturating_mul(DECOMPRESSION_RATIO_MAX)
                .max(DECOMPRESSED_BYTES_MIN),
            max_decompressed_message_bytes: settings.max_decompressed_message_bytes,
            validation: Validation::Strict,
            zstd_allowed: true,
            memory: None,
        }
    }

    /// True if nothing that these rules ask for can only be seen in the records themselves (`highwater.validation=fast`).
    /// Whatever looks wrong in the header has the records walked: the answer then names the record.
    fn header_suffices(&self, header: &BatchHeader, now: Timestamp) -> bool {
        let Ok(codec) = header.codec() else { return false };
        let times_pass = self.timestamp_type == TimestampType::LogAppendTime
            || self.timestamp_before_max_ms == i64::MAX
                && header.max_timestamp >= Timestamp::NONE
                && header.max_timestamp.get() <= self.latest_timestamp(now);
        let sizes_pass =
            codec == Codec::None || self.max_decompressed_message_bytes >= RECORD_BYTES_UNLIMITED;
        self.validation == Validation::Fast
            && !self.keys_required
            && header.timestamp_type() == TimestampType::CreateTime
            && self.recompression(codec).is_none()
            && times_pass
            && sizes_pass
    }

    /// The latest time that a record may have (CreateTime only).
    fn latest_timestamp(&self, now: Timestamp) -> i64 {
        now.get().saturating_add(self.timestamp_after_max_ms)
    }

    fn record_bytes_max(&self) -> usize {
        usize::try_from(self.max_decompressed_message_bytes).unwrap_or(0)
    }

    /// What batches in `codec` are to be stored with, if not as they are.
    fn recompression(&self, codec: Codec) -> Option<Compression> {
        match self.compression {
            TargetCodec::Fixed(target) if target != codec => {
                Some(Compression { codec: target, level: self.compression_level })
            }
            TargetCodec::Producer | TargetCodec::Fixed(_) => None,
        }
    }
}

fn compression_level(settings: &TopicSettings) -> i32 {
    match settings.compression_type {
        TargetCodec::Fixed(Codec::Gzip) => settings.compression_gzip_level,
        TargetCodec::Fixed(Codec::Lz4) => settings.compression_lz4_level,
        TargetCodec::Fixed(Codec::Zstd) => settings.compression_zstd_level,
        TargetCodec::Fixed(Codec::None | Codec::Snappy) | TargetCodec::Producer => -1,
    }
}

/// One batch that may be appended: checked whole, only offset, leader epoch and append time are still to be set.
#[derive(Clone, Debug)]
pub struct CheckedBatch<'a> {
    /// The header as it will be stored, but for base offset, leader epoch and, where append renews it, the checksum.
    pub header: BatchHeader,
    /// Exactly one batch; borrowed from the request unless it had to be rewritten.
    pub bytes: Cow<'a, [u8]>,
    /// Set where the topic shows the broker's time: append stamps it and renews the CRC.
    pub log_append_time: Option<Timestamp>,
    /// Who has made it.
    pub origin: Origin,
}

/// Who has made a batch (Kafka's `AppendOrigin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A producer, whose sequence numbers find what was lost and what came twice.
    Client(Admission),
    /// A coordinator of this broker. Its batches have producers, whose epochs count, but no sequence. It has seen to it itself
    /// that they belong to a transaction.
    Coordinator,
    /// The coordinator of a transaction under these rules, which ends it.
    Marker(TransactionVersion),
}

/// What lets a transactional batch of a client into the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The transaction is open here already, or the batch is not let in.
    Open,
    /// The coordinator has taken the partition into the transaction since the guard was given; a marker would have voided it.
    Joined(JoinGuard),
    /// Nobody asks (`transaction.partition.verification.enable` is off).
    Unverified,
}

impl CheckedBatch<'_> {
    /// The same in a topic that shows the broker's time (LogAppendTime).
    #[must_use]
    pub fn stamped(mut self, now: Timestamp) -> Self {
        self.header = self.header.with_timestamps(TimestampType::LogAppendTime, now);
        self.log_append_time = Some(now);
        self
    }

    /// Copies the batch to its place in the log, with what the leader sets.
    ///
    /// # Panics
    /// If `to` has not the length of the batch.
    pub fn write_to(&self, to: &mut [u8], base_offset: Offset, epoch: LeaderEpoch) {
        to.copy_from_slice(&self.bytes);
        set_offset_and_epoch(to, base_offset, epoch);
        if let Some(time) = self.log_append_time {
            set_timestamps(to, TimestampType::LogAppendTime, time);
        }
    }
}

/// Why a batch is refused; one variant per Kafka error code that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchRejection {
    /// CORRUPT_MESSAGE.
    #[error("{0}")]
    Corrupt(String),
    /// INVALID_RECORD: the bytes are not just one batch of magic 2, which is seen before a log is asked.
    #[error("{0}")]
    NotOneBatch(String),
    /// INVALID_RECORD, with (index in the batch, reason) of the offending records.
    #[error("{reason}")]
    InvalidRecord {
        /// For the whole batch.
        reason: String,
        /// Per record.
        records: Vec<(i32, String)>,
    },
    /// INVALID_TIMESTAMP, as above.
    #[error("{reason}")]
    InvalidTimestamp {
        /// For the whole batch.
        reason: String,
        /// Per record.
        records: Vec<(i32, String)>,
    },
    /// MESSAGE_TOO_LARGE.
    #[error("{0}")]
    TooLarge(String),
    /// RECORD_LIST_TOO_LARGE.
    #[error("{0}")]
    LargerThanSegment(String),
    /// UNSUPPORTED_COMPRESSION_TYPE: a codec that the version of the request may not carry, which is seen before a log is asked.
    #[error("{0}")]
    UnsupportedCompression(String),
    /// UNSUPPORTED_COMPRESSION_TYPE: there is no such codec. Kafka fails here with UNKNOWN_SERVER_ERROR, which says less.
    #[error("{0}")]
    UnknownCodec(String),
    /// KAFKA_STORAGE_ERROR: the client comes again.
    #[error("there is no memory for rewriting the batch now (highwater.memory.bytes)")]
    NoMemory,
}

impl BatchRejection {
    fn invalid(reason: impl Into<String>) -> Self {
        Self::InvalidRecord { reason: reason.into(), records: Vec::new() }
    }
}

/// Checks the `records` field of one partition of a Produce request: exactly one batch of magic 2, CRC, counts, codec,
/// every record. Never panics; decompresses at most `decompressed_bytes_max`, and holds no more of it at a time than the
/// largest record, unless the batch must be rewritten.
pub fn check_batch<'a>(
    records: &'a [u8],
    rules: &BatchRules,
    now: Timestamp,
) -> Result<CheckedBatch<'a>, BatchRejection> {
    let header = check_envelope(records, rules)?;
    let walked = inspect(&header, records, rules, now, rules.decompressed_bytes_max);
    finish(records, header, walked, rules, now)
}

/// As [`check_batch`], for a thread that must not work long: `None` where the batch is large and compressed, decompresses to
/// much, or is to be stored in another codec. The caller then gives it to a thread that may take its time.
pub fn check_batch_inline<'a>(
    records: &'a [u8],
    rules: &BatchRules,
    now: Timestamp,
) -> Option<Result<CheckedBatch<'a>, BatchRejection>> {
    if needs_cpu_pool(records, rules, now) {
        return None;
    }
    let header = match check_envelope(records, rules) {
        Ok(header) => header,
        Err(rejection) => return Some(Err(rejection)),
    };
    if header.codec().is_ok_and(|codec| rules.recompression(codec).is_some()) {
        return None;
    }
    let limit = rules.decompressed_bytes_max.min(INLINE_DECOMPRESSED_MAX);
    let walked = inspect(&header, records, rules, now, limit);
    if limit < rules.decompressed_bytes_max
        && matches!(walked, Err(ReadRecordError::Decompress(DecompressError::TooLarge { .. })))
    {
        return None;
    }
    Some(finish(records, header, walked, rules, now))
}

/// A guess from the header alone, at no cost: compressed, to be walked, and too large to be checked beside other work.
fn needs_cpu_pool(records: &[u8], rules: &BatchRules, now: Timestamp) -> bool {
    let is_work = |header: BatchHeader| {
        header.codec() != Ok(Codec::None) && !rules.header_suffices(&header, now)
    };
    records.len() > INLINE_COMPRESSED_MAX && BatchHeader::parse(records).is_some_and(is_work)
}

/// What is to be known of the records: from the header where that is enough, else from each of them.
fn inspect(
    header: &BatchHeader,
    batch: &[u8],
    rules: &BatchRules,
    now: Timestamp,
    limit: usize,
) -> Result<Walk, ReadRecordError> {
    if rules.header_suffices(header, now) {
        return Ok(Walk::trusting(header));
    }
    walk(header, &batch[HEADER_LEN..], rules, now, limit)
}

/// Whether the first batch, if there is a whole one, is part of a transaction. An error where no batch can begin so (Kafka's
/// `RequestUtils.hasTransactionalRecords`).
pub fn begins_transactional(records: &[u8]) -> Result<bool, BatchRejection> {
    match frame(records) {
        Framing::Corrupt(error) => Err(not_framed(error)),
        Framing::Partial(_) => Ok(false),
        Framing::Whole(_) => Ok(BatchHeader::parse(records)
            .is_some_and(|header| header.magic == MAGIC_V2 && header.is_transactional())),
    }
}

/// What is looked at before anybody is asked about the batch: just one, of magic 2, in a codec that the version of the request
/// may carry (Kafka's `ProduceRequest.validateRecords`).
pub fn check_form(records: &[u8], zstd_allowed: bool) -> Result<BatchHeader, BatchRejection> {
    let header = only_batch(records)?;
    if header.codec() == Ok(Codec::Zstd) && !zstd_allowed {
        return Err(BatchRejection::UnsupportedCompression(
            "Produce requests before version 7 are not allowed to use ZStandard compression"
                .to_owned(),
        ));
    }
    Ok(header)
}

/// Everything that the header tells.
fn check_envelope(records: &[u8], rules: &BatchRules) -> Result<BatchHeader, BatchRejection> {
    let header = check_form(records, rules.zstd_allowed)?;
    if header.base_offset != Offset::ZERO {
        let reason = format!(
            "The baseOffset of the record batch in the append should be 0, but it is {}",
            header.base_offset
        );
        return Err(BatchRejection::invalid(reason));
    }
    if records.len() > usize::try_from(rules.max_message_bytes).unwrap_or(0) {
        return Err(BatchRejection::TooLarge(format!(
            "The record batch size in the append is {} bytes which exceeds the maximum configured value of {}.",
            records.len(),
            rules.max_message_bytes,
        )));
    }
    if header.crc != compute_crc(records) {
        return Err(BatchRejection::Corrupt(format!(
            "Record is corrupt (stored crc = {})",
            header.crc
        )));
    }
    header.codec().map_err(|unknown| BatchRejection::UnknownCodec(unknown.to_string()))?;
    check_counts(&header)?;
    Ok(header)
}

/// The header of the one batch of magic 2 that the bytes must be.
fn only_batch(records: &[u8]) -> Result<BatchHeader, BatchRejection> {
    let not_one = |reason: &str| Err(BatchRejection::NotOneBatch(reason.to_owned()));
    let len = match frame(records) {
        Framing::Whole(len) => len,
        Framing::Partial(_) => {
            return not_one("Produce requests must have at least one record batch per partition");
        }
        Framing::Corrupt(error) => return Err(not_framed(error)),
    };
    let magic_2 = BatchHeader::parse(records).filter(|header| header.magic == MAGIC_V2);
    let Some(header) = magic_2 else {
        let reason =
            "Produce requests are only allowed to contain record batches with magic version 2";
        return not_one(reason);
    };
    if len != records.len() {
        let reason =
            "Produce requests are only allowed to contain exactly one record batch per partition";
        return not_one(reason);
    }
    Ok(header)
}

fn not_framed(error: FramingError) -> BatchRejection {
    BatchRejection::Corrupt(match error {
        FramingError::Magic(magic) => format!("Invalid magic found in record: {magic}"),
        FramingError::SizeTooSmall { size, minimum } => {
            format!("Record size {size} is less than the minimum record overhead ({minimum})")
        }
    })
}

fn check_counts(header: &BatchHeader) -> Result<(), BatchRejection> {
    let (last, count) = (header.last_offset_delta, header.records_count);
    let invalid = |reason: String| Err(BatchRejection::invalid(reason));
    if last < 0 {
        return invalid(format!("Batch has an invalid offset range: [0, {last}]"));
    }
    if count <= 0 {
        return invalid(format!("Invalid reported count for record batch: {count}"));
    }
    if i64::from(count) != i64::from(last) + 1 {
        return invalid(format!(
            "Inconsistent batch offset range [0, {last}] and count of records {count}"
        ));
    }
    if header.is_control() {
        return invalid("Clients are not allowed to write control records".to_owned());
    }
    if header.has_producer_id() && header.base_sequence < 0 {
        return invalid(format!(
            "Invalid sequence number {} in record batch with producerId {}",
            header.base_sequence, header.producer_id,
        ));
    }
    Ok(())
}

/// Draws the sum of the walk: refuse, rewrite, correct, or take as it is.
fn finish<'a>(
    records: &'a [u8],
    header: BatchHeader,
    walked: Result<Walk, ReadRecordError>,
    rules: &BatchRules,
    now: Timestamp,
) -> Result<CheckedBatch<'a>, BatchRejection> {
    // A right checksum means that the client sent it so: to send it again would not help, as CORRUPT_MESSAGE suggests.
    let walk = walked.map_err(|error| BatchRejection::invalid(error.to_string()))?;
    walk.faults.verdict()?;
    let codec = header.codec().map_err(|error| BatchRejection::invalid(error.to_string()))?;
    let bytes = match rules.recompression(codec) {
        None if walk.offsets_in_order => Cow::Borrowed(records),
        target => {
            let compression = target.unwrap_or(Compression::default_of(codec));
            Cow::Owned(rewrite(&header, &records[HEADER_LEN..], compression, rules)?)
        }
    };
    check_size(bytes.len(), rules)?;
    Ok(with_timestamps(bytes, walk.max_timestamp, rules.timestamp_type, now))
}

fn check_size(len: usize, rules: &BatchRules) -> Result<(), BatchRejection> {
    let above = |limit: i32| len > usize::try_from(limit).unwrap_or(0);
    if above(rules.max_message_bytes) {
        return Err(BatchRejection::TooLarge(format!(
            "Message batch size is {len} bytes in append which exceeds the maximum configured size of {}.",
            rules.max_message_bytes,
        )));
    }
    if above(rules.segment_bytes) {
        return Err(BatchRejection::LargerThanSegment(format!(
            "Message batch size is {len} bytes in append, which exceeds the maximum configured segment size of {}.",
            rules.segment_bytes,
        )));
    }
    Ok(())
}

/// Whose time the batch shows is the topic's choice; a wrong largest timestamp would mislead every search by time.
fn with_timestamps(
    mut bytes: Cow<'_, [u8]>,
    max_timestamp: Timestamp,
    timestamp_type: TimestampType,
    now: Timestamp,
) -> CheckedBatch<'_> {
    let parse = |bytes: &[u8]| BatchHeader::parse(bytes).expect("checked batches have a header");
    let mut header = parse(&bytes);
    let origin = Origin::Client(Admission::Open);
    if timestamp_type == TimestampType::LogAppendTime {
        return CheckedBatch { header, bytes, log_append_time: None, origin }.stamped(now);
    }
    if header.timestamp_type() != timestamp_type || header.max_timestamp != max_timestamp {
        set_timestamps(bytes.to_mut(), timestamp_type, max_timestamp);
        header = parse(&bytes);
    }
    CheckedBatch { header, bytes, log_append_time: None, origin }
}
