"""A confluent-kafka consumer for compat/groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE]."""

import signal
import sys

from confluent_kafka import Consumer, KafkaException, TopicPartition

COMMIT_EVERY = 50


def main():
    bootstrap, topic, group, protocol, *instance = sys.argv[1:]
    config = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False,
              "auto.offset.reset": "earliest", "log_level": 0, "reconnect.backoff.max.ms": 200}
    if protocol == "consumer":
        config |= {"group.protocol": "consumer"}
    else:
        config |= {"partition.assignment.strategy": protocol, "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
    if instance:
        config["group.instance.id"] = instance[0]
    consumer = Consumer(config)
    consumer.subscribe([topic])
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    positions, uncommitted = {}, 0
    while running:
        message = consumer.poll(0.1)
        if message is not None and not message.error():
            print("processed", message.partition(), message.offset(), flush=True)
            positions[message.partition()] = message.offset() + 1
            uncommitted += 1
        if uncommitted >= COMMIT_EVERY:
            uncommitted = 0
            commit(consumer, topic, positions)
    consumer.close()


def commit(consumer, topic, positions):
    """Commits what is still assigned, and says so if it was acknowledged."""
    owned = {p.partition for p in consumer.assignment()}
    for partition in positions.keys() - owned:
        del positions[partition]
    offsets = [TopicPartition(topic, p, o) for p, o in positions.items()]
    try:
        done = consumer.commit(offsets=offsets, asynchronous=False) if offsets else []
    except KafkaException:
        return
    for partition in done:
        if not partition.error:
            print("committed", partition.partition, partition.offset, flush=True)


if __name__ == "__main__":
    main()
