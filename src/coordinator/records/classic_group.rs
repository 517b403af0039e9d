//! Type 2: a group of the classic protocol.

use bytes::Bytes;

use crate::coordinator::{InstanceId, MemberId};
use crate::types::Timestamp;

/// A group as it stood after its last rebalance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's GroupMetadataValue")]
pub struct ClassicGroupValue {
    pub protocol_type: String,
    pub generation: i32,
    pub protocol: Option<String>,
    pub leader: Option<MemberId>,
    /// When the group came into the state that it is in; −1 if the version has no such field.
    pub current_state_timestamp: Timestamp,
    pub members: Vec<ClassicGroupMember>,
}

/// A member with what it was assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's GroupMetadataValue")]
pub struct ClassicGroupMember {
    pub member_id: MemberId,
    pub group_instance_id: Option<InstanceId>,
    pub client_id: String,
    pub client_host: String,
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// Of the protocol that the group settled on. Never a slice of a request's frame.
    pub subscription: Bytes,
    /// As the leader sent it. Never a slice of a request's frame.
    pub assignment: Bytes,
}
