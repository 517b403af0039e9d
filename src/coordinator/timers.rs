//! Deadlines of a shard on the monotonic clock.
//!
//! Heartbeats move a deadline far more often than one runs out: moving one later only changes the map, and the heap learns of
//! it when the earlier deadline comes.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::time::Duration;

/// Entries of the heap beyond twice the number of timers that are left there before they are swept out.
const STALE_MAX: usize = 64;

/// Timers by name.
#[derive(Debug)]
pub struct Timers<K> {
    deadlines: HashMap<K, Deadline>,
    heap: BinaryHeap<Reverse<Scheduled<K>>>,
    next_number: u64,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    due: Duration,
    /// The entry of the heap that stands for it, and when that one comes.
    number: u64,
    scheduled: Duration,
}

#[derive(Debug)]
struct Scheduled<K> {
    due: Duration,
    number: u64,
    timer: K,
}

impl<K: Clone + Eq + Hash> Timers<K> {
    /// No timers.
    pub fn new() -> Self {
        Self { deadlines: HashMap::new(), heap: BinaryHeap::new(), next_number: 0 }
    }

    /// Sets or moves a timer.
    pub fn set(&mut self, timer: K, due: Duration) {
        match self.deadlines.get_mut(&timer) {
            Some(known) if known.scheduled <= due => known.due = due,
            _ => self.schedule(timer, due),
        }
    }

    /// Forgets a timer.
    pub fn cancel(&mut self, timer: &K) {
        self.deadlines.remove(timer);
    }

    /// True if it is set and has not been taken.
    pub fn is_set(&self, timer: &K) -> bool {
        self.deadlines.contains_key(timer)
    }

    /// When to look next: never later than the first deadline, sometimes earlier.
    pub fn next_due(&self) -> Option<Duration> {
        self.heap.peek().map(|scheduled| scheduled.0.due)
    }

    /// Takes one timer that has run out at `now`.
    pub fn take_due(&mut self, now: Duration) -> Option<K> {
        while self.heap.peek().is_some_and(|scheduled| scheduled.0.due <= now) {
            let Scheduled { number, timer, .. } = self.heap.pop()?.0;
            match self.deadlines.get(&timer).copied() {
                Some(deadline) if deadline.number != number => {}
                Some(deadline) if deadline.due <= now => {
                    self.deadlines.remove(&timer);
                    return Some(timer);
                }
                Some(deadline) => self.schedule(timer, deadline.due),
                None => {}
            }
        }
        None
    }

    fn schedule(&mut self, timer: K, due: Duration) {
        let number = self.next_number;
        self.next_number += 1;
        self.deadlines.insert(timer.clone(), Deadline { due, number, scheduled: due });
        self.heap.push(Reverse(Scheduled { due, number, timer }));
        if self.heap.len() > 2 * self.deadlines.len() + STALE_MAX {
            let deadlines = &self.deadlines;
            self.heap.retain(|Reverse(entry)| {
                deadlines.get(&entry.timer).is_some_and(|deadline| deadline.number == entry.number)
            });
        }
    }
}

impl<K: Clone + Eq + Hash> Default for Timers<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> PartialEq for Scheduled<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K> Eq for Scheduled<K> {}

impl<K> PartialOrd for Scheduled<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Scheduled<K> {
    /// By time, and in the order of setting where that is the same.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_timer_runs_out_once_at_its_last_deadline() {
        let mut timers = Timers::new();
        timers.set("a", ms(10));
        timers.set("b", ms(5));
        timers.set("a", ms(20));
        assert_eq!(timers.take_due(ms(10)), Some("b"));
        assert_eq!(timers.take_due(ms(19)), None);
        timers.set("a", ms(15));
        assert_eq!(timers.take_due(ms(19)), Some("a"));
        assert_eq!(timers.take_due(ms(100)), None);
        assert_eq!(timers.next_due(), None);
    }

    #[test]
    fn a_cancelled_timer_does_not_run_out() {
        let mut timers = Timers::new();
        timers.set("a", ms(10));
        timers.cancel(&"a");
        assert_eq!(timers.take_due(ms(10)), None);
    }

    #[test]
    fn setting_and_cancelling_for_ever_costs_bounded_memory() {
        let mut timers = Timers::new();
        for n in 0..100_000 {
            timers.set("a", ms(1_000_000 - n));
            timers.set("b", ms(1_000_000));
            timers.cancel(&"b");
        }
        assert!(timers.heap.len() <= 2 * STALE_MAX, "{}", timers.heap.len());
    }
}
