//! The records of a stored batch of any magic, as far as searches by time look at them.

use std::io;

use super::batch::HEADER_LEN;
use super::legacy::LegacyMessages;
use super::reader::{RecordReader, STORED_BYTES_MAX};
use super::scan::StoredBatch;
use crate::types::{Offset, Timestamp};

/// Offset and timestamp of the first record for which `is_hit` holds.
pub(super) fn first_record(
    batch: &[u8],
    is_hit: impl Fn(Offset, Timestamp) -> bool,
) -> io::Result<Option<(Offset, Timestamp)>> {
    let Some(stored) = StoredBatch::first(batch) else {
        return Err(damaged("the batch is not whole"));
    };
    let Some(header) = stored.header() else { return first_message(&stored, is_hit) };
    let records = &stored.bytes()[HEADER_LEN..];
    let mut reader = RecordReader::new(&header, records, STORED_BYTES_MAX).map_err(damaged)?;
    while let Some(record) = reader.next() {
        let record = record.map_err(damaged)?;
        let (offset, timestamp) = (record.offset(&header), record.timestamp(&header));
        if is_hit(offset, timestamp) {
            return Ok(Some((offset, timestamp)));
        }
    }
    Ok(None)
}

fn first_message(
    stored: &StoredBatch<'_>,
    is_hit: impl Fn(Offset, Timestamp) -> bool,
) -> io::Result<Option<(Offset, Timestamp)>> {
    let messages = LegacyMessages::read(stored, STORED_BYTES_MAX).map_err(damaged)?;
    let mut found = messages.iter().map(|message| (message.offset, message.timestamp));
    Ok(found.find(|(offset, timestamp)| is_hit(*offset, *timestamp)))
}

fn damaged(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
