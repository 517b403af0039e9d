"""What the Python consumers of the suite groups have in common: what was processed, what of it is to be committed, and saying so.

Every consumer program is called as BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE], ends on SIGTERM, and prints lines:

    assigned P,P,...      what it has been given, each time it is told (nothing behind it for nothing)
    processed P OFFSET
    committed P OFFSET    once the commit has been acknowledged
    fenced                another one goes by its instance id now; it ends

The environment says after how long a silent member is taken for dead: SESSION_MS.
"""

import os

COMMIT_EVERY = 50
SESSION_MS = int(os.environ["SESSION_MS"])


class Progress:
    def __init__(self):
        self.positions = {}
        self.uncommitted = 0

    def processed(self, partition, offset):
        say("processed", partition, offset)
        self.positions[partition] = offset + 1
        self.uncommitted += 1

    def to_commit(self, owned):
        """Positions of the partitions in `owned` if it is time to commit them; empty if not."""
        if self.uncommitted < COMMIT_EVERY:
            return {}
        self.uncommitted = 0
        for partition in self.positions.keys() - set(owned):
            del self.positions[partition]
        return dict(self.positions)


def acknowledged(offsets):
    for partition, offset in offsets.items():
        say("committed", partition, offset)


def assigned(partitions):
    say("assigned", ",".join(str(p) for p in sorted(partitions)))


def fenced():
    say("fenced")


def say(*words):
    print(*words, flush=True)
