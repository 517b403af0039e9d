//! InitProducerId (22), versions 0-5.

use crate::kafka::{Outcome, Request};

/// Answers a InitProducerId request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("data")
}
