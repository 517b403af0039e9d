//! Committed offsets (Kafka's `OffsetMetadataManager`): who may commit and read them, and when they go.
//!
//! The offsets are hard state and change only by their records. A group that has nothing but offsets, because its consumers
//! assign partitions to themselves, exists as long as they do.
//!
//! Offsets of a transaction are pending until its marker comes (`transactional`, `pending`). The first one waits until the
//! coordinator of transactions has vouched for the transaction (`verifications`); what the log would refuse of a producer is
//! known here (`producers`).
//!
//! Deviations from Kafka: the coordinator of transactions is asked whatever `transaction.partition.verification.enable` says. A
//! group of nothing but offsets is gone with its last offset, not some minutes later, and no tombstone is written for the group
//! itself, of which there is no record. Offsets of topics that were deleted while nobody looked are dropped when the shard is
//! read.

mod commit;
mod committed;
mod delete;
mod deletions;
mod expiry;
mod fetch;
mod growth;
mod pending;
mod producers;
#[cfg(test)]
mod tests;
mod transactional;
mod verifications;
mod waiting_commit;

pub(super) use commit::commit;
pub use committed::{CommittedOffset, CommittedOffsets};
pub(super) use delete::{delete, delete_all};
pub use deletions::Deletions;
pub(super) use deletions::{Progress, add_group, delete_some, go_on};
pub use expiry::ExpiryRound;
pub(super) use expiry::{expire, loaded};
pub(super) use fetch::{Fetch, fetch};
pub(super) use growth::{commit_grows, transactional_commit_grows};
pub use producers::KnownProducers;
pub(super) use producers::expire_producers;
pub(super) use transactional::{commit_in_transaction, end, verified};
pub use verifications::Verifications;

use super::groups::{GroupTurn, Groups};

/// Topics may be gone: drops their offsets.
pub(super) fn image_changed(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    delete::drop_deleted_topics(shard, turn);
}
