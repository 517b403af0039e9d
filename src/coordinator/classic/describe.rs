//! What DescribeGroups, ListGroups and metrics show of a group.

use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::protocol::StrBytes;

use super::answers::{self, text};
use super::group::{ClassicGroup, State};
use super::member::Member;
use crate::coordinator::groups::{Groups, GroupsHard};
use crate::coordinator::{GroupId, MemberId};

/// DescribeGroups for a group of this kind. What members subscribe to is shown only while the group is stable.
pub(in crate::coordinator) fn describe(
    shard: &Groups,
    _hard: &GroupsHard,
    id: &GroupId,
) -> DescribedGroup {
    let named = DescribedGroup::default().with_group_id(text(id.as_str()).into());
    let Some(group) = shard.classic.get(id) else {
        return named.with_group_state(StrBytes::from_static_str("Dead"));
    };
    let is_stable = group.state == State::Stable;
    let protocol = group.protocol.as_deref().filter(|_| is_stable);
    named
        .with_group_state(StrBytes::from_static_str(group.state.name()))
        .with_protocol_type(text(group.protocol_type.as_deref().unwrap_or("")))
        .with_protocol_data(text(protocol.unwrap_or("")))
        .with_members(group.members().map(|(id, member)| described(group, id, member)).collect())
}

fn described(group: &ClassicGroup, id: &MemberId, member: &Member) -> DescribedGroupMember {
    let described = DescribedGroupMember::default()
        .with_member_id(answers::member(id))
        .with_group_instance_id(member.instance.as_ref().map(|instance| text(instance.as_str())))
        .with_client_id(text(&member.client.id))
        .with_client_host(text(&member.client.host))
        .with_member_assignment(member.assignment.clone());
    match group.state {
        State::Stable => described.with_member_metadata(group.subscription_of(member)),
        State::Empty | State::PreparingRebalance | State::CompletingRebalance => described,
    }
}

/// State of the group as ListGroups names it.
pub(in crate::coordinator) fn state(
    shard: &Groups,
    _hard: &GroupsHard,
    group: &GroupId,
) -> &'static str {
    shard.classic.get(group).map_or("Dead", |group| group.state.name())
}

/// `protocol.type` as ListGroups shows it: empty for a group that nobody has joined yet.
pub(in crate::coordinator) fn protocol_type<'a>(shard: &'a Groups, group: &GroupId) -> &'a str {
    shard.classic.get(group).and_then(|group| group.protocol_type.as_deref()).unwrap_or("")
}

/// Number of members.
pub(in crate::coordinator) fn members(
    shard: &Groups,
    _hard: &GroupsHard,
    group: &GroupId,
) -> usize {
    shard.classic.get(group).map_or(0, |group| group.members().len())
}
