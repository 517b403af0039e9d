//! The two-phase contract between a connection and a handler.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

use crate::broker::{AnswerPermit, Broker, Step};
use crate::log::Slice;

/// One request, its header already parsed and its body not yet.
#[derive(Debug)]
pub struct Request {
    /// Version of the API, one that its row serves.
    pub version: i16,
    /// From the header; empty if null. Shared by the requests of a connection.
    pub client_id: Arc<str>,
    /// The body. Slices of it keep the whole frame alive: copy what is kept.
    pub body: Bytes,
    /// Who asks and where.
    pub peer: Arc<Peer>,
    /// The use cases.
    pub broker: Arc<Broker>,
}

/// The other end of a connection.
#[derive(Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Index into the settings' listeners of the one it came in on: Metadata answers with that one's advertised address.
    pub listener: usize,
}

/// The encoded body of a response (no frame length, no header): inline bytes with slices of logs in between.
#[derive(Debug, Default)]
pub struct Response {
    /// In order. Nearly every response is one run of inline bytes.
    pub parts: SmallVec<[ResponsePart; 1]>,
    /// Of a long answer: covers its inline bytes until the peer has them.
    pub memory: Option<AnswerPermit>,
}

impl From<BytesMut> for Response {
    fn from(body: BytesMut) -> Self {
        Self { parts: SmallVec::from_buf([ResponsePart::Inline(body)]), memory: None }
    }
}

impl Response {
    /// Bytes of the body.
    pub fn len(&self) -> usize {
        self.parts.iter().map(ResponsePart::len).sum()
    }

    /// True if the body has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that it holds in memory of its own and no permit covers.
    pub fn uncovered_len(&self) -> usize {
        let inline = |part: &ResponsePart| match part {
            ResponsePart::Inline(bytes) => bytes.len(),
            ResponsePart::Records(_) => 0,
        };
        if self.memory.is_some() { 0 } else { self.parts.iter().map(inline).sum() }
    }
}

/// A run of a response body.
#[derive(Debug)]
pub enum ResponsePart {
    /// Encoded fields.
    Inline(BytesMut),
    /// Records straight from a log.
    Records(Slice),
}

impl ResponsePart {
    /// Bytes of this run.
    pub fn len(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Records(slice) => slice.len,
        }
    }

    /// True if it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A reply that is still to come. It is polled once those before it have left, and not earlier.
pub type Pending = Pin<Box<dyn Future<Output = Result<Response, Disconnect>> + Send>>;

/// An effect that has not happened yet; it ends in what the handler would have returned otherwise, so that the reply may
/// still be pending (for a sync) when the connection goes on.
pub type Effect = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What a handler returns. In every case but `Serial` the effect on the broker has happened already, so the connection goes
/// on with the next request while the reply is pending.
pub enum Outcome {
    /// The reply is here.
    Ready(Response),
    /// The effect has happened; the reply comes later (durability, long poll).
    Later(Pending),
    /// The effect happens while the future runs: the connection starts no other request until it is done, then goes on
    /// with the outcome that it yields.
    Serial(Effect),
    /// acks=0: nothing is sent.
    NoReply,
    /// The connection is closed without an answer, as Kafka does for a malformed body.
    Close(Disconnect),
}

/// Why a connection is closed without an answer; the text goes to the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Disconnect(pub String);

impl Outcome {
    /// `Serial` with an effect that yields the reply itself.
    pub fn serial<F>(reply: F) -> Self
    where
        F: Future<Output = Result<Response, Disconnect>> + Send + 'static,
    {
        Self::Serial(Box::pin(async move { reply.await.into() }))
    }
}

impl Outcome {
    /// The outcome of a question that changes nothing, asked once the replies to earlier requests have left. A fetch among them may
    /// have waited and told of records; an answer from before that would take the client back behind what it knows.
    pub fn in_turn<T, E>(ask: impl FnOnce() -> Step<T> + Send + 'static, encode: E) -> Self
    where
        T: Send + 'static,
        E: FnOnce(T) -> Result<Response, Disconnect> + Send + 'static,
    {
        Self::Later(Box::pin(async move { encode(ask().finish().await) }))
    }

    /// The outcome of a use case: `encode` makes the reply once the result is there.
    pub fn of_step<T, E>(step: Step<T>, encode: E) -> Self
    where
        T: Send + 'static,
        E: FnOnce(T) -> Result<Response, Disconnect> + Send + 'static,
    {
        match step {
            Step::Now(result) => encode(result).into(),
            Step::Later(result) => Self::Later(Box::pin(async move { encode(result.await) })),
            Step::Serial(effect) => {
                Self::Serial(Box::pin(async move { Self::of_step(effect.await, encode) }))
            }
        }
    }
}

impl From<Result<Response, Disconnect>> for Outcome {
    fn from(reply: Result<Response, Disconnect>) -> Self {
        match reply {
            Ok(response) => Self::Ready(response),
            Err(disconnect) => Self::Close(disconnect),
        }
    }
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "Ready",
            Self::Later(_) => "Later",
            Self::Serial(_) => "Serial",
            Self::NoReply => "NoReply",
            Self::Close(_) => "Close",
        })
    }
}
