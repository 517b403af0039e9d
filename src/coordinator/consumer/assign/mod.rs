//! Who should have which partition: pure functions from members, their topics and what they should have had so far.
//!
//! Topics and members are known by their index here. Time is O(partitions + members · log members) for a group whose members
//! all subscribe to the same, and O(subscriptions · log members + partitions) for one round of any other.

mod range;
mod uneven;
mod uniform;

use super::partitions::{Target, TopicIdPartition};
use crate::types::TopicId;

/// Nobody.
const NOBODY: u32 = u32::MAX;

/// What there is to be assigned, and to whom.
#[derive(Debug)]
pub(super) struct Problem<'a> {
    /// Topics that exist, in the order of their ids.
    pub(super) topics: Vec<AssignedTopic>,
    /// Members in the order of their ids.
    pub(super) members: Vec<Subscriber<'a>>,
    pub(super) subscriptions: Subscriptions,
}

/// A topic.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssignedTopic {
    pub(super) id: TopicId,
    pub(super) partitions: u32,
}

/// A member.
#[derive(Debug)]
pub(super) struct Subscriber<'a> {
    /// Of a static member.
    pub(super) instance: Option<&'a str>,
    /// What it should have had so far.
    pub(super) target: &'a [TopicIdPartition],
}

/// Who subscribes to what.
#[derive(Debug)]
pub(super) enum Subscriptions {
    /// Every member to every topic.
    Same,
    /// The indices of each member's topics, in rising order.
    Each(Vec<Vec<usize>>),
}

/// The server-side assignors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assignor {
    /// Even and sticky.
    Uniform,
    /// Consecutive partitions of each topic, the same of topics that are alike.
    Range,
}

impl Assignor {
    /// By its name in `group.consumer.assignors`.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "uniform" => Some(Self::Uniform),
            "range" => Some(Self::Range),
            _ => None,
        }
    }
}

/// Solves it: the target of each member, in the order of members.
pub(super) fn assign(assignor: Assignor, problem: &Problem<'_>) -> Vec<Target> {
    let owners = match (assignor, &problem.subscriptions) {
        (Assignor::Range, _) => range::assign(problem),
        (Assignor::Uniform, Subscriptions::Same) => uniform::assign(problem),
        (Assignor::Uniform, Subscriptions::Each(topics)) => uneven::assign(problem, topics),
    };
    owners.into_targets(problem)
}

/// The owner of each partition of each topic.
#[derive(Debug)]
struct Owners(Vec<Vec<u32>>);

impl Owners {
    fn none(problem: &Problem<'_>) -> Self {
        Self(problem.topics.iter().map(|topic| vec![NOBODY; topic.partitions as usize]).collect())
    }

    /// Everybody keeps what they have, as far as it exists and `may_have` allows it (member, topic).
    fn kept(problem: &Problem<'_>, may_have: impl Fn(usize, usize) -> bool) -> Self {
        let mut owners = Self::none(problem);
        for (member, subscriber) in problem.members.iter().enumerate() {
            for of_topic in subscriber.target.chunk_by(|a, b| a.topic == b.topic) {
                let topic =
                    problem.topics.binary_search_by(|topic| topic.id.cmp(&of_topic[0].topic));
                if let Ok(topic) = topic
                    && may_have(member, topic)
                {
                    owners.keep(topic, of_topic, member);
                }
            }
        }
        owners
    }

    fn keep(&mut self, topic: usize, partitions: &[TopicIdPartition], member: usize) {
        for at in partitions {
            let index = usize::try_from(at.partition.get()).unwrap_or(usize::MAX);
            if let Some(owner) = self.0[topic].get_mut(index)
                && *owner == NOBODY
            {
                *owner = number(member);
            }
        }
    }

    /// How many partitions each member has.
    fn loads(&self, members: usize) -> Vec<usize> {
        let mut loads = vec![0; members];
        for owner in self.0.iter().flatten().filter(|owner| **owner != NOBODY) {
            loads[*owner as usize] += 1;
        }
        loads
    }

    /// In the order of topics and partitions, which makes each target rise.
    fn into_targets(self, problem: &Problem<'_>) -> Vec<Target> {
        let mut targets: Vec<Target> =
            self.loads(problem.members.len()).into_iter().map(Target::with_capacity).collect();
        for (topic, owners) in problem.topics.iter().zip(self.0) {
            for (partition, owner) in (0_i32..).zip(owners) {
                if let Some(target) = targets.get_mut(owner as usize) {
                    target.push(TopicIdPartition::new(topic.id, partition));
                }
            }
        }
        targets
    }
}

/// Members of a group are far fewer than 2^32: a request that brings one has at least a few dozen bytes.
fn number(member: usize) -> u32 {
    u32::try_from(member).unwrap_or(NOBODY)
}
