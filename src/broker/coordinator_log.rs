//! The log of a coordinator's shard: one partition of an internal topic.

use std::io;
use std::sync::Arc;

use super::partition::{Partition, SyncNeed};
use super::registry::{Lookup, PartitionRegistry};
use super::step::off_thread;
use super::sync_wait::SyncWait;
use crate::config::TargetCodec;
use crate::coordinator::machine::{KeyValue, LogProducer, Outcome};
use crate::coordinator::runtime::{
    Append, LogBatch, LogFuture, Logged, LoggedEntry, ShardLog, ShardLogError, Written,
};
use crate::env::Env;
use crate::log::batch::BatchHeader;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::compress::Compression;
use crate::log::{Appended, CheckedBatch, LogEntry, LogEntryKind, Origin, build_marker};
use crate::metadata::MetadataStore;
use crate::types::{PartitionIndex, ProducerIdAndEpoch, Timestamp};

/// A partition of an internal topic, found anew for each use: the topic may be deleted and made again.
#[derive(Clone, Debug)]
pub(super) struct CoordinatorLog {
    pub(super) env: Env,
    pub(super) metadata: Arc<MetadataStore>,
    pub(super) partitions: Arc<PartitionRegistry>,
    pub(super) topic: &'static str,
    pub(super) index: PartitionIndex,
}

impl ShardLog for CoordinatorLog {
    fn exists(&self) -> bool {
        let image = self.metadata.image();
        image.topic(self.topic).is_some_and(|topic| self.partitions.holds(topic, self.index))
    }

    fn read(&self, each: &mut dyn FnMut(LoggedEntry<'_>)) -> Result<(), ShardLogError> {
        let partition = self.open()?;
        let read = partition.ends().view.read_entries(&mut |entry| {
            if let Some(entry) = translate(&entry) {
                each(entry);
            }
        });
        read.map_err(|error| {
            if error.kind() != io::ErrorKind::InvalidData {
                partition.fail("reading", &error);
            }
            ShardLogError(format!("{}: {error}", partition.name()))
        })
    }

    fn producers(&self) -> Result<Vec<LogProducer>, ShardLogError> {
        let known = self.open()?.lock().log.active_producers();
        let known = known.into_iter().map(|known| LogProducer {
            producer: ProducerIdAndEpoch { id: known.id, epoch: known.epoch },
            coordinator_epoch: known.coordinator_epoch,
            in_transaction: known.transaction_start.is_some(),
        });
        Ok(known.collect())
    }

    fn append(&self, batches: Vec<LogBatch>, now: Timestamp) -> Append {
        match self.find() {
            Lookup::Open(partition) if is_quick(&partition, &batches, &self.env) => {
                Append::Done(append_all(&partition, &batches, now))
            }
            _ => {
                let log = self.clone();
                Append::Blocking(Box::pin(off_thread(move || {
                    append_all(&log.open()?, &batches, now)
                })))
            }
        }
    }

    fn durable(&self, written: Written) -> Option<LogFuture<Result<(), ShardLogError>>> {
        if !written.must_sync {
            return None;
        }
        let Lookup::Open(partition) = self.find() else {
            return Some(Box::pin(async { Err(ShardLogError("the log was closed".to_owned())) }));
        };
        if partition.synced_end() >= written.end {
            return None;
        }
        let wait = SyncWait::new();
        partition.hold_until_synced(written.end, &wait);
        Some(Box::pin(async move {
            wait.settled().await;
            if partition.synced_end() >= written.end {
                Ok(())
            } else {
                Err(ShardLogError("the log directory went offline".to_owned()))
            }
        }))
    }
}

impl CoordinatorLog {
    fn find(&self) -> Lookup {
        let image = self.metadata.image();
        let topic = image.topic(self.topic);
        topic.map_or(Lookup::Unknown, |topic| self.partitions.find(topic, self.index))
    }

