//! The metadata log on disk, `__cluster_metadata-0`: one appender, snapshots that bound its growth.
//!
//! | file | content |
//! |---|---|
//! | `<base>.log` | batches, see `batches` |
//! | `<end>-<epoch>.checkpoint` | everything below `end`, see `snapshot` |
//! | `quorum-state` | see `quorum_state` |
//! | `leader-epoch-checkpoint`, `partition.metadata` | as beside any log |
//!
//! Indexes are left out: Kafka rebuilds them, and we read the log from its start. A [`Journal`] belongs to the store that
//! opened it, one thread at a time.

mod batches;
mod control;
mod load;
mod names;
mod quorum_state;
mod snapshot;
mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use batches::BatchWriter;
pub use control::{ControlRecord, Voter};
pub use load::{LoadError, Loaded, load};
pub use snapshot::replay as replay_snapshot;

use self::names::{FileKind, SnapshotId, segment};
use super::image::Image;
use crate::env::{File, FileSystem, OpenMode, write_atomically};
use crate::log::format::leader_epochs::{self, EpochStart};
use crate::log::format::partition_metadata;
use crate::types::{BrokerId, LeaderEpoch, Offset, Timestamp, Uuid};

/// Topic id of the metadata log.
const METADATA_TOPIC_ID: Uuid = Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// A segment that would grow beyond this is closed (Kafka's default of `metadata.log.segment.bytes`).
const SEGMENT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The log, ready for appends in one epoch.
#[derive(Debug)]
pub struct Journal {
    files: Arc<dyn FileSystem>,
    directory: PathBuf,
    epoch: LeaderEpoch,
    epochs: Vec<EpochStart>,
    active: Arc<dyn File>,
    active_base: Offset,
    active_bytes: u64,
    end: Offset,
    last_timestamp: Timestamp,
    bytes_since_snapshot: u64,
    /// Directories with names that the next sync must cover too.
    unsynced_directories: Vec<PathBuf>,
}

impl Journal {
    /// Goes on where `loaded` ends, in `epoch`. Cuts off a damaged end; syncs nothing before the first append.
    pub fn resume(
        files: Arc<dyn FileSystem>,
        directory: PathBuf,
        loaded: Loaded,
        epoch: LeaderEpoch,
    ) -> io::Result<Self> {
        let end = loaded.image.end_offset;
        let mut unsynced_directories = Vec::new();
        let (active_base, active, active_bytes) = match loaded.active {
            Some(segment) => {
                if segment.file.len()? > segment.good_bytes {
                    segment.file.set_len(segment.good_bytes)?;
                }
                (segment.base, segment.file, segment.good_bytes)
            }
            None => {
                files.create_dir_all(&directory)?;
                let path = directory.join(segment(end));
                let file = files.open(&path, OpenMode::CreateOrTruncate)?;
                // The log directory first: whoever finds the log must find who it belongs to.
                unsynced_directories.extend(directory.parent().map(Path::to_owned));
                unsynced_directories.push(directory.clone());
                (end, file, 0)
            }
        };
        Ok(Self {
            files,
            directory,
            epoch,
            epochs: loaded.epochs,
            active,
            active_base,
            active_bytes,
            end,
            last_timestamp: Timestamp::NONE,
            bytes_since_snapshot: loaded.bytes_since_snapshot,
            unsynced_directories,
        })
    }

    /// Batches for the end of the log, stamped with `now`.
    pub fn writer(&self, now: Timestamp) -> BatchWriter {
        BatchWriter::new(self.end, self.epoch, now)
    }

    /// Appends what a [`Journal::writer`] holds with one write and one sync. After an error the journal is of no further
    /// use: how much is on disk is unknown.
    pub fn append(&mut self, batches: &BatchWriter, now: Timestamp) -> io::Result<()> {
        let bytes = batches.bytes();
        if self.active_bytes > 0 && self.active_bytes + bytes.len() as u64 > SEGMENT_BYTES_MAX {
            self.roll()?;
            self.unsynced_directories.push(self.directory.clone());
        }
        self.active.write_all_at(bytes, self.active_bytes)?;
        self.active.sync()?;
        for directory in self.unsynced_directories.drain(..) {
            self.files.sync_dir(&directory)?;
        }
        if self.epochs.last().is_none_or(|last| last.epoch < self.epoch) {
            self.epochs.push(EpochStart { epoch: self.epoch, start: self.end });
        }
        self.active_bytes += bytes.len() as u64;
        self.bytes_since_snapshot += bytes.len() as u64;
        self.end = batches.next_offset();
        self.last_timestamp = now;
        Ok(())
    }

