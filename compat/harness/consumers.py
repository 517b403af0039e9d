"""The consumer programs of the suite groups. Each is called as PROGRAM BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE] and prints the lines
that `clients/python/group_progress.py` names."""

from .programs import Go, Java, Kafkajs, Python, Rdkafka

CONSUMERS = {
    "confluent-kafka": Python("group_confluent.py"),
    "kafka-python": Python("group_kafka_python.py", "kafka-python==3.0.12"),
    "aiokafka": Python("group_aiokafka.py", "aiokafka==0.14.0"),
    "rdkafka": Rdkafka("compat-rdkafka-group"),
    "java": Java("GroupConsumer", "-Xmx128m"),
    "franz-go": Go("franz", "group"),
    "sarama": Go("sarama"),
    "kafka-go": Go("kafka-go"),
    "kafkajs": Kafkajs("group.mjs"),
}
