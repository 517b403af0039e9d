//! Heartbeat (12), versions 0-4. KIP-345, KIP-482.

use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

use crate::coordinator::groups::GroupCommand;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};

/// Answers a Heartbeat request.
pub fn handle(request: Request) -> Outcome {
    let body: HeartbeatRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    if body.group_id.is_empty() {
        return codec::reply(&failed(ErrorCode::InvalidGroupId), version);
    }
    let group = body.group_id.clone();
    let command = GroupCommand::Heartbeat(groups::call(&request, body));
    let heard = groups::ask(&request.broker, &group, command);
    coordinators::later(version, async move { heard.await.unwrap_or_else(failed) })
}

fn failed(code: ErrorCode) -> HeartbeatResponse {
    HeartbeatResponse::default().with_error_code(code.number())
}
