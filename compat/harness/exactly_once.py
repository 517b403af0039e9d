"""Applications that read, work and write exactly once, while they and the broker are killed with -9 at random."""

import random
import subprocess
import threading
import time
from collections import Counter

from .brokers import BrokerFailed
from .feed import Failed, Feeding, call, feed
from .programs import Java
from .tools import CLIENTS as SOURCES, kafka_libraries, maven_libraries
from .transactions import CLIENTS, PARTITIONS

INSTANCES = 2
PATIENCE = 150
"""Seconds without progress after which a run has failed: longer than any transaction may stay open."""
FEED_PAUSE = "0.05"
KILL_EVERY = (1.5, 5.0)
BROKER_SHARE = 0.25
"""Of the kills: those of the broker."""


class Application:
    """Instances of a program; one that ends is started again, as its operator would."""

    def __init__(self, server, name, commands):
        self.server, self.name, self.commands = server, name, commands
        self.log = open(server.work / f"{name.replace(' ', '-')}.log", "ab")
        self.kills = self.ends = 0
        self.stopping = False
        self.lock = threading.Lock()
        self.processes = [self.start(command) for command in commands]
        self.supervisor = threading.Thread(target=self.supervise, daemon=True)
        self.supervisor.start()

    def start(self, command):
        return subprocess.Popen([str(c) for c in command], stdout=self.log, stderr=self.log)

    def supervise(self):
        while not self.stopping:
            with self.lock:
                for number, process in enumerate(self.processes):
                    if process.poll() is not None and not self.stopping:
                        self.ends += 1
                        self.processes[number] = self.start(self.commands[number])
            time.sleep(0.2)

    def kill_one(self):
        with self.lock:
            number = random.randrange(len(self.processes))
            if self.processes[number].poll() is None:
                self.kills += 1
                self.processes[number].kill()
                self.processes[number].wait()
                self.processes[number] = self.start(self.commands[number])

    def stop(self):
        """With -9 too: what it has said to be done is done."""
        self.stopping = True
        self.supervisor.join()
        for process in self.processes:
            process.kill()
            process.wait()
        self.log.close()


