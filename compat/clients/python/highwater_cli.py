"""The product's own commands: topic, produce, consume."""

import json
import os
import subprocess

import spec

TIMEOUT = 60
NULL = "NULL"


def highwater(bootstrap, *arguments, stdin=b"", expect=0):
    command = [os.environ["HIGHWATER_BIN"], *arguments, "--broker", bootstrap]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT)
    if done.returncode != expect:
        raise RuntimeError(f"{arguments[:2]}: exit {done.returncode}: {done.stderr.decode()[-300:]}")
    return (done.stdout if expect == 0 else done.stderr).decode()


def text(part):
    return NULL if part is None else part.decode()


def send(bootstrap, topic, record, codec):
    key, value, headers = record
    options = ["--partition", "0", "--codec", codec, "--null", NULL]
    for name, content in headers:
        options += ["--header", name if content is None else f"{name}={content.decode()}"]
    line = text(value)
    if key is not None:
        options += ["--key-separator", "|"]
        line = f"{text(key)}|{line}"
    highwater(bootstrap, "produce", topic, *options, stdin=f"{line}\n".encode())


def write_cases(bootstrap, prefix):
    def topics():
        for name, count in spec.topics(prefix):
            highwater(bootstrap, "topic", "create", name, "--partitions", str(count))
        listed = highwater(bootstrap, "topic", "list")
        described = highwater(bootstrap, "topic", "describe", f"{prefix}-partitions")
        missing = [name for name, _ in spec.topics(prefix) if name not in listed]
        if missing or len(described.splitlines()) != spec.PARTITIONS + 2:
            return f"missing {missing}; {described[:200]}"
        return None

    def codec(name):
        for record in spec.RECORDS:
            send(bootstrap, f"{prefix}-{name}", record, name)

    def partitions():
        for p in range(spec.PARTITIONS):
            lines = "".join(f"{p}-{i}\n" for i in range(spec.RECORDS_EACH)).encode()
            highwater(bootstrap, "produce", f"{prefix}-partitions", "--partition", str(p), stdin=lines)

    def sequence():
        lines = "".join(f"{i}\n" for i in range(spec.SEQUENCE)).encode()
        said = highwater(bootstrap, "produce", f"{prefix}-idempotent", stdin=lines)
        return None if said == f"{spec.SEQUENCE} records to {prefix}-idempotent\n" else said

    yield "topics", topics
    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", sequence


def read(bootstrap, topic, *options):
    out = highwater(bootstrap, "consume", topic, "--json", *options)
    return [json.loads(line) for line in out.splitlines()]


def encoded(part):
    return None if part is None else part.encode()


def check_cases(bootstrap, prefix):
    def codec(name):
        have = read(bootstrap, f"{prefix}-{name}")
        if any(m["timestamp"] <= 0 for m in have):
            return "a record without a timestamp"
        return spec.compare([(m["offset"], encoded(m["key"]), encoded(m["value"]),
                              [(n, encoded(v)) for n, v in m["headers"]]) for m in have])

    def partitions():
        spread = {p: [] for p in range(spec.PARTITIONS)}
        for m in read(bootstrap, f"{prefix}-partitions"):
            spread[m["partition"]].append((m["offset"], encoded(m["value"])))
        return spec.compare_spread(spread, prefix)

    def sequence():
        have = highwater(bootstrap, "consume", f"{prefix}-idempotent").splitlines()
        if have != [str(i) for i in range(spec.SEQUENCE)]:
            return f"{len(have)} records, not in order"
        last = highwater(bootstrap, "consume", f"{prefix}-idempotent", "--from", "-3", "--max", "2",
                         "--print", "partition,offset")
        end = spec.SEQUENCE
        return None if last == f"0\t{end - 3}\t{end - 3}\n0\t{end - 2}\t{end - 2}\n" else f"the last ones: {last!r}"

    def errors():
        said = highwater(bootstrap, "consume", f"{prefix}-not-there", expect=1)
        if "highwater topic list" not in said:
            return f"no advice about a missing topic: {said}"
        said = highwater("127.0.0.1:9", "topic", "list", expect=1)
        return None if "Is a broker running there?" in said else f"no advice without a broker: {said}"

    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", sequence
    yield "errors", errors


if __name__ == "__main__":
    spec.main(write_cases, check_cases)
