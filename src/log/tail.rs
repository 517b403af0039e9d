//! The newest bytes of the active segment in memory, addressed by file position.
//!
//! [`TailWriter`] belongs to the log's appender; readers hold an [`Arc<Tail>`](Tail), an immutable list of chunks that is
//! replaced when a chunk is begun or dropped. How far they may read is said by the view, not here. A batch never spans two
//! chunks, so a scan of batch headers stays within one.

use std::sync::Arc;

use smallvec::SmallVec;

use super::chunk::{Chunk, ChunkWriter};
use super::slice::Part;
use super::tail_pool::{CHUNK_BYTES_FIRST, CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, TailPool};
use crate::types::{Offset, Timestamp};

/// Most bytes of one log in memory; older chunks are dropped.
const TAIL_BYTES_MAX: usize = 4 << 20;
/// A chunk filled faster than this is followed by one of twice its size.
const FAST_FILL_MS: i64 = 1_000;
/// A chunk filled slower than this is followed by one of half its size.
const SLOW_FILL_MS: i64 = 10_000;

/// Chunks in order and without gaps; the last one ends where the view says the segment ends.
#[derive(Debug, Default)]
pub(super) struct Tail {
    chunks: SmallVec<[TailChunk; 4]>,
}

#[derive(Clone, Debug)]
pub(super) struct TailChunk {
    /// File position of its first byte.
    pub(super) position: u64,
    /// Offset of its first batch.
    pub(super) first_offset: Offset,
    chunk: Arc<Chunk>,
}

impl Tail {
    /// The chunk that holds `offset`, if the tail reaches back so far.
    pub(super) fn chunk_of(&self, offset: Offset) -> Option<&TailChunk> {
        let after = self.chunks.partition_point(|chunk| chunk.first_offset <= offset);
        after.checked_sub(1).map(|index| &self.chunks[index])
    }

    /// Appends the bytes from `start` to `end` to `parts`; false if the tail does not hold them all.
    pub(super) fn share(&self, start: u64, end: u64, parts: &mut SmallVec<[Part; 2]>) -> bool {
        let after = self.chunks.partition_point(|chunk| chunk.position <= start);
        let Some(first) = after.checked_sub(1) else { return false };
        let mut at = start;
        for chunk in &self.chunks[first..] {
            if at >= end {
                break;
            }
            let from = (at - chunk.position) as usize;
            let to = chunk.bytes().len().min((end - chunk.position) as usize);
            parts.push(Part::Shared(chunk.chunk.share(from..to)));
            at = chunk.position + to as u64;
        }
        at == end
    }
}

impl TailChunk {
    /// All that is published of it; more than the view knows while an append goes on.
    pub(super) fn bytes(&self) -> &[u8] {
        self.chunk.published()
    }
}

/// The appender's side of a tail.
#[derive(Debug)]
pub(super) struct TailWriter {
    pool: Arc<TailPool>,
    tail: Arc<Tail>,
    writer: Option<ChunkWriter>,
    next_chunk_bytes: usize,
    chunk_begun: Timestamp,
}

impl TailWriter {
    /// An empty tail; takes no memory before the first append.
    pub(super) fn new(pool: Arc<TailPool>) -> Self {
        Self {
            pool,
            tail: Arc::default(),
            writer: None,
            next_chunk_bytes: CHUNK_BYTES_FIRST,
            chunk_begun: Timestamp::NONE,
        }
    }

    /// The chunks as readers see them.
    pub(super) fn tail(&self) -> &Arc<Tail> {
        &self.tail
    }

    /// Room for one batch of `len` bytes that will lie at `position` and begin with `offset`. Private until
    /// [`TailWriter::publish`]. `None` if there is no memory: then the tail is empty from now on.
    pub(super) fn room(
        &mut self,
        len: usize,
        position: u64,
        offset: Offset,
        now: Timestamp,
    ) -> Option<&mut [u8]> {
        if self.writer.as_ref().is_none_or(|writer| writer.free_len() < len) {
            self.begin_chunk(len, position, offset, now);
        }
        self.writer.as_mut().map(|writer| &mut writer.free()[..len])
    }

    /// Makes the next `len` bytes of the room readable.
    pub(super) fn publish(&mut self, len: usize) {
        if let Some(writer) = &mut self.writer {
            writer.publish(len);
        }
    }

    /// Forgets everything; chunks go back to the pool once their readers are done.
    pub(super) fn clear(&mut self) {
        if self.writer.take().is_some() {
            self.tail = Arc::default();
        }
    }

    /// As [`TailWriter::clear`]; and what no log uses goes back to the system.
    pub(super) fn give_back(&mut self) {
        self.clear();
        self.pool.trim();
    }

    fn begin_chunk(&mut self, len: usize, position: u64, offset: Offset, now: Timestamp) {
        self.adapt_chunk_size(now);
        let wanted = self.next_chunk_bytes.max(len);
        let lease = self.pool.lease(wanted).or_else(|| {
            // The oldest own chunks may be what is missing; the batch itself is never refused for lack of memory.
            self.clear();
            self.pool.lease(len)
        });
        let Some(lease) = lease else { return self.clear() };
        let writer = ChunkWriter::new(lease);
        let chunk = Arc::clone(writer.chunk());
        self.tail = Arc::new(self.tail.with(TailChunk { position, first_offset: offset, chunk }));
        self.writer = Some(writer);
        self.chunk_begun = now;
    }

    fn adapt_chunk_size(&mut self, now: Timestamp) {
        if self.writer.is_none() {
            self.next_chunk_bytes = CHUNK_BYTES_FIRST;
            return;
        }
        if self.next_chunk_bytes < CHUNK_BYTES_MIN {
            self.next_chunk_bytes = CHUNK_BYTES_MIN;
            return;
        }
        let filled_in_ms = now.get().saturating_sub(self.chunk_begun.get());
        if filled_in_ms < FAST_FILL_MS {
            self.next_chunk_bytes = (self.next_chunk_bytes * 2).min(CHUNK_BYTES_MAX);
        } else if filled_in_ms > SLOW_FILL_MS {
            self.next_chunk_bytes = (self.next_chunk_bytes / 2).max(CHUNK_BYTES_MIN);
        }
    }
}

impl Tail {
    /// The same with one more chunk, without the oldest ones that are too many.
    fn with(&self, last: TailChunk) -> Self {
        let keep_from = last.position.saturating_sub(TAIL_BYTES_MAX as u64);
        let kept = self.chunks.iter().filter(|chunk| chunk.position >= keep_from);
        Self { chunks: kept.cloned().chain([last.clone()]).collect() }
    }
}
