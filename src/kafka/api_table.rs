//! The one table of APIs: it decides what is served, and the ApiVersions answer and `docs/apis.md` are generated from it.

use std::ops::RangeInclusive;

use super::guard::{self, Field};
use super::handler::{Outcome, Request};
use super::handlers;

/// One API of the protocol that this broker serves.
#[derive(Debug)]
pub struct Api {
    /// Kafka's API key.
    pub key: i16,
    /// Kafka's name.
    pub name: &'static str,
    /// Versions served. What lies outside is answered by closing the connection, except for ApiVersions.
    pub versions: RangeInclusive<i16>,
    /// Lowest version that ApiVersions tells. Differs from the lowest served for Produce alone: librdkafka before 2.11.1
    /// compresses only if Produce v0 lies in the advertised range (Kafka's `ApiKeys.toApiVersionForApiResponse`).
    pub advertised_from: i16,
    /// First version with compact lengths, tags and the longer headers (KIP-482).
    pub flexible_from: i16,
    /// Who may ask.
    pub access: Access,
    /// Which quota it counts against.
    pub throttle: Throttle,
    /// How its body is made safe to decode.
    pub body: Body,
    /// Answers it.
    pub handle: fn(Request) -> Outcome,
}

/// The authentication state that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Also before authentication.
    Anyone,
    /// After authentication, where the listener asks for it.
    Authenticated,
}

/// The quota that a request counts against (Kafka's `QuotaType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// Bytes produced.
    Produce,
    /// Bytes fetched.
    Fetch,
    /// Time of request handlers.
    Request,
    /// Partitions created and deleted.
    Mutation,
}

/// How the body of a request is made safe to decode.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// The guard checks it along this layout before the handler runs.
    Guarded(&'static [Field]),
    /// The handler's own reader checks counts against the bytes that remain.
    OwnReader,
}

/// Key of the API that answers which APIs there are; it has rules of its own for unknown versions.
pub const API_VERSIONS: i16 = 18;

const FETCH: i16 = 1;

