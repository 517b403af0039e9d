//! One reply that waits until appends to one or several partitions are durable.
//!
//! The reply's future owns the wait; each partition it appended to holds a reference until its own end is synced or its
//! disk has failed. The sync thread settles references and wakes the future once, at the last one. What became of each
//! partition is read from the partition afterwards, so that the wait carries no results.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

/// Counts the partitions that have still to be synced.
#[derive(Debug, Default)]
pub struct SyncWait {
    pending: AtomicUsize,
    waker: Mutex<Option<Waker>>,
}

impl SyncWait {
    /// A wait that nothing holds up yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// One more partition holds the reply up. Called before the partition learns of the wait.
    pub fn add(&self) {
        self.pending.fetch_add(1, Ordering::AcqRel);
    }

    /// A partition no longer holds the reply up; wakes the reply at the last one.
    pub fn settle(&self) {
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(waker) = self.waker.lock().take()
        {
            waker.wake();
        }
    }

    /// True once nothing holds the reply up.
    pub fn is_settled(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }

    /// Completes once nothing holds the reply up. Cancel safe; one waiting task at a time.
    pub async fn settled(&self) {
        poll_fn(|context| {
            if self.is_settled() {
                return Poll::Ready(());
            }
            *self.waker.lock() = Some(context.waker().clone());
            // Settled between the look and the registration: nobody would wake us any more.
            if self.is_settled() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_reply_leaves_when_the_last_partition_is_synced() {
        let wait = SyncWait::new();
        wait.add();
        wait.add();
        let reply = crate::env::spawn({
            let wait = Arc::clone(&wait);
            async move { wait.settled().await }
        });
        wait.settle();
        assert!(!wait.is_settled());
        wait.settle();
        reply.await.unwrap();
    }

    #[tokio::test]
    async fn nothing_to_wait_for_is_no_wait() {
        SyncWait::new().settled().await;
    }
}
