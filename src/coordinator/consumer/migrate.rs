//! Groups change their protocol with members in them (KIP-848, `group.consumer.migration.policy`).
//!
//! A classic group becomes one of the new protocol with the first member that speaks it; those that do not stay as they are
//! and are told of rebalances by their heartbeats. It becomes a classic group again with the last one that leaves.
//!
//! Deviation from Kafka: a member that was taken for dead and finds its group a classic one by now is told
//! `UNKNOWN_MEMBER_ID`, upon which it joins again. Kafka says `GROUP_ID_NOT_FOUND`, of which its own client dies.

use super::admission::{Caller, Visitor};
use super::embedded::{self, Malformed};
use super::error::HeartbeatError;
use super::group::ConsumerGroup;
use super::member::{Current, JOIN_EPOCH, MemberState, Named};
use super::partitions::{self, Held, Holding, Target, TopicIdPartition};
use super::{classic_members, consumer_group, metadata_hash, removal, subscription, timers};
use crate::coordinator::classic::{self, ClassicGroup};
use crate::coordinator::groups::{Client, GroupTurn, Groups, HardGroup};
use crate::coordinator::records::{
    ClassicMemberMetadata, ConsumerGroupValue, ConsumerMemberValue, GroupRecord,
    TargetAssignmentValue, TargetMemberValue,
};
use crate::coordinator::{GroupId, MemberId};
use crate::metadata::Image;
use crate::types::Timestamp;

/// Makes sure that the group is one of the new protocol, or none yet that a join may make.
pub(super) fn open(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    caller: &Caller<'_>,
) -> Result<(), HeartbeatError> {
    let id = caller.group;
    let is_join = caller.request.member_epoch == JOIN_EPOCH;
    if matches!(turn.hard().groups.get(id), Some(HardGroup::Consumer(_))) {
        return Ok(());
    }
    match shard.classic.get(id) {
        None if is_join => Ok(()),
        None => Err(HeartbeatError::UnknownGroup(id.clone())),
        Some(_) if !is_join => Err(HeartbeatError::UnknownMember {
            group: id.clone(),
            member: caller.member.to_string(),
        }),
        Some(group) if group.is_empty() => {
            classic::end(shard, turn, id);
            Ok(())
        }
        Some(group) => {
            check_upgrade(shard, group, caller)?;
            let members = upgraded(turn.image, group).map_err(|reason| not_upgraded(id, reason))?;
            let generation = group.generation();
            classic::end(shard, turn, id);
            write_upgraded(turn, id, generation, members);
            Ok(())
        }
    }
}

fn not_upgraded(group: &GroupId, reason: &'static str) -> HeartbeatError {
    HeartbeatError::NotUpgraded { group: group.clone(), reason }
}

/// Its data would be lost.
const NO_CUSTOM_ASSIGNOR: &str = "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default \
                                  assignor before re-attempting the upgrade";
const MALFORMED: &str = "the embedded consumer protocol is malformed";

fn check_upgrade(
    shard: &Groups,
    group: &ClassicGroup,
    caller: &Caller<'_>,
) -> Result<(), HeartbeatError> {
    let settings = &shard.settings;
    let refused = |reason| Err(not_upgraded(caller.group, reason));
    let count = group.members().len();
    let instance = caller.request.instance_id.as_deref();
    let is_known = group.members().any(|(id, member)| {
        *id == caller.member
            || (instance.is_some() && member.instance.as_ref().map(|it| it.as_str()) == instance)
    });
    if !settings.consumer_migration.upgrades() {
        refused("online upgrade is disabled")
    } else if !group.uses_consumer_protocol() {
        refused("the group does not use the consumer embedded protocol")
    } else if count > settings.consumer_max_size {
        refused("the group size exceeds the consumer group maximum size")
    } else if count == settings.consumer_max_size && !is_known {
        Err(HeartbeatError::Full(count))
    } else {
        Ok(())
    }
}

/// A classic member as one of the new group.
struct Upgraded {
    id: MemberId,
    subscription: ConsumerMemberValue,
    assigned: Target,
}

