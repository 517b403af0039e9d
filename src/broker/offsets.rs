//! ListOffsets and OffsetForLeaderEpoch.
//!
//! An answer that states an end of the log waits for the sync that covers what was appended before the question, so that
//! everyone finds their own writes.

use std::sync::Arc;

use super::Broker;
use super::fetch::{
    FetchError, check_leader_epoch, end_of_epoch, end_of_epoch_unwritten, read_failed,
};
use super::partition::Partition;
use super::registry::{Lookup, Readable, open_together};
use super::step::{Step, off_thread};
use super::sync_wait::SyncWait;
use crate::log::{Isolation, TimeQuery};
use crate::types::{LeaderEpoch, Offset, Timestamp};

/// A question about one partition.
#[derive(Clone, Debug)]
pub struct OffsetQuestion {
    /// Which.
    pub partition: Lookup,
    /// Epoch that the client believes in; −1 for none.
    pub current_leader_epoch: LeaderEpoch,
    /// What is asked.
    pub query: OffsetQuery,
}

/// What ListOffsets can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetQuery {
    /// First offset of the log (−2); also the earliest local one (−4), since there is no other tier.
    Earliest,
    /// End of what the consumer may read (−1).
    Latest,
    /// The record with the largest timestamp (−3).
    MaxTimestamp,
    /// The first record at or after a time.
    At(Timestamp),
    /// Last offset of another tier, or first one that waits for it (−5, −6): there is none.
    Tiered,
    /// End of the largest known epoch at or below this one (OffsetForLeaderEpoch).
    EndOfEpoch(LeaderEpoch),
}

/// An offset with what is known about it; −1 for what is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset.
    pub offset: Offset,
    /// Its timestamp where the question was about time.
    pub timestamp: Timestamp,
    /// The epoch it was written in.
    pub leader_epoch: LeaderEpoch,
}

impl ListedOffset {
    /// Nothing found.
    pub const NONE: Self =
        Self { offset: Offset::NONE, timestamp: Timestamp::NONE, leader_epoch: LeaderEpoch::NONE };
}

/// Answers in the order of the questions. The errors are those of a fetch, but for `OutOfRange`.
pub type ListedOffsets = Vec<Result<ListedOffset, FetchError>>;

impl Broker {
    /// Answers questions about offsets.
    pub fn list_offsets(
        self: &Arc<Self>,
        questions: Vec<OffsetQuestion>,
        isolation: Isolation,
    ) -> Step<ListedOffsets> {
        let quick = questions.iter().all(is_quick);
        let wait = quick.then(|| hold_for_ends(&questions));
        if let Some(wait) = &wait
            && wait.is_settled()
        {
            return Step::Now(answer_all(&questions, isolation));
        }
        Step::later(async move {
            match wait {
                Some(wait) => {
                    wait.settled().await;
                    answer_all(&questions, isolation)
                }
                None => answer_on_blocking_pool(questions, isolation).await,
            }
        })
    }
}

/// True if the answer needs neither a log to be opened nor files to be searched.
fn is_quick(question: &OffsetQuestion) -> bool {
    let searches = matches!(question.query, OffsetQuery::MaxTimestamp | OffsetQuery::At(_));
    match &question.partition {
        Lookup::Open(_) => !searches,
        Lookup::Closed(closed) => {
            matches!(closed.readable(), Readable::Unwritten(_) | Readable::Removed)
        }
        Lookup::Unknown => true,
    }
}

/// A wait for the syncs that the answers depend on.
fn hold_for_ends(questions: &[OffsetQuestion]) -> Arc<SyncWait> {
    let wait = SyncWait::new();
    for question in questions {
        if let Lookup::Open(partition) = &question.partition
            && !matches!(question.query, OffsetQuery::Earliest | OffsetQuery::Tiered)
        {
            partition.hold_until_visible(&wait);
        }
    }
    wait
}

async fn answer_on_blocking_pool(
    mut questions: Vec<OffsetQuestion>,
    isolation: Isolation,
) -> ListedOffsets {
    let is_on_disk = |lookup: &&Lookup| match lookup {
        Lookup::Closed(closed) => matches!(closed.readable(), Readable::OnDisk),
        Lookup::Open(_) | Lookup::Unknown => false,
    };
    let lookups = questions.iter().map(|question| &question.partition);
    open_together(lookups.filter(is_on_disk).cloned().collect(), |_| ()).await;
    let opened = off_thread(move || {
        for question in &mut questions {
            let Lookup::Closed(closed) = &question.partition else { continue };
            let opened = match closed.readable() {
                Readable::Open(partition) => Ok(partition),
                Readable::OnDisk => closed.open(),
                Readable::Unwritten(_) | Readable::Removed => continue,
            };
            if let Ok(partition) = opened {
                question.partition = Lookup::Open(partition);
            }
        }
        let wait = hold_for_ends(&questions);
        (questions, wait)
    });
    let (questions, wait) = opened.await;
    wait.settled().await;
    off_thread(move || answer_all(&questions, isolation)).await
}

