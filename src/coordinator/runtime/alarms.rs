//! When the timers of which shard must be looked at: one sleeping task for all shards.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::env::Clock;
use crate::types::PartitionIndex;

/// Alarms by time. A shard has one for its next timer, and may have older ones that find nothing to do.
#[derive(Debug)]
pub(super) struct Alarms {
    clock: Arc<dyn Clock>,
    heap: Mutex<BinaryHeap<Reverse<(Duration, PartitionIndex)>>>,
    earlier: Notify,
}

impl Alarms {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, heap: Mutex::default(), earlier: Notify::new() }
    }

    /// Sets an alarm of a shard.
    pub(super) fn set(&self, due: Duration, shard: PartitionIndex) {
        let mut heap = self.heap.lock();
        let first = heap.peek().is_none_or(|Reverse((earliest, _))| due < *earliest);
        heap.push(Reverse((due, shard)));
        drop(heap);
        if first {
            self.earlier.notify_one();
        }
    }

    /// Waits for the next alarm and takes all that are due. Cancel safe.
    pub(super) async fn next(&self) -> Vec<PartitionIndex> {
        loop {
            let next = self.heap.lock().peek().map(|Reverse((due, _))| *due);
            let Some(due) = next else {
                self.earlier.notified().await;
                continue;
            };
            let left = due.saturating_sub(self.clock.monotonic());
            if left.is_zero() {
                return self.take_due();
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = self.earlier.notified() => {}
            }
        }
    }

    fn take_due(&self) -> Vec<PartitionIndex> {
        let now = self.clock.monotonic();
        let mut heap = self.heap.lock();
        let mut due = Vec::new();
        while heap.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            due.extend(heap.pop().map(|Reverse((_, shard))| shard));
        }
        due
    }
}
