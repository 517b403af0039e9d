//! ListOffsets (2), versions 1-10.

use crate::kafka::{Outcome, Request};

/// Answers a ListOffsets request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("data")
}
