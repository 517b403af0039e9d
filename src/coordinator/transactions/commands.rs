//! What front ends and partitions ask of the coordinator of transactions.

use std::time::Duration;

use super::{TransactionError, TransactionState};
use crate::coordinator::TransactionalId;
use crate::coordinator::pattern::Pattern;
use crate::types::{
    Outcome, ProducerEpoch, ProducerId, ProducerIdAndEpoch, Timestamp, TopicPartition,
    TransactionVersion, Uuid,
};

/// One command to a shard.
#[derive(Clone, Debug)]
pub enum TransactionCommand {
    /// InitProducerId.
    InitProducer(InitProducer),
    /// AddPartitionsToTxn, AddOffsetsToTxn, or the first write to a partition in version 2: all or none are added.
    AddPartitions(Partitions),
    /// The first write to a partition in version 1: are they part of the open transaction?
    VerifyPartitions(Partitions),
    /// EndTxn.
    End(End),
    /// The markers of [`WriteMarkers`] are durable in these partitions, or the partitions are gone.
    MarkersWritten {
        /// Whose.
        id: TransactionalId,
        /// As in the errand.
        errand: Uuid,
        /// Some or all of those in the errand.
        partitions: Vec<TopicPartition>,
    },
    /// DescribeTransactions for one transactional id.
    Describe(TransactionalId),
    /// ListTransactions: those of this shard.
    List(ListFilter),
    /// Every transaction of this shard that is open or ends, for metrics.
    Overview,
}

/// A producer begins or returns.
#[derive(Clone, Debug)]
pub struct InitProducer {
    /// Its name; not empty.
    pub id: TransactionalId,
    /// Longest time between the first write of a transaction and its end.
    pub timeout_ms: i32,
    /// What it believes to be (KIP-360), if it was somebody before.
    pub current: Option<ProducerIdAndEpoch>,
    /// Version of the request: some answers depend on it.
    pub version: i16,
}

/// Partitions of a transaction.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// Whose.
    pub id: TransactionalId,
    /// Who asks.
    pub producer: ProducerIdAndEpoch,
    /// Which.
    pub partitions: Vec<TopicPartition>,
    /// The rules that the request chose.
    pub version: TransactionVersion,
}

/// A producer ends its transaction.
#[derive(Clone, Debug)]
pub struct End {
    /// Whose.
    pub id: TransactionalId,
    /// Who asks.
    pub producer: ProducerIdAndEpoch,
    /// How.
    pub outcome: Outcome,
    /// The rules that the request chose: EndTxn 5 and later is version 2.
    pub version: TransactionVersion,
}

/// Which transactions ListTransactions asks for.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// Empty for all.
    pub states: Vec<TransactionState>,
    /// Empty for all.
    pub producers: Vec<ProducerId>,
    /// Open for longer than this.
    pub longer_than: Option<Duration>,
    /// Regular expression that the transactional id matches (version 2, KIP-1152): it must be one for whole names.
    pub pattern: Option<Pattern>,
}

/// What a shard answers: the variant of the command's name.
#[derive(Debug)]
#[expect(missing_docs, reason = "each answers the command that it is named after")]
pub enum TransactionReply {
    InitProducer(Result<ProducerIdAndEpoch, TransactionError>),
    AddPartitions(Result<(), TransactionError>),
    /// In the order of the command.
    VerifyPartitions(Vec<Result<(), TransactionError>>),
    /// What the producer is from now on; as it was in version 1.
    End(Result<ProducerIdAndEpoch, TransactionError>),
    MarkersWritten,
    Describe(Result<TransactionDescription, TransactionError>),
    List(Vec<TransactionListing>),
    Overview(Vec<TransactionOverview>),
}

/// A transaction as DescribeTransactions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in the response")]
pub struct TransactionDescription {
    pub state: TransactionState,
    pub timeout_ms: i32,
    /// Of the newest transaction, whether it is open or not; −1 before the first one.
    pub start: Timestamp,
    pub producer: ProducerIdAndEpoch,
    pub partitions: Vec<TopicPartition>,
}

/// A transaction as ListTransactions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in the response")]
pub struct TransactionListing {
    pub id: TransactionalId,
    pub producer: ProducerId,
    pub state: TransactionState,
}

/// A transaction as metrics show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionOverview {
    /// Its name.
    pub id: TransactionalId,
    /// Open, or on its way to an end.
    pub state: TransactionState,
    /// When it was begun.
    pub start: Timestamp,
    /// Its producer's epoch.
    pub epoch: ProducerEpoch,
}

/// What the coordinator has others do.
#[derive(Clone, Debug)]
pub enum TransactionErrand {
    /// Ends a transaction in its partitions; answered by [`TransactionCommand::MarkersWritten`], until then to be tried for ever.
    WriteMarkers(WriteMarkers),
}

/// The end of a transaction in its partitions.
#[derive(Clone, Debug)]
pub struct WriteMarkers {
    /// Whose.
    pub id: TransactionalId,
    /// To be named by the answer: when a shard is read, it sends out anew what is prepared, and only that counts.
    pub errand: Uuid,
    /// As the markers name it.
    pub producer: ProducerIdAndEpoch,
    /// How it ends.
    pub outcome: Outcome,
    /// The rules that it is under.
    pub version: TransactionVersion,
    /// Where.
    pub partitions: Vec<TopicPartition>,
}
