//! One cleaning of one log: the map of its dirty part, then group by group everything up to where the map reaches.
//!
//! A round reads a view and writes files beside the log; whoever drives it puts each finished group into the log with
//! [`Log::replace`](crate::log::Log::replace), under the appender's lock, before it asks for the next.

use std::collections::VecDeque;
use std::sync::Arc;

use super::filter::{Filter, Rules, Tally};
use super::groups::{SegmentSize, group};
use super::key_map::KeyMap;
use super::mapping::Mapping;
use super::output::Output;
use super::source::{CleaningSource, SegmentScan};
use super::superseded::Superseded;
use super::swap::Replacement;
use super::transactions::Transactions;
use super::{CleanError, CleaningLimits, DirtyRange, Pace};
use crate::env::ByteBudget;
use crate::log::aborted;
use crate::log::segment::Segment;
use crate::types::{Offset, Timestamp};

/// Bytes of the bits of superseded records beside those of the map: one for so many. A map of 128 MiB, which is full at five
/// million keys, has bits for 67 million records beside it.
const BITS_SHARE: usize = 16;

/// A cleaning in progress.
#[derive(Debug)]
pub struct Round {
    source: CleaningSource,
    range: DirtyRange,
    limits: CleaningLimits,
    keys: KeyMap,
    superseded: Superseded,
    /// Everything below it is clean once the round is over.
    end: Offset,
    now: Timestamp,
    /// Tombstones of magic 0 and 1 go from segments that are no younger.
    legacy_horizon: i64,
    groups: VecDeque<Vec<Sealed>>,
    transactions: Transactions,
    tally: Tally,
}

/// A segment and where the next one begins.
type Sealed = (Arc<Segment>, Offset);

impl Round {
    /// Makes the map and the groups. Reads the dirty part; blocks for as long as that takes.
    pub fn begin(
        source: CleaningSource,
        range: DirtyRange,
        limits: CleaningLimits,
        budget: &Arc<ByteBudget>,
        pace: &dyn Pace,
    ) -> Result<Self, CleanError> {
        let now = source.env.clock.wall();
        let seed = source.env.random.next_u64();
        let mut keys = KeyMap::new(limits.keys, Arc::clone(budget), seed);
        let read_bytes = limits.buffer_bytes;
        let bits_max = limits.keys.bytes_max / BITS_SHARE;
        let mut superseded = Superseded::new(range.from, bits_max, Arc::clone(budget));
        let mapping = Mapping {
            source: &source,
            range,
            keys: &mut keys,
            superseded: &mut superseded,
            read_bytes,
            pace,
            found: Vec::new(),
        };
        let end = mapping.run()?;
        let segments = source.segments_between(Offset::ZERO, end);
        let sizes: Vec<SegmentSize> = segments.iter().map(to_size).collect();
        let groups = group(&sizes, &source.settings);
        let groups = groups.into_iter().map(|range| segments[range].to_vec()).collect();
        Ok(Self {
            legacy_horizon: legacy_horizon(&source, range)?,
            source,
            range,
            limits,
            keys,
            superseded,
            end,
            now,
            groups,
            transactions: Transactions::default(),
            tally: Tally::default(),
        })
    }

    /// Writes the next group; `None` after the last. Blocks for as long as reading and writing it takes.
    pub fn next(&mut self, pace: &dyn Pace) -> Result<Option<Replacement>, CleanError> {
        let Some(group) = self.groups.pop_front() else { return Ok(None) };
        let base = group.first().map_or(Offset::ZERO, |(first, _)| first.base);
        let mut output = Output::begin(&self.source, base, self.limits.buffer_bytes)?;
        let mut modified = Timestamp::NONE;
        for segment in &group {
            modified = self.source.modified(&segment.0)?;
            let work = SegmentWork { source: &self.source, limits: &self.limits, pace };
            let rules = Rules {
                now: self.now,
                delete_retention_ms: self.source.settings.delete_retention_ms,
                keep_legacy_tombstones: modified.get() > self.legacy_horizon,
                clean_end: self.end,
                round_end: self.range.to,
                keys: &self.keys,
                superseded: &self.superseded,
                producers: &self.source.producers,
            };
            let filter = (rules, &mut self.transactions, &mut self.tally);
            if let Err(error) = work.clean(segment, filter, &mut output) {
                output.abandon();
                return Err(error);
            }
        }
        let new = output.finish(modified)?;
        let old = group.into_iter().map(|(segment, _)| segment).collect();
        Ok(Some(Replacement { old, new }))
    }

    /// First offset that is not clean once the round is over: what the cleaner's checkpoint then says.
    pub fn end(&self) -> Offset {
        self.end
    }

    /// What was read and what stayed so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Keys in the map, and the bytes that it takes.
    pub fn map_size(&self) -> (usize, usize) {
        (self.keys.len(), self.keys.bytes())
    }
}

/// What it takes to clean one segment into the output.
struct SegmentWork<'w> {
    source: &'w CleaningSource,
    limits: &'w CleaningLimits,
    pace: &'w dyn Pace,
}

impl SegmentWork<'_> {
    fn clean(
        &self,
        (segment, end): &Sealed,
        (rules, transactions, tally): (Rules<'_>, &mut Transactions, &mut Tally),
        output: &mut Output<'_>,
    ) -> Result<(), CleanError> {
        let segments = &self.source.view.segments;
        let aborted = aborted::entries_between(segments, segment.base, *end);
        transactions.announce(aborted.map_err(CleanError::of_read)?);
        let mut filter = Filter::new(rules, transactions, tally);
        let mut scan = SegmentScan::begin(segment, *end, segment.base, self.limits.buffer_bytes)?;
        let mut kept = Vec::new();
        while let Some(batch) = scan.next()? {
            let len = batch.bytes().len();
            kept.clear();
            let aborted = match filter.pass(&batch, &mut kept) {
                Ok(aborted) => aborted,
                Err(problem) => return Err(scan.damaged(len, problem)),
            };
            if !kept.is_empty() {
                output.append(&kept)?;
            }
            if let Some(entry) = aborted {
                output.append_aborted(&entry)?;
            }
            self.pace.has_read(len as u64);
            let moved = (len + kept.len()) as u64;
            self.pace.go_on(moved).map_err(|_| CleanError::Stopped)?;
        }
        // Whoever reads it opens it again.
        segment.files.close();
        Ok(())
    }
}

fn to_size((segment, end): &Sealed) -> SegmentSize {
    let entries = segment.index.counts();
    SegmentSize { base: segment.base, end: *end, len: segment.sealed_len, entries }
}

/// Tombstones of magic 0 and 1 know no horizon: they go when the last segment that was clean before this round is
/// `delete.retention.ms` younger than theirs.
fn legacy_horizon(source: &CleaningSource, range: DirtyRange) -> Result<i64, CleanError> {
    let clean = source.segments_between(Offset::ZERO, range.from);
    let Some((last, _)) = clean.last() else { return Ok(0) };
    let modified = source.modified(last)?;
    Ok(modified.get().saturating_sub(source.settings.delete_retention_ms))
}
