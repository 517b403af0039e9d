//! What several integration tests share.
#![allow(dead_code, missing_docs, reason = "each test uses a part of it")]

pub mod batches;
pub mod logs;
