"""Differences that are meant: `reasons.tsv`, lines of API, versions, field, Kafka's value, Highwater's value, what is odd about the
request, what then, and the reason. Where the brokers have different data from there on, `ends` ends the chapter.

`*` stands for anything. Versions are `*`, one, or from-to. A reason that explains nothing any more is told, so that it is taken away.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent / "reasons.tsv"


@dataclass
class Reason:
    api: str
    versions: str
    path: str
    kafka: str
    highwater: str
    oddity: str
    then: str
    text: str
    count: int = 0

    @property
    def ends_chapter(self):
        return self.then == "ends"

    def explains(self, finding):
        api, path, kafka, highwater = finding.kind
        return (like(self.api, api) and self.covers(finding.request.version) and like(self.path, path) and like(self.kafka, kafka)
                and like(self.highwater, highwater) and like(self.oddity, "; ".join(finding.request.oddities)))

    def covers(self, version):
        if self.versions == "*":
            return True
        first, _, last = self.versions.partition("-")
        return int(first) <= version <= int(last or first)


def like(pattern, text):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


class Reasons:
    def __init__(self, file=FILE):
        lines = file.read_text().splitlines()[1:] if file.exists() else []
        self.all = [Reason(*line.split("\t")) for line in lines if line.strip()]

    def of(self, finding):
        for reason in self.all:
            if reason.explains(finding):
                reason.count += 1
                return reason
        return None

    def idle(self):
        return [reason for reason in self.all if not reason.count]
