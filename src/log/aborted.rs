//! Aborted transactions of a log, from the `.txnindex` files of its segments.

use std::io;

use super::format::aborted_index::{self, AbortedEntry};
use super::segment::{FileKind, Segment, SegmentList};
use super::view::AbortedTransaction;
use crate::types::Offset;

/// Those that overlap `from..to`, in the order of their markers (Kafka's `TransactionIndex.collectAbortedTxns`). Blocks.
pub(super) fn between(
    segments: &SegmentList,
    from: Offset,
    to: Offset,
) -> io::Result<Vec<AbortedTransaction>> {
    let entries = entries_between(segments, from, to)?.into_iter();
    let found = entries.map(|entry| AbortedTransaction {
        producer_id: entry.producer_id,
        first_offset: entry.first_offset,
    });
    Ok(found.collect())
}

/// The same with all that the index says of them.
pub(super) fn entries_between(
    segments: &SegmentList,
    from: Offset,
    to: Offset,
) -> io::Result<Vec<AbortedEntry>> {
    let mut found = Vec::new();
    let mut number = segments.number_of(from);
    while let Some(segment) = segments.get(number) {
        for entry in read(segment)? {
            if entry.last_offset >= from && entry.first_offset < to {
                found.push(entry);
            }
            // Nothing that began below `to` was still open here, so no later marker can concern it.
            if entry.last_stable_offset >= to {
                return Ok(found);
            }
        }
        number += 1;
    }
    Ok(found)
}

/// All entries of one segment. Blocks if there are any.
pub(super) fn read(segment: &Segment) -> io::Result<Vec<AbortedEntry>> {
    if !segment.has_aborted() {
        return Ok(Vec::new());
    }
    let bytes = segment.files.open(FileKind::TransactionIndex)?.read_all()?;
    aborted_index::decode(&bytes, segment.base)
        .map_err(|damage| io::Error::new(io::ErrorKind::InvalidData, damage))
}
