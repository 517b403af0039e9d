//! Heartbeat 0 to 4, and what happens to members without (Kafka's `classicGroupHeartbeat`).

use kafka_protocol::ResponseError;
use kafka_protocol::messages::HeartbeatRequest;

use super::group::State;
use super::step::GroupStep;
use crate::coordinator::MemberId;

impl GroupStep<'_, '_> {
    /// Heartbeat in a group that exists: keeps the session alive, and tells the member to join again.
    pub(super) fn heartbeat(&mut self, request: &HeartbeatRequest) -> Result<(), ResponseError> {
        let instance = request.group_instance_id.as_deref();
        let id = self.group.check_member(&request.member_id, instance)?;
        if request.generation_id != self.group.generation {
            return Err(ResponseError::IllegalGeneration);
        }
        self.touch(&id);
        match self.group.state {
            State::PreparingRebalance => Err(ResponseError::RebalanceInProgress),
            State::CompletingRebalance | State::Stable => Ok(()),
            State::Empty => Err(ResponseError::UnknownMemberId),
        }
    }

    /// A member was not heard of for its session time-out.
    pub(super) fn session_expired(&mut self, id: &MemberId) {
        let Some(member) = self.group.member(id.as_str()) else { return };
        if member.is_excused() {
            // Its session begins when it is answered.
            return;
        }
        self.remove(id);
        self.after_removal("a member was not heard of");
    }

    /// A member that was given an id did not join with it.
    pub(super) fn pending_expired(&mut self, id: &MemberId) {
        self.group.remove_pending(id);
        if self.group.state == State::PreparingRebalance && self.group.all_have_joined() {
            self.complete_join();
        }
    }

    fn after_removal(&mut self, reason: &str) {
        match self.group.state {
            State::CompletingRebalance | State::Stable => self.prepare_rebalance(reason),
            State::PreparingRebalance if self.group.all_have_joined() => self.complete_join(),
            State::PreparingRebalance | State::Empty => {}
        }
    }
}
