//! DescribeLogDirs (35), versions 1-4.

use crate::kafka::{Outcome, Request};

/// Answers a DescribeLogDirs request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
