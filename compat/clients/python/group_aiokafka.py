"""An aiokafka consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL."""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import KafkaError

from group_progress import COMMIT_EVERY, SESSION_MS, Progress, acknowledged
from running import Running

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


async def main():
    bootstrap, topic, group, protocol = sys.argv[1:5]
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
                                auto_offset_reset="earliest", session_timeout_ms=SESSION_MS, heartbeat_interval_ms=500,
                                partition_assignment_strategy=[ASSIGNORS[protocol]])
    await consumer.start()
    running, progress = Running(), Progress()
    while running:
        try:
            batches = await consumer.getmany(timeout_ms=100, max_records=COMMIT_EVERY)
        except KafkaError:
            continue
        for messages in batches.values():
            for message in messages:
                progress.processed(message.partition, message.offset)
        await commit(consumer, topic, progress.to_commit(p.partition for p in consumer.assignment()))
    await consumer.stop()


async def commit(consumer, topic, positions):
    if not positions:
        return
    try:
        await consumer.commit({TopicPartition(topic, p): o for p, o in positions.items()})
    except (KafkaError, ValueError):
        return
    acknowledged(positions)


if __name__ == "__main__":
    asyncio.run(main())
