//! Checks of the records inside a batch (Kafka's `LogValidator.validateRecord`).

use super::{BatchRejection, BatchRules};
use crate::config::{Codec, TimestampType};
use crate::log::batch::BatchHeader;
use crate::log::reader::{ReadRecordError, RecordReader};
use crate::log::record::{Record, Records};
use crate::types::Timestamp;

/// Most records that an answer names; Kafka names all, which a client could make us multiply a thousandfold.
const FAULTS_LISTED_MAX: usize = 1000;

/// What a walk over all records of a batch found.
#[derive(Debug)]
pub(super) struct Walk {
    /// Largest timestamp; −1 if no record has one.
    pub(super) max_timestamp: Timestamp,
    /// The offsets inside are 0, 1, 2, ...
    pub(super) offsets_in_order: bool,
    pub(super) faults: Faults,
}

impl Walk {
    /// What a walk would find if the header tells the truth.
    pub(super) fn trusting(header: &BatchHeader) -> Self {
        let max_timestamp = header.max_timestamp;
        Self { max_timestamp, offsets_in_order: true, faults: Faults::default() }
    }
}

/// Walks the records behind the header, decompressing at most `limit` bytes. Uncompressed ones are walked where they lie.
pub(super) fn walk(
    header: &BatchHeader,
    records: &[u8],
    rules: &BatchRules,
    now: Timestamp,
    limit: usize,
) -> Result<Walk, ReadRecordError> {
    let mut visit = Visit::new(header, rules, now);
    if header.codec()? == Codec::None {
        for record in Records::new(records, header.records_count) {
            visit.record(&record?);
        }
    } else {
        let mut reader = RecordReader::new(header, records, limit)?
            .with_record_bytes_max(rules.record_bytes_max());
        while let Some(record) = reader.next() {
            visit.record(&record?);
        }
    }
    Ok(visit.walk)
}

struct Visit {
    index: i32,
    keys_required: bool,
    topic_time: TimestampType,
    batch_time: TimestampType,
    base_timestamp: i64,
    earliest: i64,
    latest: i64,
    walk: Walk,
}

impl Visit {
    fn new(header: &BatchHeader, rules: &BatchRules, now: Timestamp) -> Self {
        Self {
            index: 0,
            keys_required: rules.keys_required,
            topic_time: rules.timestamp_type,
            batch_time: header.timestamp_type(),
            base_timestamp: header.base_timestamp.get(),
            earliest: now.get().saturating_sub(rules.timestamp_before_max_ms),
            latest: rules.latest_timestamp(now),
            walk: Walk {
                max_timestamp: Timestamp::NONE,
                offsets_in_order: true,
                faults: Faults::default(),
            },
        }
    }

    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) {
        // Of a batch that claims the broker's time this is what its records will show once the claim is cleared.
        let timestamp = self.base_timestamp.wrapping_add(record.timestamp_delta);
        if let Some(fault) = self.fault(record, timestamp) {
            self.add(fault, record, timestamp);
        }
        self.walk.offsets_in_order &= record.offset_delta == self.index;
        self.walk.max_timestamp = self.walk.max_timestamp.max(Timestamp::new(timestamp));
        self.index += 1;
    }

    #[inline(always)]
    fn fault(&self, record: &Record<'_>, timestamp: i64) -> Option<Fault> {
        if self.keys_required && record.key.is_none() {
            return Some(Fault::NoKey);
        }
        if self.topic_time == TimestampType::CreateTime && timestamp != Timestamp::NONE.get() {
            let outside = timestamp < self.earliest || timestamp > self.latest;
            return outside.then_some(Fault::Timestamp);
        }
        (self.batch_time == TimestampType::LogAppendTime).then_some(Fault::TimestampType)
    }

    #[cold]
    fn add(&mut self, fault: Fault, record: &Record<'_>, timestamp: i64) {
        if self.walk.faults.count(fault) {
            let text = self.describe(fault, record, timestamp);
            self.walk.faults.listed.push((self.index, text));
        }
    }

    fn describe(&self, fault: Fault, record: &Record<'_>, timestamp: i64) -> String {
        match fault {
            Fault::NoKey => "Compacted topic cannot accept message without key".to_owned(),
            Fault::Timestamp => format!(
                "Timestamp {timestamp} of message with offset {} is out of range. The timestamp should be within [{}, {}]",
                record.offset_delta, self.earliest, self.latest,
            ),
            Fault::TimestampType => format!(
                "Invalid timestamp type in message DefaultRecord(offset={}, timestamp={timestamp}, key={} bytes, value={} bytes). \
                 Producer should not set timestamp type to LogAppendTime.",
                record.offset_delta,
                record.key.map_or(0, <[u8]>::len),
                record.value.map_or(0, <[u8]>::len),
            ),
        }
    }
}

/// What can be wrong with a well-formed record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NoKey,
    Timestamp,
    TimestampType,
}

/// The records that a batch is refused for.
#[derive(Debug, Default)]
pub(super) struct Faults {
    listed: Vec<(i32, String)>,
    total: usize,
    of_time: bool,
}

impl Faults {
    /// Counts one more; true if there is room to list it.
    fn count(&mut self, fault: Fault) -> bool {
        self.total += 1;
        self.of_time |= fault != Fault::NoKey;
        self.listed.len() < FAULTS_LISTED_MAX
    }

    /// One bad record refuses the batch; one bad timestamp among them makes it INVALID_TIMESTAMP.
    pub(super) fn verdict(self) -> Result<(), BatchRejection> {
        if self.total == 0 {
            return Ok(());
        }
        if self.of_time {
            let reason =
                "One or more records have been rejected due to invalid timestamp".to_owned();
            return Err(BatchRejection::InvalidTimestamp { reason, records: self.listed });
        }
        let first: Vec<_> = self.listed.iter().take(3).map(describe).collect();
        let reason = format!(
            "One or more records have been rejected due to {} record errors in total, and only showing the first three errors at most: [{}]",
            self.total,
            first.join(", "),
        );
        Err(BatchRejection::InvalidRecord { reason, records: self.listed })
    }
}

fn describe((index, text): &(i32, String)) -> String {
    format!("RecordError(batchIndex={index}, message='{text}')")
}
