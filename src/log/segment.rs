//! One segment of a log: its files and how to find a batch in them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};

use super::access::Access;
use super::batch_start::{BatchStart, StartScan};
use super::index::{EntryCounts, SegmentIndex};
use crate::env::{File, FileSystem, OpenMode};
use crate::types::{Offset, Timestamp};

/// The kinds of files that make up a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// The batches.
    Log,
    /// Offset to position.
    OffsetIndex,
    /// Time to offset.
    TimeIndex,
    /// Aborted transactions.
    TransactionIndex,
    /// Producer state up to the base offset.
    Snapshot,
}

impl FileKind {
    /// What a segment consists of, the `.log` first.
    pub(super) const OF_A_SEGMENT: [Self; 4] =
        [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::TransactionIndex];
    /// All kinds.
    pub(super) const ALL: [Self; 5] =
        [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::TransactionIndex, Self::Snapshot];

    /// What the file's name ends with.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
            Self::Snapshot => "snapshot",
        }
    }
}

/// Name of a segment file: twenty digits and the kind.
pub(super) fn file_name(base: Offset, kind: FileKind) -> String {
    format!("{:020}.{}", base.get(), kind.extension())
}

/// What the names of a segment's files end with behind the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Suffix {
    /// Nothing: the files are part of the log.
    #[default]
    None,
    /// Being written by the cleaner.
    Cleaned,
    /// Complete; takes the place of others.
    Swap,
    /// Waits for its removal.
    Deleted,
}

impl Suffix {
    /// As it stands in names.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Cleaned => ".cleaned",
            Self::Swap => ".swap",
            Self::Deleted => ".deleted",
        }
    }
}

/// The files of one segment, opened when they are first needed.
#[derive(Debug)]
pub(super) struct SegmentFiles {
    files: Arc<dyn FileSystem>,
    base: Offset,
    /// Which of the segments that the cleaner wrote in this life; 0 for others. Several may follow each other at one base, and
    /// readers of an older one must not find the files of a newer one when both are deleted.
    cleaned: u64,
    opened: Mutex<Opened>,
}

/// How many segments the cleaner has written.
static CLEANED: AtomicU64 = AtomicU64::new(0);

/// What the lock of a segment's files guards: where they lie, and which of them are open.
#[derive(Debug)]
pub(super) struct Opened {
    /// Another one after a move.
    directory: Arc<Path>,
    /// What the files are called now.
    suffix: Suffix,
    log: Option<Arc<dyn File>>,
    offset_index: Option<Arc<dyn File>>,
    time_index: Option<Arc<dyn File>>,
}

impl SegmentFiles {
    pub(super) fn new(files: Arc<dyn FileSystem>, directory: Arc<Path>, base: Offset) -> Self {
        let opened = Mutex::new(Opened::closed(directory, Suffix::None));
        Self { files, base, cleaned: 0, opened }
    }

    /// Files yet to be written, which take the place of others once they are complete.
    pub(super) fn cleaned(files: Arc<dyn FileSystem>, directory: Arc<Path>, base: Offset) -> Self {
        let opened = Mutex::new(Opened::closed(directory, Suffix::Cleaned));
        let cleaned = CLEANED.fetch_add(1, Ordering::Relaxed) + 1;
        Self { files, base, cleaned, opened }
    }

    /// Where a file of the segment lies now.
    pub(super) fn path(&self, kind: FileKind) -> PathBuf {
        let opened = self.opened.lock();
        self.path_with(kind, &opened, opened.suffix)
    }

    /// Keeps everyone from opening the files.
    pub(super) fn hold(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock()
    }

    fn path_with(&self, kind: FileKind, opened: &Opened, suffix: Suffix) -> PathBuf {
        let (name, suffix_text) = (file_name(self.base, kind), suffix.text());
        opened.directory.join(match suffix {
            Suffix::Deleted if self.cleaned > 0 => format!("{name}.{}{suffix_text}", self.cleaned),
            _ => format!("{name}{suffix_text}"),
        })
    }

