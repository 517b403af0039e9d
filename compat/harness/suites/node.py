"""Confluent's JavaScript client: what the suite `clients` asks of the others, in one process. kafkajs is one of those."""

import os
import subprocess

from ..clients import Client
from ..suite import NotAvailable, Suite
from ..tools import BUILT, CLIENTS as SOURCES, run
from .clients import rows
from .librdkafka import install_what_it_is_built_with

VERSION = "1.10.1"


class Confluent(Client):
    name = "confluent-javascript"

    def prepare(self):
        self.folder = BUILT / "confluent-javascript"
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "client.mjs"):
            (self.folder / file).write_bytes((SOURCES / "confluent-javascript" / file).read_bytes())
        if not (self.folder / "node_modules" / "@confluentinc" / "kafka-javascript" / "build").exists():
            install_what_it_is_built_with()
            # Linked statically, it would fetch the sources of its libraries from their own sites.
            run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=self.folder, timeout=2400,
                env={**os.environ, "CKJS_LINKING": "dynamic"})

    def command(self):
        return ["node", self.folder / "client.mjs"]


class ConfluentJavascript(Suite):
    name = "confluent-javascript"
    about = f"Confluent's JavaScript client {VERSION}: records of every shape in every codec"

    def prepare(self, lab):
        self.client = Confluent(lab)
        try:
            self.client.prepare()
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            said = (error.stderr or b"").decode(errors="replace").strip().splitlines()[-3:]
            raise NotAvailable(f"npm install @confluentinc/kafka-javascript@{VERSION}: {' | '.join(said) or error}"[:300]) from None

    def run(self, lab):
        yield from rows(self.client.name, "write", self.client.write)
        yield from rows(self.client.name, "read", self.client.check)
