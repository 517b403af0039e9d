"""Kafka's verifiable producer and consumer: what its own system tests check deliveries with. Everything acknowledged must be consumed."""

import json
import subprocess
import time

from ..kafka_path import kafka_path
from ..results import Row
from ..suite import Suite
from .profile import PROFILE

RECORDS = 20_000
SECONDS = 180
CASES = [("classic", []), ("consumer", ["--group-protocol", "consumer"])]
KILLED_AFTER = 2.0
"""Seconds of producing after which the broker is killed."""


class Verifiable(Suite):
    name = "verifiable"
    about = "the verifiable producer and consumer of Apache Kafka 4.4.0, with kill -9 in between"
    settings = PROFILE

    def prepare(self, lab):
        self.tools = kafka_path() / "bin"

    def run(self, lab):
        for kind, options in CASES:
            for kill in (False, True):
                name = f"{kind} group{', the broker is killed with -9' if kill else ''}"
                if lab.wants(name):
                    began = time.monotonic()
                    wrong = self.deliver(lab, f"{kind}-{kill}".lower(), options, kill)
                    yield Row(name, "fail" if wrong else "pass", time.monotonic() - began, wrong or "")

    def deliver(self, lab, topic, options, kill):
        """What is wrong, if anything."""
        self.tool(lab, "kafka-topics", "--create", "--topic", topic, "--partitions", "4").wait(60)
        consumer = self.tool(lab, "kafka-verifiable-consumer", "--topic", topic, "--group-id", topic, "--max-messages", str(RECORDS),
                             "--reset-policy", "earliest", "--verbose", *options)
        producer = self.tool(lab, "kafka-verifiable-producer", "--topic", topic, "--max-messages", str(RECORDS),
                             "--throughput", "4000" if kill else "-1", "--acks", "-1", "--value-prefix", "1")
        if kill:
            time.sleep(KILLED_AFTER)
            lab.server.kill()
            lab.server.start()
        try:
            sent = [event for event in events(producer) if event["name"] == "producer_send_success"]
            seen = [event for event in events(consumer) if event["name"] == "record_data"]
        except subprocess.TimeoutExpired:
            producer.kill()
            consumer.kill()
            return f"no end after {SECONDS} s"
        acknowledged = {(event["partition"], event["offset"], event["value"]) for event in sent}
        consumed = {(event["partition"], event["offset"], event["value"]) for event in seen}
        missing = acknowledged - consumed
        if missing:
            return f"{len(missing)} of {len(acknowledged)} acknowledged records were not consumed, such as {min(missing)}"
        return None if len(sent) == RECORDS else f"{len(sent)} of {RECORDS} records were acknowledged"

    def tool(self, lab, name, *options):
        log = open(lab.work / f"{name}.log", "ab")
        return subprocess.Popen([self.tools / f"{name}.sh", "--bootstrap-server", lab.server.address, *options],
                                stdout=subprocess.PIPE, stderr=log, text=True)


def events(process):
    said, _ = process.communicate(timeout=SECONDS)
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]
