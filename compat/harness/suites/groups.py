"""Consumers of different clients share one topic in one group, while one of them crashes and returns and the broker does."""

import time

from ..consumers import CONSUMERS
from ..feed import Failed
from ..groups import PAIRS, SETTINGS, STATIC, Run
from ..programs import python_environment
from ..results import Row
from ..static import StaticRun
from ..suite import Suite


class Groups(Suite):
    name = "groups"
    about = "pairs of clients in one group, static members: members and the broker are killed with -9"
    settings = SETTINGS

    def prepare(self, lab):
        plans = [*PAIRS, *((client, client, "static") for client in STATIC)]
        self.plans = [plan for plan in plans if lab.wants(title(plan))]
        for name in sorted({name for plan in self.plans for name in plan[:2]}):
            CONSUMERS[name].prepare()
        python_environment()  # of the producer

    def run(self, lab):
        for number, plan in enumerate(self.plans):
            began = time.monotonic()
            try:
                detail, result = one_run(lab.server, number, plan).go(), "pass"
            except Failed as error:
                detail, result = str(error), "fail"
            yield Row(title(plan), result, time.monotonic() - began, detail)
            lab.count_requests(" and ".join(dict.fromkeys(plan[:2])))


def title(plan):
    first, second, protocol = plan
    return f"{first} and {second}: {protocol}" if first != second else f"{first}: {protocol}"


def one_run(server, number, plan):
    first, second, protocol = plan
    return StaticRun(server, number, first) if protocol == "static" else Run(server, number, first, second, protocol)
