//! Newest offset of each key in the dirty part of a log (Kafka's `SkimpyOffsetMap`).
//!
//! Open addressing over 24-byte slots: 128 bits of a seeded hash stand for the key, so that two keys meet by chance once in
//! 10²⁰ logs of a billion keys. The map grows as keys come, up to what `log.cleaner.dedupe.buffer.size` allows; its memory
//! counts against the byte budget, and where that has none left the map is full earlier.
//!
//! A map of millions of keys is far larger than the caches, so the time of a cleaning goes into waiting for slots. Whoever uses
//! it looks at many keys at a time: first hashes them, then has their slots fetched together, then asks.

use std::hint::black_box;
use std::sync::Arc;

use twox_hash::XxHash3_128;

use crate::env::{ByteBudget, BytePermit};
use crate::types::Offset;

const SLOT_BYTES: usize = size_of::<Slot>();
/// Keys to look at together: their slots stay in the nearest cache until they are asked for.
pub(super) const KEYS_AT_A_TIME: usize = 128;
/// Slots of a map that holds anything.
const SLOTS_MIN: usize = 1 << 10;
/// Fullest that a map gets before it grows, whatever its load factor: probing gets long above.
const LOAD_WHILE_GROWING: f64 = 0.7;

/// What a map may take.
#[derive(Clone, Copy, Debug)]
pub struct KeyMapLimits {
    /// Most bytes.
    pub bytes_max: usize,
    /// Share of the slots that is used at most (`log.cleaner.io.buffer.load.factor`).
    pub load_factor: f64,
}

/// What stands for a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyHash([u64; 2]);

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: KeyHash,
    /// The offset and one; zero for a free slot.
    offset_and_one: u64,
}

impl Slot {
    /// `None` of a free slot.
    #[inline]
    fn offset(&self) -> Option<Offset> {
        self.offset_and_one.checked_sub(1).map(|offset| Offset::new(offset.cast_signed()))
    }
}

/// Why a key does not fit any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The map has all that its limits allow.
    Limit,
    /// The byte budget has nothing left.
    Memory,
}

/// The map; belongs to one round of cleaning.
#[derive(Debug)]
pub(super) struct KeyMap {
    limits: KeyMapLimits,
    budget: Arc<ByteBudget>,
    seed: u64,
    slots: Vec<Slot>,
    used: usize,
    permit: Option<BytePermit>,
}