/// Every API served, by key.
pub static APIS: &[Api] = &[
    Api {
        key: 0,
        name: "Produce",
        versions: 3..=13,
        advertised_from: 0,
        flexible_from: 9,
        access: Access::Authenticated,
        throttle: Throttle::Produce,
        body: Body::OwnReader,
        handle: handlers::produce::handle,
    },
    Api {
        key: 1,
        name: "Fetch",
        versions: 4..=18,
        advertised_from: 4,
        flexible_from: 12,
        access: Access::Authenticated,
        throttle: Throttle::Fetch,
        body: Body::Guarded(guard::FETCH),
        handle: handlers::fetch::handle,
    },
    Api {
        key: 2,
        name: "ListOffsets",
        versions: 1..=11,
        advertised_from: 1,
        flexible_from: 6,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::LIST_OFFSETS),
        handle: handlers::list_offsets::handle,
    },
    Api {
        key: 3,
        name: "Metadata",
        versions: 0..=13,
        advertised_from: 0,
        flexible_from: 9,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::METADATA),
        handle: handlers::metadata::handle,
    },
    Api {
        key: 8,
        name: "OffsetCommit",
        versions: 2..=10,
        advertised_from: 2,
        flexible_from: 8,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::OFFSET_COMMIT),
        handle: handlers::offset_commit::handle,
    },
    Api {
        key: 9,
        name: "OffsetFetch",
        versions: 1..=10,
        advertised_from: 1,
        flexible_from: 6,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::OFFSET_FETCH),
        handle: handlers::offset_fetch::handle,
    },
    Api {
        key: 10,
        name: "FindCoordinator",
        versions: 0..=6,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::FIND_COORDINATOR),
        handle: handlers::find_coordinator::handle,
    },
    Api {
        key: 11,
        name: "JoinGroup",
        versions: 0..=9,
        advertised_from: 0,
        flexible_from: 6,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::JOIN_GROUP),
        handle: handlers::join_group::handle,
    },
    Api {
        key: 12,
        name: "Heartbeat",
        versions: 0..=4,
        advertised_from: 0,
        flexible_from: 4,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::HEARTBEAT),
        handle: handlers::heartbeat::handle,
    },
    Api {
        key: 13,
        name: "LeaveGroup",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 4,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::LEAVE_GROUP),
        handle: handlers::leave_group::handle,
    },
    Api {
        key: 14,
        name: "SyncGroup",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 4,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::SYNC_GROUP),
        handle: handlers::sync_group::handle,
    },
    Api {
        key: 15,
        name: "DescribeGroups",
        versions: 0..=6,
        advertised_from: 0,
        flexible_from: 5,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_GROUPS),
        handle: handlers::describe_groups::handle,
    },
    Api {
        key: 16,
        name: "ListGroups",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::LIST_GROUPS),
        handle: handlers::list_groups::handle,
    },
    Api {
        key: 18,
        name: "ApiVersions",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Anyone,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::API_VERSIONS),
        handle: handlers::api_versions::handle,
    },
    Api {
        key: 19,
        name: "CreateTopics",
        versions: 2..=7,
        advertised_from: 2,
        flexible_from: 5,
        access: Access::Authenticated,
        throttle: Throttle::Mutation,
        body: Body::Guarded(guard::CREATE_TOPICS),
        handle: handlers::create_topics::handle,
    },
    Api {
        key: 20,
        name: "DeleteTopics",
        versions: 1..=6,
        advertised_from: 1,
        flexible_from: 4,
        access: Access::Authenticated,
        throttle: Throttle::Mutation,
        body: Body::Guarded(guard::DELETE_TOPICS),
        handle: handlers::delete_topics::handle,
    },
    Api {
        key: 21,
        name: "DeleteRecords",
        versions: 0..=2,
        advertised_from: 0,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DELETE_RECORDS),
        handle: handlers::delete_records::handle,
    },
    Api {
        key: 22,
        name: "InitProducerId",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::INIT_PRODUCER_ID),
        handle: handlers::init_producer_id::handle,
    },
    Api {
        key: 23,
        name: "OffsetForLeaderEpoch",
        versions: 2..=4,
        advertised_from: 2,
        flexible_from: 4,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::OFFSET_FOR_LEADER_EPOCH),
        handle: handlers::offset_for_leader_epoch::handle,
    },
    Api {
        key: 24,
        name: "AddPartitionsToTxn",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::ADD_PARTITIONS_TO_TXN),
        handle: handlers::add_partitions_to_txn::handle,
    },
    Api {
        key: 25,
        name: "AddOffsetsToTxn",
        versions: 0..=4,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::ADD_OFFSETS_TO_TXN),
        handle: handlers::add_offsets_to_txn::handle,
    },
    Api {
        key: 26,
        name: "EndTxn",
        versions: 0..=5,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::END_TXN),
        handle: handlers::end_txn::handle,
    },
    Api {
        key: 27,
        name: "WriteTxnMarkers",
        versions: 1..=2,
        advertised_from: 1,
        flexible_from: 1,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::WRITE_TXN_MARKERS),
        handle: handlers::write_txn_markers::handle,
    },
    Api {
        key: 28,
        name: "TxnOffsetCommit",
        versions: 0..=6,
        advertised_from: 0,
        flexible_from: 3,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::TXN_OFFSET_COMMIT),
        handle: handlers::txn_offset_commit::handle,
    },
    Api {
        key: 32,
        name: "DescribeConfigs",
        versions: 1..=4,
        advertised_from: 1,
        flexible_from: 4,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_CONFIGS),
        handle: handlers::describe_configs::handle,
    },
    Api {
        key: 33,
        name: "AlterConfigs",
        versions: 0..=2,
        advertised_from: 0,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::ALTER_CONFIGS),
        handle: handlers::alter_configs::handle,
    },
    Api {
        key: 34,
        name: "AlterReplicaLogDirs",
        versions: 1..=2,
        advertised_from: 1,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::ALTER_REPLICA_LOG_DIRS),
        handle: handlers::alter_replica_log_dirs::handle,
    },
    Api {
        key: 35,
        name: "DescribeLogDirs",
        versions: 1..=5,
        advertised_from: 1,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_LOG_DIRS),
        handle: handlers::describe_log_dirs::handle,
    },
    Api {
        key: 37,
        name: "CreatePartitions",
        versions: 0..=3,
        advertised_from: 0,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Mutation,
        body: Body::Guarded(guard::CREATE_PARTITIONS),
        handle: handlers::create_partitions::handle,
    },
    Api {
        key: 42,
        name: "DeleteGroups",
        versions: 0..=3,
        advertised_from: 0,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DELETE_GROUPS),
        handle: handlers::delete_groups::handle,
    },
    Api {
        key: 43,
        name: "ElectLeaders",
        versions: 0..=2,
        advertised_from: 0,
        flexible_from: 2,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::ELECT_LEADERS),
        handle: handlers::elect_leaders::handle,
    },
    Api {
        key: 44,
        name: "IncrementalAlterConfigs",
        versions: 0..=1,
        advertised_from: 0,
        flexible_from: 1,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::INCREMENTAL_ALTER_CONFIGS),
        handle: handlers::incremental_alter_configs::handle,
    },
    Api {
        key: 45,
        name: "AlterPartitionReassignments",
        versions: 0..=1,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::ALTER_PARTITION_REASSIGNMENTS),
        handle: handlers::alter_partition_reassignments::handle,
    },
    Api {
        key: 46,
        name: "ListPartitionReassignments",
        versions: 0..=0,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::LIST_PARTITION_REASSIGNMENTS),
        handle: handlers::list_partition_reassignments::handle,
    },
    Api {
        key: 47,
        name: "OffsetDelete",
        versions: 0..=0,
        advertised_from: 0,
        flexible_from: 1,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::OFFSET_DELETE),
        handle: handlers::offset_delete::handle,
    },
    Api {
        key: 60,
        name: "DescribeCluster",
        versions: 0..=2,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_CLUSTER),
        handle: handlers::describe_cluster::handle,
    },
    Api {
        key: 61,
        name: "DescribeProducers",
        versions: 0..=0,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_PRODUCERS),
        handle: handlers::describe_producers::handle,
    },
    Api {
        key: 65,
        name: "DescribeTransactions",
        versions: 0..=0,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_TRANSACTIONS),
        handle: handlers::describe_transactions::handle,
    },
    Api {
        key: 66,
        name: "ListTransactions",
        versions: 0..=2,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::LIST_TRANSACTIONS),
        handle: handlers::list_transactions::handle,
    },
    Api {
        key: 68,
        name: "ConsumerGroupHeartbeat",
        versions: 0..=1,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::CONSUMER_GROUP_HEARTBEAT),
        handle: handlers::consumer_group_heartbeat::handle,
    },
    Api {
        key: 69,
        name: "ConsumerGroupDescribe",
        versions: 0..=1,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::CONSUMER_GROUP_DESCRIBE),
        handle: handlers::consumer_group_describe::handle,
    },
    Api {
        key: 74,
        name: "ListConfigResources",
        versions: 0..=1,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::LIST_CONFIG_RESOURCES),
        handle: handlers::list_config_resources::handle,
    },
    Api {
        key: 75,
        name: "DescribeTopicPartitions",
        versions: 0..=0,
        advertised_from: 0,
        flexible_from: 0,
        access: Access::Authenticated,
        throttle: Throttle::Request,
        body: Body::Guarded(guard::DESCRIBE_TOPIC_PARTITIONS),
        handle: handlers::describe_topic_partitions::handle,
    },
];

