//! ConsumerGroupHeartbeat (68), versions 0-1. KIP-848, KIP-1082.

use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};

use crate::coordinator::groups::GroupCommand;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};

/// Answers a ConsumerGroupHeartbeat request.
pub fn handle(request: Request) -> Outcome {
    let body: ConsumerGroupHeartbeatRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    if !request.broker.serves_consumer_protocol() {
        return codec::reply(&failed(ErrorCode::UnsupportedVersion), request.version);
    }
    let group = body.group_id.clone();
    let command = GroupCommand::ConsumerHeartbeat(groups::call(&request, body));
    let heard = groups::ask(&request.broker, &group, command);
    coordinators::later(request.version, async move { heard.await.unwrap_or_else(failed) })
}

fn failed(code: ErrorCode) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse::default().with_error_code(code.number())
}
