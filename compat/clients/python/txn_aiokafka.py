"""aiokafka under the suite transactions: `write BOOTSTRAP TOPIC` and `read BOOTSTRAP TOPIC LEVEL`, see txn_spec."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from txn_spec import LATE_SECONDS, LATE_TIMEOUT_MS, PARTITIONS, RECORDS, report


async def producer(bootstrap, transactional_id, timeout_ms=60_000):
    made = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id,
                            transaction_timeout_ms=timeout_ms)
    await made.start()
    return made


async def send(made, topic, phase):
    for number in range(RECORDS):
        await made.send_and_wait(topic, f"{phase}-{number}".encode(), partition=number % PARTITIONS)


class Cases:
    def __init__(self, bootstrap, topic):
        self.bootstrap, self.topic, self.id = bootstrap, topic, f"{topic}-id"

    async def begin(self):
        self.producer = await producer(self.bootstrap, self.id)

    async def commit(self, *phases):
        for phase in phases:
            await self.producer.begin_transaction()
            await send(self.producer, self.topic, phase)
            await self.producer.commit_transaction()

    async def abort(self):
        await self.producer.begin_transaction()
        await send(self.producer, self.topic, "aborted")
        await self.producer.abort_transaction()
        await self.commit("after")

    async def offsets(self):
        group, source = f"{self.topic}-group", TopicPartition(f"{self.topic}-in", 0)
        await self.producer.begin_transaction()
        await send(self.producer, self.topic, "offsets")
        await self.producer.send_offsets_to_transaction({source: 5}, group)
        await self.producer.commit_transaction()
        await self.producer.begin_transaction()
        await send(self.producer, self.topic, "no-offsets")
        await self.producer.send_offsets_to_transaction({source: 8}, group)
        await self.producer.abort_transaction()

    async def fence(self):
        await self.producer.begin_transaction()
        await send(self.producer, self.topic, "zombie")
        first, self.producer = self.producer, await producer(self.bootstrap, self.id)
        await self.commit("heir")
        try:
            await first.commit_transaction()
        except KafkaError as error:
            return type(error).__name__
        raise RuntimeError("the first instance committed")

    async def outlive(self):
        late = await producer(self.bootstrap, f"{self.topic}-late", LATE_TIMEOUT_MS)
        await late.begin_transaction()
        await send(late, self.topic, "late")
        await asyncio.sleep(LATE_SECONDS)
        try:
            await late.commit_transaction()
        except KafkaError as error:
            self.producer = await producer(self.bootstrap, f"{self.topic}-late", LATE_TIMEOUT_MS)
            await self.commit("in-time")
            return type(error).__name__
        raise RuntimeError("it committed after its time")


def write(bootstrap, topic):
    loop = asyncio.new_event_loop()
    cases = Cases(bootstrap, topic)
    loop.run_until_complete(cases.begin())
    steps = {"two in a row": lambda: cases.commit("first", "second"), "abort": cases.abort, "offsets": cases.offsets,
             "fencing": cases.fence, "timeout": cases.outlive}
    for name, step in steps.items():
        report(name, lambda step=step: loop.run_until_complete(asyncio.wait_for(step(), 60)))


async def read(bootstrap, topic, level):
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=level, enable_auto_commit=False)
    await consumer.start()
    partitions = [TopicPartition(topic, p) for p in range(PARTITIONS)]
    consumer.assign(partitions)
    await consumer.seek_to_beginning(*partitions)
    ends = await consumer.end_offsets(partitions)
    async with asyncio.timeout(60):
        while any([await consumer.position(p) < ends[p] for p in partitions]):
            for messages in (await consumer.getmany(timeout_ms=200)).values():
                for message in messages:
                    print(message.value.decode())
    await consumer.stop()


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        asyncio.run(read(*sys.argv[2:]))
