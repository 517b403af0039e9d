//! The settings in force for the broker.

use std::path::PathBuf;
use std::time::Duration;

use super::TopicSettings;
use crate::types::BrokerId;

/// When an acks=all append is acknowledged (`highwater.durability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// After the data is synced to disk; the sync in flight is the batching window.
    Fsync,
    /// After the write to the page cache, as Kafka does.
    Os,
    /// As `Os`, with a sync in the background at least this often, in time and in bytes.
    Interval {
        /// Longest time without a sync.
        every: Duration,
        /// Most bytes without a sync.
        bytes: u64,
    },
}

/// One address to listen on, and the one that clients are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name, such as `PLAINTEXT`.
    pub name: String,
    /// Host to bind; empty or `0.0.0.0` for all.
    pub host: String,
    /// Port to bind; 0 lets the system choose.
    pub port: u16,
    /// Host that Metadata answers.
    pub advertised_host: String,
    /// Port that Metadata answers; 0 means the bound one.
    pub advertised_port: u16,
}

/// The settings in force for the broker. Sizes in bytes, times in ms; fields are named as Kafka's keys.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field is the Kafka key of the same name")]
pub struct BrokerSettings {
    pub node_id: BrokerId,
    pub broker_rack: Option<String>,
    pub listeners: Vec<Listener>,
    pub log_dirs: Vec<PathBuf>,
    pub num_partitions: i32,
    pub default_replication_factor: i16,
    pub auto_create_topics_enable: bool,
    pub delete_topic_enable: bool,
    pub socket_request_max_bytes: usize,
    pub socket_send_buffer_bytes: i32,
    pub socket_receive_buffer_bytes: i32,
    pub socket_listen_backlog_size: i32,
    pub connections_max_idle_ms: i64,
    pub max_connections: usize,
    pub max_connections_per_ip: usize,
    pub fetch_max_bytes: i32,
    pub max_incremental_fetch_session_cache_slots: usize,
    pub producer_id_expiration_ms: i64,
    pub log_retention_check_interval_ms: i64,
    pub log_flush_offset_checkpoint_interval_ms: i64,
    pub num_recovery_threads_per_data_dir: usize,
    /// The one budget of bytes, `highwater.memory.bytes`.
    pub memory_bytes: usize,
    /// Address of the HTTP port (`highwater.http.listen`), off unless set.
    pub http_listen: Option<String>,
    /// What topics get that set nothing themselves.
    pub topic_defaults: TopicSettings,
}
