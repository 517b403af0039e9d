"""An aiokafka consumer for compat/groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]."""

import asyncio
import signal
import sys

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError

COMMIT_EVERY = 50
ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


async def main():
    bootstrap, topic, group, protocol = sys.argv[1:5]
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
                                auto_offset_reset="earliest", session_timeout_ms=6000, heartbeat_interval_ms=500,
                                partition_assignment_strategy=[ASSIGNORS[protocol]])
    await consumer.start()
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    positions, uncommitted = {}, 0
    while not stopped.is_set():
        try:
            batches = await consumer.getmany(timeout_ms=100, max_records=COMMIT_EVERY)
        except KafkaError:
            continue
        for partition, messages in batches.items():
            for message in messages:
                print("processed", message.partition, message.offset, flush=True)
                uncommitted += 1
            positions[partition.partition] = messages[-1].offset + 1
        if uncommitted >= COMMIT_EVERY:
            uncommitted = 0
            await commit(consumer, topic, positions)
    await consumer.stop()


async def commit(consumer, topic, positions):
    """Commits what is still assigned, and says so if it was acknowledged."""
    owned = {p.partition for p in consumer.assignment()}
    for partition in positions.keys() - owned:
        del positions[partition]
    try:
        await consumer.commit({TopicPartition(topic, p): o for p, o in positions.items()})
    except (KafkaError, ValueError):
        return
    for partition, offset in positions.items():
        print("committed", partition, offset, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
