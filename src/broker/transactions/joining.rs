//! Lets batches into their transaction (the part of Kafka's `ReplicaManager.handleProduceAppend` before the append, and its
//! `AddPartitionsToTxnManager`; KIP-890).
//!
//! A batch comes in where its producer's transaction is open, which costs one look under the partition's lock. Where it is not,
//! the coordinator is asked for all such partitions of the request at once, while the connection's next request waits: version 1
//! verifies that they were added, version 2 adds them. The guard that was taken before the question goes with the batch, so
//! that an answer which a marker has overtaken opens no transaction.

use std::sync::Arc;

use super::Broker;
use crate::broker::produce::{Produce, ProduceBatch, ProduceError, ProduceTransaction, Produced};
use crate::broker::registry::Lookup;
use crate::broker::step::{BoxFuture, Step, off_thread};
use crate::coordinator::transactions::{
    Partitions, TransactionCommand, TransactionError, TransactionReply,
};
use crate::log::batch::BatchHeader;
use crate::log::{Admission, JoinGuard, check_form};
use crate::types::{ProducerIdAndEpoch, Timestamp, TopicPartition, TransactionVersion};

/// So often the coordinator is asked anew because a marker came before its answer. Once is usual where a producer begins the
/// next transaction at once.
const VOIDED_MAX: usize = 3;

/// Who wants to write in which transaction.
#[derive(Clone, Debug)]
struct Writer {
    producer: ProducerIdAndEpoch,
    transaction: ProduceTransaction,
}

/// A partition where the transaction is not open yet.
#[derive(Debug, PartialEq, Eq)]
struct Join {
    /// Which batch of the request.
    batch: usize,
    partition: TopicPartition,
    guard: JoinGuard,
}

impl Broker {
    /// Has partitions join the transaction as far as they must, then appends.
    pub(in crate::broker) fn produce_in_transaction(
        self: &Arc<Self>,
        mut request: Produce,
        transaction: ProduceTransaction,
    ) -> Step<Produced> {
        for batch in &mut request.batches {
            batch.transactional = transactional_header(batch, request.zstd_allowed);
        }
        let Ok(producer) = producer_of(&request.batches) else {
            let refused = |_: &ProduceBatch| Err(ProduceError::SeveralProducers);
            return Step::Now(request.batches.iter().map(refused).collect());
        };
        let Some(producer) = producer else { return self.produce_admitted(request) };
        let verifies = self.in_force.get().transaction_partition_verification_enable;
        if transaction.version == TransactionVersion::V1 && !verifies {
            let admit = |batch: &mut ProduceBatch| batch.admission = Ok(Admission::Unverified);
            request.batches.iter_mut().for_each(admit);
            return self.produce_admitted(request);
        }
        let writer = Writer { producer, transaction };
        let is_closed = |batch: &ProduceBatch| matches!(batch.partition, Lookup::Closed(_));
        if !request.batches.iter().any(|batch| is_closed(batch) && batch.transactional.is_some()) {
            return self.join_and_append(request, writer);
        }
        let broker = Arc::clone(self);
        Step::serial(async move {
            let request = off_thread(move || with_open_partitions(request)).await;
            broker.join_and_append(request, writer)
        })
    }

    fn join_and_append(self: &Arc<Self>, mut request: Produce, writer: Writer) -> Step<Produced> {
        let joins = begin_joins(&request.batches, &writer, self.env.clock.wall());
        if joins.is_empty() {
            return self.produce_admitted(request);
        }
        let broker = Arc::clone(self);
        Step::serial(async move {
            broker.join(&mut request.batches, &writer, joins).await;
            broker.produce_admitted(request)
        })
    }

    /// Asks the coordinator, and asks again if it has no place for one more that waits for the transaction before to end.
    async fn join(
        self: &Arc<Self>,
        batches: &mut [ProduceBatch],
        writer: &Writer,
        mut joins: Vec<Join>,
    ) {
        let clock = Arc::clone(&self.env.clock);
        let begun = clock.monotonic();
        let mut voided = 0;
        while !joins.is_empty() {
            let verdicts = self.ask_to_join(writer, &joins).await;
            if writer.transaction.version == TransactionVersion::V1 {
                return settle(batches, &joins, verdicts);
            }
            let waited = clock.monotonic().saturating_sub(begun);
            let is_busy = verdicts.contains(&Err(TransactionError::ConcurrentTransactions))
                && waited < self.settings.add_partitions_to_txn_retry_backoff_max;
            if is_busy {
                tokio::time::sleep(self.settings.add_partitions_to_txn_retry_backoff).await;
            }
            let again = begin_joins(batches, writer, clock.wall());
            // The transaction before ended while the coordinator had this one wait: its marker has voided the guards.
            let is_void = verdicts.iter().all(Result::is_ok) && again != joins;
            voided += usize::from(is_void);
            if !(is_busy || is_void && voided <= VOIDED_MAX) {
                return settle(batches, &joins, verdicts);
            }
            joins = again;
        }
    }

