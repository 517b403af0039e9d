//! DeleteRecords (21), versions 0-2.

use crate::kafka::{Outcome, Request};

/// Answers a DeleteRecords request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("data")
}
