//! Memory for the tails of all logs of a broker.
//!
//! Chunks come back here when the last reader lets go of them and are lent again as they are: their pages are already
//! backed by memory, so filling one costs no page faults. Owned by the broker, shared by every log; the lock is held for a
//! push or a pop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::chunk::Memory;
use crate::env::{ByteBudget, BytePermit};

/// First chunk of a log in bytes: of many partitions most get a few records now and then.
pub(super) const CHUNK_BYTES_FIRST: usize = 1 << 10;
/// Smallest chunk behind the first one, in bytes.
pub(super) const CHUNK_BYTES_MIN: usize = 16 << 10;
/// Largest chunk in bytes, but for a single batch that is larger.
pub(super) const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Sizes of pooled chunks: 1 KiB, doubling, to 1 MiB.
const CLASSES: usize = 11;
/// The part of the budget that tails may take; the rest stays for requests and responses.
const BUDGET_SHARE: usize = 4;
/// Most bytes kept for the next taker while nobody uses them.
const FREE_BYTES_MAX: usize = 16 << 20;

/// Lends memory to the tails of logs; all it holds is counted against one budget.
pub struct TailPool {
    budget: Arc<ByteBudget>,
    limit_bytes: usize,
    /// Lent and free together.
    held_bytes: AtomicUsize,
    free: Mutex<FreeChunks>,
}

#[derive(Default)]
struct FreeChunks {
    by_class: [Vec<Counted>; CLASSES],
    bytes: usize,
}

/// Memory together with its share of the budget.
struct Counted {
    memory: Memory,
    _permit: BytePermit,
}

impl fmt::Debug for TailPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TailPool({} of {} bytes)", self.held_bytes(), self.limit_bytes)
    }
}

impl TailPool {
    /// A pool that takes at most a quarter of `budget`.
    pub fn new(budget: Arc<ByteBudget>) -> Arc<Self> {
        let limit_bytes = budget.limit_bytes() / BUDGET_SHARE;
        Arc::new(Self {
            budget,
            limit_bytes,
            held_bytes: AtomicUsize::new(0),
            free: Mutex::default(),
        })
    }

    /// Bytes held, lent or free.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Gives back what nobody uses.
    pub fn trim(&self) {
        let free = std::mem::take(&mut *self.free.lock());
        self.held_bytes.fetch_sub(free.bytes, Ordering::Relaxed);
    }

    /// Memory for at least `len` bytes, or `None` if the budget has no room.
    pub(super) fn lease(self: &Arc<Self>, len: usize) -> Option<Lease> {
        let capacity = capacity_for(len);
        if let Some(counted) = self.free.lock().pop(capacity) {
            return Some(Lease { counted: Some(counted), pool: Arc::clone(self) });
        }
        let counted = self.allocate(capacity).or_else(|| {
            // What is free in other sizes may be what is missing.
            self.trim();
            self.allocate(capacity)
        })?;
        Some(Lease { counted: Some(counted), pool: Arc::clone(self) })
    }

    fn allocate(&self, capacity: usize) -> Option<Counted> {
        let within =
            |held: usize| held.checked_add(capacity).filter(|&sum| sum <= self.limit_bytes);
        self.held_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).ok()?;
        let Some(permit) = self.budget.try_take(capacity) else {
            self.held_bytes.fetch_sub(capacity, Ordering::Relaxed);
            return None;
        };
        Some(Counted { memory: Memory::zeroed(capacity), _permit: permit })
    }

    fn take_back(&self, counted: Counted) {
        let capacity = counted.memory.capacity();
        let refused = self.free.lock().push(counted);
        if refused.is_some() {
            self.held_bytes.fetch_sub(capacity, Ordering::Relaxed);
        }
    }
}

impl FreeChunks {
    fn pop(&mut self, capacity: usize) -> Option<Counted> {
        let counted = self.by_class.get_mut(class_of(capacity)?)?.pop()?;
        self.bytes -= capacity;
        Some(counted)
    }

    /// Keeps the memory, or hands it back if it has no class or there is enough.
    fn push(&mut self, counted: Counted) -> Option<Counted> {
        let capacity = counted.memory.capacity();
        match class_of(capacity) {
            Some(class) if self.bytes + capacity <= FREE_BYTES_MAX => {
                self.by_class[class].push(counted);
                self.bytes += capacity;
                None
            }
            _ => Some(counted),
        }
    }
}

/// Memory lent by a pool; dropping it gives it back.
pub(super) struct Lease {
    /// `None` only while being dropped.
    counted: Option<Counted>,
    pool: Arc<TailPool>,
}

impl Lease {
    pub(super) fn memory(&self) -> &Memory {
        &self.counted.as_ref().expect("taken only in drop").memory
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(counted) = self.counted.take() {
            self.pool.take_back(counted);
        }
    }
}

fn capacity_for(len: usize) -> usize {
    if len > CHUNK_BYTES_MAX {
        return len;
    }
    len.next_power_of_two().max(CHUNK_BYTES_FIRST)
}

fn class_of(capacity: usize) -> Option<usize> {
    let class =
        (CHUNK_BYTES_FIRST..=CHUNK_BYTES_MAX).contains(&capacity) && capacity.is_power_of_two();
    class.then(|| (capacity / CHUNK_BYTES_FIRST).trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_is_lent_again() {
        let budget = ByteBudget::new(4 << 20);
        let pool = TailPool::new(Arc::clone(&budget));
        let lease = pool.lease(20_000).expect("room for 32 KiB");
        let start = std::ptr::from_ref(lease.memory()).cast::<u8>();
        assert!(!start.is_null());
        assert_eq!(budget.used_bytes(), 32 << 10);
        drop(lease);
        assert_eq!(pool.held_bytes(), 32 << 10);
        let again = pool.lease(32 << 10).expect("the same again");
        assert_eq!(pool.held_bytes(), 32 << 10);
        drop(again);
        pool.trim();
        assert_eq!((pool.held_bytes(), budget.used_bytes()), (0, 0));
    }

    #[test]
    fn a_full_budget_gives_nothing_and_takes_nothing() {
        let budget = ByteBudget::new(4 << 20);
        let pool = TailPool::new(Arc::clone(&budget));
        let all = pool.lease(1 << 20).expect("a quarter of the budget");
        assert!(pool.lease(16 << 10).is_none());
        assert_eq!(budget.used_bytes(), 1 << 20);
        drop(all);
        assert!(pool.lease(16 << 10).is_some(), "free memory of another size makes room");
    }

    #[test]
    fn a_batch_larger_than_a_chunk_gets_exactly_its_size() {
        let pool = TailPool::new(ByteBudget::new(64 << 20));
        let lease = pool.lease((1 << 20) + 1).expect("room");
        assert_eq!(lease.memory().capacity(), (1 << 20) + 1);
        drop(lease);
        assert_eq!(pool.held_bytes(), 0, "odd sizes are not kept");
    }
}
