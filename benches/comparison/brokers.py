"""The brokers that are measured: how each is started, with the same durability, and held while the other has its turn."""

import json
import os
import signal
import subprocess
import time

from harness.tools import ROOT, TARGET, free_port, highwater_binary, kafka_libraries, run

START_SECONDS = 180
LOAD_SECONDS = 900
WARM_SECONDS = 10
# What is shipped with Kafka, with a heap of fixed size.
JAVA = ["java", "-server", "-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
        "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"]
# The same for both: what a case has deleted is gone before the next begins, and groups do not wait for more members.
SETTINGS = ["log.segment.delete.delay.ms=0", "group.initial.rebalance.delay.ms=0", "num.partitions=1"]
KAFKA_SETTINGS = ["offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1",
                  "transaction.state.log.min.isr=1", "share.coordinator.state.topic.replication.factor=1",
                  "share.coordinator.state.topic.min.isr=1",
                  # It is held by SIGSTOP while the other broker is measured, and must not fence itself afterwards.
                  "broker.session.timeout.ms=3600000"]


class LoadFailed(Exception):
    """The load said why."""


class Load:
    """The program that loads a broker."""

    def __init__(self, binary):
        self.binary = binary

    def figures(self, *arguments, environment=None):
        command = [str(self.binary), *map(str, arguments), "--json"]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LOAD_SECONDS)
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"not done in {LOAD_SECONDS} s") from None
        if ended.returncode != 0:
            raise LoadFailed(ended.stderr.strip() or f"it ended with {ended.returncode}")
        return json.loads(ended.stdout)


def load_binary():
    """Of the same kind as the broker's binary: built unless BENCH_LOAD names one."""
    given = os.environ.get("BENCH_LOAD")
    if not given:
        run(["cargo", "build", "--release", "--locked", "--example", "load"], cwd=ROOT, timeout=1200)
    return Load(given or TARGET / "release" / "examples" / "load")


def broker_of(name, durability, work):
    """`name` is kafka, highwater, or highwater=BINARY."""
    kind, _, binary = name.partition("=")
    return Kafka(durability, work) if kind == "kafka" else Highwater(durability, work, binary)


class Broker:
    """A broker on a directory; `work` gets a new one each time that it is made new."""

    warm_seconds = 0.5

    def __init__(self, durability, work):
        self.durability = durability
        self.work = work
        self.times = 0
        self.process = None

    def make_new(self):
        """A port and an empty directory; what that takes before the start, in milliseconds."""
        self.times += 1
        self.place = self.work / str(self.times)
        self.place.mkdir(parents=True)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        return {}

    def start(self, load):
        log = open(self.place / "log", "ab")
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.place, env=self.environment())
        limit = time.monotonic() + START_SECONDS
        while not self.answers(load):
            if self.process.poll() is not None or time.monotonic() > limit:
                raise LoadFailed(f"the broker did not start: {(self.place / 'log').read_text()[-500:]}")
            time.sleep(0.02)

    def answers(self, load):
        try:
            load.figures("single", "--seconds", 0, *self.running())
            return True
        except LoadFailed:
            return False

    def running(self):
        return "--broker", self.address, "--pid", self.process.pid

    def to_start(self):
        return "--broker", self.address, "--command", " ".join(self.command())

    def hold(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        run(["rm", "-rf", self.place])

    def environment(self):
        return {**os.environ, "RUST_LOG": "error"}


class Highwater(Broker):
    def __init__(self, durability, work, binary):
        super().__init__(durability, work)
        self.binary = os.path.abspath(binary) if binary else highwater_binary()
        self.name = f"highwater ({os.path.basename(binary)})" if binary else "highwater"

    def command(self):
        settings = [*SETTINGS, f"highwater.durability={self.durability}"]
        return [str(self.binary), "--data-dir", str(self.place / "data"), "--listen", self.address,
                *(word for setting in settings for word in ("--set", setting))]

    def version(self):
        return run([self.binary, "--version"], text=True).stdout.strip()


class Kafka(Broker):
    """Apache Kafka, one node, broker and controller in one."""

    name = "kafka"
    warm_seconds = WARM_SECONDS

    def __init__(self, durability, work):
        super().__init__(durability, work)
        self.libraries = kafka_libraries()

    def make_new(self):
        super().make_new()
        settings = self.place / "server.properties"
        controller = f"127.0.0.1:{self.port + 300}"
        flush = ["log.flush.interval.messages=1"] if self.durability == "fsync" else []
        settings.write_text("\n".join([
            "process.roles=broker,controller", "node.id=1", f"controller.quorum.bootstrap.servers={controller}",
            f"listeners=PLAINTEXT://{self.address},CONTROLLER://{controller}", "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", f"log.dirs={self.place}/data",
            *SETTINGS, *KAFKA_SETTINGS, *flush, ""]))
        began = time.monotonic()
        run(["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", "format", "--standalone",
             "-t", "aGlnaHdhdGVyLWJlbmNoMQ", "-c", settings], env=self.environment())
        return {"format_ms": (time.monotonic() - began) * 1000}

    def command(self):
        return [*JAVA, "kafka.Kafka", str(self.place / "server.properties")]

    def environment(self):
        return {**super().environment(), "CLASSPATH": f"{self.libraries}/*"}

    def version(self):
        jar = next(self.libraries.glob("kafka-clients-*.jar"))
        return f"Apache Kafka {jar.stem.removeprefix('kafka-clients-')}"
