"""How each client is made ready and run. Every client program is called as `PROGRAM write|check BOOTSTRAP PREFIX` and
prints one line for each case: name, `ok` or `FAIL`, and what was wrong, separated by tabs."""

import os
import subprocess
import sys

from .tools import BUILT, CLIENTS as SOURCES, ROOT, STEP_SECONDS, TARGET, highwater_binary, kafka_libraries
from .tools import apt_install, need_program, run


class Client:
    """One client program. Its topics begin with its own name."""

    name = ""

    def __init__(self, server):
        self.server = server

    def prepare(self):
        """Builds or installs it; an error text if that cannot be."""
        return None

    def command(self):
        raise NotImplementedError

    def write(self):
        return self.lines("write", self.name)

    def check(self, prefix=None):
        return self.lines("check", prefix or self.name)

    def lines(self, verb, prefix):
        command = [str(c) for c in [*self.command(), verb, self.server.address, prefix]]
        try:
            done = subprocess.run(command, capture_output=True, timeout=STEP_SECONDS, cwd=ROOT, env=self.environment())
        except subprocess.TimeoutExpired:
            return [("all", "FAIL", f"no end after {STEP_SECONDS} s")]
        rows = [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines()]
        rows = [(row[0], row[1], row[2] if len(row) > 2 else "") for row in rows if len(row) >= 2]
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
            rows.append(("all", "FAIL", f"exit {done.returncode}: {' | '.join(said)}"))
        return rows

    def environment(self):
        return os.environ


def python_environment():
    """A Python with confluent-kafka, in an environment of its own."""
    environment = BUILT / "python"
    python = environment / "bin" / "python"
    if not (environment / "ready").exists():
        try:
            run([sys.executable, "-m", "venv", environment])
        except subprocess.CalledProcessError:
            apt_install("python3-venv")
            run([sys.executable, "-m", "venv", "--clear", environment])
        run([python, "-m", "pip", "install", "-q", "-r", SOURCES / "python" / "requirements.txt"], timeout=600)
        (environment / "ready").touch()
    return python


class Confluent(Client):
    name = "confluent-kafka"

    def prepare(self):
        self.python = python_environment()

    def command(self):
        return [self.python, SOURCES / "python" / "confluent.py"]


class Kcat(Client):
    name = "kcat"

    def prepare(self):
        self.python = python_environment()
        return need_program("kcat", "kcat")

    def command(self):
        return [self.python, SOURCES / "python" / "kcat.py"]


class HighwaterCli(Client):
    name = "highwater-cli"

    def prepare(self):
        self.binary = highwater_binary()

    def command(self):
        return [sys.executable, SOURCES / "python" / "highwater_cli.py"]

    def environment(self):
        return {**os.environ, "HIGHWATER_BIN": str(self.binary)}


class Rdkafka(Client):
    name = "rdkafka"

    def prepare(self):
        run(["cargo", "build", "--locked", "--example", "compat-rdkafka"], cwd=ROOT, timeout=1200)

    def command(self):
        return [TARGET / "debug" / "examples" / "compat-rdkafka"]


class Java(Client):
    name = "java"

    def prepare(self):
        self.libraries = kafka_libraries()
        run(["javac", "-cp", f"{self.libraries}/*", "-d", BUILT / "java", SOURCES / "java" / "Compat.java"])

    def command(self):
        return ["java", "-cp", f"{BUILT / 'java'}:{self.libraries}/*", "Compat"]


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

    def prepare(self):
        run(["go", "build", "-o", BUILT / "franz", "."], cwd=SOURCES / "franz", timeout=600)

    def command(self):
        return [BUILT / "franz"]


class Kafkajs(Client):
    name = "kafkajs"

    def prepare(self):
        folder = BUILT / "kafkajs"
        folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json", "client.mjs"):
            (folder / file).write_bytes((SOURCES / "kafkajs" / file).read_bytes())
        if not (folder / "node_modules").exists():
            run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, timeout=600)
        self.program = folder / "client.mjs"

    def command(self):
        return ["node", self.program]


CLIENTS = {c.name: c for c in (Kcat, Confluent, HighwaterCli, Rdkafka, Java, JavaConsole, Franz, Kafkajs)}
SMOKE = ["kcat", "confluent-kafka", "highwater-cli"]
READER = "confluent-kafka"
