//! Commits that wait until the coordinator of transactions says that the shard is part of their transaction.
//!
//! Soft state: what waits in a shard that is thrown away is sent away with it. An errand that comes back to another life of
//! the shard finds nothing, since its number is random.

use std::collections::HashMap;

use super::transactional::producer_of;
use super::waiting_commit::WaitingCommit;
use crate::coordinator::TransactionalId;
use crate::coordinator::groups::VerifyTransaction;
use crate::types::{Marker, ProducerId, TransactionVersion, Uuid};

/// First version whose commit makes the shard part of the transaction (KIP-890).
const ADDS_SINCE: i16 = 5;

/// Most bytes of commits that wait in a shard. Some ten thousand of one partition each; a verdict is a matter of milliseconds.
/// What comes beyond that is refused with COORDINATOR_NOT_AVAILABLE, and its client asks again.
pub(super) const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What becomes of a commit that nobody has vouched for.
#[derive(Debug)]
pub(super) enum Admission {
    /// It waits, and this is to be sent out.
    Asks(VerifyTransaction),
    /// It waits for what was sent out before.
    Waits,
    /// It cannot wait.
    Full(WaitingCommit),
}

/// Everything that waits in a shard, by producer.
#[derive(Debug, Default)]
pub struct Verifications {
    by_producer: HashMap<ProducerId, Vec<Verification>>,
    waiting_bytes: usize,
}

/// One errand and what waits for it.
#[derive(Debug)]
struct Verification {
    asked: VerifyTransaction,
    /// In the order in which they came.
    waiting: Vec<WaitingCommit>,
}

impl Verifications {
    /// Memory that what waits takes.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Lets a commit wait.
    pub(super) fn wait(
        &mut self,
        waiting: WaitingCommit,
        new_id: impl FnOnce() -> Uuid,
    ) -> Admission {
        let bytes = waiting.bytes();
        if self.waiting_bytes + bytes > WAITING_BYTES_MAX {
            return Admission::Full(waiting);
        }
        self.waiting_bytes += bytes;
        let call = &waiting.call;
        let producer = producer_of(&call.request);
        let version = match call.version {
            ADDS_SINCE.. => TransactionVersion::V2,
            _ => TransactionVersion::V1,
        };
        let id = &call.request.transactional_id;
        let of_producer = self.by_producer.entry(producer.id).or_default();
        let known = of_producer.iter_mut().find(|known| {
            let asked = &known.asked;
            (asked.producer, asked.version) == (producer, version)
                && asked.transactional_id.as_str() == id.as_str()
        });
        if let Some(known) = known {
            known.waiting.push(waiting);
            return Admission::Waits;
        }
        let transactional_id = TransactionalId::new(id);
        let asked = VerifyTransaction { errand: new_id(), transactional_id, producer, version };
        of_producer.push(Verification { asked: asked.clone(), waiting: vec![waiting] });
        Admission::Asks(asked)
    }

    /// Takes out what waits for an errand.
    pub(super) fn take(&mut self, producer: ProducerId, errand: Uuid) -> Vec<WaitingCommit> {
        self.take_if(producer, |asked| asked.errand == errand)
    }

    /// Takes out what waits in a transaction that a marker ends.
    pub(super) fn take_ended(&mut self, marker: &Marker) -> Vec<WaitingCommit> {
        self.take_if(marker.producer.id, |asked| {
            // A transaction of version 2 begins in the epoch of the marker that has ended the one before.
            asked.version == TransactionVersion::V1 || asked.producer != marker.producer
        })
    }

    fn take_if(
        &mut self,
        producer: ProducerId,
        is_taken: impl Fn(&VerifyTransaction) -> bool,
    ) -> Vec<WaitingCommit> {
        let Some(of_producer) = self.by_producer.get_mut(&producer) else { return Vec::new() };
        let taken = of_producer.extract_if(.., |known| is_taken(&known.asked));
        let taken: Vec<WaitingCommit> = taken.flat_map(|known| known.waiting).collect();
        self.waiting_bytes -= taken.iter().map(WaitingCommit::bytes).sum::<usize>();
        if of_producer.is_empty() {
            self.by_producer.remove(&producer);
        }
        taken
    }
}
