//! The segments that a partition's directory holds.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::aborted;
use super::format::{offset_index, time_index};
use super::index::{EntryCounts, SegmentIndex};
use super::segment::{FileKind, Segment, SegmentFiles, file_name};
use super::sweep::base_of;
use crate::env::FileSystem;
use crate::types::Offset;

/// A segment as its files are.
#[derive(Debug)]
pub(super) struct FoundSegment {
    pub(super) segment: Arc<Segment>,
    /// Bytes of the `.log`.
    pub(super) len: u64,
    /// An index is missing or cannot be one.
    pub(super) must_be_rebuilt: bool,
}

/// All segments in order. Index files without a `.log` are removed.
pub(super) fn find_segments(
    files: &Arc<dyn FileSystem>,
    directory: &Arc<Path>,
    names: &BTreeSet<String>,
) -> io::Result<Vec<FoundSegment>> {
    let is_log = |base: Offset| names.contains(&file_name(base, FileKind::Log));
    let mut found = Vec::new();
    for name in names {
        let Some(base) = base_of(name) else { continue };
        if *name == file_name(base, FileKind::Log) {
            found.push(find_segment(files, directory, names, base)?);
        } else if !is_log(base) && is_index(name) {
            tracing::warn!(directory = %directory.display(), name, "an index without its log is removed");
            files.remove_file(&directory.join(name))?;
        }
    }
    Ok(found)
}

fn is_index(name: &str) -> bool {
    let kinds = [FileKind::OffsetIndex, FileKind::TimeIndex, FileKind::TransactionIndex];
    kinds.iter().any(|kind| name.ends_with(&format!(".{}", kind.extension())))
}

fn find_segment(
    files: &Arc<dyn FileSystem>,
    directory: &Arc<Path>,
    names: &BTreeSet<String>,
    base: Offset,
) -> io::Result<FoundSegment> {
    let segment_files = SegmentFiles::new(Arc::clone(files), Arc::clone(directory), base);
    let len_of = |kind| -> io::Result<Option<u64>> {
        if !names.contains(&file_name(base, kind)) {
            return Ok(None);
        }
        Ok(files.stat(&segment_files.path(kind))?.map(|stat| stat.len_bytes))
    };
    let len = len_of(FileKind::Log)?.unwrap_or(0);
    let offsets =
        len_of(FileKind::OffsetIndex)?.and_then(|len| entries(len, offset_index::ENTRY_LEN));
    let times = len_of(FileKind::TimeIndex)?.and_then(|len| entries(len, time_index::ENTRY_LEN));
    // A segment that nothing was ever appended to has no index files yet.
    let mut must_be_rebuilt = len > 0 && (offsets.is_none() || times.is_none());
    let counts = EntryCounts { offsets: offsets.unwrap_or(0), times: times.unwrap_or(0) };
    let index = Arc::new(SegmentIndex::new(base, counts));
    let segment = Segment::new(base, Arc::new(segment_files), index, len);
    if names.contains(&file_name(base, FileKind::TransactionIndex)) {
        segment.set_has_aborted();
        must_be_rebuilt |= has_damaged_aborted(&segment)?;
    }
    Ok(FoundSegment { segment: Arc::new(segment), len, must_be_rebuilt })
}

fn has_damaged_aborted(segment: &Segment) -> io::Result<bool> {
    match aborted::read(segment) {
        Ok(_) => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::InvalidData => Ok(true),
        Err(e) => Err(e),
    }
}

/// Number of entries, `None` if the last one is torn.
fn entries(len: u64, entry_len: usize) -> Option<usize> {
    let len = usize::try_from(len).ok()?;
    len.is_multiple_of(entry_len).then_some(len / entry_len)
}
