//! SyncGroup (14), versions 0-5. KIP-345, KIP-482, KIP-559.

use kafka_protocol::messages::{SyncGroupRequest, SyncGroupResponse};

use crate::coordinator::groups::GroupCommand;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};

/// First version that must name type and name of the protocol.
const PROTOCOL_FROM: i16 = 5;

/// Answers a SyncGroup request, mostly when the leader has sent its own.
pub fn handle(request: Request) -> Outcome {
    let body: SyncGroupRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    if let Err(code) = check(&body, version) {
        return codec::reply(&failed(code), version);
    }
    let group = body.group_id.clone();
    let command = GroupCommand::Sync(groups::call(&request, body));
    let synced = groups::ask(&request.broker, &group, command);
    coordinators::later(version, async move { synced.await.unwrap_or_else(failed) })
}

fn check(body: &SyncGroupRequest, version: i16) -> Result<(), ErrorCode> {
    let has_protocol = body.protocol_type.is_some() && body.protocol_name.is_some();
    if version >= PROTOCOL_FROM && !has_protocol {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    if body.group_id.is_empty() {
        return Err(ErrorCode::InvalidGroupId);
    }
    Ok(())
}

fn failed(code: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse::default().with_error_code(code.number())
}
