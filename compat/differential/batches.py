"""Record batches of magic 2: built for a producer, spoiled on purpose, and taken apart to be compared."""

import struct
from dataclasses import dataclass, field, replace

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, first and largest time, producer id, epoch, first
sequence, count. The length counts from the leader epoch on, the CRC from the attributes on."""
BEFORE_LENGTH_ENDS, BEFORE_ATTRIBUTES = 12, 21
NAMES = ("BaseOffset", "Length", "LeaderEpoch", "Magic", "Crc", "Attributes", "LastOffsetDelta", "FirstTime", "MaxTime", "ProducerId",
         "ProducerEpoch", "FirstSequence", "Count")
TRANSACTIONAL, CONTROL = 16, 32


@dataclass(frozen=True)
class Batch:
    """`records` are (timestamp delta, key, value, headers). `producer` may differ between the brokers. Fields given in `wrong`
    stand in the header in the place of what is right, `spoil` is done to the bytes at last."""

    records: tuple
    time: int
    attributes: int = 0
    producer: object = -1
    epoch: int = -1
    sequence: int = -1
    wrong: dict = field(default_factory=dict)
    crc_is_right: bool = True
    spoil: object = bytes
    oddity: object = "as they should be"
    """What is wrong with it, in words."""

    def with_wrong(self, **wrong):
        return replace(self, wrong=wrong, oddity=wrong)

    def of(self, side):
        producer = self.producer.of(side) if hasattr(self.producer, "of") else self.producer
        body = b"".join(record(number, *one) for number, one in enumerate(self.records))
        values = {"BaseOffset": 0, "Length": HEADER.size - BEFORE_LENGTH_ENDS + len(body), "LeaderEpoch": -1, "Magic": 2, "Crc": 0,
                  "Attributes": self.attributes, "LastOffsetDelta": len(self.records) - 1, "FirstTime": self.time,
                  "MaxTime": self.time + max((one[0] for one in self.records), default=0), "ProducerId": producer,
                  "ProducerEpoch": self.epoch, "FirstSequence": self.sequence, "Count": len(self.records)}
        values.update(self.wrong)
        rest = HEADER.pack(*(values[name] for name in NAMES))[BEFORE_ATTRIBUTES:] + body
        values["Crc"] = crc32c(rest) ^ (0 if self.crc_is_right else 1)
        return self.spoil(HEADER.pack(*(values[name] for name in NAMES))[:BEFORE_ATTRIBUTES] + rest)


@dataclass(frozen=True)
class Together:
    """Batches one behind the other."""

    batches: tuple
    oddity = "twice"

    def of(self, side):
        return b"".join(batch.of(side) for batch in self.batches)


def record(number, time, key, value, headers):
    body = b"\0" + zigzag(time) + zigzag(number) + sized(key) + sized(value) + zigzag(len(headers))
    body += b"".join(sized(name) + sized(content) for name, content in headers)
    return zigzag(len(body)) + body


def sized(data):
    return zigzag(-1) if data is None else zigzag(len(data)) + data


def zigzag(number):
    number = (number << 1) ^ (number >> 63) if number >= 0 else ((-number) << 1) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def taken_apart(data):
    """The batches of a fetch as dicts, and what is cut off at the end."""
    found, at = [], 0
    while data and at + HEADER.size <= len(data):
        values = dict(zip(NAMES, HEADER.unpack_from(data, at)))
        end = at + BEFORE_LENGTH_ENDS + values["Length"]
        if values["Length"] < HEADER.size - BEFORE_LENGTH_ENDS or end > len(data):
            break
        values["Crc"] = values["Crc"] == crc32c(data[at + BEFORE_ATTRIBUTES:end])
        values["Payload"] = data[at + HEADER.size:end].hex()
        found.append(values)
        at = end
    return found, (data or b"")[at:]


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
