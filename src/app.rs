//! The composition root: from settings to a running broker and back.
//!
//! Start: ports bound → log directories and metadata understood → both claimed (formatted if new) → broker → connections
//! accepted. A taken port, or a directory that cannot be served, so ends the start before anything was changed. Stop is the reverse. Everything that waits for the disk runs
//! on the blocking pool.

mod directories;
mod understanding;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::broker::{Broker, OpenBroker};
use crate::config::{BrokerSettings, Overrides, refuse_restart_only};
use crate::env::{self, ByteBudget, Env, Shutdown};
use crate::gateway::{BoundGateway, Gateway};
use crate::kafka::network::{self, BindError, Server};
use crate::metadata::{ConfigResource, Endpoint, Image, OpenMetadataError};
use crate::observe::{Health, Metrics, Phase};
use crate::storage::OpenDirectoryError;

pub use understanding::{Claimed, Understanding};

/// After a stop was asked for: how long requests that have begun may take to be answered. Container runtimes kill ten seconds after
/// they asked; the rest of it is for the disk.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Of so many parts of the memory that the system allows, the budget may have [`BUDGET_PARTS`].
const LIMIT_PARTS: u64 = 8;
const BUDGET_PARTS: u64 = 3;

/// What a broker starts from.
#[derive(Debug)]
pub struct StartArgs {
    /// Clock, random numbers, files.
    pub env: Env,
    /// As loaded.
    pub settings: BrokerSettings,
}

