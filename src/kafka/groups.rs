//! What the handlers of the group APIs share: the way to the shard of a group and back.

use std::net::IpAddr;
use std::sync::Arc;

use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup as DescribedConsumerGroup;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatResponse, GroupId, HeartbeatResponse, JoinGroupResponse,
    LeaveGroupResponse, OffsetCommitResponse, OffsetDeleteResponse, SyncGroupResponse,
    TxnOffsetCommitResponse,
};

use super::coordinators::{Asked, code};
use super::handler::Request;
use crate::broker::{BoxFuture, Broker, CoordinatorError};
use crate::coordinator::groups::{Call, Client, GroupCommand, GroupReply};
use crate::kafka::ErrorCode;

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

/// About how much memory what is known of groups takes at most: each may be all that its shard knows.
pub fn state_bytes(broker: &Broker, groups: &[GroupId]) -> usize {
    groups.iter().map(|group| broker.group_state_bytes(group)).fold(0, usize::saturating_add)
}

/// Sends a command to every shard.
pub fn ask_each<A: Answer>(
    broker: &Arc<Broker>,
    command: impl Fn() -> GroupCommand,
) -> BoxFuture<Vec<Result<A, ErrorCode>>> {
    let replies = broker.group_call_each(command);
    Box::pin(async move {
        let answer = |reply: Result<GroupReply, CoordinatorError>| {
            reply.map(expected).map_err(|error| code(&error))
        };
        replies.await.into_iter().map(answer).collect()
    })
}

fn expected<A: Answer>(reply: GroupReply) -> A {
    A::of(reply).expect("a shard answers a command with the reply of its name")
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
