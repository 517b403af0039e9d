//! AddOffsetsToTxn (25), versions 0-4. KIP-98, KIP-447, KIP-482, KIP-588, KIP-890.
//!
//! The partition of `__consumer_offsets` that keeps the group becomes part of the transaction. Deviation: that topic is made first if
//! there is none, so that the partition named is the one that will keep the group.

use kafka_protocol::messages::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

use crate::broker::CONSUMER_OFFSETS;
use crate::coordinator::transactions::{Partitions, TransactionCommand, TransactionReply};
use crate::kafka::coordinators::Asked;
use crate::kafka::transactions::{self, Codes};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};
use crate::types::{TopicName, TopicPartition, TransactionVersion};

const FENCED_FROM: i16 = 2;
const ABORTABLE_FROM: i16 = 4;

/// Answers an AddOffsetsToTxn request.
pub fn handle(request: Request) -> Outcome {
    let body: AddOffsetsToTxnRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    if request.broker.group_shard(&body.group_id).is_some() {
        return added(&request, &body);
    }
    Outcome::Serial(Box::pin(async move {
        match request.broker.ensure_group_topic().finish().await {
            Ok(()) => added(&request, &body),
            Err(error) => codec::reply(&response(coordinators::code(&error)), request.version),
        }
    }))
}

fn added(request: &Request, body: &AddOffsetsToTxnRequest) -> Outcome {
    let added = ask(request, body);
    coordinators::later(request.version, async move {
        response(added.await.err().unwrap_or(ErrorCode::None))
    })
}

fn ask(request: &Request, body: &AddOffsetsToTxnRequest) -> Asked<()> {
    let Some(partition) = request.broker.group_shard(&body.group_id) else {
        return transactions::refused(ErrorCode::CoordinatorNotAvailable);
    };
    let topic = TopicName::new(CONSUMER_OFFSETS).expect("a legal name");
    let partitions = Partitions {
        id: (&**body.transactional_id).into(),
        producer: transactions::producer(body.producer_id.0, body.producer_epoch),
        partitions: vec![TopicPartition { topic, partition }],
        version: TransactionVersion::V1,
    };
    let id = partitions.id.clone();
    let command = TransactionCommand::AddPartitions(partitions);
    let codes = Codes::of(request.version, FENCED_FROM, ABORTABLE_FROM);
    transactions::ask(&request.broker, &id, command, codes, |reply| match reply {
        TransactionReply::AddPartitions(added) => added,
        other => transactions::unexpected(&other),
    })
}

fn response(code: ErrorCode) -> AddOffsetsToTxnResponse {
    AddOffsetsToTxnResponse::default().with_error_code(code.number())
}
