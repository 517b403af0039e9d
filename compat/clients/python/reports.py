"""Public bug reports, tried with real clients: `reports.py BOOTSTRAP [NAME]` prints a line for each, as the other programs do.

The name of a case is that of the report. What is right is said in docs/bug-reports.md.
"""

import os
import struct
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, OffsetSpec,
                                   ResourceType)

import spec
from raw import Connection, batch, compact, produce, record, text

TIMEOUT = 60
API_VERSIONS, METADATA, CREATE_TOPICS, DELETE_TOPICS, INCREMENTAL_ALTER_CONFIGS, DESCRIBE_LOG_DIRS = 18, 3, 19, 20, 44, 35
DESCRIBE_CLUSTER = 60
"""Keys of APIs."""
CASES = {}


def report(name):
    def keep(function):
        CASES[name] = function
        return function
    return keep


class Broker:
    """What the cases ask it, through librdkafka."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self.names = (f"report-{os.getpid()}-{number}" for number in range(1_000_000))

    def topic(self, partitions=1, **config):
        """A new one that can be used: Apache Kafka answers a creation before that."""
        name = next(self.names)
        self.create(name, partitions, **config)
        until(lambda: [self.ends(name, p) for p in range(partitions)])
        return name

    def create(self, name, partitions=1, replicas=1, assignment=None, **config):
        """Settings are named with `_` for the dots."""
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        new = (NewTopic(name, len(assignment), replica_assignment=assignment, config=settings) if assignment
               else NewTopic(name, partitions, replicas, config=settings))
        self.admin.create_topics([new], request_timeout=TIMEOUT)[name].result()

    def delete(self, name):
        self.admin.delete_topics([name], request_timeout=TIMEOUT)[name].result()

    def settings(self, kind, name):
        """Name: (value, source, is default)."""
        resource = ConfigResource(kind, name)
        entries = self.admin.describe_configs([resource], request_timeout=TIMEOUT)[resource].result()
        return {key: (entry.value, entry.source, entry.is_default) for key, entry in entries.items()}

    def alter(self, kind, name, *operations):
        """Each operation is (key, value, how)."""
        resource = ConfigResource(kind, name, incremental_configs=[
            ConfigEntry(key, value, incremental_operation=how) for key, value, how in operations])
        self.admin.incremental_alter_configs([resource], request_timeout=TIMEOUT)[resource].result()

    def produce(self, topic, *records, **options):
        """Records are (key, value), with a timestamp and headers where there are some. Of each: (error name or None, message).

        They wait for each other: the flush ends the linger, so that one batch has them all however slow the machine is."""
        outcomes = [None] * len(records)
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "message.max.bytes": 40_000_000, "linger.ms": 60_000,
                             "broker.address.family": "v4", **options})

        def delivered(index):
            def keep(error, message):
                outcomes[index] = (error.name() if error else None, message)
            return keep

        for index, (key, value, *more) in enumerate(records):
            timestamp, headers = (*more, 0, None)[:2] if len(more) != 1 else (more[0], None)
            producer.produce(topic, value, key, 0, on_delivery=delivered(index), timestamp=timestamp or 0, headers=headers)
        assert producer.flush(TIMEOUT) == 0, "not all was acknowledged in time"
        return outcomes

    def read(self, topic, partitions=1, start=0, **options):
        """All records to the end, by assignment."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader", "enable.partition.eof": True,
                             "auto.offset.reset": "error", "enable.auto.commit": False, "check.crcs": True, **options})
        consumer.assign([TopicPartition(topic, p, start) for p in range(partitions)])
        messages, ended, limit = [], set(), time.monotonic() + TIMEOUT
        try:
            while len(ended) < partitions:
                assert time.monotonic() < limit, f"the end was not reached, {len(messages)} records were"
                message = consumer.poll(1)
                if message is None:
                    continue
                if message.error() is None:
                    messages.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise AssertionError(str(message.error()))
        finally:
            consumer.close()
        return messages

    def ends(self, topic, partition=0):
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader"})
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT)
        finally:
            consumer.close()


def equal(have, want, what=""):
    assert have == want, f"{what}: {have} instead of {want}"


def until(action):
    """Its value, once it does not fail any more."""
    limit = time.monotonic() + 20
    while True:
        try:
            return action()
        except (AssertionError, KafkaException, KeyError):
            if time.monotonic() > limit:
                raise
            time.sleep(0.1)