fn upgraded(image: &Image, group: &ClassicGroup) -> Result<Vec<Upgraded>, &'static str> {
    group.members().map(|(id, member)| upgraded_member(image, group, id, member)).collect()
}

fn upgraded_member(
    image: &Image,
    group: &ClassicGroup,
    id: &MemberId,
    member: &classic::Member,
) -> Result<Upgraded, &'static str> {
    let malformed = |Malformed| MALFORMED;
    let spoken = group.protocol().and_then(|protocol| member.protocols.subscription(protocol));
    let bytes = spoken.or_else(|| member.protocols.iter().next().map(|(_, bytes)| bytes));
    let said =
        embedded::read_subscription(bytes.map_or(&[][..], |bytes| bytes)).map_err(malformed)?;
    let assigned = assigned(image, &member.assignment)?;
    let protocols = member.protocols.iter();
    let subscription = ConsumerMemberValue {
        instance_id: member.instance.clone(),
        rack_id: said.rack,
        client_id: member.client.id.to_string(),
        client_host: member.client.host.to_string(),
        subscribed_topic_names: subscription::topic_names(said.topics.iter().map(String::as_str)),
        subscribed_topic_regex: Some(String::new()),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        server_assignor: None,
        classic: Some(ClassicMemberMetadata {
            session_timeout_ms: member.session_timeout_ms,
            supported_protocols: protocols
                .map(|(name, bytes)| (name.to_string(), bytes.clone()))
                .collect(),
        }),
    };
    Ok(Upgraded { id: id.clone(), subscription, assigned })
}

/// A member that has not asked for its assignment yet has none.
fn assigned(image: &Image, bytes: &[u8]) -> Result<Target, &'static str> {
    if bytes.is_empty() {
        return Ok(Target::new());
    }
    let malformed = |Malformed| MALFORMED;
    let assignment = embedded::read_assignment(bytes).map_err(malformed)?;
    if assignment.has_user_data {
        return Err(NO_CUSTOM_ASSIGNOR);
    }
    let mut assigned = Target::new();
    for (topic, partitions) in &assignment.partitions {
        if let Some(topic) = image.topic(topic) {
            assigned.extend(partitions.iter().map(|at| TopicIdPartition::new(topic.id, *at)));
        }
    }
    assigned.sort_unstable();
    assigned.dedup();
    Ok(assigned)
}

/// The whole group in the order in which Kafka writes it: everyone has what they have, and should have that.
fn write_upgraded(turn: &mut GroupTurn<'_>, id: &GroupId, generation: i32, members: Vec<Upgraded>) {
    let group = || id.clone();
    for member in &members {
        let (member, value) = (member.id.clone(), Some(member.subscription.clone()));
        turn.write(GroupRecord::ConsumerMember { group: group(), member, value });
    }
    let topics = consumer_group(turn.hard(), id.as_str()).into_iter().flat_map(|it| it.topics());
    let topics = topics.filter_map(|(name, _)| turn.image.topic(name.as_str()));
    let metadata_hash = metadata_hash::of_group(turn.image, topics);
    let value = Some(ConsumerGroupValue { epoch: generation, metadata_hash });
    turn.write(GroupRecord::ConsumerGroup { group: group(), value });
    for member in &members {
        let topic_partitions = partitions::target_to_record(&member.assigned);
        let (member, value) = (member.id.clone(), Some(TargetMemberValue { topic_partitions }));
        turn.write(GroupRecord::TargetMember { group: group(), member, value });
    }
    let value = Some(TargetAssignmentValue {
        assignment_epoch: generation,
        assignment_timestamp: Timestamp::new(0),
    });
    turn.write(GroupRecord::TargetAssignment { group: group(), value });
    for Upgraded { id: member, subscription, assigned } in members {
        let since_epoch = generation;
        let assigned: Holding = assigned.into_iter().map(|at| Held { at, since_epoch }).collect();
        let (epoch, previous_epoch) = (generation, generation);
        let state = MemberState::Stable;
        let pending_revocation = Holding::new();
        let current = Current { epoch, previous_epoch, state, assigned, pending_revocation };
        let value = Some(current.to_record());
        let session_ms = subscription.classic.map_or(0, |classic| classic.session_timeout_ms);
        timers::start_session(turn, id, &member, session_ms);
        turn.write(GroupRecord::CurrentAssignment { group: group(), member, value });
    }
}