/// Why the broker did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A log directory cannot be used: held by another process, of another node, damaged, unreadable.
    #[error(transparent)]
    Directory(#[from] OpenDirectoryError),
    /// A listener cannot be bound.
    #[error(transparent)]
    Listener(#[from] BindError),
    /// The HTTP port cannot be bound.
    #[error("the HTTP port {address} cannot be bound: {source}")]
    Http {
        /// As configured.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The metadata log cannot be used.
    #[error(transparent)]
    Metadata(#[from] OpenMetadataError),
}

/// Closing the logs panicked, which has been reported when it happened. The stop is not marked as clean.
#[derive(Debug, thiserror::Error)]
#[error("the logs could not be closed; the next start recovers them")]
pub struct StopPanicked;

/// A running broker. Dropping it without [`Running::stop`] leaves the log directories as a crash would.
#[derive(Debug)]
pub struct Running {
    broker: Arc<Broker>,
    server: Server,
    gateway: Option<Gateway>,
    addresses: Vec<SocketAddr>,
    health: Arc<Health>,
    shutdown: Shutdown,
}

/// Starts a broker; it answers once this returns. Called inside the async runtime that it will run on.
pub async fn start(args: StartArgs) -> Result<Running, StartError> {
    let StartArgs { env, settings } = args;
    let health = Arc::new(Health::default());
    let shutdown = Shutdown::default();
    let bound = network::bind(&settings).await?;
    let http = bind_gateway(&settings).await?;
    let addresses = bound.addresses().to_vec();
    let settings = settings.with_bound_ports(&addresses);
    let broker = blocking({
        let (health, shutdown) = (Arc::clone(&health), shutdown.clone());
        move || {
            let understanding = Understanding::read(&env, settings)?;
            open_broker(env, understanding, health, shutdown)
        }
    })
    .await?;
    let gateway = http.map(|bound| bound.serve(Arc::clone(&broker)));
    let server = network::serve(bound, Arc::clone(&broker));
    health.enter(Phase::Ready);
    settle_metadata(&broker);
    Ok(Running { broker, server, gateway, addresses, health, shutdown })
}

/// Has the files written that only a later Kafka reads, now that the broker answers.
fn settle_metadata(broker: &Arc<Broker>) {
    let metadata = Arc::clone(&broker.metadata);
    drop(env::spawn_blocking(move || {
        if let Err(error) = metadata.settle() {
            tracing::warn!(%error, "files beside the metadata log are not written; kafka makes them anew");
        }
    }));
}

impl Running {
    /// The addresses of the Kafka listeners, in the order of the settings.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The address of the HTTP port, if there is one.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.gateway.as_ref().map(Gateway::address)
    }

    /// What it serves.
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// Completes when the broker cannot go on by itself: no log directory is left. Cancel safe.
    pub async fn failed(&self) {
        self.shutdown.requested().await;
    }

    /// Stops: no new connections, begun requests are answered, everything is synced, the stop is marked as clean. Takes
    /// [`ANSWER_WITHIN`] at most for the answers, and what the disk needs for the rest.
    pub async fn stop(self) -> Result<(), StopPanicked> {
        self.health.enter(Phase::Stopping);
        // Members that wait for others to join would hold the stop up.
        self.broker.stop_groups();
        self.broker.stop_transactions();
        self.server.stop(ANSWER_WITHIN).await;
        let broker = self.broker;
        let closed = env::spawn_blocking(move || broker.close()).await;
        if let Some(gateway) = self.gateway {
            gateway.stop().await;
        }
        closed.map_err(|_| StopPanicked)
    }
}

/// Runs work that waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StartError> + Send + 'static,
) -> Result<T, StartError> {
    match env::spawn_blocking(work).await {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

/// Claims what was understood and opens a broker on it, without any front end.
pub async fn open_understood(
    env: Env,
    understanding: Understanding,
) -> Result<Arc<Broker>, StartError> {
    blocking(move || open_broker(env, understanding, Arc::default(), Shutdown::default())).await
}

fn open_broker(
    env: Env,
    understanding: Understanding,
    health: Arc<Health>,
    shutdown: Shutdown,
) -> Result<Arc<Broker>, StartError> {
    let Claimed { settings, directories, failed, metadata } = understanding.claim(&env)?;
    let settings = with_overrides(&settings, &metadata.image());
    let budget = ByteBudget::new(settings.memory_bytes);
    Ok(Broker::open(OpenBroker {
        env,
        settings: Arc::new(settings),
        metadata: Arc::new(metadata),
        directories,
        failed_directories: failed,
        budget,
        metrics: Arc::new(Metrics::default()),
        health,
        shutdown,
    })?)
}

async fn bind_gateway(settings: &BrokerSettings) -> Result<Option<BoundGateway>, StartError> {
    let Some(address) = settings.http_listen.clone() else { return Ok(None) };
    match BoundGateway::bind(&address).await {
        Ok(bound) => Ok(Some(bound)),
        Err(source) => Err(StartError::Http { address, source }),
    }
}

/// Settings whose budget leaves room for everything else where the system kills whoever takes more than `limit_bytes`: code,
/// stacks, and what freed memory leaves in gaps.
pub fn within_memory_limit(settings: BrokerSettings, limit_bytes: Option<u64>) -> BrokerSettings {
    let most = limit_bytes.map_or(usize::MAX, |limit| {
        usize::try_from(limit / LIMIT_PARTS * BUDGET_PARTS).unwrap_or(usize::MAX)
    });
    if settings.memory_bytes <= most {
        return settings;
    }
    tracing::info!(
        asked = settings.memory_bytes,
        budget = most,
        limit = limit_bytes,
        "highwater.memory.bytes is lowered to what the limit of the control group leaves room for"
    );
    BrokerSettings { memory_bytes: most, ..settings }
}

/// What was changed while an earlier life of the broker ran, and can be changed only at a start.
fn with_overrides(settings: &BrokerSettings, image: &Image) -> BrokerSettings {
    let of_this_broker = image.overrides(&ConfigResource::Broker(settings.node_id));
    let of_all_brokers = image.overrides(&ConfigResource::ClusterDefault);
    if of_this_broker.is_empty() && of_all_brokers.is_empty() {
        return settings.clone();
    }
    if let Err(left) = refuse_restart_only(&Overrides::new(), &of_this_broker) {
        tracing::warn!("the metadata has settings of this broker that do not act: {left}");
    }
    settings.with_dynamic(&of_this_broker, &of_all_brokers)
}

fn endpoints(settings: &BrokerSettings) -> Vec<Endpoint> {
    let endpoint = |listener: &crate::config::Listener| Endpoint {
        name: listener.name.clone(),
        host: listener.advertised_host.clone(),
        port: listener.advertised_port,
        security_protocol: 0,
    };
    settings.listeners.iter().map(endpoint).collect()
}
