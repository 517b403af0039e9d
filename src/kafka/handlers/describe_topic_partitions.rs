//! DescribeTopicPartitions (75), versions 0-0.

use crate::kafka::{Outcome, Request};

/// Answers a DescribeTopicPartitions request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
