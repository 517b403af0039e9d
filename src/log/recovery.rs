//! From the files of a partition to the state of its log.
//!
//! After a clean stop only the end of the last segment is looked at. Otherwise every segment that reaches beyond the
//! recovery point is scanned: the log is cut at the first bad batch, indexes, epochs, producer state and the transaction
//! index are built again. Where Kafka would lose data or mislead readers this is stricter: see `tail_check`; and what is cut
//! off is first saved (`cut`).

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::active::{ActiveSegment, ActiveState, Incoming};
use super::batch_reader::BatchReader;
use super::cut::{self, Cut};
use super::epochs::Epochs;
use super::format::aborted_index::AbortedEntry;
use super::found::{FoundSegment, find_segments};
use super::log::Unsynced;
use super::lost::have_seen_markers;
use super::marker::read_marker;
use super::open::{LogStartCheckpoint, OpenLog, StartMode, unborn_segment};
use super::producers::Producers;
use super::progress::RecoveryProgress;
use super::scan::StoredBatch;
use super::segment::{FileKind, Segment};
use super::snapshots::SnapshotFiles;
use super::tail_check::{TailCheck, check_tail};
use crate::env::{Env, is_no_room};
use crate::types::Offset;

/// The state of a log that was opened.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) sealed: Vec<Arc<Segment>>,
    pub(super) active: ActiveSegment,
    pub(super) log_start: Offset,
    pub(super) log_end: Offset,
    pub(super) producers: Producers,
    /// There is a producer snapshot at this offset.
    pub(super) snapshot_at: Option<Offset>,
}

/// One opening of one log.
#[derive(Debug)]
pub(super) struct Recovery<'a> {
    pub(super) args: &'a OpenLog,
    pub(super) env: &'a Env,
    pub(super) directory: Arc<Path>,
    names: BTreeSet<String>,
    pub(super) epochs: Epochs,
    pub(super) snapshots: SnapshotFiles,
    /// The state at an offset, kept from one recovered segment to the next.
    pub(super) carried: Option<(Offset, Producers)>,
    pub(super) unsynced: Unsynced,
    progress: &'a dyn RecoveryProgress,
}

/// The last segment as it was found or made, and where it ends.
struct Ended {
    active: ActiveSegment,
    log_end: Offset,
    /// Something was cut off: what follows in the log is not its continuation.
    was_cut: bool,
}

impl<'a> Recovery<'a> {
    pub(super) fn new(
        args: &'a OpenLog,
        (directory, names): (Arc<Path>, BTreeSet<String>),
        epochs: &Epochs,
        progress: &'a dyn RecoveryProgress,
    ) -> Self {
        let snapshots = SnapshotFiles::among(&names, Arc::clone(&args.env.files), &directory);
        Self {
            args,
            env: &args.env,
            directory,
            names,
            epochs: epochs.clone(),
            snapshots,
            carried: None,
            unsynced: Unsynced::default(),
            progress,
        }
    }

    /// Does it all. Blocks.
    pub(super) fn run(&mut self) -> io::Result<Loaded> {
        let mut found = find_segments(&self.env.files, &self.directory, &self.names)?;
        self.look_for_lost_aborted(&mut found)?;
        let (mut sealed, ended) = self.load(found)?;
        let mut ended = ended.unwrap_or_else(|| self.empty_at(self.args.log_start));
        if ended.log_end < self.args.log_start {
            self.drop_all(&sealed, &ended.active)?;
            sealed.clear();
            // What is known of producers ends where the lost records began: their next batches would seem to leave a gap.
            self.snapshots.remove_all()?;
            self.carried = None;
            ended = self.empty_at(self.args.log_start);
            ended.active.log()?;
            self.unsynced.directories.push(self.directory.to_path_buf());
        }
        let first_base = sealed.first().map_or(ended.active.segment.base, |first| first.base);
        let mut log_start = self.args.log_start.max(first_base);
        if self.args.log_start_checkpoint == LogStartCheckpoint::Lost {
            let active = (&ended.active.segment, ended.active.position, ended.log_end);
            log_start = log_start.max(self.start_by_epochs(&sealed, active)?);
        }
        let producers = self.producers_at(ended.log_end, &sealed, &ended.active)?;
        let bases = sealed.iter().map(|segment| segment.base).chain([ended.active.segment.base]);
        self.snapshots.remove_stray(&bases.collect(), ended.log_end)?;
        let snapshot_at = self.snapshots.newest_up_to(ended.log_end);
        for segment in &sealed {
            segment.files.close();
        }
        ended.active.segment.files.close();
        let Ended { active, log_end, .. } = ended;
        Ok(Loaded { sealed, active, log_start, log_end, producers, snapshot_at })
    }

