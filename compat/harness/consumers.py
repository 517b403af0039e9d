"""The consumer programs of compat/groups. Each is called as PROGRAM BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE] and prints the lines
that `clients/python/group_progress.py` names."""

from .clients import python_environment
from .tools import BUILT, CLIENTS as SOURCES, ROOT, TARGET, kafka_libraries, run


class Python:
    def __init__(self, program, package=None):
        self.program = SOURCES / "python" / program
        self.package = package

    def prepare(self):
        self.python = python_environment()
        if self.package:
            run([self.python, "-m", "pip", "install", "-q", self.package], timeout=600)

    def command(self):
        return [self.python, self.program]


class Java:
    def prepare(self):
        self.libraries = kafka_libraries()
        run(["javac", "-cp", f"{self.libraries}/*", "-d", BUILT / "java", SOURCES / "java" / "GroupConsumer.java"])

    def command(self):
        return ["java", "-Xmx128m", "-cp", f"{BUILT / 'java'}:{self.libraries}/*", "GroupConsumer"]


class Go:
    def __init__(self, folder, *verb):
        self.folder, self.verb = folder, verb

    def prepare(self):
        run(["go", "build", "-o", BUILT / self.folder, "."], cwd=SOURCES / self.folder, timeout=600)

    def command(self):
        return [BUILT / self.folder, *self.verb]


class Rdkafka:
    def prepare(self):
        run(["cargo", "build", "--locked", "--example", "compat-rdkafka-group"], cwd=ROOT, timeout=1200)

    def command(self):
        return [TARGET / "debug" / "examples" / "compat-rdkafka-group"]


class Kafkajs:
    def prepare(self):
        self.folder = BUILT / "kafkajs"
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in ("package.json", "package-lock.json", "group.mjs"):
            (self.folder / file).write_bytes((SOURCES / "kafkajs" / file).read_bytes())
        if not (self.folder / "node_modules").exists():
            run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=self.folder, timeout=600)

    def command(self):
        return ["node", self.folder / "group.mjs"]


CONSUMERS = {
    "confluent-kafka": Python("group_confluent.py"),
    "kafka-python": Python("group_kafka_python.py", "kafka-python==3.0.12"),
    "aiokafka": Python("group_aiokafka.py", "aiokafka==0.14.0"),
    "rdkafka": Rdkafka(),
    "java": Java(),
    "franz-go": Go("franz", "group"),
    "sarama": Go("sarama"),
    "kafka-go": Go("kafka-go"),
    "kafkajs": Kafkajs(),
}
