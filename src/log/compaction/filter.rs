//! What stays of one batch (Kafka's `Cleaner.cleanInto` and `MemoryRecords.filterTo`). Bytes in, bytes out.
//!
//! | | stays |
//! |---|---|
//! | record with a key | if no newer one of the key is in the part of the log that was looked at |
//! | record without a key | never |
//! | tombstone | as any record until the delete horizon of its batch, which the first cleaning sets |
//! | data of an aborted transaction | never |
//! | marker | while data of its transaction is there, then until the delete horizon |
//! | batch with all its records | byte for byte |
//! | batch without records | if a producer's last sequence or epoch is known from it alone, or it ends the round |
//!
//! A message of magic 0 or 1 that stays becomes a batch of magic 2, as in Kafka 4.

use super::key_map::{KEYS_AT_A_TIME, KeyHash, KeyMap};
use super::last_records::LastRecords;
use super::rewrite::{self, rewrite_batch, rewrite_messages};
use super::superseded::Superseded;
use super::transactions::{MarkerFate, Transactions};
use crate::log::batch::{BatchHeader, HEADER_LEN};
use crate::log::format::aborted_index::AbortedEntry;
use crate::log::legacy::{LegacyDamage, LegacyMessages};
use crate::log::marker::read_marker;
use crate::log::reader::{ReadRecordError, STORED_BYTES_MAX, each_record};
use crate::log::record::Record;
use crate::log::scan::{BatchDamage, StoredBatch};
use crate::types::{Offset, Timestamp};

/// What one round goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules<'r> {
    /// When the round began.
    pub(super) now: Timestamp,
    pub(super) delete_retention_ms: i64,
    /// Tombstones of magic 0 and 1 in this segment are too young to go.
    pub(super) keep_legacy_tombstones: bool,
    /// Every key below it is in the map.
    pub(super) clean_end: Offset,
    /// The round goes no further; a batch that ends here stays, if only for its last offset.
    pub(super) round_end: Offset,
    pub(super) keys: &'r KeyMap,
    /// What of the map is known by offset.
    pub(super) superseded: &'r Superseded,
    pub(super) producers: &'r LastRecords,
}

/// Why a batch cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BatchProblem {
    #[error(transparent)]
    Damage(#[from] BatchDamage),
    #[error(transparent)]
    Records(#[from] ReadRecordError),
    #[error(transparent)]
    Messages(#[from] LegacyDamage),
    #[error(transparent)]
    Rewrite(#[from] rewrite::RewriteError),
}

/// What was read and what stayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes of batches read.
    pub bytes_read: u64,
    /// Bytes of batches that stayed.
    pub bytes_kept: u64,
    /// Records read, but for those of aborted transactions.
    pub records_read: u64,
    /// Records that stayed.
    pub records_kept: u64,
}

/// Whether a batch without records stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Empty {
    Kept,
    Dropped,
}

/// Goes through batches in the order of the log.
#[derive(Debug)]
pub(super) struct Filter<'r> {
    rules: Rules<'r>,
    transactions: &'r mut Transactions,
    /// The records of the batch, and which of them stay; here for their memory.
    records: Vec<Candidate>,
    kept: Vec<bool>,
    tally: &'r mut Tally,
}

/// A record as the rules look at it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    key: Option<KeyHash>,
    offset: Offset,
    is_tombstone: bool,
}

/// What was found out about the records of a batch; which of them stay is in `Filter::kept`.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    kept: usize,
    tombstones: bool,
}

impl<'r> Filter<'r> {
    pub(super) fn new(
        rules: Rules<'r>,
        transactions: &'r mut Transactions,
        tally: &'r mut Tally,
    ) -> Self {
        Self { rules, transactions, records: Vec::new(), kept: Vec::new(), tally }
    }

