//! JoinGroup 0 to 9 (Kafka's `classicGroupJoin`; KIP-345 static members, KIP-394 ids before joining, KIP-800 reasons).

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::JoinGroupRequest;

use super::ClassicTimer;
use super::answers::{self, Generation};
use super::group::State;
use super::member::{Member, Protocols, Waiting};
use super::step::GroupStep;
use crate::coordinator::groups::{Call, Client, GroupReply};
use crate::coordinator::machine::Token;
use crate::coordinator::{InstanceId, MemberId};

/// Since this version a new dynamic member is first given an id, and joins with it (KIP-394).
const KNOWN_ID_SINCE: i16 = 4;

/// How long a new member is waited for that does not learn of the end of the join phase. Clients that lose their
/// connection retry, each time as another new member.
const NEW_MEMBER_JOIN_TIMEOUT_MS: i32 = 5 * 60 * 1_000;

/// A JoinGroup, copied out of its frame.
pub(super) struct Joining {
    pub(super) token: Token,
    pub(super) version: i16,
    pub(super) client: Client,
    /// Empty for an unknown member.
    pub(super) member_id: MemberId,
    pub(super) instance: Option<InstanceId>,
    pub(super) protocol_type: Arc<str>,
    pub(super) protocols: Protocols,
    pub(super) rebalance_timeout_ms: i32,
    pub(super) session_timeout_ms: i32,
    pub(super) reason: String,
}

impl Joining {
    pub(super) fn copied(call: &Call<JoinGroupRequest>, token: Token) -> Self {
        let request = &call.request;
        let session_timeout_ms = request.session_timeout_ms;
        Self {
            token,
            version: call.version,
            client: call.client.clone(),
            member_id: MemberId::new(&request.member_id),
            instance: request.group_instance_id.as_deref().map(InstanceId::new),
            protocol_type: Arc::from(request.protocol_type.as_str()),
            protocols: Protocols::copied(&request.protocols),
            // Version 0 has one time-out for both.
            rebalance_timeout_ms: match call.version {
                0 => session_timeout_ms,
                _ => request.rebalance_timeout_ms,
            },
            session_timeout_ms,
            reason: request.reason.as_deref().unwrap_or("not provided").to_owned(),
        }
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.member_id.as_str().is_empty()
    }

    fn member(&self) -> Member {
        Member {
            instance: self.instance.clone(),
            client: self.client.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            protocols: self.protocols.clone(),
            assignment: Bytes::new(),
            is_new: true,
            waiting: Waiting::Join(self.token),
        }
    }
}

impl GroupStep<'_, '_> {
    /// JoinGroup in a group that exists.
    pub(super) fn join(&mut self, joining: Joining) {
        let refused = if joining.is_unknown() { "" } else { joining.member_id.as_str() };
        if !self.has_room_for(&joining.member_id) {
            // Also a member that was in it: the group has become too large for its limit.
            self.remove(&joining.member_id);
            let error = ResponseError::GroupMaxSizeReached;
            self.turn.answer(joining.token, answers::join_refused("", error));
            self.complete_join_if_all_have();
        } else if !self.group.supports(&joining.protocol_type, &joining.protocols) {
            let error = ResponseError::InconsistentGroupProtocol;
            self.turn.answer(joining.token, answers::join_refused(refused, error));
        } else if joining.is_unknown() {
            self.join_unknown(joining);
        } else if self.group.pending.get(joining.member_id.as_str()).is_some() {
            self.join_pending(joining);
        } else {
            self.join_known(joining);
        }
    }

    /// A member without an id: a new one, or a static one that has been started again.
    fn join_unknown(&mut self, joining: Joining) {
        let prefix = joining.instance.as_ref().map_or(&*joining.client.id, InstanceId::as_str);
        let id = self.new_member_id(prefix);
        let known = joining
            .instance
            .as_ref()
            .and_then(|instance| self.group.static_member(instance.as_str()).cloned());
        match known {
            Some(old) => self.replace_static_member(joining, &old, &id),
            None if joining.instance.is_some() => self.add_member(joining, id),
            None if joining.version < KNOWN_ID_SINCE => self.add_member(joining, id),
            None => {
                let error = ResponseError::MemberIdRequired;
                self.turn.answer(joining.token, answers::join_refused(id.as_str(), error));
                self.set_timer(ClassicTimer::Pending(id.clone()), joining.session_timeout_ms);
                if let Some(oldest) = self.group.add_pending(id) {
                    self.cancel_timer(ClassicTimer::Pending(oldest));
                }
            }
        }
    }

