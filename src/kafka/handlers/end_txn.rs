//! EndTxn (26), versions 0-5. KIP-98, KIP-482, KIP-588, KIP-890.
//!
//! Version 5 is how a client says that its transaction is of version 2: it is told what its producer is from now on.

use kafka_protocol::messages::{EndTxnRequest, EndTxnResponse, ProducerId as WireProducerId};

use crate::coordinator::transactions::{End, TransactionCommand, TransactionReply};
use crate::kafka::transactions::{self, Codes};
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators};
use crate::types::{self, ProducerIdAndEpoch, TransactionVersion};

const FENCED_FROM: i16 = 2;
const ABORTABLE_FROM: i16 = 4;
/// First version of transactions of version 2.
const VERSION_2_FROM: i16 = 5;

/// Answers an EndTxn request.
pub fn handle(request: Request) -> Outcome {
    let body: EndTxnRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    let end = end(&body, version);
    let (id, codes) = (end.id.clone(), Codes::of(version, FENCED_FROM, ABORTABLE_FROM));
    let command = TransactionCommand::End(end);
    let ended = transactions::ask(&request.broker, &id, command, codes, |reply| match reply {
        TransactionReply::End(ended) => ended,
        other => transactions::unexpected(&other),
    });
    coordinators::later(version, async move { response(ended.await, version) })
}

fn end(body: &EndTxnRequest, version: i16) -> End {
    let is_version_2 = version >= VERSION_2_FROM;
    End {
        id: (&**body.transactional_id).into(),
        producer: transactions::producer(body.producer_id.0, body.producer_epoch),
        outcome: if body.committed { types::Outcome::Commit } else { types::Outcome::Abort },
        version: if is_version_2 { TransactionVersion::V2 } else { TransactionVersion::V1 },
    }
}

fn response(ended: Result<ProducerIdAndEpoch, ErrorCode>, version: i16) -> EndTxnResponse {
    match ended {
        Ok(next) if version >= VERSION_2_FROM => EndTxnResponse::default()
            .with_producer_id(WireProducerId(next.id.get()))
            .with_producer_epoch(next.epoch.get()),
        Ok(_) => EndTxnResponse::default(),
        Err(code) => EndTxnResponse::default().with_error_code(code.number()),
    }
}
