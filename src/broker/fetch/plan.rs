//! The decisions of a fetch, without I/O: which offsets are legal, how many bytes a partition may take (Kafka's
//! `ReplicaManager.readFromLog`, `Partition.fetchRecords`).

use crate::log::ReadLimit;
use crate::types::{LeaderEpoch, Offset};

/// Why a partition answers no records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// There is no such partition.
    #[error("there is no such partition")]
    UnknownPartition,
    /// Below the log start or beyond the log end.
    #[error("the offset is out of range")]
    OutOfRange,
    /// The consumer knows an older epoch than the broker.
    #[error("the leader epoch is older than the broker's")]
    FencedLeaderEpoch,
    /// The consumer knows a newer epoch than the broker.
    #[error("the leader epoch is newer than the broker's")]
    UnknownLeaderEpoch,
    /// The log cannot be read.
    #[error("the log cannot be read")]
    Storage,
}

/// An epoch and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Exclusive end of its records.
    pub end: Offset,
}

/// Checks the epoch that a client believes in (Kafka's `checkCurrentLeaderEpoch`).
pub fn check_leader_epoch(claimed: LeaderEpoch, actual: LeaderEpoch) -> Result<(), FetchError> {
    match claimed {
        LeaderEpoch::NONE => Ok(()),
        _ if claimed < actual => Err(FetchError::FencedLeaderEpoch),
        _ if claimed > actual => Err(FetchError::UnknownLeaderEpoch),
        _ => Ok(()),
    }
}

/// Where an epoch ends: as the log `known`s it, or, if it is that of the leader and nothing has been written in it yet, at the
/// end of the log.
pub fn end_of_epoch(
    epoch: LeaderEpoch,
    known: Option<(LeaderEpoch, Offset)>,
    leader_epoch: LeaderEpoch,
    log_end: Offset,
) -> Option<EpochEnd> {
    let (epoch, end) = known.or_else(|| (epoch == leader_epoch).then_some((epoch, log_end)))?;
    Some(EpochEnd { epoch, end })
}

/// As [`end_of_epoch`], of a log that nobody has written to: epochs before the leader's have ended where it begins.
pub fn end_of_epoch_unwritten(epoch: LeaderEpoch, leader_epoch: LeaderEpoch) -> Option<EpochEnd> {
    let has_ended = epoch != LeaderEpoch::NONE && epoch < leader_epoch;
    end_of_epoch(epoch, has_ended.then_some((epoch, Offset::ZERO)), leader_epoch, Offset::ZERO)
}

/// Where a consumer whose last record was written in `last_fetched_epoch` must go back to; `known_end` is the end of the
/// largest epoch at or below that one. `None` if its log agrees with ours.
pub fn check_divergence(
    offset: Offset,
    last_fetched_epoch: LeaderEpoch,
    log_start: Offset,
    known_end: Option<EpochEnd>,
) -> Result<Option<EpochEnd>, FetchError> {
    if last_fetched_epoch == LeaderEpoch::NONE {
        return Ok(None);
    }
    let known_end = known_end.ok_or(FetchError::OutOfRange)?;
    if offset < log_start {
        return Err(FetchError::OutOfRange);
    }
    let diverges = known_end.epoch < last_fetched_epoch || known_end.end < offset;
    Ok(diverges.then_some(known_end))
}

/// The bytes that a response has left.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    left: usize,
    /// Nothing has been read yet: the first batch is returned even if it is too large.
    first_batch_whole: bool,
}

impl Allowance {
    /// All of `bytes_max`.
    pub fn new(bytes_max: usize) -> Self {
        Self { left: bytes_max, first_batch_whole: true }
    }

    /// What the next partition may return, up to `end`; `None` if it may return nothing.
    pub fn limit(&self, partition_bytes_max: usize, end: Offset) -> Option<ReadLimit> {
        let bytes_max = self.left.min(partition_bytes_max);
        let first_batch_whole = self.first_batch_whole;
        (bytes_max > 0 || first_batch_whole).then_some(ReadLimit {
            end,
            bytes_max,
            first_batch_whole,
        })
    }

    /// A partition returned `bytes`.
    pub fn took(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
        if bytes > 0 {
            self.first_batch_whole = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Offset = Offset::new(100);

    fn epoch(raw: i32) -> LeaderEpoch {
        LeaderEpoch::new(raw)
    }

    #[test]
    fn only_the_first_partition_with_data_may_exceed_the_limit() {
        let mut allowance = Allowance::new(10);
        assert!(allowance.limit(5, END).is_some_and(|l| l.first_batch_whole && l.bytes_max == 5));
        allowance.took(0);
        assert!(allowance.limit(0, END).is_some_and(|l| l.first_batch_whole), "nothing read yet");
        allowance.took(1000);
        assert!(allowance.limit(5, END).is_none());
    }

    #[test]
    fn what_one_partition_takes_the_next_ones_lack() {
        let mut allowance = Allowance::new(10);
        allowance.took(4);
        let limit = allowance.limit(100, END).expect("six bytes are left");
        assert_eq!((limit.bytes_max, limit.first_batch_whole, limit.end), (6, false, END));
    }

    #[test]
    fn a_wrong_leader_epoch_is_refused_by_its_direction() {
        assert_eq!(check_leader_epoch(LeaderEpoch::NONE, epoch(3)), Ok(()));
        assert_eq!(check_leader_epoch(epoch(3), epoch(3)), Ok(()));
        assert_eq!(check_leader_epoch(epoch(2), epoch(3)), Err(FetchError::FencedLeaderEpoch));
        assert_eq!(check_leader_epoch(epoch(4), epoch(3)), Err(FetchError::UnknownLeaderEpoch));
    }

    #[test]
    fn a_consumer_ahead_of_its_epoch_is_sent_back_to_the_end_of_it() {
        let ends = |raw, end| Some(EpochEnd { epoch: epoch(raw), end: Offset::new(end) });
        let check = |offset, last, known| {
            check_divergence(Offset::new(offset), epoch(last), Offset::new(5), known)
        };
        assert_eq!(check(10, -1, None), Ok(None), "not asked");
        assert_eq!(check(10, 2, ends(2, 10)), Ok(None));
        assert_eq!(check(11, 2, ends(2, 10)), Ok(ends(2, 10)), "beyond the end of the epoch");
        assert_eq!(check(8, 3, ends(2, 10)), Ok(ends(2, 10)), "an epoch that never was");
        assert_eq!(check(4, 3, ends(2, 10)), Err(FetchError::OutOfRange), "below the log start");
        assert_eq!(check(8, 3, None), Err(FetchError::OutOfRange), "no epoch known");
    }
}
