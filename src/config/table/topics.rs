//! Creation and deletion of topics.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "alter.config.policy.class.name": Class = null, ANY, Low, read_only, not_here
        => "A Java class that may refuse changes of settings; Java classes are not loaded.";
    "auto.create.topics.enable": Boolean = "true", ANY, High, read_only, acts
        => "Topics that clients name and that are not there are created, if the client asks for it.";
    "create.topic.policy.class.name": Class = null, ANY, Low, read_only, not_here
        => "A Java class that may refuse new topics; Java classes are not loaded.";
    "default.replication.factor": Int = "1", ANY, Medium, read_only, acts
        => "Replicas of a topic that is created without a number. There is one broker, so more than 1 is \
            refused.";
    "delete.topic.enable": Boolean = "true", ANY, High, read_only, acts
        => "Topics may be deleted.";
    "min.insync.replicas": Int = "1", at_least(1), High, cluster_wide, acts
        => "Replicas that must have a record before acks=all is answered. There is one replica, which is \
            enough, as in Kafka.";
    "num.partitions": Int = "1", at_least(1), Medium, read_only, acts
        => "Partitions of a topic that is created without a number.";
    "unclean.leader.election.enable": Boolean = "false", ANY, High, cluster_wide, not_here
        => "Whether a replica that lacks records may lead. There is one replica.";
};
