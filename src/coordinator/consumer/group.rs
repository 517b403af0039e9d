//! A group of the new protocol: what its records add up to (Kafka's `ConsumerGroup`), and what it needs beside them.
//!
//! Owned by its shard. Changes only in `apply`; here are the bookkeeping that keeps counts right and questions about it.
//! A member costs about 0.9 KiB, its session timer and an id of 22 characters included, and each partition that is held about
//! 100 bytes (measured with 10,000 of each); a group another 3.5 KiB. Names of topics are kept once for all members.
//! `footprint` keeps the sum.

use std::collections::{BTreeMap, HashMap};

use super::footprint;
use super::member::{Current, Member, Named};
use super::partitions::{Owners, Target, TopicIdPartition};
use crate::coordinator::records::{ConsumerMemberValue, RegularExpressionValue};
use crate::coordinator::{InstanceId, MemberId};
use crate::types::{Timestamp, TopicName};

/// What the records of a group add up to.
#[derive(Debug, Default)]
pub struct ConsumerGroup {
    /// Grows with every change that needs a new target.
    pub(super) epoch: i32,
    /// Hash over the subscribed topics when the epoch began.
    pub(super) metadata_hash: i64,
    /// The log holds a record of type 4, which Kafka before 4.1 wrote: it gets a tombstone with the next change.
    pub(super) has_partitions_record: bool,
    pub(super) target: TargetAssignment,
    /// Topics that patterns matched.
    pub(super) resolved: BTreeMap<String, RegularExpressionValue>,
    members: BTreeMap<MemberId, Member>,
    static_members: HashMap<InstanceId, MemberId>,
    owners: Owners,
    /// How many members name a topic, and how many resolved patterns match it.
    topics: HashMap<TopicName, Subscribers>,
    /// How many members subscribe to a pattern.
    patterns: BTreeMap<String, usize>,
    /// How many members ask for an assignor.
    assignors: BTreeMap<String, usize>,
    /// How many members speak the classic protocol, and how many of them each of its assignment protocols.
    classic_members: usize,
    classic_protocols: HashMap<String, usize>,
    /// About how much memory members, targets and resolved patterns take.
    bytes: usize,
}

/// Who should have what.
#[derive(Debug, Default)]
pub(super) struct TargetAssignment {
    /// The epoch of the group that it was made for; −1 while the group is being deleted.
    pub(super) epoch: i32,
    /// When it was made; 0 or less if that is not known.
    pub(super) made_at: Timestamp,
    pub(super) members: HashMap<MemberId, Target>,
}

/// Who subscribes to a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Subscribers {
    pub(super) by_name: usize,
    pub(super) by_pattern: usize,
}

/// What a group needs beside its records.
#[derive(Debug)]
pub struct ConsumerSessions {
    /// Subscribed topics may have changed: the next heartbeat compares them with the hash.
    pub(super) refresh_metadata: bool,
}

impl Default for ConsumerSessions {
    /// After a load nothing is known of what happened before.
    fn default() -> Self {
        Self { refresh_metadata: true }
    }
}

impl ConsumerGroup {
    /// A group that begins. It and its target have epoch 1 before anybody has joined, so that the first member gets epoch 2
    /// (Kafka's `ModernGroup` since 4.3).
    pub(super) fn fresh() -> Self {
        let target = TargetAssignment { epoch: 1, ..TargetAssignment::default() };
        Self { epoch: 1, target, ..Self::default() }
    }

    /// About how many bytes it takes.
    pub(in crate::coordinator) fn footprint_bytes(&self) -> usize {
        footprint::GROUP_BYTES + self.bytes
    }

