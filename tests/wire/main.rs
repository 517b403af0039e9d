//! The Kafka protocol over bytes and sockets, held against what Apache Kafka and its clients sent.

mod allocations;
mod bad_input;
mod broker;
mod captures;
mod client;
mod codecs;
mod connections;
mod guard;
mod messages;
mod peer;
mod pipelining;
mod records;
mod replay;
mod synthetic;
mod versions;
