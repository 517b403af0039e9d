//! All listeners and connections of a broker.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::complaints::{Cause, Complaints};
use super::connection::{Connection, End};
use super::control::{Control, Wish};
use super::creation_rate::CreationRate;
use super::frame::FrameError;
use super::limits::{Admission, Limits};
use super::listener::Bound;
use super::tally;
use crate::broker::Broker;
use crate::env::{Shutdown, descriptor_limit, spawn};
use crate::kafka::api_table::Api;
use crate::kafka::handler::Peer;

/// After `accept` found no descriptor or memory: the next try, unless a connection ends before.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// After connections were told to end at once: they need no more than a turn each.
const ABORT_WAIT: Duration = Duration::from_secs(1);

/// A running front end.
#[derive(Debug)]
pub struct Server {
    stop: Shutdown,
    acceptors: Vec<JoinHandle<()>>,
    connections: Arc<Connections>,
}

/// What acceptors and connections share.
#[derive(Debug)]
struct Connections {
    broker: Arc<Broker>,
    limits: Arc<Limits>,
    creation_rate: CreationRate,
    complaints: Complaints,
    next_id: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Control>>>,
    /// Told whenever one ends.
    ended: Notify,
}

/// Accepts connections on `bound` and serves them with `broker`.
pub fn serve(bound: Bound, broker: Arc<Broker>) -> Server {
    let connections = Arc::new(Connections {
        limits: Limits::new(Arc::clone(&broker.in_force), descriptor_limit()),
        creation_rate: CreationRate::new(
            Arc::clone(&broker.in_force),
            Arc::clone(&broker.env.clock),
        ),
        complaints: Complaints::new(Arc::clone(&broker.env.clock)),
        next_id: AtomicU64::new(0),
        open: Mutex::default(),
        ended: Notify::new(),
        broker,
    });
    let stop = Shutdown::default();
    let acceptor = |(index, socket)| {
        let (connections, stop) = (Arc::clone(&connections), stop.clone());
        spawn(async move {
            tokio::select! {
                () = stop.requested() => {}
                () = connections.accept_all(index, &socket) => {}
            }
        })
    };
    let acceptors = bound.sockets.into_iter().enumerate().map(acceptor).collect();
    Server { stop, acceptors, connections }
}

impl Server {
    /// Stops accepting, lets connections answer what they have begun for at most `within`, then ends them. Fetches that wait
    /// for data are not waited for.
    pub async fn stop(self, within: Duration) {
        self.stop.request();
        for acceptor in self.acceptors {
            // It ends by its own `select`; a panic in it has been reported when it happened.
            let _ = acceptor.await;
        }
        self.connections.ask(Wish::Finish);
        if timeout(within, self.connections.all_ended()).await.is_err() {
            tracing::warn!(?within, "connections with unanswered requests are closed");
            self.connections.ask(Wish::Abort);
            // A task that does not end within this time is stuck in a handler; the process goes on without it.
            let _ = timeout(ABORT_WAIT, self.connections.all_ended()).await;
        }
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.connections.open.lock().len()
    }
}

impl Connections {
    async fn accept_all(self: &Arc<Self>, listener: usize, socket: &TcpListener) {
        loop {
            if let Some(full) = self.limits.full() {
                self.complaints.waiting(Cause::NoRoom, &full);
                self.limits.room().await;
            }
            match socket.accept().await {
                Ok((stream, address)) => {
                    self.hold_back(listener).await;
                    match self.limits.admit(address.ip()).await {
                        Some(admission) => {
                            self.start(stream, Peer { address, listener }, admission);
                        }
                        None => self.refuse(address),
                    }
                }
                Err(error) => self.pause_after(error).await,
            }
        }
    }

    /// A connection that comes too fast waits, and those behind it with it.
    async fn hold_back(&self, listener: usize) {
        let wait = self.creation_rate.arrive(listener);
        if !wait.is_zero() {
            self.broker.metrics.connections_held_back.increment();
            tokio::time::sleep(wait).await;
        }
    }

    /// The peer gave up in the backlog: the next one. No descriptors or memory: wait for some to come free, without spinning.
    async fn pause_after(&self, error: io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted) {
            return;
        }
        self.complaints.waiting(Cause::NotAccepted, &NotAccepted(error));
        // Either way the next accept shows how things are.
        let _ = timeout(ACCEPT_PAUSE, self.ended.notified()).await;
    }

    fn refuse(&self, address: SocketAddr) {
        self.broker.metrics.connections_refused.increment();
        let why = "too many connections from this address (max.connections.per.ip)";
        self.complaints.closed(address, Cause::Connections, &why);
    }

    fn start(self: &Arc<Self>, stream: TcpStream, peer: Peer, admission: Admission) {
        if let Err(error) = prepare(&stream) {
            tracing::debug!(peer = %peer.address, %error, "connection closed before its first request");
            return;
        }
        let control = Arc::new(Control::default());
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.open.lock().insert(id, Arc::clone(&control));
        let address = peer.address;
        let connection =
            Connection::new(stream, peer, Arc::clone(&self.broker), control, Api::find);
        let connections = Arc::clone(self);
        self.broker.metrics.connections_accepted.increment();
        self.broker.metrics.connections.increment();
        // Not joined: a panic ends inside `run`, and `open` tells when the task has ended.
        spawn(async move {
            let end = connection.run().await;
            connections.log(address, &end);
            connections.broker.metrics.connections.decrement();
            tally::closed(&connections.broker.metrics, &end);
            drop(admission);
            connections.open.lock().remove(&id);
            connections.ended.notify_waiters();
        });
    }

    fn log(&self, peer: SocketAddr, end: &End) {
        let cause = match end {
            End::Peer | End::Io(_) | End::Idle | End::Stopped => {
                return tracing::debug!(%peer, "connection closed: {end}");
            }
            End::Frame(FrameError::Length { .. } | FrameError::Budget { .. }) => Cause::Length,
            End::Frame(FrameError::Tls) => Cause::Tls,
            End::Frame(FrameError::Http) => Cause::Http,
            End::Request(api, _) => Cause::Request(api.map_or(-1, |api| api.key)),
            End::Panic(_) => Cause::Panic,
            End::Memory | End::Slow => Cause::Memory,
        };
        self.complaints.closed(peer, cause, end);
    }

    fn ask(&self, wish: Wish) {
        let open: Vec<_> = self.open.lock().values().cloned().collect();
        open.iter().for_each(|control| control.ask(wish));
    }

    async fn all_ended(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.open.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Replies are written whole; waiting for more to send with them would only delay them.
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_keepalive(true)
}

/// What the system said instead of giving a connection.
#[derive(Debug, thiserror::Error)]
#[error("a connection cannot be accepted: {0}")]
struct NotAccepted(io::Error);
