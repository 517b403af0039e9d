//! Which commits make the state larger: those of an offset that is not known yet, or with metadata where there was none.

use kafka_protocol::messages::{OffsetCommitRequest, TxnOffsetCommitRequest};

use super::CommittedOffsets;
use crate::types::PartitionIndex;

/// OffsetCommit.
pub(in crate::coordinator) fn commit_grows(
    offsets: &CommittedOffsets,
    request: &OffsetCommitRequest,
) -> bool {
    request.topics.iter().any(|topic| {
        topic.partitions.iter().any(|at| {
            let metadata = at.committed_metadata.as_deref();
            is_more(offsets, (&request.group_id, &topic.name, at.partition_index), metadata)
        })
    })
}

/// TxnOffsetCommit. What is known already may be committed: it takes memory until its transaction ends.
pub(in crate::coordinator) fn transactional_commit_grows(
    offsets: &CommittedOffsets,
    request: &TxnOffsetCommitRequest,
) -> bool {
    request.topics.iter().any(|topic| {
        topic.partitions.iter().any(|at| {
            let metadata = at.committed_metadata.as_deref();
            is_more(offsets, (&request.group_id, &topic.name, at.partition_index), metadata)
        })
    })
}

fn is_more(
    offsets: &CommittedOffsets,
    (group, topic, partition): (&str, &str, i32),
    metadata: Option<&str>,
) -> bool {
    let known = offsets.get(group, topic, PartitionIndex::new(partition));
    known.is_none_or(|known| known.metadata.is_empty() && metadata.is_some_and(|m| !m.is_empty()))
}
