//! Which records of the dirty part have a newer one of their key behind them: one bit for each offset.
//!
//! The first pass finds this out as it maps the keys. Where it is known the second pass need neither hash a key nor look it
//! up, and a batch of which nothing stays is not looked into at all. The bits count against the byte budget; offsets that
//! they do not reach are looked up in the map of keys.

use std::sync::Arc;

use crate::env::{ByteBudget, BytePermit};
use crate::log::batch::BatchHeader;
use crate::types::Offset;

/// Bits of a word.
const WORD: u64 = u64::BITS as u64;
/// Words of bits that hold anything.
const WORDS_MIN: usize = 1 << 10;

/// The bits; belong to one round of cleaning.
#[derive(Debug)]
pub(super) struct Superseded {
    /// Of the first bit.
    from: Offset,
    words: Vec<u64>,
    /// What is at or above stays unknown.
    words_max: usize,
    budget: Arc<ByteBudget>,
    permit: Option<BytePermit>,
}

impl Superseded {
    /// Nothing is superseded yet. Takes `bytes_max` at most, and none while nothing is marked.
    pub(super) fn new(from: Offset, bytes_max: usize, budget: Arc<ByteBudget>) -> Self {
        let words_max = bytes_max / size_of::<u64>();
        Self { from, words: Vec::new(), words_max, budget, permit: None }
    }

    /// There is a newer record of the key of the one at `offset`.
    pub(super) fn mark(&mut self, offset: Offset) {
        let Some((word, bit)) = self.place(offset) else { return };
        if word >= self.words.len() && !self.grow(word + 1) {
            return;
        }
        self.words[word] |= bit;
    }

    /// Whether the record at `offset` has a newer one of its key. Only where [`Superseded::knows`] says so.
    #[inline]
    pub(super) fn has(&self, offset: Offset) -> bool {
        let Some((word, bit)) = self.place(offset) else { return false };
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether it is known of every record of a batch.
    pub(super) fn knows(&self, batch: &BatchHeader) -> bool {
        self.place(batch.base_offset).is_some() && self.place(batch.last_offset()).is_some()
    }

    /// How many records of a batch have a newer one of their key, as far as that is known.
    pub(super) fn count(&self, batch: &BatchHeader) -> u64 {
        let Some((first, _)) = self.place(batch.base_offset) else { return 0 };
        let Some((last, _)) = self.place(batch.last_offset()) else { return 0 };
        let relative = |offset: Offset| offset.get().abs_diff(self.from.get()) % WORD;
        let mut marked = 0;
        for at in first..(last + 1).min(self.words.len()) {
            let mut word = self.words[at];
            if at == first {
                word &= u64::MAX << relative(batch.base_offset);
            }
            if at == last {
                word &= u64::MAX >> (WORD - 1 - relative(batch.last_offset()));
            }
            marked += u64::from(word.count_ones());
        }
        marked
    }

    /// Word and bit of an offset, if it is within reach.
    #[inline]
    fn place(&self, offset: Offset) -> Option<(usize, u64)> {
        let relative = u64::try_from(offset.get().checked_sub(self.from.get())?).ok()?;
        let word = usize::try_from(relative / WORD).ok().filter(|word| *word < self.words_max)?;
        Some((word, 1 << (relative % WORD)))
    }

    /// Grows to `words` or more; where there is no memory, what is beyond stays unknown.
    fn grow(&mut self, words: usize) -> bool {
        let len = words.max(self.words.len() * 2).max(WORDS_MIN).min(self.words_max);
        let Some(permit) = self.budget.try_take(len * size_of::<u64>()) else {
            self.words_max = self.words.len();
            return false;
        };
        self.words.reserve_exact(len - self.words.len());
        self.words.resize(len, 0);
        self.permit = Some(permit);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::test_bytes::{COMMIT_MARKER, from_hex};

    const FROM: i64 = 1_000;

    fn bits(bytes_max: usize, budget: usize) -> Superseded {
        Superseded::new(Offset::new(FROM), bytes_max, ByteBudget::new(budget))
    }

    fn batch(base: i64, last: i64) -> BatchHeader {
        let header = BatchHeader::parse(&from_hex(COMMIT_MARKER)).expect("a header");
        let last_offset_delta = i32::try_from(last - base).expect("small");
        BatchHeader { base_offset: Offset::new(base), last_offset_delta, ..header }
    }

    #[test]
    fn what_is_marked_is_found_and_counted_within_the_bounds_of_a_batch() {
        let mut bits = bits(1 << 20, 1 << 20);
        let marked = [FROM, FROM + 63, FROM + 64, FROM + 130, FROM + 100_000];
        marked.iter().for_each(|offset| bits.mark(Offset::new(*offset)));
        for offset in FROM..FROM + 200 {
            assert_eq!(bits.has(Offset::new(offset)), marked.contains(&offset), "{offset}");
        }
        let count = |base, last| bits.count(&batch(base, last));
        assert_eq!(count(FROM, FROM + 63), 2);
        assert_eq!(count(FROM + 1, FROM + 62), 0);
        assert_eq!(count(FROM + 63, FROM + 64), 2);
        assert_eq!(count(FROM, FROM + 130), 4);
        assert_eq!(count(FROM, FROM + 129), 3);
        assert_eq!(count(FROM + 100_000, FROM + 100_000), 1);
        assert_eq!(count(FROM + 900_000, FROM + 900_001), 0, "no bit was needed there");
    }

    #[test]
    fn what_lies_before_the_dirty_part_or_out_of_reach_is_not_known() {
        let mut bits = bits(16, 1 << 20);
        bits.mark(Offset::new(FROM + 127));
        bits.mark(Offset::new(FROM + 128));
        assert!(bits.knows(&batch(FROM, FROM + 127)));
        assert!(!bits.knows(&batch(FROM, FROM + 128)));
        assert!(!bits.knows(&batch(FROM - 1, FROM)));
        assert!(!bits.knows(&batch(0, i64::from(i32::MAX))));
        assert!(bits.has(Offset::new(FROM + 127)));
    }

    #[test]
    fn without_memory_less_is_known_and_nothing_that_is_wrong() {
        let words = WORDS_MIN as i64;
        let mut bits = bits(1 << 20, WORDS_MIN * size_of::<u64>());
        bits.mark(Offset::new(FROM));
        assert!(bits.knows(&batch(FROM, FROM + 64 * words)), "not marked, so not superseded");
        bits.mark(Offset::new(FROM + 64 * words));
        assert!(!bits.knows(&batch(FROM, FROM + 64 * words)));
        assert!(bits.knows(&batch(FROM, FROM + 64 * words - 1)));
        assert!(bits.has(Offset::new(FROM)));
    }
}
