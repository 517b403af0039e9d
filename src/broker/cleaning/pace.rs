//! How fast a round goes (`log.cleaner.io.max.bytes.per.second`), whether it goes on, and how far it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::CleaningQueue;
use crate::broker::partition::Partition;
use crate::env::{Clock, give_way};
use crate::log::compaction::{Pace, Stop};
use crate::observe::Gauge;

/// Bytes between two looks at clock and state: some tens of microseconds of work.
const STEP_BYTES: u64 = 64 << 10;

/// A rate that all threads share.
#[derive(Debug)]
pub(super) struct Throttle {
    clock: Arc<dyn Clock>,
    /// When the bytes so far may have been moved.
    paid_to: Mutex<Duration>,
}

impl Throttle {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, paid_to: Mutex::default() }
    }

    /// How long to wait after `bytes` at this rate.
    fn charge(&self, bytes: u64, bytes_per_second: f64) -> Duration {
        let cost = bytes as f64 / bytes_per_second;
        // Not a number or below zero for a rate that makes no sense: then there is none.
        let cost = Duration::try_from_secs_f64(cost).unwrap_or(Duration::ZERO);
        let now = self.clock.monotonic();
        let mut paid_to = self.paid_to.lock();
        *paid_to = paid_to.max(now).saturating_add(cost);
        paid_to.saturating_sub(now)
    }
}

/// The pace of one round.
#[derive(Debug)]
pub(super) struct RoundPace<'p> {
    pub(super) queue: &'p CleaningQueue,
    pub(super) partition: &'p Partition,
    pub(super) throttle: &'p Throttle,
    pub(super) bytes_per_second: f64,
    /// Moved since the last look.
    pub(super) moved: Mutex<u64>,
    pub(super) left: BytesLeft<'p>,
}

/// What a round still has to read, as part of a gauge; nothing once it is over.
#[derive(Debug)]
pub(super) struct BytesLeft<'m> {
    gauge: &'m Gauge,
    bytes: AtomicU64,
}

impl<'m> BytesLeft<'m> {
    pub(super) fn new(gauge: &'m Gauge, bytes: u64) -> Self {
        gauge.add(signed(bytes));
        Self { gauge, bytes: AtomicU64::new(bytes) }
    }

    fn read(&self, bytes: u64) {
        // One thread works on a round, so nothing changes in between.
        let left = self.bytes.load(Ordering::Relaxed);
        let bytes = bytes.min(left);
        self.bytes.store(left - bytes, Ordering::Relaxed);
        self.gauge.add(-signed(bytes));
    }
}

impl Drop for BytesLeft<'_> {
    fn drop(&mut self) {
        self.gauge.add(-signed(*self.bytes.get_mut()));
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl RoundPace<'_> {
    fn look(&self, moved: u64) -> Result<(), Stop> {
        let gone = self.partition.is_retired() || self.partition.directory().is_offline();
        let wait = self.throttle.charge(moved, self.bytes_per_second);
        let closing =
            if wait.is_zero() { self.queue.is_closing() } else { self.queue.wait_closing(wait) };
        if gone || closing { Err(Stop) } else { Ok(()) }
    }
}

impl Pace for RoundPace<'_> {
    fn go_on(&self, bytes: u64) -> Result<(), Stop> {
        // Nobody else takes this lock; it is here because a pace is shared.
        let mut moved = self.moved.lock();
        *moved += bytes;
        if *moved < STEP_BYTES {
            return Ok(());
        }
        give_way();
        self.look(std::mem::take(&mut moved))
    }

    fn has_read(&self, bytes: u64) {
        self.left.read(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::ManualClock;
    use crate::types::Timestamp;

    #[test]
    fn bytes_take_the_time_that_the_rate_gives_them() {
        let clock = Arc::new(ManualClock::new(Timestamp::new(0)));
        let throttle = Throttle::new(clock.clone());
        assert_eq!(throttle.charge(500, 1000.0), Duration::from_millis(500));
        assert_eq!(throttle.charge(500, 1000.0), Duration::from_secs(1), "by two threads");
        clock.advance_ms(400);
        assert_eq!(throttle.charge(0, 1000.0), Duration::from_millis(600));
        clock.advance_ms(5000);
        assert_eq!(
            throttle.charge(100, 1000.0),
            Duration::from_millis(100),
            "idle time is no credit"
        );
    }

    #[test]
    fn what_is_left_of_a_round_falls_and_goes_with_it() {
        let gauge = Gauge::default();
        let (first, second) = (BytesLeft::new(&gauge, 100), BytesLeft::new(&gauge, 50));
        first.read(70);
        assert_eq!(gauge.get(), 80);
        second.read(60);
        assert_eq!(gauge.get(), 30, "never less than nothing");
        drop((first, second));
        assert_eq!(gauge.get(), 0);
    }

    #[test]
    fn without_a_rate_there_is_no_wait() {
        let throttle = Throttle::new(Arc::new(ManualClock::new(Timestamp::new(0))));
        for rate in [f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            assert_eq!(throttle.charge(1 << 20, rate), Duration::ZERO, "{rate}");
        }
    }
}
