//! Metadata (3), versions 0-13.

use crate::kafka::{Outcome, Request};

/// Answers a Metadata request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