    /// Bytes that replay would have to read above the newest snapshot.
    pub fn bytes_since_snapshot(&self) -> u64 {
        self.bytes_since_snapshot
    }

    /// Writes `image`, which must cover exactly the log so far, as a snapshot. An error changes nothing.
    pub fn write_snapshot(&mut self, image: &Image, now: Timestamp) -> io::Result<()> {
        assert_eq!(image.end_offset, self.end, "a snapshot covers the whole log");
        let bytes = snapshot::encode(image, self.epoch, self.last_timestamp, now);
        self.put_snapshot(self.snapshot_id(), &bytes)
    }

    /// Goes on in a new segment after [`Journal::write_snapshot`] and removes the log that the snapshot stands for. After
    /// an error the journal is of no further use.
    pub fn begin_after_snapshot(&mut self) -> io::Result<()> {
        if self.active_base < self.end {
            self.roll()?;
            self.files.sync_dir(&self.directory)?;
        }
        self.bytes_since_snapshot = 0;
        self.epochs = vec![EpochStart { epoch: self.epoch, start: self.end }];
        if let Err(e) = self.retire_below(self.snapshot_id()) {
            tracing::warn!(error = %e, "files below the newest metadata snapshot stay for now");
        }
        Ok(())
    }

    fn snapshot_id(&self) -> SnapshotId {
        SnapshotId { end: self.end, epoch: self.epoch }
    }

    /// Writes the files beside the log, which only Kafka reads.
    pub fn settle(&self, image: &Image, node_id: BrokerId) -> io::Result<()> {
        let put = |name: &str, bytes: &[u8]| {
            write_atomically(self.files.as_ref(), &self.directory.join(name), bytes)
        };
        put("partition.metadata", &partition_metadata::encode(METADATA_TOPIC_ID))?;
        put("leader-epoch-checkpoint", &leader_epochs::encode(&self.epochs))?;
        let kraft_version = image.quorum.kraft_version;
        put(quorum_state::FILE_NAME, &quorum_state::encode(kraft_version, node_id, self.epoch))
    }

    /// Writes the checkpoint at offset 0 that Kafka's formatter leaves in the directory of a dynamic quorum: its voters.
    pub fn put_bootstrap_checkpoint(&self, image: &Image, now: Timestamp) -> io::Result<()> {
        let id = SnapshotId { end: Offset::ZERO, epoch: LeaderEpoch::new(0) };
        let path = self.directory.join(id.file_name());
        if self.files.stat(&path)?.is_some() {
            return Ok(());
        }
        let quorum = Image { quorum: Arc::clone(&image.quorum), ..Image::default() };
        let bytes = snapshot::encode(&quorum, id.epoch, Timestamp::new(0), now);
        self.put_snapshot(id, &bytes)
    }

    /// The log still begins at 0, so a checkpoint at 0 has its place.
    pub fn begins_at_zero(&self) -> bool {
        self.epochs.first().is_some_and(|first| first.start == Offset::ZERO)
    }

    fn put_snapshot(&self, id: SnapshotId, bytes: &[u8]) -> io::Result<()> {
        let path = self.directory.join(id.file_name());
        let part = self.directory.join(format!("{}.part", id.file_name()));
        let file = self.files.open(&part, OpenMode::CreateOrTruncate)?;
        file.write_all_at(bytes, 0)?;
        file.sync()?;
        self.files.rename(&part, &path)?;
        self.files.sync_dir(&self.directory)
    }

    /// Goes on in a new segment. All of the old one is synced, since every append is.
    fn roll(&mut self) -> io::Result<()> {
        let path = self.directory.join(segment(self.end));
        self.active = self.files.open(&path, OpenMode::CreateOrTruncate)?;
        self.active_base = self.end;
        self.active_bytes = 0;
        Ok(())
    }

    /// Removes what the snapshot stands for, the oldest first, so that a crash in between leaves a log without gaps.
    fn retire_below(&self, id: SnapshotId) -> io::Result<()> {
        let mut retired: Vec<String> = self
            .files
            .list(&self.directory)?
            .into_iter()
            .map(|entry| entry.name)
            .filter(|name| match FileKind::parse(name) {
                FileKind::Segment(base) | FileKind::BesideSegment(base) => base < id.end,
                FileKind::Snapshot(other) => other < id,
                FileKind::Leftover => true,
                FileKind::Other => false,
            })
            .collect();
        retired.sort();
        retired.iter().try_for_each(|name| self.files.remove_file(&self.directory.join(name)))
    }
}
