"""One data directory on which Apache Kafka and Highwater take turns, on one port, and what is looked at in between."""

import json
import subprocess
from pathlib import Path

from .brokers import Broker
from .tools import CLIENTS, free_port, highwater_binary, kafka_libraries

NODE = 1

LOGGING = """status=error
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRef.c.ref=C
"""

SETTINGS = """process.roles=broker,controller
node.id={node}
listeners=PLAINTEXT://{address},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{address}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=500
log.segment.delete.delay.ms=1000
log.retention.check.interval.ms=3000
auto.create.topics.enable=false
"""
"""One file for both: it is Kafka's."""


class Turns:
    """`kafka` and `highwater` are the two brokers; `data` is what they share."""

    def __init__(self, work, first):
        self.work, self.data, self.port = work, work / "data", free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.settings = work / "server.properties"
        self.settings.write_text(SETTINGS.format(node=NODE, address=self.address, controller=self.port + 50, data=self.data))
        (work / "log4j2.properties").write_text(LOGGING)
        self.kafka, self.highwater = Kafka(self), Highwater(self)
        if first == "kafka":
            self.java("kafka.tools.StorageTool", "format", "--standalone", "-t", "aGlnaHdhdGVyLWNvbXBhdA", "-c",
                      str(self.settings))

    def broker(self, name):
        return {"kafka": self.kafka, "highwater": self.highwater}[name]

    def java(self, *arguments):
        """Runs one of Kafka's tools to its end; its output."""
        done = subprocess.run(["java", "-Xmx512m", "-cp", f"{kafka_libraries()}/*", *arguments], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        return done.stdout.decode(errors="replace")

    def check(self, clean):
        """What is wrong with the directory while nobody runs on it."""
        done = subprocess.run([highwater_binary(), "check", "--json", "--config", str(self.settings)], capture_output=True)
        found = json.loads(done.stdout or b"{}")
        if not found.get("served"):
            return [f"highwater check: {done.stderr.decode().strip()} {found.get('refusals')} {found.get('notServed')}"]
        wrong = [f"highwater check: {loss}" for loss in found["losses"]]
        if clean:
            wrong += [f"highwater check: after a clean stop it would {repair}" for repair in found["repairs"]]
            stops = {directory["stop"] for directory in found["directories"]}
            wrong += [] if stops == {"clean"} else [f"the stop was not clean: {stops}"]
        wrong += [f"stray: {path.name}" for path in self.data.glob("*-stray")
                  if any(log.stat().st_size for log in path.glob("*.log"))]
        return wrong + (self.dump() if clean else [])

    def dump(self):
        """What Kafka's own tool has against the logs and indexes of partitions."""
        files = [str(path) for path in sorted(self.data.glob("*/*"))
                 if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
                 and path.stat().st_size and not path.parent.name.endswith(("-delete", "-stray"))
                 and not path.parent.name.startswith("__cluster_metadata")]
        said = self.java("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(files))
        bad = ("mismatch", "out of order", "corrupt", "Exception", "invalid", "non-consecutive", "isvalid: false")
        # A cleaned batch without records has no time of its own left: the tool's false alarm, about Kafka's files as well.
        return [f"dump tool: {line}" for line in said.splitlines()
                if any(word in line for word in bad) and "log timestamp: -1" not in line and "payload" not in line][:5]


class Kafka(Broker):
    def __init__(self, turns):
        self.work, self.port, self.address, self.process, self.turns = turns.work, turns.port, turns.address, None, turns

    def command(self):
        logging = f"-Dlog4j2.configurationFile={self.work}/log4j2.properties"
        return ["java", "-Xmx512m", logging, "-cp", f"{kafka_libraries()}/*", "kafka.Kafka", str(self.turns.settings)]

    def started(self, log, clean):
        """What is wrong with how it started, by its own log."""
        # A partition that Kafka was killed in making has no partition.metadata and no records: it sets its own work aside.
        wrong = [line for line in log.splitlines() if "stray log" in line and "logEndOffset=0" not in line]
        if clean:
            wrong += [line for line in log.splitlines()
                      if "Recovering unflushed segment" in line and "__cluster_metadata" not in line]
            if "since clean shutdown file was found" not in log:
                wrong.append("kafka does not take the stop for a clean one")
        return [f"kafka: {line:.300}" for line in wrong[:5]]


class Highwater(Broker):
    def __init__(self, turns):
        self.work, self.port, self.address, self.process, self.turns = turns.work, turns.port, turns.address, None, turns
        self.binary = highwater_binary()

    def command(self):
        return [str(self.binary), "--config", str(self.turns.settings)]

    def started(self, log, clean):
        wrong = [line for line in log.splitlines() if "ERROR" in line]
        if clean:
            wrong += [line for line in log.splitlines() if "is rebuilt" in line or "the log is cut" in line]
        return [f"highwater: {line:.300}" for line in wrong[:5]]


class Clients:
    """The program with the load. It lives as long as the whole run: its clients only reconnect."""

    def __init__(self, python, address, seed, work):
        program = CLIENTS / "python" / "turns_load.py"
        self.process = subprocess.Popen([python, program, address, str(seed)], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=open(Path(work) / "clients.log", "a"))
        self.answer()

    def tell(self, verb):
        self.process.stdin.write(f"{verb}\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the clients have ended; see clients.log")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise SystemExit(f"the clients: {answer['error']}")
        return answer

    def end(self):
        self.process.kill()
        self.process.wait()
