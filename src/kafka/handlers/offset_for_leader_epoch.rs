//! OffsetForLeaderEpoch (23), versions 2-4.

use crate::kafka::{Outcome, Request};

/// Answers a OffsetForLeaderEpoch request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("data")
}
