//! DeleteTopics (20), versions 1-6.

use crate::kafka::{Outcome, Request};

/// Answers a DeleteTopics request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
