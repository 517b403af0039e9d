//! AlterConfigs (33), versions 0-2.

use crate::kafka::{Outcome, Request};

/// Answers a AlterConfigs request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
