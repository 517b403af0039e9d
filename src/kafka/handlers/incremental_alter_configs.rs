//! IncrementalAlterConfigs (44), versions 0-1.

use crate::kafka::{Outcome, Request};

/// Answers a IncrementalAlterConfigs request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