impl KeyMap {
    /// An empty map, which takes no memory yet. `seed` keeps others from choosing keys that meet.
    pub(super) fn new(limits: KeyMapLimits, budget: Arc<ByteBudget>, seed: u64) -> Self {
        Self { limits, budget, seed, slots: Vec::new(), used: 0, permit: None }
    }

    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * SLOT_BYTES
    }

    /// What stands for `key` in this map.
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> KeyHash {
        let hash = XxHash3_128::oneshot_with_seed(self.seed, key);
        KeyHash([(hash >> 64) as u64, hash as u64])
    }

    /// Fetches the slots of a few keys, at most [`KEYS_AT_A_TIME`], into the cache. The loads do not depend on each other, so the
    /// processor waits for many of them at once; one after the other each would take a trip to memory.
    #[inline]
    pub(super) fn fetch(&self, hashes: impl Iterator<Item = KeyHash>) {
        if self.slots.is_empty() {
            return;
        }
        let touched = hashes.fold(0, |touched, hash| {
            let slot = &self.slots[self.first_slot(hash)];
            // Both ends: a slot may lie in two lines.
            touched ^ slot.hash.0[0] ^ slot.offset_and_one
        });
        black_box(touched);
    }

    /// The newest offset of a key.
    #[inline]
    pub(super) fn get(&self, hash: KeyHash) -> Option<Offset> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.find(hash)].offset()
    }

    /// Remembers that a key was written at `offset`, which is above its offsets so far; the newest of these.
    pub(super) fn put(&mut self, hash: KeyHash, offset: Offset) -> Result<Option<Offset>, Full> {
        if self.slots.is_empty() {
            self.grow()?;
        }
        let mut at = self.find(hash);
        let older = self.slots[at].offset();
        if older.is_none() {
            if self.used >= self.keys_before_growth() {
                self.make_room()?;
                at = self.find(hash);
            }
            self.used += 1;
        }
        self.slots[at] = Slot { hash, offset_and_one: offset.get().cast_unsigned() + 1 };
        Ok(older)
    }

    /// Where the search for a key begins.
    #[inline]
    fn first_slot(&self, hash: KeyHash) -> usize {
        ((u128::from(hash.0[0]) * self.slots.len() as u128) >> 64) as usize
    }

    /// The slot of a key, or the free one that it would get. There always is a free one.
    #[inline]
    fn find(&self, hash: KeyHash) -> usize {
        let len = self.slots.len();
        let mut at = self.first_slot(hash);
        loop {
            let slot = &self.slots[at];
            if slot.offset_and_one == 0 || slot.hash == hash {
                return at;
            }
            at += 1;
            if at == len {
                at = 0;
            }
        }
    }

    fn keys_before_growth(&self) -> usize {
        self.keys_at(self.limits.load_factor.min(LOAD_WHILE_GROWING))
    }

    /// One slot stays free, so that searches end.
    fn keys_at(&self, load_factor: f64) -> usize {
        let keys = (self.slots.len() as f64 * load_factor) as usize;
        keys.min(self.slots.len().saturating_sub(1))
    }

    /// Grows, or fills the last slots where it cannot.
    fn make_room(&mut self) -> Result<(), Full> {
        let Err(full) = self.grow() else { return Ok(()) };
        if self.used < self.keys_at(self.limits.load_factor) { Ok(()) } else { Err(full) }
    }

    fn grow(&mut self) -> Result<(), Full> {
        let slots_max = self.limits.bytes_max / SLOT_BYTES;
        let len = (self.slots.len() * 2).max(SLOTS_MIN).min(slots_max);
        if len <= self.slots.len() {
            return Err(Full::Limit);
        }
        let permit = self.budget.try_take(len * SLOT_BYTES).ok_or(Full::Memory)?;
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); len]);
        for slot in old.into_iter().filter(|slot| slot.offset_and_one != 0) {
            let at = self.find(slot.hash);
            self.slots[at] = slot;
        }
        self.permit = Some(permit);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl KeyMap {
        fn put_key(&mut self, key: &[u8], offset: Offset) -> Result<Option<Offset>, Full> {
            self.put(self.hash(key), offset)
        }

        fn get_key(&self, key: &[u8]) -> Option<Offset> {
            self.fetch([self.hash(key)].into_iter());
            self.get(self.hash(key))
        }
    }

    fn map(bytes_max: usize, budget: usize) -> KeyMap {
        let limits = KeyMapLimits { bytes_max, load_factor: 0.9 };
        KeyMap::new(limits, ByteBudget::new(budget), 7)
    }

    #[test]
    fn the_newest_offset_of_each_key_is_found() {
        let mut map = map(1 << 20, 1 << 20);
        for round in 0..3_u32 {
            for key in 0..5_000_u32 {
                let offset = Offset::new(i64::from(round * 5_000 + key));
                let older = map.put_key(&key.to_be_bytes(), offset).expect("there is room");
                assert_eq!(older, (round > 0).then(|| Offset::new(offset.get() - 5_000)));
            }
        }
        assert_eq!(map.len(), 5_000);
        for key in 0..5_000_u32 {
            let newest = Offset::new(i64::from(10_000 + key));
            assert_eq!(map.get_key(&key.to_be_bytes()), Some(newest));
        }
        assert_eq!(map.get_key(b"another"), None);
        assert_eq!(map.get_key(b""), None);
    }

    #[test]
    fn offset_zero_and_the_empty_key_count() {
        let mut map = map(1 << 20, 1 << 20);
        assert_eq!(map.get_key(b""), None);
        map.put_key(b"", Offset::ZERO).expect("there is room");
        assert_eq!(map.get_key(b""), Some(Offset::ZERO));
    }

    #[test]
    fn an_idle_map_takes_no_memory_and_a_dropped_one_gives_it_back() {
        let budget = ByteBudget::new(1 << 20);
        let limits = KeyMapLimits { bytes_max: 1 << 20, load_factor: 0.9 };
        let mut map = KeyMap::new(limits, Arc::clone(&budget), 7);
        assert_eq!((map.bytes(), budget.used_bytes()), (0, 0));
        map.put_key(b"k", Offset::ZERO).expect("there is room");
        assert_eq!(budget.used_bytes(), map.bytes());
        drop(map);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_full_map_takes_known_keys_and_refuses_new_ones() {
        let mut map = map(2_000 * SLOT_BYTES, 1 << 20);
        let fits =
            (0..).take_while(|key: &u32| map.put_key(&key.to_be_bytes(), Offset::ZERO).is_ok());
        assert_eq!(fits.count(), 1_800, "nine tenths of the slots");
        assert_eq!(map.put_key(b"new", Offset::new(1)), Err(Full::Limit));
        map.put_key(&5_u32.to_be_bytes(), Offset::new(9)).expect("it is there already");
        assert_eq!(map.get_key(&5_u32.to_be_bytes()), Some(Offset::new(9)));
    }

    #[test]
    fn without_memory_the_map_is_full() {
        let mut map = map(1 << 20, 4_000 * SLOT_BYTES);
        let fits =
            (0..).take_while(|key: &u32| map.put_key(&key.to_be_bytes(), Offset::ZERO).is_ok());
        assert_eq!(fits.count(), 1_843, "2048 slots, nine tenths of them; 4096 were not to be had");
        assert_eq!(map.put_key(b"new", Offset::new(1)), Err(Full::Memory));
        let mut none = super::tests::map(1 << 20, 10);
        assert_eq!(none.put_key(b"new", Offset::new(1)), Err(Full::Memory));
    }
}
