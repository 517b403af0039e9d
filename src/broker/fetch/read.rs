//! One pass over the partitions of a fetch.

use std::io;
use std::sync::Arc;

use super::plan::{
    Allowance, FetchError, check_divergence, check_leader_epoch, end_of_epoch,
    end_of_epoch_unwritten,
};
use super::{Fetch, FetchPartition, Fetched, FetchedPartitions};
use crate::broker::partition::{Ends, Partition};
use crate::broker::registry::{Lookup, Readable};
use crate::log::{AbortedTransaction, Isolation, ReadError, ReadLimit, Slice};
use crate::types::{LeaderEpoch, Offset};

/// Partitions that one pass on an async thread reads from cached files: each takes some ten system calls.
const CACHED_READS_MAX: usize = 16;

/// Where a pass may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Memory alone; never blocks.
    Memory,
    /// Memory, and of the files what the page cache has; never blocks.
    Cached,
    /// Files too; blocks.
    Files,
}

/// What a pass found.
#[derive(Debug)]
pub(super) struct Attempt {
    /// In the order of the request; after a partition that needs files only what was read before it.
    pub(super) answers: FetchedPartitions,
    /// Bytes of all records.
    pub(super) bytes: usize,
    /// An error, a diverging epoch: nothing to wait for.
    immediate: bool,
    whole: bool,
}

/// The partition's answer lies in files.
struct NeedsFiles;

/// Reads partition after partition.
pub(super) fn attempt(request: &Fetch, depth: Depth) -> Attempt {
    let mut allowance = Allowance::new(request.bytes_max);
    let answers = Vec::with_capacity(request.partitions.len());
    let mut attempt = Attempt { answers, bytes: 0, immediate: false, whole: true };
    let mut from_files = 0;
    for asked in &request.partitions {
        let is_long = depth == Depth::Cached && from_files == CACHED_READS_MAX;
        let depth = if is_long { Depth::Memory } else { depth };
        let Ok(answer) = read_partition(asked, request.isolation, &allowance, depth) else {
            attempt.whole = false;
            return attempt;
        };
        if let Ok(fetched) = &answer {
            allowance.took(fetched.records.len);
            attempt.bytes += fetched.records.len;
            from_files += usize::from(fetched.records.is_in_file());
        }
        attempt.immediate |= answer.as_ref().map_or(true, |fetched| fetched.diverging.is_some());
        attempt.answers.push(answer);
    }
    attempt
}

impl Attempt {
    /// False if files must be asked first.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// True if there is nothing to wait for.
    pub(super) fn satisfies(&self, request: &Fetch) -> bool {
        self.immediate
            || request.partitions.is_empty()
            || request.wait.is_zero()
            || self.bytes >= request.bytes_min.min(request.bytes_max)
    }
}

impl Attempt {
    /// True if a partition shows more by now, or is gone: another pass will find something else.
    pub(super) fn is_outdated(&self, request: &Fetch) -> bool {
        let changed = |(asked, answer): (&FetchPartition, &Result<Fetched, FetchError>)| {
            let (partition, fetched) = match (&asked.partition, answer) {
                (Lookup::Open(partition), Ok(fetched)) => (partition, fetched),
                (Lookup::Closed(closed), Ok(_)) => {
                    return !matches!(closed.readable(), Readable::Unwritten(_));
                }
                (Lookup::Unknown, _) | (_, Err(_)) => return true,
            };
            let ends = partition.ends();
            ends.high_watermark != fetched.high_watermark
                || ends.last_stable_offset != fetched.last_stable_offset
                || ends.view.log_start != fetched.log_start
                || partition.is_retired()
                || partition.directory().is_offline()
        };
        request.partitions.iter().zip(&self.answers).any(changed)
    }
}

type Answer = Result<Result<Fetched, FetchError>, NeedsFiles>;

fn read_partition(
    asked: &FetchPartition,
    isolation: Isolation,
    allowance: &Allowance,
    depth: Depth,
) -> Answer {
    let readable = match &asked.partition {
        Lookup::Open(partition) => {
            return read_open(partition, asked, isolation, allowance, depth);
        }
        Lookup::Closed(closed) => closed.readable(),
        Lookup::Unknown => Readable::Removed,
    };
    match (readable, depth) {
        (Readable::Open(partition), _) => read_open(&partition, asked, isolation, allowance, depth),
        (Readable::Unwritten(epoch), _) => Ok(read_unwritten(asked, isolation, epoch)),
        (Readable::OnDisk, Depth::Memory | Depth::Cached) => Err(NeedsFiles),
        // It was tried to open it just before.
        (Readable::OnDisk, Depth::Files) => Ok(Err(FetchError::Storage)),
        (Readable::Removed, _) => Ok(Err(FetchError::UnknownPartition)),
    }
}

