"""kcat, as Debian packages it. Topics come from automatic creation, except the one that needs 64 partitions."""

import json
import subprocess

from confluent_kafka.admin import AdminClient, NewTopic

import spec

TIMEOUT = 60


def kcat(bootstrap, *arguments, stdin=b""):
    command = ["kcat", "-b", bootstrap, "-X", "broker.address.family=v4", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0 or "ERROR" in said:
        raise RuntimeError(f"exit {done.returncode}: {said[-300:]}")
    return done.stdout


def send(bootstrap, topic, partition, record, *options):
    """One record in one call: kcat takes headers per call, and `-Z` turns what is empty into null."""
    key, value, headers = record
    arguments = ["-P", "-t", topic, "-p", str(partition), "-X", "acks=all", "-X", "message.max.bytes=1048588"]
    for name, content in headers:
        arguments += ["-H", name if content is None else f"{name}={content.decode()}"]
    stdin = value or b""
    if key is not None or value is None:
        arguments += ["-K", "|"]
        stdin = (key or b"") + b"|" + stdin
    if key is None or value is None:
        arguments.append("-Z")
    kcat(bootstrap, *arguments, *options, stdin=stdin)


def write_cases(bootstrap, prefix):
    def topics():
        admin = AdminClient({"bootstrap.servers": bootstrap})
        new = NewTopic(f"{prefix}-partitions", spec.PARTITIONS, 1)
        for future in admin.create_topics([new], request_timeout=TIMEOUT).values():
            future.result()

    def codec(name):
        for record in spec.RECORDS:
            send(bootstrap, f"{prefix}-{name}", 0, record, "-z", name)

    def partitions():
        for p in range(spec.PARTITIONS):
            lines = "".join(f"{p}-{i}\n" for i in range(spec.RECORDS_EACH)).encode()
            kcat(bootstrap, "-P", "-t", f"{prefix}-partitions", "-p", str(p), stdin=lines)

    def idempotent():
        lines = "".join(f"{i}\n" for i in range(spec.SEQUENCE)).encode()
        kcat(bootstrap, "-P", "-t", f"{prefix}-idempotent", "-p", "0", "-X", "enable.idempotence=true", stdin=lines)

    yield "topics", topics
    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


def read(bootstrap, topic):
    """All messages of all partitions, in the order in which they came."""
    out = kcat(bootstrap, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-J", "-X", "check.crcs=true")
    return [json.loads(line) for line in out.decode().splitlines()]


def encoded(text):
    return None if text is None else text.encode()


def check_cases(bootstrap, prefix):
    def codec(name):
        read_back = []
        for message in read(bootstrap, f"{prefix}-{name}"):
            flat = message.get("headers") or []
            headers = [(flat[i], encoded(flat[i + 1])) for i in range(0, len(flat), 2)]
            read_back.append((message["offset"], encoded(message["key"]), encoded(message["payload"]), headers))
        return spec.compare(read_back)

    def partitions():
        spread = {p: [] for p in range(spec.PARTITIONS)}
        for m in read(bootstrap, f"{prefix}-partitions"):
            spread[m["partition"]].append((m["offset"], encoded(m["payload"])))
        return spec.compare_spread(spread, prefix)

    def idempotent():
        have = [(m["offset"], m["payload"]) for m in read(bootstrap, f"{prefix}-idempotent")]
        return spec.compare_values(have, [str(i) for i in range(spec.SEQUENCE)], "sequence")

    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


if __name__ == "__main__":
    spec.main(write_cases, check_cases)
