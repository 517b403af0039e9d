"""confluent-kafka: librdkafka through its Python binding."""

import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import spec

TIMEOUT = 60


def create_topics(bootstrap, prefix):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(name, count, 1) for name, count in spec.topics(prefix)]
    for future in admin.create_topics(topics, request_timeout=TIMEOUT).values():
        future.result()
    have = admin.list_topics(timeout=TIMEOUT).topics
    for name, count in spec.topics(prefix):
        if len(have[name].partitions) != count:
            return f"{name} has {len(have[name].partitions)} partitions instead of {count}"
    return None


def produce(bootstrap, records, **options):
    """Sends (topic, partition, key, value, headers) and waits for every acknowledgement."""
    failures = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "message.max.bytes": 1_048_588,
                         "max.in.flight.requests.per.connection": 1, **options})
    for topic, partition, key, value, headers in records:
        while True:
            try:
                producer.produce(topic, value=value, key=key, partition=partition, headers=headers or None,
                                 on_delivery=lambda error, _: error and failures.append(str(error)))
                break
            except BufferError:
                producer.poll(0.1)
    left = producer.flush(TIMEOUT)
    return failures[0] if failures else f"{left} not acknowledged" if left else None


def write_cases(bootstrap, prefix):
    def codec(name):
        records = [(f"{prefix}-{name}", 0, *record) for record in spec.RECORDS]
        return produce(bootstrap, records, **{"compression.type": name})

    def partitions():
        return produce(bootstrap, [(f"{prefix}-partitions", p, None, f"{p}-{i}".encode(), None)
                                   for i in range(spec.RECORDS_EACH) for p in range(spec.PARTITIONS)])

    def idempotent():
        records = [(f"{prefix}-idempotent", 0, None, str(i).encode(), None) for i in range(spec.SEQUENCE)]
        return produce(bootstrap, records, **{"enable.idempotence": True})

    yield "topics", lambda: create_topics(bootstrap, prefix)
    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


def read(bootstrap, topic, count):
    """Messages of each partition from the beginning to the end, by direct assignment."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "not-used", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True, "auto.offset.reset": "error"})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(count)])
    messages, ended, limit = {p: [] for p in range(count)}, set(), time.monotonic() + TIMEOUT
    while len(ended) < count and time.monotonic() < limit:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            messages[message.partition()].append(message)
        elif message.error().name() == "_PARTITION_EOF":
            ended.add(message.partition())
        else:
            raise RuntimeError(f"{topic}: {message.error()}")
    consumer.close()
    if len(ended) < count:
        raise RuntimeError(f"{topic}: {count - len(ended)} partitions did not end")
    return messages


def check_cases(bootstrap, prefix):
    def codec(name):
        messages = read(bootstrap, f"{prefix}-{name}", 1)[0]
        if any(m.timestamp()[1] <= 0 for m in messages):
            return "a record without a timestamp"
        return spec.compare([(m.offset(), m.key(), m.value(), m.headers() or []) for m in messages], prefix)

    def partitions():
        read_back = read(bootstrap, f"{prefix}-partitions", spec.PARTITIONS)
        spread = {p: [(m.offset(), m.value()) for m in messages] for p, messages in read_back.items()}
        return spec.compare_spread(spread, prefix)

    def idempotent():
        messages = read(bootstrap, f"{prefix}-idempotent", 1)[0]
        expected = [str(i).encode() for i in range(spec.SEQUENCE)]
        return spec.compare_values([(m.offset(), m.value()) for m in messages], expected, "sequence")

    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


if __name__ == "__main__":
    spec.main(write_cases, check_cases)
