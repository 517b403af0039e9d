//! One budget of bytes for everything that grows with what peers send: request frames, decompression, tail cache,
//! responses in flight, state of coordinators.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// A bound on memory that several users share. Taking bytes never allocates; it only counts.
#[derive(Debug)]
pub struct ByteBudget {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
    /// How many wait for others to give something back.
    waiting: AtomicUsize,
    released: Notify,
}

/// Bytes taken from a [`ByteBudget`]; dropping it gives them back.
#[derive(Debug)]
pub struct BytePermit {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ByteBudget {
    /// A budget of `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            limit_bytes,
            used_bytes: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            released: Notify::new(),
        })
    }

    /// The whole budget in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Bytes taken now.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// True while someone waits for others to give something back.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Takes `bytes` if they are free now.
    pub fn try_take(self: &Arc<Self>, bytes: usize) -> Option<BytePermit> {
        let take = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.limit_bytes);
        self.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()?;
        Some(BytePermit { budget: Arc::clone(self), bytes })
    }

    /// Takes `bytes`, waiting until others give theirs back. `None` if they can never fit. Cancel safe.
    pub async fn take(self: &Arc<Self>, bytes: usize) -> Option<BytePermit> {
        if bytes > self.limit_bytes {
            return None;
        }
        let mut waiting = None;
        loop {
            // Interest first, then the look: a release in between is not missed.
            let released = self.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            if let Some(permit) = self.try_take(bytes) {
                return Some(permit);
            }
            waiting.get_or_insert_with(|| Waiting::of(self));
            released.await;
        }
    }
}

/// One who waits, as long as it lives.
struct Waiting<'b>(&'b ByteBudget);

impl<'b> Waiting<'b> {
    fn of(budget: &'b ByteBudget) -> Self {
        budget.waiting.fetch_add(1, Ordering::Relaxed);
        Self(budget)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl BytePermit {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds `bytes` from now on, also if that is more than the budget has left: for memory that is in use already, or
    /// must be had whatever else there is. Others wait or are refused until as much is given back.
    pub fn resize(&mut self, bytes: usize) {
        let used = &self.budget.used_bytes;
        if bytes >= self.bytes {
            used.fetch_add(bytes - self.bytes, Ordering::AcqRel);
        } else {
            used.fetch_sub(self.bytes - bytes, Ordering::AcqRel);
            self.budget.released.notify_waiters();
        }
        self.bytes = bytes;
    }
}

impl Drop for BytePermit {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        self.budget.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_grows_beyond_the_budget_and_everyone_else_is_refused_until_it_shrinks() {
        let budget = ByteBudget::new(10);
        let mut permit = budget.try_take(4).expect("room");
        permit.resize(14);
        assert_eq!((budget.used_bytes(), permit.bytes()), (14, 14));
        assert!(budget.try_take(1).is_none());
        permit.resize(9);
        assert!(budget.try_take(1).is_some());
        drop(permit);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn whoever_waits_hears_of_a_permit_that_shrinks() {
        let budget = ByteBudget::new(10);
        let mut permit = budget.try_take(10).expect("room");
        let waiting = crate::env::spawn({
            let budget = Arc::clone(&budget);
            async move { budget.take(5).await.map(|permit| permit.bytes()) }
        });
        while !budget.is_wanted() {
            tokio::task::yield_now().await;
        }
        permit.resize(5);
        assert_eq!(waiting.await.expect("no panic"), Some(5));
        assert!(!budget.is_wanted());
    }
}
