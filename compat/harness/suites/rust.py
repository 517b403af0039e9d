"""The tests of two Rust clients, from their crates."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from ..results import Row
from ..suite import NotAvailable, Suite
from ..tools import BUILT, run
from .profile import profile


class CrateTests(Suite):
    crate, version = "", ""
    targets = []
    """Names of test programs."""
    options = []
    """Of `cargo test`."""
    threads = 1
    seconds = 300
    """For each program."""

    def prepare(self, lab):
        self.source = unpacked(self.crate, self.version)
        self.adjust()
        self.environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILT / f"{self.crate}-target")}
        self.environment.pop("RUSTFLAGS", None)
        try:
            run([*self.cargo(), *(word for target in self.targets for word in ("--test", target)), "--no-run"], cwd=self.source,
                env=self.environment, timeout=1800)
        except subprocess.CalledProcessError as error:
            raise NotAvailable(f"{error}: {error.stderr.decode(errors='replace')[-300:]}") from None

    def adjust(self):
        """What has to be changed so that it builds."""

    def cargo(self):
        return ["cargo", "test", "--no-fail-fast", *self.options]

    def run(self, lab):
        for target in self.targets:
            began = time.monotonic()
            # Apart: what clients log would stand between the name of a test and its result.
            log, errors = lab.work / f"{target}.log", lab.work / f"{target}.errors.log"
            with open(log, "wb") as out, open(errors, "wb") as logged:
                try:
                    subprocess.run([*self.cargo(), "--test", target, "--", f"--test-threads={self.threads}",
                                    *([lab.options.only] if lab.options.only else [])], cwd=self.source,
                                   env={**self.environment, **self.addresses(lab.server.address)}, stdout=out, stderr=logged,
                                   timeout=self.seconds)
                except subprocess.TimeoutExpired:
                    pass
            said = log.read_text(errors="replace") or errors.read_text(errors="replace")
            yield from rows(target, said, time.monotonic() - began)

    def addresses(self, address):
        raise NotImplementedError


class RustRdkafka(CrateTests):
    name = "rust-rdkafka"
    about = "rust-rdkafka 0.39.0's own tests"
    settings = profile("num.partitions=3")
    port = 9092
    """One of the tests compares it."""
    crate, version = "rdkafka", "0.39.0"
    targets = ["test_admin", "test_high_consumers", "test_high_producers", "test_low_consumers", "test_low_producers", "test_metadata",
               "test_topic_partition_list", "test_transactions"]

    def addresses(self, address):
        return {"KAFKA_HOST": address}


class Rskafka(CrateTests):
    name = "rskafka"
    about = "rskafka 0.6.0's own tests, with librdkafka beside it"
    settings = profile("log.retention.check.interval.ms=3600000")
    """Its records are from 1970: a check of retention between writing and reading takes them."""
    crate, version = "rskafka", "0.6.0"
    targets = ["client", "consumer", "produce_consume", "producer"]
    options = ["--features", "full"]
    threads = 2

    def adjust(self):
        (self.source / "rust-toolchain.toml").unlink(missing_ok=True)
        # The version that is locked does not build with a compiler of today.
        subprocess.run(["cargo", "update", "-q", "-p", "rsasl"], cwd=self.source, capture_output=True, timeout=300)

    def addresses(self, address):
        return {"TEST_INTEGRATION": "1", "TEST_BROKER_IMPL": "kafka", "KAFKA_CONNECT": address}


def unpacked(crate, version):
    """A copy of the crate's source that may be written to."""
    folder = BUILT / f"{crate}-{version}"
    if (folder / "Cargo.toml").exists():
        return folder
    fetch = BUILT / "fetch"
    shutil.rmtree(fetch, ignore_errors=True)
    run(["cargo", "init", "-q", "--vcs", "none", "--name", "fetch", fetch])
    run(["cargo", "add", "-q", f"{crate}@={version}"], cwd=fetch)
    run(["cargo", "fetch", "-q"], cwd=fetch, timeout=600)
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    shutil.copytree(next(registry.glob(f"*/{crate}-{version}")), folder)
    return folder


def rows(target, text, seconds):
    """The test runner says no times: the tests of a program share what it took."""
    started = re.findall(r"^test (\S+) \.\.\. ?(ok|FAILED|ignored)?", text, re.MULTILINE)
    ended = dict(re.findall(r"^test (\S+) \.\.\. (ok|FAILED|ignored)", text, re.MULTILINE))
    verdicts = {"ok": "pass", "FAILED": "fail", "ignored": "skip"}
    names = dict.fromkeys(name for name, _ in started)
    if not names and not re.search(r"[1-9][0-9]* filtered out", text):
        yield Row(f"{target}: all", "fail", seconds, text.strip().splitlines()[-1][:200] if text.strip() else "it said nothing")
    for name in names:
        yield Row(f"{target}.{name}", verdicts.get(ended.get(name), "fail"), seconds / len(names))
