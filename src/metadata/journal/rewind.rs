//! Takes a metadata log back to an earlier point in time, in a directory that no node runs on.
//!
//! Batches say when they were appended, and the log has one appender, so the point is the offset of the first batch from after
//! it. What lies behind goes: batches, later segments, later snapshots. The oldest state that the log still tells is that of its
//! beginning, or of its oldest snapshot. A transaction of the metadata that is open there ends as after a crash: the next
//! start aborts it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::BatchWriter;
use super::batches;
use super::control::ControlRecord;
use super::load::{LoadError, Loaded, load};
use super::names::{FileKind, SnapshotId, segment};
use super::walk::{Verdict, WalkError, walk};
use crate::env::{FileSystem, OpenMode};
use crate::log::scan::{StoredBatch, scan};
use crate::metadata::image::Image;
use crate::metadata::records::{MetadataRecord, ProducerIds, Versioned};
use crate::types::{BrokerId, LeaderEpoch, Offset, ProducerId, Timestamp, TopicId};

/// Why a log is not taken back.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// It cannot be read, before or after.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The state of that time is not in it any more.
    #[error("the metadata log tells nothing from before {from:?}")]
    TooEarly {
        /// The first moment that it tells.
        from: Timestamp,
    },
    /// The clock went back over the point, so that it names two moments.
    #[error("the clock of the node was set back from {before:?} to {after:?}")]
    ClockSetBack {
        /// What it showed.
        before: Timestamp,
        /// What it was set to.
        after: Timestamp,
    },
    /// The disk failed.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A log that was taken back.
#[derive(Debug)]
pub struct Rewound {
    /// The state of the point.
    pub image: Image,
    /// The state that the log ended with before.
    pub latest: Image,
    /// When topics were deleted after the point.
    pub removed: BTreeMap<TopicId, Timestamp>,
}

/// A clock that is set back by less is one that is being adjusted.
pub const CLOCK_TOLERANCE_MS: i64 = 1_000;

/// Leaves out what was appended after `at`. Producer ids that were given out since stay given out. Everything is synced but the
/// names in `directory`. Blocks.
pub fn rewind(
    files: &dyn FileSystem,
    directory: &Path,
    cluster_id: &str,
    at: Timestamp,
) -> Result<Rewound, RewindError> {
    let latest = load(files, directory, cluster_id)?;
    let found = Found::read(files, directory)?;
    let mut point = Point { at, first: None, cut: None, removed: BTreeMap::new() };
    for base in &found.segments {
        point.segment(files, &directory.join(segment(*base)), *base)?;
    }
    let cut = point.cut.as_ref().map_or(latest.image.end_offset, |cut| cut.offset);
    found.refuse_uncovered(cut, &point)?;
    if let Some(cut) = point.cut {
        cut.apply(files, directory, &found).map_err(failed(directory))?;
    }
    let loaded = load(files, directory, cluster_id)?;
    let (image, end) = (loaded.image.clone(), latest.image);
    if image.next_producer_id < end.next_producer_id {
        let epoch = loaded.last_epoch.max(latest.last_epoch);
        keep_given(files, directory, loaded, epoch, end.next_producer_id, at)
            .map_err(failed(directory))?;
    }
    Ok(Rewound { image, latest: end, removed: point.removed })
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RewindError + '_ {
    move |source| RewindError::Io { path: path.to_owned(), source }
}

/// What there is, in order.
struct Found {
    segments: Vec<Offset>,
    /// With the time of the last record in each.
    snapshots: Vec<(SnapshotId, Timestamp)>,
}

impl Found {
    fn read(files: &dyn FileSystem, directory: &Path) -> Result<Self, RewindError> {
        let mut found = Self { segments: Vec::new(), snapshots: Vec::new() };
        for entry in files.list(directory).map_err(failed(directory))? {
            match FileKind::parse(&entry.name) {
                FileKind::Segment(base) => found.segments.push(base),
                FileKind::Snapshot(id) => {
                    let path = directory.join(&entry.name);
                    let bytes = files.read(&path).map_err(failed(&path))?.unwrap_or_default();
                    found.snapshots.push((id, last_time(&bytes)));
                }
                FileKind::BesideSegment(_) | FileKind::Leftover | FileKind::Other => {}
            }
        }
        found.segments.sort();
        found.snapshots.sort_by_key(|(id, _)| *id);
        Ok(found)
    }

