//! What several integration tests share.
#![allow(dead_code, missing_docs, reason = "each test uses a part of it")]

pub mod batches;
pub mod broker;
pub mod consumer;
pub mod data_directories;
pub mod faulty_files;
pub mod golden;
pub mod group_requests;
pub mod groups;
pub mod logs;
pub mod metadata_logs;
pub mod serving;
pub mod simulated_disk;
pub mod strict_check;
pub mod transactions;
