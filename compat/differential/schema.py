"""Kafka's message schemas, as they lie in its client jar: every API, version and field, and how each is written and read.

Values are plain: a struct is a dict by field name, an array a list, `records` and `bytes` are bytes, a uuid is `uuid.UUID`. In a
struct, `TAGS` holds tagged fields that the schema does not know, by number. What is null, or is missing a field, is written as it
is, whether the schema allows null or not: the brokers are asked what they make of it.
"""

import json
import re
import struct
import uuid
import zipfile
from dataclasses import dataclass, field as attribute

TAGS = "tags"
FIXED = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "float64": ">d"}
ZERO_ID = uuid.UUID(int=0)


class Undecodable(Exception):
    """Bytes that are no message of this schema."""


@dataclass(frozen=True)
class Versions:
    first: int
    last: int

    @staticmethod
    def of(text):
        if not text or text == "none":
            return Versions(1, 0)
        first, dash, last = text.rstrip("+").partition("-")
        return Versions(int(first), int(last) if dash else (1 << 15 if text.endswith("+") else int(first)))

    def __contains__(self, version):
        return self.first <= version <= self.last

    def __iter__(self):
        return iter(range(self.first, self.last + 1))


@dataclass
class Field:
    """`type` is that of an element where `is_array`; `fields` are those of the struct, if it is one."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    default: object
    entity: str
    is_key: bool
    fields: list = attribute(default_factory=list)

    def in_version(self, version):
        return [field for field in self.fields if version in field.versions]


@dataclass
class Message:
    name: str
    versions: Versions
    flexible: Versions
    root: Field

    def write(self, value, version):
        return Writer(version, version in self.flexible).struct(self.root, value)

    def read(self, data, version):
        reader = Reader(data, version, version in self.flexible)
        value = reader.struct(self.root)
        if reader.at != len(data):
            raise Undecodable(f"{len(data) - reader.at} bytes after the end")
        return value


@dataclass
class Api:
    key: int
    name: str
    request: Message
    response: Message


def apis(jar):
    """By key: the APIs of the protocol, those of listeners for clients."""
    requests, responses = {}, {}
    with zipfile.ZipFile(jar) as files:
        for name in files.namelist():
            kind = re.fullmatch(r"common/message/\w+(Request|Response)\.json", name)
            if kind:
                schema = json.loads(re.sub(r"^\s*//.*$", "", files.read(name).decode(), flags=re.MULTILINE))
                (requests if kind[1] == "Request" else responses)[schema["apiKey"]] = schema
    return {key: Api(key, schema["name"].removesuffix("Request"), message(schema), message(responses[key]))
            for key, schema in requests.items() if "broker" in schema.get("listeners", ())}


def message(schema):
    common = {one["name"]: one["fields"] for one in schema.get("commonStructs", ())}
    root = Field("", schema["name"], False, Versions(0, 1 << 15), *[Versions(1, 0)] * 2, -1, None, "", False)
    root.fields = [field(one, common) for one in schema["fields"]]
    return Message(schema["name"], Versions.of(schema["validVersions"]), Versions.of(schema["flexibleVersions"]), root)


def field(schema, common):
    is_array, kind = schema["type"].startswith("[]"), schema["type"].removeprefix("[]")
    made = Field(schema["name"], kind, is_array, Versions.of(schema["versions"]), Versions.of(schema.get("nullableVersions")),
                 Versions.of(schema.get("taggedVersions")), schema.get("tag", -1), None, schema.get("entityType", ""),
                 schema.get("mapKey", False))
    made.fields = [field(one, common) for one in schema.get("fields", common.get(kind, ()))]
    made.default = default(made, schema.get("default"))
    return made


def default(made, given):
    if made.is_array:
        return None if given == "null" else []
    if made.fields:
        return None if given == "null" else {}
    if made.type in ("string", "bytes", "records"):
        empty = "" if made.type == "string" else b""
        return None if given == "null" else given if given is not None else empty
    if made.type == "uuid":
        return ZERO_ID
    if made.type == "bool":
        return given in (True, "true")
    return int(str(given or 0), 0)


class Writer:
    def __init__(self, version, flexible):
        self.version, self.flexible = version, flexible

    def struct(self, kind, value):
        fields = kind.in_version(self.version)
        out = [self.field(one, value.get(one.name, one.default)) for one in fields if self.version not in one.tagged]
        if self.flexible:
            tags = dict(value.get(TAGS, {}))
            for one in fields:
                if self.version in one.tagged and value.get(one.name, one.default) != one.default:
                    tags[one.tag] = self.field(one, value[one.name])
            out.append(varint(len(tags)))
            out += [varint(tag) + varint(len(data)) + data for tag, data in sorted(tags.items())]
        return b"".join(out)

    def field(self, one, value):
        if one.is_array:
            if value is None:
                return self.length(None, ">i")
            element = self.struct if one.fields else self.scalar
            return self.length(len(value), ">i") + b"".join(element(one, item) for item in value)
        if one.fields:
            if self.version not in one.nullable:
                return self.struct(one, value or {})
            return b"\xff" if value is None else b"\x01" + self.struct(one, value)
        return self.scalar(one, value)

    def scalar(self, one, value):
        if one.type in FIXED:
            return struct.pack(FIXED[one.type], value)
        if one.type == "bool":
            return b"\x01" if value else b"\x00"
        if one.type == "uuid":
            return value.bytes
        data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        return self.length(None if data is None else len(data), ">h" if one.type == "string" else ">i") + (data or b"")

    def length(self, count, fixed):
        if self.flexible:
            return varint(0 if count is None else count + 1)
        return struct.pack(fixed, -1 if count is None else count)


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


class Reader:
    def __init__(self, data, version, flexible):
        self.data, self.at, self.version, self.flexible = data, 0, version, flexible

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise Undecodable(f"{count} bytes at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def struct(self, kind):
        fields = kind.in_version(self.version)
        value = {one.name: self.field(one) for one in fields if self.version not in one.tagged}
        if self.flexible:
            tagged = {one.tag: one for one in fields if self.version in one.tagged}
            value.update((one.name, one.default) for one in tagged.values())
            for _ in range(self.varint()):
                tag, data = self.varint(), self.take(self.varint())
                if tag in tagged:
                    value[tagged[tag].name] = Reader(data, self.version, True).field(tagged[tag])
                else:
                    value.setdefault(TAGS, {})[tag] = data
        return value

    def field(self, one):
        if one.is_array:
            count = self.length(">i")
            if count is not None and count > len(self.data):
                raise Undecodable(f"{count} elements in {len(self.data)} bytes")
            element = self.struct if one.fields else self.scalar
            return None if count is None else [element(one) for _ in range(count)]
        if one.fields:
            is_null = self.version in one.nullable and self.take(1) == b"\xff"
            return None if is_null else self.struct(one)
        return self.scalar(one)

    def scalar(self, one):
        if one.type in FIXED:
            return struct.unpack(FIXED[one.type], self.take(struct.calcsize(FIXED[one.type])))[0]
        if one.type == "bool":
            return self.take(1) != b"\x00"
        if one.type == "uuid":
            return uuid.UUID(bytes=self.take(16))
        count = self.length(">h" if one.type == "string" else ">i")
        data = None if count is None else self.take(count)
        return data.decode("utf-8", "surrogateescape") if one.type == "string" and data is not None else data

    def length(self, fixed):
        if self.flexible:
            count = self.varint() - 1
        else:
            count = struct.unpack(fixed, self.take(struct.calcsize(fixed)))[0]
        return None if count < 0 else count
