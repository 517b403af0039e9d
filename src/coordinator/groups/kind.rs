//! What kind of group there is under a name, and what all kinds can be asked.

use kafka_protocol::ResponseError;

use super::{GroupTurn, Groups, GroupsHard, HardGroup};
use crate::coordinator::{GroupId, classic, consumer};
use crate::types::TopicName;

/// What kind of group there is under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::coordinator) enum GroupKind {
    /// With members of the classic protocol, now or before.
    Classic,
    /// With members of the new protocol, now or before.
    Consumer,
    /// Only offsets, of consumers that assign partitions to themselves.
    Simple,
}

impl GroupKind {
    /// The group's kind; `None` if there is no such group.
    pub(in crate::coordinator) fn of(
        shard: &Groups,
        hard: &GroupsHard,
        group: &str,
    ) -> Option<Self> {
        match hard.groups.get(group) {
            Some(HardGroup::Consumer(_)) => Some(Self::Consumer),
            Some(HardGroup::Classic(_)) => Some(Self::Classic),
            None if shard.classic.contains_key(group) => Some(Self::Classic),
            None if hard.offsets.has_group(group) => Some(Self::Simple),
            None => None,
        }
    }

    /// Type of the group as ListGroups names it.
    pub(super) fn group_type(self) -> &'static str {
        match self {
            Self::Classic | Self::Simple => "classic",
            Self::Consumer => "consumer",
        }
    }

    /// State of the group as ListGroups names it.
    pub(super) fn state(self, shard: &Groups, hard: &GroupsHard, group: &GroupId) -> &'static str {
        match self {
            Self::Classic => classic::state(shard, hard, group),
            Self::Consumer => consumer::state(shard, hard, group),
            Self::Simple => "Empty",
        }
    }

    /// Number of members.
    pub(super) fn members(self, shard: &Groups, hard: &GroupsHard, group: &GroupId) -> usize {
        match self {
            Self::Classic => classic::members(shard, hard, group),
            Self::Consumer => consumer::members(shard, hard, group),
            Self::Simple => 0,
        }
    }

    /// True if a live member of the group subscribes to the topic: its offsets can neither be deleted nor expire.
    pub(in crate::coordinator) fn is_subscribed(
        self,
        shard: &Groups,
        hard: &GroupsHard,
        group: &GroupId,
        topic: &TopicName,
    ) -> bool {
        match self {
            Self::Classic => classic::is_subscribed(shard, hard, group, topic),
            Self::Consumer => consumer::is_subscribed(shard, hard, group, topic),
            Self::Simple => false,
        }
    }

    /// Deletes the group but for its offsets. `NON_EMPTY_GROUP` while it has members.
    pub(in crate::coordinator) fn delete(
        self,
        shard: &mut Groups,
        turn: &mut GroupTurn<'_>,
        group: &GroupId,
    ) -> Result<(), ResponseError> {
        match self {
            Self::Classic => classic::delete(shard, turn, group),
            Self::Consumer => consumer::delete(shard, turn, group),
            Self::Simple => Ok(()),
        }
    }
}
