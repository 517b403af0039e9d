//! Static members that have been started again (KIP-345, KIP-814): the same place, another member id.

use kafka_protocol::ResponseError;

use super::ClassicTimer;
use super::answers::{self, Generation};
use super::group::State;
use super::join::Joining;
use super::member::Waiting;
use super::step::GroupStep;
use crate::coordinator::MemberId;
use crate::coordinator::groups::GroupReply;

/// Since this version a leader can be told that it need not assign anew (KIP-814).
const SKIP_ASSIGNMENT_SINCE: i16 = 9;

impl GroupStep<'_, '_> {
    /// The instance joins without a member id: whoever used its name until now is fenced.
    pub(super) fn replace_static_member(
        &mut self,
        joining: Joining,
        old: &MemberId,
        new: &MemberId,
    ) {
        let old_leader = self.group.leader.clone();
        self.end_wait(old, ResponseError::FencedInstanceId);
        self.cancel_timer(ClassicTimer::Session(old.clone()));
        self.group.rename(old, new);
        self.update_member(new, &joining);
        self.touch(new);
        match self.group.state {
            State::Stable if self.group.select_protocol() == self.group.protocol => {
                self.keep_generation(&joining, new, old_leader);
            }
            State::Stable => self.rebalance(&joining.reason),
            // The leader may have been told the old id: what it assigns to that would be lost.
            State::CompletingRebalance => self.prepare_rebalance(&joining.reason),
            State::PreparingRebalance | State::Empty => self.complete_join_if_all_have(),
        }
    }

    /// The place of the member in this generation is its place still: no one else notices.
    fn keep_generation(&mut self, joining: &Joining, id: &MemberId, old_leader: Option<MemberId>) {
        self.write();
        self.group.set_waiting(id, Waiting::No);
        let mut answer = Generation::of(self.group).joined(id);
        if joining.version >= SKIP_ASSIGNMENT_SINCE {
            if self.group.is_leader(id.as_str()) {
                answer.skip_assignment = true;
                answer.members = answers::subscriptions(self.group);
            }
        } else {
            // A leader that was restarted must not assign, so it is shown its old id as the leader's.
            answer.leader = old_leader.as_ref().map(answers::member).unwrap_or_default();
        }
        self.turn.answer(joining.token, GroupReply::Join(answer));
    }
}
