//! Accepts connections and serves them with the routes.

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

use super::routes;
use crate::broker::Broker;
use crate::env::{Shutdown, spawn};

/// Connections served at once; others wait in the backlog.
pub const CONNECTIONS_MAX: usize = 32;

/// A request's head must be there within this time, also the next one of a connection that is kept.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

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
        let stop = Shutdown::default();
        let acceptor = spawn(accept_all(self.listener, routes::router(broker), stop.clone()));
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

async fn accept_all(listener: TcpListener, router: Router, stop: Shutdown) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await;
        let accepted = tokio::select! {
            () = stop.requested() => return,
            accepted = listener.accept() => accepted,
        };
        match (accepted, permit) {
            (Ok((stream, _)), Ok(permit)) => {
                // Not joined: it ends with its peer, with its time-out or with `stop`.
                drop(spawn(serve(stream, router.clone(), stop.clone(), permit)));
            }
            (Err(error), _) => {
                tracing::warn!(%error, "an HTTP connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            (Ok(_), Err(_closed)) => return,
        }
    }
}

async fn serve(stream: TcpStream, router: Router, stop: Shutdown, _permit: OwnedSemaphorePermit) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD_BYTES_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.requested() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "HTTP connection closed");
    }
}
