"""Clients of years ago do what those of today do in the suite `clients`: Kafka 4 serves clients from 2.1 on, and so must we."""

import os
import subprocess

from ..clients import CODECS, Client
from ..programs import Java, Python, python_environment
from ..results import Row
from ..suite import Suite
from ..tools import BUILT, CLIENTS as SOURCES, maven_libraries, run
from .clients import rows
from .rust import unpacked


def java(version):
    libraries = lambda: [maven_libraries(f"kafka-clients-{version}", SOURCES / "java" / "client" / "pom.xml",
                                         f"kafka-clients-{version}.jar", version=version)]
    return Java("Compat", "-Xmx256m", classes=f"java-{version}", libraries=libraries)


class OldLibrdkafka(Python):
    """confluent-kafka 1.9.2, built against librdkafka 1.9.2 out of the crate that carries its source: there are no wheels of it for a
    Python of today."""

    def __init__(self):
        super().__init__("confluent.py", environment="librdkafka-1.9")

    def prepare(self):
        prefix = BUILT / "librdkafka-1.9-installed"
        if not (prefix / "lib" / "librdkafka.so").exists():
            source = unpacked("rdkafka-sys", "4.3.0+1.9.2") / "librdkafka"
            run(["./configure", f"--prefix={prefix}", "--disable-debug-symbols"], cwd=source)
            run(["make", "-j2", "libs"], cwd=source, timeout=1200)
            run(["make", "-C", "src", "install"], cwd=source)
        flags = {"C_INCLUDE_PATH": f"{prefix}/include", "LIBRARY_PATH": f"{prefix}/lib", "LDFLAGS": f"-Wl,-rpath,{prefix}/lib"}
        self.python = python_environment(self.environment, ["--no-binary", "confluent-kafka", "confluent-kafka==1.9.2"],
                                         env={**os.environ, **flags})


PROGRAMS = {
    "java 2.1": java("2.1.1"),
    "java 2.8": java("2.8.2"),
    "java 3.4": java("3.4.1"),
    "java 3.9": java("3.9.1"),
    "java 4.0": java("4.0.1"),
    "librdkafka 1.9": OldLibrdkafka(),
    "librdkafka 2.0": Python("confluent.py", "confluent-kafka==2.0.2", environment="librdkafka-2.0"),
    "librdkafka 2.6": Python("confluent.py", "confluent-kafka==2.6.1", environment="librdkafka-2.6"),
    "kafka-python 2.0": Python("kafka_python.py", "kafka-python==2.0.2", *CODECS, environment="kafka-python-2.0"),
}


class OldClient(Client):
    def __init__(self, lab, name):
        super().__init__(lab)
        self.name, self.program = name.replace(" ", "-"), PROGRAMS[name]


class OldClients(Suite):
    name = "clients-old"
    about = "Java clients 2.1, 2.8, 3.4, 3.9 and 4.0, librdkafka 1.9, 2.0 and 2.6, kafka-python 2.0.2"

    def prepare(self, lab):
        self.clients, self.errors = {}, {}
        for name in PROGRAMS:
            if not lab.wants(name):
                continue
            client = OldClient(lab, name)
            try:
                client.prepare()
                self.clients[name] = client
            except subprocess.CalledProcessError as error:
                said = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
                self.errors[name] = f"{error.cmd[0]} ...: {' '.join(said)}"

    def run(self, lab):
        for name, error in self.errors.items():
            yield Row(f"{name}: prepare", "not available", 0, error)
        for name, client in self.clients.items():
            lab.count_requests()
            yield from rows(name, "write", client.write)
            yield from rows(name, "read", client.check)
            lab.count_requests(name)
        # Each reads what the next one has written.
        names = list(self.clients)
        for name, writer in zip(names, names[1:] + names[:1]):
            yield from rows(name, f"what {writer} wrote", lambda name=name, writer=writer: self.clients[name].check(writer.replace(" ", "-")))
            lab.count_requests(name)
