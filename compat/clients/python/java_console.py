"""Kafka's console tools: kafka-topics, kafka-console-producer, kafka-console-consumer, kafka-get-offsets.

Every call starts a JVM, so the records are fewer; the Java client itself is tested by `Compat.java`.
"""

import subprocess

import spec

TIMEOUT = 120
NULL = "NULL"
TOOLS = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "producer": "org.apache.kafka.tools.ConsoleProducer",
    "consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "offsets": "org.apache.kafka.tools.GetOffsetShell",
}


def tool(name, bootstrap, *arguments, stdin=b""):
    """Standard output of one tool; what it logs goes to standard error."""
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", TOOLS[name], "--bootstrap-server", bootstrap, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT)
    if done.returncode != 0:
        raise RuntimeError(f"{name}: exit {done.returncode}: {(done.stderr or done.stdout).decode()[-300:]}")
    return done.stdout


def text(part):
    return NULL if part is None else part.decode()


def line_of(record):
    key, value, headers = record
    names = ",".join(f"{name}:{text(content)}" for name, content in headers) or NULL
    return f"{names}\t{text(key)}\t{text(value)}\n"


def write_cases(bootstrap, prefix):
    def topics():
        for name, count in spec.topics(prefix):
            tool("topics", bootstrap, "--create", "--topic", name, "--partitions", str(count),
                 "--replication-factor", "1")
        listed = tool("topics", bootstrap, "--list").decode().split()
        missing = [name for name, _ in spec.topics(prefix) if name not in listed]
        described = tool("topics", bootstrap, "--describe", "--topic", f"{prefix}-partitions").decode()
        if missing or f"PartitionCount: {spec.PARTITIONS}" not in described:
            return f"missing {missing}; {described[:200]}"
        return None

    def codec(name):
        lines = "".join(line_of(record) for record in spec.RECORDS).encode()
        properties = ["parse.headers=true", "parse.key=true", f"null.marker={NULL}"]
        options = [word for p in properties for word in ("--reader-property", p)]
        tool("producer", bootstrap, "--topic", f"{prefix}-{name}", "--compression-codec", name, *options, stdin=lines)

    def partitions():
        # The tool cannot choose a partition; the keys spread the records as Kafka's partitioner does.
        lines = "".join(f"k{i}\t{i}\n" for i in range(spec.PARTITIONS * spec.RECORDS_EACH)).encode()
        tool("producer", bootstrap, "--topic", f"{prefix}-partitions", "--reader-property", "parse.key=true",
             stdin=lines)

    def idempotent():
        lines = "".join(f"{i}\n" for i in range(spec.SEQUENCE)).encode()
        tool("producer", bootstrap, "--topic", f"{prefix}-idempotent", "--command-property", "enable.idempotence=true",
             stdin=lines)

    yield "topics", topics
    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


def consume(bootstrap, topic, count, *properties):
    options = [word for p in properties for word in ("--formatter-property", p)]
    out = tool("consumer", bootstrap, "--topic", topic, "--partition", "0", "--offset", "earliest",
               "--max-messages", str(count), "--timeout-ms", "30000", *options)
    return out.decode().splitlines()


def end_offsets(bootstrap, topic):
    lines = tool("offsets", bootstrap, "--topic", topic).decode().splitlines()
    return [int(line.split(":")[2]) for line in lines]


def check_cases(bootstrap, prefix):
    def codec(name):
        properties = ["print.headers=true", "print.key=true", "print.offset=true", f"null.literal={NULL}"]
        have = consume(bootstrap, f"{prefix}-{name}", len(spec.RECORDS), *properties)
        for offset, record in enumerate(spec.RECORDS):
            headers, key, value = line_of(record).rstrip("\n").split("\t")
            want = f"Offset:{offset}\t{'NO_HEADERS' if headers == NULL else headers}\t{key}\t{value}"
            if have[offset] != want:
                return f"record {offset}: {spec.short(have[offset])} instead of {spec.short(want)}"
        return None

    def partitions():
        ends = end_offsets(bootstrap, f"{prefix}-partitions")
        if len(ends) != spec.PARTITIONS or sum(ends) != spec.PARTITIONS * spec.RECORDS_EACH:
            return f"{len(ends)} partitions with {sum(ends)} records"
        return None

    def idempotent():
        have = consume(bootstrap, f"{prefix}-idempotent", spec.SEQUENCE)
        return None if have == [str(i) for i in range(spec.SEQUENCE)] else f"{len(have)} records, not in order"

    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


if __name__ == "__main__":
    spec.main(write_cases, check_cases)
