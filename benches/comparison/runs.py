"""Runs cases on brokers in turn."""

import sys
import tempfile
import time

from .brokers import LoadFailed, load_binary
from .cases import FRESH, RUNNING, STARTS
from .others import Others

# Until what the last case has deleted is gone from the page cache.
REST_SECONDS = 0.2


class Runner:
    """`measured` is called after each case."""

    def __init__(self, brokers, options, results, measured):
        self.brokers = brokers
        self.options = options
        self.results = results
        self.measured = measured
        self.load = load_binary()

    def run(self, cases, durability):
        on_running = [case for case in cases if case.broker == RUNNING]
        try:
            for case in on_running:
                self.start_those_missing()
                self.rounds(case, durability, self.on_running)
        finally:
            for broker in self.brokers:
                if broker.process:
                    broker.go_on()
                    broker.end()
        for case in cases:
            if case.broker == FRESH:
                self.rounds(case, durability, self.on_fresh)
            if case.broker == STARTS:
                self.rounds(case, durability, self.starting)

    def start_those_missing(self):
        """All at first; later one that has ended in a case, which is not to spoil those behind it."""
        for broker in self.brokers:
            if broker.process and broker.process.poll() is None:
                continue
            progress(f"starting {broker.name}, {broker.durability}")
            if broker.process:
                broker.end()
            broker.make_new()
            broker.start(self.load)
            seconds = 0.2 if self.options.short else broker.warm_seconds
            self.load.figures("warm", "--seconds", seconds, *broker.running())
            broker.hold()

    def rounds(self, case, durability, measure):
        runs = self.results.begin(case, durability)
        began = time.monotonic()
        for number in range(self.options.rounds):
            for broker in self.brokers:
                turn, others = time.monotonic(), Others(self.brokers)
                try:
                    figures = measure(case, broker)
                except LoadFailed as error:
                    figures = {"failed": str(error)}
                runs.brokers.setdefault(broker.name, []).append(figures)
                cores = others.cores()
                runs.others_cores = max(runs.others_cores, round(cores, 3))
                progress(f"{case.name}, {durability}, round {number + 1}: {broker.name}, {time.monotonic() - turn:.1f} s, "
                         f"others {cores:.2f} cores{', FAILED' if 'failed' in figures else ''}")
        runs.seconds = time.monotonic() - began
        self.measured()

    def on_running(self, case, broker):
        broker.go_on()
        try:
            return self.load.figures(*self.arguments(case), *broker.running())
        finally:
            time.sleep(REST_SECONDS)
            broker.hold()

    def on_fresh(self, case, broker):
        broker.make_new()
        try:
            broker.start(self.load)
            return self.load.figures(*self.arguments(case), *broker.running())
        finally:
            broker.end()

    def starting(self, case, broker):
        before = broker.make_new()
        try:
            figures = self.load.figures(*self.arguments(case), *broker.to_start(), environment=broker.environment())
            return {**before, **figures}
        finally:
            broker.end()

    def arguments(self, case):
        short = case.short if self.options.short else ()
        return *case.load, *short, "--directory", self.options.directory or tempfile.gettempdir(), "--seconds", self.options.seconds * case.share


def progress(text):
    print(f"-- {text}", file=sys.stderr, flush=True)
