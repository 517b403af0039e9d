"""The producer and the questions of the suites groups and transactions: `clients/python/group_feed.py`, and what is said of a
program that fails."""

import signal
import subprocess

from .programs import python_environment
from .tools import CLIENTS as SOURCES, ROOT, STEP_SECONDS


class Failed(Exception):
    """Something that must hold does not."""


def call(command, seconds=STEP_SECONDS):
    """What it printed; an error text if it failed."""
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=seconds, cwd=ROOT)
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(), f"no end after {seconds} s"
    lines = done.stderr.strip().splitlines()
    return done.stdout, f"exit {done.returncode}: {' | '.join(lines[-3:])}" if done.returncode else ""


def feed(server, verb, *arguments, seconds=STEP_SECONDS):
    """What the program answers; raises Failed."""
    said, error = call(feed_command(server, verb, *arguments), seconds)
    if error:
        raise Failed(f"{verb}: {error}")
    return said


def feed_command(server, verb, *arguments):
    return [str(c) for c in [python_environment(), SOURCES / "python" / "group_feed.py", verb, server.address, *arguments]]


class Feeding:
    """The producer as a process: it goes on until it is stopped."""

    def __init__(self, server, *arguments, log=None):
        self.process = subprocess.Popen(feed_command(server, "produce", *arguments), stdout=subprocess.PIPE, stderr=log, text=True)

    def stop(self, seconds):
        """How many records it has sent to each partition; it is given so long to end. Raises Failed."""
        self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=seconds)
        if self.process.returncode:
            raise Failed("the producer failed")
        return {int(p): int(n) for _, p, n in (line.split() for line in said.splitlines())}

    def kill(self):
        """If it still runs."""
        if self.process.poll() is None:
            self.process.kill()
