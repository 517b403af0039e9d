//! Bytes of a file, a window at a time: a file of any length takes no more memory than the window.

use std::io;
use std::sync::Arc;

use crate::env::File;

/// Bytes read at a time.
const WINDOW_BYTES: usize = 1 << 20;

/// A file with the part of it that was read last.
pub(super) struct Window {
    file: Arc<dyn File>,
    /// What is read goes no further.
    end: u64,
    from: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The first `limit` bytes of a file, as long as it is now.
    pub fn new(file: Arc<dyn File>, limit: Option<u64>) -> io::Result<Self> {
        let len = file.len()?;
        Ok(Self {
            file,
            end: limit.map_or(len, |limit| limit.min(len)),
            from: 0,
            bytes: Vec::new(),
        })
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// How long the file is by now.
    pub fn file_len(&self) -> io::Result<u64> {
        self.file.len()
    }

    /// The bytes from `at` on: at least `wanted`, or all that there are. Usually more.
    pub fn at(&mut self, at: u64, wanted: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let wanted = wanted.min(left);
        if at < self.from || at + wanted as u64 > self.from + self.bytes.len() as u64 {
            self.bytes.resize(wanted.max(WINDOW_BYTES).min(left), 0);
            // Other processes may cut the file; what is gone is not there.
            let read = self.file.read_at(&mut self.bytes, at)?;
            self.bytes.truncate(read);
            self.bytes.shrink_to(WINDOW_BYTES.max(read));
            self.from = at;
        }
        let skipped = usize::try_from(at - self.from).unwrap_or(usize::MAX);
        Ok(self.bytes.get(skipped..).unwrap_or_default())
    }
}

/// Entries of one length, from the start of a file to its end.
pub(super) struct Entries<const LEN: usize> {
    window: Window,
    position: u64,
}

impl<const LEN: usize> Entries<LEN> {
    pub fn new(file: Arc<dyn File>) -> io::Result<Self> {
        Ok(Self { window: Window::new(file, None)?, position: 0 })
    }

    /// The next whole one with its position.
    pub fn next(&mut self) -> io::Result<Option<(u64, [u8; LEN])>> {
        let position = self.position;
        let entry = self.window.at(position, LEN)?.first_chunk().copied();
        self.position += if entry.is_some() { LEN as u64 } else { 0 };
        Ok(entry.map(|entry| (position, entry)))
    }

    pub fn file_bytes(&self) -> u64 {
        self.window.end()
    }

    /// Bytes behind the last whole one.
    pub fn torn_bytes(&self) -> u64 {
        self.window.end() % LEN as u64
    }
}
