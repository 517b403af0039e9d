//! A group of the classic protocol as it lives (Kafka's `ClassicGroup`): who is in it, and what all of them can speak.
//!
//! Only bookkeeping is here: each function leaves the counts right and knows neither clock nor callers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;

use super::footprint::{GROUP_BYTES, member_bytes, pending_bytes, protocols_bytes};
use super::member::{Member, Protocols, Waiting};
use super::pending::PendingMembers;
use super::subscription;
use crate::coordinator::footprint::FootprintPart;
use crate::coordinator::{Footprint, GroupId, InstanceId, MemberId};
use crate::types::Timestamp;

/// `protocol.type` of consumers.
pub(super) const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// A group as it lives.
#[derive(Debug)]
pub struct ClassicGroup {
    pub(super) id: GroupId,
    pub(super) state: State,
    /// When it came into this state, wall clock; −1 where a record does not say.
    pub(super) state_since: Timestamp,
    pub(super) generation: i32,
    /// Of all members; stays when the last one has left.
    pub(super) protocol_type: Option<Arc<str>>,
    /// What this generation speaks.
    pub(super) protocol: Option<Arc<str>>,
    pub(super) leader: Option<MemberId>,
    /// Who was asked by the answer to its JoinGroup to send a SyncGroup and has not.
    pub(super) unsynced: BTreeSet<MemberId>,
    /// Who was given an id and has not come back with it.
    pub(super) pending: PendingMembers,
    /// The wait for more members before the first rebalance, while it lasts.
    pub(super) first_wait: Option<FirstWait>,
    /// What members subscribe to; `None` if their subscriptions cannot be read.
    pub(super) topics: Option<BTreeSet<Box<str>>>,
    members: BTreeMap<MemberId, Member>,
    static_members: HashMap<InstanceId, MemberId>,
    /// How many members wait for an answer to JoinGroup.
    joining: usize,
    /// How many members speak a protocol.
    speakers: HashMap<Arc<str>, usize>,
    footprint: FootprintPart,
}

/// Kafka's `ClassicGroupState`. A group that is `Dead` there does not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No members.
    Empty,
    /// Waits for members to join.
    PreparingRebalance,
    /// Waits for the leader to assign.
    CompletingRebalance,
    /// Every member has its assignment, or can have it for the asking.
    Stable,
}

/// `group.initial.rebalance.delay.ms`, begun again as long as members come and the longest rebalance time-out allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstWait {
    pub(super) delay_ms: i32,
    pub(super) remaining_ms: i32,
    pub(super) has_new_member: bool,
}

impl State {
    /// As ListGroups and DescribeGroups name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
        }
    }
}

impl ClassicGroup {
    /// A group that nobody has joined yet.
    pub(super) fn new(id: GroupId, now: Timestamp, footprint: &Footprint) -> Self {
        let mut footprint = footprint.part();
        footprint.add(GROUP_BYTES + id.as_str().len());
        Self {
            id,
            state: State::Empty,
            state_since: now,
            generation: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            unsynced: BTreeSet::new(),
            pending: PendingMembers::default(),
            first_wait: None,
            topics: None,
            members: BTreeMap::new(),
            static_members: HashMap::new(),
            joining: 0,
            speakers: HashMap::new(),
            footprint,
        }
    }

    /// Members in the order of their ids.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (&MemberId, &Member)> {
        self.members.iter()
    }

    pub(super) fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id)
    }

    pub(super) fn has_member(&self, id: &str) -> bool {
        self.members.contains_key(id)
    }

    pub(super) fn member_ids(&self) -> Vec<MemberId> {
        self.members.keys().cloned().collect()
    }

    pub(super) fn static_member(&self, instance: &str) -> Option<&MemberId> {
        self.static_members.get(instance)
    }

    pub(super) fn is_leader(&self, id: &str) -> bool {
        self.leader.as_ref().is_some_and(|leader| leader.as_str() == id)
    }

    /// True if members are consumers, whose subscriptions can be read.
    pub(super) fn has_consumers(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    pub(super) fn joining_count(&self) -> usize {
        self.joining
    }

    pub(super) fn all_have_joined(&self) -> bool {
        self.joining == self.members.len() && self.pending.is_empty()
    }

    /// About how many bytes it takes, its record left out.
    pub(super) fn footprint_bytes(&self) -> usize {
        self.footprint.bytes()
    }

    /// The longest that any member asks for.
    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        self.members.values().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0).max(0)
    }

    /// The member that a request is from, if that is the one it says it is. No text is copied: heartbeats come this way.
    pub(super) fn check_member(
        &self,
        id: &str,
        instance: Option<&str>,
    ) -> Result<MemberId, ResponseError> {
        if let Some(instance) = instance {
            match self.static_member(instance) {
                None => return Err(ResponseError::UnknownMemberId),
                Some(known) if known.as_str() != id => {
                    return Err(ResponseError::FencedInstanceId);
                }
                Some(_) => {}
            }
        }
        let known = self.members.get_key_value(id);
        known.map(|(id, _)| id.clone()).ok_or(ResponseError::UnknownMemberId)
    }
}

