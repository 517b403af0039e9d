"""What a run has found: by API and version, and by kind of difference."""

from collections import Counter, defaultdict

from harness.script import table

from .reasons import Reasons

SHOWN = 3
"""Places told of each kind of difference, those with the plainest requests first."""


def parent(path):
    return path.rpartition(".")[0]


class Tally:
    def __init__(self, seed):
        self.seed, self.reasons = seed, Reasons()
        self.by_api = defaultdict(Counter)
        self.unreasoned = defaultdict(list)
        """Findings by kind."""

    @property
    def requests(self):
        return sum(counts["requests"] for counts in self.by_api.values())

    def add(self, request, findings):
        """Whether a reason says that the chapter ends here. `request` is None for the answer to an earlier one."""
        if request:
            self.by_api[request.api.name, request.version]["requests"] += 1
        reasons = {id(finding): self.reasons.of(finding) for finding in findings}
        over = next((reason for reason in reasons.values() if reason and reason.ends_chapter), None)
        if over:  # What the same request has led to follows from it, and so does what the same partition is told beside it.
            beside = {parent(one.difference.path) for one in findings if reasons[id(one)] is over}
            reasons.update({id(one): over for one in findings if one.shown_by or parent(one.difference.path) in beside})
        for finding in findings:
            if reasons[id(finding)] is None:
                self.unreasoned[finding.kind].append(finding)
        if findings:
            counts = self.by_api[findings[0].request.api.name, findings[0].request.version]
            counts["reasoned"] += any(reasons.values())
            counts["differ"] += not all(reasons.values())
        return over is not None

    def table(self):
        rows = [(api, str(version), str(counts["requests"]), str(counts["reasoned"]), str(counts["differ"]))
                for (api, version), counts in sorted(self.by_api.items())]
        return table([("API", "version", "requests", "reasoned", "differ"), *rows])

    def kinds(self):
        """Lines about each kind of difference without a reason, the most frequent first."""
        for kind, findings in sorted(self.unreasoned.items(), key=lambda one: -len(one[1])):
            versions = sorted({finding.request.version for finding in findings})
            yield f"\n{kind[0]}.{kind[1]}: {kind[2]} | {kind[3]}   {len(findings)} times, versions {versions}"
            for one in sorted(findings, key=lambda one: len(one.request.oddities))[:SHOWN]:
                yield f"    {self.place(one)}  {one.request.name}; {'; '.join(one.request.oddities)[:300]}"

    def place(self, finding):
        return f"--seed {self.seed} --chapter {finding.place}"

    def first(self, api, version):
        """Of an API in a version, a difference in words."""
        for findings in self.unreasoned.values():
            for finding in findings:
                if (finding.request.api.name, finding.request.version) == (api, version):
                    return f"{finding.difference} (compat/differential/run {self.place(finding)})"
        return ""

    def idle(self):
        for reason in self.reasons.idle():
            yield f"explains nothing any more: {reason.api} {reason.path}: {reason.text}"

    def sum(self, seconds):
        differ = sum(counts["differ"] for counts in self.by_api.values())
        reasoned = sum(counts["reasoned"] for counts in self.by_api.values())
        return (f"{self.requests} requests with seed {self.seed} in {seconds:.0f} s: {differ} differ in {len(self.unreasoned)} ways; "
                f"{reasoned} for a reason that is listed")
