//! What is due later, for the one housekeeping task: a heap of jobs and one alarm. Nothing planned, nothing runs.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::data_directory::DataDirectory;
use super::partition::Partition;
use crate::env::Clock;

/// Something to be done once.
#[derive(Clone, Debug)]
pub enum Job {
    /// `flush.ms` or an interval has passed since the first unsynced append.
    Sync(Weak<Partition>),
    /// The checkpoints of a directory.
    Checkpoint(Weak<DataDirectory>),
    /// Logs of a directory that nobody has written to for a while.
    Rest(Weak<DataDirectory>),
    /// Something may have become dirty in a compacted log.
    ConsiderCleaning(Weak<Partition>),
    /// The cleaner shall look at a log.
    Clean(Weak<Partition>),
    /// Files renamed to `.deleted` whose delay may have passed.
    RemoveDeletedFiles(Weak<Partition>),
    /// The directory of a deleted partition.
    RemoveDirectory(PathBuf),
    /// What retention could not delete of a partition before a sync that has been done now.
    RetentionOf(Weak<Partition>),
    /// A pass over all partitions: retention.
    Retention,
    /// A pass over the open partitions: idle producers, files that readers left open. Only the last one that was planned counts.
    Expiry(u64),
}

/// Jobs by the time they are due.
#[derive(Debug)]
pub struct Agenda {
    clock: Arc<dyn Clock>,
    checkpoint_interval_ms: i64,
    planned: Mutex<Planned>,
    earlier: Notify,
}

#[derive(Debug, Default)]
struct Planned {
    heap: BinaryHeap<Entry>,
    /// Keeps jobs of the same time in the order of planning.
    next_number: u64,
}

#[derive(Debug)]
struct Entry {
    due: Duration,
    number: u64,
    job: Job,
}

impl Agenda {
    /// An empty one. Checkpoints come `checkpoint_interval_ms` after the first change.
    pub fn new(clock: Arc<dyn Clock>, checkpoint_interval_ms: i64) -> Arc<Self> {
        let planned = Mutex::default();
        Arc::new(Self { clock, checkpoint_interval_ms, planned, earlier: Notify::new() })
    }

    /// Plans `job` in `delay_ms`.
    pub fn plan(&self, delay_ms: i64, job: Job) {
        let delay = Duration::from_millis(u64::try_from(delay_ms).unwrap_or(0));
        let due = self.clock.monotonic().saturating_add(delay);
        let mut planned = self.planned.lock();
        let first = planned.heap.peek().is_none_or(|entry| due < entry.due);
        let number = planned.next_number;
        planned.next_number += 1;
        planned.heap.push(Entry { due, number, job });
        drop(planned);
        if first {
            self.earlier.notify_one();
        }
    }

    /// Plans the checkpoints of a directory.
    pub fn plan_checkpoint(&self, directory: &Arc<DataDirectory>) {
        self.plan(self.checkpoint_interval_ms, Job::Checkpoint(Arc::downgrade(directory)));
    }

    /// Takes the jobs that are due, in order.
    pub fn take_due(&self) -> Vec<Job> {
        let now = self.clock.monotonic();
        let mut planned = self.planned.lock();
        let mut due = Vec::new();
        while planned.heap.peek().is_some_and(|entry| entry.due <= now) {
            due.extend(planned.heap.pop().map(|entry| entry.job));
        }
        due
    }

    /// Waits until a job may be due. Cancel safe.
    pub async fn wait(&self) {
        loop {
            let next = self.planned.lock().heap.peek().map(|entry| entry.due);
            let Some(due) = next else {
                self.earlier.notified().await;
                continue;
            };
            let left = due.saturating_sub(self.clock.monotonic());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = self.earlier.notified() => {}
            }
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Reversed: the heap gives its largest entry, we want the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::ManualClock;
    use crate::types::Timestamp;

    fn agenda() -> (Arc<ManualClock>, Arc<Agenda>) {
        let clock = Arc::new(ManualClock::new(Timestamp::new(0)));
        (Arc::clone(&clock), Agenda::new(clock, 60_000))
    }

    #[test]
    fn jobs_come_when_due_and_in_order() {
        let (clock, agenda) = agenda();
        agenda.plan(20, Job::Retention);
        agenda.plan(10, Job::RemoveDirectory("a".into()));
        agenda.plan(10, Job::RemoveDirectory("b".into()));
        assert!(agenda.take_due().is_empty());
        clock.advance_ms(10);
        let paths: Vec<_> = agenda.take_due().iter().map(|job| format!("{job:?}")).collect();
        assert_eq!(paths, ["RemoveDirectory(\"a\")", "RemoveDirectory(\"b\")"]);
        clock.advance_ms(10);
        assert!(matches!(agenda.take_due()[..], [Job::Retention]));
    }

    #[tokio::test]
    async fn a_job_planned_while_waiting_wakes_the_waiter() {
        let (_clock, agenda) = agenda();
        let waiting = crate::env::spawn({
            let agenda = Arc::clone(&agenda);
            async move { agenda.wait().await }
        });
        agenda.plan(0, Job::Expiry(0));
        waiting.await.unwrap();
        assert_eq!(agenda.take_due().len(), 1);
    }
}
