//! JoinGroup (11), versions 0-9. KIP-62, KIP-345, KIP-394, KIP-482, KIP-559, KIP-800, KIP-814.

use kafka_protocol::messages::{JoinGroupRequest, JoinGroupResponse};
use kafka_protocol::protocol::StrBytes;

use crate::coordinator::groups::GroupCommand;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};

/// First version with a time-out of its own for the rebalance; before, it was the session's.
const REBALANCE_TIMEOUT_FROM: i16 = 1;
/// First version that may tell no protocol.
const NULL_PROTOCOL_FROM: i16 = 7;

/// Answers a JoinGroup request, mostly when the other members have joined too.
pub fn handle(request: Request) -> Outcome {
    let mut body: JoinGroupRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    if body.group_id.is_empty() {
        let refused = failed(ErrorCode::InvalidGroupId).with_member_id(body.member_id);
        return codec::reply(&shaped(refused, version), version);
    }
    if version < REBALANCE_TIMEOUT_FROM {
        body.rebalance_timeout_ms = body.session_timeout_ms;
    }
    let group = body.group_id.clone();
    let command = GroupCommand::Join(groups::call(&request, body));
    let joined = groups::ask(&request.broker, &group, command);
    let response = async move { shaped(joined.await.unwrap_or_else(failed), version) };
    coordinators::later_covered(&request.broker, version, response, members_len)
}

/// What the leader is told of the members, about: what they have said of themselves is that of the group.
fn members_len(response: &JoinGroupResponse) -> usize {
    let members = response.members.iter();
    members.map(|member| size_of_val(member) + member.member_id.len() + member.metadata.len()).sum()
}

fn failed(code: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse::default().with_error_code(code.number())
}

/// No protocol is the empty name up to version 6 and null from version 7 (Kafka's `JoinGroupResponse`).
fn shaped(mut response: JoinGroupResponse, version: i16) -> JoinGroupResponse {
    let name = response.protocol_name.take().filter(|name| !name.is_empty());
    response.protocol_name = match name {
        None if version < NULL_PROTOCOL_FROM => Some(StrBytes::default()),
        name => name,
    };
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_protocol_is_empty_before_version_7_and_null_from_there() {
        for told in [None, Some(StrBytes::default())] {
            let response = failed(ErrorCode::None).with_protocol_name(told);
            assert_eq!(shaped(response.clone(), 6).protocol_name.as_deref(), Some(""));
            assert_eq!(shaped(response, 7).protocol_name, None);
        }
        let range = Some(StrBytes::from_static_str("range"));
        let response = failed(ErrorCode::None).with_protocol_name(range.clone());
        assert_eq!(shaped(response.clone(), 0).protocol_name, range);
        assert_eq!(shaped(response, 9).protocol_name, range);
    }
}
