//! Describing, listing and deleting groups, whatever their protocol.

use std::collections::HashSet;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup as DescribedConsumerGroup;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::protocol::StrBytes;

use super::kind::GroupKind;
use super::{GroupOverview, GroupReply, GroupTurn, Groups, GroupsHard};
use crate::coordinator::machine::Token;
use crate::coordinator::{GroupId, classic, consumer, offsets};
use crate::types::TopicPartition;

/// First version of DescribeGroups that says that there is no such group; before, it is a dead one.
const DESCRIBE_NOT_FOUND_FROM: i16 = 6;

/// DeleteGroups: offsets and the group itself, unless it has members. The answer comes when all of it is deleted.
pub(in crate::coordinator) fn delete(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    token: Token,
) {
    let deleted = match GroupKind::of(shard, turn.hard(), group.as_str()) {
        Some(kind) => {
            let is_empty = kind.members(shard, turn.hard(), group) == 0;
            if is_empty && offsets::delete_some(shard, turn, group) == offsets::Progress::More {
                return offsets::add_group(shard, turn, group, token);
            }
            kind.delete(shard, turn, group)
        }
        None => Err(ResponseError::GroupIdNotFound),
    };
    if deleted.is_ok() {
        offsets::delete_all(shard, turn, group);
    }
    let result = DeletableGroupResult::default()
        .with_group_id(text(group.as_str()).into())
        .with_error_code(deleted.err().map_or(0, |error| error.code()));
    turn.answer(token, GroupReply::DeleteGroup(result));
}

/// DescribeGroups: also an unknown group has an answer, which depends on the version.
pub(super) fn describe_classic(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    version: i16,
    group: &GroupId,
    token: Token,
) {
    let hard = turn.hard();
    let described = match GroupKind::of(shard, hard, group.as_str()) {
        Some(GroupKind::Classic) => classic::describe(shard, hard, group),
        Some(GroupKind::Simple) => in_state(group, "Empty"),
        Some(GroupKind::Consumer) => not_classic(version, group, "is not a classic group"),
        None => not_classic(version, group, "not found"),
    };
    turn.answer(token, GroupReply::DescribeClassic(described));
}

fn in_state(group: &GroupId, state: &'static str) -> DescribedGroup {
    DescribedGroup::default()
        .with_group_id(text(group.as_str()).into())
        .with_group_state(StrBytes::from_static_str(state))
}

fn not_classic(version: i16, group: &GroupId, why: &str) -> DescribedGroup {
    let dead = in_state(group, "Dead");
    if version < DESCRIBE_NOT_FOUND_FROM {
        return dead;
    }
    dead.with_error_code(ResponseError::GroupIdNotFound.code())
        .with_error_message(Some(message(group, why)))
}

/// ConsumerGroupDescribe.
pub(super) fn describe_consumer(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    token: Token,
) {
    let described = match GroupKind::of(shard, turn.hard(), group.as_str()) {
        Some(GroupKind::Consumer) => consumer::describe(shard, turn, group),
        Some(GroupKind::Classic | GroupKind::Simple) => {
            not_consumer(group, "is not a consumer group")
        }
        None => not_consumer(group, "not found"),
    };
    turn.answer(token, GroupReply::DescribeConsumer(described));
}

fn not_consumer(group: &GroupId, why: &str) -> DescribedConsumerGroup {
    DescribedConsumerGroup::default()
        .with_group_id(text(group.as_str()).into())
        .with_error_code(ResponseError::GroupIdNotFound.code())
        .with_error_message(Some(message(group, why)))
}

/// ListGroups. Names of states and types in the filters are lower-case; one that does not exist matches nothing.
pub(super) fn list(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    states: &[String],
    types: &[String],
    token: Token,
) {
    let hard = turn.hard();
    let mut listed = Vec::new();
    for (group, kind) in all(shard, hard) {
        let (state, group_type) = (kind.state(shard, hard, group), kind.group_type());
        if matches(states, state) && matches(types, group_type) {
            listed.push(
                ListedGroup::default()
                    .with_group_id(text(group.as_str()).into())
                    .with_protocol_type(protocol_type(shard, group, kind))
                    .with_group_state(StrBytes::from_static_str(state))
                    .with_group_type(StrBytes::from_static_str(group_type)),
            );
        }
    }
    turn.answer(token, GroupReply::List(listed));
}

fn matches(names: &[String], name: &str) -> bool {
    names.is_empty() || names.iter().any(|wanted| wanted.trim().eq_ignore_ascii_case(name))
}

fn protocol_type(shard: &Groups, group: &GroupId, kind: GroupKind) -> StrBytes {
    match kind {
        GroupKind::Classic => text(classic::protocol_type(shard, group)),
        GroupKind::Consumer => StrBytes::from_static_str("consumer"),
        GroupKind::Simple => StrBytes::default(),
    }
}

/// Everything that metrics show.
pub(super) fn overview(shard: &mut Groups, turn: &mut GroupTurn<'_>, token: Token) {
    let hard = turn.hard();
    let shown = |(group, kind): (&GroupId, GroupKind)| GroupOverview {
        group: group.clone(),
        group_type: kind.group_type(),
        state: kind.state(shard, hard, group),
        members: kind.members(shard, hard, group),
        offsets: hard.offsets.of_group(group.as_str()).map(position).collect(),
    };
    let groups = all(shard, hard).map(shown).collect();
    turn.answer(token, GroupReply::Overview(groups));
}

fn position(committed: offsets::CommittedOffset<'_>) -> (TopicPartition, crate::types::Offset) {
    let topic = committed.topic.clone();
    (TopicPartition { topic, partition: committed.partition }, committed.offset)
}

/// Every group of the shard, once.
fn all<'a>(
    shard: &'a Groups,
    hard: &'a GroupsHard,
) -> impl Iterator<Item = (&'a GroupId, GroupKind)> {
    let mut seen = HashSet::new();
    names(shard, hard).filter_map(move |group| {
        let kind = GroupKind::of(shard, hard, group.as_str())?;
        seen.insert(group).then_some((group, kind))
    })
}

/// Names of all groups of the shard; some come twice.
pub(in crate::coordinator) fn names<'a>(
    shard: &'a Groups,
    hard: &'a GroupsHard,
) -> impl Iterator<Item = &'a GroupId> {
    hard.groups.keys().chain(shard.classic.keys()).chain(hard.offsets.groups())
}

fn message(group: &GroupId, why: &str) -> StrBytes {
    StrBytes::from_string(format!("Group {group} {why}."))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}
