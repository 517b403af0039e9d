//! The copy of one segment.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CopyError;
use crate::env::{File, FileSystem, OpenMode};
use crate::log::compaction::Pace;
use crate::log::segment::{FileKind, SegmentFiles, SegmentFilesRef, Suffix, file_name};
use crate::types::{Offset, Timestamp};

/// Copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Whether files of an earlier life may lie in the place of the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing.
    Nothing,
    /// Perhaps some of the same bytes: only what differs is written.
    Remains,
}

/// One segment in the copy.
#[derive(Debug)]
pub(super) struct SegmentCopy {
    /// The segment that is copied, while it is active and when it is sealed.
    pub(super) of: SegmentFilesRef,
    base: Offset,
    target: Target,
    log: Option<Arc<dyn File>>,
    log_bytes: u64,
    /// `.log` has its name.
    named: bool,
    /// Sealed, and everything of it is copied.
    pub(super) whole: bool,
}

/// Where the copy is written.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) files: Arc<dyn FileSystem>,
    pub(super) directory: Arc<Path>,
}

impl Target {
    pub(super) fn path(&self, base: Offset, kind: FileKind, suffix: Suffix) -> PathBuf {
        self.directory.join(format!("{}{}", file_name(base, kind), suffix.text()))
    }

    /// Removes a file that may be there.
    pub(super) fn remove(&self, path: &Path) -> Result<(), CopyError> {
        self.files.remove_if_there(path).map_err(CopyError::of_target)
    }

    /// Removes whatever there is of a segment but its producer snapshot.
    pub(super) fn remove_segment(&self, base: Offset) -> Result<(), CopyError> {
        self.remove(&self.path(base, FileKind::Log, Suffix::Cleaned))?;
        for kind in FileKind::OF_A_SEGMENT {
            self.remove(&self.path(base, kind, Suffix::None))?;
        }
        Ok(())
    }
}

impl SegmentCopy {
    pub(super) fn begin(
        of: SegmentFilesRef,
        base: Offset,
        target: Target,
        before: Before,
    ) -> Result<Self, CopyError> {
        let path = target.path(base, FileKind::Log, Suffix::Cleaned);
        if before == Before::Remains {
            let whole = target.path(base, FileKind::Log, Suffix::None);
            match target.files.rename(&whole, &path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(CopyError::of_target(error));
                }
                _ => {}
            }
        }
        let log = target.files.open(&path, OpenMode::CreateOrKeep).map_err(CopyError::of_target)?;
        let copy =
            Self { of, base, target, log: Some(log), log_bytes: 0, named: false, whole: false };
        Ok(copy)
    }

    /// Bytes of the `.log` that are copied.
    pub(super) fn log_bytes(&self) -> u64 {
        self.log_bytes
    }

    /// The `.log` while it may still grow.
    pub(super) fn open_log(&self) -> Option<&Arc<dyn File>> {
        self.log.as_ref()
    }

    /// Copies the `.log` on to `end`; how many bytes that were. Blocks.
    pub(super) fn copy_log(&mut self, end: u64, pace: &dyn Pace) -> Result<u64, CopyError> {
        if self.log_bytes >= end {
            return Ok(0);
        }
        let source = self.of.open_once(FileKind::Log).map_err(CopyError::of_source)?;
        let target = self.log.as_ref().expect("open until the segment is whole");
        let from = self.log_bytes;
        copy_range(source.as_ref(), target.as_ref(), from..end, pace)?;
        self.log_bytes = end;
        Ok(end - from)
    }

    /// A sealed segment: copies the rest of it, syncs it and gives it its name. Blocks.
    pub(super) fn complete(&mut self, len: u64, pace: &dyn Pace) -> Result<u64, CopyError> {
        let copied = self.copy_log(len, pace)?;
        for kind in [FileKind::OffsetIndex, FileKind::TimeIndex, FileKind::TransactionIndex] {
            self.copy_whole(kind, pace)?
                .into_iter()
                .try_for_each(|file| file.sync())
                .map_err(CopyError::of_target)?;
        }
        self.keep_age()?;
        let log = self.cut_log()?;
        log.sync().map_err(CopyError::of_target)?;
        self.name_log()?;
        self.log = None;
        self.whole = true;
        Ok(copied)
    }

    /// The active segment, of which everything is copied but the indexes: these entries follow those that are on disk. The
    /// files to be synced. Blocks.
    pub(super) fn complete_active(
        &mut self,
        indexes: &[(FileKind, IndexTail)],
        pace: &dyn Pace,
    ) -> Result<Vec<Arc<dyn File>>, CopyError> {
        let mut unsynced = Vec::new();
        for (kind, tail) in indexes {
            unsynced.extend(self.copy_index(*kind, tail, pace)?);
        }
        unsynced.extend(self.copy_whole(FileKind::TransactionIndex, pace)?);
        unsynced.push(self.cut_log()?);
        self.name_log()?;
        Ok(unsynced)
    }

    fn copy_index(
        &self,
        kind: FileKind,
        tail: &IndexTail,
        pace: &dyn Pace,
    ) -> Result<Option<Arc<dyn File>>, CopyError> {
        let is_empty = tail.on_disk == 0 && tail.entries.is_empty();
        // One that was closed empty stays: a segment without its index is recovered at the next start, by Kafka too.
        if is_empty && !self.has_source(kind)? {
            self.target.remove(&self.target.path(self.base, kind, Suffix::None))?;
            return Ok(None);
        }
        let target = self.open_target(kind)?;
        if tail.on_disk > 0 {
            let source = self.of.open_once(kind).map_err(CopyError::of_source)?;
            copy_range(source.as_ref(), target.as_ref(), 0..tail.on_disk, pace)?;
        }
        let end = tail.on_disk + tail.entries.len() as u64;
        let written = target.write_all_at(&tail.entries, tail.on_disk);
        written.and_then(|()| target.set_len(end)).map_err(CopyError::of_target)?;
        Ok(Some(target))
    }

    fn has_source(&self, kind: FileKind) -> Result<bool, CopyError> {
        let stat = self.target.files.stat(&self.of.path(kind));
        stat.map(|stat| stat.is_some()).map_err(CopyError::of_source)
    }

    /// A file that may not be there.
    fn copy_whole(
        &self,
        kind: FileKind,
        pace: &dyn Pace,
    ) -> Result<Option<Arc<dyn File>>, CopyError> {
        let source = match self.of.open_once(kind) {
            Ok(source) => source,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.target.remove(&self.target.path(self.base, kind, Suffix::None))?;
                return Ok(None);
            }
            Err(error) => return Err(CopyError::of_source(error)),
        };
        let len = source.len().map_err(CopyError::of_source)?;
        let target = self.open_target(kind)?;
        copy_range(source.as_ref(), target.as_ref(), 0..len, pace)?;
        target.set_len(len).map_err(CopyError::of_target)?;
        Ok(Some(target))
    }

    fn open_target(&self, kind: FileKind) -> Result<Arc<dyn File>, CopyError> {
        let path = self.target.path(self.base, kind, Suffix::None);
        self.target.files.open(&path, OpenMode::CreateOrKeep).map_err(CopyError::of_target)
    }

    /// What remains of an earlier copy may be longer.
    fn cut_log(&self) -> Result<Arc<dyn File>, CopyError> {
        let log = self.log.as_ref().expect("open until the segment is whole");
        log.set_len(self.log_bytes).map_err(CopyError::of_target)?;
        Ok(Arc::clone(log))
    }

    /// The time of the last change is the age of records without timestamps.
    fn keep_age(&self) -> Result<(), CopyError> {
        let stat = self.target.files.stat(&self.of.path(FileKind::Log));
        let modified = stat.map_err(CopyError::of_source)?.map(|stat| stat.modified);
        match (modified.filter(|at| *at > Timestamp::NONE), &self.log) {
            (Some(at), Some(log)) => log.set_modified(at).map_err(CopyError::of_target),
            _ => Ok(()),
        }
    }

    fn name_log(&mut self) -> Result<(), CopyError> {
        if !self.named {
            let path = |suffix| self.target.path(self.base, FileKind::Log, suffix);
            let renamed = self.target.files.rename(&path(Suffix::Cleaned), &path(Suffix::None));
            renamed.map_err(CopyError::of_target)?;
            self.named = true;
        }
        Ok(())
    }
}