    /// The open file; handles stay valid when the file is renamed or removed. Opens it if it is not: blocks then.
    pub(super) fn open(&self, kind: FileKind) -> io::Result<Arc<dyn File>> {
        let mut opened = self.opened.lock();
        let path = self.path_with(kind, &opened, opened.suffix);
        let Some(slot) = opened.slot(kind) else {
            return self.files.open(&path, OpenMode::ReadOnly);
        };
        if slot.is_none() {
            *slot = Some(self.files.open(&path, OpenMode::Existing)?);
        }
        Ok(Arc::clone(slot.as_ref().expect("just opened")))
    }

    /// As [`SegmentFiles::open`]; for [`Access::Cached`] only what is open already.
    fn open_for(&self, access: Access, kind: FileKind) -> io::Result<Arc<dyn File>> {
        if access == Access::Blocking {
            return self.open(kind);
        }
        // Held by somebody who opens or renames a file: not to be waited for.
        let mut opened = self.opened.try_lock().ok_or(io::ErrorKind::WouldBlock)?;
        let file = opened.slot(kind).and_then(|slot| slot.clone());
        file.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// True if nothing is open, as far as can be told without waiting.
    pub(super) fn are_closed(&self) -> bool {
        self.opened.try_lock().is_some_and(|opened| opened.log.is_none())
    }

    /// A file for one look: it is not kept open.
    pub(super) fn open_once(&self, kind: FileKind) -> io::Result<Arc<dyn File>> {
        // Under the lock, so that it is not renamed meanwhile.
        let opened = self.opened.lock();
        self.files.open(&self.path_with(kind, &opened, opened.suffix), OpenMode::ReadOnly)
    }

    /// A file of the segment for writing, created if there is none.
    pub(super) fn open_or_create(&self, kind: FileKind) -> io::Result<Arc<dyn File>> {
        self.files.open(&self.path(kind), OpenMode::CreateOrKeep)
    }

    /// Creates a file of the segment, or empties it.
    pub(super) fn create(&self, kind: FileKind) -> io::Result<Arc<dyn File>> {
        let file = self.files.open(&self.path(kind), OpenMode::CreateOrTruncate)?;
        if let Some(slot) = self.opened.lock().slot(kind) {
            *slot = Some(Arc::clone(&file));
        }
        Ok(file)
    }

    /// Lets go of the open files; readers that hold one keep it.
    pub(super) fn close(&self) {
        let mut opened = self.opened.lock();
        opened.close();
    }

    /// Renames the files of these kinds that exist; their new names. The `.log` goes first, as in Kafka: a crash between two
    /// renames then leaves no index without its log.
    pub(super) fn rename(&self, kinds: &[FileKind], to: Suffix) -> io::Result<Vec<PathBuf>> {
        let mut renamed = Vec::new();
        // Held over the renames, so that a reader opens a file by the name that it has.
        let mut opened = self.opened.lock();
        for kind in kinds {
            let (from, to) =
                (self.path_with(*kind, &opened, opened.suffix), self.path_with(*kind, &opened, to));
            match self.files.rename(&from, &to) {
                Ok(()) => renamed.push(to),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        opened.suffix = to;
        Ok(renamed)
    }

    /// Removes the files that exist, whatever they are called now. The producer snapshot stays.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.close();
        for kind in FileKind::OF_A_SEGMENT {
            self.files.remove_if_there(&self.path(kind))?;
        }
        Ok(())
    }
}

impl Opened {
    fn closed(directory: Arc<Path>, suffix: Suffix) -> Self {
        Self { directory, suffix, log: None, offset_index: None, time_index: None }
    }

    fn close(&mut self) {
        (self.log, self.offset_index, self.time_index) = (None, None, None);
    }

    /// The files lie elsewhere now.
    pub(super) fn move_to(&mut self, directory: &Arc<Path>) {
        self.close();
        self.directory = Arc::clone(directory);
    }

    fn slot(&mut self, kind: FileKind) -> Option<&mut Option<Arc<dyn File>>> {
        match kind {
            FileKind::Log => Some(&mut self.log),
            FileKind::OffsetIndex => Some(&mut self.offset_index),
            FileKind::TimeIndex => Some(&mut self.time_index),
            FileKind::TransactionIndex | FileKind::Snapshot => None,
        }
    }
}

/// There is no transaction index.
const NO_MARKER: i64 = i64::MIN;
/// There is one, and what it ends with is not known.
const SOME_MARKER: i64 = i64::MAX;

/// A segment as readers see it. Immutable but for what the appender adds to the index of the active one.
#[derive(Debug)]
pub(super) struct Segment {
    /// At or below its first offset.
    pub(super) base: Offset,
    /// Bytes of the `.log` if it is sealed; the view says where the active one ends.
    pub(super) sealed_len: u64,
    pub(super) files: SegmentFilesRef,
    pub(super) index: Arc<SegmentIndex>,
    /// Of a sealed segment, once somebody asked.
    largest: OnceLock<LargestTimestamp>,
    /// The last marker in the transaction index; [`NO_MARKER`] or [`SOME_MARKER`] if it is not known.
    last_aborted: AtomicI64,
    /// It was said that records are missing.
    told_of_gap: AtomicBool,
}

/// Shared between the active segment and what becomes of it when it is sealed.
pub(super) type SegmentFilesRef = Arc<SegmentFiles>;

/// Largest timestamp in a segment and the last offset of the batch that first reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LargestTimestamp {
    /// −1 if no record has one.
    pub(super) timestamp: Timestamp,
    pub(super) offset: Offset,
}

impl LargestTimestamp {
    /// Of no records at all.
    pub(super) const fn none(base: Offset) -> Self {
        Self { timestamp: Timestamp::NONE, offset: base }
    }
}

impl Segment {
    pub(super) fn new(
        base: Offset,
        files: SegmentFilesRef,
        index: Arc<SegmentIndex>,
        sealed_len: u64,
    ) -> Self {
        Self {
            base,
            sealed_len,
            files,
            index,
            largest: OnceLock::new(),
            last_aborted: AtomicI64::new(NO_MARKER),
            told_of_gap: AtomicBool::new(false),
        }
    }

