"""Tables of results: what came out, what Apache Kafka gave, and where Highwater may differ.

    expected/SUITE.tsv   test, Apache Kafka's result, Highwater's where it differs, and the reason why
    results/SUITE.tsv    what Highwater gave when it was recorded, under a line with version and date
    results/SUITE.requests.tsv   client, API, version, number of requests: what the suite asked of the broker
"""

import datetime
from dataclasses import dataclass

HEADER = "test\tkafka\thighwater\treason"
EITHER = "either"
"""A result that comes and goes; the reason says why."""


@dataclass
class Row:
    """`result` is pass, fail, skip, hollow (passed without having done anything), unsupported (it wants the inside of a JVM broker)
    or not available."""

    test: str
    result: str
    seconds: float = 0.0
    detail: str = ""


def table_of(rows):
    lines = [f"{row.test}\t{row.result}\t{row.seconds:.1f}" for row in sorted(rows, key=lambda row: row.test)]
    return "".join(f"{line}\n" for line in ["test\tresult\tseconds", *lines])


class Expected:
    """One file of expected/."""

    def __init__(self, file):
        self.file, self.rows = file, {}
        """By test: Kafka's result, or nothing if it was not run there; Highwater's result, or nothing if it is the same; reason."""
        if file.exists():
            for line in file.read_text().splitlines()[1:]:
                test, kafka, highwater, reason = (line.split("\t") + ["", "", ""])[:4]
                self.rows[test] = (kafka, highwater, reason)

    def result(self, test, broker):
        kafka, highwater, _ = self.rows.get(test, ("", "", ""))
        return (highwater if broker != "kafka" else "") or kafka or "pass"

    def unexpected(self, rows, broker, whole):
        """What differs from what is expected; if the suite ran as a whole, also what did not run."""
        found = []
        for row in rows:
            want = self.result(row.test, broker)
            if want not in (row.result, EITHER):
                found.append(f"{row.test}: {row.result}, expected {want}{': ' + row.detail if row.detail else ''}")
        missing = self.rows.keys() - {row.test for row in rows} if whole else ()
        return found + [f"{test}: did not run" for test in sorted(missing) if self.result(test, broker) != EITHER]

    def record(self, rows, whole):
        """Apache Kafka's column from these rows; what stands for Highwater stays."""
        fresh = {} if whole else dict(self.rows)
        for row in rows:
            kafka, highwater, reason = self.rows.get(row.test, ("", "", ""))
            kept = EITHER if kafka == EITHER else row.result
            fresh[row.test] = (kept, "" if highwater == kept else highwater, "" if highwater == kept else reason)
        self.write(fresh)

    def note(self, rows):
        """What Highwater gives that Kafka does not, as expected from now on; a new difference needs a reason before `compat/report`
        takes it."""
        for row in rows:
            kafka, highwater, reason = self.rows.get(row.test, ("", "", ""))
            same = row.result == (kafka or "pass")
            if EITHER not in (kafka, highwater) and (kafka or not same):
                self.rows[row.test] = (kafka, "" if same else row.result, reason if highwater == row.result else "")
        self.write(self.rows)

    def write(self, rows):
        lines = ["\t".join((test, *columns)).rstrip("\t") for test, columns in sorted(rows.items())]
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text("".join(f"{line}\n" for line in [HEADER, *lines]))


class Recorded:
    """One file of results/, and the one beside it with the requests."""

    def __init__(self, file):
        self.file, self.stamp, self.rows = file, "", {}
        self.requests_file = file.with_suffix(".requests.tsv")
        if file.exists():
            self.stamp, _, *lines = file.read_text().splitlines()
            self.rows = dict(line.split("\t")[:2] for line in lines)

    def record(self, rows, whole, server, requests):
        """Replaces the results; those of a part only replace those of the same tests."""
        known = {} if whole else {test: Row(test, result, self.seconds(test)) for test, result in self.rows.items()}
        known.update((row.test, row) for row in rows)
        stamp = f"# {server.version() if server else 'not run'}, {datetime.date.today().isoformat()}\n"
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(stamp + table_of(list(known.values())))
        if whole and any(requests.values()):
            lines = [f"{client}\t{api}\t{version}\t{count}" for client, counts in sorted(requests.items())
                     for (api, version), count in sorted(counts.items())]
            self.requests_file.write_text("".join(f"{line}\n" for line in ["client\tapi\tversion\trequests", *lines]))

    def seconds(self, test):
        for line in self.file.read_text().splitlines()[2:]:
            if line.split("\t")[0] == test:
                return float(line.split("\t")[2])
        return 0.0
