//! CreatePartitions (37), versions 0-3.

use crate::kafka::{Outcome, Request};

/// Answers a CreatePartitions request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
