//! Writes a batch anew: in the codec that the topic wants, with the offsets that it should have.

use super::{BatchRejection, BatchRules};
use std::sync::Arc;

use crate::config::TimestampType;
use crate::env::{ByteBudget, BytePermit};
use crate::log::batch::BatchHeader;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::compress::Compression;
use crate::log::reader::RecordReader;
use crate::types::Timestamp;

/// The same records and producer, in `compression`, at consecutive offsets.
pub(super) fn rewrite(
    header: &BatchHeader,
    records: &[u8],
    compression: Compression,
    rules: &BatchRules,
) -> Result<Vec<u8>, BatchRejection> {
    let mut builder = BatchBuilder::new(BatchTemplate {
        base_offset: header.base_offset,
        partition_leader_epoch: header.partition_leader_epoch,
        compression,
        // A claim of the broker's time goes; whoever appends sets the right one.
        timestamp_type: TimestampType::CreateTime,
        transactional: header.is_transactional(),
        control: header.is_control(),
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
    });
    let invalid = |error: &dyn std::error::Error| BatchRejection::invalid(error.to_string());
    let mut reader = RecordReader::new(header, records, rules.decompressed_bytes_max)
        .map_err(|error| invalid(&error))?
        .with_record_bytes_max(rules.record_bytes_max());
    let mut memory = Memory::of(rules);
    while let Some(record) = reader.next() {
        let record = record.map_err(|error| invalid(&error))?;
        let timestamp = header.base_timestamp.get().wrapping_add(record.timestamp_delta);
        let headers = record.headers.iter();
        builder.append_with_headers(Timestamp::new(timestamp), record.key, record.value, headers);
        memory.cover(builder.len())?;
    }
    // Out of memory: the client may come again, which CORRUPT_MESSAGE tells it.
    builder.build().map_err(|error| BatchRejection::Corrupt(format!("Failed to compress: {error}")))
}

/// Least memory that is taken from the budget at a time.
const STEP_BYTES: usize = 256 * 1024;

/// What the records take while they are written anew: once as they are, and at most once more in the new codec. Taken as they
/// come out of the old codec, since what a batch says of its size is not to be trusted.
struct Memory<'r> {
    budget: Option<&'r Arc<ByteBudget>>,
    taken: Vec<BytePermit>,
    covered: usize,
}

impl<'r> Memory<'r> {
    fn of(rules: &'r BatchRules) -> Self {
        Self { budget: rules.memory.as_ref(), taken: Vec::new(), covered: 0 }
    }

    /// Has taken enough for `len` bytes of records, or takes it.
    fn cover(&mut self, len: usize) -> Result<(), BatchRejection> {
        let Some(budget) = self.budget.filter(|_| 2 * len > self.covered) else { return Ok(()) };
        let more = (2 * len - self.covered).max(STEP_BYTES);
        self.taken.push(budget.try_take(more).ok_or(BatchRejection::NoMemory)?);
        self.covered += more;
        Ok(())
    }
}
