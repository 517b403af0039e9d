//! Admin answers that are worked out on the blocking pool: changes that wait for the metadata log, and reads of more than a
//! bounded number of partitions. They take turns, so that a thousand clients that ask for everything cost the memory of a few.

use std::sync::Arc;

use kafka_protocol::protocol::Encodable;

use super::codec;
use super::handler::{Disconnect, Outcome, Response};
use crate::broker::Broker;
use crate::env;

/// A change: the connection starts no other request until it is made and answered.
pub fn serial<F>(broker: Arc<Broker>, work: F) -> Outcome
where
    F: FnOnce(&Broker) -> Result<Response, Disconnect> + Send + 'static,
{
    Outcome::serial(in_turn(broker, work))
}

/// A long read without an effect: the connection goes on meanwhile.
pub fn later<F>(broker: Arc<Broker>, work: F) -> Outcome
where
    F: FnOnce(&Broker) -> Result<Response, Disconnect> + Send + 'static,
{
    Outcome::Later(Box::pin(in_turn(broker, work)))
}

/// As [`serial`], for work that makes a message.
pub fn serial_reply<M, F>(broker: Arc<Broker>, version: i16, work: F) -> Outcome
where
    M: Encodable,
    F: FnOnce(&Broker) -> M + Send + 'static,
{
    serial(broker, move |broker| codec::encode(&work(broker), version))
}

/// As [`later`], for work that makes a message.
pub fn later_reply<M, F>(broker: Arc<Broker>, version: i16, work: F) -> Outcome
where
    M: Encodable,
    F: FnOnce(&Broker) -> M + Send + 'static,
{
    later(broker, move |broker| codec::encode(&work(broker), version))
}

async fn in_turn<F>(broker: Arc<Broker>, work: F) -> Result<Response, Disconnect>
where
    F: FnOnce(&Broker) -> Result<Response, Disconnect> + Send + 'static,
{
    let turns = Arc::clone(&broker.admin_turns);
    let turn = turns.acquire_owned().await.expect("the turns are never closed");
    let reply = env::spawn_blocking(move || {
        // Held by the work and not by its waiter: a connection that goes away leaves the work running.
        let _turn = turn;
        work(&broker)
    });
    match reply.await {
        Ok(reply) => reply,
        // The panic has been reported where it happened; the peer must not wait for an answer that never comes.
        Err(_) => {
            Err(Disconnect("the request could not be answered: its handler failed".to_owned()))
        }
    }
}
