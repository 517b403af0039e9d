//! Reads the records of a batch, compressed or not, without ever holding all of it decompressed.
//!
//! A compressed batch goes through a window that holds the record being read and what came out of the codec with it. It
//! grows to the largest record, as its bytes arrive. The window of a finished reader is kept for the next one of its thread.

use std::cell::Cell;

use super::batch::{BatchHeader, UnknownCodec};
use super::compress::{DecompressError, Decompressor};
use super::cursor::Cursor;
use super::record::{Record, RecordDamage, end_of_records};
use crate::config::Codec;

#[cfg(test)]
mod tests;

/// A window above this is given back, so that one large record does not hold memory for ever.
const WINDOW_KEPT_MAX: usize = 256 * 1024;

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
    at_end: bool,
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
                at_end: false,
            })),
        };
        Ok(Self { source, left: header.records_count, ended: false })
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
        while !self.at_end && !holds_record(&self.window[self.at..], self.limit)? {
            self.refill()?;
        }
        let mut from = Cursor::new(&self.window[self.at..]);
        let record = Record::read(&mut from)?;
        self.at = self.window.len() - from.rest().len();
        Ok(record)
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

/// Whether `window` begins with a whole record, or with what no further bytes make one.
fn holds_record(window: &[u8], limit: usize) -> Result<bool, DecompressError> {
    let mut from = Cursor::new(window);
    match from.varint() {
        Ok(size) => match usize::try_from(size) {
            Ok(size) if size > limit => Err(DecompressError::TooLarge { limit }),
            Ok(size) => Ok(from.rest().len() >= size),
            Err(_) => Ok(true),
        },
        Err(super::cursor::CursorError::Short) => Ok(false),
        Err(super::cursor::CursorError::Varint) => Ok(true),
    }
}
