//! Reads the records of a batch, compressed or not, without ever holding all of it decompressed.
//!
//! A compressed batch goes through a window that holds the record being read and what came out of the codec with it. It
//! grows to the largest record, as its bytes arrive. The window of a finished reader is kept for the next one of its thread.

use std::cell::Cell;

use super::batch::{BatchHeader, UnknownCodec};
use super::compress::{DecompressError, Decompressor};
use super::cursor::{Cursor, CursorError};
use super::record::{Record, RecordDamage, Records, end_of_records};
use crate::config::Codec;

#[cfg(test)]
mod tests;

/// A window above this is given back, so that one large record does not hold memory for ever.
const WINDOW_KEPT_MAX: usize = 256 * 1024;

/// Most bytes that a stored batch may decompress to: it was checked when it was appended. They pass through a window, so this
/// bounds time, not memory.
pub(super) const STORED_BYTES_MAX: usize = i32::MAX as usize;

thread_local! {
    /// The window of the last reader of this thread.
    static WINDOW: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Why the records of a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadRecordError {
    /// They are not what the header says, or no records at all.
    #[error(transparent)]
    Damage(#[from] RecordDamage),
    /// Compressed with something that does not exist.
    #[error(transparent)]
    Codec(#[from] UnknownCodec),
    /// They cannot be decompressed, or only to more than allowed.
    #[error(transparent)]
    Decompress(#[from] DecompressError),
    /// A record is larger than allowed once it is decompressed. The text is Kafka's.
    #[error("Invalid record size: {size} exceeds the configured maximum record size of {limit}.")]
    RecordTooLarge {
        /// As the record says.
        size: usize,
        /// `max.decompressed.message.bytes`.
        limit: usize,
    },
}

/// The records of one batch of magic 2, in order. Ends behind the first error.
pub struct RecordReader<'a> {
    source: Source<'a>,
    left: i32,
    ended: bool,
}

enum Source<'a> {
    Plain(Cursor<'a>),
    Packed(Box<Packed<'a>>),
}

struct Packed<'a> {
    stream: Decompressor<'a>,
    window: Vec<u8>,
    /// Where in the window the next record begins.
    at: usize,
    /// Came out of the codec so far.
    decompressed: usize,
    limit: usize,
    record_limit: usize,
    at_end: bool,
}

/// Hands each record of a batch to `look`, in order. Faster than a reader for records that are not compressed.
pub(super) fn each_record(
    header: &BatchHeader,
    records: &[u8],
    decompressed_bytes_max: usize,
    mut look: impl FnMut(&Record<'_>),
) -> Result<(), ReadRecordError> {
    if header.codec()? == Codec::None {
        for record in Records::new(records, header.records_count) {
            look(&record?);
        }
        return Ok(());
    }
    let mut reader = RecordReader::new(header, records, decompressed_bytes_max)?;
    while let Some(record) = reader.next() {
        look(&record?);
    }
    Ok(())
}

impl<'a> RecordReader<'a> {
    /// Reads `records`, what follows the header in its batch; compressed ones to no more than `decompressed_bytes_max`.
    pub fn new(
        header: &BatchHeader,
        records: &'a [u8],
        decompressed_bytes_max: usize,
    ) -> Result<Self, ReadRecordError> {
        let source = match header.codec()? {
            Codec::None => Source::Plain(Cursor::new(records)),
            codec => Source::Packed(Box::new(Packed {
                stream: Decompressor::new(codec, records)?,
                window: WINDOW.take(),
                at: 0,
                decompressed: 0,
                limit: decompressed_bytes_max,
                record_limit: usize::MAX,
                at_end: false,
            })),
        };
        Ok(Self { source, left: header.records_count, ended: false })
    }

    /// Refuses larger records of a compressed batch, before they are decompressed (`max.decompressed.message.bytes`).
    pub fn with_record_bytes_max(mut self, record_bytes_max: usize) -> Self {
        if let Source::Packed(packed) = &mut self.source {
            packed.record_limit = record_bytes_max;
        }
        self
    }

    /// The next record, borrowed until the one after it.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    pub fn next(&mut self) -> Option<Result<Record<'_>, ReadRecordError>> {
        if self.left <= 0 || self.ended {
            return self.end().map(Err);
        }
        self.left -= 1;
        let record = match &mut self.source {
            Source::Plain(from) => Record::read(from).map_err(ReadRecordError::from),
            Source::Packed(packed) => packed.next(),
        };
        self.ended = record.is_err();
        Some(record)
    }

    fn end(&mut self) -> Option<ReadRecordError> {
        let rest = match &mut self.source {
            Source::Plain(from) => from.rest(),
            // Also sees the checksum that some codecs have at their end.
            Source::Packed(packed) if !self.ended => match packed.rest() {
                Ok(rest) => rest,
                Err(error) => {
                    self.ended = true;
                    return Some(error);
                }
            },
            Source::Packed(_) => &[],
        };
        end_of_records(&mut self.ended, self.left, rest).map(ReadRecordError::from)
    }
}

impl Packed<'_> {
    fn next(&mut self) -> Result<Record<'_>, ReadRecordError> {
        while !self.holds_record()? && !self.at_end {
            self.refill()?;
        }
        let mut from = Cursor::new(&self.window[self.at..]);
        let record = Record::read(&mut from)?;
        self.at = self.window.len() - from.rest().len();
        Ok(record)
    }

    /// Whether the window goes on with a whole record, or with what no further bytes make one.
    fn holds_record(&self) -> Result<bool, ReadRecordError> {
        let mut from = Cursor::new(&self.window[self.at..]);
        match from.varint() {
            Ok(size) => match usize::try_from(size) {
                Ok(size) if size > self.record_limit => {
                    Err(ReadRecordError::RecordTooLarge { size, limit: self.record_limit })
                }
                Ok(size) if size > self.limit => {
                    Err(DecompressError::TooLarge { limit: self.limit }.into())
                }
                Ok(size) => Ok(from.rest().len() >= size),
                Err(_) => Ok(true),
            },
            Err(CursorError::Short) => Ok(false),
            Err(CursorError::Varint) => Ok(true),
        }
    }

    /// What is left of the window, having looked for more.
    fn rest(&mut self) -> Result<&[u8], ReadRecordError> {
        while !self.at_end && self.at == self.window.len() {
            self.refill()?;
        }
        Ok(&self.window[self.at..])
    }

    fn refill(&mut self) -> Result<(), ReadRecordError> {
        self.window.drain(..self.at);
        self.at = 0;
        let before = self.window.len();
        self.at_end = !self.stream.read_more(&mut self.window)?;
        self.decompressed += self.window.len() - before;
        if self.decompressed > self.limit {
            return Err(DecompressError::TooLarge { limit: self.limit }.into());
        }
        Ok(())
    }
}

impl Drop for Packed<'_> {
    fn drop(&mut self) {
        if self.window.capacity() <= WINDOW_KEPT_MAX {
            self.window.clear();
            WINDOW.set(std::mem::take(&mut self.window));
        }
    }
}
