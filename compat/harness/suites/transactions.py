"""Transactions of real clients, and applications that work exactly once while they and the broker are killed with -9.

clients: two transactions in a row, an abort, offsets sent in a transaction, a second instance that fences the first, the broker's time
limit. Another client then reads: exactly what was committed, or everything, by its isolation level.

transform: librdkafka and Java side by side on one broker pass records on, two instances each, while instances and the broker are killed
at random. Every record must be in the output exactly once, in order.

streams: the same with a stateful word count of Kafka Streams (exactly_once_v2): every count must be there once.
"""

import random
import time

from .. import exactly_once
from ..programs import python_environment
from ..results import Row
from ..script import progress
from ..suite import Suite
from ..transactions import CLIENTS, PYTHON_READER, READERS, Script

SIDE_BY_SIDE = ["confluent-kafka", "java 4.4"]
QUICK = ["confluent-kafka"]
"""Needs Python only."""
SECONDS, QUICK_SECONDS = 300, 30


class Transactions(Suite):
    name = "transactions"
    about = "transactions of seven clients; librdkafka, Java and Kafka Streams work exactly once while everything is killed with -9"
    quick = True

    def prepare(self, lab):
        seed = lab.options.seed if lab.options.seed is not None else time.time_ns() % 1_000_000
        progress(f"--seed {seed}")
        random.seed(seed)
        self.seconds = lab.options.seconds or (QUICK_SECONDS if lab.is_quick else SECONDS)
        self.readers = dict.fromkeys(QUICK, PYTHON_READER) if lab.is_quick else READERS
        self.clients = [name for name in self.readers if lab.wants(f"clients: {name}")]
        self.side_by_side = [name for name in (QUICK if lab.is_quick else SIDE_BY_SIDE) if lab.wants(f"transform: {name}")]
        self.streams = not lab.is_quick and lab.wants("streams: kafka-streams")
        names = self.clients + self.side_by_side
        names += [self.readers[name] for name in names] + ["confluent-kafka"] * self.streams
        python_environment()  # of the producer
        for name in sorted(set(names)):
            CLIENTS[name].prepare()

    def run(self, lab):
        for name in self.clients:
            began = time.monotonic()
            results = Script(lab.server, name, self.readers[name]).go()
            each = (time.monotonic() - began) / len(results)
            for case, (result, detail) in results.items():
                yield Row(f"clients: {name}: {case}", verdict(result), each, detail)
            lab.count_requests(name)
        if self.side_by_side:
            pipelines = [exactly_once.Transform(lab.server, name, self.readers[name]) for name in self.side_by_side]
            yield from self.kills("transform", lab.server, pipelines)
            lab.count_requests(" and ".join(self.side_by_side))
        if self.streams:
            yield from self.kills("streams", lab.server, [exactly_once.word_count(lab.server)])
            lab.count_requests("kafka-streams")

    def kills(self, part, server, pipelines):
        for name, result, detail in exactly_once.run(server, pipelines, self.seconds, progress):
            yield Row(f"{part}: {name}", verdict(result), self.seconds, detail)


def verdict(result):
    return "pass" if result == "ok" else "fail"
