//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, lookup_host};

use crate::config::{BrokerSettings, Listener};

/// Why a listener cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Its host is not known.
    #[error("listener {name}: the host '{host}' cannot be resolved: {source}")]
    Resolve {
        /// Of the listener.
        name: String,
        /// As configured.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// Its address cannot be taken.
    #[error("listener {name}: {address} cannot be bound: {source}")]
    Bind {
        /// Of the listener.
        name: String,
        /// Resolved.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// The listeners of the settings, bound and not yet accepting: connections wait in the backlog.
#[derive(Debug)]
pub struct Bound {
    /// In the order of the settings.
    pub(super) sockets: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

impl Bound {
    /// The addresses bound, in the order of the settings: where a port is 0 there, the chosen one is here.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Binds all listeners of `settings`.
pub async fn bind(settings: &BrokerSettings) -> Result<Bound, BindError> {
    let mut bound = Bound { sockets: Vec::new(), addresses: Vec::new() };
    for listener in &settings.listeners {
        let address = resolve(listener).await?;
        let to_error = |source| BindError::Bind { name: listener.name.clone(), address, source };
        let socket = listen(address, settings).map_err(to_error)?;
        let socket = TcpListener::from_std(socket).map_err(to_error)?;
        bound.addresses.push(socket.local_addr().map_err(to_error)?);
        bound.sockets.push(socket);
    }
    Ok(bound)
}

/// The first address of the host, IPv4 before IPv6 as Java prefers it.
async fn resolve(listener: &Listener) -> Result<SocketAddr, BindError> {
    let to_error = |source| BindError::Resolve {
        name: listener.name.clone(),
        host: listener.host.clone(),
        source,
    };
    let host = match listener.host.trim_start_matches('[').trim_end_matches(']') {
        "" => "0.0.0.0",
        host => host,
    };
    let mut addresses: Vec<_> =
        lookup_host((host, listener.port)).await.map_err(to_error)?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().ok_or_else(|| to_error(io::ErrorKind::NotFound.into()))
}

fn listen(address: SocketAddr, settings: &BrokerSettings) -> io::Result<StdListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait for connections of the last run to time out.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // `[::]` takes IPv4 as well, as in Java.
        socket.set_only_v6(false)?;
    }
    // Before `listen`: accepted sockets inherit both, and the window scale is fixed in the handshake. -1 leaves it to the
    // system, which then tunes them by itself.
    if let Ok(size @ 1..) = usize::try_from(settings.socket_receive_buffer_bytes) {
        socket.set_recv_buffer_size(size)?;
    }
    if let Ok(size @ 1..) = usize::try_from(settings.socket_send_buffer_bytes) {
        socket.set_send_buffer_size(size)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(settings.socket_listen_backlog_size.max(1))?;
    Ok(socket.into())
}
