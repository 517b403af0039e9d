//! Offsets that a transaction commits: TxnOffsetCommit, and the markers that end transactions (Kafka's
//! `CoordinatorRuntime.scheduleTransactionalWriteOperation`, `OffsetMetadataManager.commitTransactionalOffset`).
//!
//! The first commit of a transaction waits until the coordinator of transactions says that this shard is part of it: from then
//! on a marker is certain to come. A marker that comes while a commit waits belongs to a transaction before, or to this one,
//! which is over then; what waits is refused, so that nothing is written that nobody would end.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::{TxnOffsetCommitRequest, TxnOffsetCommitResponse};

use super::commit::is_longer;
use super::producers::{self, Standing};
use super::verifications::Admission;
use super::waiting_commit::WaitingCommit;
use crate::coordinator::groups::{
    Call, GroupErrand, GroupKind, GroupReply, GroupTurn, Groups, MarkerError,
};
use crate::coordinator::machine::Token;
use crate::coordinator::records::{GroupRecord, OffsetCommitValue};
use crate::coordinator::transactions::TransactionError;
use crate::coordinator::{GroupId, classic, consumer};
use crate::types::{
    LeaderEpoch, Marker, Offset, PartitionIndex, ProducerEpoch, ProducerId, ProducerIdAndEpoch,
    Uuid,
};

/// First version that knows TRANSACTION_ABORTABLE (KIP-890).
const ABORTABLE_SINCE: i16 = 4;

/// First version that knows GROUP_ID_NOT_FOUND.
const GROUP_NOT_FOUND_SINCE: i16 = 6;

/// Commits offsets that count once the transaction is committed.
pub(in crate::coordinator) fn commit_in_transaction(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<TxnOffsetCommitRequest>,
    token: Token,
) {
    if call.request.group_id.is_empty() {
        return refuse(turn, &call, token, ResponseError::InvalidGroupId);
    }
    match shard.producers.standing(producer_of(&call.request)) {
        Standing::Fenced => refuse(turn, &call, token, ResponseError::InvalidProducerEpoch),
        Standing::InTransaction => commit(shard, turn, &call, token),
        Standing::Outside => {
            let waiting = WaitingCommit::of(call, token);
            match shard.verifications.wait(waiting, || turn.new_id()) {
                Admission::Asks(ask) => turn.send_out(GroupErrand::VerifyTransaction(ask)),
                Admission::Waits => {}
                Admission::Full(WaitingCommit { call, token }) => {
                    refuse(turn, &call, token, ResponseError::CoordinatorNotAvailable);
                }
            }
        }
    }
}

/// The coordinator of transactions has answered an errand.
pub(in crate::coordinator) fn verified(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    (producer, errand): (ProducerId, Uuid),
    verdict: Result<(), TransactionError>,
) {
    // Nothing waits if a marker came first, or if it was an earlier life of the shard that asked.
    for WaitingCommit { call, token } in shard.verifications.take(producer, errand) {
        let standing = shard.producers.standing(producer_of(&call.request));
        match verdict {
            // Meanwhile a newer life of the producer has been heard of.
            Ok(()) if standing == Standing::Fenced => {
                refuse(turn, &call, token, ResponseError::InvalidProducerEpoch);
            }
            Ok(()) => commit(shard, turn, &call, token),
            Err(error) => refuse(turn, &call, token, refusal(error, call.version)),
        }
    }
}

/// Ends a transaction in this shard, whether it has offsets here or not.
pub(in crate::coordinator) fn end(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    marker: Marker,
) -> Result<(), MarkerError> {
    shard.producers.check_marker(&marker)?;
    for WaitingCommit { call, token } in shard.verifications.take_ended(&marker) {
        refuse(turn, &call, token, ResponseError::InvalidTxnState);
    }
    turn.write_marker(marker);
    shard.producers.ended(&marker);
    producers::watch(shard, turn);
    Ok(())
}

/// Who commits.
pub(super) fn producer_of(request: &TxnOffsetCommitRequest) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch {
        id: ProducerId::new(request.producer_id.0),
        epoch: ProducerEpoch::new(request.producer_epoch),
    }
}

