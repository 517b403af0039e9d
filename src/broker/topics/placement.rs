//! Where replicas go. With one node there is one place; what remains are the checks of what a request asks for (Kafka's
//! `ReplicationControlManager.validateManualPartitionAssignment` and `StripedReplicaPlacer`).

use crate::types::{BrokerId, PartitionIndex};

/// Replicas of one partition as a request names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Which partition.
    pub partition: PartitionIndex,
    /// Its replicas, the preferred leader first.
    pub replicas: Vec<BrokerId>,
}

/// Why a manual assignment is refused (INVALID_REPLICA_ASSIGNMENT); the text is Kafka's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAssignment {
    /// No replica.
    #[error("The manual partition assignment includes an empty replica list.")]
    Empty,
    /// A broker that is not there.
    #[error(
        "The manual partition assignment includes broker {0}, but no such broker is registered."
    )]
    UnknownBroker(BrokerId),
    /// A broker twice.
    #[error("The manual partition assignment includes the broker {0} more than once.")]
    Repeated(BrokerId),
    /// Partitions of one topic with different numbers of replicas.
    #[error(
        "The manual partition assignment includes a partition with {found} replica(s), but this is not consistent with \
         previous partitions, which have {before} replica(s)."
    )]
    Uneven {
        /// Of this partition.
        found: usize,
        /// Of those before it.
        before: usize,
    },
    /// One partition twice.
    #[error("Found multiple manual partition assignments for partition {0}")]
    PartitionTwice(PartitionIndex),
    /// Partitions that are not numbered 0, 1, 2, ...
    #[error("partitions should be a consecutive 0-based integer sequence")]
    Gap,
}

/// Checks the replicas of one partition; `before` is the number of replicas of the partitions before it, if any.
pub(super) fn check_replicas(
    node: BrokerId,
    replicas: &[BrokerId],
    before: Option<usize>,
) -> Result<(), InvalidAssignment> {
    if replicas.is_empty() {
        return Err(InvalidAssignment::Empty);
    }
    let mut sorted = replicas.to_vec();
    sorted.sort_unstable();
    for (at, &broker) in sorted.iter().enumerate() {
        if broker != node {
            return Err(InvalidAssignment::UnknownBroker(broker));
        }
        if at > 0 && sorted[at - 1] == broker {
            return Err(InvalidAssignment::Repeated(broker));
        }
    }
    match before {
        Some(before) if before != replicas.len() => {
            Err(InvalidAssignment::Uneven { found: replicas.len(), before })
        }
        _ => Ok(()),
    }
}

/// The replicas of each partition, by index, from a request that names them all.
pub(super) fn by_index(
    node: BrokerId,
    assignments: &[Assignment],
) -> Result<Vec<Vec<BrokerId>>, InvalidAssignment> {
    let mut placed: Vec<Option<Vec<BrokerId>>> = vec![None; assignments.len()];
    let mut gap = false;
    let mut before = None;
    for assignment in assignments {
        check_replicas(node, &assignment.replicas, before)?;
        before = Some(assignment.replicas.len());
        match usize::try_from(assignment.partition.get()).ok().and_then(|at| placed.get_mut(at)) {
            Some(Some(_)) => return Err(InvalidAssignment::PartitionTwice(assignment.partition)),
            Some(slot) => *slot = Some(assignment.replicas.clone()),
            // An index beyond the number of entries leaves a hole below it.
            None => gap = true,
        }
    }
    let placed: Option<Vec<_>> = placed.into_iter().collect();
    placed.filter(|_| !gap).ok_or(InvalidAssignment::Gap)
}
