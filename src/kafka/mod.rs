//! The Kafka front end: framing, versions, sessions, handlers, error codes.
//!
//! A frame goes listener → connection → header → API table row → guard (counts against remaining bytes) → handler. A
//! handler decodes, calls a use case of `broker` and encodes; it holds no state, does no I/O and takes no lock of the
//! engine's. Its effect has happened when it returns; its reply may come later ([`Outcome`]).

pub mod api_page;
pub mod api_table;
mod append_errors;
mod blocking;
pub mod client;
pub mod codec;
mod coordinators;
pub mod errors;
mod groups;
pub mod guard;
mod handler;
pub mod handlers;
pub mod network;
mod read_errors;
mod transactions;
pub mod wire;

pub use errors::ErrorCode;
pub use handler::{Disconnect, Effect, Outcome, Peer, Pending, Request, Response, ResponsePart};