    /// Members in the order of their ids.
    pub(super) fn members(&self) -> impl ExactSizeIterator<Item = Named<'_>> {
        self.members.iter()
    }

    pub(super) fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id)
    }

    /// A member with the name that the group keeps for it.
    pub(super) fn named(&self, id: &str) -> Option<Named<'_>> {
        self.members.get_key_value(id)
    }

    pub(super) fn static_member(&self, instance: &str) -> Option<Named<'_>> {
        self.named(self.static_members.get(instance)?.as_str())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Topics that members name or patterns match, whether they exist or not.
    pub(super) fn topics(&self) -> impl Iterator<Item = (&TopicName, Subscribers)> {
        self.topics.iter().map(|(name, subscribers)| (name, *subscribers))
    }

    pub(super) fn is_subscribed(&self, topic: &TopicName) -> bool {
        self.topics.contains_key(topic)
    }

    pub(super) fn patterns(&self) -> impl ExactSizeIterator<Item = &str> {
        self.patterns.keys().map(String::as_str)
    }

    pub(super) fn pattern_subscribers(&self, pattern: &str) -> usize {
        self.patterns.get(pattern).copied().unwrap_or(0)
    }

    /// Topics that a member subscribes to, by name or by pattern; a pattern that is not resolved yet matches none.
    pub(super) fn subscription<'a>(
        &'a self,
        member: &'a Member,
    ) -> impl Iterator<Item = &'a TopicName> + 'a {
        let resolved = member.pattern().and_then(|pattern| self.resolved.get(pattern));
        let matched = resolved.into_iter().flat_map(|resolved| &resolved.topics);
        let named = member.topics();
        named.iter().chain(matched.filter(move |topic| named.binary_search(topic).is_err()))
    }

    /// The assignor that most members ask for, the first of `known` if that is more than one; `None` if nobody asks.
    pub(super) fn preferred_assignor<'a>(&self, known: &'a [String]) -> Option<&'a str> {
        let votes = |name: &&String| self.assignors.get(*name).copied().unwrap_or(0);
        let first_of_most = known.iter().rev().max_by_key(votes)?;
        (votes(&first_of_most) > 0).then_some(first_of_most.as_str())
    }

    /// True if all members subscribe to the same topics: each names all of them, or each has the same pattern and no names.
    pub(super) fn is_homogeneous(&self) -> bool {
        let members = self.members.len();
        match self.patterns.values().next() {
            None => self.topics.values().all(|subscribers| subscribers.by_name == members),
            Some(one) => {
                let by_pattern = Subscribers { by_name: 0, by_pattern: 1 };
                *one == members
                    && self.topics.values().all(|subscribers| *subscribers == by_pattern)
            }
        }
    }

    pub(super) fn classic_members(&self) -> usize {
        self.classic_members
    }

    /// How many of the classic members speak an assignment protocol.
    pub(super) fn classic_speakers(&self, protocol: &str) -> usize {
        self.classic_protocols.get(protocol).copied().unwrap_or(0)
    }

    /// What a member should have; nothing if no target has been made for it.
    pub(super) fn target_of(&self, member: &str) -> &[TopicIdPartition] {
        self.target.members.get(member).map_or(&[], Vec::as_slice)
    }

    /// As ListGroups names it. Looks at every member.
    pub(super) fn state(&self) -> &'static str {
        let is_reconciled = |member: &Member| member.current.is_reconciled_to(self.target.epoch);
        if self.members.is_empty() {
            "Empty"
        } else if self.epoch > self.target.epoch {
            "Assigning"
        } else if !self.members.values().all(is_reconciled) {
            "Reconciling"
        } else {
            "Stable"
        }
    }
}

/// Bookkeeping, for `apply` only.
impl ConsumerGroup {
    pub(super) fn set_subscription(
        &mut self,
        id: &MemberId,
        mut subscription: ConsumerMemberValue,
    ) {
        self.share_names(&mut subscription);
        self.ensure_member(id);
        let Some(member) = self.members.get_mut(id) else { return };
        let old = std::mem::replace(&mut member.subscription, subscription.clone());
        self.bytes += footprint::subscription_bytes(&subscription);
        self.bytes -= footprint::subscription_bytes(&old);
        self.uncount(id, &old);
        self.count(id, &subscription);
    }

    pub(super) fn set_current(&mut self, id: &MemberId, current: Current) {
        self.ensure_member(id);
        let Some(member) = self.members.get_mut(id) else { return };
        self.bytes += footprint::current_bytes(&current);
        self.bytes -= footprint::current_bytes(&member.current);
        self.owners.remove(&member.current.assigned);
        self.owners.remove(&member.current.pending_revocation);
        self.owners.add(&current.assigned);
        self.owners.add(&current.pending_revocation);
        member.current = current;
    }

