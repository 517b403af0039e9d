"""Karapace, a schema registry that stores in a compacted topic: schemas are there again when the registry was killed."""

import json
import os
import subprocess
import time

from ..programs import python_environment
from ..results import Row
from ..suite import NotAvailable, Suite
from ..workers import PATIENCE, ask, until
from .profile import PROFILE

SCHEMA = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})


class Karapace(Suite):
    name = "karapace"
    about = "the schema registry Karapace, which stores in Kafka"
    settings = PROFILE

    def prepare(self, lab):
        try:
            self.python = python_environment("karapace", ["karapace"])
        except subprocess.CalledProcessError as error:
            said = [line for line in error.stderr.decode(errors="replace").splitlines() if line.startswith("ERROR")]
            raise NotAvailable(f"pip install karapace: {' '.join(said)}"[:300]) from None

    def run(self, lab):
        address = f"127.0.0.1:{lab.server.port + 1}"
        self.log = open(lab.work / "karapace.log", "ab")
        settings = {**os.environ, "KARAPACE_BOOTSTRAP_URI": lab.server.address, "KARAPACE_PORT": address.split(":")[1],
                    "KARAPACE_HOST": "127.0.0.1", "KARAPACE_KARAPACE_REGISTRY": "true"}
        process = self.start(settings)
        try:
            began = time.monotonic()
            up = until(lambda: ask(address, "/subjects") == [])
            stored = ask(address, "/subjects/orders-value/versions", {"schema": SCHEMA}) if up else None
            yield Row("a schema is stored", "pass" if stored else "fail", time.monotonic() - began,
                      "" if stored else f"nothing within {PATIENCE} s")
            process.kill()
            process.wait()
            process = self.start(settings)
            began = time.monotonic()
            there = until(lambda: ask(address, "/subjects") == ["orders-value"])
            yield Row("it is there when the registry was killed", "pass" if there else "fail", time.monotonic() - began)
        finally:
            process.kill()

    def start(self, settings):
        return subprocess.Popen([self.python, "-m", "karapace"], env=settings, stdout=self.log, stderr=self.log)
