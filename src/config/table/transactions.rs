//! Transactions, idempotent producers and share-group state.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

const SHARE_STATE: &str = "State of share groups (KIP-932), which are not built yet.";
const DEAD_LETTERS: &str = "Dead-letter topics of share groups, which are not built yet.";

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "add.partitions.to.txn.retry.backoff.max.ms": Int = "100", at_least(0), High, read_only, acts
        => "How long a write of a transaction is tried again while the one before is being ended and too many wait for that.";
    "add.partitions.to.txn.retry.backoff.ms": Int = "20", at_least(1), High, read_only, acts
        => "Wait between two such tries.";
    "errors.deadletterqueue.auto.create.topics.enable": Boolean = "false", ANY, Medium, cluster_wide, later
        => DEAD_LETTERS;
    "errors.deadletterqueue.topic.name.prefix": String = "dlq.", ANY, Medium, cluster_wide, later
        => DEAD_LETTERS;
    "producer.id.expiration.ms": Int = "86400000", at_least(1), Low, cluster_wide, acts
        => "A partition forgets an idempotent producer that has not sent for this time.";
    "share.coordinator.append.linger.ms": Int = "-1", at_least(-1), Medium, read_only, later
        => SHARE_STATE;
    "share.coordinator.cached.buffer.max.bytes": Int = "1048588", at_least(524288), Medium, cluster_wide, later
        => SHARE_STATE;
    "share.coordinator.load.buffer.size": Int = "5242880", at_least(1), High, read_only, later
        => SHARE_STATE;
    "share.coordinator.snapshot.update.records.per.snapshot": Int = "500", between(0, 500), Medium, read_only, later
        => SHARE_STATE;
    "share.coordinator.state.topic.compression.codec": Int = "0", ANY, High, read_only, later
        => SHARE_STATE;
    "share.coordinator.state.topic.min.isr": Short = "2", at_least(1), High, read_only, later
        => SHARE_STATE;
    "share.coordinator.state.topic.num.partitions": Int = "50", at_least(1), High, read_only, later
        => SHARE_STATE;
    "share.coordinator.state.topic.replication.factor": Short = "3", at_least(1), High, read_only, later
        => SHARE_STATE;
    "share.coordinator.state.topic.segment.bytes": Int = "104857600", at_least(1), High, read_only, later
        => SHARE_STATE;
    "share.coordinator.threads": Int = "1", at_least(1), Medium, read_only, not_here
        => SHARE_STATE;
    "share.coordinator.write.timeout.ms": Int = "5000", at_least(1), High, read_only, later
        => SHARE_STATE;
    "share.fetch.purgatory.purge.interval.requests": Int = "1000", ANY, Medium, read_only, later
        => SHARE_STATE;
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": Int = "10000", at_least(1), Low, read_only, not_here
        => "Every transaction has a timer of its own: one that takes too long is aborted at its time.";
    "transaction.max.timeout.ms": Int = "900000", at_least(1), High, read_only, acts
        => "The longest transaction.timeout.ms that a producer may ask for.";
    "transaction.partition.verification.enable": Boolean = "true", ANY, Low, cluster_wide, acts
        => "The first write of a transaction to a partition is let in only if its coordinator knows of it, so that no late \
            write opens a transaction that nobody ends.";
    "transaction.remove.expired.transaction.cleanup.interval.ms": Int = "3600000", at_least(1), Low, read_only, acts
        => "Time between two looks for transactional ids that have expired.";
    "transaction.state.log.load.buffer.size": Int = "5242880", at_least(1), High, read_only, not_here
        => "Size of Kafka's buffer for reading __transaction_state back; here it is read as fetches are.";
    "transaction.state.log.min.isr": Int = "2", at_least(1), High, read_only, not_here
        => "Copies of __transaction_state that must be in sync; here there is one.";
    "transaction.state.log.num.partitions": Int = "50", at_least(1), High, read_only, acts
        => "Partitions of __transaction_state. Counts when the topic is made, on first use.";
    "transaction.state.log.replication.factor": Short = "3", at_least(1), High, read_only, acts
        => "Copies of __transaction_state, no more than there are brokers: one.";
    "transaction.state.log.segment.bytes": Int = "104857600", at_least(1), High, read_only, acts
        => "Size of a segment of __transaction_state. Counts when the topic is made, on first use.";
    "transaction.two.phase.commit.enable": Boolean = "false", ANY, Low, read_only, later
        => "Two-phase commit (KIP-939), which is not built yet.";
    "transactional.id.expiration.ms": Int = "604800000", at_least(1), High, read_only, acts
        => "A transactional id without an open transaction is forgotten when its producer has not used it for this time.";
};