    /// The state at `cut` must follow from a snapshot, or from the first record of all.
    fn refuse_uncovered(&self, cut: Offset, point: &Point) -> Result<(), RewindError> {
        let begins_at_zero = self.segments.first() == Some(&Offset::ZERO);
        // One at 0 has the voters and nothing else.
        let mut told = self.snapshots.iter().filter(|(id, _)| id.end > Offset::ZERO);
        let is_base = |(id, time): &(SnapshotId, Timestamp)| id.end <= cut && *time <= point.at;
        if (begins_at_zero && cut > Offset::ZERO) || told.clone().any(is_base) {
            return Ok(());
        }
        let first = point.first.filter(|_| begins_at_zero);
        let from = first.or_else(|| told.next().map(|(_, time)| *time));
        Err(RewindError::TooEarly { from: from.unwrap_or(Timestamp::NONE) })
    }
}

/// The time in the header of a snapshot; `NONE` if it has none.
fn last_time(snapshot: &[u8]) -> Timestamp {
    let first = scan(snapshot).next().and_then(|(_, batch)| {
        let records = batches::records(&batch).ok()?;
        let record = records.first()?;
        ControlRecord::decode(record.key?, record.value?).ok()
    });
    match first {
        Some(ControlRecord::SnapshotHeader { last_contained_log_timestamp }) => {
            last_contained_log_timestamp
        }
        _ => Timestamp::NONE,
    }
}

/// Where the first batch from after the point begins.
#[derive(Clone, Copy, Debug)]
struct Cut {
    segment: Offset,
    position: u64,
    offset: Offset,
    time: Timestamp,
}

struct Point {
    at: Timestamp,
    /// Of the first batch.
    first: Option<Timestamp>,
    cut: Option<Cut>,
    removed: BTreeMap<TopicId, Timestamp>,
}

impl Point {
    fn segment(
        &mut self,
        files: &dyn FileSystem,
        path: &Path,
        base: Offset,
    ) -> Result<(), RewindError> {
        let file = files.open(path, OpenMode::ReadOnly).map_err(failed(path))?;
        let mut position = 0;
        let walked = walk(file.as_ref(), |batch| {
            let begin = position;
            position += batch.bytes().len() as u64;
            match self.batch(batch, base, begin) {
                Ok(()) => Verdict::Good,
                Err(error) => Verdict::Fatal(error),
            }
        });
        walked.map(drop).map_err(|error| match error {
            WalkError::Io(source) => failed(path)(source),
            WalkError::Fatal(error) => error,
        })
    }

    fn batch(
        &mut self,
        batch: &StoredBatch<'_>,
        segment: Offset,
        position: u64,
    ) -> Result<(), RewindError> {
        let time = batch.max_timestamp();
        self.first.get_or_insert(time);
        match self.cut {
            None if time > self.at => {
                let offset = batch.offset_field();
                self.cut = Some(Cut { segment, position, offset, time });
            }
            None => return Ok(()),
            Some(cut) if time <= self.at && cut.time.get() - time.get() > CLOCK_TOLERANCE_MS => {
                return Err(RewindError::ClockSetBack { before: cut.time, after: time });
            }
            Some(_) => {}
        }
        // What cannot be read was loaded nevertheless, so it is nothing that matters here.
        for record in batches::records(batch).unwrap_or_default() {
            let read = record.value.and_then(|value| Versioned::decode(value).ok());
            if let Some(Versioned { record: MetadataRecord::RemoveTopic(id), .. }) = read {
                self.removed.insert(id, time);
            }
        }
        Ok(())
    }
}

impl Cut {
    /// The newest goes first, so that a crash in between leaves a log without gaps.
    fn apply(self, files: &dyn FileSystem, directory: &Path, found: &Found) -> io::Result<()> {
        for (id, _) in found.snapshots.iter().rev().filter(|(id, _)| id.end > self.offset) {
            files.remove_file(&directory.join(id.file_name()))?;
        }
        for base in found.segments.iter().rev().filter(|base| **base > self.segment) {
            files.remove_file(&directory.join(segment(*base)))?;
        }
        let file = files.open(&directory.join(segment(self.segment)), OpenMode::Existing)?;
        file.set_len(self.position)?;
        file.sync()
    }
}

/// Appends what the next block of producer ids begins with: ids of producers whose records were left out, or that still live,
/// are given to nobody else.
fn keep_given(
    files: &dyn FileSystem,
    directory: &Path,
    loaded: Loaded,
    epoch: LeaderEpoch,
    next_producer_id: ProducerId,
    at: Timestamp,
) -> io::Result<()> {
    let level = loaded.image.metadata_version();
    let base = loaded.image.end_offset;
    let Some(active) = &loaded.active else { return Ok(()) };
    let record = MetadataRecord::ProducerIds(ProducerIds {
        broker_id: BrokerId::new(-1),
        broker_epoch: -1,
        next_producer_id,
    });
    let mut batch = BatchWriter::new(base, epoch, at);
    batch.data(&[record.at_level(level).encode()]);
    active.file.set_len(active.good_bytes)?;
    active.file.write_all_at(batch.bytes(), active.good_bytes)?;
    active.file.sync()?;
    files.sync_dir(directory)
}
