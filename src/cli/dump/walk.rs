//! From batch to batch through a `.log`, over damage and on behind it.

use std::io;
use std::sync::Arc;

use super::stream::Window;
use crate::env::File;
use crate::log::scan::{BatchDamage, Framing, MAGIC_END, StoredBatch, frame};
use crate::types::Offset;

/// A batch above this is not held in memory: it is shown by its header, and not checked.
const HELD_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Behind damage, only batches up to this are looked for; random bytes are often the header of a larger one.
const FOUND_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Bytes that may be read to look whether something behind damage is a batch, for each byte of the file.
const SEARCH_FACTOR: u64 = 4;

/// What a batch begins with: enough to frame it.
const PREFIX: usize = MAGIC_END + 1;

/// What comes next in a log.
pub(in crate::cli) enum Step<'a> {
    /// A framed batch, and what is wrong with it.
    Batch { position: u64, batch: StoredBatch<'a>, damage: Option<BatchDamage> },
    /// A batch that is too large to hold; what follows it may be right.
    TooLarge { position: u64, bytes: u64 },
    /// Bytes that are no batch.
    Gap { from: u64, to: u64, why: String },
    /// The end of the file is not whole, and the file has grown meanwhile: it is being written.
    Growing { from: u64 },
}

/// A walk over one log.
pub(in crate::cli) struct Walk {
    window: Window,
    position: u64,
    searched: u64,
    verifies: bool,
    /// No batch ahead begins below it.
    expected: Offset,
}

impl Walk {
    /// Through the first `limit` bytes, verifying each batch.
    pub fn new(file: Arc<dyn File>, limit: Option<u64>) -> io::Result<Self> {
        let window = Window::new(file, limit)?;
        Ok(Self { window, position: 0, searched: 0, verifies: true, expected: Offset::ZERO })
    }

    /// Goes by the headers alone.
    pub fn unverified(self) -> Self {
        Self { verifies: false, ..self }
    }

    /// Where the walk ends.
    pub fn end(&self) -> u64 {
        self.window.end()
    }

    /// `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Step<'_>>> {
        let from = self.position;
        let left = self.window.end() - from;
        let prefix = self.window.at(from, PREFIX)?;
        if prefix.is_empty() {
            return Ok(None);
        }
        let why = match frame(prefix) {
            Framing::Whole(size) => return self.batch(size).map(Some),
            Framing::Partial(size) if size as u64 <= left => return self.batch(size).map(Some),
            Framing::Partial(_) => {
                if self.window.file_len()? > self.window.end() {
                    self.position = self.window.end();
                    return Ok(Some(Step::Growing { from }));
                }
                format!("the batch that begins here is cut off: {left} bytes are left of it")
            }
            Framing::Corrupt(error) => format!("no batch begins here: {error}"),
        };
        let to = self.search(from + 1)?;
        self.position = to;
        let why = if self.is_zero(from, to)? {
            "only zeros, as of a preallocated file".to_owned()
        } else {
            why
        };
        Ok(Some(Step::Gap { from, to, why }))
    }

    fn batch(&mut self, size: usize) -> io::Result<Step<'_>> {
        let position = self.position;
        self.position += size as u64;
        if size > HELD_BYTES_MAX {
            return Ok(Step::TooLarge { position, bytes: size as u64 });
        }
        let verifies = self.verifies;
        let damage = match StoredBatch::first(self.window.at(position, size)?) {
            Some(batch) if verifies => batch.verify().err(),
            Some(_) => None,
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        if damage.is_some() && !self.continues()? {
            // The length itself may be what is wrong.
            self.position = self.search(position + 1)?.min(self.position);
        }
        let bytes = self.window.at(position, size)?;
        let batch = StoredBatch::first(bytes).ok_or(io::ErrorKind::UnexpectedEof)?;
        if damage.is_none() {
            self.expected = batch.last_offset().plus(1);
        }
        Ok(Step::Batch { position, batch, damage })
    }

    /// Whether something that looks like a batch, or nothing, follows at the position.
    fn continues(&mut self) -> io::Result<bool> {
        let left = self.window.end() - self.position;
        let prefix = self.window.at(self.position, PREFIX)?;
        Ok(match frame(prefix) {
            _ if left == 0 => true,
            Framing::Whole(_) => true,
            Framing::Partial(size) => size as u64 <= left,
            Framing::Corrupt(_) => false,
        })
    }

    /// The first right batch at or behind `from`, else the end.
    fn search(&mut self, from: u64) -> io::Result<u64> {
        let end = self.window.end();
        let budget = end.saturating_mul(SEARCH_FACTOR).saturating_add(FOUND_BYTES_MAX as u64);
        let mut at = from;
        while at + PREFIX as u64 <= end {
            let left = usize::try_from(end - at).unwrap_or(usize::MAX);
            let window = self.window.at(at, PREFIX)?;
            let candidate = window.windows(PREFIX).position(|prefix| could_begin(prefix, left));
            let Some(skipped) = candidate else {
                // Fewer only where somebody cuts the file under us.
                let Some(beyond) = window.len().checked_sub(PREFIX - 1) else { break };
                at += beyond as u64;
                continue;
            };
            at += skipped as u64;
            if self.is_batch(at)? {
                return Ok(at);
            }
            if self.searched > budget {
                break;
            }
            at += 1;
        }
        Ok(end)
    }

    fn is_batch(&mut self, at: u64) -> io::Result<bool> {
        let left = self.window.end() - at;
        let (Framing::Whole(size) | Framing::Partial(size)) = frame(self.window.at(at, PREFIX)?)
        else {
            return Ok(false);
        };
        if size as u64 > left {
            return Ok(false);
        }
        self.searched += size as u64;
        let expected = self.expected;
        let batch = StoredBatch::first(self.window.at(at, size)?);
        Ok(batch.is_some_and(|batch| batch.last_offset() >= expected && batch.verify().is_ok()))
    }

    fn is_zero(&mut self, from: u64, to: u64) -> io::Result<bool> {
        let mut at = from;
        while at < to {
            let bytes = self.window.at(at, 1)?;
            let len = bytes.len().min(usize::try_from(to - at).unwrap_or(usize::MAX));
            if len == 0 || bytes[..len].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            at += len as u64;
        }
        Ok(true)
    }
}

/// A prefix that may be a batch of a size that is looked for.
fn could_begin(prefix: &[u8], left: usize) -> bool {
    match frame(prefix) {
        Framing::Whole(size) | Framing::Partial(size) => size <= FOUND_BYTES_MAX.min(left),
        Framing::Corrupt(_) => false,
    }
}
