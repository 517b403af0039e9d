//! How much memory the process holds: the tests of bad input look at it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: Counting = Counting { live: AtomicUsize::new(0), largest: AtomicUsize::new(0) };

struct Counting {
    live: AtomicUsize,
    largest: AtomicUsize,
}

/// Bytes allocated now.
pub(crate) fn live_bytes() -> usize {
    ALLOCATOR.live.load(Ordering::Relaxed)
}

/// The largest single allocation so far.
pub(crate) fn largest_bytes() -> usize {
    ALLOCATOR.largest.load(Ordering::Relaxed)
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.live.fetch_add(layout.size(), Ordering::Relaxed);
        self.largest.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those that the system asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.live.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
