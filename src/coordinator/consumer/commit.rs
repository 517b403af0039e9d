//! Whether members may commit and read offsets (Kafka's `ConsumerGroup.validateOffsetCommit` and `validateOffsetFetch`).

use std::cmp::Ordering;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{OffsetCommitRequest, TxnOffsetCommitRequest};

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
        Ordering::Less if committed(request).all(|at| has_had(turn.image, member, at, epoch)) => {
            Ok(())
        }
        Ordering::Less | Ordering::Greater => Err(stale(member)),
    }
}

fn committed(request: &OffsetCommitRequest) -> impl Iterator<Item = (&str, i32)> {
    request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| (topic.name.as_str(), partition.partition_index))
    })
}

/// As [`check_commit`] for a commit in a transaction, where clients that name no member are taken for none, and versions do not
/// know of stale epochs.
pub(super) fn check_commit_in_transaction(
    turn: &GroupTurn<'_>,
    request: &TxnOffsetCommitRequest,
) -> Result<(), ResponseError> {
    let epoch = request.generation_id;
    let group =
        consumer_group(turn.hard(), &request.group_id).ok_or(ResponseError::IllegalGeneration)?;
    let names_nobody = request.member_id.is_empty() && request.group_instance_id.is_none();
    if epoch < 0 && group.is_empty() || epoch == -1 && names_nobody {
        return Ok(());
    }
    let member = group.member(&request.member_id).ok_or(ResponseError::UnknownMemberId)?;
    let mut partitions = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| (topic.name.as_str(), partition.partition_index))
    });
    match epoch.cmp(&member.current.epoch) {
        Ordering::Equal => Ok(()),
        Ordering::Less if partitions.all(|at| has_had(turn.image, member, at, epoch)) => Ok(()),
        Ordering::Less | Ordering::Greater => Err(ResponseError::IllegalGeneration),
    }
}

/// True if the member has had the partition since that epoch.
fn has_had(image: &Image, member: &Member, (topic, partition): (&str, i32), epoch: i32) -> bool {
    image.topic(topic).is_some_and(|known| {
        let since = member.current.held_since(TopicIdPartition::new(known.id, partition));
        since.is_some_and(|since| since <= epoch)
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
