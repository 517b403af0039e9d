"""Figures of all runs, ratios between the brokers, and whether they are what they must be."""

from dataclasses import dataclass
from statistics import median

from harness.script import table


@dataclass(frozen=True)
class Row:
    """One figure of one case."""
    case: object
    durability: str
    bar: object
    ours: list
    theirs: list

    @property
    def ratios(self):
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs) if theirs]

    @property
    def decides(self):
        """What is held against the bar."""
        if self.bar.absolute:
            return median(self.ours)
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
        return [self.case.title, self.durability, self.bar.title, *values, self.ratio_text, self.must_be, self.verdict]


class Results:
    HEAD = ["case", "durability", "figure", "{ours}", "{theirs}", "ratio (least–greatest)", "must be", "is"]

    def __init__(self, options):
        self.options = options
        self.runs = {}
        self.names = []
        self.versions = {}
        self.machine = {}
        self.minutes = 0
        self.failures = []

    def add(self, case, durability, broker, figures):
        if broker.name not in self.names:
            self.names.append(broker.name)
            self.versions[broker.name] = broker.version()
        if "failed" in figures:
            self.failures.append(f"{case.name}, {durability}, {broker.name}: {figures['failed']}")
        self.runs.setdefault((case, durability), {}).setdefault(broker.name, []).append(figures)

    def rows(self):
        for (case, durability), of in self.runs.items():
            ours, theirs = (of.get(name, []) for name in [*self.names, None][:2])
            if theirs:
                # A round in which one has failed gives no pair.
                pairs = [(a, b) for a, b in zip(ours, theirs) if "failed" not in a and "failed" not in b]
                ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
            for bar in case.bars:
                values = [[f[bar.figure] for f in runs if bar.figure in f] for runs in (ours, theirs)]
                if values[0] or values[1]:
                    yield Row(case, durability, bar, *values)

    def head(self):
        ours, theirs = [*self.names, "-"][:2]
        return [cell.format(ours=ours, theirs=theirs) for cell in self.HEAD]

    def table(self):
        rows = [self.head(), *(row.cells() for row in self.rows())]
        return "\n".join([table(rows), *(f"FAILED: {failure}" for failure in self.failures)])


def number(value):
    """Three digits, without an exponent."""
    if value == 0:
        return "0"
    for least, digits in ((100, 0), (10, 1), (1, 2), (0.1, 3), (0.01, 4)):
        if abs(value) >= least:
            return f"{value:,.{digits}f}"
    return f"{value:.5f}"
