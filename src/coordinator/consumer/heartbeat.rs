//! ConsumerGroupHeartbeat: join, stay, leave.
//!
//! A heartbeat first finds out who it is from, which may refuse it and changes nothing. Then, each step on what the one before
//! has written: the subscription and with it the group's epoch, the target of that epoch, the member's next step towards it.

use kafka_protocol::messages::consumer_group_heartbeat_response::{Assignment, TopicPartitions};
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid as WireUuid;

use super::admission::{self, Caller, Visitor};
use super::error::HeartbeatError;
use super::member::{JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH};
use super::partitions::{self, Held};
use super::{
    consumer_group, fencing, limits_of, migrate, progress, static_members, subscription, target,
    timers, validate,
};
use crate::coordinator::groups::{Call, GroupReply, GroupSettings, GroupTurn, Groups};
use crate::coordinator::machine::Token;
use crate::coordinator::{GroupId, MemberId};

type Request = ConsumerGroupHeartbeatRequest;
type Response = ConsumerGroupHeartbeatResponse;

pub(super) fn heartbeat(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<Request>,
    token: Token,
) {
    let response = answer(shard, turn, call).unwrap_or_else(|refused| refused.response());
    turn.answer(token, GroupReply::ConsumerHeartbeat(response));
}

fn answer(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<Request>,
) -> Result<Response, HeartbeatError> {
    validate::check(&shard.settings, call)?;
    let request = &call.request;
    let group = GroupId::new(&request.group_id);
    let member = if request.member_id.is_empty() {
        MemberId::new(&turn.new_id().to_string())
    } else {
        MemberId::new(&request.member_id)
    };
    let caller = Caller { group: &group, member, request };
    match request.member_epoch {
        LEAVE_EPOCH | STATIC_LEAVE_EPOCH => leave(shard, turn, &caller),
        _ => stay(shard, turn, call, &caller),
    }
}

fn stay(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<Request>,
    caller: &Caller<'_>,
) -> Result<Response, HeartbeatError> {
    let group = caller.group;
    if caller.request.subscribed_topic_regex.is_some() {
        check_pattern(&shard.settings, turn, caller)?;
    }
    migrate::open(shard, turn, caller)?;
    let known = consumer_group(turn.hard(), group.as_str());
    let visitor = admission::admit(&shard.settings, known, caller)?;
    if let Visitor::Replaces { old, new } = &visitor {
        static_members::replace(turn, group, old, new);
    }
    let member = visitor.id();
    let subscribed = subscription::update(shard, turn, group, &visitor, call);
    target::update(shard, turn, group);
    let owned = caller.request.topic_partitions.as_deref();
    let reported = || owned.map(|owned| partitions::reported(owned).collect());
    let moved = progress::advance(turn, group, member, reported, subscribed);
    let limits = limits_of(shard, turn, group);
    timers::start_session(turn, group, member, limits.session_timeout_ms);
    let must_tell = moved || caller.request.member_epoch == JOIN_EPOCH || is_full(caller.request);
    Ok(told(turn, group, member, must_tell)
        .with_heartbeat_interval_ms(limits.heartbeat_interval_ms))
}

/// Refuses a pattern that cannot be compiled, from those who may go on; before anything is written.
fn check_pattern(
    settings: &GroupSettings,
    turn: &GroupTurn<'_>,
    caller: &Caller<'_>,
) -> Result<(), HeartbeatError> {
    let known = consumer_group(turn.hard(), caller.group.as_str());
    match known {
        Some(_) => drop(admission::admit(settings, known, caller)?),
        None if caller.request.member_epoch == JOIN_EPOCH => {}
        // It is no member of what is not there.
        None => return Ok(()),
    }
    subscription::check_pattern(known, caller.request)
}

/// A request that says everything, as members send when they join and when they do not know what has been heard of them.
fn is_full(request: &Request) -> bool {
    request.rebalance_timeout_ms != -1
        && (request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some())
        && request.topic_partitions.is_some()
}

fn told(turn: &GroupTurn<'_>, group: &GroupId, id: &MemberId, must_tell: bool) -> Response {
    let response = Response::default().with_member_id(Some(StrBytes::from_string(id.to_string())));
    let member =
        consumer_group(turn.hard(), group.as_str()).and_then(|group| group.member(id.as_str()));
    let Some(member) = member else { return response };
    let assignment = must_tell.then(|| assignment(&member.current.assigned));
    response.with_member_epoch(member.current.epoch).with_assignment(assignment)
}

fn assignment(assigned: &[Held]) -> Assignment {
    let topic = |chunk: &[Held]| {
        TopicPartitions::default()
            .with_topic_id(WireUuid::from_bytes(chunk[0].at.topic.to_bytes()))
            .with_partitions(chunk.iter().map(|held| held.at.partition.get()).collect())
    };
    let topics = assigned.chunk_by(|a, b| a.at.topic == b.at.topic).map(topic);
    Assignment::default().with_topic_partitions(topics.collect())
}

fn leave(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    caller: &Caller<'_>,
) -> Result<Response, HeartbeatError> {
    let request = caller.request;
    let group = consumer_group(turn.hard(), caller.group.as_str())
        .ok_or_else(|| HeartbeatError::UnknownGroup(caller.group.clone()))?;
    let (id, _) = admission::leaver(group, caller)?;
    let id = id.clone();
    if request.member_epoch == STATIC_LEAVE_EPOCH && request.instance_id.is_some() {
        static_members::leave_for_a_while(turn, caller.group, &id);
    } else {
        fencing::remove(shard, turn, caller.group, &[id]);
    }
    Ok(Response::default()
        .with_member_id(Some(request.member_id.clone()))
        .with_member_epoch(request.member_epoch))
}
