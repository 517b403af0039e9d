//! Produce (0), versions 3-13.

use crate::kafka::{Outcome, Request};

/// Answers a Produce request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("data")
}
