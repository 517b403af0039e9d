//! The generated codec by API key, and the product's own where the generated one knows too little.

use bytes::{Buf, Bytes, BytesMut};
use highwater::kafka::codec::fetch::GENERATED_TO;
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Decodable, Encodable};

use crate::{lifted, topic_ids, txn_markers, txn_offsets};

/// A message that the generated decoder read.
pub(crate) struct Decoded {
    /// Bytes behind it.
    pub(crate) rest: usize,
    /// Encoded again.
    pub(crate) encoded: Bytes,
    /// For people.
    pub(crate) text: String,
}

fn recode<M: Decodable + Encodable + std::fmt::Debug>(
    mut body: Bytes,
    version: i16,
) -> Result<Decoded, String> {
    let message = M::decode(&mut body, version).map_err(|error| format!("{error:#}"))?;
    let mut encoded = BytesMut::new();
    message.encode(&mut encoded, version).map_err(|error| format!("{error:#}"))?;
    Ok(Decoded { rest: body.remaining(), encoded: encoded.freeze(), text: format!("{message:?}") })
}

/// The version of the generated codec that has the layout of `version` in what clients send and get, but for what has a
/// reader of its own here.
pub(crate) fn generated(key: i16, version: i16) -> i16 {
    const FETCH: i16 = 1;
    match key {
        FETCH => version.min(GENERATED_TO),
        lifted::LIST_OFFSETS => version.min(10),
        lifted::API_VERSIONS => version.min(4),
        lifted::WRITE_TXN_MARKERS => version.min(1),
        lifted::DESCRIBE_LOG_DIRS => version.min(4),
        lifted::DELETE_GROUPS => version.min(2),
        _ => version,
    }
}

macro_rules! by_key {
    ($($key:literal => $request:ident, $response:ident;)*) => {
        /// Decodes the body of a request.
        pub(crate) fn request(key: i16, version: i16, body: Bytes) -> Result<Decoded, String> {
            let own =
                [topic_ids::request, txn_markers::request, txn_offsets::request, lifted::request];
            if let Some(decoded) = own.iter().find_map(|read| read(key, version, &body)) {
                return decoded;
            }
            let version = generated(key, version);
            match key {
                $($key => recode::<$request>(body, version),)*
                _ => Err(format!("API {key} has no row here")),
            }
        }

        /// Decodes the body of a response.
        pub(crate) fn response(key: i16, version: i16, body: Bytes) -> Result<Decoded, String> {
            let own = [txn_offsets::response, lifted::response];
            if let Some(decoded) = own.iter().find_map(|read| read(key, version, &body)) {
                return decoded;
            }
            let version = generated(key, version);
            match key {
                $($key => recode::<$response>(body, version),)*
                _ => Err(format!("API {key} has no row here")),
            }
        }
    };
}

by_key! {
    0 => ProduceRequest, ProduceResponse;
    1 => FetchRequest, FetchResponse;
    2 => ListOffsetsRequest, ListOffsetsResponse;
    3 => MetadataRequest, MetadataResponse;
    8 => OffsetCommitRequest, OffsetCommitResponse;
    9 => OffsetFetchRequest, OffsetFetchResponse;
    10 => FindCoordinatorRequest, FindCoordinatorResponse;
    11 => JoinGroupRequest, JoinGroupResponse;
    12 => HeartbeatRequest, HeartbeatResponse;
    13 => LeaveGroupRequest, LeaveGroupResponse;
    14 => SyncGroupRequest, SyncGroupResponse;
    15 => DescribeGroupsRequest, DescribeGroupsResponse;
    16 => ListGroupsRequest, ListGroupsResponse;
    18 => ApiVersionsRequest, ApiVersionsResponse;
    19 => CreateTopicsRequest, CreateTopicsResponse;
    20 => DeleteTopicsRequest, DeleteTopicsResponse;
    21 => DeleteRecordsRequest, DeleteRecordsResponse;
    22 => InitProducerIdRequest, InitProducerIdResponse;
    23 => OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse;
    24 => AddPartitionsToTxnRequest, AddPartitionsToTxnResponse;
    25 => AddOffsetsToTxnRequest, AddOffsetsToTxnResponse;
    26 => EndTxnRequest, EndTxnResponse;
    27 => WriteTxnMarkersRequest, WriteTxnMarkersResponse;
    28 => TxnOffsetCommitRequest, TxnOffsetCommitResponse;
    32 => DescribeConfigsRequest, DescribeConfigsResponse;
    33 => AlterConfigsRequest, AlterConfigsResponse;
    34 => AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse;
    35 => DescribeLogDirsRequest, DescribeLogDirsResponse;
    37 => CreatePartitionsRequest, CreatePartitionsResponse;
    42 => DeleteGroupsRequest, DeleteGroupsResponse;
    43 => ElectLeadersRequest, ElectLeadersResponse;
    44 => IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse;
    45 => AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse;
    46 => ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse;
    47 => OffsetDeleteRequest, OffsetDeleteResponse;
    60 => DescribeClusterRequest, DescribeClusterResponse;
    61 => DescribeProducersRequest, DescribeProducersResponse;
    65 => DescribeTransactionsRequest, DescribeTransactionsResponse;
    66 => ListTransactionsRequest, ListTransactionsResponse;
    68 => ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse;
    69 => ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse;
    74 => ListConfigResourcesRequest, ListConfigResourcesResponse;
    75 => DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse;
}
