"""Load on a broker that is replaced by another one again and again, by clients that only reconnect, and a ledger of what was
acknowledged. Told what to do by lines on standard input; answers each with one line of JSON.

    go        work on
    hold      finish what was begun, then stand still
    picture   everything that a client can see: the same before a clean stop and after the next start
    verify    the ledger against the broker: a list of what is wrong
    end
"""

import hashlib
import json
import random
import struct
import sys
import threading
import time

from confluent_kafka import (ConsumerGroupTopicPartitions, Consumer, KafkaError, KafkaException, Producer,
                             TIMESTAMP_NOT_AVAILABLE, TopicCollection, TopicPartition)
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   ResourceType)

PLAIN, TRANSACTIONS, COMPACTED, TRIMMED = "turns-plain", "turns-transactions", "turns-compacted", "turns-trimmed"
GROUP, TRANSACTION_GROUP = "turns-group", "turns-transaction-group"
PATIENCE = 120
"""Seconds until something that a broker must do is given up."""

COMMON = {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 500, "socket.timeout.ms": 10_000,
          "topic.metadata.refresh.interval.ms": 2_000, "log_level": 0}


class Ledger:
    """What was acknowledged. Written by the workers, each its own part, and read while they stand still."""

    def __init__(self):
        self.records = {}       # (topic, partition) -> {offset: value}
        self.newest = {}        # key of the compacted topic -> number of its newest acknowledged value
        self.outcomes = {}      # number of a transaction -> committed, aborted or unknown
        self.commits = {}       # partition -> [acknowledged, asked for]
        self.transaction_offset = [0, 0]
        self.topics = {}        # name -> number of partitions; None once it was deleted
        self.configs = {}       # (topic, key) -> value
        self.deleted_to = {}    # partition of the trimmed topic -> highest offset asked for
        self.errors = []

    def counts(self):
        return {"records": sum(map(len, self.records.values())), "transactions": len(self.outcomes),
                "topics": len(self.topics), "configs": len(self.configs)}


class Worker(threading.Thread):
    """Takes one step after the other while the gate is open."""

    def __init__(self, load, seed):
        super().__init__(daemon=True, name=type(self).__name__)
        self.load, self.ledger, self.random = load, load.ledger, random.Random(f"{seed} {type(self).__name__}")
        self.still = threading.Event()

    def run(self):
        while True:
            if not self.load.gate.is_set():
                self.retry(self.settle)
                self.still.set()
                self.load.gate.wait()
                self.still.clear()
            try:
                self.step()
            except KafkaException as error:
                self.failed(error)

    def failed(self, error):
        """Brokers come and go; whatever else goes wrong shows in the ledger."""
        time.sleep(0.1)

    def settle(self):
        pass

    def retry(self, action):
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                return action()
            except KafkaException as error:
                if time.monotonic() > limit:
                    self.ledger.errors.append(f"{self.name}: {error}")
                    return None
                time.sleep(0.2)


class Idempotent(Worker):
    """Numbered records to the plain and the trimmed topic, and values of keys to the compacted one."""

    def __init__(self, load, seed):
        super().__init__(load, seed)
        # Of each producer Kafka remembers one batch over a restart: of several in flight it would refuse the others when they
        # are sent again, also to a Kafka that was killed itself.
        self.producer = Producer({"bootstrap.servers": load.bootstrap, "enable.idempotence": True, "linger.ms": 5,
                                  "max.in.flight": 1, "message.timeout.ms": 300_000, **COMMON})
        self.number = 0

    def step(self):
        for _ in range(self.random.randint(1, 30)):
            self.number += 1
            topic = self.random.choice([PLAIN, PLAIN, TRIMMED, COMPACTED, COMPACTED])
            key = f"k{self.random.randrange(40)}" if topic == COMPACTED else None
            value = f"{self.number}:" + "x" * self.random.randrange(300)
            partition = self.random.randrange(self.load.partitions[topic])
            self.producer.produce(topic, key=key, value=value, partition=partition, on_delivery=self.delivered)
        self.producer.poll(0.02)

    def settle(self):
        left = self.producer.flush(PATIENCE)
        if left:
            self.ledger.errors.append(f"{left} records were not acknowledged")

    def delivered(self, error, message):
        if error:
            self.ledger.errors.append(f"a record to {message.topic()} was refused: {error}")
            return
        value = message.value().decode()
        if message.topic() == COMPACTED:
            key = (message.partition(), message.key().decode())
            self.ledger.newest[key] = max(self.ledger.newest.get(key, 0), number_of(value))
        else:
            place = self.ledger.records.setdefault((message.topic(), message.partition()), {})
            place[message.offset()] = value


