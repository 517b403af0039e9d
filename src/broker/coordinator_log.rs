//! The log of a coordinator's shard: one partition of an internal topic.

use std::io;
use std::sync::Arc;

use super::partition::{Partition, SyncNeed};
use super::registry::{Lookup, PartitionRegistry};
use super::step::off_thread;
use super::sync_wait::SyncWait;
use crate::config::TargetCodec;
use crate::coordinator::machine::{KeyValue, Outcome};
use crate::coordinator::runtime::{
    Append, LogFuture, Logged, LoggedEntry, ShardLog, ShardLogError, Written,
};
use crate::env::Env;
use crate::log::batch::BatchHeader;
use crate::log::builder::{BatchBuilder, BatchTemplate};
use crate::log::compress::Compression;
use crate::log::{CheckedBatch, LogEntry, LogEntryKind};
use crate::metadata::MetadataStore;
use crate::types::{PartitionIndex, Timestamp};

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
            // A topic that is deleted meanwhile loses its files under the reader's hands: that is no fault of the disk.
            if error.kind() != io::ErrorKind::InvalidData && !partition.is_retired() {
                partition
                    .directory()
                    .fail(&format!("reading {} failed: {error}", partition.name()));
            }
            ShardLogError(format!("{}: {error}", partition.name()))
        })
    }

    fn append(&self, records: Vec<KeyValue>, now: Timestamp) -> Append {
        match self.find() {
            Lookup::Open(partition) if is_quick(&partition, &records, &self.env) => {
                Append::Done(append(&partition, &records, now))
            }
            _ => {
                let log = self.clone();
                Append::Blocking(Box::pin(off_thread(move || append(&log.open()?, &records, now))))
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

fn is_quick(partition: &Partition, records: &[KeyValue], env: &Env) -> bool {
    let bytes: usize = records
        .iter()
        .map(|record| record.key.len() + record.value.as_ref().map_or(0, Vec::len))
        .sum();
    partition.takes_inline(bytes, env.clock.monotonic())
}

fn append(
    partition: &Arc<Partition>,
    records: &[KeyValue],
    now: Timestamp,
) -> Result<Written, ShardLogError> {
    let failed =
        |error: &dyn std::fmt::Display| ShardLogError(format!("{}: {error}", partition.name()));
    let bytes = build(partition, records, now).map_err(|error| failed(&error))?;
    let header = BatchHeader::parse(&bytes).expect("a batch that was just built has a header");
    let batch = CheckedBatch { header, bytes: bytes.into(), log_append_time: None };
    let (appended, need) = partition.append(&batch, now).map_err(|error| failed(&error))?;
    if need > SyncNeed::None {
        partition.queue_sync();
    }
    Ok(Written { end: appended.end_offset, must_sync: need >= SyncNeed::AcksAll })
}

/// A batch as Kafka's coordinators write it: no producer, but sequence 0.
fn build(partition: &Partition, records: &[KeyValue], now: Timestamp) -> io::Result<Vec<u8>> {
    let settings = Arc::clone(&partition.topic().policy().settings);
    let compression = match settings.compression_type {
        TargetCodec::Fixed(codec) => Compression::default_of(codec),
        TargetCodec::Producer => BatchTemplate::default().compression,
    };
    let mut builder = BatchBuilder::new(BatchTemplate {
        compression,
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
        LogEntryKind::Commit(producer) => Logged::Marker { producer, outcome: Outcome::Committed },
        LogEntryKind::Abort(producer) => Logged::Marker { producer, outcome: Outcome::Aborted },
    };
    Some(LoggedEntry { offset: entry.offset, entry: logged })
}
