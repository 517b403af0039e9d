"""One run of the suite groups: consumer programs, a producer, kills, and what must hold in the end."""

import os
import signal
import subprocess
import threading
import time

from .consumers import CONSUMERS
from .feed import Failed, Feeding, feed

PARTITIONS = 6
FEED_SECONDS = 120
"""For an answer of the producer program."""
PATIENCE = 90
"""Seconds without a new record after which a run has failed: several sessions."""

SETTINGS = ["group.consumer.min.session.timeout.ms=6000", "group.consumer.session.timeout.ms=6000",
            "group.consumer.min.heartbeat.interval.ms=500", "group.consumer.heartbeat.interval.ms=500"]
"""Of the broker, so that a crash of a member of the new protocol is noticed as soon as one of the old protocol."""


PAIRS = [
    ("confluent-kafka", "java", "range"),
    ("confluent-kafka", "java", "cooperative-sticky"),
    ("confluent-kafka", "java", "consumer"),
    ("java", "java", "consumer"),
    ("franz-go", "java", "cooperative-sticky"),
    ("franz-go", "kafka-python", "range"),
    ("kafka-python", "aiokafka", "range"),
    ("aiokafka", "confluent-kafka", "roundrobin"),
    ("rdkafka", "java", "roundrobin"),
    ("rdkafka", "franz-go", "cooperative-sticky"),
    ("sarama", "rdkafka", "roundrobin"),
    ("kafka-go", "sarama", "range"),
    ("kafkajs", "kafkajs", "its own"),
]

STATIC = ["java", "confluent-kafka", "rdkafka", "franz-go", "sarama", "kafka-python"]
"""Clients whose members may be static ones."""


class Seen:
    """What the consumers have told."""

    def __init__(self):
        self.changed = threading.Condition()
        self.processed = {p: set() for p in range(PARTITIONS)}
        self.committed = dict.fromkeys(range(PARTITIONS), 0)

    def count(self):
        return sum(map(len, self.processed.values()))

    def take(self, line):
        match line.split():
            case ["processed", partition, offset]:
                with self.changed:
                    self.processed[int(partition)].add(int(offset))
                    self.changed.notify_all()
            case ["committed", partition, offset]:
                with self.changed:
                    self.committed[int(partition)] = max(int(offset), self.committed[int(partition)])

    def tell(self):
        with self.changed:
            self.changed.notify_all()

    def wait_until(self, done, what):
        """Waits as long as records are processed that were not before."""
        with self.changed:
            last, limit = self.count(), time.monotonic() + PATIENCE
            while not done():
                self.changed.wait(1)
                if self.count() > last:
                    last, limit = self.count(), time.monotonic() + PATIENCE
                if time.monotonic() > limit:
                    raise Failed(f"{what}: nothing new for {PATIENCE} s, {last} records were processed")

    def wait_for_event(self, done, what):
        """Records go on meanwhile."""
        with self.changed:
            if not self.changed.wait_for(done, PATIENCE):
                raise Failed(f"{what} for {PATIENCE} s")


class Program:
    """A consumer as a process; what it prints goes to `seen`."""

    def __init__(self, command, session_ms, seen, log):
        self.assigned = []
        """What it was given, each time."""
        self.is_fenced = False
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=log, text=True,
                                        env={**os.environ, "SESSION_MS": str(session_ms)})
        threading.Thread(target=self.read, args=(seen,), daemon=True).start()

    def read(self, seen):
        for line in self.process.stdout:
            match line.split():
                case ["assigned", *partitions]:
                    self.assigned.append({int(p) for p in ",".join(partitions).split(",") if p})
                    seen.tell()
                case ["fenced"]:
                    self.is_fenced = True
                    seen.tell()
            if line.endswith("\n"):
                seen.take(line)

    def end(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Run:
    session_ms = 6000
    """So long a crash goes unnoticed."""

    def __init__(self, server, number, first, second, protocol):
        self.server, self.protocol = server, protocol
        self.clients = [first, second, first]
        self.instances = [None, None, None]
        self.topic, self.group = f"shared-{number}", f"group-{number}"
        self.seen = Seen()
        self.log = open(server.work / f"consumers-{number}.log", "ab")
        self.programs = []

    def go(self):
        """What happened, in a few words; raises Failed."""
        self.ask("create", self.topic, PARTITIONS)
        producer = Feeding(self.server, self.topic, log=self.log)
        try:
            self.programs = [self.start(place) for place in range(3)]
            self.disturb()
            sent = producer.stop(FEED_SECONDS)
            self.seen.wait_until(lambda: self.all_processed(sent), "records are missing")
        finally:
            producer.kill()
            ends = [program.end(signal.SIGTERM) for program in self.programs]
        self.check_committed()
        if any(end not in (0, 143, -signal.SIGTERM) for end in ends):
            raise Failed(f"a consumer ended with {ends}")
        return f"{sum(sent.values())} records"

    def disturb(self):
        """Crashes and returns, each after the last one has been got over."""
        self.wait_for_more()
        self.programs[2].end()
        self.wait_for_more()
        self.programs[2] = self.start(2)
        self.wait_for_more()
        before = dict(self.seen.committed)
        self.server.kill()
        self.server.start()
        self.check_committed(before)
        self.wait_for_more()
        self.programs[1].end(signal.SIGTERM)
        self.wait_for_more()
        self.programs[1] = self.start(1)
        self.wait_for_more()

    def start(self, place):
        command = [*CONSUMERS[self.clients[place]].command(), self.server.address, self.topic, self.group, self.protocol]
        instance = self.instances[place]
        return Program([*command, instance] if instance else command, self.session_ms, self.seen, self.log)

    def wait_for_more(self):
        """Every partition has moved on by a few hundred records."""
        goal = {p: len(done) + 200 for p, done in self.seen.processed.items()}
        self.seen.wait_until(lambda: all(len(self.seen.processed[p]) >= n for p, n in goal.items()), "a partition stands still")

    def all_processed(self, sent):
        return all(len(self.seen.processed[p]) >= n for p, n in sent.items())

    def check_committed(self, least=None):
        least = least or dict(self.seen.committed)
        for line in self.ask("committed", self.topic, self.group).splitlines():
            _, partition, offset = line.split()
            if int(offset) < least[int(partition)]:
                raise Failed(f"partition {partition}: {least[int(partition)]} was acknowledged, {offset} is there")

    def ask(self, verb, *arguments):
        return feed(self.server, verb, *arguments, seconds=FEED_SECONDS)
