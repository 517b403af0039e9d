//! What a member subscribes to, as its heartbeats change it.

use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;

use super::admission::Visitor;
use super::epoch::{self, Bump};
use super::error::HeartbeatError;
use super::group::ConsumerGroup;
use super::member::{new_subscription, pattern as pattern_of};
use super::{consumer_group, fencing, sessions, timers};
use crate::coordinator::groups::{Call, Client, GroupTurn, Groups};
use crate::coordinator::pattern::Pattern;
use crate::coordinator::records::{ConsumerMemberValue, GroupRecord};
use crate::coordinator::{GroupId, InstanceId, MemberId};
use crate::types::TopicName;

/// Patterns of a group are matched with new topics at most that often.
const PATTERN_REFRESH_MIN_MS: i64 = 10_000;

/// Whether a heartbeat has changed what its member subscribes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subscribed {
    /// To the same.
    AsBefore,
    /// To something else.
    Anew,
}

/// Refuses a pattern that cannot be compiled. One that a member has already is not compiled again.
pub(super) fn check_pattern(
    group: Option<&ConsumerGroup>,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), HeartbeatError> {
    let Some(pattern) = request.subscribed_topic_regex.as_deref() else { return Ok(()) };
    let is_known = group.is_some_and(|group| group.pattern_subscribers(pattern) > 0);
    if pattern.is_empty() || is_known {
        return Ok(());
    }
    Pattern::of_topics(pattern).map(drop).map_err(HeartbeatError::InvalidPattern)
}

/// Takes over what the heartbeat says, and begins a new epoch if that, or what has become of the topics, needs one.
pub(super) fn update(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    visitor: &Visitor,
    call: &Call<ConsumerGroupHeartbeatRequest>,
) -> Subscribed {
    let known = consumer_group(turn.hard(), group.as_str());
    let before = known.and_then(|group| group.member(visitor.id().as_str()));
    let is_known = before.is_some();
    let before = before.map(|member| &member.subscription);
    if before.is_some_and(|before| says_the_same(before, call)) {
        maintain(shard, turn, group);
        return Subscribed::AsBefore;
    }
    let before = before.cloned().unwrap_or_else(new_subscription);
    let after = heard(&before, call);
    let change = Change { is_known, before, after };
    take_over(shard, turn, group, visitor.id(), change)
}

/// A subscription before and after.
#[derive(Debug)]
pub(super) struct Change {
    /// The member was there before.
    pub(super) is_known: bool,
    pub(super) before: ConsumerMemberValue,
    pub(super) after: ConsumerMemberValue,
}

/// Writes the member down, then what follows from it.
pub(super) fn take_over(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    member: &MemberId,
    change: Change,
) -> Subscribed {
    let Change { is_known, before, after } = change;
    let assignor_before = preferred_assignor(shard, turn, group);
    let names_changed = before.subscribed_topic_names != after.subscribed_topic_names;
    let old_pattern = pattern_of(&before).map(str::to_owned);
    let new_pattern = pattern_of(&after).map(str::to_owned);
    if before.classic.is_some() && after.classic.is_none() {
        timers::stop_join(turn, group, member);
        timers::stop_sync(turn, group, member);
    }
    if !is_known || before != after {
        turn.write(GroupRecord::ConsumerMember {
            group: group.clone(),
            member: member.clone(),
            value: Some(after),
        });
    }
    let pattern_changed = old_pattern != new_pattern;
    if pattern_changed {
        follow(turn, group, old_pattern, new_pattern);
    }
    let assignor_changed = assignor_before != preferred_assignor(shard, turn, group);
    if names_changed || pattern_changed || assignor_changed {
        epoch::refresh(shard, turn, group, Bump::Always);
    } else {
        maintain(shard, turn, group);
    }
    if names_changed || pattern_changed { Subscribed::Anew } else { Subscribed::AsBefore }
}

/// Drops what only this member's old pattern matched, and matches its new one unless another member has it too.
fn follow(turn: &mut GroupTurn<'_>, group: &GroupId, old: Option<String>, new: Option<String>) {
    fencing::forget_unused(turn, group, old.into_iter().collect());
    let known = consumer_group(turn.hard(), group.as_str());
    let is_unresolved =
        |pattern: &String| known.is_none_or(|group| !group.resolved.contains_key(pattern));
    let unresolved = new.into_iter().filter(is_unresolved).collect();
    epoch::resolve(turn, group, unresolved);
}

