//! Bytes of a log on their way to a socket.

use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;

use crate::env::File;

/// A run of bytes of one segment.
#[derive(Clone, Debug)]
pub enum Part {
    /// In memory, shared with the tail of the log.
    Shared(Bytes),
    /// In a file, below an end that is never cut again while the part lives.
    File {
        /// The segment's `.log`.
        file: Arc<dyn File>,
        /// Where it begins.
        position: u64,
        /// Bytes.
        len: usize,
    },
}

/// What a read returns: whole batches from the first on, possibly a cut one at the end, as Kafka sends them.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// In order.
    pub parts: SmallVec<[Part; 2]>,
    /// Sum of the parts' lengths.
    pub len: usize,
}

impl Slice {
    /// True if any of it has to come from a file.
    pub fn is_in_file(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::File { .. }))
    }
}
