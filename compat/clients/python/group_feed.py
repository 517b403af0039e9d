"""The producer and the questions of compat/groups, with confluent-kafka.

    group_feed.py produce BOOTSTRAP TOPIC      records to every partition until SIGTERM, then `sent PARTITION COUNT` each
    group_feed.py committed BOOTSTRAP TOPIC GROUP      `committed PARTITION OFFSET` each
    group_feed.py create BOOTSTRAP TOPIC PARTITIONS
"""

import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TIMEOUT = 60
QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 200}


def create(bootstrap, topic, count):
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([NewTopic(topic, int(count), 1)], request_timeout=TIMEOUT)[topic].result()


def produce(bootstrap, topic):
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5,
                         "message.timeout.ms": 300_000, **QUIET})
    count = len(producer.list_topics(topic, timeout=TIMEOUT).topics[topic].partitions)
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    sent = dict.fromkeys(range(count), 0)
    while running:
        for partition in sent:
            for _ in range(5):
                producer.produce(topic, value=b"a record", partition=partition)
                sent[partition] += 1
        if producer.flush(TIMEOUT):
            raise SystemExit("records were not acknowledged")
        time.sleep(0.02)
    for partition, records in sent.items():
        print("sent", partition, records, flush=True)


def committed(bootstrap, topic, group):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **QUIET})
    count = len(consumer.list_topics(topic, timeout=TIMEOUT).topics[topic].partitions)
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
    {"create": create, "produce": produce, "committed": committed}[sys.argv[1]](*sys.argv[2:])
