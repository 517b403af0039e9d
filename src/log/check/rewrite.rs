//! Writes a batch anew: in the codec that the topic wants, with the offsets that it should have.

use super::{BatchRejection, BatchRules};
use crate::config::TimestampType;
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
    while let Some(record) = reader.next() {
        let record = record.map_err(|error| invalid(&error))?;
        let timestamp = header.base_timestamp.get().wrapping_add(record.timestamp_delta);
        let headers = record.headers.iter();
        builder.append_with_headers(Timestamp::new(timestamp), record.key, record.value, headers);
    }
    // Out of memory: the client may come again, which CORRUPT_MESSAGE tells it.
    builder.build().map_err(|error| BatchRejection::Corrupt(format!("Failed to compress: {error}")))
}
