"""librdkafka's own broker tests: its test-runner, in full mode (quick mode leaves the most of many tests out)."""

import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from ..kafka_path import kafka_path
from ..results import Row
from ..suite import NotAvailable, Suite
from ..tools import BUILT, apt_install, run
from .profile import profile

PACKAGE, VERSION = "@confluentinc/kafka-javascript", "1.10.1"
"""The npm package that carries librdkafka 2.15.1 with its tests."""

TESTS = """0001 0002 0003 0005 0007 0008 0011 0012 0013 0014 0015 0016 0017 0018 0019 0020 0021 0022 0026 0029 0030 0031 0033 0034
0035 0036 0038 0039 0040 0041 0042 0044 0045 0048 0049 0050 0051 0052 0053 0054 0055 0056 0057 0059 0060 0061 0063 0064 0065 0067
0068 0069 0070 0073 0075 0076 0077 0081 0082 0083 0084 0085 0086 0088 0090 0091 0093 0094 0098 0099 0103 0107 0109 0110 0111
0112 0114 0115 0119 0122 0123 0125 0127 0129 0130 0132 0137 0139 0140 0150 0170 0171 0172 0173 0174 0175 0176 0177 0178 0179
0180 0181 0184 0185""".split()
PATIENT = ["0089", "0102", "0113", "0118"]
"""They count rebalances, and so want a group that waits for its members to come."""
CONSUMER_PROTOCOL = """0012 0014 0015 0018 0019 0020 0022 0026 0029 0030 0031 0033 0034 0036 0040 0041 0045 0050 0051 0056 0059 0060
0063 0064 0067 0069 0070 0073 0083 0084 0085 0089 0091 0093 0099 0102 0112 0113 0114 0118 0122 0123 0127 0130 0132 0139 0140""".split()
AT_ONCE = 6
"""They mostly wait."""
SECONDS = 600
HOLLOW_SECONDS = 0.01
MULTIPLIER = 3


class Librdkafka(Suite):
    name = "librdkafka"
    about = "librdkafka 2.15.1, its broker test-runner in full mode"
    settings = profile("group.consumer.heartbeat.interval.ms=500")
    protocol = "classic"

    def prepare(self, lab):
        self.tests = build()
        self.kafka = kafka_path()
        (lab.work / "log").mkdir()

    def run(self, lab):
        yield from self.at_once(lab, [test for test in TESTS if lab.wants(test)])
        patient = [test for test in PATIENT if lab.wants(test)]
        if patient:
            lab.count_requests()
            lab.server.start_afresh(["group.initial.rebalance.delay.ms=3000"])
            yield from self.at_once(lab, patient)

    def at_once(self, lab, tests):
        configuration = lab.work / "test.conf"
        configuration.write_text(f"bootstrap.servers={lab.server.address}\nbroker.address.family=v4\n"
                                 f"test.timeout.multiplier={MULTIPLIER}\n")
        environment = {**os.environ, "RDKAFKA_TEST_CONF": str(configuration), "TEST_KAFKA_VERSION": "4.4.0",
                       "KAFKA_PATH": str(self.kafka), "BROKERS": lab.server.address, "LD_LIBRARY_PATH": "../src:../src-cpp",
                       "TEST_CONSUMER_GROUP_PROTOCOL": self.protocol}
        with ThreadPoolExecutor(AT_ONCE) as threads:
            waiting = [threads.submit(self.one, test, lab.work / "log" / f"{test}.log", environment) for test in tests]
            for done in as_completed(waiting):
                yield done.result()

    def one(self, test, log, environment):
        began = time.monotonic()
        with open(log, "wb") as out:
            try:
                code = subprocess.run(["./test-runner", "-p1", "-L"], cwd=self.tests, env={**environment, "TESTS": test}, stdout=out,
                                      stderr=out, timeout=SECONDS).returncode
            except subprocess.TimeoutExpired:
                return Row(test, "fail", SECONDS, f"no end after {SECONDS} s")
        result, detail = verdict(test, code, log.read_text(errors="replace"))
        return Row(test, result, time.monotonic() - began, detail)


class LibrdkafkaConsumerProtocol(Librdkafka):
    name = "librdkafka-848"
    about = "its consumer tests over the consumer protocol (KIP-848)"
    protocol = "consumer"

    def run(self, lab):
        yield from self.at_once(lab, [test for test in CONSUMER_PROTOCOL if lab.wants(test)])


def verdict(test, code, text):
    """From the table that the runner prints: several tests may begin with one number."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = re.findall(rf"^\| *{test}_\S*\s*\|\s*(\w+)\s*\|\s*([0-9.]+)s", text, re.MULTILINE)
    states = {state for state, _ in found}
    if code or "FAILED" in states:
        said = re.findall(r"Test assertion failed: [^\n]*", text) or re.findall(r"### Test [^\n]* failed at[^\n]*", text)
        return "fail", " ".join((said[0] if said else f"exit {code}").split())[:200]
    if "PASSED" in states:
        longest = max(float(seconds) for state, seconds in found if state == "PASSED")
        return ("pass" if longest >= HOLLOW_SECONDS else "hollow"), ""
    return "skip", ""


def build():
    """The folder with the test-runner, built the first time: some minutes."""
    folder = BUILT / "librdkafka"
    tests = folder / "package" / "deps" / "librdkafka" / "tests"
    if (tests / "test-runner").exists():
        return tests
    folder.mkdir(parents=True, exist_ok=True)
    install_what_it_is_built_with()
    try:
        run(["npm", "pack", "--silent", f"{PACKAGE}@{VERSION}"], cwd=folder)
        run(["tar", "xzf", next(folder.glob("*.tgz"))], cwd=folder)
        run(["./configure", "--disable-debug-symbols"], cwd=tests.parent)
        run(["make", "-j2", "libs"], cwd=tests.parent, timeout=1800)
        run(["make", "-j2", "-C", "tests", "build"], cwd=tests.parent, timeout=1800)
    except subprocess.CalledProcessError as error:
        raise NotAvailable(f"{error}: {error.stderr.decode(errors='replace')[-300:]}") from None
    return tests


def install_what_it_is_built_with():
    if os.geteuid() == 0:
        apt_install("gcc", "g++", "make", "zlib1g-dev", "libssl-dev", "libzstd-dev", "libsasl2-dev", "libcurl4-openssl-dev",
                    "rapidjson-dev")
