//! What of a log is dirty, and whether it is time to clean it (Kafka's `LogCleanerManager`). The plan is pure; only the
//! timestamps that it needs are read.

use std::io;

use super::DirtyRange;
use crate::config::TopicSettings;
use crate::log::view::LogView;
use crate::types::{Offset, Timestamp};

/// Where a log stands outside of its view.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// From `cleaner-offset-checkpoint`.
    pub checkpoint: Option<Offset>,
    /// Exclusive end of what is decided and on disk. A record goes because a newer one is there, so the newer one must be there for
    /// good.
    pub settled: Offset,
    /// The wall clock.
    pub now: Timestamp,
}

/// What [`assess`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// What a round would map; empty if there is nothing to do.
    pub range: DirtyRange,
    /// Bytes of segments that were cleaned before.
    pub clean_bytes: u64,
    /// Bytes of segments that may be cleaned now.
    pub cleanable_bytes: u64,
    /// For how long a record has been dirty that `max.compaction.lag.ms` wants clean; 0 if none.
    pub overdue_ms: i64,
    /// The checkpoint is outside the log and was not taken for true.
    pub checkpoint_invalid: bool,
    /// When something changes by itself: a lag ends.
    pub next_look: Option<Timestamp>,
    /// Dirty segments wait for transactions to end, or for a sync.
    pub waits_for_settled: bool,
}

/// A sealed segment as the plan sees it.
#[derive(Clone, Copy, Debug)]
struct SegmentFacts {
    base: Offset,
    /// Base of the next.
    end: Offset,
    len: u64,
    /// Looked up only if a lag asks for it.
    largest: Timestamp,
    /// Largest timestamp of its first batch, looked up only if a lag asks for it.
    first_batch: Timestamp,
}

impl Assessment {
    /// Share of the bytes that is dirty.
    pub fn dirty_ratio(&self) -> f64 {
        let total = self.clean_bytes + self.cleanable_bytes;
        if total == 0 { 0.0 } else { self.cleanable_bytes as f64 / total as f64 }
    }

    /// True if the log is to be cleaned now.
    pub fn is_due(&self, settings: &TopicSettings) -> bool {
        let overdue = self.overdue_ms > 0 && self.cleanable_bytes > 0;
        overdue || self.dirty_ratio() > settings.min_cleanable_dirty_ratio
    }
}

/// Looks at a log. Blocks where a lag is set, the first time for each segment.
pub fn assess(
    view: &LogView,
    settings: &TopicSettings,
    standing: &Standing,
) -> io::Result<Assessment> {
    let (from, checkpoint_invalid) = first_dirty(view, standing.checkpoint);
    let facts = gather(view, settings, from)?;
    let active_base = view.segments.active.base;
    let plan = Plan { facts: &facts, active_base, settings, standing, from };
    Ok(Assessment { checkpoint_invalid, ..plan.make() })
}

/// A checkpoint outside the log says nothing.
fn first_dirty(view: &LogView, checkpoint: Option<Offset>) -> (Offset, bool) {
    match checkpoint {
        None => (view.log_start, false),
        Some(checkpoint) if checkpoint < view.log_start || checkpoint > view.log_end => {
            (view.log_start, true)
        }
        Some(checkpoint) => (checkpoint, false),
    }
}

fn gather(view: &LogView, settings: &TopicSettings, from: Offset) -> io::Result<Vec<SegmentFacts>> {
    let sealed = &view.segments.sealed;
    let mut facts = Vec::with_capacity(sealed.len());
    for (number, segment) in sealed.iter().enumerate() {
        let end = sealed.get(number + 1).map_or(view.segments.active.base, |next| next.base);
        let dirty = end > from;
        let mut segment_facts = SegmentFacts {
            base: segment.base,
            end,
            len: segment.sealed_len,
            largest: Timestamp::NONE,
            first_batch: Timestamp::NONE,
        };
        if dirty && settings.min_compaction_lag_ms > 0 {
            segment_facts.largest = segment.largest_timestamp()?.timestamp;
        }
        if dirty && settings.max_compaction_lag_ms < i64::MAX {
            let first = segment.scan_from_start(segment.sealed_len)?.next()?;
            segment_facts.first_batch = first.map_or(Timestamp::NONE, |first| first.max_timestamp);
        }
        facts.push(segment_facts);
    }
    Ok(facts)
}

struct Plan<'p> {
    facts: &'p [SegmentFacts],
    active_base: Offset,
    settings: &'p TopicSettings,
    standing: &'p Standing,
    from: Offset,
}

impl Plan<'_> {
    fn make(&self) -> Assessment {
        let too_young = self.first_too_young();
        let bound = too_young.map_or(self.active_base, |young| young.base);
        let to = self.segment_start(self.standing.settled.min(bound)).max(self.from);
        let is_empty = to <= self.from;
        let dirty = |facts: &&SegmentFacts| !is_empty && facts.end > self.from && facts.base < to;
        let clean = |facts: &&SegmentFacts| facts.base < self.from;
        let bytes = |facts: &SegmentFacts| facts.len;
        let oldest = self.oldest_dirty_batch();
        let lag_ms = self.settings.max_compaction_lag_ms;
        let wanted = oldest.map(|oldest| Timestamp::new(oldest.get().saturating_add(lag_ms)));
        let old_enough = too_young.map(|young| {
            let lag_ms = self.settings.min_compaction_lag_ms;
            Timestamp::new(young.largest.get().saturating_add(lag_ms))
        });
        let now = self.standing.now;
        let overdue_ms = wanted.map_or(0, |wanted| now.get().saturating_sub(wanted.get()).max(0));
        let is_to_come = |look: &Timestamp| *look >= now && look.get() < i64::MAX;
        let looks = [wanted, old_enough].into_iter().flatten().filter(is_to_come);
        Assessment {
            range: DirtyRange { from: self.from, to },
            clean_bytes: self.facts.iter().filter(clean).map(bytes).sum(),
            cleanable_bytes: self.facts.iter().filter(dirty).map(bytes).sum(),
            overdue_ms,
            checkpoint_invalid: false,
            // A lag ends when it is exceeded.
            next_look: looks.min().map(|look| Timestamp::new(look.get() + 1)),
            waits_for_settled: self.from < self.active_base && to < bound,
        }
    }

    /// The first dirty segment that `min.compaction.lag.ms` keeps as it is.
    fn first_too_young(&self) -> Option<&SegmentFacts> {
        let lag_ms = self.settings.min_compaction_lag_ms;
        if lag_ms <= 0 {
            return None;
        }
        let old_before = self.standing.now.get().saturating_sub(lag_ms);
        let mut dirty = self.facts.iter().filter(|facts| facts.end > self.from);
        dirty.find(|facts| facts.largest.get() > old_before)
    }

    /// Kafka takes no segment without timestamps for old.
    fn oldest_dirty_batch(&self) -> Option<Timestamp> {
        let dirty = self.facts.iter().filter(|facts| facts.end > self.from);
        let known = dirty.map(|facts| facts.first_batch).filter(|first| first.get() > 0);
        known.min()
    }

    /// The base of the segment that holds `offset`: segments are cleaned whole.
    fn segment_start(&self, offset: Offset) -> Offset {
        if offset >= self.active_base {
            return self.active_base;
        }
        let mut holders = self.facts.iter().rev().filter(|facts| facts.base <= offset);
        holders.next().map_or(self.from, |holder| holder.base)
    }
}

#[cfg(test)]
mod tests;
