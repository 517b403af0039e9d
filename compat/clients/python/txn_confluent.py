"""confluent-kafka under the suite transactions.

    txn_confluent.py write BOOTSTRAP TOPIC          the cases of `txn_spec`, one line each
    txn_confluent.py read BOOTSTRAP TOPIC LEVEL     the values that a consumer of that isolation level sees, one a line
    txn_confluent.py transform BOOTSTRAP INPUT OUTPUT GROUP TRANSACTIONAL-ID     exactly-once loop, until it is killed
"""

import random
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from txn_spec import LATE_SECONDS, LATE_TIMEOUT_MS, PARTITIONS, RECORDS, report

TIMEOUT = 60
# When all brokers are away, librdkafka replaces those it knows by those of the bootstrap list, but not in its cache of
# coordinators; before it sends offsets a transaction then waits for ever (confluentinc/librdkafka#5511, here 2.16).
QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 200, "metadata.recovery.strategy": "none"}
ABORT_SHARE = 0.1


def producer(bootstrap, transactional_id, timeout_ms=60_000):
    made = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id,
                     "transaction.timeout.ms": timeout_ms, **QUIET})
    made.init_transactions(TIMEOUT)
    return made


def send(made, topic, phase):
    for number in range(RECORDS):
        made.produce(topic, value=f"{phase}-{number}", partition=number % PARTITIONS)
    if made.flush(TIMEOUT):
        raise RuntimeError("records were not acknowledged")


class Cases:
    def __init__(self, bootstrap, topic):
        self.bootstrap, self.topic, self.id = bootstrap, topic, f"{topic}-id"
        self.producer = producer(bootstrap, self.id)

    def commit(self, *phases):
        for phase in phases:
            self.producer.begin_transaction()
            send(self.producer, self.topic, phase)
            self.producer.commit_transaction(TIMEOUT)

    def abort(self):
        self.producer.begin_transaction()
        send(self.producer, self.topic, "aborted")
        self.producer.abort_transaction(TIMEOUT)
        self.commit("after")

    def offsets(self):
        self.producer.begin_transaction()
        send(self.producer, self.topic, "offsets")
        self.send_offset(5)
        self.producer.commit_transaction(TIMEOUT)
        self.producer.begin_transaction()
        send(self.producer, self.topic, "no-offsets")
        self.send_offset(8)
        self.producer.abort_transaction(TIMEOUT)

    def send_offset(self, offset):
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": f"{self.topic}-group", **QUIET})
        position = TopicPartition(f"{self.topic}-in", 0, offset)
        self.producer.send_offsets_to_transaction([position], consumer.consumer_group_metadata(), TIMEOUT)
        consumer.close()

    def fence(self):
        self.producer.begin_transaction()
        send(self.producer, self.topic, "zombie")
        first, self.producer = self.producer, producer(self.bootstrap, self.id)
        self.commit("heir")
        try:
            first.commit_transaction(TIMEOUT)
        except KafkaException as error:
            return error.args[0].name().strip("_")
        raise RuntimeError("the first instance committed")

    def outlive(self):
        late = producer(self.bootstrap, f"{self.topic}-late", LATE_TIMEOUT_MS)
        late.begin_transaction()
        send(late, self.topic, "late")
        time.sleep(LATE_SECONDS)
        try:
            late.commit_transaction(TIMEOUT)
        except KafkaException as error:
            self.producer = producer(self.bootstrap, f"{self.topic}-late", LATE_TIMEOUT_MS)
            self.commit("in-time")
            return error.args[0].name().strip("_")
        raise RuntimeError("it committed after its time")


def write(bootstrap, topic):
    cases = Cases(bootstrap, topic)
    report("two in a row", lambda: cases.commit("first", "second"))
    report("abort", cases.abort)
    report("offsets", cases.offsets)
    report("fencing", cases.fence)
    report("timeout", cases.outlive)


def read(bootstrap, topic, level):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reads", "isolation.level": level,
                         "enable.partition.eof": True, "enable.auto.commit": False, **QUIET})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    at_end = set()
    while len(at_end) < PARTITIONS:
        message = consumer.poll(TIMEOUT)
        if message is None:
            raise SystemExit(f"no end of {topic}")
        if message.error():
            at_end.add(message.partition())
        else:
            print(message.value().decode())
    consumer.close()


def transform(bootstrap, source, target, group, transactional_id):
    """Ends with an error when it cannot go on, to be started again."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "isolation.level": "read_committed",
                         "session.timeout.ms": 6000, "heartbeat.interval.ms": 500, **QUIET})
    consumer.subscribe([source])
    made = producer(bootstrap, transactional_id)
    while True:
        batch = [m for m in consumer.consume(100, 0.2) if not m.error()]
        if batch:
            pass_on(consumer, made, batch, target)


def pass_on(consumer, made, batch, target):
    made.begin_transaction()
    try:
        for message in batch:
            made.produce(target, value=message.value(), partition=message.partition())
        if random.random() < ABORT_SHARE:
            made.flush(TIMEOUT)
            raise Aborted
        positions = [p for p in consumer.position(consumer.assignment()) if p.offset >= 0]
        made.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT)
        made.commit_transaction(TIMEOUT)
    except (KafkaException, Aborted) as error:
        if isinstance(error, KafkaException) and not error.args[0].txn_requires_abort():
            raise
        made.abort_transaction(TIMEOUT)
        go_back(consumer)


def go_back(consumer):
    """To what is committed, since the transaction did not take its records."""
    for place in consumer.committed(consumer.assignment(), TIMEOUT):
        consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))


class Aborted(Exception):
    """On purpose."""


if __name__ == "__main__":
    {"write": write, "read": read, "transform": transform}[sys.argv[1]](*sys.argv[2:])
