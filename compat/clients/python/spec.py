"""What every client writes and expects back. The other languages say the same in their own files."""

import sys

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS = 64
RECORDS_EACH = 10
SEQUENCE = 5000
BIG = bytes(97 + i % 26 for i in range(1_000_000))

# Key, value, headers; the offset of each is its place in the list.
RECORDS = [
    (b"key-0", b"value-0", [("h", b"a"), ("h", b"b"), ("empty", b""), ("none", None)]),
    (None, b"no key", []),
    (b"no value", None, []),
    (None, None, []),
    (b"", b"", []),
    (b"big", BIG, []),
    ("ünïcode".encode(), "日本 Ω".encode(), []),
]


def topics(prefix):
    """Name and number of partitions of every topic that a client with this prefix writes."""
    single = [(f"{prefix}-{codec}", 1) for codec in CODECS]
    return [*single, (f"{prefix}-partitions", PARTITIONS), (f"{prefix}-idempotent", 1)]


NO_NULL_IN_A_HEADER = ("kafkajs", "kafka-python", "kafka-python-2.0")
KEY_OR_VALUE = ("aiokafka", "kafka-python", "kafka-python-2.0")
"""Clients that refuse what the protocol allows."""


def records(prefix):
    """The records, as the client with this prefix can write them."""
    fitting = RECORDS
    if prefix in NO_NULL_IN_A_HEADER:
        fitting = [(key, value, [(name, content or b"") for name, content in headers]) for key, value, headers in fitting]
    if prefix in KEY_OR_VALUE:
        fitting = [(key, b"" if key is None and value is None else value, headers) for key, value, headers in fitting]
    return fitting


def compare_spread(partitions, prefix):
    """What is wrong with {partition: [(offset, value)]} of the topic with 64 partitions."""
    if prefix == "java-console":
        # It cannot choose a partition: keys spread numbers from 0 on, ascending in each.
        values = [[int(value) for _, value in read] for read in partitions.values()]
        offsets = all([offset for offset, _ in read] == list(range(len(read))) for read in partitions.values())
        complete = sorted(sum(values, [])) == list(range(PARTITIONS * RECORDS_EACH))
        ascending = all(part == sorted(part) for part in values)
        return None if offsets and complete and ascending else "not every number once and in order"
    for p, read in partitions.items():
        expected = [f"{p}-{i}".encode() for i in range(RECORDS_EACH)]
        wrong = compare_values(read, expected, f"partition {p}")
        if wrong:
            return wrong
    return None


def compare(read, prefix=""):
    """What is wrong with the records read, as (offset, key, value, headers); None if nothing."""
    if len(read) != len(RECORDS):
        return f"{len(read)} records instead of {len(RECORDS)}"
    for index, (offset, key, value, headers) in enumerate(read):
        want = records(prefix)[index]
        if offset != index:
            return f"record {index} is at offset {offset}"
        for what, have, expected in zip(("key", "value", "headers"), (key, value, headers), want):
            if have != expected:
                return f"record {index}: {what} is {short(have)} instead of {short(expected)}"
    return None


def compare_values(read, expected, where):
    """What is wrong with (offset, value) pairs that should be `expected` from offset 0."""
    want = list(enumerate(expected))
    if read == want:
        return None
    for have, wanted in zip(read, want):
        if have != wanted:
            return f"{where}: {have} instead of {wanted}"
    return f"{where}: {len(read)} records instead of {len(want)}"


def short(value):
    text = repr(value)
    return text if len(text) < 80 else f"{text[:60]}… ({len(text)} characters)"


def run_cases(cases):
    """Runs (name, function); a function returns what is wrong or None, and what it raises is wrong too."""
    for name, case in cases:
        try:
            wrong = case()
        except Exception as error:  # the report must go on with the next case
            wrong = f"{type(error).__name__}: {error}"
        text = " ".join(str(wrong).split())[:300] if wrong else ""
        print(f"{name}\t{'FAIL' if wrong else 'ok'}\t{text}", flush=True)


def main(write_cases, check_cases):
    verb, bootstrap, prefix = sys.argv[1:4]
    run_cases({"write": write_cases, "check": check_cases}[verb](bootstrap, prefix))
