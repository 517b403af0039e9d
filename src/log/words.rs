//! A list of 64-bit words that one thread appends to while others read it, without a lock.
//!
//! Buckets of doubling size never move, so a reader's view stays valid while the list grows. The length is stored with
//! release order after the word, and loaded with acquire order before it. Costs one pointer while empty.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Words in the first bucket.
const FIRST_BUCKET: usize = 16;
/// 16 × (2²⁸ − 1) words: more than an index file of 2 GiB has.
const BUCKETS: usize = 28;

type Bucket = Box<[AtomicU64]>;

/// Append-only words. Only one thread may push at a time; a second one would lose words, not memory safety.
#[derive(Debug, Default)]
pub(super) struct AppendOnlyWords {
    buckets: OnceLock<Box<[OnceLock<Bucket>; BUCKETS]>>,
    len: AtomicUsize,
}

impl AppendOnlyWords {
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Adds words that readers see together.
    pub(super) fn push<const N: usize>(&self, words: [u64; N]) {
        let len = self.len.load(Ordering::Relaxed);
        for (at, word) in (len..).zip(words) {
            let (bucket, slot) = place(at);
            let buckets = self.buckets.get_or_init(Box::default);
            let bucket = buckets[bucket].get_or_init(|| new_bucket(FIRST_BUCKET << bucket));
            bucket[slot].store(word, Ordering::Relaxed);
        }
        self.len.store(len + N, Ordering::Release);
    }

    /// # Panics
    /// If `at` is not below [`AppendOnlyWords::len`].
    pub(super) fn get(&self, at: usize) -> u64 {
        assert!(at < self.len());
        let (bucket, slot) = place(at);
        let buckets = self.buckets.get().expect("there is a word, so there are buckets");
        let bucket = buckets[bucket].get().expect("buckets are made before the length says so");
        bucket[slot].load(Ordering::Relaxed)
    }
}

fn new_bucket(len: usize) -> Bucket {
    std::iter::repeat_with(AtomicU64::default).take(len).collect()
}

/// Which bucket, and where in it.
fn place(at: usize) -> (usize, usize) {
    let shifted = at + FIRST_BUCKET;
    let bucket = shifted.ilog2() - FIRST_BUCKET.ilog2();
    (bucket as usize, shifted - (FIRST_BUCKET << bucket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_places_across_buckets() {
        let words = AppendOnlyWords::default();
        for n in 0..1_000_u64 {
            words.push([n, n * n]);
        }
        assert_eq!(words.len(), 2_000);
        for n in 0..1_000_usize {
            assert_eq!(words.get(2 * n), n as u64);
            assert_eq!(words.get(2 * n + 1), (n * n) as u64);
        }
    }

    #[test]
    fn buckets_join_without_gap() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(15), (0, 15));
        assert_eq!(place(16), (1, 0));
        assert_eq!(place(47), (1, 31));
        assert_eq!(place(48), (2, 0));
    }
}
