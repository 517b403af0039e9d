"""What stands in a field: something that makes sense in the world as it is.

A request is about one group, member and producer, and each struct in it about one topic: a `Focus` has chosen them, so that fields
fit together. Fields are found by name, or, where APIs mean different things by the same name, by API and name.
"""

import uuid

from .batches import TRANSACTIONAL, Batch
from .world import Member, Producer, Topic

THEN = 1_700_000_000_000
"""The time of the first record of a topic; each has one a second later than the record before."""
NEVER = uuid.UUID("00000000-0000-4000-8000-00000000beef")
TOPIC_CONFIGS = [("retention.ms", ["3600000", "-1", "604800000"]), ("cleanup.policy", ["delete", "compact", "compact,delete"]),
                 ("max.message.bytes", ["1048588", "2000"]), ("compression.type", ["producer", "uncompressed"]),
                 ("message.timestamp.type", ["CreateTime", "LogAppendTime"]), ("min.insync.replicas", ["1", "2"]),
                 ("segment.bytes", ["1073741824", "1048576"]), ("retention.bytes", ["-1", "1000000"]), ("flush.messages", ["1"]),
                 ("unclean.leader.election.enable", ["true"]), ("delete.retention.ms", ["1000"])]
GROUP_CONFIGS = [("consumer.session.timeout.ms", ["45000", "50000"]), ("consumer.heartbeat.interval.ms", ["5000", "6000"])]
BROKER_CONFIGS = [("log.retention.ms", ["3600000"]), ("message.max.bytes", ["1048588"]), ("num.io.threads", ["8"]),
                  ("log.cleaner.threads", ["1"]), ("max.connections", ["1000"])]
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


class Focus:
    """What one request is about."""

    def __init__(self, random, world, broker, directory):
        self.random, self.world, self.broker, self.directory = random, world, broker, directory
        self.group = random.choice(world.groups)
        self.member = random.choice(self.group.members) if self.group.members and self.often(0.8) else Member()
        self.producer = random.choice(world.producers)
        self.new_topic()
        self.resource = TOPIC
        self.config = None
        self.session = random.choice(world.sessions) if world.sessions and self.often(0.6) else None
        self.is_in_transaction = self.producer.transactional_id is not None and self.often(0.8)

    def often(self, chance):
        return self.random.random() < chance

    def one_of(self, *values):
        return self.random.choice(values)

    def new_topic(self):
        self.topic = self.random.choice(self.world.topics) if self.world.topics else Topic(self.world.prefix + "none")
        self.partition = self.random.randrange(self.topic.partitions)

    def for_api(self, name):
        """APIs that only make sense for something of a kind get one of it."""
        kinds = {"JoinGroup": "classic", "SyncGroup": "classic", "Heartbeat": "classic", "LeaveGroup": "classic",
                 "ConsumerGroupHeartbeat": "consumer", "ConsumerGroupDescribe": "consumer"}
        if name in kinds and self.often(0.9):
            self.group = self.random.choice([group for group in self.world.groups if group.kind == kinds[name]])
            members = self.group.members
            self.member = self.random.choice(members) if members and self.often(0.75) else Member()
        if self.group.kind == "simple" and self.often(0.9):
            self.member = Member()
        if name in ("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit") and self.often(0.95):
            self.producer = self.random.choice([one for one in self.world.producers if one.transactional_id])
        return self

    def may_want_all(self, field):
        """Not of a broker: `Maker.name_settings_of_brokers`."""
        return field.name != "ConfigurationKeys" or self.resource != BROKER

    def end(self):
        """The offset after the last record of the partition, as far as the script knows."""
        return self.topic.records.get(self.partition, 0)

    def configs(self):
        return {TOPIC: TOPIC_CONFIGS, GROUP: GROUP_CONFIGS, BROKER: BROKER_CONFIGS}.get(self.resource, TOPIC_CONFIGS)


def records(focus):
    producer = focus.producer if focus.often(0.7) else Producer(None)
    count = focus.one_of(1, 1, 2, 5)
    lines = tuple((number * 1000, focus.one_of(None, b"", b"key", b"k%d" % number), focus.one_of(None, b"", b"value", b"x" * 100),
                   focus.one_of((), (), ((b"h", None), (b"h", b"1")))) for number in range(count))
    transactional = TRANSACTIONAL if producer.transactional_id and focus.is_in_transaction else 0
    sequence = producer.sequences.get((focus.topic.name, focus.partition), 0) if producer.id != -1 else -1
    return Batch(lines, THEN + 1000 * focus.end(), transactional, producer.id, producer.epoch, sequence)


