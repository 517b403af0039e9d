//! What front ends ask of groups. Requests and answers are the protocol's own messages.

use std::sync::Arc;

use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup as DescribedConsumerGroup;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, HeartbeatRequest,
    HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse,
    OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse,
    SyncGroupRequest, SyncGroupResponse, TxnOffsetCommitRequest, TxnOffsetCommitResponse,
};

use crate::coordinator::transactions::TransactionError;
use crate::coordinator::{GroupId, TransactionalId};
use crate::types::{Marker, ProducerId, ProducerIdAndEpoch, TransactionVersion, Uuid};

/// A request of a client.
#[derive(Debug)]
pub struct Call<R> {
    /// Version of the API that it came in: some rules depend on it.
    pub version: i16,
    /// Who asks.
    pub client: Client,
    /// What it says. Its strings and bytes are slices of the request's frame: copy what is kept.
    pub request: R,
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Client {
    /// `client.id`.
    pub id: Arc<str>,
    /// Its address as Kafka writes it, `/127.0.0.1`.
    pub host: Arc<str>,
}

/// One command to a shard.
#[derive(Debug)]
pub enum GroupCommand {
    /// JoinGroup.
    Join(Call<JoinGroupRequest>),
    /// SyncGroup.
    Sync(Call<SyncGroupRequest>),
    /// Heartbeat.
    Heartbeat(Call<HeartbeatRequest>),
    /// LeaveGroup.
    Leave(Call<LeaveGroupRequest>),
    /// ConsumerGroupHeartbeat (KIP-848).
    ConsumerHeartbeat(Call<ConsumerGroupHeartbeatRequest>),
    /// OffsetCommit. Partitions that do not exist have been taken out by the caller, and topic ids are set where known.
    CommitOffsets(Call<OffsetCommitRequest>),
    /// TxnOffsetCommit. Partitions that do not exist have been taken out by the caller.
    CommitInTransaction(Call<TxnOffsetCommitRequest>),
    /// What came of [`VerifyTransaction`].
    TransactionVerified {
        /// As in the errand.
        errand: Uuid,
        /// As in the errand.
        producer: ProducerId,
        /// Whether the shard is part of the producer's open transaction.
        verdict: Result<(), TransactionError>,
    },
    /// A transaction that may have offsets in this shard ends.
    EndTransaction(Marker),
    /// OffsetFetch for one group of the request.
    FetchOffsets {
        /// Version of the API.
        version: i16,
        /// The group and what of it.
        group: OffsetFetchRequestGroup,
        /// Offsets of open transactions make a partition unstable.
        require_stable: bool,
    },
    /// OffsetDelete. Partitions that do not exist have been taken out by the caller.
    DeleteOffsets(OffsetDeleteRequest),
    /// DeleteGroups for one group.
    DeleteGroup(GroupId),
    /// DescribeGroups for one group.
    DescribeClassic {
        /// Version of the API.
        version: i16,
        /// Which one.
        group: GroupId,
    },
    /// ConsumerGroupDescribe for one group.
    DescribeConsumer(GroupId),
    /// ListGroups: the groups of this shard.
    List {
        /// Lower-case names of states; empty for all.
        states: Vec<String>,
        /// Lower-case names of types; empty for all.
        types: Vec<String>,
    },
    /// Every group of this shard with its members and offsets, for metrics.
    Overview,
}

/// What a shard answers: the variant of the command's name.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is the answer of the API that the command is named after")]
pub enum GroupReply {
    Join(JoinGroupResponse),
    Sync(SyncGroupResponse),
    Heartbeat(HeartbeatResponse),
    Leave(LeaveGroupResponse),
    ConsumerHeartbeat(ConsumerGroupHeartbeatResponse),
    CommitOffsets(OffsetCommitResponse),
    CommitInTransaction(TxnOffsetCommitResponse),
    TransactionVerified,
    EndTransaction(Result<(), MarkerError>),
    FetchOffsets(OffsetFetchResponseGroup),
    DeleteOffsets(OffsetDeleteResponse),
    DeleteGroup(DeletableGroupResult),
    DescribeClassic(DescribedGroup),
    DescribeConsumer(DescribedConsumerGroup),
    List(Vec<ListedGroup>),
    Overview(Vec<GroupOverview>),
}

/// What a shard of groups has others do.
#[derive(Clone, Debug)]
pub enum GroupErrand {
    /// Asks the coordinator of transactions; answered by [`GroupCommand::TransactionVerified`].
    VerifyTransaction(VerifyTransaction),
}

/// Is this shard part of a producer's open transaction?
#[derive(Clone, Debug)]
pub struct VerifyTransaction {
    /// Names the errand; no two of all lives of a shard are the same.
    pub errand: Uuid,
    /// The producer's name.
    pub transactional_id: TransactionalId,
    /// The producer.
    pub producer: ProducerIdAndEpoch,
    /// In version 2 the shard becomes part of the transaction by this.
    pub version: TransactionVersion,
}

/// Why a marker is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// INVALID_PRODUCER_EPOCH.
    #[error("the producer has a newer epoch here")]
    ProducerEpoch,
    /// TRANSACTION_COORDINATOR_FENCED.
    #[error("the partition has heard of a newer coordinator")]
    CoordinatorFenced,
}

/// A group as metrics show it.
#[derive(Clone, Debug)]
pub struct GroupOverview {
    /// Its name.
    pub group: GroupId,
    /// `classic` or `consumer`.
    pub group_type: &'static str,
    /// State as ListGroups names it.
    pub state: &'static str,
    /// Members.
    pub members: usize,
    /// Committed offsets.
    pub offsets: Vec<(crate::types::TopicPartition, crate::types::Offset)>,
}
