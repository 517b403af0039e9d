//! A strict look at a partition's directory: what Kafka's dump tool checks, and what its loader takes for granted.

use std::collections::BTreeMap;
use std::path::Path;

use highwater::env::FileSystem;
use highwater::log::format::{
    aborted_index, leader_epochs, offset_index::OffsetIndex, partition_metadata, producer_snapshot,
    time_index::TimeIndex,
};
use highwater::log::scan::{ScanEnd, scan};
use highwater::types::{LeaderEpoch, Offset, Timestamp};

/// Whether the log was closed, so that its last segment must be complete too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    Yes,
    No,
    /// Ended by -9, perhaps in the middle of a write.
    Killed,
}

/// One batch as the checks need it.
struct Batch {
    last_offset: Offset,
    max_timestamp: Timestamp,
}

/// Panics, naming file and reason, unless everything in the directory is as Kafka would have written it.
pub fn check(files: &dyn FileSystem, directory: &Path, closed: Closed, log_start: Offset) {
    let mut contents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in files.list(directory).expect("readable") {
        let bytes = files.read(&directory.join(&entry.name)).expect("readable").expect("there");
        contents.insert(entry.name, bytes);
    }
    contents.retain(|name, _| !name.ends_with(".deleted") && !name.ends_with(".tmp"));
    let bases: Vec<Offset> = contents.keys().filter_map(|name| base(name, ".log")).collect();
    let mut epochs = BTreeMap::new();
    let mut end = bases.first().copied().unwrap_or(Offset::ZERO);
    for (number, base) in bases.iter().enumerate() {
        let next = bases.get(number + 1).copied();
        assert!(*base >= end, "segment {base} begins below {end}");
        let complete = next.is_some() || closed == Closed::Yes;
        let torn = next.is_none() && closed == Closed::Killed;
        end = check_segment(&contents, *base, complete, torn, &mut epochs);
        assert!(
            next.is_none_or(|next| next >= end),
            "segment {base} ends at {end}, behind {next:?}"
        );
    }
    check_beside(&contents, &bases, end, &epochs, closed, log_start);
}

fn base(name: &str, suffix: &str) -> Option<Offset> {
    let digits = name.strip_suffix(suffix)?;
    assert_eq!(digits.len(), 20, "{name}");
    Some(Offset::new(digits.parse().expect("a number")))
}

/// The end of the segment.
fn check_segment(
    contents: &BTreeMap<String, Vec<u8>>,
    base: Offset,
    complete: bool,
    may_be_torn: bool,
    epochs: &mut BTreeMap<LeaderEpoch, Offset>,
) -> Offset {
    let name = |suffix| format!("{:020}.{suffix}", base.get());
    let log = &contents[&name("log")];
    let mut batches: BTreeMap<usize, Batch> = BTreeMap::new();
    let mut end = base;
    let mut batches_in_log = scan(log);
    for (position, batch) in batches_in_log.by_ref() {
        batch.verify().unwrap_or_else(|damage| panic!("{base} at {position}: {damage}"));
        let header = batch.header().expect("magic 2");
        assert!(header.base_offset >= end, "{base} at {position}: {header:?} below {end}");
        assert!(header.last_offset().get() - base.get() <= i64::from(i32::MAX));
        end = header.last_offset().plus(1);
        epochs.insert(header.partition_leader_epoch, header.last_offset());
        let (last_offset, max_timestamp) = (header.last_offset(), header.max_timestamp);
        batches.insert(position, Batch { last_offset, max_timestamp });
    }
    let whole = batches_in_log.ending() == Some(ScanEnd::Exhausted);
    assert!(whole || may_be_torn, "{base} ends in half a batch");
    let index = contents.get(&name("index"));
    let time_index = contents.get(&name("timeindex"));
    assert!(!complete || batches.is_empty() || (index.is_some() && time_index.is_some()), "{base}");
    check_offset_index(base, index.map_or(&[], Vec::as_slice), &batches);
    check_time_index(base, time_index.map_or(&[], Vec::as_slice), &batches, complete);
    if let Some(bytes) = contents.get(&name("txnindex")) {
        let aborted = aborted_index::decode(bytes, base).expect("a transaction index");
        assert!(aborted.iter().all(|entry| entry.last_offset < end), "{base}");
    }
    end
}

fn check_offset_index(base: Offset, bytes: &[u8], batches: &BTreeMap<usize, Batch>) {
    assert!(bytes.len().is_multiple_of(8), "{base}: torn offset index");
    let mut before = (base.plus(-1), 0);
    for entry in OffsetIndex::new(bytes, base).iter() {
        assert!(entry.offset > before.0 && entry.position > before.1, "{base}: {entry:?}");
        before = (entry.offset, entry.position);
        let batch = batches.get(&(entry.position as usize));
        let last = batch.unwrap_or_else(|| panic!("{base}: no batch at {entry:?}")).last_offset;
        assert_eq!(last, entry.offset, "{base}: {entry:?}");
    }
}

fn check_time_index(base: Offset, bytes: &[u8], batches: &BTreeMap<usize, Batch>, complete: bool) {
    assert!(bytes.len().is_multiple_of(12), "{base}: torn time index");
    let mut before = Timestamp::NONE;
    for entry in TimeIndex::new(bytes, base).iter() {
        assert!(entry.timestamp > before, "{base}: {entry:?}");
        before = entry.timestamp;
        let batch = batches.values().find(|batch| batch.last_offset == entry.offset);
        let max =
            batch.unwrap_or_else(|| panic!("{base}: no batch ends at {entry:?}")).max_timestamp;
        assert_eq!(max, entry.timestamp, "{base}: {entry:?}");
    }
    if complete {
        let largest = batches.values().map(|batch| batch.max_timestamp).max();
        assert_eq!(before, largest.unwrap_or(Timestamp::NONE), "{base}: no closing time entry");
    }
}

fn check_beside(
    contents: &BTreeMap<String, Vec<u8>>,
    bases: &[Offset],
    end: Offset,
    epochs: &BTreeMap<LeaderEpoch, Offset>,
    closed: Closed,
    log_start: Offset,
) {
    for (name, bytes) in contents {
        if let Some(at) = base(name, ".snapshot").filter(|_| name.ends_with(".snapshot")) {
            producer_snapshot::decode(bytes).unwrap_or_else(|damage| panic!("{name}: {damage}"));
            assert!(at <= end && at > Offset::ZERO, "{name}: the log ends at {end}");
        }
        if name.ends_with("index") {
            let stem = name.split('.').next().expect("a name");
            assert!(contents.contains_key(&format!("{stem}.log")), "{name}: without its log");
        }
    }
    if end > bases.first().copied().unwrap_or(end) {
        let metadata = contents.get("partition.metadata").expect("partition.metadata");
        partition_metadata::decode(metadata).expect("partition.metadata");
        if closed == Closed::Yes {
            let snapshot = format!("{:020}.snapshot", end.get());
            assert!(contents.contains_key(&snapshot), "no producer snapshot at the end {end}");
        }
    }
    let known = contents.get("leader-epoch-checkpoint");
    let known = known.map_or(Vec::new(), |bytes| leader_epochs::decode(bytes).expect("epochs"));
    assert!(known.iter().all(|entry| entry.start <= end), "an epoch begins behind the end");
    // Epochs that wrote nothing above the log start may be forgotten.
    for (epoch, _) in epochs.iter().filter(|(_, last)| **last >= log_start) {
        assert!(
            known.iter().any(|entry| entry.epoch == *epoch),
            "epoch {epoch} is not in the checkpoint {known:?}"
        );
    }
}
