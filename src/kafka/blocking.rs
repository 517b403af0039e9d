//! Admin answers that are worked out on the blocking pool: changes that wait for the metadata log, and reads of more than a
//! bounded number of partitions. They take turns, and memory for their answers out of the byte budget, so that a thousand
//! clients that ask for everything cost the memory of a few.
//!
//! `bytes` is about what an answer takes while it is built; what it takes then is counted instead.

use std::sync::Arc;

use kafka_protocol::protocol::Encodable;

use super::codec;
use super::handler::{Disconnect, Outcome, Response};
use crate::broker::Broker;
use crate::env;

/// What a generated message takes for each byte of the request that it answers element by element: its structs are larger
/// than what they say.
const MESSAGE_BYTES_PER_REQUEST_BYTE: usize = 8;

/// What answering a request of `len` bytes takes where the answer has an element for each of the request.
pub fn bytes_like(len: usize) -> usize {
    len.saturating_mul(MESSAGE_BYTES_PER_REQUEST_BYTE)
}

/// A change: the connection starts no other request until it is made and answered.
pub fn serial<F>(broker: Arc<Broker>, bytes: usize, work: F) -> Outcome
where
    F: FnOnce(&Broker) -> Result<Response, Disconnect> + Send + 'static,
{
    Outcome::serial(in_turn(broker, bytes, work))
}

/// A long read without an effect: the connection goes on meanwhile.
pub fn later<F>(broker: Arc<Broker>, bytes: usize, work: F) -> Outcome
where
    F: FnOnce(&Broker) -> Result<Response, Disconnect> + Send + 'static,
{
    Outcome::Later(Box::pin(in_turn(broker, bytes, work)))
}

/// As [`serial`], for work that makes a message.
pub fn serial_reply<M, F>(broker: Arc<Broker>, version: i16, bytes: usize, work: F) -> Outcome
where
    M: Encodable,
    F: FnOnce(&Broker) -> M + Send + 'static,
{
    serial(broker, bytes, move |broker| codec::encode(&work(broker), version))
}

/// As [`later`], for work that makes a message.
pub fn later_reply<M, F>(broker: Arc<Broker>, version: i16, bytes: usize, work: F) -> Outcome
where
    M: Encodable,
    F: FnOnce(&Broker) -> M + Send + 'static,
{
    later(broker, bytes, move |broker| codec::encode(&work(broker), version))
}

async fn in_turn<F>(broker: Arc<Broker>, bytes: usize, work: F) -> Result<Response, Disconnect>
where
    F: FnOnce(&Broker) -> Result<Response, Disconnect> + Send + 'static,
{
    // Memory first: whoever waits for it holds no turn.
    let Some(mut memory) = broker.answer_memory.take(bytes).await else {
        return Err(Disconnect(format!(
            "no room in the byte budget for an answer of {bytes} bytes (highwater.memory.bytes)"
        )));
    };
    let turns = Arc::clone(&broker.admin_turns);
    let turn = turns.acquire_owned().await.expect("the turns are never closed");
    let reply = env::spawn_blocking(move || {
        // Both are held by the work and not by its waiter: a connection that goes away leaves the work running.
        let _turn = turn;
        work(&broker).map(|mut response| {
            memory.resize(response.uncovered_len());
            response.memory = Some(memory);
            response
        })
    });
    match reply.await {
        Ok(reply) => reply,
        // The panic has been reported where it happened; the peer must not wait for an answer that never comes.
        Err(_) => {
            Err(Disconnect("the request could not be answered: its handler failed".to_owned()))
        }
    }
}
