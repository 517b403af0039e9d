"""The table of results, and what it should be."""

from .script import table

PHASES = ["prepare", "write", "read", "read by confluent-kafka", "after kill -9"]


class Results:
    def __init__(self, expected_file):
        self.expected_file = expected_file
        self.rows = {}

    def add(self, client, phase, case, result, detail):
        self.rows[client, case, phase] = (result, detail)

    def table(self):
        lines = [["client", "case", *PHASES[1:]]]
        for client, case in dict.fromkeys((client, case) for client, case, _ in self.rows):
            cells = [self.rows.get((client, case, phase), ("-", ""))[0] for phase in PHASES[1:]]
            lines.append([client, case, *cells])
        return table(lines)

    def record(self):
        lines = [f"{client}\t{case}\t{phase}\t{result}" for (client, case, phase), (result, _) in self.rows.items()]
        self.expected_file.write_text("\n".join(["client\tcase\tphase\tresult", *sorted(lines)]) + "\n")

    def unexpected(self):
        """Differences from the recorded run on Apache Kafka, for what ran now; and what was recorded but did not run."""
        expected = self.expected()
        ran = {client for client, _, _ in self.rows}
        found = []
        for key, (result, detail) in self.rows.items():
            want = expected.get(key, "ok")
            if result != want:
                found.append(f"{' / '.join(key)}: {result}, expected {want}{': ' + detail if detail else ''}")
        # Phases that need the reading client are missing when it was not asked for.
        reader = "confluent-kafka" in ran
        for key in expected.keys() - self.rows.keys():
            if key[0] in ran and (reader or "confluent-kafka" not in key[2]):
                found.append(f"{' / '.join(key)}: did not run")
        return found

    def expected(self):
        if not self.expected_file.exists():
            return {}
        lines = self.expected_file.read_text().splitlines()[1:]
        return {tuple(line.split("\t")[:3]): line.split("\t")[3] for line in lines}
