//! ListTransactions (66), versions 0-2. KIP-664, KIP-994, KIP-1152.

use std::sync::Arc;
use std::time::Duration;

use kafka_protocol::messages::list_transactions_response::TransactionState as ListedTransaction;
use kafka_protocol::messages::{
    ListTransactionsRequest, ListTransactionsResponse, ProducerId as WireProducerId,
};
use kafka_protocol::protocol::StrBytes;

use crate::broker::CoordinatorError;
use crate::coordinator::pattern::Pattern;
use crate::coordinator::transactions::{
    ListFilter, TransactionCommand, TransactionListing, TransactionReply,
};
use crate::kafka::transactions::{self, state_name, state_of};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};
use crate::types::ProducerId;

/// Answers a ListTransactions request.
pub fn handle(request: Request) -> Outcome {
    let body: ListTransactionsRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    let unknown: Vec<StrBytes> =
        body.state_filters.iter().filter(|name| state_of(name).is_none()).cloned().collect();
    let Ok(filter) = filter(&body) else {
        return codec::reply(&failed(ErrorCode::InvalidRegularExpression), version);
    };
    // An empty filter would ask for all.
    if !unknown.is_empty() && filter.states.is_empty() {
        return codec::reply(&response(Vec::new(), unknown), version);
    }
    let broker = request.broker;
    let bytes = broker.coordinator_memory.bytes();
    let answering = Arc::clone(&broker);
    coordinators::later_long(&broker, version, bytes, move || {
        let listed = answering.transaction_call_each(|| TransactionCommand::List(filter.clone()));
        async move { response(listed.await, unknown) }
    })
}

fn filter(body: &ListTransactionsRequest) -> Result<ListFilter, String> {
    let pattern = body.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
    Ok(ListFilter {
        states: body.state_filters.iter().filter_map(|name| state_of(name)).collect(),
        producers: body.producer_id_filters.iter().map(|id| ProducerId::new(id.0)).collect(),
        longer_than: u64::try_from(body.duration_filter).ok().map(Duration::from_millis),
        pattern: pattern.map(Pattern::of_any_names).transpose()?,
    })
}

/// A shard that this node has lost has no transactions here; any other failure is that of the whole request.
fn response(
    shards: Vec<Result<TransactionReply, CoordinatorError>>,
    unknown: Vec<StrBytes>,
) -> ListTransactionsResponse {
    let mut states = Vec::new();
    for shard in shards {
        match shard {
            Ok(TransactionReply::List(listed)) => states.extend(listed.iter().map(state)),
            Ok(other) => transactions::unexpected(&other),
            Err(error) => match coordinators::code(&error) {
                ErrorCode::NotCoordinator => {}
                code => return failed(code),
            },
        }
    }
    ListTransactionsResponse::default()
        .with_unknown_state_filters(unknown)
        .with_transaction_states(states)
}

fn state(listed: &TransactionListing) -> ListedTransaction {
    ListedTransaction::default()
        .with_transactional_id(codec::text(listed.id.as_str()).into())
        .with_producer_id(WireProducerId(listed.producer.get()))
        .with_transaction_state(codec::text(state_name(listed.state)))
}

fn failed(code: ErrorCode) -> ListTransactionsResponse {
    ListTransactionsResponse::default().with_error_code(code.number())
}
