//! Commits that wait until the coordinator of transactions says that the shard is part of their transaction.
//!
//! Soft state: what waits in a shard that is thrown away is sent away with it. An errand that comes back to another life of
//! the shard finds nothing, since its number is random.

use std::collections::HashMap;

use kafka_protocol::messages::TxnOffsetCommitRequest;

use super::transactional::producer_of;
use crate::coordinator::TransactionalId;
use crate::coordinator::groups::{Call, VerifyTransaction};
use crate::coordinator::machine::Token;
use crate::types::{Marker, ProducerId, TransactionVersion, Uuid};

/// First version whose commit makes the shard part of the transaction (KIP-890).
const ADDS_SINCE: i16 = 5;

/// A commit and who waits for its answer. It keeps the frame of its request in memory.
pub(super) type Waiting = (Call<TxnOffsetCommitRequest>, Token);

/// Everything that waits in a shard, by producer.
#[derive(Debug, Default)]
pub struct Verifications {
    by_producer: HashMap<ProducerId, Vec<Verification>>,
}

/// One errand and what waits for it.
#[derive(Debug)]
struct Verification {
    asked: VerifyTransaction,
    /// In the order in which they came.
    waiting: Vec<Waiting>,
}

impl Verifications {
    /// Lets a commit wait. What it gives back is to be sent out; `None` if it has been before.
    pub(super) fn wait(
        &mut self,
        waiting: Waiting,
        new_id: impl FnOnce() -> Uuid,
    ) -> Option<VerifyTransaction> {
        let (call, _) = &waiting;
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
            return None;
        }
        let transactional_id = TransactionalId::new(id);
        let asked = VerifyTransaction { errand: new_id(), transactional_id, producer, version };
        of_producer.push(Verification { asked: asked.clone(), waiting: vec![waiting] });
        Some(asked)
    }

    /// Takes out what waits for an errand.
    pub(super) fn take(&mut self, producer: ProducerId, errand: Uuid) -> Vec<Waiting> {
        self.take_if(producer, |asked| asked.errand == errand)
    }

    /// Takes out what waits in a transaction that a marker ends.
    pub(super) fn take_ended(&mut self, marker: &Marker) -> Vec<Waiting> {
        self.take_if(marker.producer.id, |asked| {
            // A transaction of version 2 begins in the epoch of the marker that has ended the one before.
            asked.version == TransactionVersion::V1 || asked.producer != marker.producer
        })
    }

    fn take_if(
        &mut self,
        producer: ProducerId,
        is_taken: impl Fn(&VerifyTransaction) -> bool,
    ) -> Vec<Waiting> {
        let Some(of_producer) = self.by_producer.get_mut(&producer) else { return Vec::new() };
        let taken = of_producer.extract_if(.., |known| is_taken(&known.asked));
        let taken = taken.flat_map(|known| known.waiting).collect();
        if of_producer.is_empty() {
            self.by_producer.remove(&producer);
        }
        taken
    }
}
