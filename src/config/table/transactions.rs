//! Transactions, idempotent producers and share-group state.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "add.partitions.to.txn.retry.backoff.max.ms": Int = "100", at_least(0), High, read_only, later
        => "The maximum allowed timeout for adding partitions to transactions on the server side.";
    "add.partitions.to.txn.retry.backoff.ms": Int = "20", at_least(1), High, read_only, later
        => "The server-side retry backoff when the server attemptsto add the partition to the transaction.";
    "errors.deadletterqueue.auto.create.topics.enable": Boolean = "false", ANY, Medium, cluster_wide, later
        => "Whether automatic creation of DLQ topics is enabled (KIP-1191).";
    "errors.deadletterqueue.topic.name.prefix": String = "dlq.", ANY, Medium, cluster_wide, later
        => "The required prefix of topic names used by dead-letter queue topics for share groups.";
    "producer.id.expiration.ms": Int = "86400000", at_least(1), Low, cluster_wide, acts
        => "A partition forgets an idempotent producer that has not sent for this time.";
    "share.coordinator.append.linger.ms": Int = "-1", at_least(-1), Medium, read_only, later
        => "The duration in milliseconds that the share coordinator will wait for writes to accumulate \
            before flushing them to disk.";
    "share.coordinator.cached.buffer.max.bytes": Int = "1048588", at_least(524288), Medium, cluster_wide, later
        => "The maximum buffer size that the ShareCoordinator will retain for reuse.";
    "share.coordinator.load.buffer.size": Int = "5242880", at_least(1), High, read_only, later
        => "Batch size for reading from the share-group state topic when loading state information into the \
            cache (soft-limit, overridden if records are too large).";
    "share.coordinator.snapshot.update.records.per.snapshot": Int = "500", between(0, 500), Medium, read_only, later
        => "The number of update records the share coordinator writes between snapshot records.";
    "share.coordinator.state.topic.compression.codec": Int = "0", ANY, High, read_only, later
        => "Compression codec for the share-group state topic.";
    "share.coordinator.state.topic.min.isr": Short = "2", at_least(1), High, read_only, later
        => "Overridden min.insync.replicas for the share-group state topic.";
    "share.coordinator.state.topic.num.partitions": Int = "50", at_least(1), High, read_only, later
        => "The number of partitions for the share-group state topic (should not change after deployment).";
    "share.coordinator.state.topic.replication.factor": Short = "3", at_least(1), High, read_only, later
        => "Replication factor for the share-group state topic.";
    "share.coordinator.state.topic.segment.bytes": Int = "104857600", at_least(1), High, read_only, later
        => "The log segment size for the share-group state topic.";
    "share.coordinator.threads": Int = "1", at_least(1), Medium, read_only, not_here
        => "The number of threads used by the share coordinator.";
    "share.coordinator.write.timeout.ms": Int = "5000", at_least(1), High, read_only, later
        => "The duration in milliseconds that the share coordinator will wait for all replicas of the share- \
            group state topic to receive a write.";
    "share.fetch.purgatory.purge.interval.requests": Int = "1000", ANY, Medium, read_only, later
        => "The purge interval (in number of requests) of the share fetch request purgatory.";
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": Int = "10000", at_least(1), Low, read_only, later
        => "The interval at which to rollback transactions that have timed out.";
    "transaction.max.timeout.ms": Int = "900000", at_least(1), High, read_only, later
        => "The maximum allowed timeout for transactions.";
    "transaction.partition.verification.enable": Boolean = "true", ANY, Low, cluster_wide, not_here
        => "Enable verification that checks that the partition has been added to the transaction before \
            writing transactional records to the partition.";
    "transaction.remove.expired.transaction.cleanup.interval.ms": Int = "3600000", at_least(1), Low, read_only, later
        => "The interval at which to remove transactions that have expired due to \
            transactional.id.expiration.ms passing.";
    "transaction.state.log.load.buffer.size": Int = "5242880", at_least(1), High, read_only, later
        => "Batch size for reading from the transaction log segments when loading producer ids and \
            transactions into the cache (soft-limit, overridden if records are too large).";
    "transaction.state.log.min.isr": Int = "2", at_least(1), High, read_only, later
        => "The minimum number of replicas that must acknowledge a write to transaction topic in order to be \
            considered successful.";
    "transaction.state.log.num.partitions": Int = "50", at_least(1), High, read_only, later
        => "The number of partitions for the transaction topic (should not change after deployment).";
    "transaction.state.log.replication.factor": Short = "3", at_least(1), High, read_only, later
        => "The replication factor for the transaction topic (set higher to ensure availability).";
    "transaction.state.log.segment.bytes": Int = "104857600", at_least(1), High, read_only, later
        => "The transaction topic segment bytes should be kept relatively small in order to facilitate \
            faster log compaction and cache loads.";
    "transaction.two.phase.commit.enable": Boolean = "false", ANY, Low, read_only, later
        => "Allow participation in Two-Phase Commit (2PC) transactions with an external transaction \
            coordinator.";
    "transactional.id.expiration.ms": Int = "604800000", at_least(1), High, read_only, later
        => "The time in ms that the transaction coordinator will wait without receiving any transaction \
            status updates for the current transaction before expiring its transactional id.";
};
