//! SyncGroup 0 to 5 (Kafka's `classicGroupSync`): the leader says who gets what, everybody fetches their part.

use std::collections::HashMap;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::SyncGroupRequest;

use super::ClassicTimer;
use super::answers::{self, Generation};
use super::group::State;
use super::member::Waiting;
use super::step::GroupStep;
use crate::coordinator::MemberId;
use crate::coordinator::machine::Token;

impl GroupStep<'_, '_> {
    /// SyncGroup in a group that exists.
    pub(super) fn sync(&mut self, request: &SyncGroupRequest, token: Token) {
        let id = match self.check_sync(request) {
            Ok(id) => id,
            Err(error) => return self.turn.answer(token, answers::sync_refused(error)),
        };
        match self.group.state {
            State::CompletingRebalance => {
                let before = self.group.set_waiting(&id, Waiting::Sync(token));
                self.refuse(&id, before, ResponseError::RebalanceInProgress);
                self.note_synced(&id);
                if self.group.is_leader(id.as_str()) {
                    self.assign(request);
                }
            }
            State::Stable => {
                self.note_synced(&id);
                let member = self.group.member(id.as_str());
                let assignment = member.map(|member| member.assignment.clone());
                let generation = Generation::of(self.group);
                self.turn.answer(token, generation.synced(assignment.unwrap_or_default()));
            }
            State::PreparingRebalance | State::Empty => {
                let error = ResponseError::RebalanceInProgress;
                self.turn.answer(token, answers::sync_refused(error));
            }
        }
    }

    /// Members that did not ask for their part of this generation in time are gone.
    pub(super) fn sync_expired(&mut self) {
        let is_open = matches!(self.group.state, State::CompletingRebalance | State::Stable);
        if !is_open || self.group.unsynced.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.group.unsynced) {
            self.remove(&id);
        }
        self.prepare_rebalance("members did not ask for their assignment");
    }

    fn check_sync(&self, request: &SyncGroupRequest) -> Result<MemberId, ResponseError> {
        let instance = request.group_instance_id.as_deref();
        let id = self.group.check_member(&request.member_id, instance)?;
        if request.generation_id != self.group.generation {
            return Err(ResponseError::IllegalGeneration);
        }
        let differs = |said: Option<&str>, is: Option<&str>| matches!((said, is), (Some(said), Some(is)) if said != is);
        let group = &self.group;
        if differs(request.protocol_type.as_deref(), group.protocol_type.as_deref())
            || differs(request.protocol_name.as_deref(), group.protocol.as_deref())
        {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        Ok(id)
    }

    fn note_synced(&mut self, id: &MemberId) {
        self.group.unsynced.remove(id);
        if self.group.unsynced.is_empty() {
            self.cancel_timer(ClassicTimer::Sync);
        }
    }

    /// The generation is complete: it is written down, and whoever waits gets its part once that is safe.
    fn assign(&mut self, request: &SyncGroupRequest) {
        let parts = request.assignments.iter();
        let parts: HashMap<&str, &Bytes> =
            parts.map(|part| (part.member_id.as_str(), &part.assignment)).collect();
        for id in self.group.member_ids() {
            let part = parts.get(id.as_str()).map(|part| Bytes::copy_from_slice(part));
            self.group.set_assignment(&id, part.unwrap_or_default());
        }
        // With the time at which the members had joined, as Kafka writes it.
        self.write();
        self.enter(State::Stable);
        self.metrics.group_classic_rebalances.increment();
        self.hand_out();
    }

    fn hand_out(&mut self) {
        let generation = Generation::of(self.group);
        for (id, waiting) in self.group.take_waiting(Waiting::is_for_sync) {
            let Waiting::Sync(token) = waiting else { continue };
            let member = self.group.member(id.as_str());
            let assignment = member.map(|member| member.assignment.clone()).unwrap_or_default();
            self.turn.answer(token, generation.synced(assignment));
            self.touch(&id);
        }
    }
}
