"""The clients of compat/transactions, and what must be seen of what each has written."""

import subprocess

from .clients import python_environment
from .groups import prepare_feed
from .tools import BUILT, CLIENTS as SOURCES, ROOT, STEP_SECONDS, TARGET, kafka_libraries, maven_libraries, run

import sys

sys.path.insert(0, str(SOURCES / "python"))

from txn_spec import COMMITTED, GROUP_OFFSET, NOT_COMMITTED, PARTITIONS, values  # noqa: E402

CASES = ["two in a row", "abort", "offsets", "fencing"]
CHECKS = ["read_committed", "read_uncommitted", "group offset"]


class Failed(Exception):
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


class Rdkafka:
    def prepare(self):
        run(["cargo", "build", "--locked", "--example", "compat-transactions"], cwd=ROOT, timeout=1200)

    def command(self):
        return [TARGET / "debug" / "examples" / "compat-transactions"]


class Java:
    """The program is compiled against the version it runs with."""

    def __init__(self, version):
        self.version = version

    def prepare(self):
        if self.version == "3.9":
            pom = SOURCES / "java" / "client-3.9" / "pom.xml"
            self.libraries = maven_libraries("kafka-client-3.9", pom, "kafka-clients-3.9*.jar")
        else:
            self.libraries = kafka_libraries()
        self.classes = BUILT / f"java-transactions-{self.version}"
        run(["javac", "-cp", f"{self.libraries}/*", "-d", self.classes, SOURCES / "java" / "TransactionClient.java"])

    def command(self):
        return ["java", "-Xmx128m", "-cp", f"{self.classes}:{self.libraries}/*", "TransactionClient"]


class Streams:
    """The word count of Kafka Streams; no client of the table."""

    def prepare(self):
        kafka = kafka_libraries()
        pom = SOURCES / "java" / "streams" / "pom.xml"
        streams = maven_libraries("kafka-streams", pom, "kafka-streams-*.jar", "rocksdbjni-*.jar", only="kafka-streams,rocksdbjni")
        classes = BUILT / "java-streams"
        run(["javac", "-cp", f"{streams}/*:{kafka}/*", "-d", classes, SOURCES / "java" / "WordCount.java"])
        self.path = f"{classes}:{streams}/*:{kafka}/*"

    def command(self):
        return ["java", "-Xmx256m", "-cp", self.path, "WordCount"]


class Franz:
    def prepare(self):
        run(["go", "build", "-o", BUILT / "franz", "."], cwd=SOURCES / "franz", timeout=600)

    def command(self):
        return [BUILT / "franz", "transactions"]


class Kafkajs:
    def prepare(self):
        self.folder = BUILT / "kafkajs"
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json", "transactions.mjs"):
            (self.folder / file).write_bytes((SOURCES / "kafkajs" / file).read_bytes())
        if not (self.folder / "node_modules").exists():
            run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=self.folder, timeout=600)

    def command(self):
        return ["node", self.folder / "transactions.mjs"]


CLIENTS = {
    "confluent-kafka": Python("txn_confluent.py"),
    "rdkafka": Rdkafka(),
    "java 3.9": Java("3.9"),
    "java 4.4": Java("4.4"),
    "franz-go": Franz(),
    "kafkajs": Kafkajs(),
    "aiokafka": Python("txn_aiokafka.py", "aiokafka==0.14.0"),
}

PYTHON_READER = "aiokafka"
"""For what has to do without Java, Go and Node."""

READERS = {"confluent-kafka": "java 4.4", "rdkafka": "aiokafka", "java 3.9": "confluent-kafka", "java 4.4": "franz-go",
           "franz-go": "java 3.9", "kafkajs": "confluent-kafka", "aiokafka": "java 4.4"}
"""Who reads what a client wrote: another one."""


class Script:
    """One client does all cases on topics of its own, then another one looks."""

    def __init__(self, server, name, reader):
        self.server, self.name, self.reader = server, name, reader
        self.topic = f"txn-{name.replace(' ', '-')}"

    def go(self):
        """For each case and check: name, `ok` or `FAIL`, detail."""
        feed(self.server, "create", self.topic, PARTITIONS)
        feed(self.server, "create", f"{self.topic}-in", 1)
        feed(self.server, "fill", f"{self.topic}-in", 10)
        rows = self.write()
        for check in (self.read_committed, self.read_uncommitted, self.group_offset):
            name = check.__name__ if check != self.group_offset else "group offset"
            try:
                rows[name] = ("ok", check() or "")
            except Failed as error:
                rows[name] = ("FAIL", str(error))
        return rows

    def write(self):
        command = [*CLIENTS[self.name].command(), "write", self.server.address, self.topic]
        said, error = call(command)
        rows = dict.fromkeys(CASES, ("FAIL", f"it said nothing of it; {error}"))
        for line in said.splitlines():
            case, result, detail = line.split("\t")
            rows[case] = (result, detail)
        return rows

    def read(self, level):
        """By partition, in order."""
        said, error = call([*CLIENTS[self.reader].command(), "read", self.server.address, self.topic, level])
        if error:
            raise Failed(error)
        seen = {p: [] for p in range(PARTITIONS)}
        for value in said.splitlines():
            seen[int(value.rpartition("-")[2]) % PARTITIONS].append(value)
        return seen

    def read_committed(self):
        seen, expected = self.read("read_committed"), values(COMMITTED)
        if seen != expected:
            raise Failed(f"{self.reader} saw {difference(seen, expected)}")

    def read_uncommitted(self):
        seen, expected = self.read("read_uncommitted"), values([*COMMITTED, *NOT_COMMITTED])
        if {p: sorted(found) for p, found in seen.items()} != {p: sorted(all_of) for p, all_of in expected.items()}:
            raise Failed(f"{self.reader} saw {difference(seen, expected)}")

    def group_offset(self):
        said = feed(self.server, "committed", f"{self.topic}-in", f"{self.topic}-group")
        if said.split() != ["committed", "0", str(GROUP_OFFSET)]:
            raise Failed(f"{said.strip()}, not {GROUP_OFFSET}")


def difference(seen, expected):
    seen, expected = sorted(sum(seen.values(), [])), sorted(sum(expected.values(), []))
    missing, more = [v for v in expected if v not in seen], [v for v in seen if v not in expected]
    twice = sorted({v for v in seen if seen.count(v) > 1})
    if not (missing or more or twice):
        return "another order"
    return f"missing {missing[:3]} ({len(missing)}), more {more[:3]} ({len(more)}), twice {twice[:3]} ({len(twice)})"


def call(command):
    """What it printed; an error text if it failed."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=STEP_SECONDS, cwd=ROOT)
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(), f"no end after {STEP_SECONDS} s"
    lines = done.stderr.strip().splitlines()
    return done.stdout, f"exit {done.returncode}: {' | '.join(lines[-3:])}" if done.returncode else ""


def feed(server, verb, *arguments):
    said, error = call([*prepare_feed(), verb, server.address, *arguments])
    if error:
        raise Failed(f"{verb}: {error}")
    return said