class Transactional(Worker):
    """One transaction after the other, with records and an offset; one in four is aborted."""

    def __init__(self, load, seed):
        super().__init__(load, seed)
        self.number = 0
        self.consumer = Consumer({"bootstrap.servers": load.bootstrap, "group.id": TRANSACTION_GROUP, **COMMON})
        self.producer = None

    def begin(self):
        if self.producer is None:
            producer = Producer({"bootstrap.servers": self.load.bootstrap, "transactional.id": "turns",
                                 "transaction.timeout.ms": 60_000, "message.timeout.ms": 50_000, **COMMON})
            producer.init_transactions(20)
            self.producer = producer
        self.producer.begin_transaction()

    def step(self):
        self.begin()
        self.number += 1
        commits = self.random.random() < 0.75
        self.ledger.outcomes[self.number] = "unknown"
        try:
            for one in range(self.random.randint(1, 12)):
                self.producer.produce(TRANSACTIONS, value=f"{self.number}:{one}", partition=one % 2)
            self.ledger.transaction_offset[1] = self.number
            position = [TopicPartition(PLAIN, 0, self.number)]
            self.until_done(lambda: self.producer.send_offsets_to_transaction(
                position, self.consumer.consumer_group_metadata(), 10))
            if commits:
                self.until_done(lambda: self.producer.commit_transaction(10))
                self.ledger.outcomes[self.number] = "committed"
                self.ledger.transaction_offset[0] = self.number
                return
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                # Whether it was committed will be seen; the next producer of this id ends it one way or the other.
                self.producer = None
                return
        self.abort()

    def abort(self):
        try:
            self.until_done(lambda: self.producer.abort_transaction(10))
            self.ledger.outcomes[self.number] = "aborted"
        except KafkaException:
            self.ledger.outcomes[self.number] = "aborted"
            self.producer = None

    def until_done(self, action):
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                return action()
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > limit:
                    raise


class Reader(Worker):
    """A member of a group that reads and commits."""

    def __init__(self, load, seed):
        super().__init__(load, seed)
        self.consumer = Consumer({"bootstrap.servers": load.bootstrap, "group.id": GROUP, "enable.auto.commit": False,
                                  "auto.offset.reset": "earliest", "session.timeout.ms": 30_000, **COMMON})
        self.consumer.subscribe([PLAIN])

    def step(self):
        messages = [m for m in self.consumer.consume(self.random.randint(1, 200), 0.2) if not m.error()]
        ends = {}
        for message in messages:
            ends[message.partition()] = message.offset() + 1
        if not ends:
            return
        for partition, offset in ends.items():
            self.ledger.commits.setdefault(partition, [0, 0])[1] = offset
        answer = self.consumer.commit(offsets=[TopicPartition(PLAIN, p, o) for p, o in ends.items()], asynchronous=False)
        for done in answer:
            if not done.error:
                self.ledger.commits[done.partition][0] = done.offset

    def failed(self, error):
        time.sleep(0.1)


class Administrator(Worker):
    """Topics created, grown, deleted and set otherwise; records deleted."""

    def __init__(self, load, seed):
        super().__init__(load, seed)
        self.made = 0
        self.admin = load.admin
        self.producer = Producer({"bootstrap.servers": load.bootstrap, "message.timeout.ms": 300_000, **COMMON})

    def step(self):
        self.random.choice([self.create, self.create, self.delete, self.grow, self.configure, self.delete_records])()
        time.sleep(0.15)

    def settle(self):
        self.producer.flush(PATIENCE)

    def mine(self):
        return [name for name, count in self.ledger.topics.items() if count and name.startswith("turns-made-")]

    def create(self):
        self.made += 1
        name = f"turns-made-{self.made}"
        partitions = self.random.randint(1, 4)
        self.load.ask(self.admin.create_topics([NewTopic(name, partitions, 1)]), KafkaError.TOPIC_ALREADY_EXISTS)
        self.ledger.topics[name] = partitions
        for _ in range(self.random.randrange(4)):
            self.producer.produce(name, value=f"{self.made}:", partition=0, on_delivery=self.delivered)
        self.producer.flush(PATIENCE)

    def delivered(self, error, message):
        if not error:
            place = self.ledger.records.setdefault((message.topic(), 0), {})
            place[message.offset()] = message.value().decode()

    def delete(self):
        if len(self.mine()) > 3:
            name = self.random.choice(self.mine())
            self.load.ask(self.admin.delete_topics([name]), KafkaError.UNKNOWN_TOPIC_OR_PART)
            self.ledger.topics[name] = None

    def grow(self):
        if self.mine():
            name = self.random.choice(self.mine())
            count = self.ledger.topics[name] + 1
            self.load.ask(self.admin.create_partitions([NewPartitions(name, count)]), KafkaError.INVALID_PARTITIONS)
            self.ledger.topics[name] = count

    def configure(self):
        name = self.random.choice([PLAIN, *self.mine()])
        key, value = self.random.choice([("max.message.bytes", str(self.random.randint(1_000_000, 2_000_000))),
                                         ("segment.ms", str(self.random.randint(5_000, 500_000)))])
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        self.load.ask(self.admin.incremental_alter_configs([resource]))
        self.ledger.configs[(name, key)] = value

    def delete_records(self):
        acknowledged = self.ledger.records.get((TRIMMED, 0))
        if acknowledged:
            to = self.random.choice(list(acknowledged))
            if to > self.ledger.deleted_to.get(0, 0):
                self.ledger.deleted_to[0] = to
                self.load.ask(self.admin.delete_records([TopicPartition(TRIMMED, 0, to)]))


