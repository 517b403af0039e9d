//! Reads what a stopped node left in `__cluster_metadata-0`: the newest snapshot, then the log above it.
//!
//! Nothing is changed on disk here. A damaged end of the last segment counts as never written, as a write that a crash cut
//! off would; damage anywhere else makes the directory unusable, because acknowledged changes would be lost.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::names::{FileKind, SnapshotId, segment};
use super::walk::{Verdict, WalkError, walk};
use super::{quorum_state, snapshot};
use crate::env::{File, FileSystem, OpenMode};
use crate::log::format::leader_epochs::EpochStart;
use crate::log::scan::StoredBatch;
use crate::metadata::apply::Replay;
use crate::metadata::image::{Image, QuorumState};
use crate::types::{LeaderEpoch, Offset};

/// Why a metadata log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The disk failed.
    #[error("{} cannot be read: {source}", .path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Files that contradict themselves or this release.
    #[error("{}: {reason}", .path.display())]
    Unusable {
        /// File or directory.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
}

/// The last segment, where writing goes on.
#[derive(Debug)]
pub struct ActiveSegment {
    /// Offset of its first record.
    pub base: Offset,
    /// Its file.
    pub file: Arc<dyn File>,
    /// Bytes of good batches; what follows is to be cut off.
    pub good_bytes: u64,
}

/// What was found.
#[derive(Debug)]
pub struct Loaded {
    /// The state at the end.
    pub image: Image,
    /// Highest epoch of log, snapshot and `quorum-state`.
    pub last_epoch: LeaderEpoch,
    /// Where each epoch of the log began.
    pub epochs: Vec<EpochStart>,
    /// The newest snapshot.
    pub snapshot: Option<SnapshotId>,
    /// `None` if there is no segment, or none that reaches the snapshot.
    pub active: Option<ActiveSegment>,
    /// A metadata transaction was begun and never ended.
    pub transaction_open: bool,
    /// Bytes of log above the snapshot.
    pub bytes_since_snapshot: u64,
    /// The log above the snapshot says something that Kafka reads otherwise than it was meant.
    pub misleads_kafka: bool,
}

/// Reads the metadata log in `directory`; a missing or empty one gives the empty image.
pub fn load(
    files: &dyn FileSystem,
    directory: &Path,
    cluster_id: &str,
) -> Result<Loaded, LoadError> {
    let names = Names::list(files, directory)?;
    let quorum_file = read(files, &directory.join(quorum_state::FILE_NAME))?;
    let quorum = quorum_file.and_then(|bytes| quorum_state::decode(&bytes));
    let (epoch, electors) =
        quorum.map_or((LeaderEpoch::new(0), Vec::new()), |q| (q.epoch, q.voters));
    let image = Image {
        cluster_id: cluster_id.to_owned(),
        quorum: Arc::new(QuorumState { electors, ..QuorumState::default() }),
        ..Image::default()
    };
    let mut reader = LogReader::new(Replay::new(image), epoch);
    if let Some(id) = names.snapshots.last() {
        reader.snapshot(files, directory, *id)?;
    }
    reader.segments(files, directory, &names.segments)?;
    reader.finish(directory)
}

/// The names that matter.
#[derive(Debug, Default)]
struct Names {
    segments: Vec<Offset>,
    snapshots: Vec<SnapshotId>,
}

impl Names {
    fn list(files: &dyn FileSystem, directory: &Path) -> Result<Self, LoadError> {
        let mut names = Self::default();
        let entries = match files.list(directory) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            listed => {
                listed.map_err(|source| LoadError::Io { path: directory.to_owned(), source })?
            }
        };
        for entry in entries {
            match FileKind::parse(&entry.name) {
                FileKind::Segment(base) => names.segments.push(base),
                FileKind::Snapshot(id) => names.snapshots.push(id),
                FileKind::BesideSegment(_) | FileKind::Leftover | FileKind::Other => {}
            }
        }
        names.segments.sort();
        names.snapshots.sort();
        Ok(names)
    }
}

#[derive(Debug)]
struct LogReader {
    replay: Replay,
    snapshot: Option<SnapshotId>,
    /// Records below it are in the snapshot already.
    snapshot_end: Offset,
    next: Offset,
    last_epoch: LeaderEpoch,
    quorum_epoch: LeaderEpoch,
    epochs: Vec<EpochStart>,
    active: Option<ActiveSegment>,
    bytes_since_snapshot: u64,
}

impl LogReader {
    fn new(replay: Replay, quorum_epoch: LeaderEpoch) -> Self {
        Self {
            replay,
            snapshot: None,
            snapshot_end: Offset::ZERO,
            next: Offset::ZERO,
            last_epoch: LeaderEpoch::new(0),
            quorum_epoch,
            epochs: Vec::new(),
            active: None,
            bytes_since_snapshot: 0,
        }
    }

