//! Transactional producers, as clients keep them, and the coordinator that they ask.

use bytes::Bytes;
use highwater::broker::{
    Acks, Produce, ProduceBatch, ProduceError, ProduceTransaction, Produced, Step,
};
use highwater::coordinator::TransactionalId;
use highwater::coordinator::transactions::{
    End, InitProducer, Partitions, TransactionCommand, TransactionDescription, TransactionError,
    TransactionReply,
};
use highwater::log::Appended;
use highwater::log::builder::{BatchBuilder, BatchTemplate};
use highwater::types::{
    Outcome, PartitionIndex, ProducerIdAndEpoch, Timestamp, TopicName, TopicPartition,
    TransactionVersion,
};

use super::batches::{Sender, batch};
use super::broker::{LONG, Life, now, only};

/// What a client with a transactional id knows of itself. It outlives brokers.
pub struct Producer {
    pub id: TransactionalId,
    pub me: ProducerIdAndEpoch,
    pub version: TransactionVersion,
    sequence: i32,
}

impl Producer {
    /// One that its broker knows already.
    pub fn known(id: &str, me: ProducerIdAndEpoch, version: TransactionVersion) -> Self {
        Self { id: TransactionalId::new(id), me, version, sequence: 0 }
    }

    /// The same, which has written so many records to one partition.
    pub fn with_sequence(self, sequence: i32) -> Self {
        Self { sequence, ..self }
    }

    /// Begins, and ends whatever its name had open: that is over when this returns.
    pub async fn begin(life: &Life, id: &str, version: TransactionVersion) -> Self {
        life.broker.ensure_producer_ids().finish().await.unwrap();
        let id = TransactionalId::new(id);
        let asked = InitProducer { id: id.clone(), timeout_ms: 60_000, current: None, version: 5 };
        let reply = ask(life, &id, TransactionCommand::InitProducer(asked)).await;
        let TransactionReply::InitProducer(me) = reply else { panic!("{reply:?}") };
        Self { id, me: me.unwrap(), version, sequence: 0 }
    }

    /// Adds partitions to its transaction.
    pub async fn add(&self, life: &Life, partitions: &[(&str, i32)]) {
        let partitions = partitions.iter().map(|(topic, index)| partition(topic, *index)).collect();
        let (id, producer) = (self.id.clone(), self.me);
        let asked = Partitions { id, producer, partitions, version: self.version };
        let reply = ask(life, &self.id, TransactionCommand::AddPartitions(asked)).await;
        let TransactionReply::AddPartitions(added) = reply else { panic!("{reply:?}") };
        added.unwrap();
    }

    /// Sends one record to each partition in one request.
    pub fn produce(&self, life: &Life, to: &[(&str, i32)]) -> Step<Produced> {
        let sender = Sender {
            id: self.me.id.get(),
            epoch: self.me.epoch.get(),
            sequence: self.sequence,
            transactional: true,
        };
        self.produce_batch(life, to, batch(&[(b"a record of it", now())], Some(sender)))
    }

    fn produce_batch(&self, life: &Life, to: &[(&str, i32)], batch: Vec<u8>) -> Step<Produced> {
        let records = Bytes::from(batch);
        let batches = to
            .iter()
            .map(|(topic, index)| ProduceBatch::new(life.find(topic, *index), records.clone()));
        life.broker.produce(Produce {
            acks: Acks::All,
            timeout: LONG,
            zstd_allowed: true,
            transaction: Some(ProduceTransaction { id: self.id.clone(), version: self.version }),
            batches: batches.collect(),
        })
    }

    /// Sends one record to `t-0`.
    pub async fn send(&mut self, life: &Life) -> Result<Appended, ProduceError> {
        let sent = only(self.produce(life, &[("t", 0)]).finish().await);
        self.sequence += i32::from(sent.is_ok());
        sent
    }

    /// Sends one record of this time to `t-0`.
    pub async fn send_at(&mut self, life: &Life, timestamp: i64) {
        let sender = Sender {
            id: self.me.id.get(),
            epoch: self.me.epoch.get(),
            sequence: self.sequence,
            transactional: true,
        };
        let records = batch(&[(b"a record of it", timestamp)], Some(sender));
        only(self.produce_batch(life, &[("t", 0)], records).finish().await).unwrap();
        self.sequence += 1;
    }

    /// Sends one record with a key to `t-0`.
    pub async fn send_keyed(&mut self, life: &Life, key: &str, value: &str) {
        let mut batch = BatchBuilder::new(BatchTemplate {
            transactional: true,
            producer_id: self.me.id,
            producer_epoch: self.me.epoch,
            base_sequence: self.sequence,
            ..BatchTemplate::default()
        });
        batch.append(Timestamp::new(now()), Some(key.as_bytes()), Some(value.as_bytes()));
        let sent = self.produce_batch(life, &[("t", 0)], batch.build().unwrap());
        only(sent.finish().await).unwrap();
        self.sequence += 1;
    }

    pub async fn try_end(&mut self, life: &Life, outcome: Outcome) -> Result<(), TransactionError> {
        let (id, producer, version) = (self.id.clone(), self.me, self.version);
        let asked = TransactionCommand::End(End { id, producer, outcome, version });
        let reply = ask(life, &self.id, asked).await;
        let TransactionReply::End(ended) = reply else { panic!("{reply:?}") };
        let me = ended?;
        if me != self.me {
            self.sequence = 0;
        }
        self.me = me;
        Ok(())
    }

    pub async fn end(&mut self, life: &Life, outcome: Outcome) {
        self.try_end(life, outcome).await.unwrap();
    }
}

/// What the coordinator tells of a transactional id.
pub async fn describe(life: &Life, id: &str) -> TransactionDescription {
    let id = TransactionalId::new(id);
    let reply = ask(life, &id, TransactionCommand::Describe(id.clone())).await;
    let TransactionReply::Describe(described) = reply else { panic!("{reply:?}") };
    described.unwrap()
}

async fn ask(life: &Life, id: &TransactionalId, command: TransactionCommand) -> TransactionReply {
    life.broker.transaction_call(id.as_str(), command).await.unwrap()
}

pub fn partition(topic: &str, index: i32) -> TopicPartition {
    TopicPartition { topic: TopicName::new(topic).unwrap(), partition: PartitionIndex::new(index) }
}
