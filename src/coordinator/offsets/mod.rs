//! Committed offsets (Kafka's `OffsetMetadataManager`).

use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{OffsetCommitRequest, OffsetDeleteRequest};

use super::GroupId;
use super::groups::{Call, GroupTurn, Groups};
use super::machine::{Outcome, Token};
use super::records::{GroupRecord, OffsetCommitValue};
use crate::types::{PartitionIndex, ProducerId, TopicName};

/// Committed offsets of a shard, by group, topic and partition; those of open transactions beside them.
#[derive(Debug, Default)]
pub struct CommittedOffsets {}

/// OffsetFetch for one group.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) version: i16,
    pub(super) group: OffsetFetchRequestGroup,
    pub(super) require_stable: bool,
}

impl CommittedOffsets {
    /// A committed offset, or the end of one.
    pub(super) fn apply(
        &mut self,
        group: &GroupId,
        topic: &TopicName,
        partition: PartitionIndex,
        value: Option<&OffsetCommitValue>,
    ) {
        let _ = (group, topic, partition, value);
        unimplemented!("offsets")
    }

    /// A record of an open transaction.
    pub(super) fn apply_pending(&mut self, producer: ProducerId, record: &GroupRecord) {
        let _ = (producer, record);
        unimplemented!("offsets")
    }

    /// A transaction has ended: its offsets count from now on, or never did.
    pub(super) fn apply_ended(&mut self, producer: ProducerId, outcome: Outcome) {
        let _ = (producer, outcome);
        unimplemented!("offsets")
    }
}

/// OffsetCommit: members of a group and simple consumers without one.
pub(super) fn commit(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    call: &Call<OffsetCommitRequest>,
    token: Token,
) {
    let _ = (shard, turn, call, token);
    unimplemented!("offsets")
}

/// OffsetFetch.
pub(super) fn fetch(shard: &mut Groups, turn: &mut GroupTurn<'_>, fetch: &Fetch, token: Token) {
    let _ = (shard, turn, fetch, token);
    unimplemented!("offsets")
}

/// OffsetDelete.
pub(super) fn delete(
    shard: &mut Groups,
    turn: &mut GroupTurn<'_>,
    request: &OffsetDeleteRequest,
    token: Token,
) {
    let _ = (shard, turn, request, token);
    unimplemented!("offsets")
}

/// The shard was just read: sets the timer of expiry.
pub(super) fn loaded(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let _ = (shard, turn);
    unimplemented!("offsets")
}

/// Drops offsets whose time has come, and groups that have nothing left.
pub(super) fn expire(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let _ = (shard, turn);
    unimplemented!("offsets")
}

/// Drops the offsets of topics that are gone.
pub(super) fn image_changed(shard: &mut Groups, turn: &mut GroupTurn<'_>) {
    let _ = (shard, turn);
    unimplemented!("offsets")
}
