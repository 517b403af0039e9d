//! Whether ConsumerGroupHeartbeat says what it must, whatever the group (Kafka's `GroupCoordinatorService`).

use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;

use super::error::HeartbeatError;
use super::member::{JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH};
use crate::coordinator::groups::{Call, GroupSettings};

/// Since that version members make their ids themselves.
const CLIENT_MADE_IDS_SINCE: i16 = 1;

pub(super) fn check(
    settings: &GroupSettings,
    call: &Call<ConsumerGroupHeartbeatRequest>,
) -> Result<(), HeartbeatError> {
    let request = &call.request;
    check_names(call)?;
    match request.member_epoch {
        JOIN_EPOCH => check_join(request)?,
        STATIC_LEAVE_EPOCH => {
            require(request.instance_id.is_some(), "InstanceId can't be null.")?;
        }
        epoch => require(epoch >= LEAVE_EPOCH, "MemberEpoch is invalid.")?,
    }
    check_assignor(settings, request)
}

fn check_names(call: &Call<ConsumerGroupHeartbeatRequest>) -> Result<(), HeartbeatError> {
    let request = &call.request;
    let has_id = call.version >= CLIENT_MADE_IDS_SINCE
        || request.member_epoch > JOIN_EPOCH
        || request.member_epoch == LEAVE_EPOCH;
    require(!has_id || !is_blank(&request.member_id), "MemberId can't be empty.")?;
    require(!is_blank(&request.group_id), "GroupId can't be empty.")?;
    let is_set = |name: Option<&str>| name.is_none_or(|name| !is_blank(name));
    require(is_set(request.instance_id.as_deref()), "InstanceId can't be empty.")?;
    require(is_set(request.rack_id.as_deref()), "RackId can't be empty.")
}

fn check_join(request: &ConsumerGroupHeartbeatRequest) -> Result<(), HeartbeatError> {
    require(
        request.rebalance_timeout_ms != -1,
        "RebalanceTimeoutMs must be provided in first request.",
    )?;
    require(
        request.topic_partitions.as_ref().is_some_and(Vec::is_empty),
        "TopicPartitions must be empty when (re-)joining.",
    )?;
    require(
        request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some(),
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )
}

fn check_assignor(
    settings: &GroupSettings,
    request: &ConsumerGroupHeartbeatRequest,
) -> Result<(), HeartbeatError> {
    let known = &settings.consumer_assignors;
    match request.server_assignor.as_deref() {
        Some(assignor) if !known.iter().any(|known| known == assignor) => {
            Err(HeartbeatError::UnsupportedAssignor {
                assignor: assignor.to_owned(),
                known: known.join(", "),
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn require(holds: bool, otherwise: &'static str) -> Result<(), HeartbeatError> {
    if holds { Ok(()) } else { Err(HeartbeatError::InvalidRequest(otherwise)) }
}

/// Kafka trims: blanks alone are empty.
fn is_blank(name: &str) -> bool {
    name.trim().is_empty()
}
