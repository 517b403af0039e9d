"""The clients of the suite transactions, and what must be seen of what each has written."""

import sys

from .feed import Failed, call, feed
from .programs import Go, Java, Kafkajs, Python, Rdkafka
from .tools import CLIENTS as SOURCES, maven_libraries

sys.path.insert(0, str(SOURCES / "python"))

from txn_spec import COMMITTED, GROUP_OFFSET, NOT_COMMITTED, PARTITIONS, values  # noqa: E402

CASES = ["two in a row", "abort", "offsets", "fencing", "timeout"]
CHECKS = ["read_committed", "read_uncommitted", "group offset"]


def client_3_9():
    return [maven_libraries("kafka-clients-3.9.1", SOURCES / "java" / "client" / "pom.xml", "kafka-clients-3.9*.jar")]


CLIENTS = {
    "confluent-kafka": Python("txn_confluent.py"),
    "rdkafka": Rdkafka("compat-transactions"),
    "java 3.9": Java("TransactionClient", "-Xmx128m", classes="java-transactions-3.9", libraries=client_3_9),
    "java 4.4": Java("TransactionClient", "-Xmx128m", classes="java-transactions-4.4"),
    "franz-go": Go("franz", "transactions"),
    "kafkajs": Kafkajs("transactions.mjs"),
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
