//! Entries of one fixed length, nothing else: what `.index` and `.timeindex` have in common.

use std::marker::PhantomData;

use crate::types::Offset;

/// An entry of `LEN` bytes; any bytes are one.
pub trait Entry<const LEN: usize> {
    /// Reads the entry in the index of the segment with this base.
    fn decode(raw: &[u8; LEN], base: Offset) -> Self;
}

/// The entries of one index, read where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a, E, const LEN: usize> {
    pub(super) base: Offset,
    pub(super) raw: &'a [[u8; LEN]],
    entry: PhantomData<E>,
}

impl<'a, E: Entry<LEN>, const LEN: usize> Entries<'a, E, LEN> {
    /// Reads the index of the segment with this base. Bytes behind the last whole entry are left out.
    pub fn new(bytes: &'a [u8], base: Offset) -> Self {
        Self { base, raw: bytes.as_chunks().0, entry: PhantomData }
    }

    /// The first `entries` alone.
    pub fn prefix(self, entries: usize) -> Self {
        Self { raw: &self.raw[..entries.min(self.len())], ..self }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// All entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = E> + DoubleEndedIterator + use<'a, E, LEN> {
        let base = self.base;
        self.raw.iter().map(move |raw| E::decode(raw, base))
    }

    /// The last entry.
    pub fn last(&self) -> Option<E> {
        self.iter().next_back()
    }

    /// The last of the leading entries for which `holds` is true; entries are sorted by it.
    pub(super) fn last_where(&self, holds: impl Fn(&E) -> bool) -> Option<E> {
        let after = self.raw.partition_point(|raw| holds(&E::decode(raw, self.base)));
        after.checked_sub(1).map(|at| E::decode(&self.raw[at], self.base))
    }
}
