"""MirrorMaker 2 between the broker under test and an Apache Kafka beside it, in both directions at once."""

import time

from ..brokers import Kafka
from ..results import Row
from ..suite import NotAvailable, Suite
from ..tools import need_program
from ..workers import Worker, consume, libraries, produce, until
from .profile import PROFILE

RECORDS = 2000
SECONDS = 180


class MirrorMaker(Suite):
    name = "mirrormaker"
    about = "MirrorMaker 2 of 4.3.1, from and to Apache Kafka 4.4.0"
    settings = PROFILE

    def prepare(self, lab):
        libraries()
        missing = need_program("kcat", "kcat")
        if missing:
            raise NotAvailable(missing)

    def run(self, lab):
        folder = lab.work / "there"
        folder.mkdir()
        self.here, self.there = lab.server, Kafka(folder, PROFILE, lab.server.port + 20)
        self.there.start()
        self.worker = Worker(lab.work, "mirrormaker", "org.apache.kafka.connect.mirror.MirrorMaker", self.plan())
        self.sent = 0
        try:
            produce(self.here.address, "outward", self.values("outward"))
            produce(self.there.address, "inward", self.values("inward"))
            self.worker.start()
            yield self.check("from Kafka: records arrive", lambda: self.arrived(self.here, "there.inward", "inward"))
            yield self.check("to Kafka: records arrive", lambda: self.arrived(self.there, "here.outward", "outward"))
            yield self.check("from Kafka: heartbeats arrive", lambda: bool(consume(self.here.address, "there.heartbeats")))
            yield self.check("to Kafka: heartbeats arrive", lambda: bool(consume(self.there.address, "here.heartbeats")))
            self.here.kill()
            self.here.start()
            self.sent += RECORDS
            produce(self.here.address, "outward", self.values("outward"))
            produce(self.there.address, "inward", self.values("inward"))
            yield self.check("from Kafka: it goes on when the broker was killed",
                             lambda: self.arrived(self.here, "there.inward", "inward"))
            yield self.check("to Kafka: it goes on when the broker was killed",
                             lambda: self.arrived(self.there, "here.outward", "outward"))
        finally:
            self.worker.kill()
            self.there.stop()

    def plan(self):
        topics = ("replication.factor", "offset-syncs.topic.replication.factor", "heartbeats.topic.replication.factor",
                  "checkpoints.topic.replication.factor", "config.storage.replication.factor", "offset.storage.replication.factor",
                  "status.storage.replication.factor")
        # There are no ACLs to copy.
        return {"clusters": "here, there", "here.bootstrap.servers": self.here.address, "there.bootstrap.servers": self.there.address,
                "here->there.enabled": "true", "there->here.enabled": "true", "here->there.topics": "outward",
                "there->here.topics": "inward", "sync.topic.acls.enabled": "false", "refresh.topics.interval.seconds": "5",
                "emit.heartbeats.interval.seconds": "1", "dedicated.mode.enable.internal.rest": "false",
                **dict.fromkeys(topics, "1")}

    def values(self, topic):
        return [f"{topic} {number}" for number in range(self.sent, self.sent + RECORDS)]

    def arrived(self, server, topic, prefix):
        """All that was sent; what was sent again after a kill may be there twice."""
        return set(consume(server.address, topic)) == {f"{prefix} {number}" for number in range(self.sent + RECORDS)}

    def check(self, name, holds):
        began = time.monotonic()
        result = "pass" if until(holds, SECONDS) else "fail"
        return Row(name, result, time.monotonic() - began, "" if result == "pass" else f"not within {SECONDS} s")
