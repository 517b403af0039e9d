"""The brokers under test: start on a free port and a directory of their own, kill with -9, start again, stop."""

import os
import signal
import socket
import subprocess
import time

from .tools import free_port, highwater_binary, kafka_libraries

START_SECONDS = 180


class BrokerFailed(Exception):
    """The broker did not start, or not again."""


def broker(name, work, settings=()):
    """`settings` are lines of a properties file."""
    return {"highwater": Highwater, "kafka": Kafka}[name](work, settings)


class Broker:
    def __init__(self, work):
        self.work = work
        self.port = free_port()
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

    def environment(self):
        return os.environ


class Highwater(Broker):
    def __init__(self, work, settings):
        super().__init__(work)
        self.binary = highwater_binary()
        self.settings = settings

    def command(self):
        settings = [word for setting in self.settings for word in ("--set", setting)]
        return [str(self.binary), "--data-dir", str(self.work / "data"), "--listen", self.address, *settings]


class Kafka(Broker):
    """Apache Kafka, one node, broker and controller in one."""

    def __init__(self, work, settings):
        super().__init__(work)
        self.libraries = kafka_libraries()
        self.settings = work / "server.properties"
        self.settings.write_text(f"""process.roles=broker,controller
node.id=0
controller.quorum.bootstrap.servers=127.0.0.1:{self.port + 300}
listeners=PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self.port + 300}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={work}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
""" + "".join(f"{setting}\n" for setting in settings))
        subprocess.run(self.java("kafka.tools.StorageTool", "format", "--standalone", "-t", "aGlnaHdhdGVyLWNvbXBhdA",
                                 "-c", str(self.settings)),
                       check=True, capture_output=True, env=self.environment(), timeout=120)

    def java(self, *arguments):
        return ["java", "-Xmx512m", *arguments]

    def command(self):
        return self.java("kafka.Kafka", str(self.settings))

    def environment(self):
        return {**os.environ, "CLASSPATH": f"{self.libraries}/*"}
