//! DescribeTransactions (65), version 0. KIP-664.

use kafka_protocol::messages::describe_transactions_response::{TopicData, TransactionState};
use kafka_protocol::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, ProducerId as WireProducerId,
};

use crate::coordinator::TransactionalId;
use crate::coordinator::transactions::{
    TransactionCommand, TransactionDescription, TransactionReply,
};
use crate::kafka::transactions::{self, Codes, state_name};
use crate::kafka::{ErrorCode, Outcome, Request, codec, groups};

/// Answers a DescribeTransactions request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeTransactionsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    let codes = Codes { fenced: true, abortable: true };
    let mut asked = Vec::with_capacity(body.transactional_ids.len());
    for id in &body.transactional_ids {
        let id = TransactionalId::new(id);
        let command = TransactionCommand::Describe(id.clone());
        asked.push(transactions::ask(&request.broker, &id, command, codes, |reply| match reply {
            TransactionReply::Describe(described) => described,
            other => transactions::unexpected(&other),
        }));
    }
    groups::later(version, async move {
        let mut states = Vec::with_capacity(asked.len());
        for (id, asked) in body.transactional_ids.into_iter().zip(asked) {
            states.push(state(asked.await).with_transactional_id(id));
        }
        DescribeTransactionsResponse::default().with_transaction_states(states)
    })
}

fn state(described: Result<TransactionDescription, ErrorCode>) -> TransactionState {
    match described {
        Ok(described) => TransactionState::default()
            .with_transaction_state(codec::text(state_name(described.state)))
            .with_transaction_timeout_ms(described.timeout_ms)
            .with_transaction_start_time_ms(described.start.get())
            .with_producer_id(WireProducerId(described.producer.id.get()))
            .with_producer_epoch(described.producer.epoch.get())
            .with_topics(topics(&described)),
        Err(code) => TransactionState::default().with_error_code(code.number()),
    }
}

fn topics(described: &TransactionDescription) -> Vec<TopicData> {
    let mut partitions: Vec<_> = described.partitions.iter().collect();
    partitions.sort_unstable_by_key(|part| (&part.topic, part.partition));
    let topics = partitions.chunk_by(|a, b| a.topic == b.topic).map(|parts| {
        TopicData::default()
            .with_topic(codec::topic_name(parts[0].topic.as_str()))
            .with_partitions(parts.iter().map(|part| part.partition.get()).collect())
    });
    topics.collect()
}
