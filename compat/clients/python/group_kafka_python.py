"""A kafka-python consumer for compat/groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]."""

import signal
import sys

from kafka import KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

COMMIT_EVERY = 50
ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


def main():
    bootstrap, topic, group, protocol = sys.argv[1:5]
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
                             auto_offset_reset="earliest", session_timeout_ms=6000, heartbeat_interval_ms=500,
                             partition_assignment_strategy=[ASSIGNORS[protocol]], reconnect_backoff_max_ms=200)
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    positions, uncommitted = {}, 0
    while running:
        try:
            batches = consumer.poll(timeout_ms=100, max_records=COMMIT_EVERY)
        except KafkaError:
            continue
        for partition, messages in batches.items():
            for message in messages:
                print("processed", message.partition, message.offset, flush=True)
                uncommitted += 1
            positions[partition.partition] = messages[-1].offset + 1
        if uncommitted >= COMMIT_EVERY:
            uncommitted = 0
            commit(consumer, topic, positions)
    consumer.close()


def commit(consumer, topic, positions):
    """Commits what is still assigned, and says so if it was acknowledged."""
    owned = {p.partition for p in consumer.assignment()}
    for partition in positions.keys() - owned:
        del positions[partition]
    offsets = {TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in positions.items()}
    try:
        consumer.commit(offsets)
    except (KafkaError, AssertionError):
        return
    for partition, offset in positions.items():
        print("committed", partition, offset, flush=True)


if __name__ == "__main__":
    main()