    /// Where the log starts by its epochs, its base if they do not tell.
    fn start_by_epochs(
        &self,
        sealed: &[Arc<Segment>],
        (active, active_len, log_end): (&Arc<Segment>, u64, Offset),
    ) -> io::Result<Offset> {
        let (first, len, end) = match sealed {
            [] => (active, active_len, log_end),
            [first] => (first, first.sealed_len, active.base),
            [first, second, ..] => (first, first.sealed_len, second.base),
        };
        let Some(start) = self.lost_log_start(first, len, end)? else { return Ok(first.base) };
        tracing::warn!(
            directory = %self.directory.display(), log_start = %start,
            "the log-start checkpoint is missing, the log starts where its first epoch does"
        );
        Ok(start)
    }

    /// What must be synced because recovery wrote it.
    pub(super) fn take_unsynced(&mut self) -> Unsynced {
        std::mem::take(&mut self.unsynced)
    }

    /// The epochs of the checkpoint and those found in batches.
    pub(super) fn into_epochs(self) -> Epochs {
        self.epochs
    }

    /// Goes through the segments in order, up to the end of the log: the last one, or the first that had to be cut.
    fn load(&mut self, found: Vec<FoundSegment>) -> io::Result<(Vec<Arc<Segment>>, Option<Ended>)> {
        self.tell_what_is_to_be_scanned(&found);
        let mut sealed = Vec::new();
        let mut rest = found.into_iter().peekable();
        while let Some(segment) = rest.next() {
            let next_base = rest.peek().map(|next| next.segment.base);
            let ended = if segment.must_be_rebuilt || self.is_dirty(next_base) {
                self.rebuild(&segment, &sealed)?
            } else if next_base.is_some() {
                sealed.push(segment.segment);
                continue;
            } else {
                self.look_at_end(&segment, &sealed)?
            };
            if ended.was_cut || self.has_lost_its_end(&ended, next_base) {
                let dropped: Vec<_> = rest.map(|dropped| dropped.segment).collect();
                self.drop_segments(dropped.iter())?;
                return Ok((sealed, Some(ended)));
            }
            if next_base.is_none() {
                return Ok((sealed, Some(ended)));
            }
            sealed.push(Arc::new(ended.active.sealed()));
        }
        Ok((sealed, None))
    }

    fn tell_what_is_to_be_scanned(&self, found: &[FoundSegment]) {
        let next_bases = found.iter().skip(1).map(|next| Some(next.segment.base)).chain([None]);
        let is_scanned = |(segment, next_base): &(&FoundSegment, Option<Offset>)| {
            segment.must_be_rebuilt || self.is_dirty(*next_base)
        };
        let scanned = found.iter().zip(next_bases).filter(is_scanned);
        let (mut segments, mut bytes) = (0, 0);
        for (segment, _) in scanned {
            segments += 1;
            bytes += segment.len;
        }
        if segments > 0 {
            self.progress.begins(segments, bytes);
        }
    }

    /// Was the segment before `next_base` (the last one, if there is none) perhaps not whole on disk? One that ends right at the
    /// recovery point may have been the active one at that time: then what sealed it was written later.
    pub(super) fn is_dirty(&self, next_base: Option<Offset>) -> bool {
        match self.args.start {
            StartMode::Clean => false,
            StartMode::Unclean { recovery_point } => {
                next_base.is_none_or(|next| next >= recovery_point)
            }
        }
    }

