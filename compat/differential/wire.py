"""Both brokers, asked in lock step."""

import select
import socket
import struct
import time

from .schema import Undecodable
from .world import SIDES

SECONDS = 3
"""After which an answer that must come is told as missing."""
PARKED_AFTER = 0.15
"""Seconds of silence of both after which an answer that may wait for others is waited for beside other requests."""
PROBE = struct.pack(">ihhih", 10, 18, 0, -7, -1)
"""ApiVersions v0: what is sent behind a request that must not be answered. Its answer comes first, then."""
CLOSED, SILENT, NONE = "closed", "silent", "no answer"


class Line:
    """A connection."""

    def __init__(self, address):
        self.address, self.socket, self.received = address, None, b""

    def send(self, frame):
        if self.socket is None:
            host, port = self.address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)), timeout=SECONDS)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.socket.sendall(frame)
        except OSError:
            pass  # What was answered before the end is read all the same.

    def poll(self, seconds):
        """A frame, CLOSED, or None while there is neither."""
        limit = time.monotonic() + seconds
        while True:
            if len(self.received) >= 4:
                end = 4 + struct.unpack_from(">i", self.received)[0]
                if len(self.received) >= end:
                    frame, self.received = self.received[4:end], self.received[end:]
                    return frame
            left = limit - time.monotonic()
            if not select.select([self.socket], [], [], max(left, 0))[0]:
                if left <= 0:
                    return None
                continue
            try:
                data = self.socket.recv(1 << 20)
            except OSError:
                data = b""
            if not data:
                self.close()
                return CLOSED
            self.received += data

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.received = None, b""


class Exchange:
    """A request that was sent to both, on one line to each. `answers` has what came: a dict, CLOSED, SILENT or NONE."""

    def __init__(self, request, lines, correlation):
        self.request, self.lines, self.correlation = request, lines, correlation
        self.answers = {}
        for side in SIDES:
            probe = PROBE if request.wants_no_answer else b""
            lines[side].send(request.frame(side, correlation) + probe)

    def poll(self, seconds):
        """Whether both have answered. Once one has begun to, within that time, the other must."""
        if not select.select([line.socket for line in self.lines.values()], [], [], seconds)[0]:
            return False
        for side in SIDES:
            self.take(side, SECONDS)
        for side in SIDES:
            self.answers.setdefault(side, SILENT)
        return True

    def take(self, side, seconds):
        frame = self.lines[side].poll(seconds)
        if frame is not None:
            self.answers[side] = frame if frame is CLOSED else self.read(frame)

    def read(self, frame):
        if self.request.wants_no_answer and struct.unpack_from(">i", frame)[0] == -7:
            return NONE
        return decoded(self.request, frame, self.correlation)


def decoded(request, frame, correlation):
    """The answer as a dict; a text if it is none."""
    api, version = request.api, request.version
    flexible = version in api.response.flexible and api.key != 18
    try:
        if struct.unpack_from(">i", frame)[0] != correlation:
            return "an answer to another request"
        if not flexible:
            return api.response.read(frame[4:], version)
        if frame[4:5] != b"\0":
            return "tags in the header of the answer"
        return api.response.read(frame[5:], version)
    except (Undecodable, struct.error):
        if api.key == 18:
            return {"v0": api.response.read(frame[4:], 0)}
        return f"undecodable: {frame.hex()}"


class Wire:
    """`addresses` by side."""

    def __init__(self, addresses):
        self.addresses, self.idle, self.parked, self.correlation = addresses, [], [], 0

    def ask(self, request):
        """The exchange if it is complete; else it is parked."""
        exchange = self.sent(request)
        if exchange.poll(PARKED_AFTER if request.may_wait else SECONDS):
            self.finished(exchange)
            return exchange
        if request.may_wait:
            self.parked.append(exchange)
            return None
        for side in SIDES:
            exchange.answers.setdefault(side, SILENT)
        self.finished(exchange)
        return exchange

    def ask_again(self, exchange, sides):
        """Has these sides answer the request once more, as a client asks again after an answer that says so."""
        self.correlation += 1
        exchange.correlation = self.correlation
        for side in sides:
            line = Line(self.addresses[side])
            line.send(exchange.request.frame(side, self.correlation))
            frame = line.poll(SECONDS)
            exchange.answers[side] = SILENT if frame is None else frame if frame is CLOSED else exchange.read(frame)
            line.close()

    def sent(self, request):
        self.correlation = self.correlation % 1_000_000_000 + 1
        lines = self.idle.pop() if self.idle else {side: Line(self.addresses[side]) for side in SIDES}
        return Exchange(request, lines, self.correlation)

    def finished(self, exchange):
        if SILENT in exchange.answers.values() or CLOSED in exchange.answers.values() or exchange.request.wants_no_answer:
            for line in exchange.lines.values():
                line.close()
        self.idle.append(exchange.lines)

    def arrived(self):
        """Parked exchanges that are complete now."""
        done = [exchange for exchange in self.parked if exchange.poll(0)]
        for exchange in done:
            self.parked.remove(exchange)
            self.finished(exchange)
        return done

    def close(self):
        for lines in [*self.idle, *(exchange.lines for exchange in self.parked)]:
            for line in lines.values():
                line.close()
        self.idle, self.parked = [], []
