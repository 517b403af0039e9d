//! Why ConsumerGroupHeartbeat is refused.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::ConsumerGroupHeartbeatResponse;
use kafka_protocol::protocol::StrBytes;

use crate::coordinator::{GroupId, InstanceId, MemberId};

/// The outcomes; each has a code of Kafka's, and a text for whoever reads the client's log: Kafka's own where its clients and
/// tests compare it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeartbeatError {
    /// A field that must be set is not, or the reverse.
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The broker has no such assignor.
    #[error("ServerAssignor {assignor} is not supported. Supported assignors: {known}.")]
    UnsupportedAssignor {
        /// What was asked for.
        assignor: String,
        /// `group.consumer.assignors`.
        known: String,
    },
    /// The pattern cannot be compiled, or not within the limits.
    #[error("the subscribed regular expression is not valid: {0}")]
    InvalidPattern(String),
    /// Only a request that joins makes a group.
    #[error("group {0} not found")]
    UnknownGroup(GroupId),
    /// It belongs to the classic protocol, and stays there.
    #[error("Cannot upgrade classic group {group} to consumer group because {reason}.")]
    NotUpgraded {
        /// Which one.
        group: GroupId,
        /// Why it stays.
        reason: &'static str,
    },
    /// `group.consumer.max.size`.
    #[error("The consumer group has reached its maximum capacity of {0} members.")]
    Full(usize),
    /// Nobody of that name is in the group.
    #[error("Member {member} is not a member of group {group}.")]
    UnknownMember {
        /// Which group.
        group: GroupId,
        /// Who asked.
        member: String,
    },
    /// No static member of that name is in the group.
    #[error("Instance id {0} is unknown.")]
    UnknownInstance(InstanceId),
    /// The instance has gone on under another member id.
    #[error("instance id {instance} belongs to member {owner} now")]
    FencedInstance {
        /// Which instance.
        instance: InstanceId,
        /// Under which id.
        owner: MemberId,
    },
    /// The instance is in the group and has not left.
    #[error("instance id {instance} is still in use by member {owner}")]
    UnreleasedInstance {
        /// Which instance.
        instance: InstanceId,
        /// By whom.
        owner: MemberId,
    },
    /// The member's epoch is neither the one it was told last nor the one before.
    #[error("member epoch {received} is not {known}: give all partitions up and join again")]
    FencedEpoch {
        /// What it came with.
        received: i32,
        /// What it should have come with.
        known: i32,
    },
    /// A later version of Kafka wrote what the member is doing.
    #[error("the state of the member is not known: give all partitions up and join again")]
    UnknownState,
}

impl HeartbeatError {
    fn code(&self) -> ResponseError {
        match self {
            Self::InvalidRequest(_) => ResponseError::InvalidRequest,
            Self::UnsupportedAssignor { .. } => ResponseError::UnsupportedAssignor,
            Self::InvalidPattern(_) => ResponseError::InvalidRegularExpression,
            Self::UnknownGroup(_) | Self::NotUpgraded { .. } => ResponseError::GroupIdNotFound,
            Self::Full(_) => ResponseError::GroupMaxSizeReached,
            Self::UnknownMember { .. } | Self::UnknownInstance(_) => ResponseError::UnknownMemberId,
            Self::FencedInstance { .. } => ResponseError::FencedInstanceId,
            Self::UnreleasedInstance { .. } => ResponseError::UnreleasedInstanceId,
            Self::FencedEpoch { .. } | Self::UnknownState => ResponseError::FencedMemberEpoch,
        }
    }

    pub(super) fn response(&self) -> ConsumerGroupHeartbeatResponse {
        ConsumerGroupHeartbeatResponse::default()
            .with_error_code(self.code().code())
            .with_error_message(Some(StrBytes::from_string(self.to_string())))
    }
}
