"""After a change: waits until it is seen everywhere, and compares what it led to.

Kafka answers a change before all of its parts have heard of it, and ends transactions behind the answer. What is asked until both say
the same is the state itself; if they never do, that is a difference.
"""

import time

from .learn import learn
from .requests import Request
from .values import BROKER, TOPIC
from .world import KAFKA, SIDES

SECONDS = 2.0
PAUSE = 0.005
ENDING = {"PrepareCommit", "PrepareAbort", "PrepareEpochFence"}
UNCERTAIN = {5, 6, 14, 15, 16}
"""LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR."""


class Settler:
    def __init__(self, wire, comparison, by_name):
        self.wire, self.comparison, self.by_name = wire, comparison, by_name

    def after(self, request, world):
        """What differs in the end, as pairs of the API that shows it and the difference."""
        name, value = request.api.name, request.value
        if name in ("InitProducerId", "EndTxn") and value["TransactionalId"]:
            self.transaction(value["TransactionalId"])
        if request.mangle:
            return []
        found = []
        if name in ("CreateTopics", "DeleteTopics", "CreatePartitions") or name == "Metadata" and value.get("AllowAutoTopicCreation", True):
            found += self.topics(world)
        if name in ("AlterConfigs", "IncrementalAlterConfigs"):
            found += self.configs(value)
        return found

    def topics(self, world):
        metadata = self.request("Metadata", 12, Topics=None, AllowAutoTopicCreation=False)
        found = self.until_same(metadata, world, lambda answer: not any(one["ErrorCode"] for one in answer["Topics"]))
        asked = [{"Name": topic.name, "Partitions": [{"PartitionIndex": number, "Timestamp": -1} for number in range(topic.partitions)]}
                 for topic in world.topics]
        offsets = self.request("ListOffsets", 7, ReplicaId=-1, Topics=asked)
        return found + self.until_same(offsets, world, lambda answer: not any(
            part["ErrorCode"] in UNCERTAIN for one in answer["Topics"] for part in one["Partitions"]))

    def configs(self, value):
        """Of topics and groups; those of brokers by the names that were asked for."""
        resources = [{"ResourceType": one["ResourceType"], "ResourceName": one["ResourceName"],
                      "ConfigurationKeys": None if one["ResourceType"] == TOPIC else [config["Name"] for config in one["Configs"] or ()]}
                     for one in value["Resources"] or () if one["ResourceName"] is not None and len(one["ResourceName"]) < 1000
                     and (one["ResourceType"] == TOPIC or one["Configs"])]
        if any(name is None for one in resources for name in one["ConfigurationKeys"] or ()):
            return []
        asked = self.request("DescribeConfigs", 4, Resources=resources, IncludeSynonyms=True)
        found = self.until_same(asked, None, lambda answer: True)
        time.sleep(2 * PAUSE)  # Kafka shows a config before its logs have it.
        return found

    def transaction(self, transactional_id):
        asked = self.request("DescribeTransactions", 0, TransactionalIds=[transactional_id])
        self.until(asked, lambda answers: not any(one["TransactionState"] in ENDING for answer in answers.values()
                                                  for one in answer["TransactionStates"]))

    def until_same(self, request, world, is_settled):
        found = []

        def same(answers):
            found[:] = self.comparison.differences(self.last)
            return not found and all(is_settled(answers[side]) for side in SIDES)
        self.until(request, same)
        if world:
            learn(world, self.last)
        return [(f"{request.api.name} after it", one) for one in found]

    def until(self, request, holds):
        limit = time.monotonic() + SECONDS
        while True:
            self.last = self.wire.ask(request)
            if all(isinstance(answer, dict) for answer in self.last.answers.values()) and holds(self.last.answers):
                return
            if time.monotonic() > limit:
                return
            time.sleep(PAUSE)

    def request(self, name, version, **value):
        return Request(self.by_name[name], version, value)
