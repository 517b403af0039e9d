"""Kafka Connect with its file connectors: a file comes out as it went in, while workers and the broker are killed with -9."""

import time

from ..results import Row
from ..suite import NotAvailable, Suite
from ..tools import need_program
from ..workers import Worker, ask, libraries, until
from .profile import profile

LINES = 5000
CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


class Connect(Suite):
    name = "connect"
    about = "Kafka Connect 4.3.1, file source and file sink, standalone and distributed"
    settings = profile("num.partitions=1")
    """So that lines keep their order."""

    def prepare(self, lab):
        libraries()
        missing = need_program("kcat", "kcat")
        if missing:
            raise NotAvailable(missing)

    def run(self, lab):
        for case in (Standalone(lab), Distributed(lab)):
            try:
                for step in case.steps:
                    name = f"{case.name}: {step.__doc__}"
                    began = time.monotonic()
                    wrong = step()
                    yield Row(name, "fail" if wrong else "pass", time.monotonic() - began, wrong or "")
                    lab.count_requests(f"connect {case.name}")
            finally:
                if case.worker:
                    case.worker.kill()


class Case:
    """A source that reads a file into a topic and a sink that reads the topic into another file."""

    name = ""

    def __init__(self, lab):
        self.lab, self.written, self.worker = lab, 0, None
        self.source, self.sink = lab.work / f"{self.name}-in.txt", lab.work / f"{self.name}-out.txt"
        self.source.touch()
        self.topic = f"connect-{self.name}"
        self.common = {"bootstrap.servers": lab.server.address, "key.converter": CONVERTER, "value.converter": CONVERTER,
                       "listeners": f"http://127.0.0.1:{self.port}", "plugin.discovery": "hybrid_warn",
                       "offset.flush.interval.ms": "500"}
        self.steps = [self.comes_through, self.goes_on_after_the_worker, self.goes_on_after_the_broker]

    @property
    def port(self):
        return self.lab.server.port + 1

    def connectors(self):
        return [{"name": f"{self.name}-source", "connector.class": "FileStreamSource", "tasks.max": "1", "file": str(self.source),
                 "topic": self.topic},
                {"name": f"{self.name}-sink", "connector.class": "FileStreamSink", "tasks.max": "1", "file": str(self.sink),
                 "topics": self.topic}]

    def more(self):
        with open(self.source, "a") as file:
            for number in range(self.written, self.written + LINES):
                file.write(f"line {number} of {self.name}\n")
        self.written += LINES

    def comes_through(self):
        """a file comes out as it went in"""
        self.more()
        self.start()
        return self.exactly()

    def goes_on_after_the_worker(self):
        """it goes on when the worker was killed"""
        self.more()
        self.worker.kill()
        self.worker.start()
        return self.at_least()

    def goes_on_after_the_broker(self):
        """it goes on when the broker was killed"""
        self.more()
        self.lab.server.kill()
        self.lab.server.start()
        return self.at_least()

    def out(self):
        return self.sink.read_text().splitlines() if self.sink.exists() else []

    def exactly(self):
        wanted = self.source.read_text().splitlines()
        if until(lambda: self.out() == wanted):
            return None
        return f"{len(self.out())} lines came out of {len(wanted)}"

    def at_least(self):
        """Who is killed may send again what he had sent: each line is there, in order but for that."""
        wanted = set(self.source.read_text().splitlines())
        if until(lambda: set(self.out()) == wanted):
            return None
        return f"{len(set(self.out()))} different lines came out of {len(wanted)}"


class Standalone(Case):
    name = "standalone"

    def start(self):
        common = {**self.common, "offset.storage.file.filename": self.lab.work / "connect.offsets"}
        self.worker = Worker(self.lab.work, self.name, "org.apache.kafka.connect.cli.ConnectStandalone", common, *self.connectors())
        self.worker.start()


class Distributed(Case):
    """Its group is of the protocol type `connect`, its offsets, settings and states are in compacted topics, and its source writes in
    transactions."""

    name = "distributed"

    @property
    def port(self):
        return self.lab.server.port + 2

    def start(self):
        topics = {f"{kind}.storage.{key}": value for kind in ("offset", "config", "status")
                  for key, value in (("topic", f"connect-{kind}"), ("replication.factor", "1"))}
        common = {**self.common, **topics, "group.id": "connect-cluster", "exactly.once.source.support": "enabled"}
        self.worker = Worker(self.lab.work, self.name, "org.apache.kafka.connect.cli.ConnectDistributed", common)
        self.worker.start()
        address = f"127.0.0.1:{self.port}"
        until(lambda: ask(address, "/connectors") is not None)
        for connector in self.connectors():
            settings = {key: value for key, value in connector.items() if key != "name"}
            until(lambda: ask(address, "/connectors", {"name": connector["name"], "config": settings}) is not None, 60)
