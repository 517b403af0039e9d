//! LeaveGroup 0 to 5 (Kafka's `classicGroupLeave`; several members at once since version 3).

use kafka_protocol::ResponseError;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};

use super::answers;
use super::group::State;
use super::step::GroupStep;
use crate::coordinator::groups::{Call, GroupReply};

/// Since this version there is an answer for each member.
const MEMBERS_SINCE: i16 = 3;

/// Who leaves: older versions name one.
pub(in crate::coordinator) fn leaving(call: &Call<LeaveGroupRequest>) -> Vec<MemberIdentity> {
    if call.version >= MEMBERS_SINCE {
        return call.request.members.clone();
    }
    vec![MemberIdentity::default().with_member_id(call.request.member_id.clone())]
}

/// The answer, with the outcome for each of `members`.
pub(in crate::coordinator) fn left(
    version: i16,
    members: &[MemberIdentity],
    mut outcome: impl FnMut(&MemberIdentity) -> Result<(), ResponseError>,
) -> GroupReply {
    let described = members.iter().map(|member| {
        MemberResponse::default()
            .with_member_id(answers::text(&member.member_id))
            .with_group_instance_id(member.group_instance_id.as_deref().map(answers::text))
            .with_error_code(answers::code(outcome(member)))
    });
    let described: Vec<_> = described.collect();
    let answer = LeaveGroupResponse::default();
    GroupReply::Leave(if version >= MEMBERS_SINCE {
        answer.with_members(described)
    } else {
        answer.with_error_code(described.first().map_or(0, |member| member.error_code))
    })
}

impl GroupStep<'_, '_> {
    /// LeaveGroup in a group that exists: one rebalance however many leave.
    pub(super) fn leave(&mut self, version: i16, members: &[MemberIdentity]) -> GroupReply {
        let mut any_left = false;
        let answer = left(version, members, |member| {
            let outcome = self.leave_one(member);
            any_left |= outcome.is_ok();
            outcome
        });
        if any_left {
            match self.group.state {
                State::CompletingRebalance | State::Stable => {
                    self.prepare_rebalance("members have left");
                }
                State::PreparingRebalance => self.complete_join_if_all_have(),
                State::Empty => {}
            }
        }
        answer
    }

    fn leave_one(&mut self, member: &MemberIdentity) -> Result<(), ResponseError> {
        let instance = member.group_instance_id.as_deref();
        if member.member_id.is_empty() {
            // An administrator takes out whoever goes by that name.
            let known = instance.and_then(|instance| self.group.static_member(instance)).cloned();
            self.remove(&known.ok_or(ResponseError::UnknownMemberId)?);
            return Ok(());
        }
        let pending = self.group.pending.get(&member.member_id).cloned();
        let id = match pending {
            Some(id) => id,
            None => self.group.check_member(&member.member_id, instance)?,
        };
        self.remove(&id);
        Ok(())
    }
}
