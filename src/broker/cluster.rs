//! What clients are told about the cluster: the node's address, who may do what, which partitions have a leader.

use super::Broker;
use crate::metadata::PartitionState;
use crate::types::BrokerId;

/// Answer where operations are not asked for (`Integer.MIN_VALUE`).
pub const OPERATIONS_NOT_ASKED: i32 = i32::MIN;

/// Operations on a topic, one bit per Kafka `AclOperation` code, all allowed: read, write, create, delete, alter, describe,
/// describe configs, alter configs (`AclEntry.supportedOperations`).
pub const TOPIC_OPERATIONS: i32 =
    bits(&[READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS]);

/// Operations on the cluster, all allowed: create, alter, describe, cluster action, describe configs, alter configs,
/// idempotent write.
pub const CLUSTER_OPERATIONS: i32 = bits(&[
    CREATE,
    ALTER,
    DESCRIBE,
    CLUSTER_ACTION,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    IDEMPOTENT_WRITE,
]);

/// Operations on a group, all allowed: read, delete, describe, describe configs, alter configs.
pub const GROUP_OPERATIONS: i32 = bits(&[READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS]);

const READ: u32 = 3;
const WRITE: u32 = 4;
const CREATE: u32 = 5;
const DELETE: u32 = 6;
const ALTER: u32 = 7;
const DESCRIBE: u32 = 8;
const CLUSTER_ACTION: u32 = 9;
const DESCRIBE_CONFIGS: u32 = 10;
const ALTER_CONFIGS: u32 = 11;
const IDEMPOTENT_WRITE: u32 = 12;

const fn bits(operations: &[u32]) -> i32 {
    let mut sum = 0;
    let mut at = 0;
    while at < operations.len() {
        sum |= 1 << operations[at];
        at += 1;
    }
    sum
}

/// Where clients reach this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint<'a> {
    /// Host name or address.
    pub host: &'a str,
    /// Port.
    pub port: u16,
}

impl Broker {
    /// Where a client that came in on this listener reaches this node: the advertised address.
    pub fn endpoint(&self, listener: usize) -> Endpoint<'_> {
        let listener = &self.settings.listeners[listener];
        let port = match listener.advertised_port {
            0 => listener.port,
            told => told,
        };
        Endpoint { host: &listener.advertised_host, port }
    }

    /// Who leads a partition: this node, if the log directory works that the partition lies in.
    pub fn leadership(&self, partition: &PartitionState) -> PartitionLeadership {
        let node = self.settings.node_id;
        let served = self.partitions.placement().serves(partition.directory_of(node));
        leadership(node, partition, if served { Directory::Online } else { Directory::Offline })
    }
}

/// The log directory of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directory {
    Online,
    Offline,
}

/// A partition as this node, the only one alive, sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionLeadership {
    /// Whether clients can use it.
    pub state: LeaderState,
    /// The leader, or -1.
    pub leader: BrokerId,
    /// Replicas on nodes that are not alive, or in log directories that do not work.
    pub offline_replicas: Vec<BrokerId>,
}

/// Whether a partition can be used (Kafka's `KRaftMetadataCache.partitionMetadata`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderState {
    /// NONE.
    Led,
    /// LEADER_NOT_AVAILABLE: its leader is another node or none.
    NoLeader,
}

/// Who leads a partition, given that `node` is the only one alive.
fn leadership(
    node: BrokerId,
    partition: &PartitionState,
    directory: Directory,
) -> PartitionLeadership {
    let is_online = |replica: BrokerId| replica == node && directory == Directory::Online;
    let led = partition.leader == node && is_online(node);
    PartitionLeadership {
        state: if led { LeaderState::Led } else { LeaderState::NoLeader },
        leader: if led { node } else { BrokerId::new(-1) },
        offline_replicas: partition.replicas.iter().copied().filter(|&b| !is_online(b)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::LeaderEpoch;

    fn partition(leader: i32, replicas: &[i32]) -> PartitionState {
        let replicas: Vec<BrokerId> = replicas.iter().copied().map(BrokerId::new).collect();
        PartitionState {
            isr: replicas.clone(),
            replicas,
            leader: BrokerId::new(leader),
            leader_epoch: LeaderEpoch::new(0),
            partition_epoch: 0,
            directories: Vec::new(),
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            leader_recovery_state: 0,
            eligible_leader_replicas: Vec::new(),
            last_known_elr: Vec::new(),
        }
    }

    /// 3576, 8096 and 3400 are what Kafka 4.4.0 answers without an authorizer.
    #[test]
    fn operations_are_kafkas_bit_sets() {
        assert_eq!(TOPIC_OPERATIONS, 3576);
        assert_eq!(CLUSTER_OPERATIONS, 8096);
        assert_eq!(GROUP_OPERATIONS, 3400);
    }

    #[test]
    fn a_partition_led_by_a_node_that_is_not_there_has_no_leader() {
        let node = BrokerId::new(1);
        let leadership =
            |node, partition: &PartitionState| leadership(node, partition, Directory::Online);
        assert_eq!(leadership(node, &partition(1, &[1])).state, LeaderState::Led);
        let elsewhere = leadership(node, &partition(2, &[2, 1]));
        assert_eq!(elsewhere.state, LeaderState::NoLeader);
        assert_eq!(elsewhere.leader, BrokerId::new(-1));
        assert_eq!(elsewhere.offline_replicas, [BrokerId::new(2)]);
        assert_eq!(leadership(node, &partition(-1, &[1])).state, LeaderState::NoLeader);
    }

    #[test]
    fn a_partition_in_a_directory_that_failed_has_no_leader_and_an_offline_replica() {
        let node = BrokerId::new(1);
        let offline = leadership(node, &partition(1, &[1]), Directory::Offline);
        assert_eq!(offline.state, LeaderState::NoLeader);
        assert_eq!(offline.leader, BrokerId::new(-1));
        assert_eq!(offline.offline_replicas, [node]);
    }
}
