//! InitProducerId (22), versions 0-5. KIP-98, KIP-360, KIP-482, KIP-588, KIP-890.
//!
//! Without a transactional id: a fresh id, epoch 0. With one its coordinator decides. Version 6 (KIP-939) is not stable in
//! Kafka 4.4, which neither advertises it nor answers it: a connection that asks with it is closed, there and here.

use kafka_protocol::messages::{
    InitProducerIdRequest, InitProducerIdResponse, ProducerId as WireProducerId,
};

use crate::broker::Step;
use crate::coordinator::transactions::{InitProducer, TransactionCommand, TransactionReply};
use crate::kafka::transactions::{self, Codes};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};
use crate::metadata::MetadataError;
use crate::types::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};

const FENCED_FROM: i16 = 4;
const ABORTABLE_FROM: i16 = 5;

/// Answers an InitProducerId request.
pub fn handle(request: Request) -> Outcome {
    let body: InitProducerIdRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    let Ok(current) = current(&body) else {
        return codec::reply(&response(Err(ErrorCode::InvalidRequest)), version);
    };
    match &body.transactional_id {
        Some(id) => {
            let (id, timeout_ms) = ((&***id).into(), body.transaction_timeout_ms);
            transactional(request, InitProducer { id, timeout_ms, current, version })
        }
        None => Outcome::of_step(request.broker.next_producer_id(), move |id| {
            let fresh = id.map(|id| ProducerIdAndEpoch { id, epoch: ProducerEpoch::new(0) });
            codec::encode(&response(fresh.map_err(|error| no_ids(&error))), version)
        }),
    }
}

/// What the producer believes to be: both of id and epoch, or neither.
fn current(body: &InitProducerIdRequest) -> Result<Option<ProducerIdAndEpoch>, ErrorCode> {
    let claimed = transactions::producer(body.producer_id.0, body.producer_epoch);
    match (claimed.id == ProducerId::NONE, claimed.epoch == ProducerEpoch::NONE) {
        (true, true) => Ok(None),
        (false, false) => Ok(Some(claimed)),
        (true, false) | (false, true) => Err(ErrorCode::InvalidRequest),
    }
}

/// The coordinator cannot wait for an id, so one is made sure of first.
fn transactional(request: Request, init: InitProducer) -> Outcome {
    match request.broker.ensure_producer_ids() {
        Step::Now(ensured) => ask(&request, init, ensured),
        waits => Outcome::Serial(Box::pin(async move {
            let ensured = waits.finish().await;
            ask(&request, init, ensured)
        })),
    }
}

fn ask(request: &Request, init: InitProducer, ensured: Result<(), MetadataError>) -> Outcome {
    let version = request.version;
    if let Err(error) = ensured {
        return codec::reply(&response(Err(no_ids(&error))), version);
    }
    let (id, codes) = (init.id.clone(), Codes::of(version, FENCED_FROM, ABORTABLE_FROM));
    let command = TransactionCommand::InitProducer(init);
    let told = transactions::ask(&request.broker, &id, command, codes, |reply| match reply {
        TransactionReply::InitProducer(told) => told,
        other => transactions::unexpected(&other),
    });
    coordinators::later(version, async move { response(told.await) })
}

fn no_ids(error: &MetadataError) -> ErrorCode {
    tracing::error!(%error, "no producer ids can be allocated");
    ErrorCode::CoordinatorNotAvailable
}

fn response(told: Result<ProducerIdAndEpoch, ErrorCode>) -> InitProducerIdResponse {
    let producer = told.unwrap_or(ProducerIdAndEpoch::NONE);
    let code = told.err().unwrap_or(ErrorCode::None);
    InitProducerIdResponse::default()
        .with_error_code(code.number())
        .with_producer_id(WireProducerId(producer.id.get()))
        .with_producer_epoch(producer.epoch.get())
}
