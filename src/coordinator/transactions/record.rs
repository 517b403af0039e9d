//! The records of `__transaction_state` (Kafka's `TransactionLogKey` and `TransactionLogValue`).
//!
//! Key: type `i16` 0, transactional id (string with an `i16` length). Value: version `i16`, then producer id `i64`, producer
//! epoch `i16`, timeout `i32` ms, state `i8`, partitions (null when empty of state; else an array of topic and an array of
//! `i32` each), last update `i64` ms, start `i64` ms. Version 1 is the flexible encoding of the same, with tagged fields where
//! they are not the default: 0 previous producer id `i64` (-1), 1 next producer id `i64` (-1), 2 version of the client's rules
//! `i16` (0), 3 next producer epoch `i16` (-1). A null value is a tombstone.
//!
//! Kafka writes partitions in the order of a hash map; here they are sorted.

use super::{Transaction, TransactionState};
use crate::coordinator::TransactionalId;
use crate::coordinator::machine::{InvalidRecord, KeyValue};
use crate::metadata::Image;
use crate::metadata::records::wire::{Reader, TagUse, Tags, WireError, Writer};
use crate::types::{
    PartitionIndex, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp, TopicName,
    TopicPartition, TransactionVersion,
};

/// The feature that decides how values are written, and the rules of what the coordinator ends by itself.
pub const TRANSACTION_VERSION: &str = "transaction.version";

/// The only type of record.
const TRANSACTION: i16 = 0;

/// One record; `value` is `None` in a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionRecord {
    /// Whose.
    pub id: TransactionalId,
    /// What is known of it from now on, and how that is written.
    pub value: Option<(Transaction, ValueFormat)>,
}

/// A version of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as in Kafka's message definition")]
pub enum ValueFormat {
    V0,
    V1,
}

impl ValueFormat {
    /// Version 1 where the cluster has `transaction.version` 1 or later, and where version 0 would lose something: the rules of
    /// a transaction of version 2.
    pub fn of(image: &Image, version: TransactionVersion) -> Self {
        let level = image.features.get(TRANSACTION_VERSION).copied().unwrap_or(0);
        if level >= 1 || version == TransactionVersion::V2 { Self::V1 } else { Self::V0 }
    }
}

/// Key and value.
pub fn encode(record: &TransactionRecord) -> KeyValue {
    let mut key = Writer::inflexible();
    key.i16(TRANSACTION);
    key.string(record.id.as_str());
    let value = record.value.as_ref().map(|(transaction, format)| match format {
        ValueFormat::V0 => encode_value(Writer::inflexible(), 0, transaction),
        ValueFormat::V1 => encode_value(Writer::default(), 1, transaction),
    });
    KeyValue { key: key.into_bytes(), value }
}

fn encode_value(mut w: Writer, version: i16, transaction: &Transaction) -> Vec<u8> {
    w.i16(version);
    w.i64(transaction.producer.id.get());
    w.i16(transaction.producer.epoch.get());
    w.i32(transaction.timeout_ms);
    w.i8(transaction.state.id());
    let is_same_topic = |a: &TopicPartition, b: &TopicPartition| a.topic == b.topic;
    match transaction.state {
        TransactionState::Empty => w.null_array(),
        _ => {
            let topics: Vec<_> = transaction.partitions.chunk_by(is_same_topic).collect();
            w.array_of(&topics, |w, partitions| {
                w.string(partitions[0].topic.as_str());
                w.array_of(partitions, |w, partition| w.i32(partition.partition.get()));
                w.no_tags();
            });
        }
    }
    w.i64(transaction.last_update.get());
    w.i64(transaction.start.get());
    if version >= 1 {
        w.tags(tags(transaction));
    }
    w.into_bytes()
}

fn tags(transaction: &Transaction) -> Tags {
    let mut tags = Tags::default();
    let known = |id: ProducerId| (id != ProducerId::NONE).then(|| id.get());
    tags.put_some(0, known(transaction.previous_id), Writer::i64);
    tags.put_some(1, known(transaction.next_id), Writer::i64);
    let rules = (transaction.version == TransactionVersion::V2).then_some(2);
    tags.put_some(2, rules, Writer::i16);
    let next_epoch = transaction.next_epoch;
    let next_epoch = (next_epoch != ProducerEpoch::NONE).then(|| next_epoch.get());
    tags.put_some(3, next_epoch, Writer::i16);
    tags
}