def partition(focus):
    focus.partition = focus.random.randrange(focus.topic.partitions)
    return focus.partition


def resource_name(focus):
    return {TOPIC: focus.topic.name, BROKER: focus.one_of(str(focus.broker), ""), BROKER_LOGGER: str(focus.broker),
            GROUP: focus.group.name}.get(focus.resource, focus.world.prefix + "metrics")


def resource_type(focus):
    focus.resource = focus.one_of(TOPIC, TOPIC, TOPIC, TOPIC, GROUP, BROKER, CLIENT_METRICS)
    return focus.resource


def config_name(focus):
    focus.config = focus.random.choice(focus.configs())
    return focus.config[0]


def config_value(focus):
    return focus.random.choice(focus.config[1]) if focus.config else "1"


def session_id(focus):
    return focus.session[0] if focus.session else 0


def session_epoch(focus):
    return focus.session[1] if focus.session else focus.one_of(-1, -1, 0)


def generation(focus):
    return focus.member.generation


def member_epoch(focus):
    if focus.member.id == "":
        return 0
    return focus.one_of(*[focus.member.generation] * 6, 0, -1)


def new_member_id(focus):
    """The consumer protocol has clients name themselves."""
    return focus.member.id or f"{focus.world.prefix}m{focus.random.randrange(4)}"


def protocols(focus):
    return focus.one_of("range", "range", "roundrobin", "sticky")


