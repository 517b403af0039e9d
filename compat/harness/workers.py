"""Workers of Kafka Connect and of MirrorMaker, as processes, and kcat beside them."""

import json
import subprocess
import time
import urllib.error
import urllib.request

from .kafka_path import kafka_path
from .tools import CLIENTS as SOURCES, maven_libraries

PATIENCE = 120
"""Seconds for something to come about that a worker has to do."""


def libraries():
    return maven_libraries("connect-libraries", SOURCES / "java" / "connect" / "pom.xml", "connect-mirror-4*.jar", "connect-file-*.jar")


class Worker:
    """A Java program with its settings in files."""

    def __init__(self, work, name, main, *settings):
        """`settings` are dictionaries, each of a file."""
        self.log = open(work / f"{name}.log", "ab")
        files = []
        for number, values in enumerate(settings):
            files.append(work / f"{name}-{number}.properties")
            files[-1].write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        logging = kafka_path() / "log4j2.properties"
        self.command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={logging}",
                        "-cp", f"{libraries()}/*", main, *(str(file) for file in files)]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def until(done, seconds=PATIENCE):
    """Whether it comes about in time."""
    limit = time.monotonic() + seconds
    while not done():
        if time.monotonic() > limit:
            return False
        time.sleep(0.25)
    return True


def ask(address, path, body=None):
    """The REST interface of Connect; None while it is not there."""
    request = urllib.request.Request(f"http://{address}{path}", json.dumps(body).encode() if body else None,
                                     {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"{}")
    except (OSError, urllib.error.HTTPError):
        return None


def produce(address, topic, lines):
    text = "".join(f"{line}\n" for line in lines)
    subprocess.run(["kcat", "-b", address, "-P", "-t", topic, "-X", "acks=all"], input=text, text=True, check=True, capture_output=True,
                   timeout=60)


def consume(address, topic):
    """All records of a topic, or none if there is no such topic."""
    done = subprocess.run(["kcat", "-b", address, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-X", "check.crcs=true", "-X",
                           "allow.auto.create.topics=false", "-X", "isolation.level=read_committed"],
                          capture_output=True, text=True, errors="replace", timeout=60)
    return done.stdout.splitlines()