    fn snapshot(
        &mut self,
        files: &dyn FileSystem,
        directory: &Path,
        id: SnapshotId,
    ) -> Result<(), LoadError> {
        let path = directory.join(id.file_name());
        let bytes = read(files, &path)?.unwrap_or_default();
        snapshot::replay(&bytes, &mut self.replay).map_err(|reason| {
            let advice = "restore the file from a backup, or start the Kafka release that wrote it";
            LoadError::Unusable { path, reason: format!("{reason}; {advice}") }
        })?;
        self.snapshot = Some(id);
        self.snapshot_end = id.end;
        self.last_epoch = id.epoch;
        Ok(())
    }

    fn segments(
        &mut self,
        files: &dyn FileSystem,
        directory: &Path,
        bases: &[Offset],
    ) -> Result<(), LoadError> {
        let Some(first) = bases.first() else {
            return Ok(());
        };
        if *first > self.snapshot_end {
            let reason = format!(
                "the log begins at offset {first} but the newest snapshot ends at {}: restore the files in between",
                self.snapshot_end
            );
            return Err(LoadError::Unusable { path: directory.to_owned(), reason });
        }
        // Epochs below the snapshot may be lower than the snapshot's.
        let snapshot_epoch = std::mem::replace(&mut self.last_epoch, LeaderEpoch::new(0));
        self.next = *first;
        for (i, base) in bases.iter().enumerate() {
            let is_last = i + 1 == bases.len();
            self.segment(files, &directory.join(segment(*base)), *base, is_last)?;
        }
        self.last_epoch = self.last_epoch.max(snapshot_epoch);
        Ok(())
    }

    fn segment(
        &mut self,
        files: &dyn FileSystem,
        path: &Path,
        base: Offset,
        is_last: bool,
    ) -> Result<(), LoadError> {
        let io = |source| LoadError::Io { path: path.to_owned(), source };
        if base != self.next {
            let reason = format!(
                "the segment before it ends at offset {}, not here: a segment is missing or damaged; restore it from a backup",
                self.next
            );
            return Err(LoadError::Unusable { path: path.to_owned(), reason });
        }
        let file = files.open(path, OpenMode::Existing).map_err(io)?;
        let walked = walk(file.as_ref(), |batch| self.batch(batch, path)).map_err(|e| match e {
            WalkError::Io(source) => io(source),
            WalkError::Fatal(e) => e,
        })?;
        if let Some(damage) = walked.damage {
            if !is_last {
                let reason = format!(
                    "damaged at byte {} ({damage}) although more of the log follows; restore it from a backup",
                    walked.good_bytes
                );
                return Err(LoadError::Unusable { path: path.to_owned(), reason });
            }
            tracing::warn!(
                file = %path.display(),
                kept_bytes = walked.good_bytes,
                dropped_bytes = walked.file_bytes - walked.good_bytes,
                damage,
                "cutting off the end of the metadata log, which was never acknowledged"
            );
        }
        self.active = Some(ActiveSegment { base, file, good_bytes: walked.good_bytes });
        Ok(())
    }

    fn batch(&mut self, batch: &StoredBatch<'_>, path: &Path) -> Verdict<LoadError> {
        let Some(header) = batch.header() else {
            return Verdict::Damaged(format!("magic {}", batch.magic()));
        };
        if let Err(e) = batch.verify() {
            return Verdict::Damaged(e.to_string());
        }
        let epoch = header.partition_leader_epoch;
        if header.base_offset != self.next || epoch < self.last_epoch {
            let found = header.base_offset;
            return Verdict::Damaged(format!("offset {found} epoch {epoch} does not follow"));
        }
        if header.base_offset >= self.snapshot_end {
            if let Err(reason) = snapshot::replay_batch(batch, &mut self.replay) {
                let reason = format!(
                    "at offset {}: {reason}; if a newer Kafka wrote it, start that release, or restore a backup",
                    self.next
                );
                return Verdict::Fatal(LoadError::Unusable { path: path.to_owned(), reason });
            }
            self.bytes_since_snapshot += batch.bytes().len() as u64;
        }
        if epoch > self.last_epoch {
            self.epochs.push(EpochStart { epoch, start: self.next });
            self.last_epoch = epoch;
        }
        self.next = header.last_offset().plus(1);
        Verdict::Good
    }

    fn finish(self, directory: &Path) -> Result<Loaded, LoadError> {
        let end = self.next.max(self.snapshot_end);
        let transaction_open = self.replay.is_transaction_open();
        let misleads_kafka = self.replay.removed_credential();
        let image = self.replay.finish(end).map_err(|e| LoadError::Unusable {
            path: directory.to_owned(),
            reason: format!("{e}; restore the directory from a backup"),
        })?;
        Ok(Loaded {
            image,
            last_epoch: self.last_epoch.max(self.quorum_epoch),
            epochs: self.epochs,
            snapshot: self.snapshot,
            active: self.active.filter(|_| self.next == end),
            transaction_open,
            bytes_since_snapshot: self.bytes_since_snapshot,
            misleads_kafka,
        })
    }
}

fn read(files: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>, LoadError> {
    files.read(path).map_err(|source| LoadError::Io { path: path.to_owned(), source })
}
