//! One group in one turn: what every part of the protocol does to it.

use kafka_protocol::ResponseError;

use super::answers;
use super::group::{ClassicGroup, State};
use super::member::Waiting;
use super::{ClassicTimer, persist};
use crate::coordinator::MemberId;
use crate::coordinator::groups::{GroupSettings, GroupTimer, GroupTurn};
use crate::observe::Metrics;

/// A group, the turn that changes it, and the settings that it goes by.
pub(super) struct GroupStep<'s, 't> {
    pub(super) group: &'s mut ClassicGroup,
    pub(super) turn: &'s mut GroupTurn<'t>,
    pub(super) settings: &'s GroupSettings,
    pub(super) metrics: &'s Metrics,
}

impl GroupStep<'_, '_> {
    /// Writes the group down as it stands.
    pub(super) fn write(&mut self) {
        let record = persist::record(self.group);
        self.turn.write(record);
    }

    pub(super) fn enter(&mut self, state: State) {
        self.group.enter(state, self.turn.now.wall);
    }

    /// The member was heard of: its session begins again.
    pub(super) fn touch(&mut self, id: &MemberId) {
        let Some(member) = self.group.member(id.as_str()) else { return };
        let delay_ms = member.session_timeout_ms;
        self.set_timer(ClassicTimer::Session(id.clone()), delay_ms);
    }

    /// Takes a member out, or one that is pending; whoever waits in its name is told that nobody knows it.
    pub(super) fn remove(&mut self, id: &MemberId) {
        self.end_wait(id, ResponseError::UnknownMemberId);
        self.group.remove(id);
        self.cancel_timer(ClassicTimer::Session(id.clone()));
        self.cancel_timer(ClassicTimer::Pending(id.clone()));
    }

    /// Answers what a member waits for with an error.
    pub(super) fn end_wait(&mut self, id: &MemberId, error: ResponseError) {
        let waiting = self.group.set_waiting(id, Waiting::No);
        self.refuse(id, waiting, error);
    }

    /// Answers everyone who waits for anything with an error.
    pub(super) fn end_all_waits(&mut self, error: ResponseError) {
        for (id, waiting) in self.group.take_waiting(Waiting::is_for_anything) {
            self.refuse(&id, waiting, error);
        }
    }

    pub(super) fn refuse(&mut self, id: &MemberId, waiting: Waiting, error: ResponseError) {
        match waiting {
            Waiting::Join(token) => {
                let named = if error == ResponseError::UnknownMemberId { "" } else { id.as_str() };
                self.turn.answer(token, answers::join_refused(named, error));
            }
            Waiting::Sync(token) => self.turn.answer(token, answers::sync_refused(error)),
            Waiting::No => {}
        }
    }

    pub(super) fn set_timer(&mut self, timer: ClassicTimer, delay_ms: i32) {
        let timer = GroupTimer::Classic(self.group.id.clone(), timer);
        self.turn.set_timer(timer, i64::from(delay_ms));
    }

    pub(super) fn cancel_timer(&mut self, timer: ClassicTimer) {
        self.turn.cancel_timer(&GroupTimer::Classic(self.group.id.clone(), timer));
    }
}