    fn ask_to_join(
        self: &Arc<Self>,
        writer: &Writer,
        joins: &[Join],
    ) -> BoxFuture<Vec<Result<(), TransactionError>>> {
        self.join_partitions(Partitions {
            id: writer.transaction.id.clone(),
            producer: writer.producer,
            partitions: joins.iter().map(|join| join.partition.clone()).collect(),
            version: writer.transaction.version,
        })
    }

    /// As [`Broker::join_transaction`], with a verdict for each partition: in version 1 each stands for itself.
    pub(in crate::broker) fn join_partitions(
        self: &Arc<Self>,
        asked: Partitions,
    ) -> BoxFuture<Vec<Result<(), TransactionError>>> {
        let (id, count) = (asked.id.clone(), asked.partitions.len());
        let command = match asked.version {
            TransactionVersion::V1 => TransactionCommand::VerifyPartitions(asked),
            TransactionVersion::V2 => TransactionCommand::AddPartitions(asked),
        };
        let reply = self.transaction_call(id.as_str(), command);
        Box::pin(async move {
            match reply.await {
                Ok(TransactionReply::AddPartitions(verdict)) => vec![verdict; count],
                Ok(TransactionReply::VerifyPartitions(verdicts)) => verdicts,
                Ok(other) => {
                    unreachable!("a shard answers with the reply of the command: {other:?}")
                }
                Err(_) => vec![Err(TransactionError::NotAvailable); count],
            }
        })
    }
}

/// What the coordinator says of each partition goes with its batch.
fn settle(
    batches: &mut [ProduceBatch],
    joins: &[Join],
    verdicts: Vec<Result<(), TransactionError>>,
) {
    for (join, verdict) in joins.iter().zip(verdicts) {
        let batch = &mut batches[join.batch];
        batch.admission = verdict.map(|()| Admission::Joined(join.guard));
        if let (Err(error), Lookup::Open(partition)) = (verdict, &batch.partition)
            && let Some(header) = batch.transactional.filter(|_| !may_come_again(error))
        {
            partition.give_up_join(header.producer_id, join.guard);
        }
    }
}

/// True for what only takes time: the batch is sent again, and the order of those that wait with it must be known then.
fn may_come_again(error: TransactionError) -> bool {
    matches!(error, TransactionError::ConcurrentTransactions | TransactionError::NotAvailable)
}

/// Transactional batches of more than one producer, or of several epochs.
struct SeveralProducers;

/// The producer of the transactional batches, if there are any.
fn producer_of(batches: &[ProduceBatch]) -> Result<Option<ProducerIdAndEpoch>, SeveralProducers> {
    let mut producers = batches
        .iter()
        .filter_map(|batch| batch.transactional)
        .map(|header| ProducerIdAndEpoch { id: header.producer_id, epoch: header.producer_epoch });
    let first = producers.next();
    if producers.all(|producer| Some(producer) == first) {
        Ok(first)
    } else {
        Err(SeveralProducers)
    }
}

/// The header of a transactional batch with somewhere to go. Whether its records are good is checked later.
fn transactional_header(batch: &ProduceBatch, zstd_allowed: bool) -> Option<BatchHeader> {
    if matches!(batch.partition, Lookup::Unknown) {
        return None;
    }
    let header = check_form(&batch.records, zstd_allowed).ok()?;
    (header.is_transactional() && header.has_producer_id()).then_some(header)
}

/// Opens the logs of transactional batches. One that cannot be opened is left to the append, which says why. Blocks.
fn with_open_partitions(mut request: Produce) -> Produce {
    for batch in &mut request.batches {
        if let Lookup::Closed(closed) = &batch.partition
            && batch.transactional.is_some()
            && let Ok(partition) = closed.open()
        {
            batch.partition = Lookup::Open(partition);
        }
    }
    request
}

/// Where the transaction is not open yet. A partition that takes no appends at all says so at the append.
fn begin_joins(batches: &[ProduceBatch], writer: &Writer, now: Timestamp) -> Vec<Join> {
    let begin = |(at, batch): (usize, &ProduceBatch)| {
        let Lookup::Open(partition) = &batch.partition else { return None };
        let sequence = batch.transactional?.base_sequence;
        let version = writer.transaction.version;
        let guard = partition.begin_join(writer.producer, sequence, version, now).ok()??;
        Some(Join { batch: at, partition: partition.name(), guard })
    };
    batches.iter().enumerate().filter_map(begin).collect()
}