/// What a heartbeat does for its group whatever it says: matches patterns with new topics, and looks whether subscribed
/// topics have changed. Costs nothing unless one of them is due.
fn maintain(shard: &mut Groups, turn: &mut GroupTurn<'_>, id: &GroupId) {
    let matched_anew = match patterns_due(shard, turn, id) {
        Some(patterns) => epoch::resolve(turn, id, patterns),
        None => false,
    };
    if matched_anew || sessions(shard, id).refresh_metadata {
        epoch::refresh(shard, turn, id, Bump::when(matched_anew));
    }
}

/// All patterns of the group, if it is time to match them: some never were, topics have changed, or it was long ago.
fn patterns_due(shard: &Groups, turn: &GroupTurn<'_>, id: &GroupId) -> Option<Vec<String>> {
    let group = consumer_group(turn.hard(), id.as_str())?;
    let now_ms = turn.now.wall.get();
    let last = group.resolved.values().next();
    let last_ms = last.map_or(i64::MIN, |last| last.timestamp.get());
    if group.patterns().len() == 0 || now_ms <= last_ms.saturating_add(PATTERN_REFRESH_MIN_MS) {
        return None;
    }
    let interval_ms = i64::from(shard.settings.consumer_regex_refresh_interval_ms);
    let is_due = group.patterns().len() != group.resolved.len()
        || last.is_some_and(|last| last.version < shard.consumer_topics.changed_at)
        || now_ms > last_ms.saturating_add(interval_ms);
    is_due.then(|| group.patterns().map(str::to_owned).collect())
}

/// The assignor of the next target.
fn preferred_assignor(shard: &Groups, turn: &GroupTurn<'_>, group: &GroupId) -> Option<String> {
    let known = &shard.settings.consumer_assignors;
    let group = consumer_group(turn.hard(), group.as_str());
    let preferred = group.and_then(|group| group.preferred_assignor(known));
    preferred.or(known.first().map(String::as_str)).map(str::to_owned)
}

/// True if the heartbeat says nothing new, as most do.
fn says_the_same(known: &ConsumerMemberValue, call: &Call<ConsumerGroupHeartbeatRequest>) -> bool {
    let (request, client) = (&call.request, &call.client);
    let same = |said: Option<&str>, known: Option<&str>| said.is_none() || said == known;
    let instance = known.instance_id.as_ref().map(InstanceId::as_str);
    known.classic.is_none()
        && *known.client_id == *client.id
        && *known.client_host == *client.host
        && same(request.instance_id.as_deref(), instance)
        && same(request.rack_id.as_deref(), known.rack_id.as_deref())
        && same(request.server_assignor.as_deref(), known.server_assignor.as_deref())
        && same(request.subscribed_topic_regex.as_deref(), known.subscribed_topic_regex.as_deref())
        && (request.rebalance_timeout_ms == -1
            || request.rebalance_timeout_ms == known.rebalance_timeout_ms)
        && request.subscribed_topic_names.as_ref().is_none_or(|names| {
            topic_names(names.iter().map(|name| name.as_str())) == known.subscribed_topic_names
        })
}

/// The subscription with what the heartbeat says of it. A member that speaks this protocol is no classic one any more.
fn heard(
    before: &ConsumerMemberValue,
    call: &Call<ConsumerGroupHeartbeatRequest>,
) -> ConsumerMemberValue {
    let (Client { id, host }, request) = (&call.client, &call.request);
    let text = |said: Option<&str>, known: &Option<String>| {
        said.map(str::to_owned).or_else(|| known.clone())
    };
    let names = request.subscribed_topic_names.as_ref();
    let instance = request.instance_id.as_deref().map(InstanceId::new);
    ConsumerMemberValue {
        instance_id: instance.or_else(|| before.instance_id.clone()),
        rack_id: text(request.rack_id.as_deref(), &before.rack_id),
        client_id: id.to_string(),
        client_host: host.to_string(),
        subscribed_topic_names: names.map_or_else(
            || before.subscribed_topic_names.clone(),
            |names| topic_names(names.iter().map(|name| name.as_str())),
        ),
        subscribed_topic_regex: text(
            request.subscribed_topic_regex.as_deref(),
            &before.subscribed_topic_regex,
        ),
        rebalance_timeout_ms: match request.rebalance_timeout_ms {
            -1 => before.rebalance_timeout_ms,
            said => said,
        },
        server_assignor: text(request.server_assignor.as_deref(), &before.server_assignor),
        classic: None,
    }
}

/// Names in order, each once. What cannot be the name of a topic is left out: it never becomes one.
pub(super) fn topic_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<TopicName> {
    let mut names: Vec<_> = names.filter_map(|name| TopicName::new(name).ok()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
