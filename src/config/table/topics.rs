//! Creation and deletion of topics.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "alter.config.policy.class.name": Class = null, ANY, Low, read_only, not_here
        => "The alter configs policy class that should be used for validation.";
    "auto.create.topics.enable": Boolean = "true", ANY, High, read_only, acts
        => "Enable auto creation of topic on the server.";
    "create.topic.policy.class.name": Class = null, ANY, Low, read_only, not_here
        => "The create topic policy class that should be used for validation.";
    "default.replication.factor": Int = "1", ANY, Medium, read_only, acts
        => "The default replication factor per topic.";
    "delete.topic.enable": Boolean = "true", ANY, High, read_only, acts
        => "When set to true, topics can be deleted by the admin client.";
    "min.insync.replicas": Int = "1", at_least(1), High, cluster_wide, acts
        => "Specifies the minimum number of in-sync replicas (including the leader) required for a write to \
            succeed when a producer sets acks to 'all' (or '-1').";
    "num.partitions": Int = "1", at_least(1), Medium, read_only, acts
        => "The default number of log partitions per topic.";
    "unclean.leader.election.enable": Boolean = "false", ANY, High, cluster_wide, not_here
        => "Indicates whether to enable replicas not in the ISR set to be elected as leader as a last \
            resort, even though doing so may result in data loss Note: In KRaft mode, when enabling this \
            config dynamically, it needs to wait for the unclean leader election thread to trigger election \
            periodically (default is 5 minutes).";
};
