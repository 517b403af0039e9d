//! Identity, metadata quorum, replication and quotas.

use super::super::setting::{Setting, settings};
use super::super::valid::*;

/// The rows, by name.
pub(super) const ROWS: &[Setting] = settings! {
    "alter.log.dirs.replication.quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => "The number of samples to retain in memory for alter log dirs replication quotas.";
    "alter.log.dirs.replication.quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => "The time span of each sample for alter log dirs replication quotas.";
    "auto.leader.rebalance.enable": Boolean = "true", ANY, High, read_only, not_here
        => "Enables auto leader balancing.";
    "broker.heartbeat.interval.ms": Int = "2000", ANY, Medium, read_only, not_here
        => "The length of time in milliseconds between broker heartbeats.";
    "broker.id": Int = "-1", ANY, High, read_only, acts
        => "The old name of node.id.";
    "broker.rack": String = null, ANY, Medium, read_only, acts
        => "Rack of this broker, told to clients and shown in metadata.";
    "broker.session.timeout.ms": Int = "9000", ANY, Medium, read_only, not_here
        => "The length of time in milliseconds that a broker lease lasts if no heartbeats are made.";
    "client.quota.callback.class": Class = null, ANY, Low, read_only, later
        => "The fully qualified name of a class that implements the ClientQuotaCallback interface, which is \
            used to determine quota limits applied to client requests.";
    "config.providers": List = "", ANY, Low, cluster_wide, not_here
        => "Comma-separated alias names for classes implementing the ConfigProvider interface.";
    "controlled.shutdown.enable": Boolean = "true", ANY, Medium, read_only, not_here
        => "Enable controlled shutdown of the server.";
    "controller.quorum.append.linger.ms": Int = "25", at_least(0), Medium, read_only, not_here
        => "The duration in milliseconds that the leader will wait for writes to accumulate before flushing \
            them to disk.";
    "controller.quorum.auto.join.enable": Boolean = "false", ANY, Low, read_only, not_here
        => "Controls whether a KRaft controller should automatically join the cluster metadata partition for \
            its cluster id.";
    "controller.quorum.bootstrap.servers": List = "", ANY, High, read_only, not_here
        => "List of endpoints to use for bootstrapping the cluster metadata.";
    "controller.quorum.election.backoff.max.ms": Int = "1000", at_least(0), High, read_only, not_here
        => "Maximum time in milliseconds before starting new elections.";
    "controller.quorum.election.timeout.ms": Int = "1000", at_least(0), High, read_only, not_here
        => "Maximum time in milliseconds to wait without being able to fetch from the leader before \
            triggering a new election.";
    "controller.quorum.fetch.max.bytes": Int = "1048576", at_least(1), Low, read_only, not_here
        => "Maximum amount of data to retrieve for each Fetch request.";
    "controller.quorum.fetch.snapshot.max.bytes": Int = "1048576", at_least(1), Low, read_only, not_here
        => "Maximum amount of data to retrieve for each FetchSnapshot request to the controller.";
    "controller.quorum.fetch.timeout.ms": Int = "2000", at_least(0), High, read_only, not_here
        => "Maximum time without a successful fetch from the current leader before becoming a candidate and \
            triggering an election for voters; Maximum time a leader can go without receiving valid fetch or \
            fetchSnapshot request from a majority of the quorum before resigning.";
    "controller.quorum.request.timeout.ms": Int = "2000", at_least(0), Medium, read_only, not_here
        => "The configuration controls the maximum amount of time the client will wait for the response of a \
            request.";
    "controller.quorum.retry.backoff.ms": Int = "20", at_least(0), Low, read_only, not_here
        => "The amount of time to wait before attempting to retry a failed request to a given topic \
            partition.";
    "controller.quorum.voters": List = "", ANY, High, read_only, not_here
        => "Map of id/endpoint information for the set of voters in a comma-separated list of \
            {id}@{host}:{port} entries.";
    "controller.quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => "The number of samples to retain in memory for controller mutation quotas.";
    "controller.quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => "The time span of each sample for controller mutations quotas.";
    "controller.socket.timeout.ms": Int = "30000", ANY, Medium, read_only, not_here
        => "The socket timeout for controller-to-broker channels.";
    "initial.broker.registration.timeout.ms": Int = "60000", ANY, Medium, read_only, not_here
        => "When initially registering with the controller quorum, the number of milliseconds to wait before \
            declaring failure and exiting the broker process.";
    "leader.imbalance.check.interval.seconds": Long = "300", at_least(1), High, read_only, not_here
        => "The frequency with which the partition rebalance check is triggered by the controller.";
    "metadata.log.dir": String = null, ANY, High, read_only, acts
        => "Which of log.dirs holds the metadata log; the first unless set. A directory outside log.dirs is \
            refused.";
    "metadata.log.max.record.bytes.between.snapshots": Long = "20971520", at_least(1), High, read_only, acts
        => "Bytes of metadata records after which a snapshot is written.";
    "metadata.log.max.snapshot.interval.ms": Long = "3600000", at_least(0), High, read_only, later
        => "This is the maximum number of milliseconds to wait to generate a snapshot if there are committed \
            records in the log that are not included in the latest snapshot.";
    "metadata.log.segment.bytes": Int = "1073741824", at_least(8388608), High, read_only, not_here
        => "The maximum size of a single metadata log file.";
    "metadata.log.segment.ms": Long = "604800000", ANY, High, read_only, not_here
        => "The maximum time before a new metadata log file is rolled out (in milliseconds).";
    "metadata.max.idle.interval.ms": Int = "500", at_least(0), Low, read_only, not_here
        => "This configuration controls how often the active controller should write no-op records to the \
            metadata partition.";
    "metadata.max.retention.bytes": Long = "104857600", ANY, High, read_only, later
        => "The maximum combined size of the metadata log and snapshots before deleting old snapshots and \
            log files.";
    "metadata.max.retention.ms": Long = "604800000", ANY, High, read_only, later
        => "The number of milliseconds to keep a metadata log file or snapshot before deleting it.";
    "node.id": Int = null, at_least(0), High, read_only, acts
        => "Number of this node; also written to a new log directory, which then belongs to it. 1 unless set, \
            or what the log directory says.";
    "num.replica.fetchers": Int = "1", at_least(1), High, cluster_wide, not_here
        => "Number of fetcher threads used to replicate records from each source broker.";
    "process.roles": List = null, list_of(&["broker", "controller"]), High, read_only, acts
        => "What this process does: 'broker', 'controller' or both. Here the broker keeps the metadata itself, \
            so 'controller' alone is refused.";
    "quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => "The number of samples to retain in memory for client quotas.";
    "quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => "The time span of each sample for client quotas.";
    "replica.fetch.backoff.ms": Int = "1000", at_least(0), Medium, read_only, not_here
        => "The amount of time to sleep when fetch partition error occurs.";
    "replica.fetch.max.bytes": Int = "1048576", at_least(0), Medium, read_only, not_here
        => "The number of bytes of messages to attempt to fetch for each partition.";
    "replica.fetch.min.bytes": Int = "1", ANY, High, read_only, not_here
        => "Minimum bytes expected for each fetch response.";
    "replica.fetch.response.max.bytes": Int = "10485760", at_least(0), Medium, read_only, not_here
        => "Maximum bytes expected for the entire fetch response.";
    "replica.fetch.wait.max.ms": Int = "500", ANY, High, read_only, not_here
        => "The maximum wait time for each fetcher request issued by follower replicas.";
    "replica.high.watermark.checkpoint.interval.ms": Long = "5000", ANY, High, read_only, not_here
        => "All checkpoints are written together here, see log.flush.offset.checkpoint.interval.ms.";
    "replica.lag.time.max.ms": Long = "30000", ANY, High, read_only, not_here
        => "If a follower hasn't sent any fetch requests or hasn't consumed up to the leader's log end \
            offset for at least this time, the leader will remove the follower from ISR.";
    "replica.selector.class": String = null, ANY, Medium, read_only, not_here
        => "The fully qualified class name that implements ReplicaSelector.";
    "replica.socket.receive.buffer.bytes": Int = "65536", ANY, High, read_only, not_here
        => "The socket receive buffer for network requests to the leader for replicating data.";
    "replica.socket.timeout.ms": Int = "30000", ANY, High, read_only, not_here
        => "The socket timeout for network requests.";
    "replication.quota.window.num": Int = "11", at_least(1), Low, read_only, later
        => "The number of samples to retain in memory for replication quotas.";
    "replication.quota.window.size.seconds": Int = "1", at_least(1), Low, read_only, later
        => "The time span of each sample for replication quotas.";
};