/// Members come and go.
impl ClassicGroup {
    /// Adds a member, which was pending or unknown; its protocols have been checked.
    pub(super) fn add(&mut self, id: MemberId, protocol_type: &Arc<str>, member: Member) {
        debug_assert!(!self.has_member(id.as_str()), "{id} is a member already");
        if self.members.is_empty() {
            self.protocol_type = Some(Arc::clone(protocol_type));
        }
        if let Some(instance) = &member.instance {
            self.static_members.insert(instance.clone(), id.clone());
        }
        self.leader.get_or_insert_with(|| id.clone());
        self.joining += usize::from(member.is_joining());
        count(&mut self.speakers, &member.protocols);
        self.remove_pending(&id);
        self.footprint.add(member_bytes(&id, &member) + member.assignment.len());
        self.members.insert(id, member);
    }

    /// Somebody is given an id, to come back with it. Whoever has to make way for that is returned.
    pub(super) fn add_pending(&mut self, id: MemberId) -> Option<MemberId> {
        self.footprint.add(pending_bytes(&id));
        let oldest = self.pending.add(id)?;
        self.footprint.subtract(pending_bytes(&oldest));
        Some(oldest)
    }

    /// Forgets somebody who was given an id.
    pub(super) fn remove_pending(&mut self, id: &MemberId) {
        if self.pending.remove(id) {
            self.footprint.subtract(pending_bytes(id));
        }
    }

    /// Removes a member or a pending one. Whoever waits for an answer must have been answered.
    pub(super) fn remove(&mut self, id: &MemberId) -> Option<Member> {
        self.remove_pending(id);
        self.unsynced.remove(id);
        let member = self.members.remove(id);
        if let Some(member) = &member {
            self.footprint.subtract(member_bytes(id, member) + member.assignment.len());
            self.joining -= usize::from(member.is_joining());
            discount(&mut self.speakers, &member.protocols);
            if let Some(instance) = &member.instance {
                self.static_members.remove(instance);
            }
        }
        if self.is_leader(id.as_str()) {
            self.leader = self.members.keys().next().cloned();
        }
        member
    }

    /// A static member goes on under another id.
    pub(super) fn rename(&mut self, old: &MemberId, new: &MemberId) {
        let Some(member) = self.members.remove(old) else { return };
        if let Some(instance) = &member.instance {
            self.static_members.insert(instance.clone(), new.clone());
        }
        if self.is_leader(old.as_str()) {
            self.leader = Some(new.clone());
        }
        if self.unsynced.remove(old) {
            self.unsynced.insert(new.clone());
        }
        self.footprint.add(member_bytes(new, &member));
        self.footprint.subtract(member_bytes(old, &member));
        self.members.insert(new.clone(), member);
    }

    /// Changes what a member speaks.
    pub(super) fn set_protocols(&mut self, id: &MemberId, protocols: Protocols) {
        let Some(member) = self.members.get_mut(id) else { return };
        discount(&mut self.speakers, &member.protocols);
        count(&mut self.speakers, &protocols);
        self.footprint.add(protocols_bytes(&protocols));
        self.footprint.subtract(protocols_bytes(&member.protocols));
        member.protocols = protocols;
    }

    /// Gives a member its part of what is assigned.
    pub(super) fn set_assignment(&mut self, id: &MemberId, assignment: Bytes) {
        let Some(member) = self.members.get_mut(id) else { return };
        self.footprint.add(assignment.len());
        self.footprint.subtract(member.assignment.len());
        member.assignment = assignment;
    }

