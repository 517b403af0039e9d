//! InitProducerId (22), versions 0-5. KIP-98, KIP-360, KIP-482, KIP-588.
//!
//! Without a transactional id: a fresh id, epoch 0. With one there is no coordinator yet, which clients are told as Kafka would
//! while it is away.

use kafka_protocol::messages::{
    InitProducerIdRequest, InitProducerIdResponse, ProducerId as WireProducerId,
};

use crate::kafka::{ErrorCode, Outcome, Request, codec};
use crate::metadata::MetadataError;
use crate::types::ProducerId;

/// Answers an InitProducerId request.
pub fn handle(request: Request) -> Outcome {
    let body: InitProducerIdRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    if let Some(error) = refusal(&body) {
        return codec::reply(&failed(error), version);
    }
    Outcome::of_step(request.broker.next_producer_id(), move |id| {
        codec::encode(&answer(id), version)
    })
}

fn refusal(body: &InitProducerIdRequest) -> Option<ErrorCode> {
    let half = (body.producer_id.0 == ProducerId::NONE.get()) != (body.producer_epoch == -1);
    match &body.transactional_id {
        _ if half => Some(ErrorCode::InvalidRequest),
        None => None,
        Some(id) if id.0.is_empty() => Some(ErrorCode::InvalidRequest),
        Some(_) => Some(ErrorCode::CoordinatorNotAvailable),
    }
}

fn answer(id: Result<ProducerId, MetadataError>) -> InitProducerIdResponse {
    match id {
        Ok(id) => InitProducerIdResponse::default()
            .with_producer_id(WireProducerId(id.get()))
            .with_producer_epoch(0),
        Err(error) => {
            tracing::error!(%error, "no producer ids can be allocated");
            failed(ErrorCode::CoordinatorNotAvailable)
        }
    }
}

fn failed(error: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse::default()
        .with_error_code(error.number())
        .with_producer_id(WireProducerId(ProducerId::NONE.get()))
        .with_producer_epoch(-1)
}