    /// A member that comes back with the id that it was given.
    fn join_pending(&mut self, joining: Joining) {
        if joining.instance.is_some() {
            // Static members are never pending, so no client does this. Kafka's answer too.
            let error = ResponseError::UnknownServerError;
            self.turn.answer(joining.token, answers::join_refused("", error));
            return;
        }
        let id = joining.member_id.clone();
        self.add_member(joining, id);
    }

    /// A member that was in the last generation, or says so.
    fn join_known(&mut self, joining: Joining) {
        let id = joining.member_id.clone();
        let instance = joining.instance.as_ref().map(InstanceId::as_str);
        if let Err(error) = self.group.check_member(id.as_str(), instance) {
            self.turn.answer(joining.token, answers::join_refused(id.as_str(), error));
            return;
        }
        let is_leader = self.group.is_leader(id.as_str());
        let member = self.group.member(id.as_str());
        let is_unchanged = member.is_some_and(|member| member.protocols == joining.protocols);
        match self.group.state {
            // It may not have got the answer of this generation.
            State::CompletingRebalance if is_unchanged => self.repeat_answer(joining.token, &id),
            // A leader joins again to assign anew, for instance when a topic has grown.
            State::Stable if is_unchanged && !is_leader => self.repeat_answer(joining.token, &id),
            State::PreparingRebalance | State::CompletingRebalance | State::Stable => {
                self.update_member(&id, &joining);
                self.rebalance(&joining.reason);
            }
            State::Empty => {
                let error = ResponseError::UnknownMemberId;
                self.turn.answer(joining.token, answers::join_refused(id.as_str(), error));
            }
        }
    }

    /// Adds a new member, and has everybody join again.
    fn add_member(&mut self, joining: Joining, id: MemberId) {
        if let Some(wait) = &mut self.group.first_wait {
            wait.has_new_member = true;
        }
        self.cancel_timer(ClassicTimer::Pending(id.clone()));
        self.group.add(id.clone(), &joining.protocol_type, joining.member());
        self.set_timer(ClassicTimer::Session(id), NEW_MEMBER_JOIN_TIMEOUT_MS);
        self.rebalance(&joining.reason);
    }

    /// Takes over what a member now says, and notes that it waits.
    pub(super) fn update_member(&mut self, id: &MemberId, joining: &Joining) {
        self.group.set_protocols(id, joining.protocols.clone());
        if let Some(member) = self.group.member_mut(id.as_str()) {
            member.rebalance_timeout_ms = joining.rebalance_timeout_ms;
            member.session_timeout_ms = joining.session_timeout_ms;
        }
        // An earlier request of the same member, whose connection is most likely gone.
        let before = self.group.set_waiting(id, Waiting::Join(joining.token));
        self.refuse(id, before, ResponseError::RebalanceInProgress);
    }

    fn repeat_answer(&mut self, token: Token, id: &MemberId) {
        let mut answer = Generation::of(self.group).joined(id);
        if self.group.is_leader(id.as_str()) {
            answer.members = answers::subscriptions(self.group);
        }
        self.turn.answer(token, GroupReply::Join(answer));
    }

    /// While members join, those that have joined count, so that the last of a group that is too large are left out.
    fn has_room_for(&self, id: &MemberId) -> bool {
        let size_max = self.settings.group_max_size;
        let member = self.group.member(id.as_str());
        match self.group.state {
            State::Empty => true,
            State::PreparingRebalance => {
                member.is_some_and(Member::is_joining) || self.group.joining_count() < size_max
            }
            State::CompletingRebalance | State::Stable => {
                member.is_some() || self.group.members().len() < size_max
            }
        }
    }

    fn new_member_id(&self, prefix: &str) -> MemberId {
        let id = uuid::Uuid::from_bytes(self.turn.new_id().to_bytes());
        MemberId::new(&format!("{prefix}-{}", id.hyphenated()))
    }
}
