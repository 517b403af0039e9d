//! Vocabulary without behaviour: offsets, epochs, ids, names, times.
//!
//! Every quantity that Kafka sends as a bare integer has its own type here, so that an offset cannot be passed where an
//! epoch is meant. Nothing in this module does I/O, reads a clock or imports another module of the crate.

mod ids;
mod names;
mod numbers;
mod transactions;

pub use ids::{DirectoryId, InvalidUuid, TopicId, Uuid};
pub use names::{InvalidTopicName, TopicName, TopicPartition};
pub use numbers::{
    BrokerId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp,
};
pub use transactions::{Marker, Outcome, ProducerIdAndEpoch, TransactionVersion};