/// Makes it a classic group, if those who stay after `leaving` all speak that protocol and it may be one.
pub(super) fn downgraded(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    group: &GroupId,
    leaving: &[MemberId],
) -> bool {
    let is_due = may_be_classic(shard, turn, group, leaving, leaving.len());
    if is_due {
        downgrade(shard, turn, group, leaving, true);
    }
    is_due
}

/// True if a static member that goes over to the classic protocol leaves none behind that speaks the new one.
pub(super) fn is_last_to_come_back(
    shard: &Groups,
    turn: &GroupTurn<'_>,
    group: &GroupId,
    visitor: &Visitor,
) -> bool {
    let Some(known) = consumer_group(turn.hard(), group.as_str()) else { return false };
    let before = match visitor {
        Visitor::Replaces { old, .. } => old,
        Visitor::Member(id) => id,
        Visitor::New(_) => return false,
    };
    let is_static = known.member(before.as_str()).is_some_and(|it| it.instance().is_some());
    is_static && may_be_classic(shard, turn, group, std::slice::from_ref(before), 0)
}

/// Whether all members but `except` speak the classic protocol, and the group without `leaving` of them may be one of it.
fn may_be_classic(
    shard: &Groups,
    turn: &GroupTurn<'_>,
    group: &GroupId,
    except: &[MemberId],
    leaving: usize,
) -> bool {
    let Some(known) = consumer_group(turn.hard(), group.as_str()) else { return false };
    let others_are_classic =
        known.members().all(|(id, member)| member.is_classic() || except.contains(id));
    let staying = known.members().len().saturating_sub(leaving);
    let settings = &shard.settings;
    others_are_classic
        && staying > 0
        && staying <= settings.group_max_size
        && settings.consumer_migration.downgrades()
}

/// Puts a classic group in its place: everyone has what they should have had. With a rebalance, they are told to join again.
pub(super) fn downgrade(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    id: &GroupId,
    leaving: &[MemberId],
    must_rebalance: bool,
) {
    let Some(group) = consumer_group(turn.hard(), id.as_str()) else { return };
    let generation = group.epoch;
    let all: Vec<_> = group.members().map(|(member, _)| member.clone()).collect();
    let staying = group.members().filter(|(member, _)| !leaving.contains(member));
    let members: Vec<_> =
        staying.filter_map(|member| downgraded_member(turn.image, group, member)).collect();
    for member in &all {
        timers::stop(turn, id, member);
    }
    removal::write(turn, id);
    shard.consumer.remove(id);
    classic::begin(shard, turn, id, generation, members);
    if must_rebalance {
        classic::rebalance(shard, turn, id, "the group has become a classic one");
    }
}

fn downgraded_member(
    image: &Image,
    group: &ConsumerGroup,
    (id, member): Named<'_>,
) -> Option<(MemberId, classic::Member)> {
    let subscription = &member.subscription;
    let classic = subscription.classic.as_ref()?;
    let protocols = classic.supported_protocols.iter();
    let protocols = classic::Protocols::new(
        protocols.map(|(name, bytes)| (name.as_str().into(), bytes.clone())),
    );
    let client = Client {
        id: subscription.client_id.as_str().into(),
        host: subscription.client_host.as_str().into(),
    };
    let mut downgraded = classic::Member::new(client, protocols);
    downgraded.instance = member.instance().cloned();
    downgraded.rebalance_timeout_ms = subscription.rebalance_timeout_ms;
    downgraded.session_timeout_ms = classic.session_timeout_ms;
    downgraded.assignment =
        classic_members::assignment(image, classic, group.target_of(id.as_str()));
    Some((id.clone(), downgraded))
}
