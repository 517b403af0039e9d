//! Where a log ended at a point in time.
//!
//! A log is in the order of its appends, so what was there at the point is a part from its start on. Where that ends, batches
//! say with more or less authority:
//!
//! - What a broker stamped (LogAppendTime, markers of transactions, everything in the logs of coordinators) says when it was
//!   appended. The part ends before the first of them that is from after the point, and not before the last from before it.
//! - A record that a group had committed by then, or whose transaction was decided by then, was there.
//! - Between these bounds there are only the clocks of producers. The part ends where the fewest records contradict it: those in it
//!   with a later time, and those behind it with an earlier one. With true clocks there are none; the others are counted.
//!
//! The time of a batch is that of its newest record.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::TimestampType;
use crate::log::scan::StoredBatch;
use crate::metadata::journal::rewind::CLOCK_TOLERANCE_MS;
use crate::types::{Offset, ProducerEpoch, ProducerId, Timestamp};

#[cfg(test)]
mod tests;

/// Where a batch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Of the log's segments.
    pub segment: usize,
    /// In its file.
    pub position: u64,
}

/// What is known of one log beside what is in it.
#[derive(Debug)]
pub(super) struct Knowledge<'a> {
    pub at: Timestamp,
    /// Only the broker writes to it.
    pub is_coordinators: bool,
    /// Groups had committed up to here at the point.
    pub committed: Offset,
    /// Producers whose transactions were decided at the point, and not all markers written.
    pub decided: Option<&'a BTreeMap<ProducerId, Decision>>,
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub epoch: ProducerEpoch,
    /// Its markers are not older.
    pub at: Timestamp,
}

/// The clock of the broker went back over the point, so that it names two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockSetBack {
    pub before: Timestamp,
    pub after: Timestamp,
}

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// `None` is the start of the log.
    pub place: Option<Place>,
    /// Records behind it.
    pub left_out: u64,
    /// Of these, with a time before the point that nothing refutes.
    pub left_out_earlier: u64,
    /// Records before it with a time after the point that nothing refutes.
    pub kept_later: u64,
}

/// Looks at the batches of a log in their order.
#[derive(Debug)]
pub(super) struct EndFinder<'a> {
    known: Knowledge<'a>,
    /// Producers whose decided transaction has its marker: what follows is of the next one.
    marked: BTreeSet<ProducerId>,
    /// Records from before the point less those from after it, so far.
    score: i64,
    all: u64,
    earlier: u64,
    later: u64,
    /// Of those, refuted.
    later_proven: u64,
    best: Best,
    /// The first time from after the point that can be trusted.
    closed: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Best {
    place: Option<Place>,
    score: i64,
    all: u64,
    earlier: u64,
    later: u64,
}

impl<'a> EndFinder<'a> {
    pub fn new(known: Knowledge<'a>) -> Self {
        Self {
            known,
            marked: BTreeSet::new(),
            score: 0,
            all: 0,
            earlier: 0,
            later: 0,
            later_proven: 0,
            best: Best::default(),
            closed: None,
        }
    }

    /// The next batch, which ends at `place`.
    pub fn see(&mut self, place: Place, batch: &StoredBatch<'_>) -> Result<(), ClockSetBack> {
        let (time, at) = (batch.max_timestamp(), self.known.at);
        let records = batch.header().map_or(1, |header| header.records_count.max(0).unsigned_abs());
        self.all += u64::from(records);
        if let Some(before) = self.closed {
            let step = before.get() - time.get();
            let is_back = self.known.is_coordinators && time <= at && step > CLOCK_TOLERANCE_MS;
            return if is_back { Err(ClockSetBack { before, after: time }) } else { Ok(()) };
        }
        let is_stamped = self.is_stamped(batch);
        if is_stamped && time > at {
            self.closed = Some(time);
            return Ok(());
        }
        if time > at {
            self.later += u64::from(records);
            self.score -= i64::from(records);
        } else if time > Timestamp::NONE {
            self.earlier += u64::from(records);
            self.score += i64::from(records);
        }
        let is_proven = self.was_there(batch) || is_stamped;
        if is_proven {
            self.later_proven = self.later;
        }
        // Batches without records, or without a time, go with the one before them.
        let follows = self.score == self.best.score && self.later == self.best.later;
        if is_proven || follows || self.score > self.best.score {
            let Self { score, all, earlier, later, .. } = *self;
            self.best = Best { place: Some(place), score, all, earlier, later };
        }
        Ok(())
    }

    pub fn end(&self) -> End {
        let best = self.best;
        End {
            place: best.place,
            left_out: self.all - best.all,
            left_out_earlier: self.earlier - best.earlier,
            kept_later: best.later - self.later_proven.min(best.later),
        }
    }

    /// By a broker.
    fn is_stamped(&self, batch: &StoredBatch<'_>) -> bool {
        self.known.is_coordinators
            || batch.header().is_some_and(|header| {
                header.is_control() || header.timestamp_type() == TimestampType::LogAppendTime
            })
    }

    fn was_there(&mut self, batch: &StoredBatch<'_>) -> bool {
        if batch.last_offset() < self.known.committed {
            return true;
        }
        let Some(header) = batch.header().filter(|header| header.is_transactional()) else {
            return false;
        };
        let id = header.producer_id;
        let Some(decision) = self.known.decided.and_then(|decided| decided.get(&id)) else {
            return false;
        };
        if header.is_control() && header.max_timestamp >= decision.at {
            self.marked.insert(id);
        }
        header.producer_epoch <= decision.epoch && !self.marked.contains(&id)
    }
}
