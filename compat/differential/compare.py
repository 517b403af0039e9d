"""Answers field by field. What must differ between two brokers is taken for the same: ids that they gave (as long as one always stands
for the same other), their addresses and directories, and times of today."""

import re
import time
from dataclasses import dataclass

from . import batches
from .schema import TAGS
from .world import HIGHWATER, KAFKA, SIDES

TODAY_MS = 3_600_000
TOLD = {"ErrorMessage", "BatchIndexErrorMessage", "Documentation"}
"""Texts for people: that there is one must be the same, its words need not be."""
GIVEN = {"TopicId": "topic", "ProducerId": "producer", "OngoingTxnProducerId": "producer", "SessionId": "session", "MemberId": "member",
         "Leader": "member", "ClusterId": "cluster"}
"""Fields with ids that a broker gives, and what of."""
OWN = {"TotalBytes", "UsableBytes", "FinalizedFeaturesEpoch"}
"""What each has its own number for."""
MADE_ID = re.compile(r".*-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9_-]{22}")
"""What a name looks like that a broker has made up."""
IDENTITY = ("Name", "Topic", "TopicName", "TopicId", "PartitionIndex", "Partition", "Index", "PartitionId", "GroupId", "MemberId",
            "GroupInstanceId", "TransactionalId", "ProducerId", "Key", "ApiKey", "NodeId", "BrokerId", "ResourceType", "ResourceName",
            "LogDir", "FirstOffset", "BaseOffset", "BatchIndex", "ErrorCode", "InstanceId")
"""What tells elements of an array apart. The order of arrays is not compared: Kafka's is often that of a hash map."""
ORDERED = {"ReplicaNodes", "IsrNodes", "Replicas"}


@dataclass(frozen=True)
class Difference:
    path: str
    kafka: str
    highwater: str

    def __str__(self):
        return f"{self.path}: {self.kafka} on Kafka, {self.highwater} on Highwater"


