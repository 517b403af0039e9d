//! Highwater: a Kafka-wire-compatible broker in one binary, with Kafka's own files on disk.
//!
//! The layers and what each may import are described in `ARCHITECTURE.md` and held by `tests/tidy.rs`.

pub mod app;
pub mod broker;
pub mod cli;
pub mod config;
pub mod coordinator;
pub mod env;
pub mod gateway;
pub mod kafka;
pub mod log;
pub mod metadata;
pub mod observe;
pub mod storage;
pub mod types;
