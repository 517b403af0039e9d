"""Public bug reports about other brokers, tried with librdkafka and with requests byte by byte: docs/bug-reports.md says what is right."""

import json
import subprocess
import time

from ..programs import Python
from ..results import Row
from ..suite import Suite
from .profile import PROFILE

SECONDS = 900
REGISTRY = "redpanda-data/redpanda#591 registry_over_a_compacted_topic"
LIVES = 10


class Reports(Suite):
    name = "reports"
    about = "cases of public bug reports, with librdkafka 2.16 and raw requests"
    settings = PROFILE
    quick = True

    def prepare(self, lab):
        self.program, self.registry = Python("reports.py"), Python("registry.py")
        for program in (self.program, self.registry):
            program.prepare()

    def run(self, lab):
        yield from self.cases(lab)
        if lab.wants(REGISTRY) and ":" not in lab.options.broker:
            began = time.monotonic()
            wrong = self.lives_of_a_registry(lab)
            yield Row(REGISTRY, "fail" if wrong else "pass", time.monotonic() - began, wrong or "")

    def cases(self, lab):
        command = [str(word) for word in [*self.program.command(), lab.server.address, lab.options.only]]
        log = open(lab.work / "reports.log", "wb")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        last = time.monotonic()
        try:
            for line in process.stdout:
                case, result, detail = (line.rstrip("\n").split("\t") + ["", ""])[:3]
                yield Row(case, "pass" if result == "ok" else "fail", time.monotonic() - last, detail)
                last = time.monotonic()
            if process.wait(SECONDS):
                yield Row("all", "fail", 0, f"exit {process.returncode}; see reports.log")
        finally:
            process.kill()

    def lives_of_a_registry(self, lab):
        """Each finds just what the one before has left, while the broker stops or is killed in between and the cleaner works."""
        before = None
        for life in range(LIVES):
            command = [*self.registry.command(), lab.server.address, "_schemas", str(life)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            if done.returncode:
                return f"life {life}: {done.stderr.strip().splitlines()[-1:]}"
            now = json.loads(done.stdout)
            if before and (now["found"], now["began"]) != (before["left"], before["ended"]):
                return f"life {life} found {now}, the one before left {before}"
            before = now
            lab.count_requests()
            (lab.server.kill if life % 2 else lab.server.stop)()
            lab.server.start()
        return None if now["records"] < now["began"] else "the cleaner took nothing"