impl Api {
    /// The API with this key, if it is served.
    pub fn find(key: i16) -> Option<&'static Self> {
        let index = *BY_KEY.get(usize::try_from(key).ok()?)?;
        APIS.get(usize::from(index))
    }

    /// True if a reply may wait for data that nobody has sent yet. Members that wait for others are answered when the broker
    /// stops ([`Broker::stop_groups`](crate::broker::Broker::stop_groups)), so that they look for another coordinator.
    pub const fn is_long_poll(&self) -> bool {
        self.key == FETCH
    }

    /// True for versions with compact lengths and tags.
    pub const fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }

    /// True if the response header of `version` has a tag section. ApiVersions never has one, so that a client can read the
    /// answer before it knows what the broker speaks.
    pub const fn has_tagged_response_header(&self, version: i16) -> bool {
        self.key != API_VERSIONS && self.is_flexible(version)
    }
}

const KEYS: usize = 128;
const ABSENT: u8 = u8::MAX;

/// Index into [`APIS`] by key.
static BY_KEY: [u8; KEYS] = {
    let mut by_key = [ABSENT; KEYS];
    let mut index = 0;
    while index < APIS.len() {
        by_key[APIS[index].key as usize] = index as u8;
        index += 1;
    }
    by_key
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::api_page::markdown;

    #[test]
    fn rows_are_found_by_their_key_and_nothing_else_is() {
        for api in APIS {
            assert_eq!(Api::find(api.key).map(|found| found.name), Some(api.name));
        }
        for key in [-1, 4, 127, 128, i16::MIN, i16::MAX] {
            assert!(Api::find(key).is_none(), "{key}");
        }
    }

    #[test]
    fn keys_ascend_and_versions_are_not_empty() {
        assert!(APIS.windows(2).all(|pair| pair[0].key < pair[1].key));
        for api in APIS {
            assert!(!api.versions.is_empty() && api.advertised_from <= *api.versions.start());
        }
    }

    #[test]
    fn header_versions_are_those_of_kafkas_definitions() {
        use kafka_protocol::messages::ApiKey;
        for api in APIS {
            let key = ApiKey::try_from(api.key).expect("a Kafka key");
            assert_eq!(format!("{key:?}"), api.name);
            for version in api.versions.clone() {
                let request = if api.is_flexible(version) { 2 } else { 1 };
                let response = i16::from(api.has_tagged_response_header(version));
                let name = api.name;
                assert_eq!(key.request_header_version(version), request, "{name} v{version}");
                assert_eq!(key.response_header_version(version), response, "{name} v{version}");
            }
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the page is a file of the repository")]
    fn the_page_of_apis_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/apis.md");
        if std::env::var_os("HIGHWATER_WRITE_DOCS").is_some() {
            std::fs::write(path, markdown()).expect("docs/apis.md can be written");
        }
        let page = std::fs::read_to_string(path).expect("docs/apis.md");
        assert_eq!(page, markdown(), "run with HIGHWATER_WRITE_DOCS=1");
    }
}
