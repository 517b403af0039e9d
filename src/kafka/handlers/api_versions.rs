//! ApiVersions (18), versions 0-4. KIP-35, KIP-511, KIP-584.

use crate::kafka::{Outcome, Request};

/// Answers an ApiVersions request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("kafka")
}
