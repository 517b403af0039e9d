//! The files beside a segment, one file here per format: encode, decode, version, checksum.
//!
//! Pure functions over bytes; who reads and writes the files is not known here. Decoding gives typed errors for anything
//! that Kafka would not have written, and never allocates more than a small multiple of the bytes given.

pub mod aborted_index;
pub mod entries;
pub mod leader_epochs;
pub mod offset_index;
pub mod partition_metadata;
pub mod producer_snapshot;
pub mod time_index;

use crate::types::Offset;

/// `N` bytes at `at`, for entries of a fixed length.
fn field<const N: usize, const LEN: usize>(entry: &[u8; LEN], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&entry[at..at + N]);
    out
}

/// `offset` as indexes store it, relative to the base of the segment.
///
/// # Panics
/// If it lies outside the segment: a segment is rolled before that (see `OffsetIndex` in Kafka).
fn relative(offset: Offset, base: Offset) -> [u8; 4] {
    let relative = offset.get().checked_sub(base.get()).and_then(|delta| i32::try_from(delta).ok());
    relative
        .filter(|&delta| delta >= 0)
        .expect("a segment holds offsets base..=base+i32::MAX only")
        .to_be_bytes()
}

/// The offset that an index stores as `relative`; saturates, so that damaged bytes do no harm.
fn absolute(relative: [u8; 4], base: Offset) -> Offset {
    Offset::new(base.get().saturating_add(i64::from(i32::from_be_bytes(relative))))
}
