//! May a batch of a producer, or the marker of its transaction, be appended (Kafka's `ProducerAppendInfo` and the checks of
//! `UnifiedLog.analyzeAndValidateProducerState`)? Nothing here changes anything.
//!
//! Client: duplicate · epoch · the transaction of a transactional batch is open or just joined · sequence · nothing outside an
//! open transaction. Marker: epoch of the producer · epoch of the coordinator.

use super::append::AppendError;
use super::batch::BatchHeader;
use super::check::{Admission, CheckedBatch, Origin};
use super::joins::Join;
use super::marker::read_marker;
use super::producers::{EndMarker, Producer, Producers, RecentBatch};
use crate::types::{Offset, ProducerEpoch, TransactionVersion};

/// Kafka's −1: no sequence known.
const NO_SEQUENCE: i32 = -1;

/// No epoch comes after it, so that the end of a transaction cannot raise it either.
const LAST_EPOCH: ProducerEpoch = ProducerEpoch::new(i16::MAX);

/// What a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// To be appended.
    New,
    /// Here already.
    Duplicate(RecentBatch),
}

impl Producers {
    /// May this batch, which has a producer, be appended at `at`?
    pub(super) fn check(
        &self,
        batch: &CheckedBatch<'_>,
        at: Offset,
    ) -> Result<Verdict, AppendError> {
        let header = &batch.header;
        match batch.origin {
            Origin::Marker(version) => {
                let marker = read_marker(header, &batch.bytes);
                self.check_marker(header, marker, version, at)?;
            }
            _ if header.is_control() => {}
            Origin::Coordinator => self.check_data(header, at)?,
            Origin::Client(admission) => return self.check_client(header, admission, at),
        }
        Ok(Verdict::New)
    }

    fn check_client(
        &self,
        header: &BatchHeader,
        admission: Admission,
        at: Offset,
    ) -> Result<Verdict, AppendError> {
        let known = self.standing(header.producer_id);
        if let Some(duplicate) = known.find_duplicate(header) {
            return Ok(Verdict::Duplicate(duplicate));
        }
        // First: a producer that was fenced can recover from this, not from what comes below.
        known.check_epoch(header, at)?;
        if header.is_transactional() {
            self.check_admission(header, &known, admission, at)?;
        }
        if let Some(join) = self.joins().get(header.producer_id) {
            join.check_sequence(header, &known, at)?;
        }
        known.check_sequence(header, at)?;
        known.check_transaction(header, at)?;
        Ok(Verdict::New)
    }

    /// Is a transactional batch known to be part of a transaction that will be ended?
    fn check_admission(
        &self,
        header: &BatchHeader,
        known: &Producer,
        admission: Admission,
        at: Offset,
    ) -> Result<(), AppendError> {
        if known.is_in_transaction(header.producer_epoch) {
            return Ok(());
        }
        let join = self.joins().get(header.producer_id);
        let is_admitted = match admission {
            Admission::Open => false,
            Admission::Joined(guard) => join.is_some_and(|join| join.guard == guard),
            Admission::Unverified => true,
        };
        if is_admitted {
            return Ok(());
        }
        Err(AppendError::InvalidTransactionState(format!(
            "The transaction of producer {} is not open at offset {at}",
            header.producer_id
        )))
    }

    fn check_data(&self, header: &BatchHeader, at: Offset) -> Result<(), AppendError> {
        let known = self.standing(header.producer_id);
        known.check_epoch(header, at)?;
        known.check_transaction(header, at)
    }

    fn check_marker(
        &self,
        header: &BatchHeader,
        marker: Option<EndMarker>,
        version: TransactionVersion,
        at: Offset,
    ) -> Result<(), AppendError> {
        let known = self.standing(header.producer_id);
        known.check_marker_epoch(header, version, at)?;
        let Some(marker) = marker.filter(|new| new.coordinator_epoch < known.coordinator_epoch)
        else {
            return Ok(());
        };
        Err(AppendError::CoordinatorFenced(format!(
            "Invalid coordinator epoch for producer {} at offset {at}: {} (zombie), {} (current)",
            header.producer_id, marker.coordinator_epoch, known.coordinator_epoch
        )))
    }
}

