//! Types 3 to 8 and 16: a group of the new protocol (KIP-848).

use bytes::Bytes;

use crate::coordinator::InstanceId;
use crate::types::{PartitionIndex, Timestamp, TopicId, TopicName};

/// Type 3.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's ConsumerGroupMetadataValue")]
pub struct ConsumerGroupValue {
    pub epoch: i32,
    /// Hash over the subscribed topics; 0 where Kafka before 4.1 wrote the record.
    pub metadata_hash: i64,
}

/// Type 5.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's ConsumerGroupMemberMetadataValue")]
pub struct ConsumerMemberValue {
    pub instance_id: Option<InstanceId>,
    pub rack_id: Option<String>,
    pub client_id: String,
    pub client_host: String,
    pub subscribed_topic_names: Vec<TopicName>,
    pub subscribed_topic_regex: Option<String>,
    pub rebalance_timeout_ms: i32,
    pub server_assignor: Option<String>,
    /// Of a member that speaks the classic protocol.
    pub classic: Option<ClassicMemberMetadata>,
}

/// What a member of the classic protocol brought along.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's ConsumerGroupMemberMetadataValue")]
pub struct ClassicMemberMetadata {
    pub session_timeout_ms: i32,
    /// Name and subscription of each protocol, in the member's order of preference.
    pub supported_protocols: Vec<(String, Bytes)>,
}

/// Type 6.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupTargetAssignmentMetadataValue"
)]
pub struct TargetAssignmentValue {
    pub assignment_epoch: i32,
    /// When it was made; −1 where Kafka before 4.3 wrote the record.
    pub assignment_timestamp: Timestamp,
}

/// Type 7.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupTargetAssignmentMemberValue"
)]
pub struct TargetMemberValue {
    pub topic_partitions: Vec<AssignedTopic>,
}

/// Type 8.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupCurrentMemberAssignmentValue"
)]
pub struct CurrentAssignmentValue {
    pub member_epoch: i32,
    pub previous_member_epoch: i32,
    /// Kafka's `MemberState`: 0 stable, 1 unrevoked partitions, 2 unreleased partitions, 127 unknown.
    pub state: i8,
    pub assigned_partitions: Vec<AssignedTopic>,
    pub partitions_pending_revocation: Vec<AssignedTopic>,
}

/// Partitions of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedTopic {
    /// Which topic.
    pub topic_id: TopicId,
    /// In rising order.
    pub partitions: Vec<PartitionIndex>,
    /// Tag 0 of the current assignment since Kafka 4.4: the epoch at which each partition was assigned. Empty if absent.
    pub assignment_epochs: Vec<i32>,
}

/// Type 16.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "fields are named as in Kafka's ConsumerGroupRegularExpressionValue"
)]
pub struct RegularExpressionValue {
    pub topics: Vec<TopicName>,
    /// Offset of the metadata that the topics were matched against.
    pub version: i64,
    pub timestamp: Timestamp,
}