def refused(action, *names):
    """The name of the error that it ends with, which must be one of these."""
    try:
        action()
    except KafkaException as error:
        name = error.args[0].name()
        assert name in names, f"{name}, expected {' or '.join(names)}"
        return name
    raise AssertionError(f"not refused; expected {' or '.join(names)}")


@report("redpanda-data/redpanda#296")
def handshake_newer_than_the_broker_knows(broker):
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(API_VERSIONS, 127, flexible=True)
        equal(answer.take("h"), 35, "error code")
        rows = {answer.take("h"): (answer.take("h"), answer.take("h")) for _ in range(answer.take("i"))}
        first, last = rows[API_VERSIONS][0], min(rows[API_VERSIONS][1], 4)
        body = compact("raw") + compact("1") + b"\0" if last >= 3 else b""
        again = connection.call(API_VERSIONS, last, body, flexible=last >= 3)
        equal((first, again.take("h")), (0, 0), "the lower version on the same connection")


@report("confluentinc/librdkafka#4956")
def compression_is_not_switched_off(broker):
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(API_VERSIONS, 0)
        answer.take("h")
        rows = {answer.take("h"): (answer.take("h"), answer.take("h")) for _ in range(answer.take("i"))}
        equal(rows[0][0], 0, "lowest version of Produce that is told")


@report("redpanda-data/redpanda#17581")
def metadata_first_in_any_version(broker):
    topic = broker.topic()
    for version in range(9, 13):
        with Connection(broker.bootstrap) as connection:
            names = bytes([2]) + (bytes(16) if version >= 10 else b"") + compact(topic) + b"\0"
            flags = b"\0" if version >= 11 else b"\0\0"
            answer = connection.call(METADATA, version, names + b"\0" + flags + b"\0", flexible=True)
            assert topic.encode() in answer.left, f"no row for the topic in version {version}"


@report("confluentinc/librdkafka#1386")
def null_is_not_empty(broker):
    contents = [(None, "no"), (b"", "empty"), (b"x", "one")]
    headers = [("a", None), ("a", b""), ("a", b"1"), ("", b""), ("b", None)]
    records = [(key, value, 0, headers) for key, _ in contents for value, _ in contents]
    for codec in ("producer", "gzip", "snappy", "lz4", "zstd", "uncompressed"):
        topic = broker.topic(compression_type=codec)
        broker.produce(topic, *records)
        equal([(m.key(), m.value(), m.headers()) for m in broker.read(topic)], [(key, value, headers) for key, value, _, _ in records],
              codec)


@report("kafka-protocol-rs/kafka-protocol-rs#59")
def what_the_broker_compresses_is_readable(broker):
    sizes = [10, 70 * 1024, 900 * 1024]
    for stored in ("gzip", "snappy", "lz4", "zstd", "uncompressed"):
        for sent in ("none", "gzip", "snappy", "lz4", "zstd"):
            topic = broker.topic(compression_type=stored, max_message_bytes=2_000_000)
            values = [bytes(i * 31 % 251 for i in range(size)) for size in sizes]
            equal([error for error, _ in broker.produce(topic, *((None, v) for v in values), **{"compression.type": sent})], [None] * 3,
                  f"{sent} to {stored}")
            assert [m.value() for m in broker.read(topic)] == values, f"{sent} to {stored} comes back otherwise"


@report("redpanda-data/redpanda#29189")
def log_append_time_in_answer_and_log(broker):
    created, appended = broker.topic(), broker.topic(message_timestamp_type="LogAppendTime")
    sent = int(time.time() * 1000) - 50_000
    records = [(b"k", b"v", sent + i) for i in range(3)]
    equal([m.timestamp() for _, m in broker.produce(created, *records)], [(1, sent + i) for i in range(3)], "create time, answer")
    equal([m.timestamp() for m in broker.read(created)], [(1, sent + i) for i in range(3)], "create time, log")
    answered = [m.timestamp() for _, m in broker.produce(appended, *records)]
    assert all(kind == 2 and abs(at - time.time() * 1000) < 30_000 for kind, at in answered), f"append time, answer: {answered}"
    equal([m.timestamp() for m in broker.read(appended)], answered, "append time, log")
    equal(len(set(answered)), 1, "times of one batch")