impl Producer {
    fn find_duplicate(&self, header: &BatchHeader) -> Option<RecentBatch> {
        if header.producer_epoch != self.epoch {
            return None;
        }
        let (first, last) = (header.base_sequence, header.last_sequence());
        let same =
            |batch: &&RecentBatch| batch.last_sequence == last && batch.first_sequence() == first;
        self.recent.iter().find(same).copied()
    }

    fn check_epoch(&self, header: &BatchHeader, at: Offset) -> Result<(), AppendError> {
        if header.producer_epoch >= self.epoch {
            return Ok(());
        }
        Err(self.stale_epoch(header, "smaller than", at))
    }

    /// In version 1 markers have the epoch of the records. In version 2 they have a higher one, so that one that comes late
    /// cannot end the next transaction; written again, because nobody knows whether it was, it finds no transaction open.
    fn check_marker_epoch(
        &self,
        header: &BatchHeader,
        version: TransactionVersion,
        at: Offset,
    ) -> Result<(), AppendError> {
        let is_higher = header.producer_epoch > self.epoch;
        let is_same = header.producer_epoch == self.epoch;
        let has_ended = self.transaction_start.is_none() || header.producer_epoch == LAST_EPOCH;
        match version {
            TransactionVersion::V1 if is_higher || is_same => Ok(()),
            TransactionVersion::V1 => Err(self.stale_epoch(header, "smaller than", at)),
            TransactionVersion::V2 if is_higher || is_same && has_ended => Ok(()),
            TransactionVersion::V2 => Err(self.stale_epoch(header, "not above", at)),
        }
    }

    fn stale_epoch(&self, header: &BatchHeader, relation: &str, at: Offset) -> AppendError {
        AppendError::InvalidProducerEpoch(format!(
            "Epoch of producer {} at offset {at} is {}, which is {relation} the last seen epoch {}",
            header.producer_id, header.producer_epoch, self.epoch
        ))
    }

    fn check_sequence(&self, header: &BatchHeader, at: Offset) -> Result<(), AppendError> {
        if self.is_forgotten() {
            return Ok(());
        }
        let first = header.base_sequence;
        if header.producer_epoch != self.epoch {
            if first == 0 {
                return Ok(());
            }
            return Err(AppendError::OutOfOrderSequence(format!(
                "Invalid sequence number for new epoch of producer {} at offset {at}: {} (request epoch), {first} \
                 (seq. number), {} (current producer epoch)",
                header.producer_id, header.producer_epoch, self.epoch
            )));
        }
        // Behind a marker that raised the epoch the sequence begins anew.
        let last = self.recent.last().map_or(NO_SEQUENCE, |batch| batch.last_sequence);
        if first == last.wrapping_add(1) & i32::MAX {
            return Ok(());
        }
        Err(AppendError::OutOfOrderSequence(format!(
            "Out of order sequence number for producer {} at offset {at}: {first} (incoming seq. number), {last} \
             (current end sequence number)",
            header.producer_id
        )))
    }

    /// Nothing is left of it in the log but the frame of a marker: it may have written anything.
    fn is_forgotten(&self) -> bool {
        self.recent.is_empty() && self.coordinator_epoch < 0
    }

    fn check_transaction(&self, header: &BatchHeader, at: Offset) -> Result<(), AppendError> {
        if self.transaction_start.is_none() || header.is_transactional() {
            return Ok(());
        }
        Err(AppendError::InvalidTransactionState(format!(
            "Expected transactional write from producer {} at offset {at}",
            header.producer_id
        )))
    }
}

impl Join {
    /// In version 2 a producer of which nothing is known begins with 0: every transaction does.
    fn check_sequence(
        &self,
        header: &BatchHeader,
        known: &Producer,
        at: Offset,
    ) -> Result<(), AppendError> {
        let first = header.base_sequence;
        let expected = match self.version {
            TransactionVersion::V2 if first != 0 && known.recent.is_empty() => 0,
            _ if first > self.lowest_sequence => self.lowest_sequence,
            _ => return Ok(()),
        };
        Err(AppendError::OutOfOrderSequence(format!(
            "Out of order sequence number for producer {} at offset {at}: {first} (incoming seq. number), {expected} \
             (expected first of the transaction)",
            header.producer_id
        )))
    }
}
