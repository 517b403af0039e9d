//! Long poll without polling: one wait for each parked fetch, listed with every partition that it reads.
//!
//! A partition tells each interested wait how many bytes have become visible; the wait counts them against what the fetch
//! lacks and wakes it once. The fetch registers first, looks again, then waits, so nothing is missed in between. Interests
//! leave the lists when they have fired or when the fetch is dropped.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use crate::log::Isolation;

/// A parked fetch.
#[derive(Debug)]
pub struct FetchWait {
    /// Bytes that the fetch still lacks; 0 once it has been woken.
    missing: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl FetchWait {
    /// A fetch that lacks `bytes` (at least one: a fetch that lacks nothing does not wait).
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { missing: AtomicUsize::new(bytes.max(1)), waker: Mutex::new(None) })
    }

    /// `bytes` more can be read.
    pub fn add(&self, bytes: usize) {
        let subtract = |missing: usize| (missing > 0).then(|| missing.saturating_sub(bytes));
        let before = self.missing.fetch_update(Ordering::AcqRel, Ordering::Acquire, subtract);
        if before.is_ok_and(|missing| missing <= bytes)
            && let Some(waker) = self.waker.lock().take()
        {
            waker.wake();
        }
    }

    /// True once enough bytes are there.
    pub fn is_satisfied(&self) -> bool {
        self.missing.load(Ordering::Acquire) == 0
    }

    /// Completes once enough bytes are there. Cancel safe; one waiting task at a time.
    pub async fn satisfied(&self) {
        poll_fn(|context| {
            if self.is_satisfied() {
                return Poll::Ready(());
            }
            *self.waker.lock() = Some(context.waker().clone());
            if self.is_satisfied() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// The waits of one partition.
#[derive(Debug, Default)]
pub struct FetchInterests(Mutex<Vec<Interest>>);

#[derive(Debug)]
struct Interest {
    wait: Arc<FetchWait>,
    isolation: Isolation,
    /// Bytes that the fetch may still take from this partition; more do not help it.
    room: usize,
}

/// Which readers gain by a move of the partition's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// Only the high watermark moved: an open transaction holds read_committed consumers back.
    Uncommitted,
    /// The last stable offset moved with it.
    All,
    /// The last stable offset moved over what only the others could read so far: how many bytes that are nobody has counted.
    Released,
}

impl FetchInterests {
    /// Lists a wait that may take `room` bytes of this partition.
    pub fn register(&self, wait: &Arc<FetchWait>, isolation: Isolation, room: usize) {
        self.0.lock().push(Interest { wait: Arc::clone(wait), isolation, room });
    }

    /// Takes a wait off the list.
    pub fn deregister(&self, wait: &Arc<FetchWait>) {
        self.0.lock().retain(|interest| !Arc::ptr_eq(&interest.wait, wait));
    }

    /// `bytes` more are visible.
    pub fn gained(&self, bytes: usize, gain: Gain) {
        let mut interests = self.0.lock();
        interests.retain_mut(|interest| {
            let gained = match (gain, interest.isolation) {
                (Gain::Uncommitted, Isolation::ReadCommitted) => return true,
                // It looks again, and waits again if that is not enough.
                (Gain::Released, Isolation::ReadCommitted) => {
                    interest.wait.add(usize::MAX);
                    return false;
                }
                _ => bytes,
            };
            let counted = gained.min(interest.room);
            interest.room -= counted;
            interest.wait.add(counted);
            !interest.wait.is_satisfied()
        });
    }

    /// Wakes everyone: the partition failed, was deleted or changed its epoch.
    pub fn wake_all(&self) {
        for interest in self.0.lock().drain(..) {
            interest.wait.add(usize::MAX);
        }
    }

    /// Number of waits listed.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNCOMMITTED: Isolation = Isolation::ReadUncommitted;

    #[test]
    fn bytes_of_several_partitions_add_up() {
        let wait = FetchWait::new(100);
        let (a, b) = (FetchInterests::default(), FetchInterests::default());
        a.register(&wait, UNCOMMITTED, 1000);
        b.register(&wait, UNCOMMITTED, 1000);
        a.gained(60, Gain::All);
        assert!(!wait.is_satisfied());
        b.gained(60, Gain::All);
        assert!(wait.is_satisfied());
        assert!(b.is_empty(), "a wait that fired leaves the list");
    }

    #[test]
    fn a_partition_counts_no_further_than_its_own_limit() {
        let wait = FetchWait::new(100);
        let interests = FetchInterests::default();
        interests.register(&wait, UNCOMMITTED, 30);
        interests.gained(80, Gain::All);
        interests.gained(80, Gain::All);
        assert!(!wait.is_satisfied());
    }

    #[test]
    fn read_committed_sleeps_while_a_transaction_is_open() {
        let wait = FetchWait::new(1);
        let interests = FetchInterests::default();
        interests.register(&wait, Isolation::ReadCommitted, 100);
        interests.gained(50, Gain::Uncommitted);
        assert!(!wait.is_satisfied());
        interests.gained(50, Gain::All);
        assert!(wait.is_satisfied());
    }

    #[test]
    fn read_committed_looks_again_when_a_transaction_ends() {
        let (committed, uncommitted) = (FetchWait::new(1000), FetchWait::new(1000));
        let interests = FetchInterests::default();
        interests.register(&committed, Isolation::ReadCommitted, 2000);
        interests.register(&uncommitted, UNCOMMITTED, 2000);
        interests.gained(70, Gain::Released);
        assert!(committed.is_satisfied(), "its records were counted for others long ago");
        assert!(!uncommitted.is_satisfied());
    }

    #[test]
    fn a_failure_wakes_everyone() {
        let wait = FetchWait::new(usize::MAX);
        let interests = FetchInterests::default();
        interests.register(&wait, UNCOMMITTED, 0);
        interests.wake_all();
        assert!(wait.is_satisfied());
    }

    #[test]
    fn a_fetch_that_gives_up_leaves_nothing_behind() {
        let (gone, stays) = (FetchWait::new(1), FetchWait::new(1));
        let interests = FetchInterests::default();
        interests.register(&gone, UNCOMMITTED, 1);
        interests.register(&stays, UNCOMMITTED, 1);
        interests.deregister(&gone);
        assert_eq!(interests.len(), 1);
    }

    #[tokio::test]
    async fn a_parked_fetch_is_woken_by_the_byte_it_lacks() {
        let wait = FetchWait::new(2);
        let parked = crate::env::spawn({
            let wait = Arc::clone(&wait);
            async move { wait.satisfied().await }
        });
        wait.add(1);
        wait.add(1);
        parked.await.unwrap();
    }
}
