//! The Kafka protocol over bytes and sockets, held against what Apache Kafka and its clients sent.

mod captures;
mod codecs;
mod guard;
mod messages;
mod synthetic;
