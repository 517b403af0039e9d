//! Producer state beside the segments: `.snapshot` files (the byte format is in `format::producer_snapshot`).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smallvec::SmallVec;

use super::format::producer_snapshot::{self, ProducerEntry};
use super::log::Unsynced;
use super::producers::{Producer, Producers, RecentBatch};
use super::segment::{FileKind, file_name};
use super::sweep::base_of;
use crate::env::{FileSystem, OpenMode};
use crate::types::{Offset, Timestamp};

/// The state as a snapshot file holds it: of each producer only the newest batch.
pub(super) fn encode(producers: &Producers) -> Vec<u8> {
    producer_snapshot::encode(producers.sorted().into_iter().map(|(producer_id, producer)| {
        let newest = producer.recent.last();
        ProducerEntry {
            producer_id,
            producer_epoch: producer.epoch,
            last_sequence: newest.map_or(-1, |batch| batch.last_sequence),
            last_offset: newest.map_or(Offset::NONE, |batch| batch.last_offset),
            offset_delta: newest.map_or(0, |batch| batch.offset_delta),
            timestamp: producer.last_timestamp,
            coordinator_epoch: producer.coordinator_epoch,
            transaction_first_offset: producer.transaction_start,
        }
    }))
}

/// The state that a snapshot file holds, without producers that have expired.
pub(super) fn decode(
    bytes: &[u8],
    now: Timestamp,
    expiration_ms: i64,
) -> Result<Producers, producer_snapshot::SnapshotDamage> {
    let mut producers = Producers::default();
    for entry in producer_snapshot::decode(bytes)? {
        let producer = to_producer(&entry);
        if !producer.is_expired(now, expiration_ms) {
            producers.restore(entry.producer_id, producer);
        }
    }
    Ok(producers)
}

fn to_producer(entry: &ProducerEntry) -> Producer {
    let newest = RecentBatch {
        last_sequence: entry.last_sequence,
        last_offset: entry.last_offset,
        offset_delta: entry.offset_delta,
        timestamp: entry.timestamp,
    };
    // Only a marker was seen of a producer without an offset.
    let recent = (entry.last_offset >= Offset::ZERO).then_some(newest);
    Producer {
        epoch: entry.producer_epoch,
        coordinator_epoch: entry.coordinator_epoch,
        last_timestamp: entry.timestamp,
        transaction_start: entry.transaction_first_offset,
        recent: SmallVec::from_iter(recent),
    }
}

/// The snapshot files of one partition while it is opened.
#[derive(Debug)]
pub(super) struct SnapshotFiles {
    files: Arc<dyn FileSystem>,
    directory: PathBuf,
    offsets: BTreeSet<Offset>,
}

impl SnapshotFiles {
    /// Those among the names in a directory.
    pub(super) fn among(
        names: &BTreeSet<String>,
        files: Arc<dyn FileSystem>,
        directory: &Path,
    ) -> Self {
        let is_snapshot =
            |(name, base): &(&String, Offset)| **name == file_name(*base, FileKind::Snapshot);
        let named = names.iter().filter_map(|name| Some((name, base_of(name)?)));
        let offsets = named.filter(is_snapshot).map(|(_, base)| base).collect();
        Self { files, directory: directory.to_owned(), offsets }
    }

    /// The newest snapshot, if it is at exactly this offset.
    pub(super) fn newest_up_to(&self, at: Offset) -> Option<Offset> {
        self.offsets.last().copied().filter(|&newest| newest == at)
    }

    /// Does the newest snapshot know of the end of a transaction? If it cannot be read, or there is none, it may.
    pub(super) fn tell_of_markers(&self) -> io::Result<bool> {
        let Some(newest) = self.offsets.last() else { return Ok(true) };
        let bytes = self.files.read(&self.path(*newest))?.unwrap_or_default();
        Ok(producer_snapshot::decode(&bytes)
            .map_or(true, |entries| entries.iter().any(|entry| entry.coordinator_epoch >= 0)))
    }

    /// The state of the newest good snapshot at or below `at`, and its offset; nothing from offset 0 on if there is none.
    /// Damaged ones are removed.
    pub(super) fn load(
        &mut self,
        at: Offset,
        now: Timestamp,
        expiration_ms: i64,
    ) -> io::Result<(Offset, Producers)> {
        while let Some(&offset) = self.offsets.range(..=at).next_back() {
            let path = self.path(offset);
            let bytes = self.files.read(&path)?.unwrap_or_default();
            match decode(&bytes, now, expiration_ms) {
                Ok(producers) => return Ok((offset, producers)),
                Err(damage) => {
                    tracing::warn!(file = %path.display(), %damage, "a producer snapshot is removed");
                    self.remove(offset)?;
                }
            }
        }
        Ok((Offset::ZERO, Producers::default()))
    }

    /// Writes a snapshot at `at`, unless the log is empty.
    pub(super) fn write(
        &mut self,
        at: Offset,
        producers: &Producers,
        unsynced: &mut Unsynced,
    ) -> io::Result<()> {
        if at == Offset::ZERO {
            return Ok(());
        }
        let file = self.files.open(&self.path(at), OpenMode::CreateOrTruncate)?;
        file.write_all_at(&encode(producers), 0)?;
        unsynced.files.push(file);
        self.offsets.insert(at);
        Ok(())
    }

    /// Removes those behind the end of the log, and those that belong to no segment, but for the newest one.
    pub(super) fn remove_stray(
        &mut self,
        bases: &BTreeSet<Offset>,
        log_end: Offset,
    ) -> io::Result<()> {
        let newest = self.offsets.range(..=log_end).next_back().copied();
        let is_stray = |offset: &&Offset| {
            **offset > log_end || (!bases.contains(offset) && Some(**offset) != newest)
        };
        let stray: Vec<Offset> = self.offsets.iter().filter(is_stray).copied().collect();
        stray.into_iter().try_for_each(|offset| self.remove(offset))
    }

    /// Removes every snapshot.
    pub(super) fn remove_all(&mut self) -> io::Result<()> {
        std::mem::take(&mut self.offsets).into_iter().try_for_each(|offset| self.remove(offset))
    }

    fn remove(&mut self, offset: Offset) -> io::Result<()> {
        self.offsets.remove(&offset);
        self.files.remove_file(&self.path(offset))
    }

    fn path(&self, offset: Offset) -> PathBuf {
        self.directory.join(file_name(offset, FileKind::Snapshot))
    }
}
