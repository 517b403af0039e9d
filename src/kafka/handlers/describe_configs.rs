//! DescribeConfigs (32), versions 1-4.

use crate::kafka::{Outcome, Request};

/// Answers a DescribeConfigs request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
