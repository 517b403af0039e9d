//! From one generation to the next: PreparingRebalance, the waits in it, CompletingRebalance.

use kafka_protocol::ResponseError;

use super::ClassicTimer;
use super::answers::{self, Generation};
use super::group::{FirstWait, State};
use super::member::Waiting;
use super::step::GroupStep;
use crate::coordinator::groups::GroupReply;

impl GroupStep<'_, '_> {
    /// Begins a rebalance, or goes on with the one that has begun.
    pub(super) fn rebalance(&mut self, reason: &str) {
        match self.group.state {
            State::PreparingRebalance => self.complete_join_if_all_have(),
            State::Empty | State::CompletingRebalance | State::Stable => {
                self.prepare_rebalance(reason);
            }
        }
    }

    /// Everybody has to join again. Members learn of it from their next heartbeat.
    pub(super) fn prepare_rebalance(&mut self, reason: &str) {
        let (group, generation) = (&self.group.id, self.group.generation);
        tracing::debug!(%group, generation, reason, "group rebalances");
        if self.group.state == State::CompletingRebalance {
            self.take_back_assignments();
        }
        self.group.unsynced.clear();
        self.cancel_timer(ClassicTimer::Sync);
        let is_first = self.group.state == State::Empty;
        self.enter(State::PreparingRebalance);
        if is_first {
            self.wait_for_more_members();
        } else if self.group.all_have_joined() {
            self.complete_join();
        } else {
            self.set_timer(ClassicTimer::Join, self.group.rebalance_timeout_ms());
        }
    }

    /// Ends the join phase once everybody is there; the first rebalance takes its time nevertheless.
    pub(super) fn complete_join_if_all_have(&mut self) {
        let is_open = self.group.state == State::PreparingRebalance;
        if is_open && self.group.first_wait.is_none() && self.group.all_have_joined() {
            self.complete_join();
        }
    }

    /// The wait for members to join has run out.
    pub(super) fn join_expired(&mut self) {
        if self.group.state != State::PreparingRebalance {
            return;
        }
        match self.group.first_wait {
            Some(wait) if wait.has_new_member && wait.remaining_ms > 0 => {
                let delay_ms =
                    self.settings.group_initial_rebalance_delay_ms.min(wait.remaining_ms);
                let remaining_ms = (wait.remaining_ms - wait.delay_ms).max(0);
                self.group.first_wait =
                    Some(FirstWait { delay_ms, remaining_ms, has_new_member: false });
                self.set_timer(ClassicTimer::Join, delay_ms);
            }
            Some(_) | None => self.complete_join(),
        }
    }

    /// A new generation of whoever has joined. Dynamic members that have not are gone; static ones keep their place.
    pub(super) fn complete_join(&mut self) {
        self.cancel_timer(ClassicTimer::Join);
        self.group.first_wait = None;
        self.remove_absent();
        let has_leader = self.group.elect_joined_leader().is_some();
        if !has_leader && self.group.members().len() > 0 {
            // Only static members are left, and none has joined: their sessions decide.
            self.set_timer(ClassicTimer::Join, self.group.rebalance_timeout_ms());
            return;
        }
        self.group.next_generation(self.turn.now.wall);
        let (group, generation) = (&self.group.id, self.group.generation);
        let members = self.group.members().len();
        tracing::debug!(%group, generation, members, "group has a new generation");
        match self.group.state {
            State::Empty => self.write(),
            State::PreparingRebalance | State::CompletingRebalance | State::Stable => {
                self.answer_joined();
            }
        }
    }

    /// A group without members waits so that members that start together have one rebalance, not one each.
    fn wait_for_more_members(&mut self) {
        let delay_ms = self.settings.group_initial_rebalance_delay_ms;
        if delay_ms <= 0 {
            return self.complete_join();
        }
        let remaining_ms = self.group.rebalance_timeout_ms().saturating_sub(delay_ms).max(0);
        self.group.first_wait = Some(FirstWait { delay_ms, remaining_ms, has_new_member: false });
        self.set_timer(ClassicTimer::Join, delay_ms);
    }

    fn remove_absent(&mut self) {
        if self.group.joining_count() == self.group.members().len() {
            return;
        }
        let members = self.group.members();
        let absent = members.filter(|(_, member)| !member.is_joining() && !member.is_static());
        let absent: Vec<_> = absent.map(|(id, _)| id.clone()).collect();
        absent.iter().for_each(|id| self.remove(id));
    }

    /// Tells every member that waits of the new generation, and expects a SyncGroup of each.
    fn answer_joined(&mut self) {
        let generation = Generation::of(self.group);
        for id in self.group.member_ids() {
            if let Waiting::Join(token) = self.group.set_waiting(&id, Waiting::No) {
                let mut answer = generation.joined(&id);
                if self.group.is_leader(id.as_str()) {
                    answer.members = answers::subscriptions(self.group);
                }
                self.turn.answer(token, GroupReply::Join(answer));
            }
            if let Some(member) = self.group.member_mut(id.as_str()) {
                member.is_new = false;
            }
            self.touch(&id);
            self.group.unsynced.insert(id);
        }
        self.set_timer(ClassicTimer::Sync, self.group.rebalance_timeout_ms());
    }

    /// Members that wait for their part of a generation that will not be have to join again.
    fn take_back_assignments(&mut self) {
        self.group.clear_assignments();
        for (id, waiting) in self.group.take_waiting(Waiting::is_for_sync) {
            self.refuse(&id, waiting, ResponseError::RebalanceInProgress);
            self.touch(&id);
        }
    }
}
