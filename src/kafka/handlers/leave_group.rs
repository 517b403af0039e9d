//! LeaveGroup (13), versions 0-5. KIP-345, KIP-482, KIP-800.

use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};

use crate::coordinator::groups::GroupCommand;
use crate::kafka::{ErrorCode, Outcome, Request, codec, coordinators, groups};

/// First version in which several members may leave at once, each with a result of its own.
const MEMBERS_FROM: i16 = 3;

/// Answers a LeaveGroup request.
pub fn handle(request: Request) -> Outcome {
    let mut body: LeaveGroupRequest = match codec::decode(&request) {
        Ok(body) => body,
        Err(disconnect) => return Outcome::Close(disconnect),
    };
    let version = request.version;
    if body.group_id.is_empty() {
        return codec::reply(&failed(ErrorCode::InvalidGroupId), version);
    }
    if version < MEMBERS_FROM {
        body.members = vec![MemberIdentity::default().with_member_id(body.member_id.clone())];
    }
    let group = body.group_id.clone();
    let command = GroupCommand::Leave(groups::call(&request, body));
    let left = groups::ask(&request.broker, &group, command);
    coordinators::later(version, async move { shaped(left.await.unwrap_or_else(failed), version) })
}

fn failed(code: ErrorCode) -> LeaveGroupResponse {
    LeaveGroupResponse::default().with_error_code(code.number())
}

/// Before version 3 the only member's error is that of the request.
fn shaped(response: LeaveGroupResponse, version: i16) -> LeaveGroupResponse {
    if version >= MEMBERS_FROM {
        return response;
    }
    let of_member = response.members.first().map_or(0, |member| member.error_code);
    let error = if response.error_code == 0 { of_member } else { response.error_code };
    LeaveGroupResponse::default().with_error_code(error)
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::leave_group_response::MemberResponse;

    use super::*;

    #[test]
    fn the_members_error_is_the_requests_before_version_3() {
        let unknown = ErrorCode::UnknownMemberId.number();
        let member = MemberResponse::default().with_error_code(unknown);
        let response = failed(ErrorCode::None).with_members(vec![member]);
        let single = shaped(response.clone(), 2);
        assert_eq!((single.error_code, single.members.len()), (unknown, 0));
        assert_eq!(shaped(response.clone(), 3), response);
        let whole = response.with_error_code(ErrorCode::NotCoordinator.number());
        assert_eq!(shaped(whole, 0).error_code, ErrorCode::NotCoordinator.number());
    }
}
