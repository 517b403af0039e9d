//! Remembers that a disk has no room, so that its operator is told: once when it begins, now and then while it lasts, and when
//! it is over. One for each log directory, shared by all threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Nobody is told more often than this, however many appends are refused.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Whether there is room for appends.
#[derive(Debug, Default)]
pub struct Room {
    /// Somebody was told that there is none.
    lacking: AtomicBool,
    /// When it may be told again, on the monotonic clock.
    told_until_ms: AtomicU64,
    /// Appends refused since it was told.
    refused: AtomicU64,
}

impl Room {
    /// An append was refused at `now`, on the monotonic clock. If it is time to tell: how many were refused since the last
    /// time.
    pub fn refused(&self, now: Duration) -> Option<u64> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let until_ms = self.told_until_ms.load(Ordering::Relaxed);
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let next_ms = now_ms.saturating_add(TOLD_EVERY.as_millis() as u64);
        let relaxed = Ordering::Relaxed;
        let tell = now_ms >= until_ms
            && self.told_until_ms.compare_exchange(until_ms, next_ms, relaxed, relaxed).is_ok();
        tell.then(|| {
            self.lacking.store(true, Ordering::Relaxed);
            self.refused.swap(0, Ordering::Relaxed)
        })
    }

    /// An append was taken: true if there was no room before, which is over. One load of a line that hardly ever changes.
    pub fn appended(&self) -> bool {
        self.lacking.load(Ordering::Relaxed) && self.lacking.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn it_is_told_at_once_then_every_ten_seconds_and_when_it_is_over() {
        let room = Room::default();
        assert!(!room.appended(), "nothing was lacking");
        assert_eq!(room.refused(SECOND), Some(1));
        assert_eq!(room.refused(2 * SECOND), None);
        assert_eq!(room.refused(10 * SECOND), None);
        assert_eq!(room.refused(11 * SECOND), Some(3));
        assert!(room.appended());
        assert!(!room.appended(), "told once");
    }

    #[test]
    fn small_appends_between_large_ones_that_do_not_fit_do_not_flood_the_log() {
        let room = Room::default();
        let told = (0..50).filter(|n| room.refused(*n * SECOND / 10).is_some() | room.appended());
        assert_eq!(told.count(), 1);
    }
}
