//! Two-phase results of use cases: what a front end turns into its own kind of reply.

use std::future::Future;
use std::pin::Pin;

use crate::env;

/// A boxed future of a use case.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How far a use case has come when it returns. The order of effects is the caller's: it must not start the next request
/// of the same peer before a `Serial` step has become another one.
pub enum Step<T> {
    /// Done.
    Now(T),
    /// The effect has happened; the result waits for a sync, for data or for the disk.
    Later(BoxFuture<T>),
    /// The effect happens while the future runs (a log is opened, a large batch checked) and ends in another step.
    Serial(BoxFuture<Step<T>>),
}

impl<T: Send + 'static> Step<T> {
    /// `Later` from a plain future.
    pub fn later(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Later(Box::pin(future))
    }

    /// `Serial` from a plain future.
    pub fn serial(future: impl Future<Output = Step<T>> + Send + 'static) -> Self {
        Self::Serial(Box::pin(future))
    }

    /// Runs all phases; for callers that have no peer to answer in order. Cancel safe as far as the effect has not begun.
    pub async fn finish(self) -> T {
        let mut step = self;
        loop {
            match step {
                Self::Now(value) => return value,
                Self::Later(future) => return future.await,
                Self::Serial(future) => step = future.await,
            }
        }
    }
}

/// Runs work that may wait for the disk or compute for long. A panic in it goes on in the caller.
pub async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match env::spawn_blocking(work).await {
        Ok(result) => result,
        // Blocking work cannot be cancelled once it runs, and the runtime outlives its callers.
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

impl<T> std::fmt::Debug for Step<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Now(_) => "Now",
            Self::Later(_) => "Later",
            Self::Serial(_) => "Serial",
        })
    }
}
