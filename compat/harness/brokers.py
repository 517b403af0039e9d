"""The brokers under test: start on a free port and a directory of their own, kill with -9, start again, stop."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections import Counter

from .suite import NotAvailable
from .tools import free_port, highwater_binary, kafka_libraries

START_SECONDS = 180


class BrokerFailed(Exception):
    """The broker did not start, or not again."""


def broker(name, work, settings=(), port=None):
    """`name` is `highwater`, `kafka`, or the address of one that runs; `settings` are lines of a properties file."""
    if ":" in name:
        return Running(work, name)
    return {"highwater": Highwater, "kafka": Kafka}[name](work, settings, port)


class Broker:
    def __init__(self, work, settings, port):
        self.work = work
        self.settings = self.wanted = list(settings)
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        log = open(self.work / "broker.log", "ab")
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.work, env=self.environment())
        limit = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise BrokerFailed(f"it did not start; see {self.work}/broker.log")
            time.sleep(0.02)

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        if self.process is not None:
            self.end(signal.SIGTERM)

    def end(self, how):
        self.process.send_signal(how)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def start_afresh(self, more=()):
        """On an empty directory, with settings that stand before those it began with."""
        if self.process is not None:
            self.kill()
        names = {setting.split("=")[0] for setting in more}
        self.settings = [s for s in self.wanted if s.split("=")[0] not in names] + list(more)
        shutil.rmtree(self.work / "data", ignore_errors=True)
        self.format()
        self.start()

    def start_as_wanted(self):
        """Afresh, unless it has just the settings that it began with."""
        if self.settings != self.wanted:
            self.start_afresh()

    def format(self):
        """Makes an empty directory one that the broker starts on, if it does not do so itself."""

    def requests_since(self):
        """How many requests of each API and version it has read since it was asked last; nothing where it cannot say."""
        return {}

    def environment(self):
        return os.environ


class Highwater(Broker):
    STARTS_WITH = ["group.initial.rebalance.delay.ms=0", "offsets.topic.replication.factor=1", "transaction.state.log.min.isr=1",
                   "transaction.state.log.replication.factor=1"]
    """What it takes of itself where it is given no file."""

    def __init__(self, work, settings, port):
        super().__init__(work, settings, port)
        self.binary = highwater_binary()
        self.http = f"127.0.0.1:{self.port + 600}"
        self.read = Counter()

    def command(self):
        """Settings are in a file, as Kafka has them: what tests ask for is not always one, and that is no error there, here and in Kafka."""
        given = [*self.STARTS_WITH, f"advertised.listeners=PLAINTEXT://{self.address}", *self.settings]
        values = dict(setting.split("=", 1) for setting in given)
        properties = self.work / "highwater.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        return [str(self.binary), "--config", str(properties), "--data-dir", str(self.work / "data"), "--listen", self.address,
                "--http", self.http]

    def version(self):
        done = subprocess.run([str(self.binary), "--version"], capture_output=True, text=True, check=True, timeout=30)
        return done.stdout.strip()

    def end(self, how):
        self.settle()
        super().end(how)

    def settle(self):
        """What it has counted goes with it."""
        try:
            with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=5) as answer:
                text = answer.read().decode()
        except OSError:
            return
        now = Counter({(api, int(version)): int(count) for api, version, count in
                       re.findall(r'^highwater_requests_total\{api="(\w+)",version="(\d+)"\} (\d+)', text, re.MULTILINE)})
        self.read += now - getattr(self, "before", Counter())
        self.before = now

    def start(self):
        self.before = Counter()
        super().start()

    def requests_since(self):
        if self.process is not None:
            self.settle()
        read, self.read = self.read, Counter()
        return read


class Kafka(Broker):
    """Apache Kafka, one node, broker and controller in one."""

    SETTINGS = """process.roles=broker,controller
node.id=0
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{address}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={work}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
super.users=User:ANONYMOUS
"""
    JAVA = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    FORMAT = ()
    """More options of the tool that formats its directory."""

    def __init__(self, work, settings, port):
        super().__init__(work, settings, port)
        self.libraries = kafka_libraries()
        self.properties = work / "server.properties"
        self.format()

    def format(self):
        text = self.SETTINGS.format(controller=self.port + 300, address=self.address, work=self.work)
        self.properties.write_text(text + "".join(f"{setting}\n" for setting in self.settings))
        # A directory once formatted is copied: that is faster, and the same.
        empty = self.work / "formatted"
        if empty.exists():
            shutil.copytree(empty, self.work / "data")
            return
        subprocess.run([*self.JAVA, "kafka.tools.StorageTool", "format", "--standalone", "-t", "aGlnaHdhdGVyLWNvbXBhdA", "-c",
                        str(self.properties), *self.FORMAT], check=True, capture_output=True, env=self.environment(), timeout=120)
        shutil.copytree(self.work / "data", empty)

    def command(self):
        return [*self.JAVA, "kafka.Kafka", str(self.properties)]

    def environment(self):
        return {**os.environ, "CLASSPATH": f"{self.libraries}/*"}


class Running:
    """A broker that was there before, and stays."""

    def __init__(self, work, address):
        self.work, self.address = work, address
        self.port = int(address.rsplit(":", 1)[1])

    def start(self):
        try:
            socket.create_connection(tuple(self.address.rsplit(":", 1)), timeout=10).close()
        except OSError as error:
            raise BrokerFailed(f"{self.address}: {error}") from None

    def stop(self):
        pass

    def requests_since(self):
        return {}

    def start_as_wanted(self):
        pass

    def kill(self):
        raise NotAvailable("a broker that is only known by its address cannot be killed")

    def start_afresh(self, more=()):
        raise NotAvailable(f"a broker that is only known by its address cannot be given {', '.join(more) or 'an empty directory'}")
