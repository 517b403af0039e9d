//! The layout of each request body, field by field in wire order (Kafka's `*Request.json`).

use super::schema::Kind::{Blob, Fixed, List, Optional, Structs, Text};
use super::schema::{Field, Kind, always, between, since, until};

const BYTE: Kind = Fixed(1);
const INT16: Kind = Fixed(2);
const INT32: Kind = Fixed(4);
const INT64: Kind = Fixed(8);
const UUID: Kind = Fixed(16);

/// Produce (0). The product reads it with `codec::produce`, which checks for itself; this is the same layout for tests.
pub static PRODUCE: &[Field] = &[
    always(Text),
    always(INT16),
    always(INT32),
    always(Structs(&[
        until(12, Text),
        since(13, UUID),
        always(Structs(&[always(INT32), always(Blob)])),
    ])),
];

/// Fetch (1).
pub static FETCH: &[Field] = &[
    until(14, INT32),
    always(INT32),
    always(INT32),
    always(INT32),
    always(BYTE),
    since(7, INT32),
    since(7, INT32),
    always(Structs(&[
        until(12, Text),
        since(13, UUID),
        always(Structs(&[
            always(INT32),
            since(9, INT32),
            always(INT64),
            since(12, INT32),
            since(5, INT64),
            always(INT32),
        ])),
    ])),
    since(7, Structs(&[until(12, Text), since(13, UUID), always(List(&INT32))])),
    since(11, Text),
];

/// ListOffsets (2).
pub static LIST_OFFSETS: &[Field] = &[
    always(INT32),
    since(2, BYTE),
    always(Structs(&[
        always(Text),
        always(Structs(&[always(INT32), since(4, INT32), always(INT64)])),
    ])),
    since(10, INT32),
];

/// Metadata (3).
pub static METADATA: &[Field] = &[
    always(Structs(&[since(10, UUID), always(Text)])),
    since(4, BYTE),
    between(8, 10, BYTE),
    since(8, BYTE),
];

/// OffsetCommit (8).
pub static OFFSET_COMMIT: &[Field] = &[
    always(Text),
    always(INT32),
    always(Text),
    since(7, Text),
    until(4, INT64),
    always(Structs(&[
        until(9, Text),
        since(10, UUID),
        always(Structs(&[always(INT32), always(INT64), since(6, INT32), always(Text)])),
    ])),
];

/// OffsetFetch (9).
pub static OFFSET_FETCH: &[Field] = &[
    until(7, Text),
    until(7, Structs(&[always(Text), always(List(&INT32))])),
    since(
        8,
        Structs(&[
            always(Text),
            since(9, Text),
            since(9, INT32),
            always(Structs(&[until(9, Text), since(10, UUID), always(List(&INT32))])),
        ]),
    ),
    since(7, BYTE),
];

/// FindCoordinator (10).
pub static FIND_COORDINATOR: &[Field] = &[until(3, Text), since(1, BYTE), since(4, List(&Text))];

/// JoinGroup (11).
pub static JOIN_GROUP: &[Field] = &[
    always(Text),
    always(INT32),
    since(1, INT32),
    always(Text),
    since(5, Text),
    always(Text),
    always(Structs(&[always(Text), always(Blob)])),
    since(8, Text),
];

/// Heartbeat (12).
pub static HEARTBEAT: &[Field] = &[always(Text), always(INT32), always(Text), since(3, Text)];

/// LeaveGroup (13).
pub static LEAVE_GROUP: &[Field] = &[
    always(Text),
    until(2, Text),
    since(3, Structs(&[always(Text), always(Text), since(5, Text)])),
];

/// SyncGroup (14).
pub static SYNC_GROUP: &[Field] = &[
    always(Text),
    always(INT32),
    always(Text),
    since(3, Text),
    since(5, Text),
    since(5, Text),
    always(Structs(&[always(Text), always(Blob)])),
];

/// DescribeGroups (15).
pub static DESCRIBE_GROUPS: &[Field] = &[always(List(&Text)), since(3, BYTE)];

/// ListGroups (16).
pub static LIST_GROUPS: &[Field] = &[since(4, List(&Text)), since(5, List(&Text))];

/// ApiVersions (18).
pub static API_VERSIONS: &[Field] =
    &[since(3, Text), since(3, Text), since(5, Text), since(5, INT32)];

/// CreateTopics (19).
pub static CREATE_TOPICS: &[Field] = &[
    always(Structs(&[
        always(Text),
        always(INT32),
        always(INT16),
        always(Structs(&[always(INT32), always(List(&INT32))])),
        always(Structs(&[always(Text), always(Text)])),
    ])),
    always(INT32),
    always(BYTE),
];

/// DeleteTopics (20).
pub static DELETE_TOPICS: &[Field] =
    &[since(6, Structs(&[always(Text), always(UUID)])), until(5, List(&Text)), always(INT32)];

/// DeleteRecords (21).
pub static DELETE_RECORDS: &[Field] = &[
    always(Structs(&[always(Text), always(Structs(&[always(INT32), always(INT64)]))])),
    always(INT32),
];

/// InitProducerId (22).
pub static INIT_PRODUCER_ID: &[Field] =
    &[always(Text), always(INT32), since(3, INT64), since(3, INT16)];

/// OffsetForLeaderEpoch (23).
pub static OFFSET_FOR_LEADER_EPOCH: &[Field] = &[
    since(3, INT32),
    always(Structs(&[
        always(Text),
        always(Structs(&[always(INT32), always(INT32), always(INT32)])),
    ])),
];

