//! Fetch (1), versions 4-17.

use crate::kafka::{Outcome, Request};

/// Answers a Fetch request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("data")
}
