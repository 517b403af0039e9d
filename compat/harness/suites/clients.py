"""Clients write the same records, read them back, and read what others wrote; the broker is killed and started again."""

import os

from ..clients import CLIENTS, READER, SMOKE
from ..results import Row
from ..suite import Suite


class Clients(Suite):
    name = "clients"
    about = "eleven clients of today: records of every shape in every codec, before and after kill -9"
    quick = True

    def prepare(self, lab):
        names = [name for name in (SMOKE if lab.is_quick else CLIENTS) if lab.wants(name) or name == READER]
        if lab.options.broker != "highwater" and not os.environ.get("HIGHWATER_BIN"):
            names = [name for name in names if name != "highwater-cli"]
        self.clients, self.errors = {}, {}
        for name in names:
            client = CLIENTS[name](lab)
            error = client.prepare()
            self.clients[name] = client
            if error:
                self.errors[name] = error
                del self.clients[name]

    def run(self, lab):
        for name, error in self.errors.items():
            yield Row(f"{name}: prepare", "not available", 0, error)
        for name, client in self.clients.items():
            lab.count_requests()
            yield from rows(name, "write", client.write)
            yield from rows(name, "read", client.check)
            lab.count_requests(name)
        for name in self.clients:
            if name != READER:
                yield from rows(name, f"read by {READER}", lambda writer=name: self.clients[READER].check(writer))
        lab.count_requests(READER)
        lab.server.kill()
        lab.server.start()
        for name, client in self.clients.items():
            yield from rows(name, "after kill -9", client.check)
            lab.count_requests(name)


def rows(client, phase, action):
    found = action()
    for case, result, seconds, detail in found:
        yield Row(f"{client}: {case}: {phase}", "pass" if result == "ok" else "fail", seconds, detail)
    if not found:
        yield Row(f"{client}: all: {phase}", "fail", 0, "the client said nothing")
