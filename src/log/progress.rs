//! How far the recovery of a log is, for whoever waits for it.

use std::fmt::Debug;

/// Hears of a recovery while it goes on.
pub trait RecoveryProgress: Debug {
    /// So many segments, of so many bytes together, may not be whole on disk and are about to be scanned.
    fn begins(&self, segments: usize, bytes: u64);
    /// Bytes of them have been scanned.
    fn scanned(&self, bytes: u64);
    /// One of them has been scanned and what lies beside it was written.
    fn segment_done(&self);
}

/// Nobody waits.
#[derive(Debug)]
pub(super) struct Unwatched;

impl RecoveryProgress for Unwatched {
    fn begins(&self, _segments: usize, _bytes: u64) {}
    fn scanned(&self, _bytes: u64) {}
    fn segment_done(&self) {}
}
