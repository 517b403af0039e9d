"""What the script has made so far, and which id of one broker stands for which of the other."""

import itertools
import uuid
from dataclasses import dataclass, field

SIDES = ("kafka", "highwater")
KAFKA, HIGHWATER = SIDES


@dataclass(frozen=True)
class Pair:
    """What each broker calls the same thing."""

    kafka: object
    highwater: object

    def of(self, side):
        return self.kafka if side == KAFKA else self.highwater


def resolved(value, side):
    """A request as `side` is to get it."""
    if isinstance(value, dict):
        return {name: resolved(one, side) for name, one in value.items()}
    if isinstance(value, list):
        return [resolved(one, side) for one in value]
    return value.of(side) if hasattr(value, "of") else value


class Twins:
    """Ids that brokers give: which of Highwater's was given where Kafka gave which. An id that is seen for the first time on both
    sides, in the same place of the same answer, is the same id from then on."""

    PLAIN = {-1, 0, "", None, uuid.UUID(int=0)}
    """Values that say that there is no id."""

    def __init__(self):
        self.of = {side: {} for side in SIDES}
        self.numbers = itertools.count(1)

    def same(self, kind, kafka, highwater):
        if kafka in self.PLAIN or highwater in self.PLAIN:
            return kafka == highwater
        known, twin = self.of[KAFKA].get((kind, kafka)), self.of[HIGHWATER].get((kind, highwater))
        if known is None and twin is None:
            self.of[KAFKA][kind, kafka] = self.of[HIGHWATER][kind, highwater] = next(self.numbers)
            return True
        return known == twin

    def number(self, side, kind, value):
        """Equal for the two ids of a pair; above all others for an id that was not seen yet."""
        return self.of[side].get((kind, value), 1 << 62)


@dataclass
class Topic:
    name: str
    id: object = uuid.UUID(int=0)
    partitions: int = 1
    records: dict = field(default_factory=dict)
    """By partition, how many were written."""


@dataclass
class Producer:
    """`transactional_id` is None for one that is only idempotent. `sequences` are those of the next batch, by topic and partition."""

    transactional_id: object
    id: object = -1
    epoch: int = -1
    sequences: dict = field(default_factory=dict)
    before: tuple = None
    """Id and epoch as they were before they changed last."""

    def becomes(self, producer_id, epoch):
        if (producer_id, epoch) != (self.id, self.epoch):
            self.before = (self.id, self.epoch)
            self.id, self.epoch, self.sequences = producer_id, epoch, {}


@dataclass
class Member:
    """`generation` is the member epoch in the consumer protocol."""

    id: object = ""
    generation: int = -1
    instance: object = None
    assignment: list = field(default_factory=list)


@dataclass
class Group:
    name: str
    kind: str
    members: list = field(default_factory=list)
    generation: int = 0
    leader: object = None


class World:
    """Of one chapter: all names begin with its prefix, so that chapters do not meet."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.topics, self.deleted = [], []
        self.producers = [Producer(None), Producer(None), Producer(f"{prefix}tx-a"), Producer(f"{prefix}tx-b")]
        self.groups = [Group(f"{prefix}classic", "classic"), Group(f"{prefix}other", "classic"),
                       Group(f"{prefix}consumer", "consumer"), Group(f"{prefix}offsets", "simple")]
        self.sessions = []
        """Of fetches: id and the next epoch."""
        self.names = itertools.count(1)

    def new_name(self):
        return f"{self.prefix}t{next(self.names)}"

    def topic(self, name):
        return next((topic for topic in self.topics if topic.name == name), None)

    def group(self, name):
        return next((group for group in self.groups if group.name == name), None)

    def producer(self, transactional_id):
        return next((one for one in self.producers if one.transactional_id == transactional_id), None)
