//! Whether members may commit and read offsets (Kafka's `ConsumerGroup.validateOffsetCommit` and `validateOffsetFetch`).

use std::cmp::Ordering;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;

use super::consumer_group;
use super::member::Member;
use super::partitions::TopicIdPartition;
use crate::coordinator::groups::{Call, GroupTurn, GroupsHard};
use crate::metadata::Image;

/// Since that version OffsetCommit can tell a stale epoch.
const MEMBER_EPOCHS_SINCE: i16 = 9;

/// A commit of an older epoch counts as well, for partitions that the member has had since then (KIP-1251).
pub(super) fn check_commit(
    turn: &GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
) -> Result<(), ResponseError> {
    let request = &call.request;
    let epoch = request.generation_id_or_member_epoch;
    let group =
        consumer_group(turn.hard(), &request.group_id).ok_or(ResponseError::GroupIdNotFound)?;
    if epoch < 0 && group.is_empty() {
        return Ok(());
    }
    let member = group.member(&request.member_id).ok_or(ResponseError::UnknownMemberId)?;
    if !member.is_classic() && call.version < MEMBER_EPOCHS_SINCE {
        return Err(ResponseError::UnsupportedVersion);
    }
    match epoch.cmp(&member.current.epoch) {
        Ordering::Equal => Ok(()),
        Ordering::Less if has_had_all(turn.image, member, request) => Ok(()),
        Ordering::Less | Ordering::Greater => Err(stale(member)),
    }
}

fn has_had_all(image: &Image, member: &Member, request: &OffsetCommitRequest) -> bool {
    let epoch = request.generation_id_or_member_epoch;
    request.topics.iter().all(|topic| {
        let Some(known) = image.topic(&topic.name) else { return false };
        topic.partitions.iter().all(|partition| {
            let at = TopicIdPartition::new(known.id, partition.partition_index);
            member.current.held_since(at).is_some_and(|since| since <= epoch)
        })
    })
}

/// OffsetFetch says who asks since version 9, and admin clients never do.
pub(super) fn check_fetch(
    hard: &GroupsHard,
    request: &OffsetFetchRequestGroup,
) -> Result<(), ResponseError> {
    if request.member_id.is_none() && request.member_epoch < 0 {
        return Ok(());
    }
    let group = consumer_group(hard, &request.group_id).ok_or(ResponseError::GroupIdNotFound)?;
    let id = request.member_id.as_deref().unwrap_or_default();
    let member = group.member(id).ok_or(ResponseError::UnknownMemberId)?;
    if request.member_epoch == member.current.epoch { Ok(()) } else { Err(stale(member)) }
}

fn stale(member: &Member) -> ResponseError {
    if member.is_classic() {
        ResponseError::IllegalGeneration
    } else {
        ResponseError::StaleMemberEpoch
    }
}
