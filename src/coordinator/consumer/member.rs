//! A member of a group as its records say (Kafka's `ConsumerGroupMember`).

use super::partitions::{self, Holding, TopicIdPartition};
use crate::coordinator::records::{ConsumerMemberValue, CurrentAssignmentValue};
use crate::coordinator::{InstanceId, MemberId};
use crate::types::TopicName;

/// Epoch of a request that joins.
pub(super) const JOIN_EPOCH: i32 = 0;
/// Epoch of a request that leaves, and of a member that is about to be removed.
pub(super) const LEAVE_EPOCH: i32 = -1;
/// Epoch of a request with which a static member leaves for a while, and of a member that did so.
pub(super) const STATIC_LEAVE_EPOCH: i32 = -2;

/// How far a member is on its way to its target (Kafka's `MemberState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberState {
    /// It has what it should have in its epoch.
    Stable,
    /// It still has to let go of partitions before it may enter the next epoch.
    UnrevokedPartitions,
    /// It waits for others to let go of partitions.
    UnreleasedPartitions,
    /// Written by a later version: it must join anew.
    Unknown,
}

impl MemberState {
    pub(super) fn from_record(state: i8) -> Self {
        match state {
            0 => Self::Stable,
            1 => Self::UnrevokedPartitions,
            2 => Self::UnreleasedPartitions,
            _ => Self::Unknown,
        }
    }

    pub(super) fn to_record(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::UnrevokedPartitions => 1,
            Self::UnreleasedPartitions => 2,
            Self::Unknown => 127,
        }
    }
}

/// What a member has: its record of type 8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) epoch: i32,
    /// A request in this epoch is taken for one whose answer was lost.
    pub(super) previous_epoch: i32,
    pub(super) state: MemberState,
    pub(super) assigned: Holding,
    pub(super) pending_revocation: Holding,
}

impl Default for Current {
    /// Of a member that has just come.
    fn default() -> Self {
        Self {
            epoch: JOIN_EPOCH,
            previous_epoch: -1,
            state: MemberState::Stable,
            assigned: Holding::new(),
            pending_revocation: Holding::new(),
        }
    }
}

impl Current {
    /// A member that is about to be removed: holds nothing.
    pub(super) fn leaving() -> Self {
        Self { epoch: LEAVE_EPOCH, previous_epoch: LEAVE_EPOCH, ..Self::default() }
    }

    pub(super) fn from_record(value: &CurrentAssignmentValue) -> Self {
        let epoch = value.member_epoch;
        Self {
            epoch,
            previous_epoch: value.previous_member_epoch,
            state: MemberState::from_record(value.state),
            assigned: partitions::holding_from_record(&value.assigned_partitions, epoch),
            pending_revocation: partitions::holding_from_record(
                &value.partitions_pending_revocation,
                epoch,
            ),
        }
    }

    pub(super) fn to_record(&self) -> CurrentAssignmentValue {
        CurrentAssignmentValue {
            member_epoch: self.epoch,
            previous_member_epoch: self.previous_epoch,
            state: self.state.to_record(),
            assigned_partitions: partitions::holding_to_record(&self.assigned),
            partitions_pending_revocation: partitions::holding_to_record(&self.pending_revocation),
        }
    }

    /// Nothing is left to be done for the target of that epoch.
    pub(super) fn is_reconciled_to(&self, target_epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == target_epoch
    }

    /// Since when the member has a partition, be it on its way out.
    pub(super) fn held_since(&self, at: TopicIdPartition) -> Option<i32> {
        let held = partitions::find(&self.assigned, at);
        held.or_else(|| partitions::find(&self.pending_revocation, at)).map(|held| held.since_epoch)
    }

    /// Enters an epoch; the one before it is remembered, also if they are the same, as in Kafka.
    pub(super) fn enter(&mut self, epoch: i32) {
        self.previous_epoch = self.epoch;
        self.epoch = epoch;
    }
}

/// A member.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) subscription: ConsumerMemberValue,
    pub(super) current: Current,
}

impl Member {
    /// One that nothing is known of yet.
    pub(super) fn new() -> Self {
        Self { subscription: new_subscription(), current: Current::default() }
    }

    pub(super) fn instance(&self) -> Option<&InstanceId> {
        self.subscription.instance_id.as_ref()
    }

    /// The pattern that the member subscribes to; the empty one counts as none.
    pub(super) fn pattern(&self) -> Option<&str> {
        pattern(&self.subscription)
    }

    /// Speaks the classic protocol.
    pub(super) fn is_classic(&self) -> bool {
        self.subscription.classic.is_some()
    }

    /// The member left for a while and may be replaced.
    pub(super) fn is_away(&self) -> bool {
        self.current.epoch == STATIC_LEAVE_EPOCH
    }

    /// Topics that it names.
    pub(super) fn topics(&self) -> &[TopicName] {
        &self.subscription.subscribed_topic_names
    }
}

/// The pattern of a subscription; the empty one counts as none.
pub(super) fn pattern(subscription: &ConsumerMemberValue) -> Option<&str> {
    subscription.subscribed_topic_regex.as_deref().filter(|pattern| !pattern.is_empty())
}

/// What a member that has said nothing subscribes to.
pub(super) fn new_subscription() -> ConsumerMemberValue {
    ConsumerMemberValue {
        instance_id: None,
        rack_id: None,
        client_id: String::new(),
        client_host: String::new(),
        subscribed_topic_names: Vec::new(),
        subscribed_topic_regex: Some(String::new()),
        rebalance_timeout_ms: -1,
        server_assignor: None,
        classic: None,
    }
}

/// A member with its name.
pub(super) type Named<'a> = (&'a MemberId, &'a Member);
