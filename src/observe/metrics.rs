//! The table of metrics: one row each, with its name, type and help.
//!
//! Names that dashboards already query keep them: those that the JMX exporter makes of Kafka's, in lower case
//! (`kafka_server_brokertopicmetrics_...`). What Kafka does not have is called `highwater_...`.

use super::metric::{Counter, Durations, Expose, Gauge, Label, PerApi, PerLabel, PerVersion};

/// Declares [`Metrics`] and its exposition: `field: Type = "name", "help";`
macro_rules! metrics {
    ($($field:ident: $type:ty = $name:literal, $help:literal;)*) => {
        /// All counters, gauges and histograms of one broker.
        #[derive(Debug, Default)]
        pub struct Metrics {
            $(#[doc = $help] pub $field: $type,)*
        }

        impl Metrics {
            /// Writes all of them in the text format of Prometheus.
            pub fn expose(&self, out: &mut String) {
                $(row(out, $name, $help, &self.$field);)*
            }

            /// Name and help of every row.
            #[cfg(test)]
            pub(super) const ROWS: &'static [(&'static str, &'static str)] = &[$(($name, $help)),*];
        }
    };
}

metrics! {
    requests: PerVersion = "highwater_requests_total", "Requests read, by API and version.";
    request_seconds: PerApi<Durations> = "highwater_request_duration_seconds", "Time from a request's last byte to its response's first, by API; waits included.";
    request_bytes: Counter = "highwater_request_bytes_total", "Bytes of request frames read.";
    response_bytes: Counter = "highwater_response_bytes_total", "Bytes of response frames written.";

    connections: Gauge = "kafka_server_socket_server_metrics_connection_count", "Open connections.";
    connections_accepted: Counter = "highwater_connections_accepted_total", "Connections accepted.";
    connections_refused: Counter = "highwater_connections_refused_total", "Connections refused because of a limit on connections.";
    connections_held_back: Counter = "highwater_connections_held_back_total", "Connections that waited because of max.connection.creation.rate.";
    connections_closed: PerLabel<CloseCause, Counter> = "highwater_connections_closed_total", "Connections closed by the broker, by cause.";

    messages_in: Counter = "kafka_server_brokertopicmetrics_messagesin_total", "Records appended.";
    bytes_in: Counter = "kafka_server_brokertopicmetrics_bytesin_total", "Bytes of batches appended.";
    bytes_out: Counter = "kafka_server_brokertopicmetrics_bytesout_total", "Bytes of batches sent to consumers.";
    bytes_rejected: Counter = "kafka_server_brokertopicmetrics_bytesrejected_total", "Bytes of batches refused.";
    produce_requests: Counter = "kafka_server_brokertopicmetrics_totalproducerequests_total", "Produce requests, counted for each partition.";
    produce_failed: Counter = "kafka_server_brokertopicmetrics_failedproducerequests_total", "Produce requests that failed, counted for each partition.";
    fetch_requests: Counter = "kafka_server_brokertopicmetrics_totalfetchrequests_total", "Fetch requests, counted for each partition.";
    fetch_failed: Counter = "kafka_server_brokertopicmetrics_failedfetchrequests_total", "Fetch requests that failed, counted for each partition.";

    append_batches: Counter = "highwater_append_batches_total", "Batches appended.";
    append_duplicates: Counter = "highwater_append_duplicates_total", "Batches of idempotent producers that were there already.";
    sync_seconds: Durations = "highwater_sync_duration_seconds", "Duration of syncs to disk.";
    no_room: Counter = "highwater_appends_without_room_total", "Appends refused because the disk was full or no further file could be opened; producers try again.";
    sync_failures: Counter = "highwater_sync_failures_total", "Syncs that failed; each takes its log directory offline.";
    acks_waiting: Gauge = "highwater_acks_waiting", "Produce replies that wait for a sync.";
    fetches_waiting: Gauge = "highwater_fetches_waiting", "Fetches that wait for data.";
    fetch_wait_seconds: Durations = "highwater_fetch_wait_seconds", "Time that fetches waited for data.";
    reads: PerLabel<ReadFrom, Counter> = "highwater_fetch_reads_total", "Passes over the partitions of a fetch, by where they looked.";

    coordinator_commands: PerLabel<CoordinatorOf, Counter> = "highwater_coordinator_commands_total", "Commands that coordinators carried out.";
    coordinator_bursts: PerLabel<CoordinatorOf, Counter> = "highwater_coordinator_bursts_total", "Turns of a coordinator's shard, each for all commands that had gathered.";
    coordinator_batches: PerLabel<CoordinatorOf, Counter> = "highwater_coordinator_append_batches_total", "Batches that coordinators appended, one for each turn that wrote something.";
    coordinator_records: PerLabel<CoordinatorOf, Counter> = "highwater_coordinator_append_records_total", "Records in these batches.";
    coordinator_append_failures: PerLabel<CoordinatorOf, Counter> = "highwater_coordinator_append_failures_total", "Batches that could not be appended; each has its shard read again.";
    coordinator_refusals: PerLabel<CoordinatorOf, Counter> = "highwater_coordinator_refused_commands_total", "Commands refused because coordinators have taken their part of highwater.memory.bytes.";
    coordinator_load_seconds: PerLabel<CoordinatorOf, Durations> = "highwater_coordinator_load_duration_seconds", "Time to read a shard from its log.";

    group_offset_commits: Counter = "kafka_server_group_coordinator_metrics_offset_commit_count", "Offsets committed.";
    group_offset_expirations: Counter = "kafka_server_group_coordinator_metrics_offset_expiration_count", "Committed offsets that expired.";
    group_offset_deletions: Counter = "kafka_server_group_coordinator_metrics_offset_deletion_count", "Committed offsets deleted by request, or with their group or topic.";
    group_classic_rebalances: Counter = "kafka_server_group_coordinator_metrics_group_completed_rebalance_count", "Rebalances of classic groups that were completed.";
    group_consumer_rebalances: Counter = "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count", "New epochs of groups of the consumer protocol.";

    transactions_committed: Counter = "highwater_transactions_committed_total", "Transactions whose commit was written down.";
    transactions_aborted: PerLabel<AbortCause, Counter> = "highwater_transactions_aborted_total", "Transactions whose abort was written down, by cause.";
    transactional_ids_expired: Counter = "highwater_transactional_ids_expired_total", "Transactional ids forgotten after transactional.id.expiration.ms.";

    recovery_logs_left: Gauge = "kafka_log_logmanager_remaininglogstorecover", "Logs that are still to be recovered after an unclean stop.";
    recovery_segments_left: Gauge = "kafka_log_logmanager_remainingsegmentstorecover", "Segments still to be scanned of the logs that are being recovered.";
    recovery_bytes_left: Gauge = "highwater_recovery_remaining_bytes", "Bytes still to be scanned of the logs that are being recovered.";

    segments_deleted: Counter = "highwater_segments_deleted_total", "Segments deleted by retention.";

    moves_running: Gauge = "highwater_directory_moves", "Partitions on their way to another log directory.";
    moves_made: Counter = "highwater_directory_moves_made_total", "Partitions that were moved to another log directory.";
    moves_failed: Counter = "highwater_directory_moves_failed_total", "Moves to another log directory that failed.";
    moved_bytes: Counter = "highwater_directory_moved_bytes_total", "Bytes copied for moves between log directories.";

    cleaner_max_dirty_percent: Gauge = "kafka_log_logcleanermanager_max_dirty_percent", "Dirty share of the dirtiest log when the cleaner last chose one.";
    cleaner_running: Gauge = "highwater_cleaner_running", "Logs that are being cleaned.";
    cleaner_round_seconds: Durations = "highwater_cleaner_round_duration_seconds", "Duration of the cleaning of a log.";
    cleaner_bytes_left: Gauge = "highwater_cleaner_remaining_bytes", "Bytes still to be read for the logs that are being cleaned; what is dirty is read twice.";
    cleaner_bytes_read: Counter = "highwater_cleaner_bytes_read_total", "Bytes of batches that the cleaner rewrote, as they were before.";
    cleaner_bytes_written: Counter = "highwater_cleaner_bytes_written_total", "Bytes of batches that were left of them.";
    cleaner_records_removed: Counter = "highwater_cleaner_records_removed_total", "Records that the cleaner removed, but for those of aborted transactions.";
    cleaner_uncleanable: PerLabel<CleaningFailure, Gauge> = "kafka_log_logcleanermanager_uncleanable_partitions_count", "Partitions whose cleaning failed, which are not cleaned before the next start, by reason.";
}

fn row<T: Expose>(out: &mut String, name: &str, help: &str, metric: &T) {
    header(out, name, T::TYPE, help);
    metric.expose(name, "", out);
}

/// The two lines before the samples of a metric.
pub fn header(out: &mut String, name: &str, kind: &str, help: &str) {
    out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
}

/// Declares the values of a label.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident as $label:literal { $($(#[$value_doc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }

        impl Label for $name {
            const NAME: &'static str = $label;
            const ALL: &'static [Self] = &[$(Self::$value),*];

            fn index(self) -> usize {
                self as usize
            }

            fn text(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }
    };
}