@report("redpanda-data/redpanda#29624")
def batches_that_never_enter_the_log(broker):
    topic = broker.topic(2)
    two = [record(0, b"a"), record(1, b"b")]
    good = batch(two)
    bad = {"a wrong checksum": (batch(two, crc=7), {2}), "magic 3": (batch(two, magic=3), {2, 87}), "two batches": (good + good, {87}),
           "no batch": (b"", {2, 87, 42}), "a count of 0": (batch([], last_delta=-1), {87}), "a count too high": (batch(two, count=3), {87}),
           "a last delta too high": (batch(two, last_delta=5), {87}),
           "a control batch": (batch(two, attributes=0x20), {87}), "a producer without sequence": (batch(two, producer=5), {87}),
           "bytes behind the records": (batch(two, extra=b"xyz"), {2, 87}),
           "cut records": (batch([two[0], two[1][:-3]], count=2), {2, 87})}
    # What is no batch at all fails the whole request.
    end, fails_all = 0, {"magic 3"}
    with Connection(broker.bootstrap) as connection:
        for name, (content, codes) in bad.items():
            outcome = produce(connection, topic, {0: content, 1: good})
            assert outcome[0][0] in codes, f"{name}: code {outcome[0][0]}"
            equal(outcome[1], (2, -1) if name in fails_all else (0, end), f"the sound batch beside {name}")
            end += 0 if name in fails_all else 2
    equal(broker.ends(topic, 0), (0, 0), "ends of the partition with bad batches")


@report("redpanda-data/redpanda#27529")
def a_producer_that_leaves_the_largest_time_unset(broker):
    topic, now = broker.topic(retention_ms=3_600_000), int(time.time() * 1000)
    with Connection(broker.bootstrap) as connection:
        records = [record(index, b"v", delta) for index, delta in enumerate((0, 2000, 1000))]
        equal(produce(connection, topic, {0: batch(records, first_time=now - 2000, max_time=-1)}), {0: (0, 0)}, "outcome")
    for wanted, offset in ((OffsetSpec.for_timestamp(now - 1500), 1), (OffsetSpec.max_timestamp(), 1)):
        found = next(iter(broker.admin.list_offsets({TopicPartition(topic, 0): wanted}, request_timeout=TIMEOUT).values())).result()
        equal(found.offset, offset, "offset by time")


@report("redpanda-data/redpanda#27419")
def timestamps_outside_the_bounds(broker):
    now = int(time.time() * 1000)
    topic = broker.topic(message_timestamp_before_max_ms=3_600_000, message_timestamp_after_max_ms=60_000)
    for at, want in ((now, None), (now - 7_200_000, "INVALID_TIMESTAMP"), (now + 600_000, "INVALID_TIMESTAMP")):
        equal(broker.produce(topic, (None, b"v", at))[0][0], want, f"{at - now} ms from now")
    broker.alter(ResourceType.TOPIC, topic, ("message.timestamp.type", "LogAppendTime", AlterConfigOpType.SET))
    equal(broker.produce(topic, (None, b"v", now - 7_200_000))[0][0], None, "with append time")


@report("redpanda-data/redpanda#31362")
def too_large_batches(broker):
    for codec in ("producer", "uncompressed"):
        topic = broker.topic(max_message_bytes=2000, compression_type=codec)
        small, large = (None, b"s" * 100), (None, os.urandom(3000))
        equal([e for e, _ in broker.produce(topic, (None, b"m" * 1500), small, small)], [None] * 3, "below the limit")
        idempotent = {"enable.idempotence": True}
        equal({e for e, _ in broker.produce(topic, large, small)}, {"MSG_SIZE_TOO_LARGE"}, "above the limit")
        equal([e for e, _ in broker.produce(topic, small, small, **idempotent)], [None] * 2, "the small ones alone")
    zeros = broker.topic(max_message_bytes=2000, compression_type="uncompressed")
    equal(broker.produce(zeros, (None, bytes(3000)), **{"compression.type": "gzip"})[0][0], "MSG_SIZE_TOO_LARGE", "too large once expanded")


