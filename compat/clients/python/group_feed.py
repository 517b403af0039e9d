"""The producer and the questions of the suites groups and transactions, with confluent-kafka.

    group_feed.py produce BOOTSTRAP TOPIC [PAUSE]      numbered records to every partition, five at a time and PAUSE seconds
                                                       between, until SIGTERM; then `sent PARTITION COUNT` each
    group_feed.py committed BOOTSTRAP TOPIC GROUP      `committed PARTITION OFFSET` each
    group_feed.py create BOOTSTRAP TOPIC PARTITIONS
    group_feed.py fill BOOTSTRAP TOPIC COUNT           records to partition 0
"""

import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from running import Running

TIMEOUT = 60
QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 200}


def create(bootstrap, topic, count):
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([NewTopic(topic, int(count), 1)], request_timeout=TIMEOUT)[topic].result()


def fill(bootstrap, topic, count):
    producer = Producer({"bootstrap.servers": bootstrap, **QUIET})
    for number in range(int(count)):
        producer.produce(topic, value=f"0-{number}", partition=0)
    if producer.flush(TIMEOUT):
        raise SystemExit("records were not acknowledged")


def produce(bootstrap, topic, pause="0.02"):
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5,
                         "message.timeout.ms": 300_000, **QUIET})
    count = partitions(producer, topic)
    running = Running()
    sent = dict.fromkeys(range(count), 0)
    while running:
        for partition in sent:
            for _ in range(5):
                producer.produce(topic, value=f"{partition}-{sent[partition]}", partition=partition)
                sent[partition] += 1
        if producer.flush(TIMEOUT):
            raise SystemExit("records were not acknowledged")
        time.sleep(float(pause))
    for partition, records in sent.items():
        print("sent", partition, records, flush=True)


def partitions(client, topic):
    """How many; of a topic that was created a moment ago, once the broker knows."""
    limit = time.monotonic() + TIMEOUT
    while not (found := client.list_topics(topic, timeout=TIMEOUT).topics[topic].partitions):
        if time.monotonic() > limit:
            raise SystemExit(f"{topic} has no partitions")
        time.sleep(0.1)
    return len(found)


def committed(bootstrap, topic, group):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **QUIET})
    count = partitions(consumer, topic)
    limit = time.monotonic() + TIMEOUT
    while True:
        try:
            found = consumer.committed([TopicPartition(topic, p) for p in range(count)], timeout=TIMEOUT)
            break
        except KafkaException as error:
            # The coordinator is being loaded after a restart; the client has it looked up anew and leaves the rest to us.
            if time.monotonic() > limit or error.args[0].name() not in ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"):
                raise
    for partition in found:
        print("committed", partition.partition, max(partition.offset, 0))


if __name__ == "__main__":
    {"create": create, "fill": fill, "produce": produce, "committed": committed}[sys.argv[1]](*sys.argv[2:])
