//! AddPartitionsToTxn (24), versions 0-5. KIP-98, KIP-482, KIP-588, KIP-890.
//!
//! Clients ask for one transaction, up to version 3. From version 4 on brokers ask for several, and may ask whether partitions
//! were added before. Such a request is under the rules of transactions of version 2, as in Kafka, which advertises it too.

use std::sync::Arc;

use kafka_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kafka_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResult, AddPartitionsToTxnTopicResult,
};
use kafka_protocol::messages::{AddPartitionsToTxnRequest, AddPartitionsToTxnResponse};

use crate::broker::topics::is_internal;
use crate::broker::{BoxFuture, Broker};
use crate::coordinator::transactions::{Partitions, TransactionCommand, TransactionReply};
use crate::kafka::transactions::{self, Codes};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};
use crate::metadata::Image;
use crate::types::{PartitionIndex, TopicPartition, TransactionVersion};

/// First version with several transactions.
const SEVERAL_FROM: i16 = 4;
const FENCED_FROM: i16 = 2;
/// Only partitions that are looked for may be missing, and whoever looks for them knows the code.
const ABORTABLE_FROM: i16 = SEVERAL_FROM;

/// Answers an AddPartitionsToTxn request.
pub fn handle(request: Request) -> Outcome {
    let body: AddPartitionsToTxnRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let transactions = if version < SEVERAL_FROM { vec![alone(body)] } else { body.transactions };
    let image = broker.metadata.image();
    let mut asked = Vec::with_capacity(transactions.len());
    for transaction in transactions {
        let codes = add(&broker, &image, &transaction, version);
        asked.push((transaction, codes));
    }
    coordinators::later(version, async move {
        let mut results = Vec::with_capacity(asked.len());
        for (transaction, codes) in asked {
            results.push(result(transaction, codes.await));
        }
        response(results, version)
    })
}

/// The transaction of a request of a client.
fn alone(body: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction::default()
        .with_transactional_id(body.v3_and_below_transactional_id)
        .with_producer_id(body.v3_and_below_producer_id)
        .with_producer_epoch(body.v3_and_below_producer_epoch)
        .with_topics(body.v3_and_below_topics)
}

/// The code of each partition, in order, once it is known. What asks the coordinator stands in its queue when this returns.
fn add(
    broker: &Arc<Broker>,
    image: &Image,
    transaction: &AddPartitionsToTxnTransaction,
    version: i16,
) -> BoxFuture<Vec<ErrorCode>> {
    let several = version >= SEVERAL_FROM;
    let found = lookup(image, &transaction.topics, several);
    let count = found.len();
    if found.iter().any(Result::is_err) {
        // One is enough: nothing is added then.
        let code = |found: &Result<_, ErrorCode>| found.as_ref().err().copied();
        let codes =
            found.iter().map(|found| code(found).unwrap_or(ErrorCode::OperationNotAttempted));
        return Box::pin(std::future::ready(codes.collect()));
    }
    let id = (&**transaction.transactional_id).into();
    let partitions = Partitions {
        id,
        producer: transactions::producer(transaction.producer_id.0, transaction.producer_epoch),
        partitions: found.into_iter().flatten().collect(),
        version: if several { TransactionVersion::V2 } else { TransactionVersion::V1 },
    };
    let codes = Codes::of(version, FENCED_FROM, ABORTABLE_FROM);
    if several && transaction.verify_only {
        return verify(broker, partitions, codes);
    }
    let id = partitions.id.clone();
    let command = TransactionCommand::AddPartitions(partitions);
    let added = transactions::ask(broker, &id, command, codes, |reply| match reply {
        TransactionReply::AddPartitions(added) => added,
        other => transactions::unexpected(&other),
    });
    Box::pin(async move { vec![added.await.err().unwrap_or(ErrorCode::None); count] })
}

/// Internal topics are the brokers' own.
fn lookup(
    image: &Image,
    topics: &[AddPartitionsToTxnTopic],
    is_broker: bool,
) -> Vec<Result<TopicPartition, ErrorCode>> {
    let mut found = Vec::new();
    for asked in topics {
        let topic = image.topic(&asked.name);
        let is_barred = !is_broker && is_internal(&asked.name);
        found.extend(asked.partitions.iter().map(|&index| {
            let partition = PartitionIndex::new(index);
            match topic.filter(|topic| topic.partition(partition).is_some()) {
                _ if is_barred => Err(ErrorCode::TopicAuthorizationFailed),
                Some(topic) => Ok(TopicPartition { topic: topic.name.clone(), partition }),
                None => Err(ErrorCode::UnknownTopicOrPartition),
            }
        }));
    }
    found
}

fn verify(broker: &Arc<Broker>, partitions: Partitions, codes: Codes) -> BoxFuture<Vec<ErrorCode>> {
    let (id, count) = (partitions.id.clone(), partitions.partitions.len());
    let command = TransactionCommand::VerifyPartitions(partitions);
    let verified = transactions::ask(broker, &id, command, codes, |reply| match reply {
        TransactionReply::VerifyPartitions(verdicts) => Ok(verdicts),
        other => transactions::unexpected(&other),
    });
    Box::pin(async move {
        match verified.await {
            Ok(verdicts) => {
                let code = |verdict: Result<(), _>| {
                    verdict.err().map_or(ErrorCode::None, |error| codes.code(error))
                };
                verdicts.into_iter().map(code).collect()
            }
            Err(code) => vec![code; count],
        }
    })
}

fn result(
    transaction: AddPartitionsToTxnTransaction,
    codes: Vec<ErrorCode>,
) -> AddPartitionsToTxnResult {
    // Kafka's answer names a topic without partitions unless they were looked for, or one of others does not exist.
    let names_all = !transaction.verify_only && !codes.iter().any(is_refused_before_asking);
    let is_named = |topic: &AddPartitionsToTxnTopic| names_all || !topic.partitions.is_empty();
    let mut codes = codes.into_iter();
    let topics = transaction.topics.into_iter().filter(is_named).map(|topic| {
        let partitions = topic.partitions.into_iter().zip(codes.by_ref());
        let partitions = partitions.map(|(index, code)| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(index)
                .with_partition_error_code(code.number())
        });
        AddPartitionsToTxnTopicResult::default()
            .with_results_by_partition(partitions.collect())
            .with_name(topic.name)
    });
    AddPartitionsToTxnResult::default()
        .with_topic_results(topics.collect())
        .with_transactional_id(transaction.transactional_id)
}

/// Whether it is one of the codes of [`lookup`], which go with no others than these.
fn is_refused_before_asking(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::TopicAuthorizationFailed
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::OperationNotAttempted
    )
}

fn response(results: Vec<AddPartitionsToTxnResult>, version: i16) -> AddPartitionsToTxnResponse {
    let response = AddPartitionsToTxnResponse::default();
    if version >= SEVERAL_FROM {
        return response.with_results_by_transaction(results);
    }
    let topics = results.into_iter().flat_map(|result| result.topic_results);
    response.with_results_by_topic_v3_and_below(topics.collect())
}