FIELDS = {
    "TransactionalId": lambda f: f.producer.transactional_id or "",
    "Produce.TransactionalId": lambda f: f.producer.transactional_id if f.is_in_transaction else None,
    "InitProducerId.TransactionalId": lambda f: f.producer.transactional_id,
    "TransactionalIds": lambda f: f.random.choice(f.world.producers).transactional_id or "",
    "V3AndBelowTransactionalId": lambda f: f.producer.transactional_id or "",
    "ProducerId": lambda f: f.producer.id,
    "InitProducerId.ProducerId": lambda f: f.producer.id if f.often(0.4) else -1,
    "ProducerIdFilters": lambda f: f.producer.id,
    "V3AndBelowProducerId": lambda f: f.producer.id,
    "ProducerEpoch": lambda f: f.producer.epoch,
    "InitProducerId.ProducerEpoch": lambda f: f.producer.epoch if f.often(0.4) else -1,
    "V3AndBelowProducerEpoch": lambda f: f.producer.epoch,
    "TransactionTimeoutMs": lambda f: 60_000,
    "Acks": lambda f: f.one_of(-1, -1, 1, 1, 0),
    "TimeoutMs": lambda f: 30_000,
    "timeoutMs": lambda f: 30_000,
    "Records": records,
    "Index": partition, "Partition": partition, "PartitionIndex": partition,
    "Partitions": partition, "PartitionIndexes": partition,
    "Cursor.PartitionIndex": partition,
    "TopicId": lambda f: f.topic.id,
    "Metadata.TopicId": lambda f: f.topic.id if f.often(0.5) else uuid.UUID(int=0),
    "DeleteTopics.TopicId": lambda f: uuid.UUID(int=0) if f.often(0.5) else f.topic.id,
    "CreateTopics.Name": lambda f: f.world.new_name() if f.often(0.8) else f.topic.name,
    "CreateTopics.PartitionIndex": lambda f: 0,
    "NumPartitions": lambda f: f.one_of(1, 2, 3, -1),
    "ReplicationFactor": lambda f: f.one_of(1, -1),
    "Count": lambda f: f.topic.partitions + f.one_of(1, 1, 2, 0),
    "BrokerIds": lambda f: f.broker, "Replicas": lambda f: f.broker,
    "BrokerId": lambda f: f.broker, "NodeId": lambda f: f.broker,
    "ReplicaId": lambda f: -1,
    "OffsetForLeaderEpoch.ReplicaId": lambda f: f.one_of(-1, -2),
    "ReplicaEpoch": lambda f: -1,
    "MaxWaitMs": lambda f: 0,
    "MinBytes": lambda f: f.one_of(0, 1),
    "MaxBytes": lambda f: f.one_of(1 << 20, 1 << 20, 150),
    "PartitionMaxBytes": lambda f: f.one_of(1 << 20, 1 << 20, 100, 0),
    "IsolationLevel": lambda f: f.one_of(0, 1),
    "SessionId": session_id, "SessionEpoch": session_epoch,
    "CurrentLeaderEpoch": lambda f: f.one_of(-1, 0), "LeaderEpoch": lambda f: 0,
    "LastFetchedEpoch": lambda f: f.one_of(-1, -1, 0),
    "FetchOffset": lambda f: f.random.randint(0, f.end()),
    "LogStartOffset": lambda f: -1,
    "HighWatermark": lambda f: (1 << 63) - 1,
    "ReplicaDirectoryId": lambda f: uuid.UUID(int=0),
    "Offset": lambda f: f.random.randint(0, f.end()),
    "Timestamp": lambda f: f.one_of(-1, -1, -2, -2, -3, -4, -5, -6, THEN, THEN + 1000 * f.random.randint(0, 20)),
    "ClusterId": lambda f: None,
    "ApiVersions.NodeId": lambda f: -1,
    "GroupId": lambda f: f.group.name, "Groups": lambda f: f.group.name, "GroupIds": lambda f: f.group.name,
    "GroupsNames": lambda f: f.group.name,
    "MemberId": lambda f: f.member.id,
    "ConsumerGroupHeartbeat.MemberId": new_member_id,
    "GroupInstanceId": lambda f: f.member.instance,
    "JoinGroup.GroupInstanceId": lambda f: f.member.instance if f.member.id else f.one_of(None, None, f.world.prefix + "static"),
    "InstanceId": lambda f: f.member.instance if f.member.id else f.one_of(None, None, f.world.prefix + "static"),
    "GenerationId": generation, "GenerationIdOrMemberEpoch": generation,
    "MemberEpoch": member_epoch,
    "OffsetFetch.MemberEpoch": generation,
    "SessionTimeoutMs": lambda f: 60_000,
    "RebalanceTimeoutMs": lambda f: 60_000,
    "ProtocolType": lambda f: "consumer",
    "JoinGroup.Name": protocols,
    "ProtocolName": lambda f: "range",
    "Metadata": lambda f: b"metadata",
    "Assignment": lambda f: b"assigned",
    "Reason": lambda f: f.one_of(None, "because"),
    "CommittedOffset": lambda f: f.random.randint(0, 100),
    "CommittedLeaderEpoch": lambda f: f.one_of(-1, 0),
    "CommittedMetadata": lambda f: f.one_of("", "meta", None),
    "RetentionTimeMs": lambda f: -1,
    "KeyType": lambda f: f.one_of(0, 0, 1),
    "Key": lambda f: f.group.name, "CoordinatorKeys": lambda f: f.one_of(f.group.name, f.producer.transactional_id or "x"),
    "StatesFilter": lambda f: f.one_of("Stable", "Empty", "Dead", "PreparingRebalance", "assigning", "Reconciling"),
    "TypesFilter": lambda f: f.one_of("classic", "consumer", "Consumer", "share"),
    "StateFilters": lambda f: f.one_of("Ongoing", "Empty", "CompleteCommit", "CompleteAbort", "PrepareAbort"),
    "DurationFilter": lambda f: f.one_of(-1, 0),
    "TransactionalIdPattern": lambda f: f.one_of(None, f"{f.world.prefix}.*", ""),
    "ClientSoftwareName": lambda f: "differential", "ClientSoftwareVersion": lambda f: "1.0",
    "ResourceType": resource_type, "ResourceName": resource_name,
    "ResourceTypes": lambda f: f.one_of(TOPIC, BROKER, CLIENT_METRICS, GROUP),
    "ConfigurationKeys": config_name, "Configs.Name": config_name, "Value": config_value,
    "ConfigOperation": lambda f: f.one_of(0, 0, 1, 2, 3),
    "validateOnly": lambda f: f.often(0.2), "ValidateOnly": lambda f: f.often(0.3),
    "VerifyOnly": lambda f: f.often(0.3),
    "Path": lambda f: f.directory,
    "ElectionType": lambda f: f.one_of(0, 1),
    "EndpointType": lambda f: 1,
    "CoordinatorEpoch": lambda f: 0,
    "TransactionVersion": lambda f: f.one_of(0, 1, 2),
    "ResponsePartitionLimit": lambda f: f.one_of(2000, 1),
    "SubscribedTopicRegex": lambda f: None,
    "ServerAssignor": lambda f: f.one_of(None, "range", "uniform"),
    "RackId": lambda f: None, "Fetch.RackId": lambda f: "",
}


def plausible(api, path, field, focus):
    """A single value, or an element of an array of such."""
    for key in (f"{path[-1]}.{field.name}" if path else "", f"{api}.{field.name}", field.name):
        if key in FIELDS:
            return FIELDS[key](focus)
    if field.entity == "topicName":
        return focus.topic.name
    if field.type == "bool":
        return focus.often(0.5)
    raise LookupError(f"{api}: nothing is known about {'.'.join([*path, field.name])}")