    /// Appends what stays of `batch`, one batch or nothing. What it returns belongs into the transaction index.
    pub(super) fn pass(
        &mut self,
        batch: &StoredBatch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<AbortedEntry>, BatchProblem> {
        let before = out.len();
        self.tally.bytes_read += batch.bytes().len() as u64;
        let aborted = match batch.header() {
            None => {
                batch.verify()?;
                self.pass_messages(batch, out)?;
                None
            }
            Some(header) if header.is_control() => {
                batch.verify()?;
                self.pass_control(&header, batch, out)?
            }
            Some(header) => {
                self.pass_data(&header, batch, out)?;
                None
            }
        };
        self.tally.bytes_kept += (out.len() - before) as u64;
        Ok(aborted)
    }

    fn pass_data(
        &mut self,
        header: &BatchHeader,
        batch: &StoredBatch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), BatchProblem> {
        let is_aborted = self.transactions.pass_data(header);
        if !is_aborted && self.rules.supersede_all_of(header) {
            // Its checksum was looked at when its keys were mapped, and nothing of it is written anew.
            self.count(header.records_count, 0);
            self.finish_empty(header, out);
            return Ok(());
        }
        batch.verify()?;
        if is_aborted {
            self.finish_empty(header, out);
            return Ok(());
        }
        if header.base_offset >= self.rules.clean_end {
            self.count(header.records_count, header.records_count);
            out.extend_from_slice(batch.bytes());
            return Ok(());
        }
        let found = self.look_at_records(header, batch)?;
        self.count(header.records_count, found.kept as i32);
        if found.kept == 0 {
            self.finish_empty(header, out);
            return Ok(());
        }
        let horizon = self.new_horizon(header, found.tombstones);
        if horizon.is_none() && found.kept == self.kept.len() {
            out.extend_from_slice(batch.bytes());
            return Ok(());
        }
        Ok(rewrite_batch(header, batch, &self.kept, horizon, out)?)
    }

    fn pass_control(
        &mut self,
        header: &BatchHeader,
        batch: &StoredBatch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<AbortedEntry>, BatchProblem> {
        let fate = self.transactions.pass_control(header, read_marker(header, batch.bytes()));
        let unneeded = fate == MarkerFate::Unneeded;
        let goes = unneeded && header.delete_horizon().is_some_and(|due| due <= self.rules.now);
        self.count(header.records_count, if goes { 0 } else { header.records_count });
        if goes || header.records_count == 0 {
            self.finish_empty(header, out);
        } else if let Some(horizon) = self.new_horizon(header, unneeded) {
            self.kept.clear();
            self.kept.resize(header.records_count.unsigned_abs() as usize, true);
            rewrite_batch(header, batch, &self.kept, Some(horizon), out)?;
        } else {
            out.extend_from_slice(batch.bytes());
        }
        match fate {
            MarkerFate::NeededAbort(entry) => Ok(Some(entry)),
            MarkerFate::Needed | MarkerFate::Unneeded => Ok(None),
        }
    }

    fn pass_messages(
        &mut self,
        batch: &StoredBatch<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), BatchProblem> {
        let messages = LegacyMessages::read(batch, STORED_BYTES_MAX)?;
        self.records.clear();
        let candidates = messages.iter().map(|m| self.rules.candidate(m.offset, m.key, m.value));
        self.records.extend(candidates);
        let found = self.judge(self.rules.keep_legacy_tombstones);
        self.count(self.kept.len() as i32, found.kept as i32);
        if batch.last_offset() >= self.rules.clean_end && found.kept == self.kept.len() {
            out.extend_from_slice(batch.bytes());
        } else if found.kept > 0 {
            let horizon = found.tombstones.then(|| self.rules.horizon());
            rewrite_messages(batch, &messages, &self.kept, horizon, out)?;
        }
        Ok(())
    }

    fn look_at_records(
        &mut self,
        header: &BatchHeader,
        batch: &StoredBatch<'_>,
    ) -> Result<Found, ReadRecordError> {
        let records = &batch.bytes()[HEADER_LEN..];
        let keep_tombstones = header.delete_horizon().is_none_or(|due| self.rules.now < due);
        if self.rules.know_all_of(header) {
            return self.look_up_offsets(header, records, keep_tombstones);
        }
        self.records.clear();
        let (rules, candidates) = (self.rules, &mut self.records);
        each_record(header, records, STORED_BYTES_MAX, |record| {
            let offset = record.offset(header);
            candidates.push(rules.candidate(offset, record.key, record.value));
        })?;
        Ok(self.judge(keep_tombstones))
    }

    /// Says of each record of a batch whether it stays, where its offset tells whether there is a newer one.
    fn look_up_offsets(
        &mut self,
        header: &BatchHeader,
        records: &[u8],
        keep_tombstones: bool,
    ) -> Result<Found, ReadRecordError> {
        self.kept.clear();
        let mut found = Found::default();
        let (superseded, kept) = (self.rules.superseded, &mut self.kept);
        each_record(header, records, STORED_BYTES_MAX, |record: &Record<'_>| {
            let is_tombstone = record.value.is_none();
            let keep = !superseded.has(record.offset(header))
                && record.key.is_some()
                && (!is_tombstone || keep_tombstones);
            found.add(keep, is_tombstone);
            kept.push(keep);
        })?;
        Ok(found)
    }

    /// Says of each record whether it stays.
    fn judge(&mut self, keep_tombstones: bool) -> Found {
        self.kept.clear();
        let mut found = Found::default();
        for records in self.records.chunks(KEYS_AT_A_TIME) {
            self.rules.keys.fetch(records.iter().filter_map(|record| record.key));
            for record in records {
                let keep = self.rules.keep(record, keep_tombstones);
                found.add(keep, record.is_tombstone);
                self.kept.push(keep);
            }
        }
        found
    }

    /// The time from which on what is in the batch only to be seen for a while may go, if it is to be set now. Not behind the
    /// clean end: what a tombstone there deletes may not be gone yet.
    fn new_horizon(&self, header: &BatchHeader, wanted: bool) -> Option<Timestamp> {
        let is_new = wanted && header.delete_horizon().is_none();
        (is_new && header.last_offset() < self.rules.clean_end).then(|| self.rules.horizon())
    }

    fn finish_empty(&self, header: &BatchHeader, out: &mut Vec<u8>) {
        if self.rules.fate_if_empty(header) == Empty::Kept {
            rewrite::write_empty(header, out);
        }
    }

    fn count(&mut self, read: i32, kept: i32) {
        self.tally.records_read += u64::from(read.unsigned_abs());
        self.tally.records_kept += u64::from(kept.unsigned_abs());
    }
}

impl Found {
    fn add(&mut self, kept: bool, is_tombstone: bool) {
        self.kept += usize::from(kept);
        self.tombstones |= kept && is_tombstone;
    }
}

impl Rules<'_> {
    #[inline]
    fn candidate(&self, offset: Offset, key: Option<&[u8]>, value: Option<&[u8]>) -> Candidate {
        Candidate { key: key.map(|key| self.keys.hash(key)), offset, is_tombstone: value.is_none() }
    }

    /// True if there is a newer record for each that the batch has.
    fn supersede_all_of(&self, header: &BatchHeader) -> bool {
        self.know_all_of(header)
            && self.superseded.count(header) == u64::from(header.records_count.unsigned_abs())
    }

    /// True if the offsets of a batch tell which of its records have newer ones.
    fn know_all_of(&self, header: &BatchHeader) -> bool {
        header.last_offset() < self.clean_end && self.superseded.knows(header)
    }

    #[inline]
    fn keep(&self, record: &Candidate, keep_tombstones: bool) -> bool {
        if record.offset >= self.clean_end {
            return true;
        }
        let is_newest = |key| self.keys.get(key).is_none_or(|newest| record.offset >= newest);
        let may_stay = !record.is_tombstone || keep_tombstones;
        may_stay && record.key.is_some_and(is_newest)
    }

    fn horizon(&self) -> Timestamp {
        Timestamp::new(self.now.get().saturating_add(self.delete_retention_ms))
    }

    fn fate_if_empty(&self, header: &BatchHeader) -> Empty {
        let ends_round = header.last_offset().plus(1) == self.round_end;
        if ends_round || self.producers.need(header) { Empty::Kept } else { Empty::Dropped }
    }
}

#[cfg(test)]
mod tests;