/// Kafka's code for a verdict (its `AddPartitionsToTxnManager` and `handleOperationException`).
fn refusal(error: TransactionError, version: i16) -> ResponseError {
    match error {
        TransactionError::InvalidRequest => ResponseError::InvalidRequest,
        TransactionError::InvalidTimeout => ResponseError::InvalidTransactionTimeout,
        TransactionError::InvalidProducerIdMapping => ResponseError::InvalidProducerIdMapping,
        TransactionError::ProducerFenced => ResponseError::InvalidProducerEpoch,
        TransactionError::ConcurrentTransactions => ResponseError::ConcurrentTransactions,
        TransactionError::Abortable if version >= ABORTABLE_SINCE => {
            ResponseError::TransactionAbortable
        }
        TransactionError::InvalidState | TransactionError::Abortable => {
            ResponseError::InvalidTxnState
        }
        TransactionError::NotFound => ResponseError::TransactionalIdNotFound,
        TransactionError::NotAvailable => ResponseError::CoordinatorNotAvailable,
    }
}

/// Writes offsets of a transaction that this shard is part of, if the group takes them.
fn commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<TxnOffsetCommitRequest>,
    token: Token,
) {
    if let Err(error) = check(shard, turn, call) {
        return refuse(turn, call, token, error);
    }
    let topics = call.request.topics.iter();
    let topics = topics.map(|topic| commit_topic(shard, turn, &call.request, topic)).collect();
    producers::watch(shard, turn);
    let response = TxnOffsetCommitResponse::default().with_topics(topics);
    turn.answer(token, GroupReply::CommitInTransaction(response));
}

/// Whether the group takes offsets from who asks. Unlike with OffsetCommit this neither depends on the group's state nor keeps
/// a session alive, and who does not claim to be a member is taken for none.
fn check(
    shard: &Groups,
    turn: &GroupTurn<'_>,
    call: &Call<TxnOffsetCommitRequest>,
) -> Result<(), ResponseError> {
    let request = &call.request;
    match GroupKind::of(shard, turn.hard(), &request.group_id) {
        Some(GroupKind::Consumer) => consumer::check_commit_in_transaction(turn, request),
        Some(GroupKind::Classic) => classic::check_commit_in_transaction(shard, request),
        // An empty group: nobody is a member of it.
        Some(GroupKind::Simple) if request.generation_id >= 0 => {
            Err(ResponseError::UnknownMemberId)
        }
        None if request.generation_id >= 0 && call.version >= GROUP_NOT_FOUND_SINCE => {
            Err(ResponseError::GroupIdNotFound)
        }
        None if request.generation_id >= 0 => Err(ResponseError::IllegalGeneration),
        Some(GroupKind::Simple) | None => Ok(()),
    }
}

fn commit_topic(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    request: &TxnOffsetCommitRequest,
    asked: &TxnOffsetCommitRequestTopic,
) -> TxnOffsetCommitResponseTopic {
    let producer = producer_of(request);
    let group = GroupId::new(&request.group_id);
    let topic = turn.image.topic(&asked.name);
    answer(asked, |partition| {
        // Deleted since the request came in.
        let topic = topic.ok_or(ResponseError::UnknownTopicOrPartition)?;
        let metadata = partition.committed_metadata.as_deref().unwrap_or("");
        if is_longer(metadata, shard.settings.offset_metadata_max_bytes) {
            return Err(ResponseError::OffsetMetadataTooLarge);
        }
        let value = OffsetCommitValue {
            offset: Offset::new(partition.committed_offset),
            leader_epoch: LeaderEpoch::new(partition.committed_leader_epoch),
            metadata: metadata.to_owned(),
            commit_timestamp: turn.now.wall,
            expire_timestamp: None,
            topic_id: topic.id,
        };
        let record = GroupRecord::OffsetCommit {
            group: group.clone(),
            topic: topic.name.clone(),
            partition: PartitionIndex::new(partition.partition_index),
            value: Some(value),
        };
        turn.write_pending(producer, record);
        shard.producers.wrote(producer);
        shard.metrics.group_offset_commits.increment();
        Ok(())
    })
}

fn refuse(
    turn: &mut GroupTurn<'_>,
    call: &Call<TxnOffsetCommitRequest>,
    token: Token,
    error: ResponseError,
) {
    let topics = call.request.topics.iter().map(|topic| answer(topic, |_| Err(error)));
    let response = TxnOffsetCommitResponse::default().with_topics(topics.collect());
    turn.answer(token, GroupReply::CommitInTransaction(response));
}

/// A topic's part of the answer, in the order of the question.
fn answer(
    asked: &TxnOffsetCommitRequestTopic,
    mut outcome: impl FnMut(&TxnOffsetCommitRequestPartition) -> Result<(), ResponseError>,
) -> TxnOffsetCommitResponseTopic {
    let partitions = asked.partitions.iter().map(|partition| {
        TxnOffsetCommitResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_error_code(outcome(partition).err().map_or(0, |error| error.code()))
    });
    TxnOffsetCommitResponseTopic::default()
        .with_name(asked.name.clone())
        .with_partitions(partitions.collect())
}
