"""Programs of clients, in every language: how each is made ready, and the command that runs it. What a program is asked to do is
with those who run it (`clients`, `consumers`, `transactions`)."""

import subprocess
import sys

from .tools import BUILT, CLIENTS as SOURCES, ROOT, TARGET, apt_install, kafka_libraries, run


def python_environment(name="python", needs=("-r", SOURCES / "python" / "requirements.txt"), **options):
    """A Python with packages of its own; confluent-kafka, unless something else is said."""
    environment = BUILT / name
    python = environment / "bin" / "python"
    if not (environment / "ready").exists():
        try:
            run([sys.executable, "-m", "venv", environment])
        except subprocess.CalledProcessError:
            apt_install("python3-venv")
            run([sys.executable, "-m", "venv", "--clear", environment])
        run([python, "-m", "pip", "install", "-q", *needs], timeout=900, **options)
        (environment / "ready").touch()
    return python


class Python:
    """With `needs`, packages besides those of the common environment; with `environment`, those alone in an environment of that name."""

    def __init__(self, program, *needs, environment=None):
        self.program = SOURCES / "python" / program
        self.needs, self.environment = needs, environment

    def prepare(self):
        if self.environment:
            self.python = python_environment(self.environment, self.needs)
            return
        self.python = python_environment()
        if self.needs:
            run([self.python, "-m", "pip", "install", "-q", *self.needs], timeout=600)

    def command(self):
        return [self.python, self.program]


class Java:
    """Compiled against the libraries that it runs with: `libraries` gives their folders. `classes` is where it is compiled to,
    `options` are those of the virtual machine."""

    def __init__(self, program, *options, classes="java", libraries=lambda: [kafka_libraries()]):
        self.program, self.options = program, options
        self.classes, self.libraries = BUILT / classes, libraries

    def prepare(self):
        libraries = ":".join(f"{folder}/*" for folder in self.libraries())
        run(["javac", "-cp", libraries, "-d", self.classes, SOURCES / "java" / f"{self.program}.java"])
        self.path = f"{self.classes}:{libraries}"

    def command(self):
        return ["java", *self.options, "-cp", self.path, self.program]


class Go:
    """One program for each folder; `verb` is which of its parts is meant."""

    def __init__(self, folder, *verb):
        self.folder, self.verb = folder, verb

    def prepare(self):
        run(["go", "build", "-o", BUILT / self.folder, "."], cwd=SOURCES / self.folder, timeout=600)

    def command(self):
        return [BUILT / self.folder, *self.verb]


class Rdkafka:
    """An example of this crate."""

    def __init__(self, example):
        self.example = example

    def prepare(self):
        run(["cargo", "build", "--locked", "--example", self.example], cwd=ROOT, timeout=1200)

    def command(self):
        return [TARGET / "debug" / "examples" / self.example]


class Kafkajs:
    def __init__(self, program):
        self.folder, self.program = BUILT / "kafkajs", program

    def prepare(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json", "common.mjs", self.program):
            (self.folder / file).write_bytes((SOURCES / "kafkajs" / file).read_bytes())
        if not (self.folder / "node_modules").exists():
            run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=self.folder, timeout=600)

    def command(self):
        return ["node", self.folder / self.program]
