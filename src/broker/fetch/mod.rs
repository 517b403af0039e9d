//! The fetch use case: a pure plan, a first attempt from memory, files on the blocking pool, and a wait for one wake-up.
//!
//! `plan` decides about limits and offsets, `read` turns views into slices, `wait` is the long poll.

mod plan;
mod read;
mod wait;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Sleep;

pub use self::plan::{
    EpochEnd, FetchError, check_leader_epoch, end_of_epoch, end_of_epoch_unwritten,
};
pub(super) use self::read::read_failed;
use self::read::{Attempt, Depth};
pub use self::wait::{FetchInterests, FetchWait, Gain};
use super::Broker;
use super::registry::{Lookup, Readable};
use super::step::{Step, off_thread};
use super::tally::{self, FetchWaiting};
use crate::log::{AbortedTransaction, Isolation, Slice};
use crate::observe::ReadFrom;
use crate::types::{LeaderEpoch, Offset};

/// A Fetch request whose session is resolved and whose partitions have been looked up.
#[derive(Debug)]
pub struct Fetch {
    /// Longest wait for `bytes_min`.
    pub wait: Duration,
    /// Bytes worth answering for.
    pub bytes_min: usize,
    /// Most bytes of the response; the first batch is returned even if it is larger.
    pub bytes_max: usize,
    /// How far the consumer may read.
    pub isolation: Isolation,
    /// In the order in which they are served.
    pub partitions: Vec<FetchPartition>,
}

/// What is asked of one partition.
#[derive(Clone, Debug)]
pub struct FetchPartition {
    /// Which.
    pub partition: Lookup,
    /// First offset wanted.
    pub offset: Offset,
    /// Epoch that the consumer believes in; −1 for none.
    pub current_leader_epoch: LeaderEpoch,
    /// Epoch of the last record that the consumer has (KIP-595); −1 for none.
    pub last_fetched_epoch: LeaderEpoch,
    /// Most bytes of this partition.
    pub bytes_max: usize,
}

/// What one partition answers.
#[derive(Clone, Debug, Default)]
pub struct Fetched {
    /// Exclusive end of what read_uncommitted consumers see.
    pub high_watermark: Offset,
    /// Exclusive end of what read_committed consumers see.
    pub last_stable_offset: Offset,
    /// First offset of the log.
    pub log_start: Offset,
    /// Set instead of records where the consumer's log has diverged.
    pub diverging: Option<EpochEnd>,
    /// What a read_committed consumer must skip; `None` for read_uncommitted.
    pub aborted: Option<Vec<AbortedTransaction>>,
    /// Records; may be empty.
    pub records: Slice,
}

/// Answers in the order of the request.
pub type FetchedPartitions = Vec<Result<Fetched, FetchError>>;

impl Broker {
    /// Reads; waits for more if there is too little. Dropping the future ends the wait.
    pub fn fetch(self: &Arc<Self>, request: Fetch) -> Step<FetchedPartitions> {
        self.metrics.reads.of(ReadFrom::Memory).increment();
        let attempt = read::attempt(&request, Depth::Cached);
        if attempt.is_whole() && attempt.satisfies(&request) {
            tally::fetched(&self.metrics, &attempt.answers);
            return Step::Now(attempt.answers);
        }
        let broker = Arc::clone(self);
        Step::later(async move {
            let attempt = broker.fetch_later(request, attempt).await;
            tally::fetched(&broker.metrics, &attempt.answers);
            attempt.answers
        })
    }

    async fn fetch_later(&self, request: Fetch, first: Attempt) -> Attempt {
        let mut request = Arc::new(request);
        let mut attempt = first;
        let deadline = tokio::time::sleep(request.wait);
        tokio::pin!(deadline);
        loop {
            if !attempt.is_whole() {
                self.metrics.reads.of(ReadFrom::Files).increment();
                (request, attempt) = read_on_blocking_pool(request).await;
            }
            if attempt.satisfies(&request) || deadline.is_elapsed() {
                return attempt;
            }
            let parked = Parked::register(&request, &attempt);
            // Looked again after the registration: what came in between has woken nobody.
            if !attempt.is_outdated(&request) {
                self.wait(&parked, deadline.as_mut()).await;
            }
            drop(parked);
            attempt = read::attempt(&request, Depth::Cached);
        }
    }

    /// Waits for the one wake-up or the deadline.
    async fn wait(&self, parked: &Parked<'_>, deadline: Pin<&mut Sleep>) {
        let _waiting = FetchWaiting::begin(self);
        tokio::select! {
            () = parked.wait.satisfied() => {}
            () = deadline => {}
        }
    }
}

/// Opens what is closed and reads through files.
async fn read_on_blocking_pool(request: Arc<Fetch>) -> (Arc<Fetch>, Attempt) {
    off_thread(move || {
        let request = open_closed(request);
        let attempt = read::attempt(&request, Depth::Files);
        (request, attempt)
    })
    .await
}

fn open_closed(mut request: Arc<Fetch>) -> Arc<Fetch> {
    let is_closed = |asked: &FetchPartition| matches!(asked.partition, Lookup::Closed(_));
    if !request.partitions.iter().any(is_closed) {
        return request;
    }
    // The only owner: nothing is registered while a read is on its way.
    if let Some(request) = Arc::get_mut(&mut request) {
        for asked in &mut request.partitions {
            if let Lookup::Closed(closed) = &asked.partition
                && let Readable::OnDisk = closed.readable()
                && let Ok(partition) = closed.open()
            {
                asked.partition = Lookup::Open(partition);
            }
        }
    }
    request
}

/// A fetch listed with the partitions that it waits for; leaves the lists when dropped.
struct Parked<'a> {
    wait: Arc<FetchWait>,
    request: &'a Fetch,
}

impl<'a> Parked<'a> {
    fn register(request: &'a Fetch, attempt: &Attempt) -> Self {
        let wait = FetchWait::new(request.bytes_min.saturating_sub(attempt.bytes));
        for (asked, answer) in request.partitions.iter().zip(&attempt.answers) {
            if let Some(interests) = interests(asked) {
                let have = answer.as_ref().map_or(0, |fetched| fetched.records.len);
                let room = asked.bytes_max.saturating_sub(have);
                interests.register(&wait, request.isolation, room);
            }
        }
        Self { wait, request }
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        for interests in self.request.partitions.iter().filter_map(interests) {
            interests.deregister(&self.wait);
        }
    }
}

fn interests(asked: &FetchPartition) -> Option<&FetchInterests> {
    match &asked.partition {
        Lookup::Open(partition) => Some(partition.fetch_interests()),
        Lookup::Closed(closed) => Some(closed.fetch_interests()),
        Lookup::Unknown => None,
    }
}
