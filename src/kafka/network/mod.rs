//! Sockets: listeners, connections, frames, replies in order.
//!
//! One task per connection and nothing between the socket and the handler: the task reads frames, calls handlers in order,
//! polls the replies that are still to come in order and writes. See `connection` for what happens in one wake-up.

mod complaints;
mod connection;
mod control;
mod creation_rate;
mod dispatch;
pub mod frame;
mod header;
mod idle;
mod limits;
mod listener;
mod outbox;
mod replies;
mod resident;
mod server;
mod tally;

pub use listener::{BindError, Bound, bind};
pub use server::{Server, serve};

#[cfg(test)]
mod tests;
