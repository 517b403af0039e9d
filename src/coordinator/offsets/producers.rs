//! What the log of a shard knows of producers (Kafka's `ProducerStateManager` as far as coordinators meet it).
//!
//! A log refuses what comes from an older life of a producer, and a shard whose log refuses something is thrown away: so the
//! shard refuses it first. Soft state, made of what the log knows when the shard is read, and of everything written since. It
//! may know more than the log, whose memory ends earlier, never less: but for a time after `producer.id.expiration.ms` was raised, when
//! a shard that a log has refused learns of it by being read again.

use std::collections::HashMap;

use crate::coordinator::groups::{GroupTimer, GroupTurn, Groups, MarkerError};
use crate::coordinator::machine::LogProducer;
use crate::types::{Marker, ProducerEpoch, ProducerId, ProducerIdAndEpoch, TransactionVersion};

/// The log forgets a producer some time after it might: at the next look of housekeeping (Kafka's
/// `producer.id.expiration.check.interval.ms`).
const LOOK_INTERVAL_MS: i64 = 600_000;

/// No life of a producer has a higher one.
const LAST_EPOCH: ProducerEpoch = ProducerEpoch::new(i16::MAX);

/// A producer, its place in the map included.
const PRODUCER_BYTES: usize = 48;

/// Producers of a shard.
#[derive(Debug, Default)]
pub struct KnownProducers {
    by_id: HashMap<ProducerId, KnownProducer>,
}

#[derive(Clone, Copy, Debug)]
struct KnownProducer {
    epoch: ProducerEpoch,
    /// −1 before the first marker.
    coordinator_epoch: i32,
    in_transaction: bool,
    /// Since the last look.
    was_heard: bool,
}

impl KnownProducer {
    /// Where one stands that nothing is known of: before its first epoch.
    const UNKNOWN: Self = Self {
        epoch: ProducerEpoch::NONE,
        coordinator_epoch: -1,
        in_transaction: false,
        was_heard: true,
    };
}

/// What a record of a producer's transaction would be to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Part of the transaction that is open.
    InTransaction,
    /// The first of a transaction, if there is one.
    Outside,
    /// From an older life of the producer.
    Fenced,
}

impl KnownProducers {
    /// Takes over what the log knows.
    pub fn restore(&mut self, producers: &[LogProducer]) {
        for known in producers {
            let LogProducer { producer, coordinator_epoch, in_transaction } = *known;
            let epoch = producer.epoch;
            let known = KnownProducer { epoch, coordinator_epoch, in_transaction, was_heard: true };
            self.by_id.insert(producer.id, known);
        }
    }

    /// About how many bytes they take.
    pub fn footprint_bytes(&self) -> usize {
        self.by_id.len() * PRODUCER_BYTES
    }

    /// True while no producer is known.
    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Where a producer stands.
    pub(super) fn standing(&self, producer: ProducerIdAndEpoch) -> Standing {
        match self.by_id.get(&producer.id) {
            Some(known) if producer.epoch < known.epoch => Standing::Fenced,
            Some(known) if producer.epoch == known.epoch && known.in_transaction => {
                Standing::InTransaction
            }
            Some(_) | None => Standing::Outside,
        }
    }

    /// A record of its transaction is written.
    pub(super) fn wrote(&mut self, producer: ProducerIdAndEpoch) {
        let known = self.known(producer.id);
        known.epoch = producer.epoch;
        known.in_transaction = true;
        known.was_heard = true;
    }

    /// Whether a marker may be written (Kafka's `ProducerAppendInfo.appendEndTxnMarker`). The end of a transaction of version 2
    /// raises the epoch, so that one that does not comes late, and would end the wrong transaction. Where none is open it may
    /// come twice: who sent it was not told that it is here. No epoch comes after the last one.
    pub(super) fn check_marker(&self, marker: &Marker) -> Result<(), MarkerError> {
        let known = self.by_id.get(&marker.producer.id).unwrap_or(&KnownProducer::UNKNOWN);
        let epoch = marker.producer.epoch;
        let ends_another = marker.version == TransactionVersion::V2
            && epoch == known.epoch
            && known.in_transaction
            && epoch != LAST_EPOCH;
        if epoch < known.epoch || ends_another {
            Err(MarkerError::ProducerEpoch)
        } else if marker.coordinator_epoch < known.coordinator_epoch {
            Err(MarkerError::CoordinatorFenced)
        } else {
            Ok(())
        }
    }

    /// A marker is written.
    pub(super) fn ended(&mut self, marker: &Marker) {
        let (epoch, coordinator_epoch) = (marker.producer.epoch, marker.coordinator_epoch);
        let known =
            KnownProducer { epoch, coordinator_epoch, in_transaction: false, was_heard: true };
        self.by_id.insert(marker.producer.id, known);
    }

    /// Forgets producers that were not heard of since the last look and have no transaction open.
    fn forget_silent(&mut self) {
        self.by_id.retain(|_, known| std::mem::take(&mut known.was_heard) || known.in_transaction);
    }

    fn known(&mut self, id: ProducerId) -> &mut KnownProducer {
        self.by_id.entry(id).or_insert(KnownProducer::UNKNOWN)
    }
}

/// Sets the timer of the next look for producers to be forgotten, if there are any.
pub(super) fn watch(shard: &Groups, turn: &mut GroupTurn<'_>) {
    let timer = GroupTimer::ProducerExpiry;
    if !shard.producers.is_empty() && !turn.has_timer(&timer) {
        let expiration_ms = shard.settings.producer_id_expiration_ms(turn.image);
        turn.set_timer(timer, expiration_ms.saturating_add(LOOK_INTERVAL_MS));
    }
}

/// Forgets producers whom the log has forgotten.
pub(in crate::coordinator) fn expire_producers(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    shard.producers.forget_silent();
    watch(shard, turn);
}
