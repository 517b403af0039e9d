//! The settings in force for the broker.

use std::path::PathBuf;
use std::time::Duration;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::cleaner_settings::CleanerSettings;
use super::group_overrides::check_group_bounds;
use super::layers::{Layers, Overrides, StaticValues};
use super::listeners::{self, WrongListeners};
use super::topic_settings::TopicSettings;
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

/// How batches from clients are checked (`highwater.validation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Every record is walked, compressed ones within a bound.
    Strict,
    /// Header, size and checksum only.
    Fast,
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
    /// False where nobody gave `node.id`: then the log directory decides, if it belongs to a node already.
    pub node_id_given: bool,
    /// Cluster that a new log directory is to belong to (`highwater.cluster.id`); made up unless given.
    pub cluster_id: Option<String>,
    pub broker_rack: Option<String>,
    pub listeners: Vec<Listener>,
    pub log_dirs: Vec<PathBuf>,
    /// The one of `log_dirs` that holds the metadata log.
    pub metadata_log_dir: PathBuf,
    pub metadata_log_max_record_bytes_between_snapshots: u64,
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
    pub max_connections_per_ip_overrides: HashMap<IpAddr, usize>,
    /// In a second; [`UNLIMITED_CREATION_RATE`] for any number.
    pub max_connection_creation_rate: u32,
    /// The same for each listener alone, in the order of `listeners`.
    pub listener_creation_rates: Vec<u32>,
    pub max_request_partition_size_limit: usize,
    pub fetch_max_bytes: i32,
    pub max_incremental_fetch_session_cache_slots: usize,
    pub producer_id_expiration_ms: i64,
    pub transaction_partition_verification_enable: bool,
    pub add_partitions_to_txn_retry_backoff: Duration,
    pub add_partitions_to_txn_retry_backoff_max: Duration,
    pub log_retention_check_interval_ms: i64,
    pub log_flush_offset_checkpoint_interval_ms: i64,
    pub num_recovery_threads_per_data_dir: usize,
    pub cleaner: CleanerSettings,
    /// The one budget of bytes, `highwater.memory.bytes`.
    pub memory_bytes: usize,
    /// How batches from clients are checked (`highwater.validation`).
    pub validation: Validation,
    /// Filter for log lines (`highwater.log.level`).
    pub log_level: String,
    /// Address of the HTTP port (`highwater.http.listen`), off unless set.
    pub http_listen: Option<String>,
    /// What topics get that set nothing themselves.
    pub topic_defaults: TopicSettings,
    /// What the broker was started with, for DescribeConfigs and for the settings of topics.
    pub statics: Arc<StaticValues>,
}

/// What is wrong with a setting or with several together; its value alone was acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) key: &'static str,
    pub(super) reason: String,
}

const PARTITION_VERIFICATION: &str = "transaction.partition.verification.enable";

impl Default for BrokerSettings {
    /// What a broker without file, variables and flags gets.
    fn default() -> Self {
        super::load(super::Sources::default()).expect("the defaults are valid").settings
    }
}