fn answer_all(questions: &[OffsetQuestion], isolation: Isolation) -> ListedOffsets {
    questions.iter().map(|question| answer(question, isolation)).collect()
}

fn answer(question: &OffsetQuestion, isolation: Isolation) -> Result<ListedOffset, FetchError> {
    let closed = match &question.partition {
        Lookup::Open(partition) => return answer_open(partition, question, isolation),
        Lookup::Closed(closed) => closed,
        Lookup::Unknown => return Err(FetchError::UnknownPartition),
    };
    match closed.readable() {
        // Since a moment ago: what was just written is in memory.
        Readable::Open(partition) => answer_open(&partition, question, isolation),
        Readable::Unwritten(leader_epoch) => answer_unwritten(question, leader_epoch),
        // It was tried to open it.
        Readable::OnDisk => Err(FetchError::Storage),
        Readable::Removed => Err(FetchError::UnknownPartition),
    }
}

fn answer_open(
    partition: &Partition,
    question: &OffsetQuestion,
    isolation: Isolation,
) -> Result<ListedOffset, FetchError> {
    if partition.is_retired() {
        return Err(FetchError::UnknownPartition);
    }
    if partition.directory().is_offline() {
        return Err(FetchError::Storage);
    }
    check_leader_epoch(question.current_leader_epoch, partition.leader_epoch())?;
    let ends = partition.ends();
    let untimed =
        |offset, leader_epoch| ListedOffset { offset, timestamp: Timestamp::NONE, leader_epoch };
    match question.query {
        OffsetQuery::Earliest => {
            let start = ends.view.log_start;
            // The next record will be of the current epoch, as Kafka notes when it becomes the leader.
            let epoch = if start == ends.view.log_end {
                partition.leader_epoch()
            } else {
                ends.view.epoch_at(start).unwrap_or(LeaderEpoch::NONE)
            };
            Ok(untimed(start, epoch))
        }
        OffsetQuery::Latest => Ok(untimed(ends.visible(isolation), partition.leader_epoch())),
        OffsetQuery::Tiered => Ok(ListedOffset::NONE),
        OffsetQuery::MaxTimestamp => search(partition, TimeQuery::Max, isolation),
        OffsetQuery::At(time) => search(partition, TimeQuery::At(time), isolation),
        OffsetQuery::EndOfEpoch(epoch) => {
            let known = ends.view.end_of_epoch(epoch);
            let end = end_of_epoch(epoch, known, partition.leader_epoch(), ends.view.log_end);
            Ok(end.map_or(ListedOffset::NONE, |known| untimed(known.end, known.epoch)))
        }
    }
}

/// An empty log.
fn answer_unwritten(
    question: &OffsetQuestion,
    leader_epoch: LeaderEpoch,
) -> Result<ListedOffset, FetchError> {
    check_leader_epoch(question.current_leader_epoch, leader_epoch)?;
    let zero_in =
        |leader_epoch| ListedOffset { offset: Offset::ZERO, leader_epoch, ..ListedOffset::NONE };
    let end_of = |epoch| end_of_epoch_unwritten(epoch, leader_epoch);
    Ok(match question.query {
        OffsetQuery::Earliest | OffsetQuery::Latest => zero_in(leader_epoch),
        OffsetQuery::EndOfEpoch(epoch) => {
            end_of(epoch).map_or(ListedOffset::NONE, |known| zero_in(known.epoch))
        }
        OffsetQuery::MaxTimestamp | OffsetQuery::At(_) | OffsetQuery::Tiered => ListedOffset::NONE,
    })
}

fn search(
    partition: &Partition,
    query: TimeQuery,
    isolation: Isolation,
) -> Result<ListedOffset, FetchError> {
    let ends = partition.ends();
    let end = ends.visible(isolation);
    let found = ends.view.offset_at(query, end).map_err(|e| read_failed(partition, e.into()))?;
    // A hit that the consumer may not see yet counts as none.
    let found = found.filter(|found| found.offset < end);
    Ok(found.map_or(ListedOffset::NONE, |found| ListedOffset {
        offset: found.offset,
        timestamp: found.timestamp,
        leader_epoch: found.leader_epoch,
    }))
}
