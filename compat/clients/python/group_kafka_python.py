"""A kafka-python consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]."""

import sys

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import FencedInstanceIdError, KafkaError
from kafka.structs import OffsetAndMetadata

from group_progress import COMMIT_EVERY, SESSION_MS, Progress, acknowledged, assigned, fenced
from running import Running

ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


class Listener(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, partitions):
        assigned(p.partition for p in partitions)


def main():
    bootstrap, topic, group, protocol, *instance = sys.argv[1:]
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
                             auto_offset_reset="earliest", session_timeout_ms=SESSION_MS, heartbeat_interval_ms=500,
                             partition_assignment_strategy=[ASSIGNORS[protocol]], reconnect_backoff_max_ms=200,
                             group_instance_id=instance[0] if instance else None)
    consumer.subscribe([topic], listener=Listener())
    running, progress = Running(), Progress()
    while running:
        try:
            consume(consumer, topic, progress)
        except FencedInstanceIdError:
            return fenced()
        except KafkaError:
            continue
    consumer.close()


def consume(consumer, topic, progress):
    for messages in consumer.poll(timeout_ms=100, max_records=COMMIT_EVERY).values():
        for message in messages:
            progress.processed(message.partition, message.offset)
    commit(consumer, topic, progress.to_commit(p.partition for p in consumer.assignment()))


def commit(consumer, topic, positions):
    if not positions:
        return
    try:
        consumer.commit({TopicPartition(topic, p): OffsetAndMetadata(o, "", -1) for p, o in positions.items()})
    except FencedInstanceIdError:
        raise
    except (KafkaError, AssertionError):
        return
    acknowledged(positions)


if __name__ == "__main__":
    main()
