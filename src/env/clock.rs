//! Wall clock for timestamps, monotonic clock for time-outs.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::types::Timestamp;

/// The two clocks of a broker.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970 UTC; may step.
    fn wall(&self) -> Timestamp;
    /// Time since an arbitrary start; never goes back. For time-outs and durations.
    fn monotonic(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the seam that reads the clock")]
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the seam that reads the clock")]
    fn wall(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since_epoch.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX));
        Timestamp::new(millis)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock {
    wall_ms: AtomicI64,
    monotonic_ms: AtomicI64,
}

impl ManualClock {
    /// Starts at `wall`, with the monotonic clock at zero.
    pub fn new(wall: Timestamp) -> Self {
        Self { wall_ms: AtomicI64::new(wall.get()), monotonic_ms: AtomicI64::new(0) }
    }

    /// Somebody sets the wall clock, forward or back.
    pub fn step_wall_ms(&self, step_ms: i64) {
        self.wall_ms.fetch_add(step_ms, Ordering::SeqCst);
    }

    /// Moves both clocks forward by `step_ms` milliseconds.
    pub fn advance_ms(&self, step_ms: i64) {
        self.wall_ms.fetch_add(step_ms, Ordering::SeqCst);
        self.monotonic_ms.fetch_add(step_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Timestamp {
        Timestamp::new(self.wall_ms.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.monotonic_ms.load(Ordering::SeqCst).unsigned_abs())
    }
}
