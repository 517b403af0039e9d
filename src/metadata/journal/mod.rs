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
pub mod quorum_state;
pub mod rewind;
mod snapshot;
mod walk;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use batches::BatchWriter;
pub use control::{ControlRecord, Voter};
pub use load::{ActiveSegment, LoadError, Loaded, load};
pub use names::SnapshotId;
pub use snapshot::replay as replay_snapshot;

use self::names::{FileKind, segment};
use super::image::Image;
use crate::env::{FileSystem, OpenMode, is_no_room, write_atomically};
use crate::log::format::leader_epochs::{self, EpochStart};
use crate::log::format::partition_metadata;
use crate::types::{BrokerId, LeaderEpoch, Offset, Timestamp, Uuid};

/// Topic id of the metadata log.
const METADATA_TOPIC_ID: Uuid = Uuid::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// A segment that would grow beyond this is closed (Kafka's default of `metadata.log.segment.bytes`).
const SEGMENT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Room kept free behind the end of the log for changes on a full disk: deleting a topic, which makes room, is one. Given back
/// by a clean stop.
const RESERVED_BYTES: u64 = 256 << 10;

/// Why nothing was appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The disk is full, or no further file may be opened: the log is as before, and it may be tried again.
    #[error("there is no room: {0}")]
    NoRoom(io::Error),
    /// The journal is of no further use: how much is on disk is unknown.
    #[error("{0}")]
    Failed(io::Error),
}

impl AppendError {
    fn of(error: io::Error) -> Self {
        if is_no_room(&error) { Self::NoRoom(error) } else { Self::Failed(error) }
    }
}

impl From<AppendError> for io::Error {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::NoRoom(error) | AppendError::Failed(error) => error,
        }
    }
}

/// The log, ready for appends in one epoch.
#[derive(Debug)]
pub struct Journal {
    files: Arc<dyn FileSystem>,
    directory: PathBuf,
    epoch: LeaderEpoch,
    epochs: Vec<EpochStart>,
    active: ActiveSegment,
    end: Offset,
    last_timestamp: Timestamp,
    bytes_since_snapshot: u64,
    misleads_kafka: bool,
    /// Where the room ends that is kept free.
    reserved_to: u64,
}

impl Journal {
    /// Goes on where `loaded` ends, in `epoch`. Cuts off a damaged end, begins the log if there is none.
    pub fn resume(
        files: Arc<dyn FileSystem>,
        directory: PathBuf,
        loaded: Loaded,
        epoch: LeaderEpoch,
    ) -> io::Result<Self> {
        let end = loaded.image.end_offset;
        let active = match loaded.active {
            Some(active) => active,
            None => {
                let active = begin_segment(files.as_ref(), &directory, end)?;
                // A log that ends below its snapshot is of no use any more, and would leave a gap.
                loaded
                    .snapshot
                    .map_or(Ok(()), |id| retire_below(files.as_ref(), &directory, id))?;
                active
            }
        };
        if active.good_bytes == 0 {
            // A segment is named durably before anything is written to it, so this is the only case in which its name may
            // not be. The log directory first: whoever finds the log must find who it belongs to.
            directory.parent().map_or(Ok(()), |parent| files.sync_dir(parent))?;
            files.sync_dir(&directory)?;
        }
        if active.file.len()? > active.good_bytes {
            active.file.set_len(active.good_bytes)?;
        }
        Ok(Self {
            files,
            directory,
            epoch,
            epochs: loaded.epochs,
            active,
            end,
            last_timestamp: Timestamp::NONE,
            bytes_since_snapshot: loaded.bytes_since_snapshot,
            misleads_kafka: loaded.misleads_kafka,
            reserved_to: 0,
        })
    }

    /// Batches for the end of the log, stamped with `now`.
    pub fn writer(&self, now: Timestamp) -> BatchWriter {
        BatchWriter::new(self.end, self.epoch, now)
    }

    /// Appends what a [`Journal::writer`] holds with one write and one sync.
    pub fn append(&mut self, batches: &BatchWriter, now: Timestamp) -> Result<(), AppendError> {
        let bytes = batches.bytes();
        let written = self.active.good_bytes;
        if written > 0 && written + bytes.len() as u64 > SEGMENT_BYTES_MAX {
            self.roll().map_err(AppendError::of)?;
        }
        self.write(bytes)?;
        self.active.file.sync().map_err(AppendError::Failed)?;
        if self.epochs.last().is_none_or(|last| last.epoch < self.epoch) {
            self.epochs.push(EpochStart { epoch: self.epoch, start: self.end });
        }
        self.active.good_bytes += bytes.len() as u64;
        self.bytes_since_snapshot += bytes.len() as u64;
        self.end = batches.next_offset();
        self.last_timestamp = now;
        Ok(())
    }

