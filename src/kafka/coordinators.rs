//! What handlers that ask a coordinator share: the answer that is still to come, and which code says that there is none.

use std::future::Future;

use kafka_protocol::protocol::Encodable;

use super::codec;
use super::handler::Outcome;
use crate::broker::{BoxFuture, CoordinatorError};
use crate::coordinator::runtime::CallError;
use crate::kafka::ErrorCode;

/// An answer that is still to come, or the code of why there is none.
pub type Asked<A> = BoxFuture<Result<A, ErrorCode>>;

/// Which code tells that a shard has not answered. COORDINATOR_LOAD_IN_PROGRESS is not among them: commands wait while a shard
/// is read, and the Java client takes that code in a Heartbeat for the end.
pub const fn code(error: &CoordinatorError) -> ErrorCode {
    match error {
        CoordinatorError::NoTopic { .. }
        | CoordinatorError::Call(
            CallError::NotAvailable | CallError::Overloaded | CallError::NoMemory,
        ) => ErrorCode::CoordinatorNotAvailable,
        CoordinatorError::Call(CallError::GivenUp) => ErrorCode::NotCoordinator,
    }
}

/// The outcome of a request whose effect waits in the queue of a shard.
pub fn later<M: Encodable>(
    version: i16,
    response: impl Future<Output = M> + Send + 'static,
) -> Outcome {
    Outcome::Later(Box::pin(async move { codec::encode(&response.await, version) }))
}
