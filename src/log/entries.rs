//! Every record of a log, in order: how a coordinator reads its state back.

use std::io;

use super::batch::{BatchHeader, HEADER_LEN};
use super::batch_reader::BatchReader;
use super::legacy::LegacyMessages;
use super::marker::read_marker;
use super::reader::{RecordReader, STORED_BYTES_MAX};
use super::scan::StoredBatch;
use super::segment::FileKind;
use super::view::LogView;
use crate::types::{Offset, Outcome, ProducerId};

/// What a log holds at an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// Where.
    pub offset: Offset,
    /// What.
    pub kind: LogEntryKind<'a>,
}

/// A record, or the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEntryKind<'a> {
    /// A record of a client.
    Record {
        /// `None` is null.
        key: Option<&'a [u8]>,
        /// `None` is null.
        value: Option<&'a [u8]>,
        /// The producer, if it belongs to a transaction.
        transaction: Option<ProducerId>,
    },
    /// A commit marker.
    Commit(ProducerId),
    /// An abort marker.
    Abort(ProducerId),
}

impl LogView {
    /// Hands every entry of the view to `each`, from the log start to the log end, whatever is above the high watermark
    /// included. Blocks. Damage is an error of kind `InvalidData`.
    pub fn read_entries(&self, each: &mut dyn FnMut(LogEntry<'_>)) -> io::Result<()> {
        let mut number = self.segments.number_of(self.log_start);
        while let Some(segment) = self.segments.get(number) {
            number += 1;
            let len = self.len_of(number - 1);
            if len == 0 {
                // Nothing was appended to it yet: it may have no file.
                continue;
            }
            let file = segment.files.open(FileKind::Log)?;
            let mut batches = BatchReader::new(file, 0, len);
            while let Some((_, batch)) = batches.next()? {
                if batch.last_offset() >= self.log_start {
                    read_batch(&batch, self.log_start, each)?;
                }
            }
            if number <= self.segments.sealed.len() {
                segment.files.close();
            }
        }
        Ok(())
    }
}

fn read_batch(
    batch: &StoredBatch<'_>,
    from: Offset,
    each: &mut dyn FnMut(LogEntry<'_>),
) -> io::Result<()> {
    batch.verify().map_err(damaged)?;
    let Some(header) = batch.header() else { return read_legacy(batch, from, each) };
    if header.is_control() {
        if let Some(marker) = read_marker(&header, batch.bytes()) {
            let kind = match marker.outcome {
                Outcome::Commit => LogEntryKind::Commit(header.producer_id),
                Outcome::Abort => LogEntryKind::Abort(header.producer_id),
            };
            each(LogEntry { offset: header.base_offset, kind });
        }
        return Ok(());
    }
    read_records(&header, &batch.bytes()[HEADER_LEN..], from, each)
}

fn read_records(
    header: &BatchHeader,
    records: &[u8],
    from: Offset,
    each: &mut dyn FnMut(LogEntry<'_>),
) -> io::Result<()> {
    let transaction = header.is_transactional().then_some(header.producer_id);
    let mut reader = RecordReader::new(header, records, STORED_BYTES_MAX).map_err(damaged)?;
    while let Some(record) = reader.next() {
        let record = record.map_err(damaged)?;
        let offset = record.offset(header);
        if offset >= from {
            let (key, value) = (record.key, record.value);
            each(LogEntry { offset, kind: LogEntryKind::Record { key, value, transaction } });
        }
    }
    Ok(())
}

fn read_legacy(
    batch: &StoredBatch<'_>,
    from: Offset,
    each: &mut dyn FnMut(LogEntry<'_>),
) -> io::Result<()> {
    let messages = LegacyMessages::read(batch, STORED_BYTES_MAX).map_err(damaged)?;
    for message in messages.iter().filter(|message| message.offset >= from) {
        let (key, value) = (message.key, message.value);
        let kind = LogEntryKind::Record { key, value, transaction: None };
        each(LogEntry { offset: message.offset, kind });
    }
    Ok(())
}

fn damaged(reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
