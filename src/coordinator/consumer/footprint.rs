//! About how much memory groups take, and which requests would make it more.
//!
//! Numbers are what an allocator was asked for, names and timers included; `tests/coordinator_memory.rs` holds them to it.

use std::mem::size_of;

use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, JoinGroupRequest};

use super::group::ConsumerGroup;
use super::member::{Current, JOIN_EPOCH, Member};
use super::partitions::{Held, TopicIdPartition};
use crate::coordinator::MemberId;
use crate::coordinator::records::{ConsumerMemberValue, RegularExpressionValue};
use crate::types::TopicName;

/// A group without members.
pub(super) const GROUP_BYTES: usize = 3_500;
/// A member that has and subscribes to nothing, with a timer.
const MEMBER_BYTES: usize = 800;
/// A topic that a member names; the name itself is shared.
const TOPIC_BYTES: usize = size_of::<TopicName>() + 8;
/// A partition that a member holds, with its entry among the owners.
const HELD_BYTES: usize = size_of::<Held>() + 48;
/// A pattern that was resolved.
const RESOLVED_BYTES: usize = 200;

/// What requests of known members may add while nothing may grow: they rarely say exactly the same twice.
const GROWTH_BYTES_MAX: usize = 4 * 1024;

pub(super) fn member_bytes(id: &MemberId, member: &Member) -> usize {
    let Member { subscription, current } = member;
    MEMBER_BYTES + id.as_str().len() + subscription_bytes(subscription) + current_bytes(current)
}

pub(super) fn subscription_bytes(value: &ConsumerMemberValue) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let protocols = value.classic.iter().flat_map(|classic| &classic.supported_protocols);
    value.client_id.len()
        + value.client_host.len()
        + text(&value.rack_id)
        + text(&value.subscribed_topic_regex)
        + text(&value.server_assignor)
        + value.subscribed_topic_names.len() * TOPIC_BYTES
        + protocols.map(|(name, said)| size_of_val(name) + name.len() + said.len()).sum::<usize>()
}

pub(super) fn current_bytes(current: &Current) -> usize {
    (current.assigned.len() + current.pending_revocation.len()) * HELD_BYTES
}

pub(super) fn target_bytes(target: &[TopicIdPartition]) -> usize {
    size_of_val(target)
}

pub(super) fn resolved_bytes(pattern: &str, resolved: &RegularExpressionValue) -> usize {
    RESOLVED_BYTES + pattern.len() + resolved.topics.len() * TOPIC_BYTES
}

/// A group or a member that is not known, or one that says much more than before.
pub(in crate::coordinator) fn heartbeat_grows(
    group: Option<&ConsumerGroup>,
    request: &ConsumerGroupHeartbeatRequest,
) -> bool {
    let known = group.and_then(|group| {
        let instance = request.instance_id.as_deref();
        let instance = instance.and_then(|instance| group.static_member(instance));
        instance.or_else(|| group.named(&request.member_id))
    });
    let Some((_, member)) = known else { return request.member_epoch == JOIN_EPOCH };
    let names = request.subscribed_topic_names.iter().flatten();
    let names: usize = names.map(|name| TOPIC_BYTES + name.len()).sum();
    let pattern = request.subscribed_topic_regex.as_deref().map_or(0, str::len);
    names + pattern > subscription_bytes(&member.subscription) + GROWTH_BYTES_MAX
}

/// As [`heartbeat_grows`], for a member of the classic protocol in a group of this kind.
pub(in crate::coordinator) fn join_grows(
    group: &ConsumerGroup,
    request: &JoinGroupRequest,
) -> bool {
    let instance = request.group_instance_id.as_deref();
    let instance = instance.and_then(|instance| group.static_member(instance));
    let Some((_, member)) = instance.or_else(|| group.named(&request.member_id)) else {
        return true;
    };
    let said =
        request.protocols.iter().map(|protocol| protocol.name.len() + protocol.metadata.len());
    said.sum::<usize>() > subscription_bytes(&member.subscription) + GROWTH_BYTES_MAX
}