    /// What was written of what found no room is cut off.
    fn write(&mut self, bytes: &[u8]) -> Result<(), AppendError> {
        let at = self.active.good_bytes;
        let written = self.active.file.write_all_at(bytes, at).map_err(AppendError::of);
        if matches!(written, Err(AppendError::NoRoom(_))) {
            self.active.file.set_len(at).map_err(AppendError::Failed)?;
            self.reserved_to = at;
        }
        written
    }

    /// Keeps room free for the next changes, as far as there is any. Best called after an append that nobody waits for any more.
    pub fn reserve(&mut self) {
        let end = self.active.good_bytes;
        if end + RESERVED_BYTES / 2 > self.reserved_to {
            // Tried again with the next change.
            let reserved = self.active.file.reserve(end, RESERVED_BYTES);
            self.reserved_to = if reserved.is_ok() { end + RESERVED_BYTES } else { end };
        }
    }

    /// Gives that room back.
    pub fn release(&mut self) -> io::Result<()> {
        if self.reserved_to > self.active.good_bytes {
            self.active.file.set_len(self.active.good_bytes)?;
            self.reserved_to = 0;
        }
        Ok(())
    }

    /// Bytes that replay would have to read above the newest snapshot.
    pub fn bytes_since_snapshot(&self) -> u64 {
        self.bytes_since_snapshot
    }

    /// A Kafka that replays the log would not come to the state that it stands for: it needs a snapshot. Kafka loses SCRAM
    /// credentials when the removal of another one is replayed (`log-engine` reference 1.10).
    pub fn misleads_kafka(&self) -> bool {
        self.misleads_kafka
    }

    /// Writes `image`, which must cover exactly the log so far, as a snapshot. An error changes nothing.
    pub fn write_snapshot(&mut self, image: &Image, now: Timestamp) -> io::Result<()> {
        assert_eq!(image.end_offset, self.end, "a snapshot covers the whole log");
        let bytes = snapshot::encode(image, self.epoch, self.last_timestamp, now);
        self.put_snapshot(self.snapshot_id(), &bytes)
    }

    /// Goes on in a new segment after [`Journal::write_snapshot`] and removes the log that the snapshot stands for. An error
    /// changes nothing.
    pub fn begin_after_snapshot(&mut self) -> io::Result<()> {
        if self.active.base < self.end {
            self.roll()?;
        }
        self.bytes_since_snapshot = 0;
        self.misleads_kafka = false;
        self.epochs = vec![EpochStart { epoch: self.epoch, start: self.end }];
        if let Err(e) = retire_below(self.files.as_ref(), &self.directory, self.snapshot_id()) {
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
        let next = begin_segment(self.files.as_ref(), &self.directory, self.end)?;
        self.files.sync_dir(&self.directory)?;
        self.release()?;
        self.active = next;
        Ok(())
    }
}

/// Removes what a snapshot stands for, the oldest first, so that a crash in between leaves a log without gaps.
fn retire_below(files: &dyn FileSystem, directory: &Path, id: SnapshotId) -> io::Result<()> {
    let is_retired = |name: &String| match FileKind::parse(name) {
        FileKind::Segment(base) | FileKind::BesideSegment(base) => base < id.end,
        FileKind::Snapshot(other) => other < id,
        FileKind::Leftover => true,
        FileKind::Other => false,
    };
    let names = files.list(directory)?.into_iter().map(|entry| entry.name);
    let mut retired: Vec<String> = names.filter(is_retired).collect();
    retired.sort();
    retired.iter().try_for_each(|name| files.remove_file(&directory.join(name)))
}

/// Creates an empty segment; its name is not synced.
fn begin_segment(
    files: &dyn FileSystem,
    directory: &Path,
    base: Offset,
) -> io::Result<ActiveSegment> {
    files.create_dir_all(directory)?;
    let file = files.open(&directory.join(segment(base)), OpenMode::CreateOrTruncate)?;
    Ok(ActiveSegment { base, file, good_bytes: 0 })
}
