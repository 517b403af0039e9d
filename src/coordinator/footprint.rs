//! About how much memory a soft state takes: a sum that its parts change as they change, so that nobody walks over them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sum over the parts of one state. Clones are the same sum.
#[derive(Clone, Debug, Default)]
pub struct Footprint(Arc<AtomicUsize>);

impl Footprint {
    /// Bytes of all parts.
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// One more part, which has nothing yet.
    pub(super) fn part(&self) -> FootprintPart {
        FootprintPart { sum: self.clone(), bytes: 0 }
    }
}

/// What one part adds to the sum, until it is dropped.
#[derive(Debug)]
pub(super) struct FootprintPart {
    sum: Footprint,
    bytes: usize,
}

impl FootprintPart {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        // The one thread that has the state changes it.
        self.sum.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn subtract(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.sum.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for FootprintPart {
    fn drop(&mut self) {
        self.subtract(self.bytes);
    }
}
