//! About how much memory groups take, and which requests would make it more.
//!
//! Numbers are what an allocator was asked for, names and timers included; `tests/coordinator_memory.rs` holds them to it.

use std::mem::size_of;

use bytes::Bytes;
use kafka_protocol::messages::{JoinGroupRequest, SyncGroupRequest};

use super::group::ClassicGroup;
use super::member::{Member, Protocols};
use crate::coordinator::MemberId;
use crate::coordinator::records::{ClassicGroupMember, ClassicGroupValue};

/// A group as it lives, without members.
pub(super) const GROUP_BYTES: usize = 2_300;
/// Somebody who was given an id and has not come back with it, with a timer.
const PENDING_BYTES: usize = 250;
/// A member as it lives, with a timer.
const MEMBER_BYTES: usize = 640;
/// A protocol of a member.
const PROTOCOL_BYTES: usize = size_of::<(&str, Bytes)>() + 16;
/// The record of a group without members.
const RECORD_BYTES: usize = 200;
/// A member in the record.
const RECORDED_MEMBER_BYTES: usize = size_of::<ClassicGroupMember>() + 60;

/// What requests of known members may add while nothing may grow: they rarely say exactly the same twice.
const GROWTH_BYTES_MAX: usize = 4 * 1024;

pub(super) fn pending_bytes(id: &MemberId) -> usize {
    PENDING_BYTES + id.as_str().len()
}

/// Without its assignment.
pub(super) fn member_bytes(id: &MemberId, member: &Member) -> usize {
    MEMBER_BYTES + id.as_str().len() + protocols_bytes(&member.protocols)
}

pub(super) fn protocols_bytes(protocols: &Protocols) -> usize {
    protocols.iter().map(|(name, said)| PROTOCOL_BYTES + name.len() + said.len()).sum()
}

/// The record of a group. Subscriptions and assignments are those of the living group, but for what has changed since the
/// last generation, which is not counted.
pub(in crate::coordinator) fn record_bytes(value: &ClassicGroupValue) -> usize {
    let member = |member: &ClassicGroupMember| {
        RECORDED_MEMBER_BYTES + member.client_id.len() + member.client_host.len()
    };
    RECORD_BYTES + value.members.iter().map(member).sum::<usize>()
}

/// A group or a member that is not known, or one that says much more than before.
pub(in crate::coordinator) fn join_grows(
    group: Option<&ClassicGroup>,
    request: &JoinGroupRequest,
) -> bool {
    let said =
        request.protocols.iter().map(|protocol| protocol.name.len() + protocol.metadata.len());
    let known = group.and_then(|group| {
        let instance = request.group_instance_id.as_deref();
        let instance = instance.and_then(|instance| group.static_member(instance));
        let id = instance.map_or(&*request.member_id, MemberId::as_str);
        group.member(id)
    });
    known.is_none_or(|member| {
        said.sum::<usize>() > protocols_bytes(&member.protocols) + GROWTH_BYTES_MAX
    })
}

/// An assignment that is much larger than all that is known of the group.
pub(in crate::coordinator) fn sync_grows(
    group: Option<&ClassicGroup>,
    request: &SyncGroupRequest,
) -> bool {
    let said = request.assignments.iter().map(|part| part.assignment.len());
    group.is_some_and(|group| said.sum::<usize>() > group.footprint_bytes() + GROWTH_BYTES_MAX)
}
