"""Everything that a broker is asked to remember for a while, asked for again and again: for compat/soak, which looks at its memory.

    soak_load.py ADDRESS SEED

Runs until it is told to stop by SIGTERM. Prints a line of JSON every ten seconds, and a last one: how often each thing was done, and what went wrong.
"""

import json
import random
import signal
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

STEADY, COMPACTED, PARTITIONS = "soak-steady", "soak-compacted", 8
KEPT = {"retention.bytes": "8388608", "segment.bytes": "1048576"}
CLEANED = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.2"}


class Worker(threading.Thread):
    """Does its step again and again; what fails is counted and tried again."""

    def __init__(self, load):
        super().__init__(daemon=True, name=type(self).__name__)
        self.load, self.random, self.done, self.failed, self.why = load, random.Random(f"{load.seed} {type(self).__name__}"), 0, 0, ""

    def run(self):
        while not self.load.stop.is_set():
            try:
                self.step()
                self.done += 1
            except KafkaException as error:
                self.failed += 1
                self.why = str(error)
                self.load.stop.wait(0.5)

    def name_for_once(self):
        return f"soak-{self.name.lower()}-{self.load.seed}-{self.done}-{self.failed}"


class Steady(Worker):
    """Some two thousand records a second, each second in another codec, to a topic that loses its oldest and one that is compacted."""

    def __init__(self, load):
        super().__init__(load)
        self.producers = [Producer({**load.common, "enable.idempotence": True, "compression.type": codec, "linger.ms": 5})
                          for codec in ("none", "lz4", "zstd", "snappy", "gzip")]

    def step(self):
        producer = self.random.choice(self.producers)
        for number in range(200):
            topic = COMPACTED if number % 4 == 0 else STEADY
            producer.produce(topic, key=str(self.random.randrange(20_000)), value=self.random.randbytes(100),
                             partition=number % PARTITIONS, on_delivery=self.delivered)
        producer.flush(30)
        self.load.stop.wait(0.1)

    def delivered(self, error, _):
        if error:
            raise KafkaException(error)


class Following(Worker):
    """A group of which one member stays and another comes and goes."""

    def __init__(self, load):
        super().__init__(load)
        self.stays = self.load.consumer("soak-following")
        self.stays.subscribe([STEADY])

    def step(self):
        comes = self.load.consumer("soak-following")
        comes.subscribe([STEADY])
        until = time.monotonic() + 5
        while time.monotonic() < until and not self.load.stop.is_set():
            self.stays.consume(500, 0.1)
            comes.consume(500, 0.1)
        comes.close()


class FromTheBeginning(Worker):
    """Reads everything there is, by a group that is not seen again."""

    def step(self):
        consumer = self.load.consumer(self.name_for_once(), **{"auto.offset.reset": "earliest"})
        consumer.subscribe([self.random.choice([STEADY, COMPACTED])])
        for _ in range(40):
            if self.load.stop.is_set():
                break
            consumer.consume(2000, 0.25)
        consumer.close()


class Transactions(Worker):
    """Every transactional id is used for two transactions, one of which is aborted."""

    def step(self):
        producer = Producer({**self.load.common, "transactional.id": self.name_for_once()})
        producer.init_transactions(30)
        for commits in (True, False):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce(STEADY, value=b"in a transaction", partition=partition)
            producer.flush(30)
            producer.commit_transaction(30) if commits else producer.abort_transaction(30)
        self.load.stop.wait(0.1)


class Topics(Worker):
    """Topics that are made, written to and deleted again."""

    def step(self):
        name = self.name_for_once()
        admin = AdminClient(self.load.common)
        admin.create_topics([NewTopic(name, 3)])[name].result(30)
        producer = Producer({**self.load.common, "enable.idempotence": True})
        for number in range(30):
            producer.produce(name, value=bytes(1000), partition=number % 3)
        producer.flush(30)
        admin.delete_topics([name])[name].result(30)
        self.load.stop.wait(0.2)


class Load:
    def __init__(self, address, seed):
        self.seed, self.stop = seed, threading.Event()
        self.common = {"bootstrap.servers": address, "log_level": 0}
        admin = AdminClient(self.common)
        topics = [NewTopic(STEADY, PARTITIONS, config=KEPT), NewTopic(COMPACTED, PARTITIONS, config=CLEANED)]
        for made in admin.create_topics(topics).values():
            made.result(60)
        self.workers = [kind(self) for kind in (Steady, Following, FromTheBeginning, Transactions, Topics)]

    def consumer(self, group, **settings):
        return Consumer({**self.common, "group.id": group, "session.timeout.ms": 10_000, **settings})

    def counts(self):
        return {worker.name: {"done": worker.done, "failed": worker.failed, "why": worker.why} for worker in self.workers}


def main():
    load = Load(sys.argv[1], sys.argv[2])
    signal.signal(signal.SIGTERM, lambda *_: load.stop.set())
    for worker in load.workers:
        worker.start()
    while not load.stop.wait(10):
        print(json.dumps(load.counts()), flush=True)
    for worker in load.workers:
        worker.join(60)
    print(json.dumps(load.counts()), flush=True)


if __name__ == "__main__":
    main()
