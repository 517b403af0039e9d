//! Accepts connections and serves them with the routes. Whatever a peer does, it holds one of a few connections, a few
//! kilobytes, and both for a bounded time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::routes;
use crate::broker::Broker;
use crate::env::{Shutdown, spawn};

/// What peers may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Connections served at once; others wait in the backlog.
    connections: usize,
    /// A request's head must be there within this time, also the next one of a connection that is kept.
    head_within: Duration,
    /// A connection is not kept for longer: one that never reads its answers gives its place back.
    kept_for: Duration,
    /// After that, or at a stop, what is being answered must be taken within this time.
    finish_within: Duration,
}

const LIMITS: Limits = Limits {
    connections: 32,
    head_within: Duration::from_secs(30),
    kept_for: Duration::from_secs(300),
    finish_within: Duration::from_secs(10),
};

/// Bytes of a request's head; the smallest that the HTTP library takes.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// After `accept` found no descriptor or memory.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// A running HTTP port.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    stop: Shutdown,
    acceptor: JoinHandle<()>,
}

/// An HTTP port that is bound and not yet served: connections wait in the backlog.
#[derive(Debug)]
pub struct BoundGateway {
    address: SocketAddr,
    listener: TcpListener,
}

impl BoundGateway {
    /// Binds `address`: `host:port`, or `:port` for all addresses.
    pub async fn bind(address: &str) -> io::Result<Self> {
        let everywhere = address.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
        let listener = TcpListener::bind(everywhere.as_deref().unwrap_or(address)).await?;
        Ok(Self { address: listener.local_addr()?, listener })
    }

    /// Serves `broker` on it.
    pub fn serve(self, broker: Arc<Broker>) -> Gateway {
        self.serve_routes(routes::router(broker), LIMITS)
    }

    fn serve_routes(self, router: Router, limits: Limits) -> Gateway {
        let stop = Shutdown::default();
        let acceptor = spawn(accept_all(self.listener, router, stop.clone(), limits));
        Gateway { address: self.address, stop, acceptor }
    }
}

impl Gateway {
    /// The address bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting and closes idle connections; answers that are being written are finished by their own tasks.
    pub async fn stop(self) {
        self.stop.request();
        // A panic in it has been reported when it happened.
        let _ = self.acceptor.await;
    }
}

async fn accept_all(listener: TcpListener, router: Router, stop: Shutdown, limits: Limits) {
    let permits = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = tokio::select! {
            () = stop.requested() => return,
            accepted = accept(&listener, &permits) => accepted,
        };
        match accepted {
            Ok((stream, permit)) => {
                // Not joined: it ends with its peer, with its time-out or with `stop`.
                drop(spawn(serve(stream, router.clone(), stop.clone(), limits, permit)));
            }
            Err(error) => {
                tracing::warn!(%error, "an HTTP connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The next connection, once there is room for one.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

async fn serve(
    stream: TcpStream,
    router: Router,
    stop: Shutdown,
    limits: Limits,
    _permit: OwnedSemaphorePermit,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    http.header_read_timeout(limits.head_within).max_buf_size(HEAD_BYTES_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.requested() => None,
        () = tokio::time::sleep(limits.kept_for) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            // What is not taken by then is lost to the peer.
            timeout(limits.finish_within, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "HTTP connection closed");
    }
}

#[cfg(test)]
mod tests;