/// An index as its appender holds it.
#[derive(Debug, Default)]
pub(in crate::log) struct IndexTail {
    /// Bytes of the file that count.
    pub(in crate::log) on_disk: u64,
    /// What follows them.
    pub(in crate::log) entries: Vec<u8>,
}

/// Makes `range` of the target equal to that of the source; bytes that are equal already are not written.
fn copy_range(
    source: &dyn File,
    target: &dyn File,
    range: std::ops::Range<u64>,
    pace: &dyn Pace,
) -> Result<(), CopyError> {
    let there = target.len().map_err(CopyError::of_target)?;
    let size = CHUNK_BYTES.min(usize::try_from(range.end - range.start).unwrap_or(CHUNK_BYTES));
    let mut buffer = vec![0; size];
    let mut compared = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let left = usize::try_from(range.end - at).unwrap_or(usize::MAX);
        let chunk = &mut buffer[..size.min(left)];
        let read = source.read_at(chunk, at).map_err(CopyError::of_source)?;
        if read == 0 {
            return Err(CopyError::Source(io::ErrorKind::UnexpectedEof.into()));
        }
        let chunk = &chunk[..read];
        compared.resize(if at < there { read } else { 0 }, 0);
        let same = at < there && {
            let had = target.read_at(&mut compared, at).map_err(CopyError::of_target)?;
            compared[..had] == *chunk
        };
        if !same {
            target.write_all_at(chunk, at).map_err(CopyError::of_target)?;
        }
        at += read as u64;
        pace.go_on(read as u64).map_err(|_| CopyError::Stopped)?;
    }
    Ok(())
}

/// The producer state beside a segment, as one small file.
pub(super) fn copy_snapshot(
    source: &Path,
    target: &Target,
    base: Offset,
) -> Result<Option<Arc<dyn File>>, CopyError> {
    let name = file_name(base, FileKind::Snapshot);
    let Some(bytes) = target.files.read(&source.join(&name)).map_err(CopyError::of_source)? else {
        return Ok(None);
    };
    let path = target.directory.join(name);
    let opened = target.files.open(&path, OpenMode::CreateOrTruncate);
    let file = opened.map_err(CopyError::of_target)?;
    file.write_all_at(&bytes, 0).map_err(CopyError::of_target)?;
    Ok(Some(file))
}

/// So that nobody outside must know how segments are compared.
pub(super) fn is_of(copy: &SegmentCopy, files: &Arc<SegmentFiles>) -> bool {
    Arc::ptr_eq(&copy.of, files)
}
