//! A log that was restored and that no broker has opened yet: segments without indexes.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::point::Place;
use crate::cli::dump::walk::{Step, Walk};
use crate::env::{File, FileSystem, OpenMode, write_atomically};
use crate::log::batch::{HEADER_LEN, set_offset_and_epoch};
use crate::log::build_marker;
use crate::log::format::leader_epochs;
use crate::log::reader::RecordReader;
use crate::log::scan::StoredBatch;
use crate::types::{
    LeaderEpoch, Marker, Offset, Outcome, ProducerId, ProducerIdAndEpoch, Timestamp,
    TransactionVersion,
};

/// Most that a batch may be decompressed to; it passes through a window.
const DECOMPRESSED_BYTES_MAX: usize = i32::MAX as usize;

const EPOCHS_FILE: &str = "leader-epoch-checkpoint";

/// The segments of one partition.
#[derive(Debug)]
pub(super) struct StoredLog<'a> {
    files: &'a dyn FileSystem,
    directory: PathBuf,
    /// Base offsets, ascending.
    segments: Vec<Offset>,
}

/// How a log goes on.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Offset of the next record.
    pub next: Offset,
    /// Where the next batch goes.
    position: u64,
    epoch: LeaderEpoch,
    /// Producers with an open transaction.
    pub open: BTreeMap<ProducerId, Open>,
    /// When the transaction before it ended.
    marked: BTreeMap<ProducerId, Timestamp>,
}

/// An open transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// With the epoch of what was written last.
    pub producer: ProducerIdAndEpoch,
    /// Time of the marker before it.
    pub after: Timestamp,
}

impl<'a> StoredLog<'a> {
    pub fn find(files: &'a dyn FileSystem, directory: &Path) -> io::Result<Self> {
        let base = |name: &str| {
            let base: i64 = name.strip_suffix(".log")?.parse().ok()?;
            (base >= 0).then_some(Offset::new(base))
        };
        let entries = files.list(directory)?;
        let mut segments: Vec<Offset> =
            entries.iter().filter_map(|entry| base(&entry.name)).collect();
        segments.sort();
        Ok(Self { files, directory: directory.to_owned(), segments })
    }

