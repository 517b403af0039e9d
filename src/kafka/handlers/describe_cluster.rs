//! DescribeCluster (60), versions 0-2.

use crate::kafka::{Outcome, Request};

/// Answers a DescribeCluster request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