impl BrokerSettings {
    /// The settings that `layers` give.
    pub(super) fn resolve(layers: Layers<'_>, host_name: &str) -> Result<Self, Conflict> {
        check_roles(layers)?;
        check_group_bounds(layers)?;
        Ok(Self {
            listeners: listeners::resolve(layers, host_name)?,
            max_connections_per_ip_overrides: per_ip_overrides(layers)?,
            node_id: node_id(layers)?,
            node_id_given: NODE_ID_KEYS.iter().any(|key| layers.statics.get(key).is_some()),
            cluster_id: layers.text("highwater.cluster.id"),
            broker_rack: layers.text("broker.rack"),
            metadata_log_dir: metadata_log_dir(layers),
            metadata_log_max_record_bytes_between_snapshots: layers
                .number("metadata.log.max.record.bytes.between.snapshots")
                .unsigned_abs(),
            log_dirs: log_dirs(layers),
            num_partitions: layers.int("num.partitions"),
            default_replication_factor: replication_factor(layers)?,
            auto_create_topics_enable: layers.flag("auto.create.topics.enable"),
            delete_topic_enable: layers.flag("delete.topic.enable"),
            socket_request_max_bytes: layers.size("socket.request.max.bytes"),
            socket_send_buffer_bytes: layers.int("socket.send.buffer.bytes"),
            socket_receive_buffer_bytes: layers.int("socket.receive.buffer.bytes"),
            socket_listen_backlog_size: layers.int("socket.listen.backlog.size"),
            connections_max_idle_ms: layers.number("connections.max.idle.ms"),
            max_connections: layers.size("max.connections"),
            max_connections_per_ip: layers.size("max.connections.per.ip"),
            max_connection_creation_rate: creation_rate(layers),
            listener_creation_rates: Vec::new(),
            max_request_partition_size_limit: layers.size("max.request.partition.size.limit"),
            fetch_max_bytes: layers.int("fetch.max.bytes"),
            max_incremental_fetch_session_cache_slots: layers
                .size("max.incremental.fetch.session.cache.slots"),
            producer_id_expiration_ms: layers.number("producer.id.expiration.ms"),
            transaction_partition_verification_enable: layers.flag(PARTITION_VERIFICATION),
            add_partitions_to_txn_retry_backoff: millis(
                layers,
                "add.partitions.to.txn.retry.backoff.ms",
            ),
            add_partitions_to_txn_retry_backoff_max: millis(
                layers,
                "add.partitions.to.txn.retry.backoff.max.ms",
            ),
            log_retention_check_interval_ms: layers.number("log.retention.check.interval.ms"),
            log_flush_offset_checkpoint_interval_ms: layers
                .number("log.flush.offset.checkpoint.interval.ms"),
            num_recovery_threads_per_data_dir: layers.size("num.recovery.threads.per.data.dir"),
            cleaner: CleanerSettings::resolve(layers),
            memory_bytes: layers.size("highwater.memory.bytes"),
            validation: validation(layers),
            log_level: layers.text("highwater.log.level").unwrap_or_default(),
            http_listen: http_listen(layers)?,
            topic_defaults: topic_defaults(layers)?,
            statics: Arc::new(layers.statics.clone()),
        })
    }

    /// The layers of this broker's settings, with what was changed while it runs.
    pub fn layers<'a>(&'a self, broker: &'a Overrides, cluster: &'a Overrides) -> Layers<'a> {
        Layers { broker, cluster, statics: &self.statics }
    }

    /// These settings with the ports that the system chose where they leave it open; `bound` is in the order of the
    /// listeners.
    pub fn with_bound_ports(&self, bound: &[SocketAddr]) -> Self {
        let mut settings = self.clone();
        for (listener, address) in settings.listeners.iter_mut().zip(bound) {
            listener.port = address.port();
            if listener.advertised_port == 0 {
                listener.advertised_port = address.port();
            }
        }
        settings
    }

    /// These settings with what was changed while the broker runs. What only a restart changes stays as it is.
    pub fn with_dynamic(&self, broker: &Overrides, cluster: &Overrides) -> Self {
        let layers = self.layers(broker, cluster);
        Self {
            max_connections: layers.size("max.connections"),
            max_connections_per_ip: layers.size("max.connections.per.ip"),
            max_connections_per_ip_overrides: per_ip_overrides(layers).unwrap_or_default(),
            max_connection_creation_rate: creation_rate(layers),
            listener_creation_rates: listener_creation_rates(&self.listeners, layers),
            producer_id_expiration_ms: layers.number("producer.id.expiration.ms"),
            transaction_partition_verification_enable: layers.flag(PARTITION_VERIFICATION),
            num_recovery_threads_per_data_dir: layers.size("num.recovery.threads.per.data.dir"),
            cleaner: CleanerSettings::resolve(layers),
            topic_defaults: TopicSettings::resolve(layers, &Overrides::new()),
            ..self.clone()
        }
    }
}

impl From<WrongListeners> for Conflict {
    fn from(wrong: WrongListeners) -> Self {
        Self { key: wrong.key, reason: wrong.reason }
    }
}

fn millis(layers: Layers<'_>, name: &str) -> Duration {
    Duration::from_millis(u64::try_from(layers.number(name)).unwrap_or(0))
}

fn check_roles(layers: Layers<'_>) -> Result<(), Conflict> {
    let roles = layers.list("process.roles");
    if roles.is_empty() || roles.iter().any(|role| role == "broker") {
        return Ok(());
    }
    Err(conflict(
        "process.roles",
        "a node that is a controller only has nothing to do here: metadata lives in the broker",
    ))
}

const NODE_ID_KEYS: [&str; 2] = ["node.id", "broker.id"];