class Pipeline:
    """A topic that is fed, an application that works on it, and a topic with the result."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        short = name.replace(" ", "-")
        self.source, self.target, self.group = f"{short}-input", f"{short}-output", f"{short}-group"
        feed(server, "create", self.source, PARTITIONS)
        feed(server, "create", self.target, PARTITIONS)
        self.feeding = Feeding(server, self.source, FEED_PAUSE)
        self.application = Application(server, name, self.commands())

    def commands(self):
        raise NotImplementedError

    def stop_feeding(self):
        self.sent = self.feeding.stop(300)
        if not all(self.sent.get(p) for p in range(PARTITIONS)):
            raise Failed(f"the producer sent {self.sent}")

    def wait(self):
        """Until the group has committed everything that was sent."""
        last, limit = -1, time.monotonic() + PATIENCE
        while last < sum(self.sent.values()):
            said = feed(self.server, "committed", self.source, self.group)
            now = sum(int(line.split()[2]) for line in said.splitlines())
            if now > last:
                last, limit = now, time.monotonic() + PATIENCE
            if time.monotonic() > limit:
                raise Failed(f"{last} of {sum(self.sent.values())} records after {PATIENCE} s without progress")
            time.sleep(0.5)

    def finish(self):
        """What came out, in a few words."""
        self.stop_feeding()
        self.wait()
        self.application.stop()
        return f"{self.check()}; {self.application.kills} kills, {self.application.ends} ends of its own"

    def end(self):
        self.feeding.kill()
        if not self.application.stopping:
            self.application.stop()

    def read(self, reader, level):
        said, error = call([*CLIENTS[reader].command(), "read", self.server.address, self.target, level])
        if error:
            raise Failed(f"{reader}: {error}")
        return said.splitlines()


class Transform(Pipeline):
    """Passes records on; one transaction in ten is aborted on purpose."""

    def __init__(self, server, name, reader):
        self.client, self.reader = name, reader
        super().__init__(server, name)

    def commands(self):
        return [[*CLIENTS[self.client].command(), "transform", self.server.address, self.source, self.target, self.group,
                 f"{self.group}-{number}"] for number in range(INSTANCES)]

    def check(self):
        seen, all_of = self.read(self.reader, "read_committed"), self.read(self.reader, "read_uncommitted")
        expected = [f"{p}-{n}" for p, count in self.sent.items() for n in range(count)]
        counts = Counter(seen)
        missing = [value for value in expected if value not in counts]
        twice = [value for value, count in counts.items() if count > 1]
        if missing or twice or len(counts) != len(expected):
            raise Failed(f"{len(expected)} in, {len(seen)} out; missing {missing[:3]} ({len(missing)}), "
                         f"twice {twice[:3]} ({len(twice)})")
        self.check_order(seen)
        return f"{len(seen)} records once each in order, {len(all_of) - len(seen)} aborted ones unseen"

    def check_order(self, seen):
        last = dict.fromkeys(self.sent, -1)
        for value in seen:
            partition, number = map(int, value.split("-"))
            if number <= last[partition]:
                raise Failed(f"{value} comes after {partition}-{last[partition]}")
            last[partition] = number


def streams_libraries():
    pom = SOURCES / "java" / "streams" / "pom.xml"
    only = "kafka-streams,rocksdbjni"
    return [maven_libraries("kafka-streams", pom, "kafka-streams-*.jar", "rocksdbjni-*.jar", only=only), kafka_libraries()]


STREAMS = Java("WordCount", "-Xmx256m", classes="java-streams", libraries=streams_libraries)
"""The word count; no client of the table."""


class WordCount(Pipeline):
    """Kafka Streams. A line `2-137` is two words: one of three that come up all the time, and one of many that come up thrice."""

    def __init__(self, server):
        super().__init__(server, "kafka-streams")
        self.group = f"{self.target}-application"

    def commands(self):
        return [[*STREAMS.command(), self.server.address, self.source, self.target, f"{self.target}-application",
                 self.server.work / f"streams-{number}"] for number in range(INSTANCES)]

    def wait(self):
        """The group commits what it has read; its own topic between the two steps is worked off when the output is whole."""
        super().wait()
        limit = time.monotonic() + PATIENCE
        while len(self.read("confluent-kafka", "read_committed")) < 2 * sum(self.sent.values()):
            if time.monotonic() > limit:
                return
            time.sleep(1)

    def check(self):
        words = Counter(word for p, count in self.sent.items() for n in range(count) for word in (str(p), str(n)))
        counts = {}
        for value in self.read("confluent-kafka", "read_committed"):
            word, count = value.split(" ")
            if int(count) != counts.get(word, 0) + 1:
                raise Failed(f"{word}: {count} comes after {counts.get(word, 0)}")
            counts[word] = int(count)
        if counts != words:
            wrong = [word for word, count in words.items() if counts.get(word) != count]
            raise Failed(f"{len(wrong)} words counted wrong, such as {wrong[:3]}")
        return f"{sum(words.values())} words of {len(words)} kinds counted exactly"


def run(server, pipelines, seconds, progress):
    """Kills for that time; then for each pipeline: name, `ok` or `FAIL`, detail."""
    rows = []
    try:
        broker_kills = disturb(server, pipelines, seconds)
        for pipeline in pipelines:
            progress(f"{pipeline.name}: to the end")
            try:
                rows.append((pipeline.name, "ok", f"{pipeline.finish()}, {broker_kills} of the broker"))
            except Failed as error:
                rows.append((pipeline.name, "FAIL", str(error)))
    except BrokerFailed as error:
        rows.append(("the broker", "FAIL", str(error)))
    finally:
        for pipeline in pipelines:
            pipeline.end()
    return rows


def disturb(server, pipelines, seconds):
    """At random, but everything at least twice. How often it was the broker."""
    broker_kills = 0
    began = time.monotonic()
    while (time.monotonic() < began + seconds or broker_kills < 2
           or any(pipeline.application.kills < 2 for pipeline in pipelines)):
        time.sleep(random.uniform(*KILL_EVERY))
        if random.random() < BROKER_SHARE:
            broker_kills += 1
            server.kill()
            server.start()
        else:
            random.choice(pipelines).application.kill_one()
    return broker_kills


def word_count(server):
    STREAMS.prepare()
    return WordCount(server)