@report("redpanda-data/redpanda#395")
def first_write_to_a_topic_that_is_not_there(broker):
    name = next(broker.names)
    equal(broker.produce(name, (None, b"first"))[0][0], None)
    equal([m.value() for m in broker.read(name)], [b"first"], "what is in it")
    absent = next(broker.names)
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(METADATA, 4, struct.pack(">i", 1) + text(absent) + b"\0")
        assert struct.pack(">h", 3) + text(absent) in answer.left, "no UNKNOWN_TOPIC_OR_PARTITION"
    assert absent not in broker.admin.list_topics(timeout=TIMEOUT).topics, "a look-up has created it"


@report("open-telemetry/opentelemetry-collector-contrib#39816")
def bad_topic_names(broker):
    good = next(broker.names)
    names = ["", "a/b", "x" * 250, ".", "..", good]
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(METADATA, 4, struct.pack(">i", len(names)) + b"".join(map(text, names)) + b"\1")
        for name in names[:-1]:
            assert struct.pack(">h", 17) + text(name) in answer.left, f"{name[:10]!r} is not refused as INVALID_TOPIC_EXCEPTION"
    created = lambda: [name for name in names if name in broker.admin.list_topics(timeout=TIMEOUT).topics]
    until(lambda: equal(created(), [good], "what has been created"))
    for name in names[1:5]:
        refused(lambda name=name: broker.create(name), "TOPIC_EXCEPTION")
    dotted = f"{good}.a_b"
    broker.create(dotted)
    refused(lambda: broker.create(f"{good}_a.b"), "TOPIC_EXCEPTION")


@report("redpanda-data/redpanda#7162")
def usable_right_after_creation(broker):
    for number in range(100):
        topic = next(broker.names)
        broker.create(topic, 3)
        equal(broker.ends(topic, 2), (0, 0), "ends of a new partition")
        if number % 10 == 0:
            equal(broker.produce(topic, (None, b"v"))[0][0], None, "the first record")
            equal(len(broker.read(topic, 3)), 1, "records read")


@report("confluentinc/librdkafka#482")
def first_batch_larger_than_the_limit(broker):
    topic = broker.topic(3, max_message_bytes=20_000_000)
    values = [b"a" * 1024, os.urandom(15_000_000), b"b" * 1024]
    for value in values:
        equal(broker.produce(topic, (None, value))[0][0], None)
    limits = {"fetch.max.bytes": 1_000_000, "max.partition.fetch.bytes": 65_536, "message.max.bytes": 1_000_000,
              "receive.message.max.bytes": 50_000_000}
    assert [m.value() for m in broker.read(topic, 1, **limits)] == values, "not all came back"


@report("apache/kafka#15474")
def greatest_timestamp(broker):
    now = int(time.time() * 1000) - 60_000
    created, appended = broker.topic(), broker.topic(message_timestamp_type="LogAppendTime")
    for topic, want in ((created, 1), (appended, 0)):
        broker.produce(topic, *((None, b"v", now + delta) for delta in (1, 9, 5)), **{"compression.type": "zstd"})
        wanted = {TopicPartition(topic, 0): OffsetSpec.max_timestamp()}
        found = next(iter(broker.admin.list_offsets(wanted, request_timeout=TIMEOUT).values())).result()
        equal(found.offset, want, "offset of the greatest timestamp")


@report("redpanda-data/redpanda#1502")
def replacing_and_patching(broker):
    topic = broker.topic(cleanup_policy="compact", retention_ms=100_000)
    own = lambda: {key for key, (_, source, _) in broker.settings(ResourceType.TOPIC, topic).items() if source == 1}
    broker.alter(ResourceType.TOPIC, topic, ("segment.ms", "50000", AlterConfigOpType.SET))
    equal(own(), {"cleanup.policy", "retention.ms", "segment.ms"}, "after a patch")
    broker.alter(ResourceType.TOPIC, topic, ("cleanup.policy", "delete", AlterConfigOpType.APPEND))
    equal(broker.settings(ResourceType.TOPIC, topic)["cleanup.policy"][0], "compact,delete", "after an append")
    refused(lambda: broker.alter(ResourceType.TOPIC, topic, ("retention.ms", "1", AlterConfigOpType.APPEND)), "INVALID_CONFIG",
            "INVALID_REQUEST")
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.ms": "7000"})
    broker.admin.alter_configs([resource], request_timeout=TIMEOUT)[resource].result()
    equal(own(), {"retention.ms"}, "after a replacement")


