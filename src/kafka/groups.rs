//! What the handlers of the group APIs share: the way to the shard of a group and back, and which code says that there was none.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup as DescribedConsumerGroup;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatResponse, HeartbeatResponse, JoinGroupResponse, LeaveGroupResponse,
    OffsetCommitResponse, OffsetDeleteResponse, SyncGroupResponse, TxnOffsetCommitResponse,
};
use kafka_protocol::protocol::Encodable;

use super::codec;
use super::handler::{Outcome, Request};
use crate::broker::{BoxFuture, Broker, GroupError};
use crate::coordinator::groups::{Call, Client, GroupCommand, GroupReply};
use crate::coordinator::runtime::CallError;
use crate::kafka::ErrorCode;

/// An answer that is still to come, or the code of why there is none.
pub type Asked<A> = BoxFuture<Result<A, ErrorCode>>;

/// What a shard answers to one kind of command.
pub trait Answer: Send + Sized + 'static {
    /// The answer in a reply; `None` if the reply is to another kind of command.
    fn of(reply: GroupReply) -> Option<Self>;
}

macro_rules! answers {
    ($($variant:ident($answer:ty),)*) => {
        $(impl Answer for $answer {
            fn of(reply: GroupReply) -> Option<Self> {
                match reply {
                    GroupReply::$variant(answer) => Some(answer),
                    _ => None,
                }
            }
        })*
    };
}

answers! {
    Join(JoinGroupResponse),
    Sync(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    Leave(LeaveGroupResponse),
    ConsumerHeartbeat(ConsumerGroupHeartbeatResponse),
    CommitOffsets(OffsetCommitResponse),
    CommitInTransaction(TxnOffsetCommitResponse),
    FetchOffsets(OffsetFetchResponseGroup),
    DeleteOffsets(OffsetDeleteResponse),
    DeleteGroup(DeletableGroupResult),
    DescribeClassic(DescribedGroup),
    DescribeConsumer(DescribedConsumerGroup),
    List(Vec<ListedGroup>),
}

/// Sends a command to the shard of `group`. It stands in the shard's queue when this returns, so that the requests of a
/// connection take effect in their order.
pub fn ask<A: Answer>(broker: &Arc<Broker>, group: &str, command: GroupCommand) -> Asked<A> {
    let reply = broker.group_call(group, command);
    Box::pin(async move { reply.await.map(expected).map_err(|error| code(&error)) })
}

/// Sends a command to every shard.
pub fn ask_each<A: Answer>(
    broker: &Arc<Broker>,
    command: impl Fn() -> GroupCommand,
) -> BoxFuture<Vec<Result<A, ErrorCode>>> {
    let replies = broker.group_call_each(command);
    Box::pin(async move {
        let answer = |reply: Result<GroupReply, GroupError>| {
            reply.map(expected).map_err(|error| code(&error))
        };
        replies.await.into_iter().map(answer).collect()
    })
}

fn expected<A: Answer>(reply: GroupReply) -> A {
    A::of(reply).expect("a shard answers a command with the reply of its name")
}

/// Which code tells that a shard has not answered. COORDINATOR_LOAD_IN_PROGRESS is not among them: commands wait while a shard
/// is read, and the Java client takes that code in a Heartbeat for the end.
pub fn code(error: &GroupError) -> ErrorCode {
    match error {
        GroupError::NoTopic(_)
        | GroupError::Call(CallError::NotAvailable | CallError::Overloaded | CallError::NoMemory) => {
            ErrorCode::CoordinatorNotAvailable
        }
        GroupError::Call(CallError::GivenUp) => ErrorCode::NotCoordinator,
    }
}

/// `body` as a shard takes it.
pub fn call<R>(request: &Request, body: R) -> Call<R> {
    let client =
        Client { id: Arc::clone(&request.client_id), host: host(request.peer.address.ip()) };
    Call { version: request.version, client, request: body }
}

/// An address as Java prints an `InetAddress` without a name: without any abbreviation.
fn host(address: IpAddr) -> Arc<str> {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("/{address}").into(),
        IpAddr::V6(address) => {
            let groups = address.segments().map(|group| format!("{group:x}"));
            format!("/{}", groups.join(":")).into()
        }
    }
}

/// The outcome of a request whose effect waits in the queue of a shard.
pub fn later<M: Encodable>(
    version: i16,
    response: impl Future<Output = M> + Send + 'static,
) -> Outcome {
    Outcome::Later(Box::pin(async move { codec::encode(&response.await, version) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_as_java_does() {
        for (address, told) in [
            ("127.0.0.1", "/127.0.0.1"),
            ("::ffff:10.0.0.7", "/10.0.0.7"),
            ("::1", "/0:0:0:0:0:0:0:1"),
            ("2001:db8::a:0:1", "/2001:db8:0:0:0:a:0:1"),
        ] {
            assert_eq!(&*host(address.parse().expect("an address")), told);
        }
    }
}
