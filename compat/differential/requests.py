"""Requests: made of a schema and a world, plain ones and odd ones, and the frames that they become."""

import struct
from dataclasses import dataclass, field as attribute

from . import odd
from .schema import varint
from .values import BROKER, Focus, plausible
from .world import resolved

NO_REPETITION = {"Name", "Topic", "TopicId", "Path", "Key"}


@dataclass
class Request:
    api: object
    version: int
    value: dict
    oddities: list = attribute(default_factory=list)
    """What is odd about it, in words."""
    client: object = "differential"
    header_tags: dict = attribute(default_factory=dict)
    mangle: object = None
    """What is done to the frame, without its length, before it is sent."""

    def frame(self, side, correlation):
        body = self.api.request.write(resolved(self.value, side), self.version)
        flexible = self.version in self.api.request.flexible
        frame = header(self.api.key, self.version, correlation, self.client, self.header_tags if flexible else None) + body
        return self.mangle(frame) if self.mangle else struct.pack(">i", len(frame)) + frame

    @property
    def name(self):
        return f"{self.api.name} v{self.version}"

    @property
    def may_wait(self):
        """Whether its answer may only come when others have done something."""
        return self.api.name in ("JoinGroup", "SyncGroup", "Fetch")

    @property
    def wants_no_answer(self):
        return self.api.name == "Produce" and self.value.get("Acks") == 0


def header(key, version, correlation, client, tags):
    """`tags` is None where the header has no place for them."""
    data = None if client is None else client.encode()
    text = struct.pack(">h", -1) if data is None else struct.pack(">h", len(data)) + data
    head = struct.pack(">hhi", key, version, correlation) + text
    if tags is None:
        return head
    return head + varint(len(tags)) + b"".join(varint(tag) + varint(len(one)) + one for tag, one in sorted(tags.items()))


class Maker:
    """Makes requests of one chapter."""

    def __init__(self, random, world, broker, directory):
        self.random, self.world, self.broker, self.directory = random, world, broker, directory

    def make(self, api, version):
        """Half of the requests are plain; the others have one or a few oddities, or are broken as frames."""
        request = self.plain(api, version)
        chance = self.random.random()
        if chance > 0.95:
            self.break_frame(request)
        elif chance > 0.5:
            for _ in range(1 if chance < 0.85 else self.random.randint(2, 4)):
                self.make_odd(request)
            self.see_what_becomes_of(request)
            self.name_settings_of_brokers(request)
            if names_twice(request.value):
                request.oddities.append(TWICE)
        return request

    def see_what_becomes_of(self, request):
        """Of what is written without an answer."""
        if request.wants_no_answer and any(" = " in oddity for oddity in request.oddities):
            request.value["Acks"] = 1

    def name_settings_of_brokers(self, request):
        """Brokers have many settings, and each its own: the script asks for those that it names."""
        for one in request.value.get("Resources") or () if request.api.name == "DescribeConfigs" else ():
            if one["ResourceType"] == BROKER and one["ConfigurationKeys"] is None:
                one["ConfigurationKeys"] = ["message.max.bytes"]

    def plain(self, api, version, **fixed):
        self.focus = Focus(self.random, self.world, self.broker, self.directory).for_api(api.name)
        return Request(api, version, {**self.struct(api.name, [], api.request.root, version), **fixed})

    def struct(self, api, path, kind, version):
        fields = kind.in_version(version)
        if any(one.entity == "topicName" or one.name == "TopicId" for one in fields) and path:
            self.focus.new_topic()
        return {one.name: self.field(api, path, one, version) for one in fields}

    def field(self, api, path, one, version):
        inner = [*path, one.name]
        if one.is_array:
            if version in one.nullable and self.random.random() < 0.2 and self.focus.may_want_all(one):
                return None
            count = self.random.choice([0, 0, 0, 1] if one.name in FEW else [1, 1, 1, 1, 2, 2, 0] if one.name not in SOME else [1, 2])
            made = [self.struct(api, inner, one, version) if one.fields else plausible(api, path, one, self.focus) for _ in range(count)]
            return without_repetition(one, made)
        if one.fields:
            is_null = version in one.nullable and self.random.random() < 0.7
            return None if is_null else self.struct(api, inner, one, version)
        if version in one.tagged and self.random.random() < 0.7:
            return one.default
        return plausible(api, path, one, self.focus)

    def make_odd(self, request):
        places = list(self.places(request.api.request.root, request.value, request.version, ""))
        if request.version in request.api.request.flexible and self.random.random() < 0.08:
            holder = self.random.choice([request.value, *(place[0] for place in places if isinstance(place[0], dict))])
            holder.update(odd.odd_tags(holder, self.focus))
            request.oddities.append("unknown tag")
        elif places:
            holder, key, one, path = self.random.choice(places)
            if one.is_array and key == one.name:
                holder[key] = odd.odd_array(one, holder[key], self.focus)
            else:
                holder[key] = odd.odd(request.api.name, one, holder[key], self.focus, request.version)
            request.oddities.append(f"{path} = {shown(holder[key])}")

    def places(self, kind, value, version, path):
        """Where something can be put: the holder, the key in it, the field, and its name in words."""
        for one in kind.in_version(version):
            inner = f"{path}.{one.name}" if path else one.name
            content = value.get(one.name)
            yield value, one.name, one, inner
            if one.is_array:
                for number, element in enumerate(content or ()):
                    if one.fields:
                        yield from self.places(one, element, version, f"{inner}[{number}]")
                    else:
                        yield content, number, one, f"{inner}[{number}]"
            elif one.fields and content is not None:
                yield from self.places(one, content, version, inner)

    def break_frame(self, request):
        name, change = self.random.choice(BROKEN)
        request.oddities.append(name)
        change(request, self.random)


