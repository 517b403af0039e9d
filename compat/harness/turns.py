"""Data directories of one node on which Apache Kafka and Highwater take turns, on one port, and what is looked at in between."""

import json
import subprocess
from pathlib import Path

from .brokers import Broker
from .security import Security
from .tools import CLIENTS, KAFKA, free_port, highwater_binary, kafka_libraries

NODE = 1

QUICK_START = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
"""Of tools that run for a moment."""

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
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
"""One file for both: it is Kafka's."""


class Turns:
    """`kafka` and `highwater` are the two brokers; `data` are the log directories that they share. `version` is that of Kafka."""

    def __init__(self, work, first, version=KAFKA, directories=1):
        self.work, self.port, self.version = work, free_port(), version
        self.data = [work / f"data-{number}" for number in range(directories)]
        self.address = f"127.0.0.1:{self.port}"
        self.settings = work / "server.properties"
        self.settings.write_text(SETTINGS.format(node=NODE, address=self.address, controller=self.port + 50,
                                                 data=",".join(map(str, self.data))))
        (work / "log4j2.properties").write_text(LOGGING)
        self.kafka, self.highwater = Kafka(self), Highwater(self)
        self.security = Security(self.java, self.address, has_group_configs=not version.startswith("3."))
        self.features, self.dumped = None, {}
        if first == "kafka":
            self.java("kafka.tools.StorageTool", "format", "--standalone", "-t", "aGlnaHdhdGVyLWNvbXBhdA", "-c",
                      str(self.settings), version=version)

    def broker(self, name):
        return {"kafka": self.kafka, "highwater": self.highwater}[name]

    def java(self, *arguments, version=KAFKA):
        """Runs one of Kafka's tools to its end; its output."""
        done = subprocess.run(["java", *QUICK_START, "-Xmx512m", "-cp", f"{kafka_libraries(version)}/*", *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
        said = done.stdout.decode(errors="replace")
        if done.returncode:
            raise subprocess.CalledProcessError(done.returncode, arguments, stderr=said.encode())
        return said

    def check(self, clean):
        """What is wrong with the directory while nobody runs on it."""
        done = subprocess.run([highwater_binary(), "check", "--json", "--config", str(self.settings)], capture_output=True)
        found = json.loads(done.stdout or b"{}")
        if not found.get("served"):
            return [f"highwater check: {done.stderr.decode().strip()} {found.get('refusals')} {found.get('notServed')}"]
        wrong = [f"highwater check: {loss}" for loss in found["losses"]]
        features = found["metadata"]["features"]
        self.features = self.features or features
        wrong += [] if features == self.features else [f"features were {self.features}, and are {features}"]
        if clean:
            wrong += [f"highwater check: after a clean stop it would {repair}" for repair in found["repairs"]]
            stops = {directory["stop"] for directory in found["directories"]}
            wrong += [] if stops == {"clean"} else [f"the stop was not clean: {stops}"]
        wrong += [f"stray: {path.name}" for data in self.data for path in data.glob("*-stray")]
        return wrong + (self.dump() if clean else [])

    def dump(self):
        """What Kafka's own tool has against the logs and indexes of partitions, but for those that it has seen as they are."""
        files = [str(path) for data in self.data for path in sorted(data.glob("*/*"))
                 if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
                 and path.stat().st_size and not path.parent.name.endswith(("-delete", "-stray"))
                 and not path.parent.name.startswith("__cluster_metadata")]
        as_they_are = {path: (Path(path).stat().st_mtime_ns, Path(path).stat().st_ino) for path in files}
        files = [path for path in files if self.dumped.get(path) != as_they_are[path]]
        self.dumped = as_they_are
        if not files:
            return []
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
        libraries = kafka_libraries(self.turns.version)
        return ["java", "-Xmx512m", logging, "-cp", f"{libraries}/*", "kafka.Kafka", str(self.turns.settings)]

    def started(self, log, clean):
        """What is wrong with how it started, by its own log."""
        wrong = [line for line in log.splitlines() if "stray log" in line]
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
