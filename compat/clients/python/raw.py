"""Requests byte by byte, for what no client library sends."""

import socket
import struct


class Connection:
    """`call` sends one request and gives the body of its answer, behind the correlation id."""

    def __init__(self, bootstrap, timeout=15):
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout)
        self.correlation = 0

    def call(self, api, version, body=b"", flexible=False):
        self.send(api, version, body, flexible)
        return self.receive()

    def send(self, api, version, body=b"", flexible=False):
        self.correlation += 1
        frame = struct.pack(">hhi", api, version, self.correlation) + text("raw") + (b"\0" if flexible else b"") + body
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self):
        """Raises ConnectionError when the broker has closed instead."""
        size, = struct.unpack(">i", self.exactly(4))
        answer = self.exactly(size)
        correlation, = struct.unpack(">i", answer[:4])
        assert correlation == self.correlation, f"answer {correlation} to request {self.correlation}"
        return Reader(answer[4:])

    def exactly(self, count):
        read = b""
        while len(read) < count:
            more = self.socket.recv(count - len(read))
            if not more:
                raise ConnectionError("closed by the broker")
            read += more
        return read

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Reader:
    """Takes values off the front of bytes."""

    def __init__(self, left):
        self.left = left

    def take(self, shape):
        size = struct.calcsize(f">{shape}")
        value, = struct.unpack(f">{shape}", self.left[:size])
        self.left = self.left[size:]
        return value

    def skip(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def text(self):
        size = self.take("h")
        return None if size < 0 else self.skip(size).decode()

    def varint(self):
        value, shift = 0, 0
        while True:
            byte = self.take("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def compact_text(self):
        size = self.varint()
        return None if size == 0 else self.skip(size - 1).decode()


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def compact(value):
    """A string, nothing or bytes of a flexible version, shorter than 127."""
    if value is None:
        return b"\0"
    content = value if isinstance(value, bytes) else value.encode()
    return bytes([len(content) + 1]) + content


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc = (crc >> 8) ^ CASTAGNOLI[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def castagnoli(byte):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


CASTAGNOLI = [castagnoli(byte) for byte in range(256)]


def zigzag(value):
    value, coded = (value << 1) ^ (value >> 63), b""
    while value >= 0x80:
        coded, value = coded + bytes([value & 0x7F | 0x80]), value >> 7
    return coded + bytes([value])


def record(delta, value, time_delta=0, key=None):
    content = b"\0" + zigzag(time_delta) + zigzag(delta)
    content += (zigzag(-1) if key is None else zigzag(len(key)) + key) + zigzag(len(value)) + value + zigzag(0)
    return zigzag(len(content)) + content


def batch(records, count=None, last_delta=None, base=0, attributes=0, first_time=0, max_time=0, producer=-1, sequence=-1, magic=2,
          crc=None, extra=b""):
    """A record batch; what is not said is right for these records."""
    count = len(records) if count is None else count
    last_delta = count - 1 if last_delta is None else last_delta
    epoch = 0 if producer >= 0 else -1
    body = struct.pack(">hiqqqhii", attributes, last_delta, first_time, max_time, producer, epoch, sequence, count)
    body += b"".join(records) + extra
    crc = crc32c(body) if crc is None else crc
    return struct.pack(">qiibI", base, len(body) + 9, 0, magic, crc) + body


def produce(connection, topic, batches, acks=-1):
    """Version 8: by partition, the code and the first offset that it was answered with."""
    rows = b"".join(struct.pack(">ii", partition, len(content)) + content for partition, content in batches.items())
    body = text(None) + struct.pack(">hii", acks, 30_000, 1) + text(topic) + struct.pack(">i", len(batches)) + rows
    answer = connection.call(0, 8, body)
    answer.take("i"), answer.text()
    outcomes = {}
    for _ in range(answer.take("i")):
        partition, code, offset = answer.take("i"), answer.take("h"), answer.take("q")
        answer.take("q"), answer.take("q")
        for _ in range(answer.take("i")):
            answer.take("i"), answer.text()
        answer.text()
        outcomes[partition] = (code, offset)
    return outcomes