@report("redpanda-data/redpanda#135")
def all_settings_that_kafka_knows(broker):
    plain = broker.topic()
    defaults = {key: value for key, (value, _, _) in broker.settings(ResourceType.TOPIC, plain).items()
                if not key.startswith("highwater.") and value is not None}
    full = next(broker.names)
    broker.create(full, **{key.replace(".", "_"): value for key, value in defaults.items()})
    told = broker.settings(ResourceType.TOPIC, full)
    equal({key: told[key][0] for key in defaults}, defaults, "what was set")
    for bad in ({"foo_bar": "1"}, {"retention_ms": "abc"}, {"min_insync_replicas": "0"}):
        name = next(broker.names)
        refused(lambda: broker.create(name, **bad), "INVALID_CONFIG")
        assert name not in broker.admin.list_topics(timeout=TIMEOUT).topics, f"{bad} has made a topic"


@report("redpanda-data/redpanda#7717")
def where_a_value_comes_from(broker):
    topic = broker.topic()
    own = lambda: {key for key, (_, source, _) in broker.settings(ResourceType.TOPIC, topic).items() if source == 1}
    equal(own(), set(), "of a plain topic")
    broker.alter(ResourceType.TOPIC, topic, ("retention.ms", "90000", AlterConfigOpType.SET))
    equal(own(), {"retention.ms"}, "with one set")
    broker.alter(ResourceType.TOPIC, topic, ("retention.ms", None, AlterConfigOpType.DELETE))
    equal(own(), set(), "with it deleted")


@report("redpanda-data/redpanda#1573")
def replication_factor_and_partitions(broker):
    name = lambda: next(broker.names)
    me = next(iter(broker.admin.list_topics(timeout=TIMEOUT).brokers))
    for replicas in (2, 0):
        refused(lambda replicas=replicas: broker.create(name(), 1, replicas), "INVALID_REPLICATION_FACTOR")
    raw_create(broker, name(), -1, -1)
    refused(lambda: raw_create(broker, name(), 0, 1), "INVALID_PARTITIONS")
    broker.create(name(), assignment=[[me]])
    refused(lambda: broker.create(name(), assignment=[[me + 98]]), "INVALID_REPLICA_ASSIGNMENT")


def raw_create(broker, name, partitions, replicas):
    """With numbers that librdkafka refuses by itself. From version 4 on, -1 is the broker's default."""
    body = struct.pack(">i", 1) + text(name) + struct.pack(">ihii", partitions, replicas, 0, 0) + struct.pack(">i?", 30_000, False)
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(CREATE_TOPICS, 4, body)
        answer.take("i"), answer.take("i"), answer.text()
        code = answer.take("h")
    if code:
        raise KafkaException(KafkaError(code))


@report("redpanda-data/redpanda#2645")
def broker_settings(broker):
    me = str(next(iter(broker.admin.list_topics(timeout=TIMEOUT).brokers)))
    topic = broker.topic()
    equal(alter_all_brokers(broker, "log.retention.ms", "86400000"), 0, "code")
    try:
        equal(broker.settings(ResourceType.TOPIC, topic)["retention.ms"][0], "86400000", "what a topic inherits")
        equal(broker.settings(ResourceType.BROKER, me)["log.retention.ms"][:2], ("86400000", 3), "what the broker tells")
    finally:
        equal(alter_all_brokers(broker, "log.retention.ms", None), 0, "code")
    equal(alter_all_brokers(broker, "log.retention.ms", "1", name="99"), 42, "of a broker that is not there")
    equal(broker.settings(ResourceType.TOPIC, topic)["retention.ms"][0], "604800000", "afterwards")
    refused(lambda: broker.alter(ResourceType.BROKER, me, ("node.id", "7", AlterConfigOpType.SET)), "INVALID_REQUEST", "INVALID_CONFIG")


def alter_all_brokers(broker, key, value, name=""):
    """The default of all brokers, which librdkafka cannot name; no value deletes. The code of the answer."""
    change = text(key) + struct.pack(">b", 0 if value else 1) + text(value)
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(INCREMENTAL_ALTER_CONFIGS, 0, struct.pack(">ib", 1, 4) + text(name) + struct.pack(">i", 1) + change + b"\0")
    answer.take("i"), answer.take("i")
    return answer.take("h")


