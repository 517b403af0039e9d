//! ListPartitionReassignments (46), versions 0-0.

use crate::kafka::{Outcome, Request};

/// Answers a ListPartitionReassignments request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