    /// The last writes to a segment can be lost while those to the next one are not: what follows is then no continuation.
    /// Compaction leaves such gaps on purpose, and nothing is lost below the recovery point, nor below the end of the last cleaning,
    /// whose output is on disk before it takes the place of anything.
    fn has_lost_its_end(&self, ended: &Ended, next_base: Option<Offset>) -> bool {
        let StartMode::Unclean { recovery_point } = self.args.start else { return false };
        let may_have_gaps = self.args.settings.cleanup_policy.compact;
        let safe_to = recovery_point.max(self.args.cleaned_to);
        let ends_early = next_base.is_some_and(|next| ended.log_end < next && next > safe_to);
        ends_early && !may_have_gaps
    }

    fn empty_at(&self, base: Offset) -> Ended {
        let active = unborn_segment(self.args, &self.directory, base);
        Ended { active, log_end: base, was_cut: false }
    }

    /// The last segment after a clean stop.
    fn look_at_end(&mut self, found: &FoundSegment, sealed: &[Arc<Segment>]) -> io::Result<Ended> {
        let TailCheck { end, log_end, largest, last_time_entry } = match check_tail(found)? {
            Ok(check) => check,
            Err(reason) => {
                let base = found.segment.base;
                tracing::warn!(directory = %self.directory.display(), %base, reason, "the segment is rebuilt");
                return self.rebuild(found, sealed);
            }
        };
        let was_cut = end < found.len;
        if was_cut {
            self.cut(&found.segment, end, found.len, "it does not end with a whole batch")?;
        }
        let state = ActiveState {
            position: end,
            largest,
            last_time_entry,
            saved: found.segment.index.counts(),
            created: true,
            begun: self.env.clock.wall(),
        };
        let random = self.env.random.next_u64();
        let active =
            ActiveSegment::new(Arc::clone(&found.segment), state, &self.args.settings, random);
        Ok(Ended { active, log_end, was_cut })
    }

    /// Scans a segment from its start and makes everything beside it anew.
    fn rebuild(&mut self, found: &FoundSegment, before: &[Arc<Segment>]) -> io::Result<Ended> {
        let base = found.segment.base;
        let mut producers = self.producers_at_base(base, before)?;
        let segment = Arc::new(found.segment.without_index());
        let state =
            ActiveState { created: true, ..ActiveState::empty(base, self.env.clock.wall()) };
        let random = self.env.random.next_u64();
        let mut active =
            ActiveSegment::new(Arc::clone(&segment), state, &self.args.settings, random);
        let mut aborted = Vec::new();
        let mut log_end = base;
        let mut reader = BatchReader::new(segment.files.open(FileKind::Log)?, 0, found.len);
        let mut reason = "it does not end with a whole batch".to_owned();
        while let Some((position, batch)) = reader.next()? {
            match check_batch(&batch, position, base, log_end) {
                Ok(()) => {}
                Err(Misfit::Bad(bad)) => {
                    reason = bad;
                    break;
                }
                Err(Misfit::OffsetOverflow(overflow)) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, overflow));
                }
            }
            log_end = batch.last_offset().plus(1);
            aborted.extend(self.take_in(&batch, &mut producers));
            active.written(&to_incoming(&batch), &self.args.settings);
            self.progress.scanned(batch.bytes().len() as u64);
        }
        let was_cut = active.position < found.len;
        if was_cut {
            self.cut(&segment, active.position, found.len, &reason)?;
        }
        self.write_beside(&mut active, &aborted, &producers)?;
        self.snapshots.write(log_end, &producers, &mut self.unsynced)?;
        self.carried = Some((log_end, producers));
        self.progress.segment_done();
        Ok(Ended { active, log_end, was_cut })
    }

    /// Leader epoch and producer state of one good batch.
    fn take_in(
        &mut self,
        batch: &StoredBatch<'_>,
        producers: &mut Producers,
    ) -> Option<AbortedEntry> {
        let header = batch.header()?;
        if self.epochs.is_newer(header.partition_leader_epoch) {
            self.epochs = self.epochs.with(header.partition_leader_epoch, header.base_offset);
        }
        producers.apply(&header, read_marker(&header, batch.bytes()))?.aborted()
    }

    /// Index files of a rebuilt segment.
    fn write_beside(
        &mut self,
        active: &mut ActiveSegment,
        aborted: &[AbortedEntry],
        producers: &Producers,
    ) -> io::Result<()> {
        let finished = active.finish()?;
        self.unsynced.files.extend(finished);
        let files = &active.segment.files;
        if aborted.is_empty() && !have_seen_markers(producers) {
            self.env.files.remove_if_there(&files.path(FileKind::TransactionIndex))?;
        } else {
            let file = files.create(FileKind::TransactionIndex)?;
            let entries: Vec<u8> = aborted.iter().flat_map(AbortedEntry::encode).collect();
            file.write_all_at(&entries, 0)?;
            self.unsynced.files.push(file);
            active.segment.set_has_aborted();
        }
        self.unsynced.directories.push(self.directory.to_path_buf());
        Ok(())
    }

    fn cut(&mut self, segment: &Segment, at: u64, len: u64, reason: &str) -> io::Result<()> {
        let cut = Cut { directory: &self.directory, base: segment.base, at, len };
        tracing::warn!(
            directory = %self.directory.display(), base = %segment.base, position = at, bytes = len - at, reason,
            "the log is cut"
        );
        let log = segment.files.open(FileKind::Log)?;
        match cut::save(self.env.files.as_ref(), log.as_ref(), &cut) {
            // Without room for a copy the log is cut all the same: nobody can read what goes.
            Err(error) if is_no_room(&error) => {
                tracing::warn!(%error, "no room to save what is cut off");
            }
            other => other?,
        }
        log.set_len(at)?;
        self.unsynced.files.push(log);
        Ok(())
    }

    fn drop_all(&mut self, sealed: &[Arc<Segment>], active: &ActiveSegment) -> io::Result<()> {
        self.drop_segments(sealed.iter().chain([&active.segment]))
    }

    /// Segments behind a cut: their batches are moved out of Kafka's sight, everything else of them is removed.
    fn drop_segments<'s>(
        &mut self,
        dropped: impl Iterator<Item = &'s Arc<Segment>>,
    ) -> io::Result<()> {
        for segment in dropped {
            tracing::warn!(directory = %self.directory.display(), base = %segment.base, "the segment is dropped");
            cut::move_away(self.env.files.as_ref(), segment, &self.directory)?;
            for kind in [FileKind::OffsetIndex, FileKind::TimeIndex, FileKind::TransactionIndex] {
                self.env.files.remove_if_there(&segment.files.path(kind))?;
            }
            segment.files.close();
            self.unsynced.directories.push(self.directory.to_path_buf());
        }
        Ok(())
    }
}

