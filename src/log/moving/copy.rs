//! The copy of a log while it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::segment_copy::{Before, IndexTail, SegmentCopy, Target, copy_snapshot, is_of};
use super::{CopyError, CopySource};
use crate::env::{File, FileSystem, write_atomically};
use crate::log::append::{LEADER_EPOCHS, PARTITION_METADATA};
use crate::log::compaction::Pace;
use crate::log::format::partition_metadata;
use crate::log::segment::{FileKind, Segment, SegmentFilesRef, file_name};
use crate::log::sweep::base_of;
use crate::log::view::LogView;
use crate::types::{Offset, TopicId};

/// A log's copy in another directory. Belongs to one thread.
#[derive(Debug)]
pub struct LogCopy {
    target: Target,
    segments: BTreeMap<Offset, SegmentCopy>,
    /// Segments that an earlier life copied, perhaps in part.
    remains: BTreeSet<Offset>,
    snapshots: BTreeSet<Offset>,
    unsynced: Vec<Arc<dyn File>>,
    /// Where the view of the last pass ended.
    end: Offset,
}

impl LogCopy {
    /// Begins a copy in `directory`, or goes on with what an earlier life left there. Blocks.
    pub fn begin(
        files: &Arc<dyn FileSystem>,
        directory: &Path,
        topic: TopicId,
    ) -> Result<Self, CopyError> {
        let target = Target { files: Arc::clone(files), directory: directory.into() };
        let mut copy = Self {
            target,
            segments: BTreeMap::new(),
            remains: BTreeSet::new(),
            snapshots: BTreeSet::new(),
            unsynced: Vec::new(),
            end: Offset::ZERO,
        };
        files.create_dir_all(directory).map_err(CopyError::of_target)?;
        copy.look_at_remains()?;
        // Tells every later life whose copy it is.
        let metadata = directory.join(PARTITION_METADATA);
        write_atomically(files.as_ref(), &metadata, &partition_metadata::encode(topic))
            .map_err(CopyError::of_target)?;
        if let Some(parent) = directory.parent() {
            files.sync_dir(parent).map_err(CopyError::of_target)?;
        }
        Ok(copy)
    }

    /// Keeps what may be compared, and removes the rest.
    fn look_at_remains(&mut self) -> Result<(), CopyError> {
        let listed = self.target.files.list(&self.target.directory);
        let is_snapshot =
            |name: &str| name.ends_with(&format!(".{}", FileKind::Snapshot.extension()));
        for entry in listed.map_err(CopyError::of_target)? {
            match base_of(&entry.name) {
                Some(base) if !is_snapshot(&entry.name) => {
                    self.remains.insert(base);
                }
                Some(_) | None => self.target.remove(&self.target.directory.join(&entry.name))?,
            }
        }
        Ok(())
    }

    /// Where it lies.
    pub fn directory(&self) -> &Arc<Path> {
        &self.target.directory
    }

    /// Everything below it is copied.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Bytes of records in it.
    pub fn bytes(&self) -> u64 {
        self.segments.values().map(SegmentCopy::log_bytes).sum()
    }

    /// Copies what the source shows and the copy lacks, and takes out what the source has lost; how many bytes of records were
    /// copied. Blocks.
    pub fn catch_up(&mut self, source: &CopySource, pace: &dyn Pace) -> Result<u64, CopyError> {
        let view = &source.view;
        self.take_out_gone(view)?;
        let mut copied = 0;
        for segment in &view.segments.sealed {
            let copy = self.copy_of(segment)?;
            if !copy.whole {
                copied += copy.complete(segment.sealed_len, pace)?;
            }
        }
        let active = &view.segments.active;
        if view.active_end > 0 {
            copied += self.copy_of(active)?.copy_log(view.active_end, pace)?;
        }
        // Those behind it may be half written.
        self.copy_snapshots(&source.directory, Some(active.base))?;
        self.end = view.log_end;
        Ok(copied)
    }

    /// Bytes of records that a pass over `source` would copy.
    pub fn missing_bytes(&self, source: &CopySource) -> u64 {
        let segments = &source.view.segments;
        let sealed = segments.sealed.iter().map(|segment| (segment, segment.sealed_len));
        let all = sealed.chain([(&segments.active, source.view.active_end)]);
        let missing = all.map(|(segment, len)| {
            let copy = self.segments.get(&segment.base).filter(|copy| is_of(copy, &segment.files));
            len.saturating_sub(copy.map_or(0, SegmentCopy::log_bytes))
        });
        missing.sum()
    }

