"""A confluent-kafka consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]."""

import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from group_progress import SESSION_MS, Progress, acknowledged, assigned, fenced
from running import Running


def main():
    bootstrap, topic, group, protocol, *instance = sys.argv[1:]
    config = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False,
              "auto.offset.reset": "earliest", "log_level": 0, "reconnect.backoff.max.ms": 200}
    if protocol == "consumer":
        config |= {"group.protocol": "consumer"}
    else:
        config |= {"partition.assignment.strategy": protocol, "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 500}
    if instance:
        config["group.instance.id"] = instance[0]
    consumer = Consumer(config)
    consumer.subscribe([topic], on_assign=lambda _, partitions: assigned(p.partition for p in partitions))
    running, progress = Running(), Progress()
    while running:
        message = consumer.poll(0.1)
        if message is not None and message.error():
            if message.error().code() in (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID):
                return fenced()
        elif message is not None:
            progress.processed(message.partition(), message.offset())
        commit(consumer, topic, progress.to_commit(p.partition for p in consumer.assignment()))
    consumer.close()


def commit(consumer, topic, positions):
    offsets = [TopicPartition(topic, p, o) for p, o in positions.items()]
    try:
        done = consumer.commit(offsets=offsets, asynchronous=False) if offsets else []
    except KafkaException:
        return
    acknowledged({p.partition: p.offset for p in done if not p.error})


if __name__ == "__main__":
    main()
