//! The states of a transaction and which may follow which (Kafka's `TransactionState`).

use TransactionState::*;

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// A producer has the transactional id; nothing was begun since.
    Empty,
    /// Partitions were added.
    Ongoing,
    /// It is certain to be committed; markers are being written.
    PrepareCommit,
    /// It is certain to be aborted; markers are being written.
    PrepareAbort,
    /// All markers are written.
    CompleteCommit,
    /// All markers are written.
    CompleteAbort,
    /// The transactional id has expired. Kafka has this state in memory only; here it never lasts at all.
    Dead,
    /// A producer is being fenced. Kafka has this state in memory only; here it never lasts at all.
    PrepareEpochFence,
}

impl TransactionState {
    /// All of them, in the order of their ids.
    pub const ALL: [Self; 8] = [
        Empty,
        Ongoing,
        PrepareCommit,
        PrepareAbort,
        CompleteCommit,
        CompleteAbort,
        Dead,
        PrepareEpochFence,
    ];

    /// As DescribeTransactions and ListTransactions call it.
    pub fn name(self) -> &'static str {
        match self {
            Empty => "Empty",
            Ongoing => "Ongoing",
            PrepareCommit => "PrepareCommit",
            PrepareAbort => "PrepareAbort",
            CompleteCommit => "CompleteCommit",
            CompleteAbort => "CompleteAbort",
            Dead => "Dead",
            PrepareEpochFence => "PrepareEpochFence",
        }
    }

    /// The reverse of [`Self::name`], which is case-sensitive as in Kafka.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// As records call it.
    pub(super) fn id(self) -> i8 {
        self as i8
    }

    /// The reverse of [`Self::id`].
    pub(super) fn of_id(id: i8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.id() == id)
    }

    /// True while markers are being written: how it ends is certain, nothing else can be done with it.
    pub fn is_ending(self) -> bool {
        matches!(self, PrepareCommit | PrepareAbort)
    }

    /// True if the log may hold it.
    pub(super) fn is_written(self) -> bool {
        !matches!(self, Dead | PrepareEpochFence)
    }

    /// True if nothing is open: a producer may begin, and the transactional id may expire.
    pub(super) fn is_idle(self) -> bool {
        matches!(self, Empty | CompleteCommit | CompleteAbort)
    }

    /// True if a record of this state may come after one of `before`.
    pub(super) fn may_follow(self, before: Self) -> bool {
        match self {
            Empty | Dead => before.is_idle(),
            Ongoing => before.is_idle() || before == Ongoing,
            PrepareCommit | PrepareEpochFence => before == Ongoing,
            // Version 2 aborts what was not begun: the producer may not know whether it was.
            PrepareAbort => before.is_idle() || matches!(before, Ongoing | PrepareEpochFence),
            CompleteCommit => before == PrepareCommit,
            CompleteAbort => before == PrepareAbort,
        }
    }
}