    /// A sealed segment whose largest timestamp is known.
    pub(super) fn sealed(
        base: Offset,
        files: SegmentFilesRef,
        index: Arc<SegmentIndex>,
        sealed_len: u64,
        largest: LargestTimestamp,
    ) -> Self {
        Self { largest: OnceLock::from(largest), ..Self::new(base, files, index, sealed_len) }
    }

    /// The same files with an index that is yet to be built, and nothing known of aborted transactions.
    pub(super) fn without_index(&self) -> Self {
        let index = Arc::new(SegmentIndex::new(self.base, EntryCounts::default()));
        Self::new(self.base, Arc::clone(&self.files), index, self.sealed_len)
    }

    /// True if the segment has a transaction index.
    pub(super) fn has_aborted(&self) -> bool {
        self.last_aborted.load(Ordering::Acquire) != NO_MARKER
    }

    /// False if no transaction was aborted by a marker at or above `from`.
    pub(super) fn may_have_aborted(&self, from: Offset) -> bool {
        self.last_aborted.load(Ordering::Acquire) >= from.get()
    }

    /// There is a transaction index, which nobody has read yet.
    pub(super) fn set_has_aborted(&self) {
        self.last_aborted.store(SOME_MARKER, Ordering::Release);
    }

    /// A transaction was aborted by a marker at `marker`, which is the last one.
    pub(super) fn add_aborted(&self, marker: Offset) {
        self.last_aborted.store(marker.get(), Ordering::Release);
    }

    /// The transaction index was read and ends with a marker at `marker`. What was added meanwhile is newer.
    pub(super) fn note_last_aborted(&self, marker: Offset) {
        let relaxed = Ordering::Relaxed;
        let _ = self.last_aborted.compare_exchange(SOME_MARKER, marker.get(), relaxed, relaxed);
    }

    /// Takes over what is known of another segment's transaction index, which becomes that of this one.
    pub(super) fn inherit_aborted(&self, other: &Self) {
        self.last_aborted.store(other.last_aborted.load(Ordering::Acquire), Ordering::Release);
    }