class Comparison:
    """`addresses` and `directories` are by side, `errors` are their names by code."""

    def __init__(self, twins, addresses, directories, errors, texts=False):
        self.twins, self.errors, self.texts = twins, errors, texts
        self.ports = {side: int(address.rsplit(":", 1)[1]) for side, address in addresses.items()}
        self.directories = directories
        self.is_foreign, self.named, self.is_mangled = None, frozenset(), False
        """What to leave out of answers, and what was asked for by name."""

    def differences(self, exchange):
        answers = [exchange.answers[side] for side in SIDES]
        self.named, self.is_mangled = frozenset(texts(exchange.request.value)), exchange.request.mangle is not None
        if not all(isinstance(answer, dict) for answer in answers):
            kinds = [answer if isinstance(answer, str) else f"answers{self.first_error(answer)}" for answer in answers]
            return [] if kinds[0] == kinds[1] else [Difference("", *(kind[:200] for kind in kinds))]
        return list(self.structs("", *answers))

    def first_error(self, answer):
        found = next(errors_in(answer), 0)
        return f" {self.errors.get(found, found)}" if found else ""

    def structs(self, path, kafka, highwater):
        for name in sorted({*kafka, *highwater} - {TAGS}):
            inner = f"{path}.{name}" if path else name
            if name == "AbortedTransactions" and not kafka.get("Records") and not highwater.get("Records"):
                inner += " beside no records"
            if name not in kafka or name not in highwater:
                yield Difference(inner, *("there" if name in one else "not there" for one in (kafka, highwater)))
            else:
                yield from self.values(inner, name, kafka[name], highwater[name])
        if kafka.get(TAGS) != highwater.get(TAGS):
            yield Difference(f"{path}.{TAGS}", str(kafka.get(TAGS)), str(highwater.get(TAGS)))

    def values(self, path, name, kafka, highwater):
        if name == "Records":
            yield from self.records(path, kafka, highwater)
        elif isinstance(kafka, list) and isinstance(highwater, list):
            yield from self.arrays(f"{path}[]", name, kafka, highwater)
        elif isinstance(kafka, dict) and isinstance(highwater, dict):
            yield from self.structs(path, kafka, highwater)
        elif not self.same(name, kafka, highwater):
            yield Difference(path, self.said(name, kafka), self.said(name, highwater))

    def records(self, path, kafka, highwater):
        if (kafka is None) != (highwater is None):
            yield Difference(path, *("null" if one is None else "there" for one in (kafka, highwater)))
        (ours, rest), (theirs, other_rest) = batches.taken_apart(kafka), batches.taken_apart(highwater)
        yield from self.arrays(f"{path}[]", "Records", ours, theirs)
        if len(rest) != len(other_rest):
            yield Difference(f"{path}.rest", f"{len(rest)} bytes", f"{len(other_rest)} bytes")

    def arrays(self, path, name, kafka, highwater):
        if kafka and isinstance(kafka[0], dict) or highwater and isinstance(highwater[0], dict):
            yield from self.elements(path, kafka, highwater)
            return
        ours, theirs = (one if name in ORDERED else sorted(one, key=repr) for one in (kafka, highwater))
        if len(ours) != len(theirs) or not all(self.same(name, *pair) for pair in zip(ours, theirs)):
            yield Difference(path, str(ours)[:200], str(theirs)[:200])

    def elements(self, path, kafka, highwater):
        """Pairs them by what tells them apart."""
        sides = {}
        for side, elements in ((KAFKA, kafka), (HIGHWATER, highwater)):
            sides[side] = {}
            for element in self.together(side, elements) if path == "Responses[]" else elements:
                if not self.is_foreign(element, self.named):
                    sides[side].setdefault(self.identity(side, element), []).append(element)
        unpaired = {side: [] for side in SIDES}
        for identity in sorted({*sides[KAFKA], *sides[HIGHWATER]}, key=repr):
            ours, theirs = (sides[side].get(identity, []) for side in SIDES)
            for pair in zip(ours, theirs):
                yield from self.structs(path, *pair)
            unpaired[KAFKA] += ours[len(theirs):]
            unpaired[HIGHWATER] += theirs[len(ours):]
        for pair in zip(*(unpaired[side] for side in SIDES)):
            yield from self.structs(path, *pair)
        count = min(len(unpaired[side]) for side in SIDES)
        for element in unpaired[KAFKA][count:]:
            yield Difference(path, self.element(element), "missing")
        for element in unpaired[HIGHWATER][count:]:
            yield Difference(path, "missing", self.element(element))

    def together(self, side, topics):
        """Fetch answers name a topic anew where another came in between: which do is a matter of order."""
        found = {}
        for topic in topics:
            known = found.setdefault(self.identity(side, topic), topic)
            if known is not topic and known.get("Partitions") and topic.get("Partitions"):
                known["Partitions"] = known["Partitions"] + topic["Partitions"]
            elif known is not topic:
                found[id(topic)] = topic
        return found.values()

    def identity(self, side, element):
        return tuple(self.canonical(side, name, element[name]) for name in IDENTITY if name in element and name != "ErrorCode")

    def canonical(self, side, name, value):
        kind = self.given(name, value)
        if kind:
            return self.twins.number(side, kind, value)
        if name in ("LogDir",):
            return "directory"
        return str(value)

    def element(self, element):
        """An element that the other side lacks: its name, if it has one that says something, and how it fared."""
        words = [str(element[name]) for name in ("ApiKey", "Name", "ResourceName", "GroupState") if name in element]
        code = next((element[name] for name in ("ErrorCode", "PartitionErrorCode") if name in element), None)
        words += [] if code is None else [self.errors.get(code, str(code))]
        return " ".join(words) or "there"

    @staticmethod
    def given(name, value):
        kind = GIVEN.get(name)
        return None if kind == "member" and not MADE_ID.fullmatch(str(value)) else kind

    def same(self, name, kafka, highwater):
        if name in TOLD and not self.texts:
            return (kafka is None) == (highwater is None)
        if self.is_mangled and GIVEN.get(name) == "member":
            return True  # A byte that was changed makes other ids of ids that differ.
        kind = self.given(name, kafka)
        if kind and kind == self.given(name, highwater):
            return self.twins.same(kind, kafka, highwater)
        if name == "Port" and (kafka, highwater) == (self.ports[KAFKA], self.ports[HIGHWATER]):
            return True
        if name == "LogDir" and (kafka, highwater) == (self.directories[KAFKA], self.directories[HIGHWATER]):
            return True
        if name in OWN and min(kafka, highwater) > 0:
            return True
        if isinstance(kafka, int) and isinstance(highwater, int) and is_today(kafka) and is_today(highwater):
            return True
        return kafka == highwater

    def said(self, name, value):
        """In a class of differences: names of errors, small numbers as they are."""
        if name.endswith("ErrorCode"):
            return self.errors.get(value, str(value))
        if name in GIVEN:
            return "none" if value in self.twins.PLAIN else "given"
        if isinstance(value, int) and not isinstance(value, bool) and is_today(value):
            return "today"
        return str(value)[:80] if isinstance(value, (bool, str, int, type(None))) else type(value).__name__


def is_today(value):
    return abs(value - time.time() * 1000) < TODAY_MS


def errors_in(value):
    if isinstance(value, dict):
        for name, one in value.items():
            if name.endswith("ErrorCode") and one:
                yield one
            yield from errors_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from errors_in(one)


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts(one)
