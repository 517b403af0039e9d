//! JoinGroup of a member of the classic protocol in a group of the new one.
//!
//! Such a member is one like any other; its join is what a heartbeat is for those: it says what it owns, is taken as far as
//! it can go, and then asks for what it was given with SyncGroup. The generation is its epoch.

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{JoinGroupRequest, JoinGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::admission::Visitor;
use super::embedded::{self, Subscription};
use super::group::ConsumerGroup;
use super::member::new_subscription;
use super::partitions::TopicIdPartition;
use super::subscription::{self, Change};
use super::{consumer_group, migrate, progress, removal, static_members, target, timers};
use crate::coordinator::classic::{self, answers};
use crate::coordinator::groups::{Call, GroupReply, GroupSettings, GroupTurn, Groups, Migration};
use crate::coordinator::machine::Token;
use crate::coordinator::records::{ClassicMemberMetadata, ConsumerMemberValue};
use crate::coordinator::{GroupId, InstanceId, MemberId};
use crate::metadata::Image;

/// `protocol.type` of consumers.
pub(super) const PROTOCOL_TYPE: &str = "consumer";
/// Since this version a new dynamic member is first given an id, and joins with it (KIP-394).
const KNOWN_ID_SINCE: i16 = 4;

/// Why the join is answered with an error.
struct Refused {
    /// What the member goes by from now on.
    member: String,
    error: ResponseError,
}

/// A join that nothing speaks against.
struct Joining {
    visitor: Visitor,
    subscription: Subscription,
}

pub(super) fn join(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: Call<JoinGroupRequest>,
    token: Token,
) {
    let group = GroupId::new(&call.request.group_id);
    let is_empty = consumer_group(turn.hard(), group.as_str()).is_none_or(ConsumerGroup::is_empty);
    if is_empty {
        make_room(shard, turn, &group, &call.request);
        return classic::join(shard, turn, call, token);
    }
    let answer = match check(shard, turn, &group, &call) {
        Ok(joining) => GroupReply::Join(admit(shard, turn, &group, &call, &joining)),
        Err(Refused { member, error }) => answers::join_refused(&member, error),
    };
    turn.answer(token, answer);
}

/// A group without members makes way for a classic one as soon as somebody may make that.
fn make_room(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    request: &JoinGroupRequest,
) {
    if request.member_id.is_empty() && has_legal_session(&shard.settings, request) {
        removal::write(turn, group);
        shard.consumer.remove(group);
    }
}

fn has_legal_session(settings: &GroupSettings, request: &JoinGroupRequest) -> bool {
    let (min, max) = (settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms);
    (min..=max).contains(&request.session_timeout_ms)
}

/// Changes nothing.
fn check(
    shard: &Groups,
    turn: &GroupTurn<'_>,
    id: &GroupId,
    call: &Call<JoinGroupRequest>,
) -> Result<Joining, Refused> {
    let (settings, request) = (&shard.settings, &call.request);
    if !has_legal_session(settings, request) {
        let member = request.member_id.to_string();
        return Err(Refused { member, error: ResponseError::InvalidSessionTimeout });
    }
    // Kafka throws these, and answers what is thrown without the member's id.
    let refused = |error| Refused { member: String::new(), error };
    let group = consumer_group(turn.hard(), id.as_str())
        .ok_or_else(|| refused(ResponseError::UnknownMemberId))?;
    if settings.consumer_migration == Migration::Disabled || !speaks_with_all(group, request) {
        return Err(refused(ResponseError::InconsistentGroupProtocol));
    }
    if !has_room(settings, group, request) {
        return Err(refused(ResponseError::GroupMaxSizeReached));
    }
    let is_unknown = request.member_id.is_empty();
    let member = match is_unknown {
        true => MemberId::new(&turn.new_id().to_string()),
        false => MemberId::new(&request.member_id),
    };
    if is_unknown && request.group_instance_id.is_none() && call.version >= KNOWN_ID_SINCE {
        let error = ResponseError::MemberIdRequired;
        return Err(Refused { member: member.to_string(), error });
    }
    let first = request.protocols.first().map(|protocol| &protocol.metadata);
    let subscription = embedded::read_subscription(first.map_or(&[][..], |bytes| bytes))
        .map_err(|_| refused(ResponseError::InconsistentGroupProtocol))?;
    let visitor = visitor(group, request, member).map_err(refused)?;
    Ok(Joining { visitor, subscription })
}

/// One of the member's protocols is spoken by every classic member of the group.
fn speaks_with_all(group: &ConsumerGroup, request: &JoinGroupRequest) -> bool {
    let is_common = |name: &str| group.classic_speakers(name) == group.classic_members();
    &*request.protocol_type == PROTOCOL_TYPE
        && request.protocols.iter().any(|protocol| is_common(&protocol.name))
}

fn has_room(settings: &GroupSettings, group: &ConsumerGroup, request: &JoinGroupRequest) -> bool {
    let instance = request.group_instance_id.as_deref();
    group.members().len() < settings.consumer_max_size
        || group.member(&request.member_id).is_some()
        || instance.is_some_and(|instance| group.static_member(instance).is_some())
}

fn visitor(
    group: &ConsumerGroup,
    request: &JoinGroupRequest,
    member: MemberId,
) -> Result<Visitor, ResponseError> {
    let Some(instance) = request.group_instance_id.as_deref() else {
        return Ok(match group.named(member.as_str()) {
            Some((id, _)) => Visitor::Member(id.clone()),
            None => Visitor::New(member),
        });
    };
    match group.static_member(instance) {
        Some((old, _)) if request.member_id.is_empty() => {
            Ok(Visitor::Replaces { old: old.clone(), new: member })
        }
        None if request.member_id.is_empty() => Ok(Visitor::New(member)),
        Some((id, _)) if *id == member => Ok(Visitor::Member(id.clone())),
        Some(_) => Err(ResponseError::FencedInstanceId),
        None => Err(ResponseError::UnknownMemberId),
    }
}

fn admit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    call: &Call<JoinGroupRequest>,
    joining: &Joining,
) -> JoinGroupResponse {
    let id = joining.visitor.id();
    let becomes_classic = migrate::is_last_to_come_back(shard, turn, group, &joining.visitor);
    if let Visitor::Replaces { old, new } = &joining.visitor {
        static_members::replace(turn, group, old, new);
    }
    let known =
        consumer_group(turn.hard(), group.as_str()).and_then(|group| group.member(id.as_str()));
    let is_known = known.is_some();
    let before = known.map_or_else(new_subscription, |member| member.subscription.clone());
    let after = heard(&before, call, &joining.subscription);
    let change = Change { is_known, before, after };
    let subscribed = subscription::take_over(shard, turn, group, id, change);
    let has_target = has_target(turn, group);
    if !becomes_classic {
        target::update(shard, turn, group);
    }
    if !becomes_classic || has_target {
        let image = turn.image;
        let reported = || Some(owned(image, &joining.subscription));
        progress::advance(turn, group, id, reported, subscribed);
    }
    let response = joined(turn, group, id);
    if becomes_classic {
        migrate::downgrade(shard, turn, group, &[], !has_target);
    } else {
        timers::stop_join(turn, group, id);
        timers::start_session(turn, group, id, call.request.session_timeout_ms);
        timers::start_sync(turn, group, id, rebalance_timeout_ms(call));
    }
    response
}

