//! Whole batches of a segment file, one after the other, as recovery reads them.

use std::io;
use std::sync::Arc;

use super::scan::{Framing, StoredBatch, frame};
use crate::env::File;

/// Bytes read at a time.
const READ_BYTES: usize = 1 << 20;

/// Reads batches up to an end; stops at the first that is not whole or cannot be one.
#[derive(Debug)]
pub(super) struct BatchReader {
    file: Arc<dyn File>,
    /// File position of `buffer[used]`.
    position: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
    read_bytes: usize,
}

impl BatchReader {
    /// From `position`, where a batch must begin, to `end`.
    pub(super) fn new(file: Arc<dyn File>, position: u64, end: u64) -> Self {
        Self { file, position, end, buffer: Vec::new(), used: 0, read_bytes: READ_BYTES }
    }

    /// Reads so much at a time, or one batch if that is larger.
    pub(super) fn reading(self, read_bytes: usize) -> Self {
        Self { read_bytes, ..self }
    }

    /// Where the next batch begins, or would begin.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The next batch with its position; it is framed, not verified. Blocks.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, StoredBatch<'_>)>> {
        let size = loop {
            match frame(&self.buffer[self.used..]) {
                Framing::Whole(size) => break size,
                Framing::Partial(needed) if self.position + needed as u64 <= self.end => {
                    self.fill(needed)?;
                }
                Framing::Partial(_) | Framing::Corrupt(_) => return Ok(None),
            }
        };
        let (from, position) = (self.used, self.position);
        self.used += size;
        self.position += size as u64;
        Ok(StoredBatch::first(&self.buffer[from..]).map(|batch| (position, batch)))
    }

    /// Reads on until the buffer holds `needed` bytes of the next batch, and more if there are.
    fn fill(&mut self, needed: usize) -> io::Result<()> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let have = self.buffer.len();
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        let len = needed.max(self.read_bytes).min(left);
        self.buffer.resize(len, 0);
        let read = self.file.read_at(&mut self.buffer[have..], self.position + have as u64)?;
        self.buffer.truncate(have + read);
        // The end was taken from the file's length, so a short read means that somebody cuts it under us.
        if have + read < needed { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}
