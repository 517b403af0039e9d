//! The indexes beside a `.log`: their entries, and whether they agree with the log.
//!
//! Entries and batches are in the same order, so one walk over both is enough, however large they are.

mod offsets;
mod times;

use std::io;
use std::path::{Path, PathBuf};

pub(super) use self::offsets::OffsetIndex;
pub(super) use self::times::TimeIndex;
use super::entry::Entry;
use super::output::Output;
use super::paths::Found;
use super::stream::Entries;
use super::walk::{Step, Walk};
use super::{DumpArguments, DumpError, OffsetRange};
use crate::env::{FileSystem, OpenMode};
use crate::log::format::aborted_index::{self, ENTRY_LEN};
use crate::log::format::entries;
use crate::types::{Offset, Timestamp};

/// An index of aborted transactions above this is not one: it would be 30 million transactions in a segment.
const ABORTED_BYTES_MAX: u64 = 1 << 30;

/// One of the two indexes whose entries point into the log in its order. It knows the entry before.
pub(super) trait IndexKind<const LEN: usize>: Sized {
    type Entry: entries::Entry<LEN> + Copy;

    /// What the file is called.
    const NAME: &'static str;

    /// Nothing was read yet of the index of the segment with this base; without a log its entries are compared with each other
    /// alone.
    fn begin(base: Offset, log: Option<BesideLog>) -> Self;

    /// Can zeros be an entry in a file of this length? Else they are what Kafka reserves.
    fn may_be_zero(file_bytes: u64) -> bool;

    fn offset(entry: Self::Entry) -> Offset;

    fn show(entry: Self::Entry) -> Entry;

    /// Says what is wrong with the next entry, which begins at `at`.
    fn check(
        &mut self,
        at: u64,
        entry: Self::Entry,
        output: &mut Output<'_>,
    ) -> Result<(), DumpError>;
}

/// Shows an index, and checks it against the log beside it if that is asked for.
pub(super) fn dump<K: IndexKind<LEN>, const LEN: usize>(
    files: &dyn FileSystem,
    arguments: &DumpArguments,
    found: &Found,
    base: Offset,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let file = files.open(&found.path, OpenMode::ReadOnly).map_err(DumpError::Read)?;
    let mut entries = Entries::<LEN>::new(file).map_err(DumpError::Read)?;
    output.head(head(K::NAME, base, entries.file_bytes()))?;
    let range = arguments.offsets.unwrap_or(OffsetRange::ALL);
    let log = if arguments.verify { BesideLog::open(files, &found.path)? } else { None };
    if arguments.verify && log.is_none() {
        output.problem(None, "there is no log beside it")?;
    }
    let mut kind = K::begin(base, log);
    while let Some((at, raw)) = entries.next().map_err(DumpError::Read)? {
        if raw == [0; LEN] && !K::may_be_zero(entries.file_bytes()) {
            return Ok(preallocated(at, entries.file_bytes(), output)?);
        }
        let entry = entries::Entry::decode(&raw, base);
        if range.holds(K::offset(entry)) {
            output.entry(&K::show(entry))?;
        }
        kind.check(at, entry, output)?;
    }
    match entries.torn_bytes() {
        0 => Ok(()),
        torn => Ok(output.problem(None, &format!("{torn} bytes behind the last entry are none"))?),
    }
}

/// What an index points at.
#[derive(Clone, Copy, Debug)]
struct BatchSeen {
    position: u64,
    last_offset: Offset,
    max_timestamp: Timestamp,
}

/// The batches of the log that an index belongs to, by their headers.
pub(super) struct BesideLog {
    walk: Walk,
    /// The batch that the walk stands at.
    current: Option<BatchSeen>,
}

impl BesideLog {
    /// `None` if there is no log.
    fn open(files: &dyn FileSystem, index: &Path) -> Result<Option<Self>, DumpError> {
        let path = log_of(index);
        if files.stat(&path).map_err(DumpError::Read)?.is_none() {
            return Ok(None);
        }
        let file = files.open(&path, OpenMode::ReadOnly).map_err(DumpError::Read)?;
        let walk = Walk::new(file, None).map_err(DumpError::Read)?.unverified();
        let mut log = Self { walk, current: None };
        log.advance().map_err(DumpError::Read)?;
        Ok(Some(log))
    }

    fn advance(&mut self) -> io::Result<()> {
        self.current = loop {
            match self.walk.next()? {
                Some(Step::Batch { position, batch, .. }) => {
                    let (last_offset, max_timestamp) = (batch.last_offset(), batch.max_timestamp());
                    break Some(BatchSeen { position, last_offset, max_timestamp });
                }
                Some(_) => {}
                None => break None,
            }
        };
        Ok(())
    }
}

/// The log beside an index, also of one that waits to be swapped in or deleted.
fn log_of(index: &Path) -> PathBuf {
    let name = index.file_name().unwrap_or_default().to_string_lossy();
    let log = ["timeindex", "txnindex", "index"]
        .iter()
        .find_map(|kind| {
            let (stem, suffix) = name.split_once(&format!(".{kind}"))?;
            Some(format!("{stem}.log{suffix}"))
        })
        .unwrap_or_default();
    index.with_file_name(log)
}

fn head(what: &str, base: Offset, bytes: u64) -> Entry {
    Entry::new("file").with("type", what).with("baseOffset", base.get()).with("bytes", bytes)
}

/// Zeros that Kafka reserves behind the entries of an index in use.
fn preallocated(from: u64, bytes: u64, output: &mut Output<'_>) -> io::Result<()> {
    output.note(&format!("the {} bytes from {from} on are reserved: no entries", bytes - from))
}

/// A `.txnindex`: its entries, which the engine's decoder checks.
pub(super) fn aborted(
    files: &dyn FileSystem,
    found: &Found,
    base: Offset,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let file = files.open(&found.path, OpenMode::ReadOnly).map_err(DumpError::Read)?;
    let len = file.len().map_err(DumpError::Read)?;
    output.head(head("aborted transactions", base, len))?;
    if len > ABORTED_BYTES_MAX {
        return Ok(output.problem(None, "it is too large for an index of aborted transactions")?);
    }
    let bytes = file.read_all().map_err(DumpError::Read)?;
    let whole = bytes.len() - bytes.len() % ENTRY_LEN;
    let (entries, damage) = match aborted_index::decode(&bytes, base) {
        Ok(entries) => (entries, None),
        // Each entry alone can be read, unless its version is unknown.
        Err(damage) => {
            let single = |raw: &[u8]| aborted_index::decode(raw, Offset::new(i64::MIN)).ok();
            let single = bytes[..whole].chunks(ENTRY_LEN).filter_map(single).flatten();
            (single.collect(), Some(damage))
        }
    };
    for entry in &entries {
        output.entry(
            &Entry::new("aborted")
                .with("producerId", entry.producer_id.get())
                .with("firstOffset", entry.first_offset.get())
                .with("lastOffset", entry.last_offset.get())
                .with("lastStableOffset", entry.last_stable_offset.get()),
        )?;
    }
    match damage {
        Some(damage) => Ok(output.problem(None, &damage.to_string())?),
        None => Ok(()),
    }
}