    /// Blocks.
    fn open(&self) -> Result<Arc<Partition>, ShardLogError> {
        match self.find() {
            Lookup::Open(partition) => Ok(partition),
            Lookup::Closed(closed) => {
                closed.open().map_err(|error| ShardLogError(format!("{}: {error}", closed.name())))
            }
            Lookup::Unknown => {
                Err(ShardLogError(format!("{} has no partition {}", self.topic, self.index)))
            }
        }
    }
}

fn is_quick(partition: &Partition, batches: &[LogBatch], env: &Env) -> bool {
    let records = batches.iter().flat_map(|batch| match batch {
        LogBatch::Records(_, records) => &records[..],
        LogBatch::Marker(_) => &[],
    });
    let bytes: usize =
        records.map(|record| record.key.len() + record.value.as_ref().map_or(0, Vec::len)).sum();
    partition.takes_inline(bytes, env.clock.monotonic())
}

fn append_all(
    partition: &Arc<Partition>,
    batches: &[LogBatch],
    now: Timestamp,
) -> Result<Written, ShardLogError> {
    let mut need = SyncNeed::None;
    let mut end = partition.ends().view.log_end;
    for batch in batches {
        let (appended, needed) = append(partition, batch, now)?;
        need = need.max(needed);
        end = appended.end_offset;
    }
    if need > SyncNeed::None {
        partition.queue_sync();
    }
    Ok(Written { end, must_sync: need >= SyncNeed::AcksAll })
}

fn append(
    partition: &Arc<Partition>,
    batch: &LogBatch,
    now: Timestamp,
) -> Result<(Appended, SyncNeed), ShardLogError> {
    let failed =
        |error: &dyn std::fmt::Display| ShardLogError(format!("{}: {error}", partition.name()));
    let bytes = match batch {
        LogBatch::Records(producer, records) => {
            build(compression(partition), *producer, records, now)
        }
        LogBatch::Marker(marker) => build_marker(marker, now),
    };
    let bytes = bytes.map_err(|error| failed(&error))?;
    let header = BatchHeader::parse(&bytes).expect("a batch that was just built has a header");
    let origin = Origin::Coordinator;
    let batch = CheckedBatch { header, bytes: bytes.into(), log_append_time: None, origin };
    partition.append(&batch, now).map_err(|error| failed(&error))
}

fn compression(partition: &Partition) -> Compression {
    match partition.topic().policy().settings.compression_type {
        TargetCodec::Fixed(codec) => Compression::default_of(codec),
        TargetCodec::Producer => BatchTemplate::default().compression,
    }
}

/// A batch as Kafka's coordinators write it: with sequence 0, whether it has a producer or not.
fn build(
    compression: Compression,
    producer: Option<ProducerIdAndEpoch>,
    records: &[KeyValue],
    now: Timestamp,
) -> io::Result<Vec<u8>> {
    let of = producer.unwrap_or(ProducerIdAndEpoch::NONE);
    let mut builder = BatchBuilder::new(BatchTemplate {
        compression,
        transactional: producer.is_some(),
        producer_id: of.id,
        producer_epoch: of.epoch,
        base_sequence: 0,
        ..BatchTemplate::default()
    });
    for record in records {
        builder.append(now, Some(&record.key), record.value.as_deref());
    }
    builder.build()
}

/// `None` for a record without a key, which says nothing.
fn translate<'a>(entry: &LogEntry<'a>) -> Option<LoggedEntry<'a>> {
    let logged = match entry.kind {
        LogEntryKind::Record { key, value, transaction } => {
            Logged::Record { key: key?, value, transaction }
        }
        LogEntryKind::Commit(producer) => Logged::Marker { producer, outcome: Outcome::Commit },
        LogEntryKind::Abort(producer) => Logged::Marker { producer, outcome: Outcome::Abort },
    };
    Some(LoggedEntry { offset: entry.offset, entry: logged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::records::{GroupRecord, OffsetCommitValue, encode};
    use crate::log::batch::set_offset_and_epoch;
    use crate::log::test_bytes::from_hex;
    use crate::types::{
        LeaderEpoch, Marker, Offset, ProducerEpoch, ProducerId, TopicName, TransactionVersion, Uuid,
    };

    /// The offset that Kafka 4.4.0's group `g-txn` has of a transaction, and the marker that follows it.
    const KAFKAS_OFFSET: &str = "00000000000000000000007f0000000002b66a7011001000000000000001a229e7d06c000001a229e7d06c00000000000000020003000000000000000198010000002c00010005672d74786e00076f6666736574730000000060000400000000000000020000000007696e2074786e000001a229e7d06701001083caeab00f1243948eef03d352a6777900";
    const KAFKAS_MARKER: &str = "0000000000000001000000420000000002f69f7585003000000000000001a229e7d07d000001a229e7d07d00000000000000020004ffffffff000000012000000008000000010c00000000000000";

    fn producer(epoch: i16) -> ProducerIdAndEpoch {
        ProducerIdAndEpoch { id: ProducerId::new(2), epoch: ProducerEpoch::new(epoch) }
    }

    fn at(mut batch: Vec<u8>, offset: i64) -> Vec<u8> {
        set_offset_and_epoch(&mut batch, Offset::new(offset), LeaderEpoch::new(0));
        batch
    }

    #[test]
    fn an_offset_of_a_transaction_and_its_marker_are_written_as_by_kafka() {
        let topic_id: [u8; 16] =
            from_hex("83caeab00f1243948eef03d352a67779").try_into().expect("16 bytes");
        let record = encode(&GroupRecord::OffsetCommit {
            group: "g-txn".into(),
            topic: TopicName::new("offsets").expect("legal"),
            partition: PartitionIndex::new(0),
            value: Some(OffsetCommitValue {
                offset: Offset::new(2),
                leader_epoch: LeaderEpoch::new(0),
                metadata: "in txn".to_owned(),
                commit_timestamp: Timestamp::new(1_795_999_387_751),
                expire_timestamp: None,
                topic_id: Uuid::from_bytes(topic_id),
            }),
        });
        let now = Timestamp::new(1_795_999_387_756);
        let built = build(BatchTemplate::default().compression, Some(producer(3)), &[record], now)
            .expect("memory");
        assert_eq!(at(built, 0), from_hex(KAFKAS_OFFSET));

        let marker = Marker {
            producer: producer(4),
            outcome: Outcome::Commit,
            coordinator_epoch: 0,
            version: TransactionVersion::V2,
        };
        let now = Timestamp::new(1_795_999_387_773);
        let built = build_marker(&marker, now).expect("memory");
        assert_eq!(at(built, 1), from_hex(KAFKAS_MARKER));
    }
}