/// AddPartitionsToTxn (24).
pub static ADD_PARTITIONS_TO_TXN: &[Field] = &[
    since(
        4,
        Structs(&[
            always(Text),
            always(INT64),
            always(INT16),
            always(BYTE),
            always(Structs(&[always(Text), always(List(&INT32))])),
        ]),
    ),
    until(3, Text),
    until(3, INT64),
    until(3, INT16),
    until(3, Structs(&[always(Text), always(List(&INT32))])),
];

/// AddOffsetsToTxn (25).
pub static ADD_OFFSETS_TO_TXN: &[Field] =
    &[always(Text), always(INT64), always(INT16), always(Text)];

/// EndTxn (26).
pub static END_TXN: &[Field] = &[always(Text), always(INT64), always(INT16), always(BYTE)];

/// WriteTxnMarkers (27).
pub static WRITE_TXN_MARKERS: &[Field] = &[always(Structs(&[
    always(INT64),
    always(INT16),
    always(BYTE),
    always(Structs(&[always(Text), always(List(&INT32))])),
    always(INT32),
    since(2, BYTE),
]))];

/// TxnOffsetCommit (28).
pub static TXN_OFFSET_COMMIT: &[Field] = &[
    always(Text),
    always(Text),
    always(INT64),
    always(INT16),
    since(3, INT32),
    since(3, Text),
    since(3, Text),
    always(Structs(&[
        until(5, Text),
        since(6, UUID),
        always(Structs(&[always(INT32), always(INT64), since(2, INT32), always(Text)])),
    ])),
];

/// DescribeConfigs (32).
pub static DESCRIBE_CONFIGS: &[Field] = &[
    always(Structs(&[always(BYTE), always(Text), always(List(&Text))])),
    always(BYTE),
    since(3, BYTE),
];

/// AlterConfigs (33).
pub static ALTER_CONFIGS: &[Field] = &[
    always(Structs(&[always(BYTE), always(Text), always(Structs(&[always(Text), always(Text)]))])),
    always(BYTE),
];

/// AlterReplicaLogDirs (34).
pub static ALTER_REPLICA_LOG_DIRS: &[Field] =
    &[always(Structs(&[always(Text), always(Structs(&[always(Text), always(List(&INT32))]))]))];

/// DescribeLogDirs (35).
pub static DESCRIBE_LOG_DIRS: &[Field] = &[always(Structs(&[always(Text), always(List(&INT32))]))];

/// CreatePartitions (37).
pub static CREATE_PARTITIONS: &[Field] = &[
    always(Structs(&[always(Text), always(INT32), always(Structs(&[always(List(&INT32))]))])),
    always(INT32),
    always(BYTE),
];

/// DeleteGroups (42).
pub static DELETE_GROUPS: &[Field] = &[always(List(&Text))];

/// ElectLeaders (43).
pub static ELECT_LEADERS: &[Field] =
    &[since(1, BYTE), always(Structs(&[always(Text), always(List(&INT32))])), always(INT32)];

/// IncrementalAlterConfigs (44).
pub static INCREMENTAL_ALTER_CONFIGS: &[Field] = &[
    always(Structs(&[
        always(BYTE),
        always(Text),
        always(Structs(&[always(Text), always(BYTE), always(Text)])),
    ])),
    always(BYTE),
];

/// AlterPartitionReassignments (45).
pub static ALTER_PARTITION_REASSIGNMENTS: &[Field] = &[
    always(INT32),
    since(1, BYTE),
    always(Structs(&[always(Text), always(Structs(&[always(INT32), always(List(&INT32))]))])),
];

/// ListPartitionReassignments (46).
pub static LIST_PARTITION_REASSIGNMENTS: &[Field] =
    &[always(INT32), always(Structs(&[always(Text), always(List(&INT32))]))];

/// OffsetDelete (47).
pub static OFFSET_DELETE: &[Field] =
    &[always(Text), always(Structs(&[always(Text), always(Structs(&[always(INT32)]))]))];

/// DescribeCluster (60).
pub static DESCRIBE_CLUSTER: &[Field] = &[always(BYTE), since(1, BYTE), since(2, BYTE)];

/// DescribeProducers (61).
pub static DESCRIBE_PRODUCERS: &[Field] = &[always(Structs(&[always(Text), always(List(&INT32))]))];

/// DescribeTransactions (65).
pub static DESCRIBE_TRANSACTIONS: &[Field] = &[always(List(&Text))];

/// ListTransactions (66).
pub static LIST_TRANSACTIONS: &[Field] =
    &[always(List(&Text)), always(List(&INT64)), since(1, INT64), since(2, Text)];

/// ConsumerGroupHeartbeat (68).
pub static CONSUMER_GROUP_HEARTBEAT: &[Field] = &[
    always(Text),
    always(Text),
    always(INT32),
    always(Text),
    always(Text),
    always(INT32),
    always(List(&Text)),
    since(1, Text),
    always(Text),
    always(Structs(&[always(UUID), always(List(&INT32))])),
];

/// ConsumerGroupDescribe (69).
pub static CONSUMER_GROUP_DESCRIBE: &[Field] = &[always(List(&Text)), always(BYTE)];

/// ListConfigResources (74).
pub static LIST_CONFIG_RESOURCES: &[Field] = &[since(1, List(&BYTE))];

/// DescribeTopicPartitions (75).
pub static DESCRIBE_TOPIC_PARTITIONS: &[Field] = &[
    always(Structs(&[always(Text)])),
    always(INT32),
    always(Optional(&[always(Text), always(INT32)])),
];