    /// Makes durable what is not yet. Blocks.
    pub fn sync(&mut self) -> Result<(), CopyError> {
        let files = std::mem::take(&mut self.unsynced);
        files.iter().try_for_each(|file| file.sync()).map_err(CopyError::of_target)?;
        let active = self.segments.values().filter(|copy| !copy.whole);
        for log in active.filter_map(SegmentCopy::open_log) {
            log.sync().map_err(CopyError::of_target)?;
        }
        self.target.files.sync_dir(&self.target.directory).map_err(CopyError::of_target)
    }

    /// After the last pass, with the log in the caller's hands: indexes of the active segment, snapshots, epochs. Durable
    /// when it returns. `indexes` is `None` if the active segment has no files. Blocks.
    pub(super) fn complete(
        &mut self,
        source: &CopySource,
        indexes: Option<&[(FileKind, IndexTail)]>,
        epochs: Option<&[u8]>,
        pace: &dyn Pace,
    ) -> Result<(), CopyError> {
        // An empty segment that has a file keeps it: the file's name says where the log ends.
        if let Some(indexes) = indexes {
            let copy = self.copy_of(&source.view.segments.active)?;
            let unsynced = copy.complete_active(indexes, pace)?;
            self.unsynced.extend(unsynced);
        }
        self.copy_snapshots(&source.directory, None)?;
        let path = self.target.directory.join(LEADER_EPOCHS);
        match epochs {
            Some(bytes) => write_atomically(self.target.files.as_ref(), &path, bytes)
                .map_err(CopyError::of_target)?,
            None => self.target.remove(&path)?,
        }
        self.sync()
    }

    /// Removes the directory and all it holds. Blocks.
    pub fn remove(files: &dyn FileSystem, directory: &Path) -> io::Result<()> {
        match files.remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn take_out_gone(&mut self, view: &LogView) -> Result<(), CopyError> {
        let segments = &view.segments;
        let all = segments.sealed.iter().chain([&segments.active]);
        let there: BTreeMap<Offset, &SegmentFilesRef> =
            all.map(|segment| (segment.base, &segment.files)).collect();
        let is_gone = |(base, copy): &(&Offset, &SegmentCopy)| {
            there.get(base).is_none_or(|files| !is_of(copy, files))
        };
        let gone = self.segments.iter().filter(is_gone).map(|(base, _)| *base);
        let remains = self.remains.iter().filter(|base| !there.contains_key(base)).copied();
        for base in gone.chain(remains).collect::<Vec<_>>() {
            self.segments.remove(&base);
            self.remains.remove(&base);
            self.target.remove_segment(base)?;
        }
        Ok(())
    }

    fn copy_of(&mut self, segment: &Segment) -> Result<&mut SegmentCopy, CopyError> {
        let base = segment.base;
        if !self.segments.contains_key(&base) {
            let before = if self.remains.remove(&base) { Before::Remains } else { Before::Nothing };
            let files = Arc::clone(&segment.files);
            let copy = SegmentCopy::begin(files, base, self.target.clone(), before)?;
            self.segments.insert(base, copy);
        }
        Ok(self.segments.get_mut(&base).expect("just put there"))
    }

    /// Copies snapshots at or below `up_to` that are new, and removes those that the log has removed.
    fn copy_snapshots(&mut self, source: &Path, up_to: Option<Offset>) -> Result<(), CopyError> {
        let listed = self.target.files.list(source).map_err(CopyError::of_source)?;
        let snapshot = |name: &String| {
            base_of(name).filter(|base| *name == file_name(*base, FileKind::Snapshot))
        };
        let there: BTreeSet<Offset> =
            listed.iter().filter_map(|entry| snapshot(&entry.name)).collect();
        for base in self.snapshots.difference(&there).copied().collect::<Vec<_>>() {
            self.target.remove(&self.target.directory.join(file_name(base, FileKind::Snapshot)))?;
            self.snapshots.remove(&base);
        }
        let new = there.difference(&self.snapshots).copied();
        for base in new.filter(|base| up_to.is_none_or(|end| *base <= end)).collect::<Vec<_>>() {
            if let Some(file) = copy_snapshot(source, &self.target, base)? {
                self.unsynced.push(file);
                self.snapshots.insert(base);
            }
        }
        Ok(())
    }
}