fn to_incoming(batch: &StoredBatch<'_>) -> Incoming {
    Incoming {
        size: batch.bytes().len() as u64,
        last_offset: batch.last_offset(),
        max_timestamp: batch.max_timestamp(),
    }
}

/// Why a batch cannot be part of the segment.
enum Misfit {
    /// The log ends here: what follows was never written whole.
    Bad(String),
    /// The data is good, and the segment must not be cut for it.
    OffsetOverflow(OffsetOverflow),
}

/// A whole batch whose offsets no index of its segment can name. The cleaner of Kafka before 2.0 made such segments (KAFKA-6264).
#[derive(Debug, thiserror::Error)]
#[error(
    "the segment {base} holds the offset {last}, which its indexes cannot name: a cleaner before Kafka 2.0 put too much into one \
     segment. Start Apache Kafka once on this directory: it splits such segments when it recovers them"
)]
struct OffsetOverflow {
    base: Offset,
    last: Offset,
}

/// Checksum, that offsets rise, and that offsets and positions fit index entries.
fn check_batch(
    batch: &StoredBatch<'_>,
    position: u64,
    base: Offset,
    log_end: Offset,
) -> Result<(), Misfit> {
    batch.verify().map_err(|damage| Misfit::Bad(damage.to_string()))?;
    let first = batch.header().map_or_else(|| batch.last_offset(), |header| header.base_offset);
    let last = batch.last_offset();
    if first < log_end {
        return Err(Misfit::Bad(format!("offsets {first}..={last} do not follow {log_end}")));
    }
    if last.get().saturating_sub(base.get()) > i64::from(i32::MAX) {
        return Err(Misfit::OffsetOverflow(OffsetOverflow { base, last }));
    }
    if position + batch.bytes().len() as u64 > i32::MAX as u64 {
        return Err(Misfit::Bad("a segment is shorter than 2^31 bytes".to_owned()));
    }
    Ok(())
}