/// True if the target is of the group's epoch.
fn has_target(turn: &GroupTurn<'_>, group: &GroupId) -> bool {
    let known = consumer_group(turn.hard(), group.as_str());
    known.is_some_and(|group| group.target.epoch >= group.epoch)
}

/// The subscription as the join says it.
fn heard(
    before: &ConsumerMemberValue,
    call: &Call<JoinGroupRequest>,
    subscription: &Subscription,
) -> ConsumerMemberValue {
    let request = &call.request;
    let instance = request.group_instance_id.as_deref().map(InstanceId::new);
    let copied = |bytes: &Bytes| Bytes::copy_from_slice(bytes);
    let protocols = request.protocols.iter();
    ConsumerMemberValue {
        instance_id: instance.or_else(|| before.instance_id.clone()),
        rack_id: subscription.rack.clone().or_else(|| before.rack_id.clone()),
        client_id: call.client.id.to_string(),
        client_host: call.client.host.to_string(),
        subscribed_topic_names: subscription::topic_names(
            subscription.topics.iter().map(String::as_str),
        ),
        subscribed_topic_regex: Some(String::new()),
        rebalance_timeout_ms: match rebalance_timeout_ms(call) {
            -1 => before.rebalance_timeout_ms,
            said => said,
        },
        server_assignor: before.server_assignor.clone(),
        classic: Some(ClassicMemberMetadata {
            session_timeout_ms: request.session_timeout_ms,
            supported_protocols: protocols
                .map(|protocol| (protocol.name.to_string(), copied(&protocol.metadata)))
                .collect(),
        }),
    }
}

/// Version 0 has one time-out for both.
fn rebalance_timeout_ms(call: &Call<JoinGroupRequest>) -> i32 {
    match call.version {
        0 => call.request.session_timeout_ms,
        _ => call.request.rebalance_timeout_ms,
    }
}

/// What the member says it owns, as far as the topics exist.
fn owned(image: &Image, subscription: &Subscription) -> Vec<TopicIdPartition> {
    let known = |(name, partitions): &(String, Vec<i32>)| {
        let id = image.topic(name)?.id;
        Some(partitions.iter().map(move |at| TopicIdPartition::new(id, *at)).collect::<Vec<_>>())
    };
    subscription.owned.iter().filter_map(known).flatten().collect()
}

/// To a member that follows: the coordinator leads.
fn joined(turn: &GroupTurn<'_>, group: &GroupId, id: &MemberId) -> JoinGroupResponse {
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let response = JoinGroupResponse::default()
        .with_member_id(text(id.as_str()))
        .with_protocol_type(Some(StrBytes::from_static_str(PROTOCOL_TYPE)));
    let known =
        consumer_group(turn.hard(), group.as_str()).and_then(|group| group.member(id.as_str()));
    let Some(member) = known else { return response };
    let protocols = member.subscription.classic.iter().flat_map(|it| &it.supported_protocols);
    response
        .with_generation_id(member.current.epoch)
        .with_protocol_name(protocols.map(|(name, _)| text(name)).next())
}