/// `node.id`, or `broker.id` as files from before KRaft have it, or 1 as in Kafka's sample files.
fn node_id(layers: Layers<'_>) -> Result<BrokerId, Conflict> {
    const UNSET: i32 = -1;
    let given = |name| layers.statics.get(name).map_or(UNSET, |_| layers.int(name));
    match NODE_ID_KEYS.map(given).into() {
        (UNSET, UNSET) => Ok(BrokerId::new(1)),
        (UNSET, id) | (id, UNSET) => Ok(BrokerId::new(id)),
        (node, broker) if node == broker => Ok(BrokerId::new(node)),
        _ => Err(conflict(
            "broker.id",
            "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead.",
        )),
    }
}

fn log_dirs(layers: Layers<'_>) -> Vec<PathBuf> {
    let dirs = layers.list("log.dirs");
    let dirs = if dirs.is_empty() { layers.list("log.dir") } else { dirs };
    dirs.into_iter().map(PathBuf::from).collect()
}

/// One of the log directories, or one of its own.
fn metadata_log_dir(layers: Layers<'_>) -> PathBuf {
    let first = || log_dirs(layers).into_iter().next();
    let dir = layers.text("metadata.log.dir").map(PathBuf::from).or_else(first);
    dir.expect("the table accepts no empty log.dirs")
}

/// `host:port`, or `:port` for all addresses.
fn http_listen(layers: Layers<'_>) -> Result<Option<String>, Conflict> {
    const KEY: &str = "highwater.http.listen";
    let Some(address) = layers.text(KEY) else { return Ok(None) };
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    match port {
        Some(_) => Ok(Some(address)),
        None => Err(conflict(
            KEY,
            &format!(
                "`{address}` is no address; expected host:port, such as 127.0.0.1:9644, or :port"
            ),
        )),
    }
}

fn replication_factor(layers: Layers<'_>) -> Result<i16, Conflict> {
    const KEY: &str = "default.replication.factor";
    i16::try_from(layers.number(KEY)).map_err(|_| conflict(KEY, "it does not fit into 16 bits"))
}

const CREATION_RATE: &str = "max.connection.creation.rate";

/// A rate of connections that limits nothing.
pub const UNLIMITED_CREATION_RATE: u32 = i32::MAX.unsigned_abs();

fn creation_rate(layers: Layers<'_>) -> u32 {
    layers.int(CREATION_RATE).unsigned_abs()
}

/// Kafka's `listener.name.NAME.max.connection.creation.rate`, which only changes of a running broker set here.
fn listener_creation_rates(listeners: &[Listener], layers: Layers<'_>) -> Vec<u32> {
    let rate = |listener: &Listener| {
        let key = format!("listener.name.{}.{CREATION_RATE}", listener.name.to_lowercase());
        let text = layers.broker.get(&key).or_else(|| layers.cluster.get(&key));
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(UNLIMITED_CREATION_RATE)
    };
    listeners.iter().map(rate).collect()
}

/// `max.connections.per.ip.overrides`.
pub(super) fn per_ip_overrides(layers: Layers<'_>) -> Result<HashMap<IpAddr, usize>, Conflict> {
    const KEY: &str = "max.connections.per.ip.overrides";
    let text = layers.text(KEY).unwrap_or_default();
    let parse = |entry: &str| {
        let (ip, count) = entry.rsplit_once(':')?;
        let ip = ip.trim_matches(['[', ']']);
        Some((ip.parse().ok()?, count.trim().parse().ok()?))
    };
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| {
            parse(entry).ok_or_else(|| {
                conflict(
                    KEY,
                    &format!(
                        "`{entry}` is no pair of an IP address and a count, such as 10.0.0.1:100"
                    ),
                )
            })
        })
        .collect()
}

fn validation(layers: Layers<'_>) -> Validation {
    match layers.text("highwater.validation").as_deref() {
        Some("fast") => Validation::Fast,
        _ => Validation::Strict,
    }
}

fn topic_defaults(layers: Layers<'_>) -> Result<TopicSettings, Conflict> {
    let settings = TopicSettings::resolve(layers, &Overrides::new());
    if settings.retention_ms == 0 {
        return Err(conflict(
            "log.retention.ms",
            "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ));
    }
    Ok(settings)
}

fn conflict(key: &'static str, reason: &str) -> Conflict {
    Conflict { key, reason: reason.to_owned() }
}
