//! Answers, as their newest version has them; the front end leaves out what an older version does not have.

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::{HeartbeatResponse, JoinGroupResponse, SyncGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::group::ClassicGroup;
use crate::coordinator::MemberId;
use crate::coordinator::groups::GroupReply;

/// What the answers to JoinGroup of one generation share: made once, cloned for each member without copying.
pub(super) struct Generation {
    number: i32,
    protocol_type: Option<StrBytes>,
    protocol: Option<StrBytes>,
    leader: StrBytes,
}

impl Generation {
    pub(super) fn of(group: &ClassicGroup) -> Self {
        Self {
            number: group.generation,
            protocol_type: shared(group.protocol_type.as_ref()),
            protocol: shared(group.protocol.as_ref()),
            leader: group.leader.as_ref().map(member).unwrap_or_default(),
        }
    }

    /// To a member that follows; `leader` and `members` are there to be set for the one that leads.
    pub(super) fn joined(&self, id: &MemberId) -> JoinGroupResponse {
        JoinGroupResponse::default()
            .with_generation_id(self.number)
            .with_protocol_type(self.protocol_type.clone())
            .with_protocol_name(self.protocol.clone())
            .with_leader(self.leader.clone())
            .with_member_id(member(id))
    }

    /// To a member with what it was assigned.
    pub(super) fn synced(&self, assignment: Bytes) -> GroupReply {
        let answer = SyncGroupResponse::default()
            .with_protocol_type(self.protocol_type.clone())
            .with_protocol_name(self.protocol.clone())
            .with_assignment(assignment);
        GroupReply::Sync(answer)
    }
}

/// Everybody with what they subscribe to: for the leader alone.
pub(super) fn subscriptions(group: &ClassicGroup) -> Vec<JoinGroupResponseMember> {
    let described = group.members().map(|(id, state)| {
        let instance = state.instance.as_ref();
        JoinGroupResponseMember::default()
            .with_member_id(member(id))
            .with_group_instance_id(instance.map(|instance| text(instance.as_str())))
            .with_metadata(group.subscription_of(state))
    });
    described.collect()
}

/// JoinGroup with an error; `member_id` is empty where the member has to begin again as an unknown one.
pub(in crate::coordinator) fn join_refused(member_id: &str, error: ResponseError) -> GroupReply {
    let answer = JoinGroupResponse::default()
        .with_error_code(error.code())
        .with_protocol_name(None)
        .with_member_id(text(member_id));
    GroupReply::Join(answer)
}

/// SyncGroup with an error.
pub(in crate::coordinator) fn sync_refused(error: ResponseError) -> GroupReply {
    GroupReply::Sync(SyncGroupResponse::default().with_error_code(error.code()))
}

/// Heartbeat.
pub(in crate::coordinator) fn heartbeat(outcome: Result<(), ResponseError>) -> GroupReply {
    GroupReply::Heartbeat(HeartbeatResponse::default().with_error_code(code(outcome)))
}

/// 0 or the error.
pub(super) fn code(outcome: Result<(), ResponseError>) -> i16 {
    outcome.map_or_else(|error| error.code(), |()| 0)
}

pub(super) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(super) fn member(id: &MemberId) -> StrBytes {
    text(id.as_str())
}

fn shared(name: Option<&Arc<str>>) -> Option<StrBytes> {
    name.map(|name| text(name))
}