/// `None` for a type that is not known.
///
/// Never panics, and allocates no more than a small multiple of the bytes. What follows the last field is ignored, as Kafka
/// does: a log that it can load must load here.
pub fn decode(
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<Option<TransactionRecord>, InvalidRecord> {
    let invalid = |error: Unreadable| InvalidRecord(format!("a record of a transaction: {error}"));
    let mut key = Reader::inflexible(key);
    if key.i16().map_err(|error| invalid(error.into()))? != TRANSACTION {
        return Ok(None);
    }
    let id = key.text().map_err(|error| invalid(error.into()))?.into();
    let value = value.map(decode_value).transpose().map_err(invalid)?;
    Ok(Some(TransactionRecord { id, value }))
}

#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error(transparent)]
    Malformed(#[from] WireError),
    #[error("version {0} of the value is unknown, a newer Kafka wrote it")]
    Version(i16),
    #[error("{0} is no state that is written")]
    State(i8),
    #[error("{0} is no producer id and epoch")]
    Producer(ProducerIdAndEpoch),
    #[error("a topic has an illegal name")]
    Topic,
}

fn decode_value(bytes: &[u8]) -> Result<(Transaction, ValueFormat), Unreadable> {
    let version = Reader::new(bytes).i16()?;
    // The version was just read.
    let body = &bytes[size_of::<i16>()..];
    match version {
        0 => Ok((decode_fields(&mut Reader::inflexible(body))?, ValueFormat::V0)),
        1 => Ok((decode_fields(&mut Reader::new(body))?, ValueFormat::V1)),
        _ => Err(Unreadable::Version(version)),
    }
}

fn decode_fields(r: &mut Reader<'_>) -> Result<Transaction, Unreadable> {
    let id = ProducerId::new(r.i64()?);
    let producer = ProducerIdAndEpoch { id, epoch: ProducerEpoch::new(r.i16()?) };
    if producer.id.get() < 0 || producer.epoch.get() < 0 {
        return Err(Unreadable::Producer(producer));
    }
    let timeout_ms = r.i32()?;
    let state_id = r.i8()?;
    let state = TransactionState::of_id(state_id).filter(|state| state.is_written());
    let state = state.ok_or(Unreadable::State(state_id))?;
    let mut partitions = decode_partitions(r)?;
    if state == TransactionState::Empty {
        partitions.clear();
    }
    let mut transaction = Transaction {
        producer,
        timeout_ms,
        state,
        partitions: partitions.into(),
        last_update: Timestamp::new(r.i64()?),
        start: Timestamp::new(r.i64()?),
        ..Transaction::new(id)
    };
    decode_tags(r, &mut transaction)?;
    transaction.last_epoch = last_epoch(&transaction);
    Ok(transaction)
}

fn decode_partitions(r: &mut Reader<'_>) -> Result<Vec<TopicPartition>, Unreadable> {
    let topics = r.nullable_array_of(|r| {
        let topic = TopicName::new(r.text()?);
        let partitions = r.array_of(Reader::i32)?;
        r.no_tags()?;
        Ok((topic, partitions))
    })?;
    let mut all = Vec::new();
    for (topic, partitions) in topics.unwrap_or_default() {
        let topic = topic.map_err(|_| Unreadable::Topic)?;
        let at = |partition| TopicPartition {
            topic: topic.clone(),
            partition: PartitionIndex::new(partition),
        };
        all.extend(partitions.into_iter().map(at));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn decode_tags(r: &mut Reader<'_>, transaction: &mut Transaction) -> Result<(), WireError> {
    r.tags(|tag, r| {
        match tag {
            0 => transaction.previous_id = ProducerId::new(r.i64()?),
            1 => transaction.next_id = ProducerId::new(r.i64()?),
            2 => {
                let level = r.i16()?;
                let is_second = level >= 2;
                transaction.version =
                    if is_second { TransactionVersion::V2 } else { TransactionVersion::V1 };
            }
            3 => transaction.next_epoch = ProducerEpoch::new(r.i16()?),
            _ => return Ok(TagUse::Unknown),
        }
        Ok(TagUse::Read)
    })
}

/// The epoch before the newest, where the state tells it: every end of version 2 has raised it by one, or from the last one
/// on to another producer id.
fn last_epoch(transaction: &Transaction) -> ProducerEpoch {
    use TransactionState as S;
    let has_ended = !matches!(transaction.state, S::Empty | S::Ongoing);
    match transaction.producer.epoch.get() {
        _ if !has_ended || transaction.version == TransactionVersion::V1 => ProducerEpoch::NONE,
        0 => ProducerEpoch::new(i16::MAX - 1),
        epoch => ProducerEpoch::new(epoch - 1),
    }
}
