//! Who writes in a transaction, and how it ends.

use std::fmt;

use super::{ProducerEpoch, ProducerId};

/// A producer as partitions and coordinators know it (Kafka's `ProducerIdAndEpoch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProducerIdAndEpoch {
    /// Which producer.
    pub id: ProducerId,
    /// Which life of it: a newer one fences the older ones.
    pub epoch: ProducerEpoch,
}

impl ProducerIdAndEpoch {
    /// No producer: −1 and −1.
    pub const NONE: Self = Self { id: ProducerId::NONE, epoch: ProducerEpoch::NONE };
}

impl fmt::Display for ProducerIdAndEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "producer {} epoch {}", self.id, self.epoch)
    }
}

/// How a transaction ends (Kafka's `TransactionResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Its records count.
    Commit,
    /// Its records never were.
    Abort,
}

/// The end of a transaction in one partition (Kafka's `EndTransactionMarker`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Whose transaction. The epoch is that of the marker, which is above the one of the records where the transaction was of
    /// version 2 (KIP-890) or its producer was fenced.
    pub producer: ProducerIdAndEpoch,
    /// How it ends.
    pub outcome: Outcome,
    /// Leader epoch of the coordinator's partition; a partition takes no marker of an older coordinator.
    pub coordinator_epoch: i32,
    /// The rules that the transaction was under.
    pub version: TransactionVersion,
}

/// The rules that a transaction is under, which the client's requests choose (Kafka's `TransactionVersion`). Versions 0 and 1
/// differ only in what coordinators write down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TransactionVersion {
    /// Partitions are added by AddPartitionsToTxn; the epoch stays from transaction to transaction (KIP-98).
    #[default]
    V1,
    /// Partitions are added by writing to them; every end of a transaction raises the epoch (KIP-890).
    V2,
}
