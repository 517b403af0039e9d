"""Public bug reports about other brokers, tried with librdkafka and with requests byte by byte: docs/bug-reports.md says what is right."""

import subprocess
import time

from ..programs import Python
from ..results import Row
from ..suite import Suite
from .profile import PROFILE

SECONDS = 900


class Reports(Suite):
    name = "reports"
    about = "cases of public bug reports, with librdkafka 2.16 and raw requests"
    settings = PROFILE
    quick = True

    def prepare(self, lab):
        self.program = Python("reports.py")
        self.program.prepare()

    def run(self, lab):
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