def number_of(value):
    return int(value.split(":")[0])


class Load:
    def __init__(self, bootstrap, seed):
        self.bootstrap, self.ledger, self.gate = bootstrap, Ledger(), threading.Event()
        self.admin = AdminClient({"bootstrap.servers": bootstrap, **COMMON})
        self.readers = {level: self.reader(level) for level in ("read_uncommitted", "read_committed")}
        self.partitions = {PLAIN: 3, TRANSACTIONS: 2, COMPACTED: 2, TRIMMED: 1}
        configs = {COMPACTED: {"cleanup.policy": "compact", "segment.ms": "1500", "min.cleanable.dirty.ratio": "0.01"},
                   PLAIN: {"retention.ms": "-1"}, TRANSACTIONS: {"retention.ms": "-1", "segment.ms": "4000"},
                   TRIMMED: {"retention.ms": "-1", "segment.ms": "2000"}}
        new = [NewTopic(name, count, 1, config=configs[name]) for name, count in self.partitions.items()]
        self.ask(self.admin.create_topics(new), KafkaError.TOPIC_ALREADY_EXISTS)
        self.ledger.topics.update(self.partitions)
        self.workers = [kind(self, seed) for kind in (Idempotent, Transactional, Reader, Administrator)]
        for worker in self.workers:
            worker.start()

    def reader(self, level):
        return Consumer({"bootstrap.servers": self.bootstrap, "group.id": "turns-reads", "enable.auto.commit": False,
                         "isolation.level": level, "enable.partition.eof": True, "auto.offset.reset": "error",
                         "fetch.wait.max.ms": 20, "fetch.queue.backoff.ms": 10, **COMMON})

    def ask(self, futures, already=None):
        """Waits for answers; an outage is waited out, so that what was asked for is known to have happened."""
        for future in futures.values():
            try:
                future.result(PATIENCE)
            except KafkaException as error:
                # Asked again by the client, after the broker that did it had gone.
                if already is None or error.args[0].code() != already:
                    raise

    def hold(self):
        self.gate.clear()
        for worker in self.workers:
            if not worker.still.wait(2 * PATIENCE):
                self.ledger.errors.append(f"{worker.name} does not come to rest")
        return self.ledger.counts()

    def go(self):
        self.gate.set()
        return {}

    def listed(self):
        """Topics that the ledger knows as they are now: name -> (id, partitions)."""
        names = sorted(self.ledger.topics)
        found = self.admin.list_topics(timeout=30).topics
        there = [name for name in names if name in found]
        described = self.admin.describe_topics(TopicCollection(there))
        return {name: (str(described[name].result(30).topic_id), len(found[name].partitions)) for name in there}

    def read(self, topic, partition, level):
        """All records as (offset, timestamp type, timestamp, key, value), and the two ends."""
        consumer = self.readers[level]
        place = TopicPartition(topic, partition)
        start, end = consumer.get_watermark_offsets(place, 30)
        consumer.assign([TopicPartition(topic, partition, start)])
        records, limit = [], time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                if message.error().code() == KafkaError._PARTITION_EOF:
                    break
                raise KafkaException(message.error())
            records.append((message.offset(), *message.timestamp(), message.key(), message.value()))
        else:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic}-{partition} does not come to its end"))
        consumer.unassign()
        return records, start, end

    def picture(self):
        picture = {}
        for name, (topic_id, count) in self.listed().items():
            for partition in range(count):
                picture[f"{name}-{partition}"] = [topic_id, *self.seen(name, partition)]
        for group in (GROUP, TRANSACTION_GROUP):
            picture[group] = sorted((p.topic, p.partition, p.offset) for p in self.committed(group))
        picture["configs"] = sorted(f"{name} {key}={value}" for (name, key), value in self.configs_now().items())
        return picture

    def seen(self, topic, partition):
        everything, start, end = self.read(topic, partition, "read_uncommitted")
        if topic == COMPACTED:
            # It may be cleaned at any time: of each key the newest record stays, and the end.
            newest = {key: (offset, value) for offset, _, _, key, value in everything}
            return [end, digest((offset, 0, 0, key, value) for key, (offset, value) in sorted(newest.items()))]
        committed, _, _ = self.read(topic, partition, "read_committed")
        return [start, end, len(everything), digest(everything), len(committed), digest(committed)]

    def committed(self, group):
        answer = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        return [p for p in answer[group].result(30).topic_partitions if p.offset >= 0]

    def configs_now(self):
        names = sorted({name for name, _ in self.ledger.configs if self.ledger.topics.get(name, 1)})
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        answers = {r.name: f.result(30) for r, f in self.admin.describe_configs(resources).items()} if names else {}
        return {(name, key): answers[name][key].value for name, key in self.ledger.configs if name in answers}

    def verify(self):
        wrong = list(self.ledger.errors)
        topics = self.listed()
        for name, count in self.ledger.topics.items():
            found = topics.get(name, (None, None))[1]
            if found != count:
                wrong.append(f"{name} has {found} partitions, not {count}")
        for (topic, partition), records in self.ledger.records.items():
            if topic in topics:
                wrong += self.verify_records(topic, partition, records)
        wrong += self.verify_compacted() + self.verify_transactions() + self.verify_offsets()
        for place, value in self.configs_now().items():
            if value != self.ledger.configs[place]:
                wrong.append(f"{place} is {value}, not {self.ledger.configs[place]}")
        return wrong[:50]

    def verify_records(self, topic, partition, records):
        found, start, _ = self.read(topic, partition, "read_uncommitted")
        here = {offset: value.decode() for offset, _, _, _, value in found}
        deleted = self.ledger.deleted_to.get(partition, 0) if topic == TRIMMED else 0
        wrong = [f"{topic}-{partition} begins at {start}"] if start > deleted else []
        wrong += [f"{topic}-{partition} offset {offset}: {here.get(offset)!r:.60}, not {value!r:.60}"
                  for offset, value in records.items() if offset >= start and here.get(offset) != value]
        if topic in (PLAIN, TRIMMED) and len(set(here.values())) != len(here):
            wrong.append(f"{topic}-{partition} has a record twice")
        return wrong

    def verify_compacted(self):
        newest = {}
        for partition in range(self.partitions[COMPACTED]):
            for _, _, _, key, value in self.read(COMPACTED, partition, "read_uncommitted")[0]:
                newest[(partition, key.decode())] = number_of(value.decode())
        return [f"{COMPACTED} {key}: {newest.get(key)}, not {number}"
                for key, number in self.ledger.newest.items() if newest.get(key) != number]

    def verify_transactions(self):
        seen = {}
        for partition in range(self.partitions[TRANSACTIONS]):
            for _, _, _, _, value in self.read(TRANSACTIONS, partition, "read_committed")[0]:
                number, one = value.decode().split(":")
                seen.setdefault(int(number), []).append(int(one))
        wrong = []
        for number, outcome in self.ledger.outcomes.items():
            ones = sorted(seen.get(number, []))
            if ones != list(range(len(ones))):
                wrong.append(f"transaction {number} is seen in part: {ones}")
            if (outcome == "committed" and not ones) or (outcome == "aborted" and ones):
                wrong.append(f"transaction {number}, {outcome}: {ones}")
        return wrong

    def verify_offsets(self):
        found = {p.partition: p.offset for p in self.committed(GROUP)}
        wrong = [f"{GROUP} {partition}: {found.get(partition)}, not {acknowledged} to {asked}"
                 for partition, (acknowledged, asked) in self.ledger.commits.items()
                 if acknowledged and not acknowledged <= found.get(partition, -1) <= asked]
        low, high = self.ledger.transaction_offset
        offset = next((p.offset for p in self.committed(TRANSACTION_GROUP)), 0)
        if not low <= offset <= high:
            wrong.append(f"{TRANSACTION_GROUP}: {offset}, not {low} to {high}")
        return wrong


def digest(records):
    """SHA-256 over offset, timestamp, type, key and value of all records."""
    sha = hashlib.sha256()
    for offset, kind, timestamp, key, value in records:
        sha.update(struct.pack(">qqb", offset, timestamp, -1 if kind == TIMESTAMP_NOT_AVAILABLE else kind))
        for part in (key, value):
            sha.update(struct.pack(">i", -1 if part is None else len(part)) + (part or b""))
    return sha.hexdigest()


def main():
    load = Load(sys.argv[1], sys.argv[2])
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        verb = line.strip()
        if verb == "end":
            break
        print(json.dumps(answer(load, verb)), flush=True)


def answer(load, verb):
    """A broker that has just started is not yet the leader of everything to clients that knew it before."""
    limit = time.monotonic() + PATIENCE
    while True:
        try:
            return getattr(load, verb)()
        except KafkaException as error:
            if time.monotonic() > limit:
                return {"error": f"{verb}: {error}"}
            time.sleep(0.5)


if __name__ == "__main__":
    main()
