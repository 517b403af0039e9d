//! Answers that are worked out on the blocking pool: changes that wait for the metadata log, and reads of more than a bounded
//! number of partitions.

use super::codec;
use super::handler::{Disconnect, Outcome, Response};
use crate::env;

/// A change: the connection starts no other request until it is made and answered.
pub fn serial<F>(work: F) -> Outcome
where
    F: FnOnce() -> Result<Response, Disconnect> + Send + 'static,
{
    Outcome::serial(on_blocking_pool(work))
}

/// A long read without an effect: the connection goes on meanwhile.
pub fn later<F>(work: F) -> Outcome
where
    F: FnOnce() -> Result<Response, Disconnect> + Send + 'static,
{
    Outcome::Later(Box::pin(on_blocking_pool(work)))
}

/// As [`serial`], for work that makes a message.
pub fn serial_reply<M, F>(version: i16, work: F) -> Outcome
where
    M: kafka_protocol::protocol::Encodable,
    F: FnOnce() -> M + Send + 'static,
{
    serial(move || codec::encode(&work(), version))
}

/// As [`later`], for work that makes a message.
pub fn later_reply<M, F>(version: i16, work: F) -> Outcome
where
    M: kafka_protocol::protocol::Encodable,
    F: FnOnce() -> M + Send + 'static,
{
    later(move || codec::encode(&work(), version))
}

async fn on_blocking_pool<F>(work: F) -> Result<Response, Disconnect>
where
    F: FnOnce() -> Result<Response, Disconnect> + Send + 'static,
{
    match env::spawn_blocking(work).await {
        Ok(reply) => reply,
        // The panic has been reported where it happened; the peer must not wait for an answer that never comes.
        Err(_) => {
            Err(Disconnect("the request could not be answered: its handler failed".to_owned()))
        }
    }
}
