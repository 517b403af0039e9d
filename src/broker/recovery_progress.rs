//! What is told of the recovery of one log: two gauges, and a line now and then if there is much to scan.

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::env::Clock;
use crate::log::RecoveryProgress;
use crate::observe::Metrics;

/// A log with less to scan is done before anybody asks: it gets no line of its own.
const TOLD_FROM_BYTES: u64 = 1 << 30;
/// Lines of one log.
const REPORTS: u64 = 10;

/// One log while it is recovered. What it has not scanned when it ends is taken off the gauges.
#[derive(Debug)]
pub(super) struct LogRecovery<'r> {
    metrics: &'r Metrics,
    clock: &'r dyn Clock,
    directory: &'r Path,
    began: Duration,
    segments_left: AtomicI64,
    bytes: AtomicU64,
    scanned: AtomicU64,
}

impl<'r> LogRecovery<'r> {
    /// Of the log in `directory`; nothing is to be done yet.
    pub(super) fn new(metrics: &'r Metrics, clock: &'r dyn Clock, directory: &'r Path) -> Self {
        Self {
            metrics,
            clock,
            directory,
            began: clock.monotonic(),
            segments_left: AtomicI64::new(0),
            bytes: AtomicU64::new(0),
            scanned: AtomicU64::new(0),
        }
    }

    fn tell(&self, scanned: u64, of: u64) {
        let seconds = self.clock.monotonic().saturating_sub(self.began).as_secs_f64();
        let percent = scanned * 100 / of;
        let segments_left = self.segments_left.load(Ordering::Relaxed);
        tracing::info!(
            directory = %self.directory.display(), percent, scanned, of, segments_left, seconds,
            "recovering a log"
        );
    }
}

impl RecoveryProgress for LogRecovery<'_> {
    fn begins(&self, segments: usize, bytes: u64) {
        let segments = i64::try_from(segments).unwrap_or(i64::MAX);
        self.segments_left.store(segments, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.metrics.recovery_segments_left.add(segments);
        self.metrics.recovery_bytes_left.add(signed(bytes));
    }

    fn scanned(&self, bytes: u64) {
        let of = self.bytes.load(Ordering::Relaxed);
        if of == 0 {
            // A damaged end after a clean stop, which nobody has announced.
            return;
        }
        let before = self.scanned.fetch_add(bytes, Ordering::Relaxed);
        self.metrics.recovery_bytes_left.add(-signed(bytes));
        let scanned = (before + bytes).min(of);
        let reports = |scanned: u64| scanned / (of / REPORTS).max(1);
        if of >= TOLD_FROM_BYTES && reports(scanned) > reports(before) {
            self.tell(scanned, of);
        }
    }

    fn segment_done(&self) {
        if self.segments_left.load(Ordering::Relaxed) > 0 {
            self.segments_left.fetch_sub(1, Ordering::Relaxed);
            self.metrics.recovery_segments_left.decrement();
        }
    }
}

impl Drop for LogRecovery<'_> {
    fn drop(&mut self) {
        let (bytes, scanned) = (self.bytes.get_mut(), self.scanned.get_mut());
        self.metrics.recovery_bytes_left.add(signed(*scanned) - signed(*bytes));
        self.metrics.recovery_segments_left.add(-*self.segments_left.get_mut());
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::ManualClock;
    use crate::types::Timestamp;

    #[test]
    fn what_is_left_falls_as_it_is_scanned_and_goes_with_a_log_that_is_given_up() {
        let (metrics, clock) = (Metrics::default(), ManualClock::new(Timestamp::new(0)));
        let left = || (metrics.recovery_segments_left.get(), metrics.recovery_bytes_left.get());
        let first = LogRecovery::new(&metrics, &clock, Path::new("t-0"));
        let second = LogRecovery::new(&metrics, &clock, Path::new("t-1"));
        first.begins(2, 300);
        second.begins(1, 50);
        assert_eq!(left(), (3, 350));
        first.scanned(200);
        first.segment_done();
        assert_eq!(left(), (2, 150));
        drop(first);
        assert_eq!(left(), (1, 50), "cut in its second segment");
        second.scanned(50);
        second.segment_done();
        assert_eq!(left(), (0, 0));
        drop(second);
        assert_eq!(left(), (0, 0));
        let unannounced = LogRecovery::new(&metrics, &clock, Path::new("t-2"));
        unannounced.scanned(70);
        unannounced.segment_done();
        assert_eq!(left(), (0, 0));
    }
}
