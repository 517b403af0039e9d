"""What stands at the edge of a field, and beyond."""

import uuid
from dataclasses import replace

from .batches import CONTROL, TRANSACTIONAL, Batch, Together
from .schema import FIXED, TAGS
from .world import Topic

INTERNAL = ["__consumer_offsets", "__transaction_state", "__cluster_metadata"]
LOOKS_ONLY = {"Metadata", "ListOffsets", "DescribeConfigs", "DescribeTopicPartitions", "DescribeProducers", "OffsetForLeaderEpoch",
              "ListPartitionReassignments"}
"""APIs that may be asked about internal topics without harm to the broker."""
NEVER_TWICE = {"Protocols"}
"""Kafka counts votes of one member twice, and takes it for several later."""
NOT_TEXT = "\udc80\udcff"
"""Bytes that are no UTF-8."""
BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "int64": 64}
UNKNOWN_ID = uuid.UUID("6c9c1f2e-0000-4000-8000-0123456789ab")
METADATA_ID = uuid.UUID(int=1)
WAITS = {"timeoutMs", "TimeoutMs", "MaxWaitMs", "SessionTimeoutMs", "RebalanceTimeoutMs", "TransactionTimeoutMs"}
"""Times that the broker counts down: what is odd must not run out in the middle of the script."""


def odd(api, field, value, focus, version):
    """Something else in the place of `value`, which is one of the field's own values or, for arrays, one of its elements."""
    random = focus.random
    if field.type == "records":
        return odd_records(value, focus)
    if field.fields and not field.is_array:
        return None if version in field.nullable else value
    if field.type in FIXED:
        return odd_number(api, field, value, random)
    if field.type == "uuid":
        return random.choice([uuid.UUID(int=0), METADATA_ID, UNKNOWN_ID, *(topic.id for topic in focus.world.deleted)])
    if field.type == "bool":
        return not value
    if field.type == "bytes":
        return random.choice([None, b"", b"\0" * 5000, b"\xff"])
    return odd_text(api, field, value, focus)


def odd_number(api, field, value, random):
    bits = BITS[field.type]
    least = 0 if field.type.startswith("u") else -(1 << bits - 1)
    most = least + (1 << bits) - 1
    if field.name in WAITS:
        return most if field.name.lower() == "timeoutms" else random.choice([-1, 0, least, *([most] if field.name != "MaxWaitMs" else [])])
    if field.entity == "producerId":
        return random.choice([-1, -2, most, least, 987_654_321])
    near = [value + 1, value - 1] if isinstance(value, int) else []
    return min(max(random.choice([-1, 0, 1, -2, 2, 3, 17, most, least, most - 1, *near]), least), most)


def odd_text(api, field, value, focus):
    prefix = focus.world.prefix
    choices = [None, None, "", f"{prefix}unknown", prefix.ljust(249, "l"), prefix.ljust(250, "l"), prefix.ljust(32_000, "x"),
               f"{prefix}\u00fcn\u00efcode", f"{prefix}with blank", f"{prefix}a/b", NOT_TEXT]
    if field.entity == "topicName":
        choices += [".", ".."]  # As the name of a group they would be of no chapter.
        choices += [topic.name for topic in focus.world.deleted] + [f"{prefix}un.known", f"{prefix}un_known"]
        choices += INTERNAL if api in LOOKS_ONLY else []
    if field.entity == "groupId" or field.name in ("Key", "CoordinatorKeys"):
        choices += [group.name for group in focus.world.groups]
    if field.name == "Value":
        choices += ["-1", "0", "true", "9999999999999999999", "compact", "delete,", "0.5", " 1 ", "1,2"]
    if field.name == "Name" and field.entity != "topicName":
        choices += ["no.such.config", "leader.replication.throttled.replicas", "remote.storage.enable", "retention.ms"]
    if field.name == "SubscribedTopicRegex":
        choices = ["(", "", None]
    if field.name == "TransactionalIdPattern":
        choices = ["(", "a" * 50, ".*tx-a", None]
    return focus.random.choice([one for one in choices if one != value])


def odd_array(field, value, focus):
    """Nothing, no array at all, or an element twice."""
    if not value or focus.often(0.4) or field.name in NEVER_TWICE:
        return focus.one_of(None, [])
    return value + [focus.random.choice(value)]


def odd_tags(value, focus):
    """A tagged field that no schema knows."""
    return {**value, TAGS: {focus.one_of(17, 100, 300_000): focus.one_of(b"", b"unknown", b"\0" * 300)}}


def odd_records(batch, focus):
    if not isinstance(batch, Batch):
        return focus.one_of(None, b"")
    kinds = [None, b"", b"\0" * 20, "crc", "twice", "cut", "longer"]
    kinds += [{"Magic": magic} for magic in (0, 1, 3, -1)] + [{"Count": count} for count in (0, -1, 100)]
    kinds += [{"LastOffsetDelta": 7}, {"LastOffsetDelta": -1}, {"BaseOffset": 100}, {"LeaderEpoch": 5}, {"Length": 10}, {"Length": -1}]
    kinds += [{"Attributes": bits} for bits in (1, 2, 3, 4, 5, 7, 8, TRANSACTIONAL, CONTROL, TRANSACTIONAL | CONTROL, 64, -1)]
    kinds += [{"ProducerEpoch": epoch} for epoch in (-1, batch.epoch + 1, batch.epoch - 1, 32_767)]
    kinds += [{"FirstSequence": number} for number in (-1, 0, batch.sequence + 1, batch.sequence - 1, (1 << 31) - 1)]
    kinds += [{"ProducerId": 987_654_321, "ProducerEpoch": 0, "FirstSequence": 0}, {"FirstTime": -1, "MaxTime": -1}, {"MaxTime": 0},
              {"MaxTime": 1 << 50}, {"FirstTime": 1 << 50}]
    kind = focus.random.choice(kinds)
    if isinstance(kind, dict):
        if batch.epoch < 0 and "ProducerEpoch" in kind and len(kind) == 1:
            kind = {"ProducerEpoch": 0}
        return batch.with_wrong(**{name: max(-32_768, min(number, 32_767)) if name == "ProducerEpoch" else number
                                   for name, number in kind.items()})
    return spoilt(batch, kind)


def spoilt(batch, kind):
    if kind == "crc":
        return replace(batch, crc_is_right=False, oddity=kind)
    if kind == "twice":
        return Together((batch, batch))
    if kind == "cut":
        return replace(batch, spoil=lambda data: data[:-3], oddity=kind)
    if kind == "longer":
        return replace(batch, spoil=lambda data: data + b"abc", oddity=kind)
    return kind


def deleted(name, world):
    """A topic that was there once: its name and id stay known."""
    topic = world.topic(name) or Topic(name)
    world.topics = [one for one in world.topics if one is not topic]
    world.deleted.append(topic)
