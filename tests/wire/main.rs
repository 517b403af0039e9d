//! The Kafka protocol over bytes and sockets, held against what Apache Kafka and its clients sent.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may panic, and plays the machine and the operator"
)]

mod admin;
mod allocations;
mod bad_input;
mod broker;
mod calls;
mod captures;
mod client;
mod codecs;
mod configs;
mod connections;
mod consumer;
mod consumer_groups;
#[path = "../support/data_directories.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod data_directories;
mod fetch;
mod group_admin;
mod group_cli;
mod group_offsets;
mod group_replay;
mod groups;
mod guard;
mod init_producer_id;
mod isolation;
mod lifted;
mod log_dirs;
mod member;
mod memory;
mod messages;
mod new_versions;
mod odd;
mod offsets;
mod operator;
mod peer;
mod pipelining;
mod produce;
mod produce_order;
mod recording;
mod records;
mod refusals;
mod replay;
#[path = "../support/strict_check.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod strict_check;
mod synthetic;
mod topic_ids;
mod topics;
mod transaction_cli;
mod transaction_order;
mod transactional;
mod transactions;
mod translation;
mod txn_markers;
mod txn_offsets;
mod unasked;
mod unwritten;
mod versions;
