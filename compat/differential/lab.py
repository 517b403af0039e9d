"""Both brokers, started for a run, and what the script needs to know of them."""

import re
import subprocess
import time

from harness.brokers import Highwater, Kafka
from harness.served import served
from harness.tools import KAFKA as RELEASE, kafka_libraries, run

from . import schema
from .compare import Comparison
from .requests import Request
from .wire import Wire
from .world import HIGHWATER, KAFKA, SIDES, Pair, Twins

NODE = 0
SETTINGS = ["node.id=0", "num.partitions=2", "group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=1",
            "transaction.state.log.num.partitions=1", "log.cleaner.enable=false", "log.retention.ms=-1",
            "num.network.threads=1", "num.io.threads=4"]
OURS = ["highwater.durability=os"]
"""As Kafka does it: what is appended is seen at once."""
START_SECONDS = 60


class OlderKafka(Kafka):
    """On a directory at the feature levels that Highwater formats at."""

    FORMAT = ("--release-version", "4.0")


class Lab:
    """Both brokers, by side, running."""

    @staticmethod
    def start(work, other="highwater", texts=False):
        """`other` is what is compared with Kafka: `highwater`, or `kafka` once more, to see what the comparison itself gets wrong."""
        (work / HIGHWATER).mkdir()
        server = (OlderKafka(work / HIGHWATER, SETTINGS, None) if other == "kafka"
                  else Highwater(work / HIGHWATER, SETTINGS + OURS, None))
        server.start()
        return Lab.beside(server, work, texts)

    @staticmethod
    def beside(server, work, texts=False):
        """Starts a Kafka for one that runs."""
        (work / KAFKA).mkdir()
        try:
            kafka = OlderKafka(work / KAFKA, SETTINGS, None)
            kafka.start()
        except BaseException:
            server.stop()
            raise
        return Lab({KAFKA: kafka, HIGHWATER: server}, texts)

    def __init__(self, servers, texts):
        self.servers = servers
        addresses = {side: servers[side].address for side in SIDES}
        directories = {side: str(servers[side].work / "data") for side in SIDES}
        self.wire, self.broker, self.directory, self.trace = Wire(addresses), NODE, Pair(*directories.values()), None
        self.comparison = Comparison(Twins(), addresses, directories, error_names(), texts)
        known = schema.apis(kafka_libraries() / f"kafka-clients-{RELEASE}.jar")
        self.versions = self.advertised(known)
        self.by_name = {api.name: api for api in known.values() if api.name in self.versions}
        self.wake()

    def advertised(self, known):
        """By name of API: the versions that both serve, by their own word."""
        answers = self.wire.ask(Request(known[18], 4, {"ClientSoftwareName": "differential", "ClientSoftwareVersion": "1"})).answers
        ranges = {side: {one["ApiKey"]: (one["MinVersion"], one["MaxVersion"]) for one in answers[side]["ApiKeys"]} for side in SIDES}
        common = {}
        for key in sorted(ranges[KAFKA].keys() & ranges[HIGHWATER].keys() & served().keys()):
            first = max(known[key].request.versions.first, *(ranges[side][key][0] for side in SIDES))
            last = min(ranges[side][key][1] for side in SIDES)
            common[known[key].name] = list(range(first, last + 1))
        return common

    def wake(self):
        """Coordinators are there when they are first asked, a little later."""
        asked = [Request(self.by_name["InitProducerId"], 5, {"TransactionalId": "awake", "TransactionTimeoutMs": 60_000}),
                 Request(self.by_name["OffsetCommit"], 9, {"GroupId": "awake", "GenerationIdOrMemberEpoch": -1, "Topics": []}),
                 Request(self.by_name["FindCoordinator"], 4, {"KeyType": 0, "CoordinatorKeys": ["awake"]}),
                 Request(self.by_name["Heartbeat"], 4, {"GroupId": "awake", "MemberId": "awake", "GenerationId": 1}),
                 Request(self.by_name["FindCoordinator"], 4, {"KeyType": 1, "CoordinatorKeys": ["awake"]})]
        limit = time.monotonic() + START_SECONDS
        for request in asked:
            while any(code in (14, 15, 16, 51) for answer in self.wire.ask(request).answers.values() for code in codes(answer)):
                self.wire.ask(asked[2])
                self.wire.ask(asked[4])
                if time.monotonic() > limit:
                    raise SystemExit(f"{request.name}: the coordinators did not come up")
                time.sleep(0.1)

    def stop(self):
        self.stop_kafka()
        self.servers[HIGHWATER].stop()

    def stop_kafka(self):
        self.wire.close()
        self.servers[KAFKA].stop()


def codes(answer):
    yield answer.get("ErrorCode", 0)
    for one in answer.get("Coordinators", ()):
        yield one["ErrorCode"]


def error_names():
    """By code, out of Kafka's own table of errors."""
    done = run(["java", "-cp", f"{kafka_libraries()}/*", "org.apache.kafka.common.protocol.Errors"])
    return {int(code): name for name, code in re.findall(r"<td>(\w+)</td><td>(-?\d+)</td>", done.stdout.decode())}
