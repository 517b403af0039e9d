//! Type 2: a group of the classic protocol.
//!
//! Value: `protocol type string, generation i32, protocol string?, leader string?, state timestamp i64 (v2+), members`;
//! a member: `member id string, instance id string? (v3+), client id string, client host string, rebalance timeout i32
//! (v1+), session timeout i32, subscription bytes, assignment bytes`; v4 is v3 in the flexible encoding. Written as v3.

use bytes::Bytes;

use super::RecordValue;
use crate::coordinator::{InstanceId, MemberId};
use crate::metadata::records::wire::{Reader, WireError, Writer};
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
    /// That of the session where the version has no such field.
    pub rebalance_timeout_ms: i32,
    pub session_timeout_ms: i32,
    /// Of the protocol that the group settled on. Never a slice of a request's frame.
    pub subscription: Bytes,
    /// As the leader sent it. Never a slice of a request's frame.
    pub assignment: Bytes,
}

impl RecordValue for ClassicGroupValue {
    const NEWEST: i16 = 4;
    const FIRST_FLEXIBLE: i16 = 4;

    fn version(&self) -> i16 {
        3
    }

    fn encode(&self, version: i16, w: &mut Writer) {
        w.string(&self.protocol_type);
        w.i32(self.generation);
        w.nullable_string(self.protocol.as_deref());
        w.nullable_string(self.leader.as_ref().map(MemberId::as_str));
        if version >= 2 {
            w.i64(self.current_state_timestamp.get());
        }
        w.array_of(&self.members, |w, member| member.encode(version, w));
        w.no_tags();
    }

    fn decode(version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let value = Self {
            protocol_type: r.string()?,
            generation: r.i32()?,
            protocol: r.nullable_string()?,
            leader: r.nullable_text()?.map(MemberId::new),
            current_state_timestamp: match version {
                0 | 1 => Timestamp::NONE,
                _ => Timestamp::new(r.i64()?),
            },
            members: r.array_of(|r| ClassicGroupMember::decode(version, r))?,
        };
        r.no_tags()?;
        Ok(value)
    }
}

impl ClassicGroupMember {
    fn encode(&self, version: i16, w: &mut Writer) {
        w.string(self.member_id.as_str());
        if version >= 3 {
            w.nullable_string(self.group_instance_id.as_ref().map(InstanceId::as_str));
        }
        w.string(&self.client_id);
        w.string(&self.client_host);
        if version >= 1 {
            w.i32(self.rebalance_timeout_ms);
        }
        w.i32(self.session_timeout_ms);
        w.bytes(&self.subscription);
        w.bytes(&self.assignment);
        w.no_tags();
    }

    fn decode(version: i16, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let member_id = r.text()?.into();
        let group_instance_id =
            if version >= 3 { r.nullable_text()?.map(InstanceId::new) } else { None };
        let client_id = r.string()?;
        let client_host = r.string()?;
        let rebalance_timeout_ms = if version >= 1 { r.i32()? } else { -1 };
        let session_timeout_ms = r.i32()?;
        let member = Self {
            member_id,
            group_instance_id,
            client_id,
            client_host,
            rebalance_timeout_ms: match rebalance_timeout_ms {
                -1 => session_timeout_ms,
                _ => rebalance_timeout_ms,
            },
            session_timeout_ms,
            subscription: Bytes::copy_from_slice(r.bytes()?),
            assignment: Bytes::copy_from_slice(r.bytes()?),
        };
        r.no_tags()?;
        Ok(member)
    }
}
