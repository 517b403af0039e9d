//! ElectLeaders (43), versions 0-2.

use crate::kafka::{Outcome, Request};

/// Answers a ElectLeaders request.
pub fn handle(_request: Request) -> Outcome {
    unimplemented!("admin")
}
