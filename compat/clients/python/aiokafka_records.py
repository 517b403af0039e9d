"""aiokafka."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import spec

TIMEOUT = 60


async def create_topics(bootstrap, prefix):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, count, 1) for name, count in spec.topics(prefix)])
        described = await admin.describe_topics([f"{prefix}-partitions"])
        have = len(described[0]["partitions"])
        return None if have == spec.PARTITIONS else f"{have} partitions instead of {spec.PARTITIONS}"
    finally:
        await admin.close()


async def produce(bootstrap, records, **options):
    """Sends (topic, partition, key, value, headers) and waits for every acknowledgement."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", max_request_size=1_048_588, **options)
    await producer.start()
    try:
        sent = [await producer.send(topic, value=value, key=key, headers=headers, partition=partition)
                for topic, partition, key, value, headers in records]
        await asyncio.wait_for(asyncio.gather(*sent), TIMEOUT)
    finally:
        await producer.stop()


def write_cases(bootstrap, prefix):
    def codec(name):
        records = [(f"{prefix}-{name}", 0, *record) for record in spec.records(prefix)]
        return asyncio.run(produce(bootstrap, records, compression_type=None if name == "none" else name))

    def partitions():
        return asyncio.run(produce(bootstrap, [(f"{prefix}-partitions", p, None, f"{p}-{i}".encode(), [])
                                               for i in range(spec.RECORDS_EACH) for p in range(spec.PARTITIONS)]))

    def idempotent():
        records = [(f"{prefix}-idempotent", 0, None, str(i).encode(), []) for i in range(spec.SEQUENCE)]
        return asyncio.run(produce(bootstrap, records, enable_idempotence=True))

    yield "topics", lambda: asyncio.run(create_topics(bootstrap, prefix))
    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


async def read(bootstrap, topic, count):
    """Messages of each partition from the beginning to the end, by direct assignment."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, p) for p in range(count)]
        consumer.assign(partitions)
        ends, messages = await consumer.end_offsets(partitions), {p: [] for p in range(count)}
        async with asyncio.timeout(TIMEOUT):
            while any([await consumer.position(p) < end for p, end in ends.items()]):
                for read_now in (await consumer.getmany(timeout_ms=500)).values():
                    for message in read_now:
                        messages[message.partition].append(message)
        return messages
    finally:
        await consumer.stop()


def check_cases(bootstrap, prefix):
    def codec(name):
        messages = asyncio.run(read(bootstrap, f"{prefix}-{name}", 1))[0]
        if any(m.timestamp <= 0 for m in messages):
            return "a record without a timestamp"
        return spec.compare([(m.offset, m.key, m.value, list(m.headers)) for m in messages], prefix)

    def partitions():
        read_back = asyncio.run(read(bootstrap, f"{prefix}-partitions", spec.PARTITIONS))
        return spec.compare_spread({p: [(m.offset, m.value) for m in messages] for p, messages in read_back.items()}, prefix)

    def idempotent():
        messages = asyncio.run(read(bootstrap, f"{prefix}-idempotent", 1))[0]
        return spec.compare_values([(m.offset, m.value) for m in messages], [str(i).encode() for i in range(spec.SEQUENCE)], "sequence")

    for name in spec.CODECS:
        yield name, lambda name=name: codec(name)
    yield "partitions", partitions
    yield "idempotent", idempotent


if __name__ == "__main__":
    spec.main(write_cases, check_cases)
