//! CreateTopics (19), versions 2-7.

use crate::kafka::{Outcome, Request};

/// Answers a CreateTopics request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
