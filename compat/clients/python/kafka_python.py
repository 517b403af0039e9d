"""kafka-python, of 2.0 and of today."""

import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

import spec

TIMEOUT = 60


def create_topics(bootstrap, prefix):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, count, 1) for name, count in spec.topics(prefix)])
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    for name, count in spec.topics(prefix):
        if len(consumer.partitions_for_topic(name) or ()) != count:
            return f"{name} has not {count} partitions"
    return None


def produce(bootstrap, records, **options):
    """Sends (topic, partition, key, value, headers) and waits for every acknowledgement."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=1_048_588,
                             max_in_flight_requests_per_connection=1, **options)
    futures = [producer.send(topic, value=value, key=key, headers=headers, partition=partition)
               for topic, partition, key, value, headers in records]
    producer.flush(TIMEOUT)
    for future in futures:
        future.get(TIMEOUT)
    producer.close()


def write_cases(bootstrap, prefix):
    def codec(name):
        records = [(f"{prefix}-{name}", 0, *record) for record in spec.records(prefix)]
        produce(bootstrap, records, compression_type=None if name == "none" else name)

    def partitions():
        produce(bootstrap, [(f"{prefix}-partitions", p, None, f"{p}-{i}".encode(), [])
                            for i in range(spec.RECORDS_EACH) for p in range(spec.PARTITIONS)])

    def idempotent():
        """Version 2 has no idempotent producer."""
        produce(bootstrap, [(f"{prefix}-idempotent", 0, None, str(i).encode(), []) for i in range(spec.SEQUENCE)])

    yield "topics", lambda: create_topics(bootstrap, prefix)
    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


def read(bootstrap, topic, count):
    """Messages of each partition from the beginning to the end, by direct assignment."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
    partitions = [TopicPartition(topic, p) for p in range(count)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends, messages = consumer.end_offsets(partitions), {p: [] for p in range(count)}
    limit = time.monotonic() + TIMEOUT
    while any(consumer.position(p) < end for p, end in ends.items()):
        if time.monotonic() > limit:
            raise RuntimeError(f"{topic}: the end is not reached")
        for read_now in consumer.poll(timeout_ms=500).values():
            for message in read_now:
                messages[message.partition].append(message)
    consumer.close()
    return messages


def check_cases(bootstrap, prefix):
    def codec(name):
        messages = read(bootstrap, f"{prefix}-{name}", 1)[0]
        if any(m.timestamp <= 0 for m in messages):
            return "a record without a timestamp"
        return spec.compare([(m.offset, m.key, m.value, list(m.headers)) for m in messages], prefix)

    def partitions():
        read_back = read(bootstrap, f"{prefix}-partitions", spec.PARTITIONS)
        return spec.compare_spread({p: [(m.offset, m.value) for m in messages] for p, messages in read_back.items()}, prefix)

    def idempotent():
        messages = read(bootstrap, f"{prefix}-idempotent", 1)[0]
        return spec.compare_values([(m.offset, m.value) for m in messages], [str(i).encode() for i in range(spec.SEQUENCE)], "sequence")

    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


if __name__ == "__main__":
    spec.main(write_cases, check_cases)