fn read_open(
    partition: &Arc<Partition>,
    asked: &FetchPartition,
    isolation: Isolation,
    allowance: &Allowance,
    depth: Depth,
) -> Answer {
    let ends = partition.ends();
    let mut fetched = match check(partition, asked, &ends) {
        Ok(fetched) => fetched,
        Err(error) => return Ok(Err(error)),
    };
    if isolation == Isolation::ReadCommitted {
        fetched.aborted = Some(Vec::new());
    }
    let end = ends.visible(isolation);
    let limit = allowance.limit(asked.bytes_max, end);
    let (Some(limit), None, true) = (limit, fetched.diverging, asked.offset < end) else {
        return Ok(Ok(fetched));
    };
    match read_records(&ends, asked.offset, limit, depth) {
        Ok(Some(records)) => fetched.records = records,
        Ok(None) => return Err(NeedsFiles),
        Err(error) => return Ok(Err(read_failed(partition, error))),
    }
    if fetched.aborted.is_some() && fetched.records.len > 0 {
        match list_aborted(&ends, asked.offset, fetched.records.len, end, depth) {
            Ok(Some(aborted)) => fetched.aborted = Some(aborted),
            Ok(None) => return Err(NeedsFiles),
            Err(error) => return Ok(Err(read_failed(partition, error.into()))),
        }
    }
    Ok(Ok(fetched))
}

/// An empty log.
fn read_unwritten(
    asked: &FetchPartition,
    isolation: Isolation,
    leader_epoch: LeaderEpoch,
) -> Result<Fetched, FetchError> {
    check_leader_epoch(asked.current_leader_epoch, leader_epoch)?;
    let last_epoch = asked.last_fetched_epoch;
    let known_end = end_of_epoch_unwritten(last_epoch, leader_epoch);
    let diverging = check_divergence(asked.offset, last_epoch, Offset::ZERO, known_end)?;
    if diverging.is_none() && asked.offset != Offset::ZERO {
        return Err(FetchError::OutOfRange);
    }
    let reads = diverging.is_none() && isolation == Isolation::ReadCommitted;
    let aborted = reads.then(Vec::new);
    Ok(Fetched { aborted, diverging, ..Fetched::default() })
}

/// Everything that can be said without reading.
fn check(
    partition: &Partition,
    asked: &FetchPartition,
    ends: &Ends,
) -> Result<Fetched, FetchError> {
    if partition.is_retired() {
        return Err(FetchError::UnknownPartition);
    }
    if partition.directory().is_offline() {
        return Err(FetchError::Storage);
    }
    check_leader_epoch(asked.current_leader_epoch, partition.leader_epoch())?;
    let (view, last_epoch) = (&ends.view, asked.last_fetched_epoch);
    let known_end = view.end_of_epoch(last_epoch);
    let known_end = end_of_epoch(last_epoch, known_end, partition.leader_epoch(), view.log_end);
    let diverging = check_divergence(asked.offset, last_epoch, view.log_start, known_end)?;
    if diverging.is_none() && (asked.offset < view.log_start || asked.offset > view.log_end) {
        return Err(FetchError::OutOfRange);
    }
    Ok(Fetched {
        high_watermark: ends.high_watermark,
        last_stable_offset: ends.last_stable_offset,
        log_start: view.log_start,
        diverging,
        ..Fetched::default()
    })
}

fn read_records(
    ends: &Ends,
    from: Offset,
    limit: ReadLimit,
    depth: Depth,
) -> Result<Option<Slice>, ReadError> {
    let view = &ends.view;
    match view.read_tail(from, limit) {
        Ok(None) => match depth {
            Depth::Memory => Ok(None),
            Depth::Cached => view.read_cached(from, limit),
            Depth::Files => view.read_files(from, limit).map(Some),
        },
        read => read,
    }
}

/// What was aborted in `len` bytes from `from` on; `None` if files must be asked first.
fn list_aborted(
    ends: &Ends,
    from: Offset,
    len: usize,
    to: Offset,
    depth: Depth,
) -> io::Result<Option<Vec<AbortedTransaction>>> {
    if !ends.view.may_have_aborted(from) {
        return Ok(Some(Vec::new()));
    }
    match depth {
        Depth::Files => ends.view.aborted_in(from, len, to).map(Some),
        Depth::Memory | Depth::Cached => Ok(None),
    }
}

/// What a reader hears whose read failed.
pub(in crate::broker) fn read_failed(partition: &Partition, error: ReadError) -> FetchError {
    match error {
        ReadError::OutOfRange { .. } => FetchError::OutOfRange,
        // Deleting the topic moved its files under the reader.
        ReadError::Io(_) if partition.is_retired() => FetchError::UnknownPartition,
        ReadError::Io(error) => {
            tracing::error!(partition = %partition.name(), %error, "reading a log failed");
            FetchError::Storage
        }
    }
}
