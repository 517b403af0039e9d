//! The small files beside the segments and of the log directory itself, by the engine's own decoders.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::DumpError;
use super::entry::Entry;
use super::output::Output;
use super::paths::{FileKind, Found};
use crate::env::{FileSystem, OpenMode};
use crate::log::format::{leader_epochs, partition_metadata, producer_snapshot};
use crate::storage::{CleanShutdown, MetaProperties, checkpoint_file};

/// None of these files is larger, but for bytes that are none of them. A producer snapshot of this size has 5 million
/// producers.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

pub(super) fn dump(
    files: &dyn FileSystem,
    found: &Found,
    output: &mut Output<'_>,
) -> Result<(), DumpError> {
    let len = file_len(files, &found.path).map_err(DumpError::Read)?;
    output.head(Entry::new("file").with("type", name(found.kind)).with("bytes", len))?;
    if found.kind == FileKind::Unknown {
        return Ok(());
    }
    if len > BYTES_MAX {
        return Ok(output.problem(None, "it is far too large for what it should be")?);
    }
    let bytes =
        files.read(&found.path).and_then(|bytes| bytes.ok_or(io::ErrorKind::NotFound.into()));
    let bytes = bytes.map_err(DumpError::Read)?;
    match entries(found.kind, &bytes) {
        Ok(entries) => entries.iter().try_for_each(|entry| output.entry(entry))?,
        Err(damage) => output.problem(None, &damage)?,
    }
    Ok(())
}

fn file_len(files: &dyn FileSystem, path: &Path) -> io::Result<u64> {
    files.open(path, OpenMode::ReadOnly)?.len()
}

fn name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Producers => "producer snapshot",
        FileKind::LeaderEpochs => "leader epochs",
        FileKind::PartitionMetadata => "partition metadata",
        FileKind::OffsetCheckpoint => "offset checkpoint",
        FileKind::MetaProperties => "identity of the directory",
        FileKind::CleanShutdown => "mark of a clean stop",
        FileKind::QuorumState => "quorum state",
        FileKind::Log(_)
        | FileKind::Snapshot
        | FileKind::OffsetIndex(_)
        | FileKind::TimeIndex(_)
        | FileKind::AbortedIndex(_)
        | FileKind::Unknown => "unknown",
    }
}

fn entries(kind: FileKind, bytes: &[u8]) -> Result<Vec<Entry>, String> {
    match kind {
        FileKind::Producers => producers(bytes),
        FileKind::LeaderEpochs => epochs(bytes),
        FileKind::PartitionMetadata => {
            let id = partition_metadata::decode(bytes).map_err(|e| e.to_string())?;
            Ok(vec![Entry::new("partition").with("topicId", id.to_string())])
        }
        FileKind::OffsetCheckpoint => offsets(bytes),
        FileKind::MetaProperties => identity(bytes),
        FileKind::CleanShutdown => {
            let epoch = CleanShutdown::decode(bytes).broker_epoch;
            Ok(vec![Entry::new("stop").with("brokerEpoch", epoch)])
        }
        FileKind::QuorumState => quorum(bytes),
        FileKind::Log(_)
        | FileKind::Snapshot
        | FileKind::OffsetIndex(_)
        | FileKind::TimeIndex(_)
        | FileKind::AbortedIndex(_)
        | FileKind::Unknown => Ok(Vec::new()),
    }
}

fn producers(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let producers = producer_snapshot::decode(bytes).map_err(|e| e.to_string())?;
    let entry = |producer: &producer_snapshot::ProducerEntry| {
        let transaction = producer.transaction_first_offset.map(|offset| offset.get());
        Entry::new("producer")
            .with("producerId", producer.producer_id.get())
            .with("producerEpoch", producer.producer_epoch.get())
            .with("lastSequence", producer.last_sequence)
            .with("lastOffset", producer.last_offset.get())
            .with("offsetDelta", producer.offset_delta)
            .time("timestamp", producer.timestamp)
            .unless("coordinatorEpoch", producer.coordinator_epoch, -1)
            .unless("transactionFirstOffset", transaction, None::<i64>)
    };
    Ok(producers.iter().map(entry).collect())
}

fn epochs(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let epochs = leader_epochs::decode(bytes).map_err(|e| e.to_string())?;
    let entry = |epoch: &leader_epochs::EpochStart| {
        Entry::new("epoch").with("epoch", epoch.epoch.get()).with("startOffset", epoch.start.get())
    };
    Ok(epochs.iter().map(entry).collect())
}

fn offsets(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let offsets = checkpoint_file::decode_offsets(bytes).map_err(|e| e.to_string())?;
    let entry = |(partition, offset): (&crate::types::TopicPartition, &crate::types::Offset)| {
        Entry::new("offset")
            .with("topic", partition.topic.as_str())
            .with("partition", partition.partition.get())
            .with("offset", offset.get())
    };
    Ok(offsets.iter().map(entry).collect())
}

fn identity(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let identity = MetaProperties::decode(bytes).map_err(|e| e.to_string())?;
    let directory = identity.directory_id.map(|id| id.to_string());
    Ok(vec![
        Entry::new("directory")
            .with("clusterId", identity.cluster_id)
            .with("nodeId", identity.node_id.get())
            .with("directoryId", directory),
    ])
}

/// One JSON object, shown as it is.
fn quorum(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let state: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    Ok(vec![Entry::new("quorum").with("state", state)])
}
