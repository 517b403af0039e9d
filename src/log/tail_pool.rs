//! Memory for the tails of all logs of a broker.

use std::sync::Arc;

use crate::env::ByteBudget;

/// Lends chunks of memory to the tails of logs; all it holds is counted against one budget.
#[derive(Debug)]
pub struct TailPool {
    budget: Arc<ByteBudget>,
}

impl TailPool {
    /// A pool that takes at most a quarter of `budget`.
    pub fn new(budget: Arc<ByteBudget>) -> Arc<Self> {
        Arc::new(Self { budget })
    }
}
