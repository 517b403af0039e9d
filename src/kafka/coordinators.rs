//! What handlers that ask a coordinator share: the answer that is still to come, and which code says that there is none.

use std::future::Future;
use std::sync::Arc;

use kafka_protocol::protocol::Encodable;

use super::codec;
use super::handler::{Disconnect, Outcome, Pending};
use crate::broker::{AnswerPermit, BoxFuture, Broker, CoordinatorError};
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

/// What an answer takes for each byte of the state that it tells: the message and, while it is encoded, its bytes.
const BYTES_PER_STATE_BYTE: usize = 2;

/// The outcome of a question that may be answered with much of what shards know, about `state_bytes` of it. Memory for the answer
/// is taken before they are asked: at once if it is there, else the connection starts no other request until it is.
pub fn later_long<M, A>(
    broker: &Arc<Broker>,
    version: i16,
    state_bytes: usize,
    ask: impl FnOnce() -> A + Send + 'static,
) -> Outcome
where
    M: Encodable + Send,
    A: Future<Output = M> + Send + 'static,
{
    let bytes = state_bytes.saturating_mul(BYTES_PER_STATE_BYTE);
    if let Some(memory) = broker.answer_memory.try_take(bytes) {
        return Outcome::Later(covered(version, memory, ask()));
    }
    let broker = Arc::clone(broker);
    Outcome::Serial(Box::pin(async move {
        match broker.answer_memory.take(bytes).await {
            Some(memory) => Outcome::Later(covered(version, memory, ask())),
            None => Outcome::Close(no_room(bytes)),
        }
    }))
}

/// As [`later`], for an answer whose length only the shard knows: `len` tells it from the message, whose long parts are those of the
/// shard's state. Memory for the encoded form is taken before there is one.
pub fn later_covered<M: Encodable + Send + 'static>(
    broker: &Arc<Broker>,
    version: i16,
    response: impl Future<Output = M> + Send + 'static,
    len: fn(&M) -> usize,
) -> Outcome {
    let broker = Arc::clone(broker);
    Outcome::Later(Box::pin(async move {
        let response = response.await;
        let bytes = len(&response);
        let memory = broker.answer_memory.take(bytes).await.ok_or_else(|| no_room(bytes))?;
        covered(version, memory, std::future::ready(response)).await
    }))
}

fn covered<M: Encodable>(
    version: i16,
    mut memory: AnswerPermit,
    response: impl Future<Output = M> + Send + 'static,
) -> Pending {
    Box::pin(async move {
        let mut reply = codec::encode(&response.await, version)?;
        memory.resize(reply.uncovered_len());
        reply.memory = Some(memory);
        Ok(reply)
    })
}

fn no_room(bytes: usize) -> Disconnect {
    Disconnect(format!(
        "no room in the byte budget for an answer of {bytes} bytes (highwater.memory.bytes)"
    ))
}

/// The outcome of a request whose effect waits in the queue of a shard.
pub fn later<M: Encodable>(
    version: i16,
    response: impl Future<Output = M> + Send + 'static,
) -> Outcome {
    Outcome::Later(Box::pin(async move { codec::encode(&response.await, version) }))
}
