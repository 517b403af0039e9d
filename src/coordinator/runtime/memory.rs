//! What the state of coordinators takes of the byte budget.
//!
//! The state of a shard is what its log holds, so it is in memory whatever the budget says; what can be refused is to let it
//! grow. Coordinators may have [`BUDGET_SHARE`] of the budget. Beyond that, or while the budget has nothing left, commands
//! that would make a state larger are refused with an error that clients retry; members, groups and offsets that are known
//! go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::env::{ByteBudget, BytePermit};

/// The part of the budget that coordinators may have, one byte in so many: requests must be possible beside them.
const BUDGET_SHARE: usize = 2;

/// Memory of all coordinators of a broker.
#[derive(Debug)]
pub struct StateMemory {
    budget: Arc<ByteBudget>,
    limit_bytes: usize,
    /// By all shards. Changes with the permit.
    bytes: AtomicUsize,
    /// Covers them up to the limit: what was loaded beyond it must not keep requests out, those that delete groups included.
    permit: Mutex<BytePermit>,
}

impl StateMemory {
    /// Nothing yet.
    pub fn new(budget: Arc<ByteBudget>) -> Arc<Self> {
        let permit = budget.try_take(0).expect("nothing always fits");
        let limit_bytes = budget.limit_bytes() / BUDGET_SHARE;
        Arc::new(Self {
            budget,
            limit_bytes,
            bytes: AtomicUsize::new(0),
            permit: Mutex::new(permit),
        })
    }

    /// Bytes that the states take.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of them that count against the budget.
    pub fn counted_bytes(&self) -> usize {
        self.permit.lock().bytes()
    }

    /// False while no state may grow.
    pub(super) fn has_room(&self) -> bool {
        self.budget.used_bytes() < self.budget.limit_bytes() && self.bytes() < self.limit_bytes
    }

    /// One shard's part, which is nothing yet; what it is is shown in `shown`.
    pub(super) fn share(self: &Arc<Self>, shown: &Arc<AtomicUsize>) -> StateShare {
        StateShare { memory: Arc::clone(self), bytes: 0, shown: Arc::clone(shown) }
    }

    fn change(&self, from: usize, to: usize) {
        let mut permit = self.permit.lock();
        let before = self.bytes();
        let now = before - from + to;
        self.bytes.store(now, Ordering::Relaxed);
        permit.resize(now.min(self.limit_bytes));
        drop(permit);
        if before < self.limit_bytes && now >= self.limit_bytes {
            tracing::warn!(
                bytes = now,
                limit = self.limit_bytes,
                "the state of coordinators has reached its part of highwater.memory.bytes, nothing new is admitted"
            );
        }
    }
}

/// What the state of one shard takes; given back when the state goes.
#[derive(Debug)]
pub(super) struct StateShare {
    memory: Arc<StateMemory>,
    bytes: usize,
    shown: Arc<AtomicUsize>,
}

impl StateShare {
    /// Publishes what the state takes now.
    pub(super) fn set(&mut self, bytes: usize) {
        // Most turns change nothing, and take no lock.
        if bytes != self.bytes {
            self.memory.change(self.bytes, bytes);
            self.bytes = bytes;
            self.shown.store(bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for StateShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_take_from_the_budget_up_to_their_part_and_give_it_back() {
        let budget = ByteBudget::new(100);
        let memory = StateMemory::new(Arc::clone(&budget));
        let shown = [Arc::default(), Arc::default()];
        let (mut one, mut other) = (memory.share(&shown[0]), memory.share(&shown[1]));
        one.set(30);
        other.set(10);
        assert_eq!((memory.bytes(), budget.used_bytes()), (40, 40));
        assert!(memory.has_room());
        other.set(70);
        assert_eq!((memory.bytes(), budget.used_bytes()), (100, 50), "half is for requests");
        assert!(!memory.has_room());
        assert_eq!(shown[1].load(Ordering::Relaxed), 70);
        drop(other);
        assert_eq!(shown[1].load(Ordering::Relaxed), 0);
        assert!(memory.has_room());
        one.set(5);
        assert_eq!((memory.bytes(), budget.used_bytes()), (5, 5));
    }

    #[test]
    fn there_is_no_room_while_others_have_taken_everything() {
        let budget = ByteBudget::new(100);
        let memory = StateMemory::new(Arc::clone(&budget));
        let all = budget.try_take(100);
        assert!(!memory.has_room());
        drop(all);
        assert!(memory.has_room());
    }
}
