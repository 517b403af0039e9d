"""The script: chapters of a hundred requests, each of which begins with a world of its own and can be run alone.

A chapter is the same for a seed and a number, as long as the brokers answer the same: later requests are about what earlier ones made.
"""

import itertools
import random
import re
import time
from dataclasses import dataclass

from harness.script import progress

from .learn import learn
from .requests import Maker
from .settle import Settler
from .values import BROKER
from .world import SIDES, World

REQUESTS = 100
WEIGHTS = {"Produce": 5, "Fetch": 4, "JoinGroup": 4, "SyncGroup": 3, "Heartbeat": 2, "OffsetCommit": 3, "OffsetFetch": 3,
           "ConsumerGroupHeartbeat": 4, "InitProducerId": 3, "AddPartitionsToTxn": 4, "EndTxn": 4, "TxnOffsetCommit": 3,
           "AddOffsetsToTxn": 2, "CreateTopics": 2, "ListOffsets": 2, "Metadata": 2}
"""How often an API is asked beside the others, which are 1."""
CONCURRENT_TRANSACTIONS = 51
AGAIN_SECONDS = 2


def play(lab, tally, requests):
    """Chapter after chapter, until there were so many requests."""
    for number in itertools.count():
        if tally.requests >= requests:
            return
        if number % 20 == 0:
            progress(f"chapter {number}: {tally.requests} requests, {len(tally.unreasoned)} kinds of differences")
        play_chapter(lab, tally, number)


def play_chapter(lab, tally, number, count=REQUESTS):
    chapter = Chapter(tally.seed, number, lab)
    for request, findings in chapter.run(count):
        chapter.is_over = tally.add(request, findings)


@dataclass
class Finding:
    """A request whose answers differ; `place` is chapter and number in it."""

    place: str
    request: object
    shown_by: str
    difference: object

    @property
    def kind(self):
        return (self.shown_by or self.request.api.name, self.difference.path, self.difference.kafka, self.difference.highwater)


class Chapter:
    def __init__(self, seed, number, lab):
        self.number, self.lab = number, lab
        self.random = random.Random(f"{seed}:{number}")
        self.world = World(f"c{number}-")
        self.maker = Maker(self.random, self.world, lab.broker, lab.directory)
        self.settler = Settler(lab.wire, lab.comparison, lab.by_name)
        self.asked, self.is_over = 0, False
        lab.comparison.is_foreign = self.is_foreign

    def is_foreign(self, element, named):
        """Whether it is of another chapter, or of none, and not asked for by name."""
        names = [element.get(name) for name in ("Name", "Topic", "TopicName", "GroupId", "TransactionalId", "ResourceName")]
        return any(is_of_a_chapter(name) and not name.startswith(self.world.prefix) and name not in named for name in names)

    def run(self, count=REQUESTS):
        """Yields each request with its findings. Whoever gets them may end the chapter: what comes after a difference that leaves
        the brokers with different data would only tell of it again."""
        for request in self.requests(count):
            self.asked += 1
            yield from self.step(request)
            if self.is_over:
                break
        self.clear()
        self.lab.wire.close()

    def clear(self):
        """What chapters share: the list of topics, and the configs of the broker."""
        asked = self.lab.wire.ask(self.settler.request("Metadata", 12, Topics=None, AllowAutoTopicCreation=False))
        names = {topic["Name"] for answer in asked.answers.values() if isinstance(answer, dict) for topic in answer["Topics"]
                 if not topic["IsInternal"]}
        for name in sorted(names):
            self.lab.wire.ask(self.maker.plain(self.lab.by_name["DeleteTopics"], 5, TopicNames=[name]))
        none = [{"ResourceType": BROKER, "ResourceName": name, "Configs": []} for name in ("", str(self.lab.broker))]
        self.lab.wire.ask(self.settler.request("AlterConfigs", 2, Resources=none, ValidateOnly=False))

    def requests(self, count):
        yield from self.beginning()
        names = list(self.lab.by_name)
        weights = [WEIGHTS.get(name, 1) for name in names]
        while self.asked < count:
            api = self.lab.by_name[self.random.choices(names, weights)[0]]
            yield self.maker.make(api, self.random.choice(self.lab.versions[api.name]))

    def beginning(self):
        """Plain requests that make a world."""
        for partitions in (1, 3, 2):
            topic = {"Name": self.world.new_name(), "NumPartitions": partitions, "ReplicationFactor": 1}
            yield self.maker.plain(self.lab.by_name["CreateTopics"], 7, Topics=[topic], validateOnly=False)
        for producer in self.world.producers:
            yield self.maker.plain(self.lab.by_name["InitProducerId"], 5, TransactionalId=producer.transactional_id, ProducerId=-1,
                                   ProducerEpoch=-1)
        for version in (9, 12, 13):
            yield self.maker.plain(self.lab.by_name["Produce"], version)

    def step(self, request):
        if self.lab.trace:
            self.lab.trace(f"{self.number}:{self.asked} {request.name} {request.value} {request.oddities}")
        exchange = self.lab.wire.ask(request)
        if exchange:
            self.ask_again(exchange)
        yield request, self.compared(exchange) if exchange else []
        later = [finding for done in self.lab.wire.arrived() for finding in self.compared(done)]
        if later:
            yield None, later

    def ask_again(self, exchange):
        """Kafka has a producer that returns in the middle of a transaction come again when that has been ended; Highwater waits."""
        limit = time.monotonic() + AGAIN_SECONDS
        while exchange.request.api.name == "InitProducerId" and time.monotonic() < limit:
            busy = [side for side, answer in exchange.answers.items()
                    if isinstance(answer, dict) and answer.get("ErrorCode") == CONCURRENT_TRANSACTIONS]
            if not busy or any(isinstance(answer, dict) and answer.get("ErrorCode") not in (0, CONCURRENT_TRANSACTIONS)
                               for answer in exchange.answers.values()):
                return
            self.lab.wire.ask_again(exchange, busy)

    def compared(self, exchange):
        if self.lab.trace:
            self.lab.trace("".join(f"    {side}: {exchange.answers[side]}\n" for side in SIDES))
        request = exchange.request
        found = [("", one) for one in self.lab.comparison.differences(exchange)]
        learn(self.world, exchange)
        found += self.settler.after(request, self.world)
        place = f"{self.number}:{self.asked}"
        return [Finding(place, request, shown_by, one) for shown_by, one in found]


def is_of_a_chapter(name):
    """Those that any may have made are taken for another's, as are those that were no UTF-8."""
    return isinstance(name, str) and (re.match(r"c\d+-|__|\ufffd", name) is not None or name in (".", "..", "awake"))
