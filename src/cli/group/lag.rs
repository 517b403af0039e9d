//! What a group has committed beside what there is.

use std::collections::BTreeMap;

use crate::cli::CommandError;
use crate::cli::session::failed;
use crate::kafka::ErrorCode;
use crate::kafka::client::{Client, CommittedOffset, ListedPartition, OffsetAt};
use crate::types::{Offset, PartitionIndex};

/// A partition of a topic, by name.
pub(super) type Named = (String, PartitionIndex);

/// First offset and end of a partition's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// First offset there is.
    pub(super) first: Offset,
    /// End of what consumers see.
    pub(super) end: Offset,
}

/// Records that a group has still to read.
pub(super) fn lag(committed: Offset, ends: Ends) -> i64 {
    // A topic that was deleted and made again ends before what was committed for the old one.
    ends.end.get().saturating_sub(committed.get()).max(0)
}

/// Committed offsets of a group as a map.
pub(super) fn by_partition(committed: Vec<CommittedOffset>) -> BTreeMap<Named, Offset> {
    committed.into_iter().map(|entry| ((entry.topic, entry.partition), entry.offset)).collect()
}

/// The ends of the partitions; those that do not exist are missing.
pub(super) async fn ends(
    client: &mut Client,
    partitions: impl IntoIterator<Item = &Named>,
) -> Result<BTreeMap<Named, Ends>, CommandError> {
    let mut by_topic: BTreeMap<&str, Vec<PartitionIndex>> = BTreeMap::new();
    for (topic, partition) in partitions {
        by_topic.entry(topic).or_default().push(*partition);
    }
    let mut all = BTreeMap::new();
    for (topic, mut partitions) in by_topic {
        partitions.sort();
        partitions.dedup();
        let first = offsets(client, topic, &partitions, OffsetAt::Earliest).await?;
        let end = offsets(client, topic, &partitions, OffsetAt::Latest).await?;
        for (partition, first) in first {
            if let Some(end) = end.get(&partition) {
                all.insert((topic.to_owned(), partition), Ends { first, end: *end });
            }
        }
    }
    Ok(all)
}

/// An offset in each of some partitions of a topic; those that do not exist are missing.
pub(super) async fn offsets(
    client: &mut Client,
    topic: &str,
    partitions: &[PartitionIndex],
    at: OffsetAt,
) -> Result<BTreeMap<PartitionIndex, Offset>, CommandError> {
    let listed = client.list_offsets(topic, partitions, at).await;
    let listed = listed.map_err(|error| failed(&error))?;
    listed.into_iter().filter_map(found).collect()
}

fn found(
    (partition, result): ListedPartition,
) -> Option<Result<(PartitionIndex, Offset), CommandError>> {
    match result {
        Ok(listed) => Some(Ok((partition, listed.offset))),
        Err(error) if error.code() == Some(ErrorCode::UnknownTopicOrPartition) => None,
        Err(error) => Some(Err(failed(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_never_negative() {
        let ends = Ends { first: Offset::new(3), end: Offset::new(10) };
        assert_eq!(lag(Offset::new(4), ends), 6);
        assert_eq!(lag(Offset::new(10), ends), 0);
        assert_eq!(lag(Offset::new(11), ends), 0);
    }
}
