//! The HTTP front end: metrics and health on a port that is off unless it is set.
//!
//! It is small and bounded on purpose: a few connections for a bounded time, a time-out for request heads, no bodies. It
//! never uses the Kafka front end.

mod exposition;
mod groups;
mod process;
mod routes;
mod server;
mod topics;
mod transactions;

pub use server::{BoundGateway, Gateway};
