"""Kafka's command-line tools: exit code and output of each step, held against what they print about Apache Kafka.

`cli/steps.txt` has the steps, `expected/cli/STEP.txt` what each gives on Kafka and, where that is meant to differ,
`expected/cli/STEP.highwater.txt` what it gives here: such a step's result is `differs`.
"""

import re
import shlex
import subprocess
import time
from pathlib import Path

from ..kafka_path import kafka_path
from ..results import Row
from ..suite import Suite
from .profile import PROFILE

FILES = Path(__file__).resolve().parents[2] / "cli"
EXPECTED = Path(__file__).resolve().parents[2] / "expected" / "cli"
STEP_SECONDS = 60
QUICK = re.compile(r"topic-(?!list)|config-topic|console-|offsets-|consumer-groups-(describe|reset|delete)")


class Cli(Suite):
    name = "cli"
    about = "the command-line tools of Apache Kafka 4.4.0, their output compared"
    settings = PROFILE
    quick = True

    def prepare(self, lab):
        self.tools = kafka_path() / "bin"
        self.out = lab.work / "cli"
        self.out.mkdir()

    def run(self, lab):
        for line in (FILES / "steps.txt").read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            head, command = line.split(" : ", 1)
            name, *shape = head.split()
            if lab.is_quick and not QUICK.match(name):
                continue
            yield self.step(lab, name, shape, command)

    def step(self, lab, name, shape, command):
        """All steps run, whatever `--only` says: they build on one another."""
        began = time.monotonic()
        text = self.printed(lab, shape, command)
        seconds = time.monotonic() - began
        (self.out / f"{name}.txt").write_text(text)
        if lab.options.record and lab.options.broker == "kafka":
            (EXPECTED / f"{name}.txt").write_text(text)
        if lab.options.record and lab.options.broker == "highwater" and text != told(name):
            (EXPECTED / f"{name}.highwater.txt").write_text(text)
        if text == told(name):
            return Row(name, "pass", seconds)
        if text == told(f"{name}.highwater"):
            return Row(name, "differs", seconds)
        return Row(name, "fail", seconds, first_difference(told(name), text))

    def printed(self, lab, shape, command):
        address = lab.server.address
        logs = sorted((lab.work / "data" / "compacted-0").glob("*.log"))
        segment = str(logs[0] if logs else FILES / "none.log")
        words = [word.replace("BROKER", address).replace("FILES", str(FILES)).replace("LOG.index", segment[:-3] + "index")
                 .replace("LOG", segment) if word in ("LOG", "LOG.index") or "BROKER" in word or "FILES" in word else word
                 for word in shlex.split(command)]
        given = next((word[3:].replace(";", "\n") + "\n" for word in shape if word.startswith("in=")), "")
        try:
            done = subprocess.run([self.tools / f"{words[0]}.sh", *words[1:]], input=given, capture_output=True, text=True,
                                  timeout=STEP_SECONDS)
            code, said = done.returncode, done.stdout + told_in_errors(done.stderr)
        except subprocess.TimeoutExpired:
            code, said = 124, ""
        return shaped(code, said, address, shape)


def told(name):
    file = EXPECTED / f"{name}.txt"
    return file.read_text() if file.exists() else None


def told_in_errors(text):
    """Without stack traces and what is only logged."""
    noise = re.compile(r"\s+at |\[.*(WARN|INFO)|SLF4J|WARNING: ")
    return "".join(line for line in text.splitlines(keepends=True) if not noise.match(line))


def shaped(code, said, address, shape):
    if "events" in shape:
        lines = sorted(set(re.findall(r'"name":"[a-z_]+"', said)) | {f"rc={code}"})
        return f"rc={code}\n" + "".join(f"{line}\n" for line in lines if not line.startswith("rc="))
    lines = [line for line in (normal(line, address) for line in said.splitlines()) if line]
    if "loose" in shape:
        lines = list(dict.fromkeys(re.sub(r"[0-9]+([.,][0-9]+)*", "N", line) for line in lines))
    return "".join(f"{line}\n" for line in [f"rc={code}", *(sorted(lines) if "sort" in shape else lines)])


RULES = [(re.compile(pattern), replacement) for pattern, replacement in [
    (r"127\.0\.0\.1:[0-9]+", "BROKER"),
    (r'/[^ "]*/([^/ "]+)?', r"DIR/\1"),
    (r"DIR/(127|BROKER)", r"/\1"),
    (r'"logDir":"[^"]*"', '"logDir":"DIR"'),
    (r'"log_dirs":\["[^"]*"\]', '"log_dirs":["DIR"]'),
    (r"(console-consumer|console-share-consumer)-[0-9]+", r"\1-N"),
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
    (r"\b[A-Za-z0-9_-]{22}\b", "UUID"),
    (r"\b1[0-9]{12}\b", "TIME"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+Z?", "TIME"),
    (r"(consumer-console|consumer|producer)-[0-9]+(-UUID)?", r"\1-N"),
    (r"\bEpoch: [0-9]+", "Epoch: N"),
    (r"\bcrc: [0-9]+", "crc: N"),
    (r"\bsize: [0-9]+", "size: N"),
    (r'"(size|offsetLag|timestamp)":-?[0-9]+', r'"\1":N'),
    # Told every five seconds by a tool that takes as long.
    (r"^[0-9]+ records sent, .* max latency\.$", ""),
    # Of the feature level, and of the profile.
    (r"min\.insync\.replicas=1,?", ""),
    (r"file\.delete\.delay\.ms=1000,?", ""),
    (r"\s+", " "),
]]
"""What is another in every run."""


def normal(line, address):
    line = line.replace(address, "BROKER")
    for pattern, replacement in RULES:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def first_difference(want, have):
    if want is None:
        return "nothing is expected of it yet"
    wanted, had = want.splitlines(), have.splitlines()
    for index in range(max(len(wanted), len(had))):
        pair = [lines[index] if index < len(lines) else "nothing more" for lines in (had, wanted)]
        if pair[0] != pair[1]:
            return f"line {index + 1}: {pair[0]:.90} instead of {pair[1]:.90}"
    return ""