    /// Changes what a member should have; `None` if nobody says so any more.
    pub(super) fn set_target(&mut self, id: &MemberId, target: Option<Target>) {
        self.bytes += target.as_deref().map_or(0, footprint::target_bytes);
        let old = match target {
            Some(target) => self.target.members.insert(id.clone(), target),
            None => self.target.members.remove(id),
        };
        self.bytes -= old.as_deref().map_or(0, footprint::target_bytes);
    }

    fn ensure_member(&mut self, id: &MemberId) {
        if !self.members.contains_key(id) {
            let member = Member::new();
            self.bytes += footprint::member_bytes(id, &member);
            self.members.insert(id.clone(), member);
        }
    }

    pub(super) fn remove_member(&mut self, id: &MemberId) {
        let Some(member) = self.members.remove(id) else { return };
        self.bytes -= footprint::member_bytes(id, &member);
        self.owners.remove(&member.current.assigned);
        self.owners.remove(&member.current.pending_revocation);
        self.uncount(id, &member.subscription);
    }

    pub(super) fn set_resolved(&mut self, pattern: &str, resolved: Option<RegularExpressionValue>) {
        if let Some(old) = self.resolved.remove(pattern) {
            for topic in &old.topics {
                self.unsubscribe(topic, Subscribers { by_name: 0, by_pattern: 1 });
            }
            self.bytes -= footprint::resolved_bytes(pattern, &old);
        }
        if let Some(mut resolved) = resolved {
            resolved.topics.sort_unstable();
            resolved.topics.dedup();
            for topic in &resolved.topics {
                self.topics.entry(topic.clone()).or_default().by_pattern += 1;
            }
            self.bytes += footprint::resolved_bytes(pattern, &resolved);
            self.resolved.insert(pattern.to_owned(), resolved);
        }
    }

    /// Members that subscribe to the same topics keep their names once.
    fn share_names(&self, subscription: &mut ConsumerMemberValue) {
        subscription.subscribed_topic_names.sort_unstable();
        subscription.subscribed_topic_names.dedup();
        for name in &mut subscription.subscribed_topic_names {
            if let Some((known, _)) = self.topics.get_key_value(name) {
                *name = known.clone();
            }
        }
    }

    fn count(&mut self, id: &MemberId, subscription: &ConsumerMemberValue) {
        for topic in &subscription.subscribed_topic_names {
            self.topics.entry(topic.clone()).or_default().by_name += 1;
        }
        if let Some(instance) = &subscription.instance_id {
            self.static_members.insert(instance.clone(), id.clone());
        }
        if let Some(pattern) = super::member::pattern(subscription) {
            *self.patterns.entry(pattern.to_owned()).or_default() += 1;
        }
        if let Some(assignor) = &subscription.server_assignor {
            *self.assignors.entry(assignor.clone()).or_default() += 1;
        }
        if let Some(classic) = &subscription.classic {
            self.classic_members += 1;
            for (protocol, _) in &classic.supported_protocols {
                *self.classic_protocols.entry(protocol.clone()).or_default() += 1;
            }
        }
    }

    fn uncount(&mut self, id: &MemberId, subscription: &ConsumerMemberValue) {
        for topic in &subscription.subscribed_topic_names {
            self.unsubscribe(topic, Subscribers { by_name: 1, by_pattern: 0 });
        }
        if let Some(instance) = &subscription.instance_id
            && self.static_members.get(instance) == Some(id)
        {
            self.static_members.remove(instance);
        }
        if let Some(pattern) = super::member::pattern(subscription) {
            discount(&mut self.patterns, pattern);
        }
        if let Some(assignor) = &subscription.server_assignor {
            discount(&mut self.assignors, assignor);
        }
        if let Some(classic) = &subscription.classic {
            self.classic_members -= 1;
            for (protocol, _) in &classic.supported_protocols {
                if let Some(count) = self.classic_protocols.get_mut(protocol) {
                    *count -= 1;
                }
            }
            self.classic_protocols.retain(|_, count| *count > 0);
        }
    }

    fn unsubscribe(&mut self, topic: &TopicName, less: Subscribers) {
        let Some(subscribers) = self.topics.get_mut(topic) else { return };
        subscribers.by_name -= less.by_name;
        subscribers.by_pattern -= less.by_pattern;
        if *subscribers == Subscribers::default() {
            self.topics.remove(topic);
        }
    }
}

fn discount(counts: &mut BTreeMap<String, usize>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count -= 1;
        if *count == 0 {
            counts.remove(name);
        }
    }
}
