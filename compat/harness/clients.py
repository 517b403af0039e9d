"""How each client is made ready and run. Every client program is called as `PROGRAM write|check BOOTSTRAP PREFIX` and
prints one line for each case: name, `ok` or `FAIL`, and what was wrong, separated by tabs."""

import os
import subprocess
import sys
import time

from .programs import Go, Java, Kafkajs, Python, Rdkafka
from .tools import CLIENTS as SOURCES, ROOT, STEP_SECONDS, highwater_binary, kafka_libraries, need_program


CODECS = ["lz4", "zstandard", "python-snappy", "crc32c"]
"""What kafka-python compresses with."""


class Client:
    """One client program. Its topics begin with its own name."""

    name = ""
    program = None
    """Where one of the common ones does all that has to be done."""

    def __init__(self, lab):
        self.lab = lab

    def prepare(self):
        """Builds or installs it; an error text if that cannot be."""
        self.program.prepare()
        return None

    def command(self):
        return self.program.command()

    def write(self):
        return self.lines("write", self.name)

    def check(self, prefix=None):
        return self.lines("check", prefix or self.name)

    def lines(self, verb, prefix):
        """Of each case: name, `ok` or `FAIL`, seconds, what was wrong."""
        command = [str(c) for c in [*self.command(), verb, self.lab.server.address, prefix]]
        began = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, timeout=STEP_SECONDS, cwd=ROOT, env=self.environment())
        except subprocess.TimeoutExpired:
            return [("all", "FAIL", STEP_SECONDS, f"no end after {STEP_SECONDS} s")]
        said = [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines()]
        said = [(row[0], row[1], row[2] if len(row) > 2 else "") for row in said if len(row) >= 2]
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
            said.append(("all", "FAIL", f"exit {done.returncode}: {' | '.join(last)}"))
        # The program says no times of its own: its cases share the time that it took.
        each = (time.monotonic() - began) / max(1, len(said))
        return [(case, result, each, detail) for case, result, detail in said]

    def environment(self):
        return os.environ


class Confluent(Client):
    name = "confluent-kafka"
    program = Python("confluent.py")


class Kcat(Client):
    name = "kcat"
    program = Python("kcat.py")

    def prepare(self):
        self.program.prepare()
        return need_program("kcat", "kcat")


class KafkaPythonClient(Client):
    name = "kafka-python"
    program = Python("kafka_python.py", "kafka-python==3.0.12", *CODECS, environment="kafka-python-3.0")


class Aiokafka(Client):
    name = "aiokafka"
    program = Python("aiokafka_records.py", "aiokafka[lz4,snappy,zstd]==0.14.0")


class HighwaterCli(Client):
    name = "highwater-cli"

    def prepare(self):
        self.binary = highwater_binary()

    def command(self):
        return [sys.executable, SOURCES / "python" / "highwater_cli.py"]

    def environment(self):
        return {**os.environ, "HIGHWATER_BIN": str(self.binary)}


class RdkafkaCrate(Client):
    name = "rdkafka"
    program = Rdkafka("compat-rdkafka")


class JavaClient(Client):
    name = "java"
    program = Java("Compat")


class JavaConsole(Client):
    name = "java-console"

    def prepare(self):
        self.libraries = kafka_libraries()

    def command(self):
        return [sys.executable, SOURCES / "python" / "java_console.py"]

    def environment(self):
        return {**os.environ, "CLASSPATH": f"{self.libraries}/*"}


class Franz(Client):
    name = "franz-go"
    program = Go("franz")


class KafkajsClient(Client):
    name = "kafkajs"
    program = Kafkajs("client.mjs")


CLIENTS = {c.name: c for c in (Kcat, Confluent, KafkaPythonClient, Aiokafka, HighwaterCli, RdkafkaCrate, JavaClient,
                               JavaConsole, Franz, KafkajsClient)}
SMOKE = ["kcat", "confluent-kafka", "highwater-cli"]
READER = "confluent-kafka"