label! {
    /// Why the broker closed a connection.
    CloseCause as "cause" {
        /// The bytes are no frames, or larger than socket.request.max.bytes.
        Frame = "frame",
        /// The header of a request cannot be read or names an API or version that is not served.
        Header = "header",
        /// The body of a request cannot be read, or is answered by closing.
        Request = "request",
        /// Nothing happened for connections.max.idle.ms.
        Idle = "idle",
        /// There was no room for a request in highwater.memory.bytes.
        Memory = "memory",
        /// A handler panicked.
        Panic = "panic",
    }
}

label! {
    /// Why a log cannot be cleaned.
    CleaningFailure as "reason" {
        /// A batch is damaged or cannot be read.
        Damaged = "damaged",
        /// A batch has more keys than the map may hold.
        Keys = "keys",
        /// A file cannot be read or written.
        Disk = "disk",
        /// The cleaner panicked.
        Panic = "panic",
    }
}

label! {
    /// Where a pass over the partitions of a fetch looked.
    ReadFrom as "source" {
        /// Into memory and the page cache.
        Memory = "memory",
        /// Into files as well, on the blocking pool.
        Files = "files",
    }
}

label! {
    /// Why a transaction was aborted.
    AbortCause as "cause" {
        /// Its producer asked for it.
        Client = "client",
        /// It was open for longer than its producer's transaction.timeout.ms.
        Timeout = "timeout",
        /// Another producer, or a new life of the same, has taken its transactional id.
        Fenced = "fenced",
    }
}

label! {
    /// What a coordinator coordinates.
    CoordinatorOf as "coordinator" {
        /// Groups and committed offsets.
        Groups = "group",
        /// Transactions.
        Transactions = "transaction",
    }
}
