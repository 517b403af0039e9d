//! What drives a seeded simulation: events in the order of their time, and the chance that decides what goes wrong.
//!
//! All chance of a run comes from one sequence, and events of the same time happen in the order in which they were added:
//! a seed is a run.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::env::{Random, SeededRandom};

/// The seeds to try: `HIGHWATER_SEED` names one, `HIGHWATER_SEEDS` says how many, else there are `count`.
pub(super) fn seeds(count: u64) -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().expect("a number"));
    match number("HIGHWATER_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("HIGHWATER_SEEDS").unwrap_or(count)).collect(),
    }
}

/// What is going to happen in a simulation, and its clock.
pub(super) struct Schedule<E> {
    pub(super) now_ms: u64,
    /// False once nothing goes wrong any more.
    pub(super) faulty: bool,
    pub(super) random: SeededRandom,
    queue: BinaryHeap<Reverse<Scheduled<E>>>,
    next_number: u64,
}

struct Scheduled<E> {
    at_ms: u64,
    number: u64,
    event: E,
}

impl<E> Schedule<E> {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            now_ms: 0,
            faulty: true,
            random: SeededRandom::new(seed),
            queue: BinaryHeap::new(),
            next_number: 0,
        }
    }

    /// Adds an event that happens in `least_ms`, or later by less than `spread_ms`.
    pub(super) fn add_in(&mut self, least_ms: u64, spread_ms: u64, event: E) {
        let at_ms = self.now_ms + least_ms + self.below(spread_ms);
        self.add_at(at_ms, event);
    }

    /// Adds an event that happens at a certain time.
    pub(super) fn add_at(&mut self, at_ms: u64, event: E) {
        self.next_number += 1;
        self.queue.push(Reverse(Scheduled { at_ms, number: self.next_number, event }));
    }

    /// Takes the next event, if it happens by `end_ms`, and says how long that took: the clock shows its time.
    pub(super) fn next_by(&mut self, end_ms: u64) -> Option<(u64, E)> {
        let next = self.queue.peek_mut().filter(|next| next.0.at_ms <= end_ms)?;
        let Reverse(next) = PeekMut::pop(next);
        if next.at_ms % 7 == 0 {
            println!("TRACE {} {}", next.at_ms, self.queue.len());
        }
        Some((self.pass_until(next.at_ms), next.event))
    }

    /// Moves the clock and says by how much.
    pub(super) fn pass_until(&mut self, at_ms: u64) -> u64 {
        let before_ms = std::mem::replace(&mut self.now_ms, at_ms);
        at_ms - before_ms
    }

    /// Keeps some of the events that are to come.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&E) -> bool) {
        self.queue.retain(|Reverse(scheduled)| is_kept(&scheduled.event));
    }

    /// True now and then, as long as something may go wrong.
    pub(super) fn one_in(&self, odds: u64) -> bool {
        self.faulty && self.below(odds) == 0
    }

    /// A random number below a bound; 0 if that is 0.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.random.next_u64() % bound.max(1)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at_ms, self.number).cmp(&(other.at_ms, other.number))
    }
}
