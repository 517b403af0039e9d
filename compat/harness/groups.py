"""One run of compat/groups: consumer programs, a producer, kills, and what must hold in the end."""

import os
import signal
import subprocess
import threading
import time

from .clients import python_environment
from .tools import BUILT, CLIENTS as SOURCES, kafka_libraries, run

PARTITIONS = 6
PATIENCE = 90
"""Seconds without a new record after which a run has failed: several sessions."""

SETTINGS = ["group.consumer.min.session.timeout.ms=6000", "group.consumer.session.timeout.ms=6000",
            "group.consumer.min.heartbeat.interval.ms=500", "group.consumer.heartbeat.interval.ms=500"]
"""Of the broker, so that a crash of a member of the new protocol is noticed as soon as one of the old protocol."""


class RunFailed(Exception):
    """Something that must hold does not."""


class Python:
    def __init__(self, program, package=None):
        self.program = SOURCES / "python" / program
        self.package = package

    def prepare(self):
        self.python = python_environment()
        if self.package:
            run([self.python, "-m", "pip", "install", "-q", self.package], timeout=600)

    def command(self):
        return [self.python, self.program]


class Java:
    def prepare(self):
        self.libraries = kafka_libraries()
        run(["javac", "-cp", f"{self.libraries}/*", "-d", BUILT / "java", SOURCES / "java" / "GroupConsumer.java"])

    def command(self):
        return ["java", "-Xmx128m", "-cp", f"{BUILT / 'java'}:{self.libraries}/*", "GroupConsumer"]


class Franz:
    def prepare(self):
        run(["go", "build", "-o", BUILT / "franz", "."], cwd=SOURCES / "franz", timeout=600)

    def command(self):
        return [BUILT / "franz", "group"]


class Kafkajs:
    def prepare(self):
        self.folder = BUILT / "kafkajs"
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json", "group.mjs"):
            (self.folder / file).write_bytes((SOURCES / "kafkajs" / file).read_bytes())
        if not (self.folder / "node_modules").exists():
            run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=self.folder, timeout=600)

    def command(self):
        return ["node", self.folder / "group.mjs"]


CONSUMERS = {
    "confluent-kafka": Python("group_confluent.py"),
    "kafka-python": Python("group_kafka_python.py", "kafka-python==3.0.12"),
    "aiokafka": Python("group_aiokafka.py", "aiokafka==0.14.0"),
    "java": Java(),
    "franz-go": Franz(),
    "kafkajs": Kafkajs(),
}

PAIRS = [
    ("confluent-kafka", "java", "range"),
    ("confluent-kafka", "java", "cooperative-sticky"),
    ("confluent-kafka", "java", "consumer"),
    ("java", "java", "consumer"),
    ("franz-go", "java", "cooperative-sticky"),
    ("franz-go", "kafka-python", "range"),
    ("kafka-python", "aiokafka", "range"),
    ("aiokafka", "confluent-kafka", "roundrobin"),
    ("kafkajs", "kafkajs", "its own"),
]


def prepare_feed():
    return [python_environment(), SOURCES / "python" / "group_feed.py"]


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

    def wait_until(self, done, what):
        with self.changed:
            last, limit = self.count(), time.monotonic() + PATIENCE
            while not done():
                self.changed.wait(1)
                if self.count() > last:
                    last, limit = self.count(), time.monotonic() + PATIENCE
                if time.monotonic() > limit:
                    raise RunFailed(f"{what}: nothing new for {PATIENCE} s, {last} records were processed")


class Program:
    """A consumer as a process; what it prints goes to `seen`."""

    def __init__(self, command, seen, log):
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=log, text=True)
        threading.Thread(target=self.read, args=(seen,), daemon=True).start()

    def read(self, seen):
        for line in self.process.stdout:
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
    def __init__(self, server, feed, number, first, second, protocol):
        self.server, self.feed, self.protocol = server, feed, protocol
        self.clients = [first, second, first]
        self.topic, self.group = f"shared-{number}", f"group-{number}"
        self.seen = Seen()
        self.log = open(server.work / f"consumers-{number}.log", "ab")
        self.programs = []

    def go(self):
        """What happened, in a few words; raises RunFailed."""
        self.ask("create", self.topic, PARTITIONS)
        producer = subprocess.Popen([str(c) for c in [*self.feed, "produce", self.server.address, self.topic]],
                                    stdout=subprocess.PIPE, stderr=self.log, text=True)
        try:
            self.programs = [self.start(client) for client in self.clients]
            self.disturb()
            producer.send_signal(signal.SIGTERM)
            sent = {int(p): int(n) for _, p, n in (line.split() for line in producer.communicate(timeout=120)[0].splitlines())}
            if producer.returncode != 0:
                raise RunFailed("the producer failed")
            self.seen.wait_until(lambda: self.all_processed(sent), "records are missing")
        finally:
            producer.kill()
            ends = [program.end(signal.SIGTERM) for program in self.programs]
        self.check_committed()
        if any(end not in (0, 143, -signal.SIGTERM) for end in ends):
            raise RunFailed(f"a consumer ended with {ends}")
        return f"{sum(sent.values())} records"

    def disturb(self):
        """Crashes and returns, each after the last one has been got over."""
        self.wait_for_more()
        self.programs[2].end()
        self.wait_for_more()
        self.programs[2] = self.start(self.clients[2])
        self.wait_for_more()
        before = dict(self.seen.committed)
        self.server.kill()
        self.server.start()
        self.check_committed(before)
        self.wait_for_more()
        self.programs[1].end(signal.SIGTERM)
        self.wait_for_more()
        self.programs[1] = self.start(self.clients[1])
        self.wait_for_more()

    def start(self, client):
        command = [*CONSUMERS[client].command(), self.server.address, self.topic, self.group, self.protocol]
        return Program(command, self.seen, self.log)

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
                raise RunFailed(f"partition {partition}: {least[int(partition)]} was acknowledged, {offset} is there")

    def ask(self, verb, *arguments):
        command = [str(c) for c in [*self.feed, verb, self.server.address, *arguments]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ)
        if done.returncode != 0:
            raise RunFailed(f"{verb}: {done.stderr.strip().splitlines()[-1:]}")
        return done.stdout
