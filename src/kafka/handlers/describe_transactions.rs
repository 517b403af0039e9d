//! DescribeTransactions (65), version 0. KIP-664.
//!
//! Deviation: what is named twice is answered once. A transaction may be in very many partitions, so a short request for the same
//! one again and again would call for an answer without bounds.

use std::collections::HashSet;
use std::sync::Arc;

use kafka_protocol::messages::describe_transactions_response::{TopicData, TransactionState};
use kafka_protocol::messages::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, ProducerId as WireProducerId,
    TransactionalId as WireTransactionalId,
};

use crate::broker::Broker;
use crate::coordinator::TransactionalId;
use crate::coordinator::transactions::{
    TransactionCommand, TransactionDescription, TransactionReply,
};
use crate::kafka::coordinators::Asked;
use crate::kafka::transactions::{self, Codes, state_name};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};

/// Answers a DescribeTransactions request.
pub fn handle(request: Request) -> Outcome {
    let body: DescribeTransactionsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let Request { version, broker, .. } = request;
    let ids = unique(body.transactional_ids);
    let bytes = ids.iter().map(|id| broker.transaction_state_bytes(id));
    let bytes = bytes.fold(0, usize::saturating_add);
    let answering = Arc::clone(&broker);
    coordinators::later_long(&broker, version, bytes, move || {
        let asked: Vec<_> = ids.iter().map(|id| ask(&answering, id)).collect();
        async move {
            let mut states = Vec::with_capacity(asked.len());
            for (id, asked) in ids.into_iter().zip(asked) {
                states.push(state(asked.await).with_transactional_id(id));
            }
            DescribeTransactionsResponse::default().with_transaction_states(states)
        }
    })
}

fn ask(broker: &Arc<Broker>, id: &str) -> Asked<TransactionDescription> {
    let codes = Codes { fenced: true, abortable: true };
    let id = TransactionalId::new(id);
    let command = TransactionCommand::Describe(id.clone());
    transactions::ask(broker, &id, command, codes, |reply| match reply {
        TransactionReply::Describe(described) => described,
        other => transactions::unexpected(&other),
    })
}

fn unique(ids: Vec<WireTransactionalId>) -> Vec<WireTransactionalId> {
    let mut seen = HashSet::with_capacity(ids.len());
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
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
