"""Figures of all runs, ratios between the brokers, and whether they are what they must be.

They are kept in docs/benchmarks.json, so that a run that was interrupted goes on and cases can be measured again one by one.
"""

import json
import subprocess
from dataclasses import asdict, dataclass
from datetime import date
from statistics import median

from harness.script import table
from harness.tools import ROOT

from .cases import CASES

# Cores that other processes may take while a case is measured; beyond that it is to be measured again.
LOUD_CORES = 0.1


@dataclass(frozen=True)
class Row:
    """One figure of one case."""
    case: object
    durability: str
    bar: object
    ours: list
    theirs: list
    loud: bool = False

    @property
    def ratios(self):
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs) if theirs]

    @property
    def decides(self):
        """What is held against the bar."""
        if self.bar.absolute:
            return median(self.ours) if self.ours else None
        return median(self.ratios) if self.ratios else None

    @property
    def verdict(self):
        bar, value = self.bar, self.decides
        if value is None or (bar.most is None and bar.least is None):
            return ""
        return "holds" if (value <= bar.most if bar.most is not None else value >= bar.least) else "falls short"

    @property
    def must_be(self):
        bar = self.bar
        if bar.most is None and bar.least is None:
            return ""
        if bar.absolute:
            return f"≤ {bar.most:g}"
        if bar.least is not None:
            return f"≥ {bar.least:g}×"
        return "≤ 1×" if bar.most == 1 else f"≤ 1/{1 / bar.most:.0f}"

    @property
    def ratio_text(self):
        ratios = self.ratios
        if not ratios:
            return "-"
        return f"{number(median(ratios))} ({number(min(ratios))}–{number(max(ratios))})"

    def cells(self):
        values = [number(median(values)) if values else "-" for values in (self.ours, self.theirs)]
        verdict = f"{self.verdict}, loud" if self.verdict and self.loud else self.verdict
        return [self.case.title, self.durability, self.bar.title, *values, self.ratio_text, self.must_be, verdict]


@dataclass
class Runs:
    """All rounds of one case."""
    brokers: dict  # figures of each round by the broker's name
    seconds: float = 0
    others_cores: float = 0  # the most that other processes took in a run
    commit: str = ""
    date: str = ""

    @property
    def is_loud(self):
        return self.others_cores > LOUD_CORES

    def failures(self):
        return [f"{name}: {figures['failed']}" for name, of in self.brokers.items() for figures in of if "failed" in figures]

    def is_whole(self, rounds, names):
        return not self.failures() and all(len(self.brokers.get(name, [])) >= rounds for name in names)


class Results:
    HEAD = ["case", "durability", "figure", "{ours}", "{theirs}", "ratio (least–greatest)", "must be", "is"]

    def __init__(self, options):
        self.options = options
        self.runs = {}
        self.versions = {}
        self.machine = {}

    def read(self, file):
        """Takes what an earlier run has left there of cases that there are."""
        if not file.exists():
            return
        cases = {case.name: case for case in CASES}
        document = json.loads(file.read_text())
        self.versions, self.machine = document["versions"], document["machine"]
        for entry in document["runs"]:
            case = cases.get(entry["case"])
            if case and entry["load"] == words(case):
                self.runs[case, entry["durability"]] = Runs(**entry["runs"])

    def document(self):
        return {
            "machine": self.machine,
            "versions": self.versions,
            "runs": [{"case": case.name, "durability": durability, "load": words(case), "runs": asdict(runs)}
                     for case, durability, runs in self.ordered()],
            "ratios": [{"case": row.case.name, "durability": row.durability, "figure": row.bar.figure, "ratios": row.ratios,
                        "must_be": row.must_be, "verdict": row.verdict} for row in self.rows()],
        }

    def begin(self, case, durability):
        """Forgets earlier runs of the case."""
        self.runs[case, durability] = Runs({}, commit=commit(), date=date.today().isoformat())
        return self.runs[case, durability]

    def is_left(self, case, durability):
        """True unless the case was measured in full, of this very product, while nothing else ran."""
        runs = self.runs.get((case, durability))
        return not runs or runs.is_loud or not runs.is_whole(self.options.rounds, self.names) or is_of_another_product(runs.commit)

    @property
    def names(self):
        """Of what is measured and of what it is compared with, once they have run."""
        return list(self.versions)

    @property
    def failures(self):
        return [f"{case.name}, {durability}, {failure}"
                for case, durability, runs in self.ordered() for failure in runs.failures()]

    @property
    def minutes(self):
        return sum(runs.seconds for runs in self.runs.values()) / 60

    def ordered(self):
        """Cases in their order."""
        for case in CASES:
            for durability in case.durability:
                if (case, durability) in self.runs:
                    yield case, durability, self.runs[case, durability]

    def rows(self):
        for case, durability, runs in self.ordered():
            all_ours, all_theirs = (runs.brokers.get(name, []) for name in [*self.names, None][:2])
            # A round in which one has failed gives no pair.
            pairs = [(a, b) for a, b in zip(all_ours, all_theirs) if "failed" not in a and "failed" not in b]
            for bar in case.bars:
                needs_pairs = all_theirs and not bar.absolute
                of_each = ([a for a, _ in pairs], [b for _, b in pairs]) if needs_pairs else (all_ours, all_theirs)
                values = [[figures[bar.figure] for figures in of if bar.figure in figures] for of in of_each]
                if values[0] or values[1]:
                    yield Row(case, durability, bar, *values, loud=runs.is_loud)

    def head(self):
        ours, theirs = [*self.names, "-"][:2]
        return [cell.format(ours=ours, theirs=theirs) for cell in self.HEAD]

    def table(self, chosen):
        rows = [self.head(), *(row.cells() for row in self.rows() if (row.case, row.durability) in chosen)]
        return "\n".join([table(rows), *(f"FAILED: {failure}" for failure in self.failures)])


def words(case):
    return list(map(str, case.load))


def commit():
    """The one checked out; with a plus if the product differs from it."""
    head = git("rev-parse", "--short", "HEAD") or "unknown"
    return f"{head}+" if is_of_another_product("HEAD") else head


def is_of_another_product(commit):
    """True unless nothing that the broker is built from differs from that commit."""
    return git("diff", "--name-only", commit, "--", "src", "Cargo.toml", "Cargo.lock") != ""


def git(*arguments):
    """What it says; `None` if it fails."""
    ended = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else None


def number(value):
    """Three digits, without an exponent."""
    if value == 0:
        return "0"
    for least, digits in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.01, 4)):
        if abs(value) >= least:
            return f"{value:,.{digits}f}"
    return f"{value:.5f}"