    /// All batches in order, with where each ends. What lies behind damage is left out, as recovery does.
    pub fn walk<E: From<io::Error>>(
        &self,
        mut visit: impl FnMut(Place, &StoredBatch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (segment, base) in self.segments.iter().enumerate() {
            let file = self.open(*base, OpenMode::ReadOnly)?;
            let bytes = file.len()?;
            let mut walk = Walk::new(file, None)?.unverified();
            let mut position = 0;
            while let Some(step) = walk.next()? {
                let Step::Batch { batch, .. } = step else { break };
                position += batch.bytes().len() as u64;
                visit(Place { segment, position }, &batch)?;
            }
            if position < bytes {
                break;
            }
        }
        Ok(())
    }

    /// Cuts it off at `end`; `None` is its start. The newest goes first.
    pub fn cut(&self, end: Option<Place>) -> io::Result<()> {
        let end = end.unwrap_or(Place { segment: 0, position: 0 });
        for base in self.segments.iter().skip(end.segment + 1).rev() {
            self.files.remove_file(&self.path(*base))?;
        }
        let Some(last) = self.segments.get(end.segment) else { return Ok(()) };
        self.open(*last, OpenMode::Existing)?.set_len(end.position)
    }

    /// What the log ends with. Reads all of it.
    pub fn ending(&self) -> io::Result<Ending> {
        let mut ending = Ending {
            next: self.segments.last().copied().unwrap_or(Offset::ZERO),
            ..Ending::default()
        };
        let mut last = self.segments.len().saturating_sub(1);
        self.walk(|place, batch| {
            last = place.segment;
            ending.next = batch.last_offset().plus(1);
            ending.position = place.position;
            ending.epoch = batch.leader_epoch();
            let Some(header) = batch.header().filter(|header| header.is_transactional()) else {
                return Ok::<_, io::Error>(());
            };
            let producer =
                ProducerIdAndEpoch { id: header.producer_id, epoch: header.producer_epoch };
            if header.is_control() {
                ending.open.remove(&producer.id);
                ending.marked.insert(producer.id, header.max_timestamp);
            } else {
                let after = ending.marked.get(&producer.id).copied().unwrap_or(Timestamp::NONE);
                ending.open.insert(producer.id, Open { producer, after });
            }
            Ok(())
        })?;
        if last + 1 < self.segments.len() {
            // The last segments are empty.
            ending.next = self.segments.last().copied().unwrap_or(ending.next);
            ending.position = 0;
        }
        Ok(ending)
    }

    /// Ends the transactions of `producers`, as an abort of their coordinator would.
    pub fn abort(
        &self,
        ending: &mut Ending,
        producers: &[ProducerIdAndEpoch],
        now: Timestamp,
    ) -> io::Result<()> {
        let Some(last) = self.segments.last() else { return Ok(()) };
        let mut bytes = Vec::new();
        let begin = ending.position;
        for producer in producers.iter().copied() {
            let marker = Marker {
                producer,
                outcome: Outcome::Abort,
                coordinator_epoch: 0,
                version: TransactionVersion::V1,
            };
            let mut batch = build_marker(&marker, now)?;
            set_offset_and_epoch(&mut batch, ending.next, ending.epoch.max(LeaderEpoch::new(0)));
            ending.next = ending.next.plus(1);
            ending.position += batch.len() as u64;
            bytes.extend(batch);
        }
        self.open(*last, OpenMode::Existing)?.write_all_at(&bytes, begin)
    }

    /// Keys that have a record behind `end`, below `cleaned`, and none before: compaction may have taken one. Holds the keys
    /// behind `end` in memory.
    pub fn superseded(&self, end: Option<Place>, cleaned: Offset) -> io::Result<u64> {
        let (mut behind, mut is_behind) = (HashSet::new(), end.is_none());
        self.walk(|place, batch| {
            if is_behind && batch.offset_field() < cleaned {
                each_record(batch, |key, _| {
                    behind.insert(key.to_owned());
                });
            }
            is_behind |= Some(place) == end;
            Ok::<_, io::Error>(())
        })?;
        let mut is_behind = end.is_none();
        self.walk(|place, batch| {
            if !is_behind {
                each_record(batch, |key, _| {
                    behind.remove(key);
                });
            }
            is_behind |= Some(place) == end;
            Ok::<_, io::Error>(())
        })?;
        Ok(behind.len() as u64)
    }

    /// Makes it begin at `start`, behind its end, without a record.
    pub fn begin_at(&self, start: Offset) -> io::Result<()> {
        for base in self.segments.iter().rev() {
            self.files.remove_file(&self.path(*base))?;
        }
        self.files.open(&self.path(start), OpenMode::CreateOrTruncate).map(drop)
    }

    /// Takes what lies beside the segments back to `next`.
    pub fn trim_beside(&self, next: Offset) -> io::Result<()> {
        for entry in self.files.list(&self.directory)? {
            let of = entry.name.strip_suffix(".snapshot").and_then(|stem| stem.parse::<i64>().ok());
            if of.is_some_and(|of| of > next.get()) {
                self.files.remove_file(&self.directory.join(&entry.name))?;
            }
        }
        let path = self.directory.join(EPOCHS_FILE);
        let Some(bytes) = self.files.read(&path)? else { return Ok(()) };
        // A damaged one is made again from the log.
        let Ok(mut epochs) = leader_epochs::decode(&bytes) else { return Ok(()) };
        epochs.retain(|epoch| epoch.start < next);
        write_atomically(self.files, &path, &leader_epochs::encode(&epochs))
    }

    fn path(&self, base: Offset) -> PathBuf {
        self.directory.join(format!("{:020}.log", base.get()))
    }

    fn open(&self, base: Offset, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        self.files.open(&self.path(base), mode)
    }
}

/// Keys and values of the records of a batch that can be read. A marker has none of interest.
pub(super) fn each_record(batch: &StoredBatch<'_>, mut visit: impl FnMut(&[u8], Option<&[u8]>)) {
    let Some(header) = batch.header().filter(|header| !header.is_control()) else { return };
    let bytes = &batch.bytes()[HEADER_LEN..];
    let Ok(mut records) = RecordReader::new(&header, bytes, DECOMPRESSED_BYTES_MAX) else { return };
    while let Some(Ok(record)) = records.next() {
        visit(record.key.unwrap_or_default(), record.value);
    }
}