@report("redpanda-data/console#1764")
def topics_are_deleted_by_name_and_by_id(broker):
    by_name, by_id, missing = broker.topic(), broker.topic(), next(broker.names)
    topic_id = topic_ids(broker)[by_id]
    rows = compact(by_name) + bytes(16) + b"\0" + compact(None) + topic_id + b"\0" + compact(missing) + bytes(16) + b"\0"
    rows += compact(None) + bytes(range(16)) + b"\0"
    with Connection(broker.bootstrap) as connection:
        answer = connection.call(DELETE_TOPICS, 6, bytes([5]) + rows + struct.pack(">i", 30_000) + b"\0", flexible=True)
    answer.take("B"), answer.take("i")
    found = {}
    for _ in range(answer.varint() - 1):
        name, identity, code, _, _ = answer.compact_text(), answer.skip(16), answer.take("h"), answer.compact_text(), answer.take("B")
        found[name or identity] = code
    equal(found, {by_name: 0, by_id: 0, missing: 3, bytes(range(16)): 100}, "codes")


def topic_ids(broker):
    names = broker.admin.list_topics(timeout=TIMEOUT).topics
    described = broker.admin.describe_topics(TopicCollection(list(names)), request_timeout=TIMEOUT)
    halves = {name: future.result().topic_id for name, future in described.items()}
    return {name: struct.pack(">QQ", half.get_most_significant_bits() % 2**64, half.get_least_significant_bits() % 2**64)
            for name, half in halves.items()}