    /// Notes what a member waits for, and returns what it waited for before.
    pub(super) fn set_waiting(&mut self, id: &MemberId, waiting: Waiting) -> Waiting {
        let Some(member) = self.members.get_mut(id) else { return Waiting::No };
        self.joining -= usize::from(member.is_joining());
        let before = std::mem::replace(&mut member.waiting, waiting);
        self.joining += usize::from(member.is_joining());
        before
    }

    /// For changes of what is neither a protocol, an assignment nor a wait.
    pub(super) fn member_mut(&mut self, id: &str) -> Option<&mut Member> {
        self.members.get_mut(id)
    }

    /// Ends the waits for which `ends` holds and returns them: their callers must be answered.
    pub(super) fn take_waiting(&mut self, ends: fn(Waiting) -> bool) -> Vec<(MemberId, Waiting)> {
        let mut taken = Vec::new();
        for (id, member) in self.members.iter_mut().filter(|(_, member)| ends(member.waiting)) {
            self.joining -= usize::from(member.is_joining());
            taken.push((id.clone(), std::mem::replace(&mut member.waiting, Waiting::No)));
        }
        taken
    }

    /// Forgets all assignments.
    pub(super) fn clear_assignments(&mut self) {
        for member in self.members.values_mut() {
            self.footprint.subtract(member.assignment.len());
            member.assignment = Bytes::new();
        }
    }

    /// The leader if it waits to join, else the first that does, who then leads. `None` if nobody does.
    pub(super) fn elect_joined_leader(&mut self) -> Option<&MemberId> {
        let leader = self.leader.as_ref().and_then(|leader| self.members.get(leader));
        if !leader.is_some_and(Member::is_joining) {
            let first = self.members.iter().find(|(_, member)| member.is_joining());
            self.leader = Some(first?.0.clone());
        }
        self.leader.as_ref()
    }

    /// A new generation, with the protocol that most members prefer among those that all of them speak.
    pub(super) fn next_generation(&mut self, now: Timestamp) {
        self.generation = self.generation.wrapping_add(1).max(0);
        self.protocol = self.select_protocol();
        self.topics = self.subscribed_topics();
        self.unsynced.clear();
        let is_empty = self.members.is_empty();
        self.enter(if is_empty { State::Empty } else { State::CompletingRebalance }, now);
    }

    pub(super) fn enter(&mut self, state: State, now: Timestamp) {
        self.state = state;
        self.state_since = now;
    }
}

/// What members speak.
impl ClassicGroup {
    /// Whether a member that speaks these can be in the group.
    pub(super) fn supports(&self, protocol_type: &str, protocols: &Protocols) -> bool {
        if self.state == State::Empty {
            return !protocol_type.is_empty() && protocols.names().next().is_some();
        }
        let speakers = |name: &Arc<str>| self.speakers.get(name).copied().unwrap_or(0);
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.names().any(|name| speakers(name) == self.members.len())
    }

    /// Each member votes for the first of its protocols that all members speak; the first by name wins a tie.
    pub(super) fn select_protocol(&self) -> Option<Arc<str>> {
        let is_common = |name: &&Arc<str>| self.speakers.get(*name) == Some(&self.members.len());
        let mut votes: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        for member in self.members.values() {
            if let Some(choice) = member.protocols.names().find(is_common) {
                *votes.entry(choice).or_default() += 1;
            }
        }
        let most = votes.iter().rev().max_by_key(|(_, count)| **count);
        most.map(|(name, _)| Arc::clone(name))
    }

    /// What a member says in the protocol of this generation.
    pub(super) fn subscription_of(&self, member: &Member) -> Bytes {
        let protocol = self.protocol.as_deref().unwrap_or("");
        member.protocols.subscription(protocol).cloned().unwrap_or_default()
    }

    pub(super) fn subscribed_topics(&self) -> Option<BTreeSet<Box<str>>> {
        if !self.has_consumers() {
            return None;
        }
        let mut topics = BTreeSet::new();
        for member in self.members.values() {
            subscription::read_topics(&self.subscription_of(member), &mut topics).ok()?;
        }
        Some(topics)
    }
}

fn count(speakers: &mut HashMap<Arc<str>, usize>, protocols: &Protocols) {
    for name in protocols.names() {
        *speakers.entry(Arc::clone(name)).or_default() += 1;
    }
}

fn discount(speakers: &mut HashMap<Arc<str>, usize>, protocols: &Protocols) {
    for name in protocols.names() {
        if let Some(count) = speakers.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                speakers.remove(name);
            }
        }
    }
}
