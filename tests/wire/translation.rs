//! Ids that each broker makes itself: those of Kafka and what we have instead.

use std::collections::{BTreeSet, HashMap, HashSet};

use bytes::Bytes;

/// Bytes of Kafka's and ours in their place. Both are of one length, so that whatever holds them keeps its layout.
#[derive(Default)]
pub(crate) struct Translation {
    pairs: HashMap<Vec<u8>, Vec<u8>>,
    lengths: BTreeSet<usize>,
    /// How ids of Kafka's begin: most bytes need no look-up.
    beginnings: HashSet<u8>,
}

impl Translation {
    /// The first translation of `theirs` counts; nothing and ids that are none need none.
    pub(crate) fn add(&mut self, theirs: &[u8], ours: &[u8]) {
        assert_eq!(theirs.len(), ours.len(), "{theirs:?} and {ours:?}");
        if theirs.iter().all(|byte| *byte == 0) {
            return;
        }
        self.lengths.insert(theirs.len());
        self.beginnings.insert(theirs[0]);
        self.pairs.entry(theirs.to_vec()).or_insert_with(|| ours.to_vec());
    }

    /// `bytes` with each id of Kafka's replaced by ours.
    pub(crate) fn to_ours(&self, bytes: &[u8]) -> Bytes {
        let mut replaced = bytes.to_vec();
        let mut at = 0;
        while at < bytes.len() {
            let known = self
                .lengths
                .iter()
                .rev()
                .find_map(|length| self.pairs.get(bytes.get(at..at + length)?));
            if let Some(ours) = known {
                replaced[at..at + ours.len()].copy_from_slice(ours);
            }
            at += known.map_or(1, Vec::len);
        }
        replaced.into()
    }
}
