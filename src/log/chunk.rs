//! A piece of memory that one appender fills while any number of readers look at what it has published.
//!
//! This is the only file of the engine with `unsafe` code. The argument, once for all of it:
//! * The memory belongs to one [`Chunk`] and lives as long; it is zeroed when allocated, so every byte is initialised.
//! * `published` divides it. Bytes below are never written again while the chunk lives; bytes at or above it are reached
//!   through the one [`ChunkWriter`] alone, which is not `Clone` and hands them out under `&mut self`.
//! * `published` only grows. It is stored with release order after the bytes below it were written, and loaded with
//!   acquire order before they are read, so a reader sees them whole, on whatever way it came to the chunk.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use super::tail_pool::Lease;

/// Owned, initialised memory without an opinion on who reads or writes it.
pub(super) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is owned and reached only through `Chunk` and `ChunkWriter`, whose rules stand in the module header.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// What an allocator gives without being asked. Chunks are powers of two but for its few bytes before each: were they
    /// aligned to pages as well, a gap of nearly a page would lie before each, which is more than the smallest ones have.
    const ALIGN: usize = 16;

    /// `capacity` zero bytes.
    pub(super) fn zeroed(capacity: usize) -> Self {
        let layout = Layout::from_size_align(capacity.max(1), Self::ALIGN)
            .expect("chunks are far smaller than the address space");
        // SAFETY: the layout's size is at least 1.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Self { start, layout }
    }

    /// Bytes it holds.
    pub(super) fn capacity(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this very layout and freed nowhere else.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// Memory shared between its writer and its readers. Goes back to its pool when the last of them is gone.
pub(super) struct Chunk {
    lease: Lease,
    published: AtomicUsize,
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let published = self.published.load(Ordering::Relaxed);
        write!(f, "Chunk({published} of {} bytes)", self.lease.memory().capacity())
    }
}

impl Chunk {
    /// What the writer has published.
    pub(super) fn published(&self) -> &[u8] {
        let len = self.published.load(Ordering::Acquire);
        // SAFETY: `len` never exceeds the capacity (`ChunkWriter::publish` checks), the bytes are initialised and, being
        // below `published`, not written while the chunk lives.
        unsafe { slice::from_raw_parts(self.lease.memory().start.as_ptr(), len) }
    }

    /// Published bytes that keep the chunk alive.
    ///
    /// # Panics
    /// If `range` reaches beyond what is published: the view it comes from would be wrong.
    pub(super) fn share(self: &Arc<Self>, range: Range<usize>) -> Bytes {
        assert!(range.start <= range.end && range.end <= self.published.load(Ordering::Acquire));
        Bytes::from_owner(SharedRange { chunk: Arc::clone(self), range })
    }
}

struct SharedRange {
    chunk: Arc<Chunk>,
    range: Range<usize>,
}

impl AsRef<[u8]> for SharedRange {
    fn as_ref(&self) -> &[u8] {
        &self.chunk.published()[self.range.clone()]
    }
}

/// The one writer of a chunk.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    chunk: Arc<Chunk>,
}

impl ChunkWriter {
    /// A chunk with nothing in it.
    pub(super) fn new(lease: Lease) -> Self {
        Self { chunk: Arc::new(Chunk { lease, published: AtomicUsize::new(0) }) }
    }

    /// The chunk for readers.
    pub(super) fn chunk(&self) -> &Arc<Chunk> {
        &self.chunk
    }

    /// Bytes that may still be written.
    pub(super) fn free_len(&self) -> usize {
        self.chunk.lease.memory().capacity() - self.chunk.published.load(Ordering::Relaxed)
    }

    /// The memory behind what is published. What is written there stays private until [`ChunkWriter::publish`].
    pub(super) fn free(&mut self) -> &mut [u8] {
        let memory = self.chunk.lease.memory();
        let published = self.chunk.published.load(Ordering::Relaxed);
        // SAFETY: `published` is at most the capacity; the range behind it is initialised, and nobody else reaches it:
        // readers stop at `published`, and `&mut self` of the only writer is held as long as the slice.
        unsafe {
            let start = memory.start.as_ptr().add(published);
            slice::from_raw_parts_mut(start, memory.capacity() - published)
        }
    }

    /// Lets readers see the next `len` bytes, which are then never written again.
    ///
    /// # Panics
    /// If fewer are free.
    pub(super) fn publish(&mut self, len: usize) {
        assert!(len <= self.free_len());
        self.chunk.published.fetch_add(len, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::env::ByteBudget;
    use crate::log::TailPool;

    fn writer(capacity: usize) -> ChunkWriter {
        let pool = TailPool::new(ByteBudget::new(64 << 20));
        ChunkWriter::new(pool.lease(capacity).expect("the budget has room"))
    }

    #[test]
    fn readers_see_only_what_is_published() {
        let mut writer = writer(16 << 10);
        writer.free()[..3].copy_from_slice(b"abc");
        assert!(writer.chunk().published().is_empty());
        writer.publish(2);
        assert_eq!(writer.chunk().published(), b"ab");
        assert_eq!(writer.free()[0], b'c');
        assert_eq!(&writer.chunk().share(1..2)[..], b"b");
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn a_range_beyond_what_is_published_is_refused() {
        let writer = writer(16 << 10);
        let _ = writer.chunk().share(0..1);
    }

    #[test]
    fn a_reader_in_another_thread_never_sees_half_a_publication() {
        let mut writer = writer(64 << 10);
        let chunk = Arc::clone(writer.chunk());
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut seen = 0;
                while seen < 64 << 10 {
                    let published = chunk.published();
                    assert!(published.chunks(16).all(|run| run.iter().all(|&b| b == run[0])));
                    assert!(published.iter().all(|&b| b != 0));
                    seen = published.len();
                    std::hint::spin_loop();
                }
            });
            for round in 0..(64 << 10) / 16 {
                writer.free()[..16].fill((round % 255) as u8 + 1);
                writer.publish(16);
            }
        });
    }
}
