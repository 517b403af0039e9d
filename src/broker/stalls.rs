//! Tells a disk that makes writers wait from a machine that is short of CPU.
//!
//! Both make an append take long, but only the first is a reason to keep appends off the async threads: the detour costs two
//! thread switches for each request, which is what a busy machine needs least. So the first long append only raises a
//! suspicion; while it lasts, each request that appends compares how often its thread gave up the CPU by itself. A thread that
//! was pushed aside did not; one that the disk made wait did. One for each broker, shared by all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A request whose appends took longer is looked at.
const LONG: Duration = Duration::from_millis(5);

/// How long a suspicion lasts. Longer than directories remember a stall, so that the first request that tries again is watched.
const SUSPICION: Duration = Duration::from_millis(500);

/// Whether there is a suspicion.
#[derive(Debug, Default)]
pub struct Stalls {
    suspected_until_ms: AtomicU64,
}

/// The appends of one request.
#[derive(Debug)]
pub struct Watch {
    began: Duration,
    /// Times that the thread had given up the CPU by itself; `None` where nothing is suspected.
    switches: Option<u64>,
}

impl Stalls {
    /// Appends begin at `now`, on the monotonic clock. `switches` is asked only under suspicion: it is a system call.
    pub fn begin(&self, now: Duration, switches: impl FnOnce() -> u64) -> Watch {
        let suspected = millis(now) < self.suspected_until_ms.load(Ordering::Relaxed);
        Watch { began: now, switches: suspected.then(switches) }
    }

    /// They have ended, on the same thread: true if the disk made them wait.
    pub fn end(&self, watch: &Watch, now: Duration, switches: impl FnOnce() -> u64) -> bool {
        if now.saturating_sub(watch.began) <= LONG {
            return false;
        }
        self.suspected_until_ms.fetch_max(millis(now + SUSPICION), Ordering::Relaxed);
        watch.switches.is_some_and(|before| switches() > before)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Appends from `began` for `took`, with so many switches before and after.
    fn appends(stalls: &Stalls, began: Duration, took: Duration, switches: (u64, u64)) -> bool {
        let watch = stalls.begin(began, || switches.0);
        stalls.end(&watch, began + took, || switches.1)
    }

    #[test]
    fn a_long_append_is_suspicious_and_the_next_one_proves_it() {
        let stalls = Stalls::default();
        assert!(!appends(&stalls, MS, 6 * MS, (1, 2)), "nothing was counted yet");
        assert!(appends(&stalls, 100 * MS, 6 * MS, (2, 3)));
        assert!(appends(&stalls, 550 * MS, 6 * MS, (3, 4)), "the second renewed the suspicion");
    }

    #[test]
    fn a_thread_that_was_pushed_aside_has_not_met_a_stall() {
        let stalls = Stalls::default();
        for round in 1..5 {
            assert!(!appends(&stalls, 50 * round * MS, 20 * MS, (7, 7)));
        }
    }

    #[test]
    fn quick_appends_ask_nothing_and_a_suspicion_ends() {
        let never = || unreachable!("nothing is suspected");
        let stalls = Stalls::default();
        let watch = stalls.begin(MS, never);
        assert!(!stalls.end(&watch, 2 * MS, never));
        appends(&stalls, 2 * MS, 6 * MS, (0, 0));
        let watch = stalls.begin(600 * MS, never);
        assert!(!stalls.end(&watch, 601 * MS, never));
    }
}
