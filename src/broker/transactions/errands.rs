//! Carries out what shards of transactions ask for: markers for all partitions of a transaction, until all are written (Kafka's
//! `TransactionMarkerChannelManager`, without the network).
//!
//! # State and threads
//! A task for each transaction that ends, so that none waits for a partition of another one. A transactional id has one task at a
//! time: a shard that was thrown away and read again asks once more for what may be under way, and a marker of version 1 that
//! comes late would end the producer's next transaction. So the second errand waits for the first, whose report no longer counts:
//! until then no next transaction can begin.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::markers::MarkError;
use crate::broker::Broker;
use crate::coordinator::TransactionalId;
use crate::coordinator::runtime::CallError;
use crate::coordinator::transactions::{TransactionCommand, TransactionErrand, WriteMarkers};
use crate::env;
use crate::types::{Marker, PartitionIndex, TopicPartition};

/// Wait before something is tried again; doubled each time.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(50);

/// Longest wait before something is tried again.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);

/// Transactions that are being ended, as many as the coordinator has in that state, each with what was asked for while its errand
/// was under way.
#[derive(Debug, Default)]
pub(in crate::broker) struct Errands(Mutex<HashMap<TransactionalId, Option<WriteMarkers>>>);

impl Errands {
    /// Takes an errand on: true if it is to be begun, false if it comes after the one under way.
    fn take_on(&self, asked: &WriteMarkers) -> bool {
        let mut errands = self.0.lock();
        if let Some(under_way) = errands.get_mut(&asked.id) {
            *under_way = Some(asked.clone());
            return false;
        }
        errands.insert(asked.id.clone(), None);
        true
    }

    /// The errand of an id is done; what was asked for meanwhile.
    fn done(&self, id: &TransactionalId) -> Option<WriteMarkers> {
        let mut errands = self.0.lock();
        let next = errands.get_mut(id).and_then(Option::take);
        if next.is_none() {
            errands.remove(id);
        }
        next
    }
}

impl Broker {
    /// Carries out what a shard of transactions asks for.
    pub(in crate::broker) fn run_transaction_errand(
        self: Arc<Self>,
        shard: PartitionIndex,
        errand: TransactionErrand,
    ) {
        let TransactionErrand::WriteMarkers(asked) = errand;
        if self.errands.take_on(&asked) {
            // Detached: it ends when all markers are written, or with the broker.
            drop(env::spawn(async move { self.end_transactions(shard, asked).await }));
        }
    }

    async fn end_transactions(self: Arc<Self>, shard: PartitionIndex, asked: WriteMarkers) {
        let id = asked.id.clone();
        self.end_transaction(shard, asked).await;
        while let Some(next) = self.errands.done(&id) {
            self.end_transaction(shard, next).await;
        }
    }

    /// Writes markers until all are there, then tells the coordinator.
    async fn end_transaction(self: &Arc<Self>, shard: PartitionIndex, asked: WriteMarkers) {
        let marker = Marker {
            producer: asked.producer,
            outcome: asked.outcome,
            coordinator_epoch: self.coordinator_epoch(shard),
            version: asked.version,
        };
        let mut pauses = Pauses::default();
        let mut left = asked.partitions.clone();
        while !left.is_empty() {
            let verdicts = self.write_markers(&marker, &left).await;
            left = left_over(&asked.id, left, verdicts, &pauses);
            if !left.is_empty() && !self.pause(&mut pauses).await {
                return;
            }
        }
        self.report_written(shard, asked).await;
    }

    async fn report_written(&self, shard: PartitionIndex, asked: WriteMarkers) {
        let mut pauses = Pauses::default();
        loop {
            let WriteMarkers { id, errand, partitions, .. } = asked.clone();
            let written = TransactionCommand::MarkersWritten { id, errand, partitions };
            match self.transactions.call(shard, written).await {
                // A shard that was thrown away meanwhile sends the errand out again when it is read.
                Ok(_) | Err(CallError::GivenUp) => return,
                Err(CallError::NotAvailable | CallError::Overloaded | CallError::NoMemory) => {}
            }
            if !self.pause(&mut pauses).await {
                return;
            }
        }
    }

    /// Waits before the next try; false if the broker stops.
    async fn pause(&self, pauses: &mut Pauses) -> bool {
        tokio::select! {
            () = tokio::time::sleep(pauses.next()) => true,
            () = self.shutdown.requested() => false,
        }
    }

    /// Epoch of the shard as the coordinator of its transactions.
    fn coordinator_epoch(&self, shard: PartitionIndex) -> i32 {
        let image = self.metadata.image();
        let topic = image.topic(super::TRANSACTION_STATE);
        let partition = topic.and_then(|topic| topic.partition(shard));
        partition.map_or(-1, |partition| partition.leader_epoch.get())
    }
}

/// Waits that grow.
#[derive(Debug, Default)]
struct Pauses {
    taken: u32,
}

impl Pauses {
    fn next(&mut self) -> Duration {
        let pause = RETRY_AFTER_MIN.saturating_mul(1 << self.taken.min(16)).min(RETRY_AFTER_MAX);
        self.taken += 1;
        pause
    }
}

/// The partitions where the marker is to be tried again.
fn left_over(
    id: &TransactionalId,
    asked: Vec<TopicPartition>,
    verdicts: Vec<Result<(), MarkError>>,
    pauses: &Pauses,
) -> Vec<TopicPartition> {
    let mut left = Vec::new();
    for (partition, verdict) in asked.into_iter().zip(verdicts) {
        let Err(error) = verdict else { continue };
        if error.is_final() {
            if !matches!(error, MarkError::Gone) {
                tracing::warn!(%id, %partition, %error, "a transaction marker is not taken");
            }
            continue;
        }
        // Once for each transaction: a disk that is gone stays gone.
        if pauses.taken == 0 {
            tracing::warn!(%id, %partition, %error, "a transaction marker cannot be written and is tried again");
        }
        left.push(partition);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Outcome, ProducerIdAndEpoch, TransactionVersion, Uuid};

    fn errand() -> WriteMarkers {
        WriteMarkers {
            id: TransactionalId::new("t"),
            errand: Uuid::from_bytes([1; 16]),
            producer: ProducerIdAndEpoch::NONE,
            outcome: Outcome::Commit,
            version: TransactionVersion::V1,
            partitions: Vec::new(),
        }
    }

    #[test]
    fn an_id_has_one_errand_at_a_time_and_the_newest_that_waits() {
        let errands = Errands::default();
        let id = errand().id;
        assert!(errands.take_on(&errand()));
        assert!(!errands.take_on(&errand()));
        assert!(!errands.take_on(&WriteMarkers { outcome: Outcome::Abort, ..errand() }));
        assert_eq!(errands.done(&id).map(|next| next.outcome), Some(Outcome::Abort));
        assert!(errands.done(&id).is_none());
        assert!(errands.0.lock().is_empty(), "nothing is left behind");
        assert!(errands.take_on(&errand()));
    }

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let mut pauses = Pauses::default();
        let first: Vec<_> = (0..3).map(|_| pauses.next().as_millis()).collect();
        assert_eq!(first, [50, 100, 200]);
        assert_eq!((0..100).map(|_| pauses.next()).max(), Some(RETRY_AFTER_MAX));
    }
}
