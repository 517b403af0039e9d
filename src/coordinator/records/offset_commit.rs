//! Types 0 and 1: a committed offset.

use crate::types::{LeaderEpoch, Offset, Timestamp, TopicId};

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are named as in Kafka's OffsetCommitValue")]
pub struct OffsetCommitValue {
    pub offset: Offset,
    /// [`LeaderEpoch::NONE`] if the consumer did not say.
    pub leader_epoch: LeaderEpoch,
    pub metadata: String,
    pub commit_timestamp: Timestamp,
    /// Set by clients of OffsetCommit 2 to 4 that gave a retention time.
    pub expire_timestamp: Option<Timestamp>,
    /// Zero where the record was written before topics had ids in it.
    pub topic_id: TopicId,
}
