"""Classes of Apache Kafka's own JUnit tests, from its test jars, against the broker under test.

The classes under `junit/src` stand in for those that would start a cluster, and hand the tests the one that runs. Before each test
everything that others left behind is removed; a test that wants other settings gets a fresh broker with them.
"""

import os
import queue
import socket
import subprocess
import threading
from pathlib import Path

from ..brokers import BrokerFailed, broker
from ..results import Row
from ..suite import Suite
from ..tools import BUILT, maven_libraries, run
from .profile import profile

SOURCES = Path(__file__).resolve().parents[2] / "junit"
BROKERS = 2
"""That work on the classes side by side: the tests mostly wait."""
TEST_SECONDS, CLASS_SECONDS = 90, 900


class Junit(Suite):
    name = "junit"
    about = "Apache Kafka 4.3.1's own integration tests: raw protocol, clients, tools"
    settings = profile("num.partitions=1", "group.streams.initial.rebalance.delay.ms=0")
    classes = "classes.txt"

    def prepare(self, lab):
        self.path = build()
        lines = (SOURCES / self.classes).read_text().splitlines()
        self.queue = queue.Queue()
        for name in (line.split()[0] for line in lines if line.strip() and not line.startswith("#")):
            if self.wants_of(lab, name):
                self.queue.put(name)
        self.rows = queue.Queue()

    def run(self, lab):
        servers = [lab.server] + [self.another(lab, number) for number in range(1, BROKERS)]
        workers = [threading.Thread(target=self.work, args=(lab, server), daemon=True) for server in servers if server]
        for worker in workers:
            worker.start()
        ended = 0
        while ended < len(workers):
            row = self.rows.get()
            if row is None:
                ended += 1
            elif "#" not in lab.options.only or lab.wants(row.test):
                yield row
        for server in servers[1:]:
            if server:
                lab.count_requests(server=server)
                server.stop()

    @staticmethod
    def wants_of(lab, name):
        """Whether a test of this class is wanted: `Class#method` names the class too."""
        return any(part.split("#")[0] in name for part in lab.options.only.split(","))

    def another(self, lab, number):
        if ":" in lab.options.broker:
            return None
        folder = lab.work / f"beside-{number}"
        folder.mkdir()
        server = broker(lab.options.broker, folder, self.settings)
        server.start()
        return server

    def work(self, lab, server):
        with Control(server) as control:
            while True:
                try:
                    name = self.queue.get_nowait()
                except queue.Empty:
                    self.rows.put(None)
                    return
                # The class before may have had it started with others.
                server.start_as_wanted()
                for row in self.one_class(lab, server, control, name):
                    self.rows.put(row)

    def one_class(self, lab, server, control, name):
        short = name.rsplit(".", 1)[1]
        table = lab.work / f"{short}.tsv"
        restart = "" if ":" in lab.options.broker else SOURCES / "broker"
        command = ["java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+EnableDynamicAgentLoading",
                   f"-Daccept.bootstrap={server.address}", f"-Daccept.restart={restart}", f"-Daccept.tsv={table}",
                   "-Daccept.traces=true", f"-Dlog4j2.configurationFile={SOURCES / 'log4j2.properties'}", "-cp", self.path,
                   "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--details=none",
                   "--config", f"junit.jupiter.execution.timeout.testtemplate.method.default={TEST_SECONDS} s",
                   "--config", f"junit.jupiter.execution.timeout.test.method.default={TEST_SECONDS} s",
                   "--config", "junit.jupiter.extensions.autodetection.enabled=true", "-c", name]
        ended = True
        with open(lab.work / f"{short}.log", "wb") as log:
            try:
                subprocess.run(command, stdout=log, stderr=log, timeout=CLASS_SECONDS,
                               env={**os.environ, "COMPAT_CONTROL": str(control.port)})
            except subprocess.TimeoutExpired:
                ended = False
        control.make_sure_it_runs()
        lines = table.read_text().splitlines() if table.exists() else []
        yield from merged(row(line) for line in lines)
        if not ended:
            yield Row(f"{short}#(class)", "fail", CLASS_SECONDS, f"no end after {CLASS_SECONDS} s")


class JunitStreams(Junit):
    name = "junit-streams"
    about = "Kafka Streams 4.3.1's own integration tests"
    classes = "classes-streams.txt"


class Control:
    """Does what the tests ask through `junit/broker`."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                verb, *settings = connection.makefile().readline().rstrip("\n").split("\t")
                try:
                    self.do(verb, [word for word in ";".join(settings).split(";") if word])
                    answer = "ok"
                except (BrokerFailed, OSError, subprocess.SubprocessError) as error:
                    # The next test gets a broker all the same.
                    self.server.start_afresh()
                    answer = " ".join(str(error).split())
                connection.sendall(f"{answer}\n".encode())

    def do(self, verb, settings):
        if verb == "restart":
            self.server.start_afresh(settings)
        elif verb == "stop":
            self.server.stop()
        elif verb == "start" and self.server.process is None:
            self.server.start()

    def make_sure_it_runs(self):
        """A test may have stopped it, and another may have made it end."""
        process = getattr(self.server, "process", self)
        if process is None or (process is not self and process.poll() is not None):
            self.server.process = None
            self.server.start()


def row(line):
    test, result, seconds, note, reason = (line.split("\t") + ["", "", "", ""])[:5]
    return Row(test, result, float(seconds or 0), reason or note if result != "pass" else "")


def merged(rows):
    """Several lines of one test, if it was run again, are one: the worst of them."""
    worst = ["fail", "unsupported", "skip", "pass"]
    found = {}
    for one in rows:
        if one.test not in found or worst.index(one.result) < worst.index(found[one.test].result):
            found[one.test] = one
    return found.values()


def build():
    """The class path: our stand-ins first, then Kafka's jars."""
    libraries = maven_libraries("junit-libraries", SOURCES / "pom.xml", "kafka-clients-integration-tests-*.jar")
    classes = BUILT / "junit-classes"
    sources = sorted(SOURCES.rglob("*.java"))
    stamp = classes / "built"
    if not stamp.exists() or any(source.stat().st_mtime > stamp.stat().st_mtime for source in sources):
        run(["javac", "-nowarn", "-cp", f"{libraries}/*", "-d", classes, *sources])
        services = classes / "META-INF" / "services"
        services.mkdir(parents=True, exist_ok=True)
        for service in (SOURCES / "src" / "META-INF" / "services").iterdir():
            (services / service.name).write_bytes(service.read_bytes())
        stamp.touch()
    return f"{classes}:{libraries}/*"