@report("redpanda-data/redpanda#264")
def racing_deletions(broker):
    topic, outcomes = broker.topic(), []

    def delete():
        try:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            admin.delete_topics([topic], request_timeout=TIMEOUT)[topic].result()
            outcomes.append(None)
        except KafkaException as error:
            outcomes.append(error.args[0].name())

    threads = [threading.Thread(target=delete) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal((outcomes.count(None), set(outcomes) - {None, "UNKNOWN_TOPIC_OR_PART"}), (1, set()), "deleted once, unknown to the others")


@report("redpanda-data/redpanda#4890")
def deleted_and_made_again(broker):
    name, seen = next(broker.names), set()
    for number in range(60):
        broker.create(name, 10, **({"retention_ms": 5000} if number % 2 else {}))
        broker.produce(name, (None, b"v"))
        broker.delete(name)
        broker.create(name, 10)
        until(lambda: broker.ends(name))
        equal(broker.ends(name), (0, 0), "ends of the new one")
        equal(broker.settings(ResourceType.TOPIC, name)["retention.ms"][1], 5, "source of its settings")
        identity = topic_ids(broker)[name]
        assert identity not in seen, "the same id again"
        seen.add(identity)
        broker.delete(name)


@report("apache/kafka#20960")
def null_and_doubled_keys(broker):
    topic = broker.topic()
    rows = {"null": [("retention.ms", 0, None)], "doubled": [("retention.ms", 0, "1"), ("retention.ms", 0, "2")],
            "deleted": [("retention.ms", 1, None)]}
    codes = {}
    with Connection(broker.bootstrap) as connection:
        for name, entries in rows.items():
            configs = b"".join(text(key) + struct.pack(">b", how) + text(value) for key, how, value in entries)
            body = struct.pack(">ib", 1, 2) + text(topic) + struct.pack(">i", len(entries)) + configs + b"\0"
            answer = connection.call(INCREMENTAL_ALTER_CONFIGS, 0, body)
            answer.take("i"), answer.take("i")
            codes[name] = answer.take("h")
    equal(codes, {"null": 42, "doubled": 42, "deleted": 0}, "codes")


@report("redpanda-data/redpanda#903")
def sizes_of_log_directories(broker):
    topic = broker.topic()
    broker.produce(topic, *((None, os.urandom(100_000)) for _ in range(20)))
    for version in (1, 2, 3, 4):
        flexible = version >= 2
        asked = (bytes([2]) + compact(topic) + bytes([2]) + struct.pack(">i", 0) + b"\0\0" if flexible
                 else struct.pack(">i", 1) + text(topic) + struct.pack(">ii", 1, 0))
        with Connection(broker.bootstrap) as connection:
            answer = connection.call(DESCRIBE_LOG_DIRS, version, asked, flexible)
        at = answer.left.index(topic.encode()) + len(topic)
        shape = ">x" if flexible else ">i"
        at += struct.calcsize(shape)
        _, size, lag, future = struct.unpack(">iqq?", answer.left[at:at + 21])
        assert 2_000_000 <= size < 2_100_000, f"{size} bytes in version {version}"
        equal((lag, future), (0, False), f"version {version}")


@report("provectus/kafka-ui#3141")
def cluster_with_authorized_operations(broker):
    plain = broker.admin.describe_cluster(request_timeout=TIMEOUT).result()
    told = broker.admin.describe_cluster(include_authorized_operations=True, request_timeout=TIMEOUT).result()
    equal((told.cluster_id, told.controller.id), (plain.cluster_id, plain.controller.id), "cluster and controller")
    assert told.controller.id in [node.id for node in told.nodes], "the controller is no broker of the list"
    assert told.authorized_operations, "no operations"
    with Connection(broker.bootstrap) as connection:
        for flag, want in ((0, True), (1, False)):
            answer = connection.call(DESCRIBE_CLUSTER, 0, bytes([flag, 0]), flexible=True)
            told, = struct.unpack(">i", answer.left[-5:-1])
            equal(told == -2**31, want, "whether the operations are left out")


@report("redpanda-data/redpanda#829")
def partitions_are_added(broker):
    topic = broker.topic(3)
    broker.admin.create_partitions([NewPartitions(topic, 6)], request_timeout=TIMEOUT)[topic].result()
    until(lambda: equal(broker.ends(topic, 5), (0, 0), "ends of the last one"))
    for count in (6, 2):
        refused(lambda count=count: broker.admin.create_partitions([NewPartitions(topic, count)])[topic].result(), "INVALID_PARTITIONS")
    absent = next(broker.names)
    refused(lambda: broker.admin.create_partitions([NewPartitions(absent, 6)])[absent].result(), "UNKNOWN_TOPIC_OR_PART")


@report("dpkp/kafka-python#906")
def thousands_of_topics(broker):
    names = [next(broker.names) for _ in range(2000)]
    for future in broker.admin.create_topics([NewTopic(name, 1, 1) for name in names], request_timeout=TIMEOUT).values():
        future.result()
    until(lambda: broker.ends(names[-1]))
    began = time.monotonic()
    there = broker.admin.list_topics(timeout=TIMEOUT).topics
    wanted = {TopicPartition(name, 0): OffsetSpec.latest() for name in names}
    ends = {future.result().offset for future in broker.admin.list_offsets(wanted, request_timeout=TIMEOUT).values()}
    took = time.monotonic() - began
    assert set(names) <= set(there) and ends == {0}, "not all are there"
    for future in broker.admin.delete_topics(names, request_timeout=TIMEOUT).values():
        future.result()
    assert took < 10, f"it took {took:.1f} s"


@report("redpanda-data/redpanda#25235")
def cold_start_of_a_client(broker):
    topic = broker.topic()
    broker.produce(topic, (None, b"v"))
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": next(broker.names), "auto.offset.reset": "earliest"})
    began = time.monotonic()
    consumer.subscribe([topic])
    try:
        while (message := consumer.poll(0.1)) is None or message.error():
            assert time.monotonic() < began + 20, "no record"
    finally:
        took = time.monotonic() - began
        consumer.close()
    assert took < 10, f"it took {took:.1f} s"


@report("redpanda-data/redpanda#4032")
def a_tls_hello_on_a_plaintext_port(broker):
    hello = bytes.fromhex("160301020001000001fc0303") + bytes(500)
    connection = Connection(broker.bootstrap)
    began = time.monotonic()
    connection.socket.sendall(hello)
    try:
        assert connection.socket.recv(1) == b"", "an answer"
    except ConnectionResetError:
        pass
    assert time.monotonic() - began < 10, "it was not closed at once"
    equal(broker.ends(broker.topic()), (0, 0), "the broker afterwards")


def main():
    bootstrap, only = sys.argv[1], "".join(sys.argv[2:3])
    broker = Broker(bootstrap)
    spec.run_cases([(f"{name} {function.__name__}", lambda function=function: function(broker))
                    for name, function in CASES.items() if only in f"{name} {function.__name__}"])


if __name__ == "__main__":
    main()