    /// Somebody reads at `from`, in this segment, and finds the next batch in a later one: nothing but compaction leaves a log like
    /// that. Said once.
    pub(super) fn tell_of_gap(&self, from: Offset) {
        if !self.told_of_gap.swap(true, Ordering::Relaxed) {
            let file = self.files.path(FileKind::Log);
            tracing::error!(file = %file.display(), offset = %from, "records are missing: the file is damaged, unless the topic was compacted before");
        }
    }

    /// The starts of all batches up to `end`. Blocks.
    pub(super) fn scan_from_start(&self, end: u64) -> io::Result<StartScan> {
        Ok(StartScan::new(self.files.open(FileKind::Log)?, 0, end))
    }

    /// The segment's `.log`.
    pub(super) fn open_log(&self, access: Access) -> io::Result<Arc<dyn File>> {
        self.files.open_for(access, FileKind::Log)
    }

    /// The first batch below `end` whose last offset is at or above `offset`.
    pub(super) fn find(
        &self,
        offset: Offset,
        end: u64,
        access: Access,
    ) -> io::Result<Option<BatchStart>> {
        let mut scan = self.scan_from(offset, end, access)?;
        let begun_at = scan.position();
        let found = first_reaching(&mut scan, offset)?;
        // An index that points at no batch must not hide those that are there.
        if found.is_none() && begun_at > 0 && scan.position() == begun_at {
            let log = self.open_log(access)?;
            return first_reaching(&mut StartScan::with_access(access, log, 0, end), offset);
        }
        Ok(found)
    }

    /// The starts of batches up to `end`, from the last index entry at or below `offset` on.
    pub(super) fn scan_from(
        &self,
        offset: Offset,
        end: u64,
        access: Access,
    ) -> io::Result<StartScan> {
        let open_index = || self.files.open_for(access, FileKind::OffsetIndex);
        let floor = self.index.offset_floor(offset, access, open_index)?;
        let position = floor.map_or(0, |entry| u64::from(entry.position));
        Ok(StartScan::with_access(access, self.open_log(access)?, position, end))
    }

    /// Largest timestamp of a sealed segment, from its closing time index entry. Blocks the first time.
    pub(super) fn largest_timestamp(&self) -> io::Result<LargestTimestamp> {
        if let Some(known) = self.largest.get() {
            return Ok(*known);
        }
        let last = self.index.last_time(|| self.files.open_once(FileKind::TimeIndex))?;
        let largest = last.map_or(LargestTimestamp::none(self.base), |entry| LargestTimestamp {
            timestamp: entry.timestamp,
            offset: entry.offset,
        });
        Ok(*self.largest.get_or_init(|| largest))
    }
}

fn first_reaching(scan: &mut StartScan, offset: Offset) -> io::Result<Option<BatchStart>> {
    while let Some(start) = scan.next()? {
        if start.last_offset >= offset {
            return Ok(Some(start));
        }
    }
    Ok(None)
}

/// The segments of a log in order: sealed ones, then the one that is appended to.
#[derive(Debug)]
pub(super) struct SegmentList {
    pub(super) sealed: Vec<Arc<Segment>>,
    pub(super) active: Arc<Segment>,
    /// Bytes of all sealed segments.
    pub(super) sealed_bytes: u64,
}

impl SegmentList {
    pub(super) fn new(sealed: Vec<Arc<Segment>>, active: Arc<Segment>) -> Self {
        let sealed_bytes = sealed.iter().map(|segment| segment.sealed_len).sum();
        Self { sealed, active, sealed_bytes }
    }

    /// Number of the segment with the largest base at or below `offset`; the active one has the number `sealed.len()`.
    pub(super) fn number_of(&self, offset: Offset) -> usize {
        if offset >= self.active.base {
            return self.sealed.len();
        }
        self.sealed.partition_point(|segment| segment.base <= offset).saturating_sub(1)
    }

    /// Segment number `number`.
    pub(super) fn get(&self, number: usize) -> Option<&Arc<Segment>> {
        match number.cmp(&self.sealed.len()) {
            std::cmp::Ordering::Less => self.sealed.get(number),
            std::cmp::Ordering::Equal => Some(&self.active),
            std::cmp::Ordering::Greater => None,
        }
    }
}
