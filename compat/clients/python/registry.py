"""A stand-in for a schema registry, which keeps its schemas in a compacted topic: `registry.py BOOTSTRAP TOPIC LIFE` is one life of it.

It makes the topic if it is not there, looks at its settings, reads it to the end, writes a no-op and waits to read that, then registers
schemas and deletes some. It prints what it found and what it left as JSON: ends of the topic and digests of the state.
"""

import hashlib
import json
import sys

from confluent_kafka.admin import ResourceType

from reports import TIMEOUT, Broker, equal, until

SCHEMAS, KEYS, DELETED = 300, 131, 7
"""Written in each life; different keys of all lives; every so manieth is a deletion."""
NO_OP = b"no-op"


def main():
    bootstrap, topic, life = sys.argv[1], sys.argv[2], int(sys.argv[3])
    broker = Broker(bootstrap)
    make_sure_it_is_there(broker, topic)
    equal(broker.settings(ResourceType.TOPIC, topic)["cleanup.policy"][0], "compact", "cleanup.policy")
    equal(len(broker.admin.list_topics(topic, timeout=TIMEOUT).topics[topic].partitions), 1, "partitions")
    _, began = broker.ends(topic)
    messages = broker.read(topic)
    found = state((message.key(), message.value()) for message in messages)
    write(broker, topic, [(NO_OP, str(life).encode())])
    equal([message.key() for message in broker.read(topic, start=began)], [NO_OP], "behind the end, at once")
    schemas = list(registered(life))
    write(broker, topic, schemas)
    left = state([*found.items(), *schemas])
    print(json.dumps({"began": began, "records": len(messages), "found": digest(found),
                      "ended": began + 1 + len(schemas), "left": digest(left)}))


def make_sure_it_is_there(broker, topic):
    if topic not in broker.admin.list_topics(timeout=TIMEOUT).topics:
        broker.create(topic, cleanup_policy="compact", segment_ms=500, min_cleanable_dirty_ratio=0.01)
        until(lambda: broker.ends(topic))


def registered(life):
    for number in range(life * SCHEMAS, (life + 1) * SCHEMAS):
        value = None if number % DELETED == 0 else f"schema {number}".encode()
        yield f"subject-{number % KEYS}".encode(), value


def write(broker, topic, records):
    outcomes = {error for error, _ in broker.produce(topic, *records)}
    equal(outcomes, {None}, "outcomes")


def state(records):
    """The last value of each key."""
    last = {key: value for key, value in records if key != NO_OP}
    return {key: value for key, value in last.items() if value is not None}


def digest(found):
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()


if __name__ == "__main__":
    main()
