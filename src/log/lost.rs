//! What a directory may have lost without any other file showing it: transaction indexes, and where the log starts.
//!
//! Kafka serves aborted records, or deleted ones, in such a directory. Both are found when the log is opened. Where the log
//! starts costs one look-up. A transaction index cannot be seen to be missing, since a segment without an aborted transaction
//! has none: so the batch headers of such a segment are walked through once, and only in a partition whose producers have seen
//! the end of a transaction. A segment where nothing was found gets an empty index, and so does one that is closed here.

use std::io;
use std::path::Path;

use super::access::Access;
use super::found::FoundSegment;
use super::log::Unsynced;
use super::marker::read_marker;
use super::producers::Producers;
use super::recovery::Recovery;
use super::segment::{FileKind, Segment};
use crate::types::{Offset, Outcome};

/// No marker of a transaction takes more; Kafka's have 78 bytes. A damaged length must not make this read a whole segment at once.
const MARKER_BYTES_MAX: u64 = 4 * 1024;

impl Recovery<'_> {
    /// Segments with aborted transactions and without their index are to be rebuilt.
    pub(super) fn look_for_lost_aborted(&mut self, found: &mut [FoundSegment]) -> io::Result<()> {
        let lacks = |found: &FoundSegment| {
            found.len > 0 && !found.segment.has_aborted() && !found.must_be_rebuilt
        };
        if !found.iter().any(lacks) || !self.snapshots.tell_of_markers()? {
            return Ok(());
        }
        for i in 0..found.len() {
            let next_base = found.get(i + 1).map(|next| next.segment.base);
            let found = &mut found[i];
            if !lacks(found) || self.is_dirty(next_base) {
                continue;
            }
            if has_abort_marker(&found.segment, found.len)? {
                let base = found.segment.base;
                tracing::warn!(directory = %self.directory.display(), %base, "the transaction index is missing and will be made anew");
                found.must_be_rebuilt = true;
            } else {
                put_empty_index(&found.segment, &self.directory, &mut self.unsynced)?;
            }
        }
        Ok(())
    }

    /// Where the log starts by its leader epochs, if the checkpoint that says so is lost. The first epoch then begins inside the
    /// first segment, in the midst of its own batches: only a log that was cut there looks like that.
    pub(super) fn lost_log_start(
        &self,
        first: &Segment,
        first_len: u64,
        first_end: Offset,
    ) -> io::Result<Option<Offset>> {
        let epochs = self.epochs.entries();
        let Some(epoch) = epochs.first().filter(|e| e.start > first.base && e.start < first_end)
        else {
            return Ok(None);
        };
        let before = Offset::new(epoch.start.get() - 1);
        let mut scan = first.scan_from(before, first_len, Access::Blocking)?;
        let mut last = None;
        while let Some(start) = scan.next()?.filter(|start| start.base_offset < epoch.start) {
            last = Some(start);
        }
        let was_cut = last.is_none_or(|last| last.leader_epoch == epoch.epoch);
        Ok(was_cut.then_some(epoch.start))
    }
}

/// Gives a segment without aborted transactions an index that says so.
pub(super) fn put_empty_index(
    segment: &Segment,
    directory: &Path,
    unsynced: &mut Unsynced,
) -> io::Result<()> {
    unsynced.files.push(segment.files.open_or_create(FileKind::TransactionIndex)?);
    unsynced.directories.push(directory.to_path_buf());
    segment.set_has_aborted();
    Ok(())
}

/// Has a transaction ended here, as far as producers are remembered?
pub(super) fn have_seen_markers(producers: &Producers) -> bool {
    producers.sorted().iter().any(|(_, producer)| producer.coordinator_epoch >= 0)
}

fn has_abort_marker(segment: &Segment, len: u64) -> io::Result<bool> {
    let log = segment.files.open(FileKind::Log)?;
    let mut scan = segment.scan_from_start(len)?;
    while let Some(start) = scan.next()? {
        let Some(header) = start.header.filter(|header| header.is_control()) else { continue };
        if start.size > MARKER_BYTES_MAX {
            continue;
        }
        let mut batch = vec![0; start.size as usize];
        log.read_at(&mut batch, start.position)?;
        if read_marker(&header, &batch).is_some_and(|marker| marker.outcome == Outcome::Abort) {
            return Ok(true);
        }
    }
    Ok(false)
}