FEW = {"Assignments", "ForgottenTopicsData"}
"""Arrays that are mostly empty."""
SOME = {"Protocols", "ConfigurationKeys"}
"""Arrays that are empty only where that is odd."""


def without_repetition(one, made):
    """Plain requests do not name the same thing twice."""
    found = {}
    for element in made:
        identity = [value for name, value in element.items() if isinstance(value, (str, int))][:1] if one.fields else element
        identity = element.get("TopicId", identity) if one.fields and not identity else identity
        found.setdefault(repr(identity), element)
    return list(found.values())


TWICE = "named twice"
IDENTITY = ("Name", "Topic", "TopicId", "Path", "PartitionIndex", "Partition", "Index", "ResourceType", "ResourceName")


def names_twice(value):
    """Whether an array in it has the same thing twice."""
    if isinstance(value, dict):
        return any(names_twice(one) for one in value.values())
    if not isinstance(value, list):
        return False
    names = [repr([one[name] for name in IDENTITY if name in one] if isinstance(one, dict) else one) for one in value]
    return len(set(names)) < len(names) and names[0] != "[]" or any(names_twice(one) for one in value)


def shown(value):
    text = repr(value.oddity if hasattr(value, "oddity") else value)
    return text if len(text) < 60 else f"{text[:50]}... ({len(text)})"


def measured(change):
    """A change of the frame that leaves its length right."""
    def mangle(frame):
        changed = change(frame)
        return struct.pack(">i", len(changed)) + changed
    return mangle


def cut(request, random):
    part = random.random()
    request.mangle = measured(lambda frame: frame[:max(8, int(len(frame) * part))])


def longer(request, random):
    request.mangle = measured(lambda frame: frame + b"\0more")


def flip(request, random):
    place, byte = random.random(), random.randrange(1, 128)  # Names stay text, and ids that differ are both changed.

    def change(frame):
        at = min(14 + int((len(frame) - 14) * place), len(frame) - 1)
        return frame[:at] + bytes([frame[at] ^ byte]) + frame[at + 1:]
    request.mangle = measured(change)


def other_version(request, random):
    version = random.choice([-1, request.api.request.versions.first - 1, request.api.request.versions.last + 1, 99, 32_767])
    request.oddities[-1] = f"version {version}"
    request.mangle = measured(lambda frame: frame[:2] + struct.pack(">h", version) + frame[4:])


def other_api(request, random):
    key = random.choice([-1, 4, 5, 6, 7, 52, 56, 58, 62, 67, 93, 999, 32_767])
    request.oddities[-1] = f"API key {key}"
    request.mangle = measured(lambda frame: struct.pack(">h", key) + frame[2:])


def wrong_length(request, random):
    length = random.choice([-1, -(1 << 31), (1 << 31) - 1, 104_857_601, 0])
    request.oddities[-1] = f"length {length}"
    request.mangle = lambda frame: struct.pack(">i", length) + frame


def client_name(request, random):
    request.client = random.choice([None, "", "c" * 1000, "\u00fcn\u00efcode", "with blank"])
    request.oddities[-1] = f"client id {shown(request.client)}"


def header_tags(request, random):
    request.header_tags = {0: b"x", 99: b"unknown"}


BROKEN = [("cut short", cut), ("bytes after the end", longer), ("another byte", flip), ("another byte", flip), ("version", other_version),
          ("API key", other_api), ("length", wrong_length), ("client id", client_name), ("client id", client_name),
          ("tags in the header", header_tags)]
