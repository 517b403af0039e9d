"""One seeded script of requests, plain and odd, to Apache Kafka and to the broker under test: answers compared field by field."""

import time

from differential.lab import OURS, SETTINGS, Lab
from differential.script import play
from differential.tally import Tally

from ..results import Row
from ..script import progress
from ..suite import NotAvailable, Suite
from ..tools import kafka_libraries

REQUESTS = 20_000


class Differential(Suite):
    name = "differential"
    about = "20,000 requests by a seed, plain and odd, every API and version, to it and to Apache Kafka 4.4.0: answers compared"
    settings = SETTINGS + OURS

    def prepare(self, lab):
        if ":" in lab.options.broker:
            raise NotAvailable("a broker that is only known by its address keeps what others have made")
        kafka_libraries()

    def run(self, lab):
        seed = lab.options.seed if lab.options.seed is not None else time.time_ns() % 1_000_000
        progress(f"--seed {seed}")
        both, tally, began = Lab.beside(lab.server, lab.work), Tally(seed), time.monotonic()
        try:
            play(both, tally, REQUESTS)
        finally:
            both.stop_kafka()
        progress(tally.sum(time.monotonic() - began))
        for (api, version), counts in tally.by_api.items():
            yield Row(f"{api} v{version}", "fail" if counts["differ"] else "pass", 0, tally.first(api, version))
