//! The log of a shard, as the runtime sees it.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use crate::coordinator::machine::{KeyValue, LogProducer, Outcome};
use crate::types::{Marker, Offset, ProducerId, ProducerIdAndEpoch, Timestamp};

/// A boxed future of a log.
pub type LogFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// One partition of an internal topic.
pub trait ShardLog: Debug + Send + Sync + 'static {
    /// False if nothing was ever written, so that there is nothing to read. Never blocks.
    fn exists(&self) -> bool;

    /// Hands every record and every end of a transaction to `each`, in order. Blocks.
    fn read(&self, each: &mut dyn FnMut(LoggedEntry<'_>)) -> Result<(), ShardLogError>;

    /// What it knows of producers. Blocks; called after [`ShardLog::read`], while nobody appends.
    fn producers(&self) -> Result<Vec<LogProducer>, ShardLogError>;

    /// Appends batches in their order; readers of the log see them in the order of the calls. If one of them fails the ones
    /// before it may stay.
    fn append(&self, batches: Vec<LogBatch>, now: Timestamp) -> Append;

    /// Waits until what was written is as durable as the topic asks; `None` if it is already.
    fn durable(&self, written: Written) -> Option<LogFuture<Result<(), ShardLogError>>>;
}

/// What is appended as one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogBatch {
    /// Records, of the transaction of a producer if one is named.
    Records(Option<ProducerIdAndEpoch>, Vec<KeyValue>),
    /// The end of a transaction.
    Marker(Marker),
}

/// The log cannot be used; the reason has been logged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ShardLogError(pub String);

/// An append, done or to be done on a thread that may wait for the disk.
pub enum Append {
    /// Done, without waiting for anything.
    Done(Result<Written, ShardLogError>),
    /// Happens while the future runs.
    Blocking(LogFuture<Result<Written, ShardLogError>>),
}

/// What an append has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Exclusive end of it.
    pub end: Offset,
    /// Whether answers must wait until it is on disk.
    pub must_sync: bool,
}

/// An entry and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct LoggedEntry<'a> {
    /// Its offset.
    pub offset: Offset,
    /// What it is.
    pub entry: Logged<'a>,
}

/// What lies in the log.
#[derive(Clone, Copy, Debug)]
pub enum Logged<'a> {
    /// A record with a key.
    Record {
        /// The key.
        key: &'a [u8],
        /// The value; `None` is a tombstone.
        value: Option<&'a [u8]>,
        /// Whose transaction it belongs to, if any.
        transaction: Option<ProducerId>,
    },
    /// The end of a transaction.
    Marker {
        /// Whose transaction.
        producer: ProducerId,
        /// How it ended.
        outcome: Outcome,
    },
}
