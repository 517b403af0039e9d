//! ConsumerGroupDescribe (KIP-848, and KIP-1099 for the type of members).

use kafka_protocol::messages::TopicName as WireTopicName;
use kafka_protocol::messages::consumer_group_describe_response::{
    Assignment, DescribedGroup, Member as DescribedMember, TopicPartitions,
};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid as WireUuid;

use super::consumer_group;
use super::group::ConsumerGroup;
use super::member::Member;
use super::partitions::TopicIdPartition;
use crate::coordinator::groups::{GroupTurn, Groups};
use crate::coordinator::{GroupId, InstanceId, MemberId};
use crate::metadata::Image;

/// `memberType` of a member that speaks the classic protocol.
const CLASSIC: i8 = 0;
/// `memberType` of a member that speaks the new one.
const CONSUMER: i8 = 1;

/// For version 1; version 0 has no `member_type`.
pub(super) fn describe(shard: &Groups, turn: &GroupTurn<'_>, id: &GroupId) -> DescribedGroup {
    let response = DescribedGroup::default()
        .with_group_id(kafka_protocol::messages::GroupId(text(id.as_str())));
    let Some(group) = consumer_group(turn.hard(), id.as_str()) else { return response };
    let assignors = &shard.settings.consumer_assignors;
    let assignor = group.preferred_assignor(assignors).or(assignors.first().map(String::as_str));
    let members = group.members().map(|(id, member)| described(turn.image, group, id, member));
    response
        .with_group_state(StrBytes::from_static_str(group.state()))
        .with_group_epoch(group.epoch)
        .with_assignment_epoch(group.target.epoch)
        .with_assignor_name(text(assignor.unwrap_or_default()))
        .with_members(members.collect())
}

fn described(
    image: &Image,
    group: &ConsumerGroup,
    id: &MemberId,
    member: &Member,
) -> DescribedMember {
    let subscription = &member.subscription;
    let names = member.topics().iter().map(|name| WireTopicName(text(name.as_str())));
    // What a member has yet to let go of is still its own (Kafka since 4.3).
    let current = &member.current;
    let mut assigned: Vec<_> =
        current.assigned.iter().chain(&current.pending_revocation).map(|held| held.at).collect();
    assigned.sort_unstable();
    DescribedMember::default()
        .with_member_id(text(id.as_str()))
        .with_instance_id(member.instance().map(InstanceId::as_str).map(text))
        .with_rack_id(subscription.rack_id.as_deref().map(text))
        .with_member_epoch(member.current.epoch)
        .with_client_id(text(&subscription.client_id))
        .with_client_host(text(&subscription.client_host))
        .with_subscribed_topic_names(names.collect())
        .with_subscribed_topic_regex(subscription.subscribed_topic_regex.as_deref().map(text))
        .with_assignment(assignment(image, &assigned))
        .with_target_assignment(assignment(image, group.target_of(id.as_str())))
        .with_member_type(if member.is_classic() { CLASSIC } else { CONSUMER })
}

/// Topics that are gone have no name and are left out.
fn assignment(image: &Image, partitions: &[TopicIdPartition]) -> Assignment {
    let topic = |chunk: &[TopicIdPartition]| {
        let topic = image.topic_by_id(chunk[0].topic)?;
        let partitions = chunk.iter().map(|at| at.partition.get()).collect();
        let described = TopicPartitions::default()
            .with_topic_id(WireUuid::from_bytes(topic.id.to_bytes()))
            .with_topic_name(WireTopicName(text(topic.name.as_str())))
            .with_partitions(partitions);
        Some(described)
    };
    let topics = partitions.chunk_by(|a, b| a.topic == b.topic).filter_map(topic);
    Assignment::default().with_topic_partitions(topics.collect())
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
