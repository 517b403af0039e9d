"""Static members (KIP-345): one is killed, and another process takes its place without the others noticing."""

from .feed import Failed
from .groups import PARTITIONS, Run


class StaticRun(Run):
    """Three members of one client, each with an instance id. The protocol is an eager one, so that a member is told all that it has
    whenever the group rebalances, and only then."""

    session_ms = 45_000
    """Longer than a client takes to start on a busy machine."""

    def __init__(self, server, number, client):
        super().__init__(server, number, client, client, "range")
        self.instances = ["a", "b", "c"]

    def disturb(self):
        self.seen.wait_for_event(self.is_settled, "the group does not settle")
        self.wait_for_more()
        # One of them leads the group.
        for place in range(3):
            self.replace(place, kill=True)
        self.replace(0, kill=False)

    def is_settled(self):
        given = [program.assigned[-1] if program.assigned else set() for program in self.programs]
        return all(given) and sum(map(len, given)) == PARTITIONS and set().union(*given) == set(range(PARTITIONS))

    def replace(self, place, kill):
        """Another process with the same instance id, after `kill -9` of the first one or beside it."""
        old = self.programs[place]
        others = [program for program in self.programs if program is not old]
        before = [len(program.assigned) for program in others]
        if kill:
            old.end()
        new = self.programs[place] = self.start(place)
        try:
            self.seen.wait_for_event(lambda: new.assigned, "the replacement is given nothing")
            if not kill:
                self.seen.wait_for_event(lambda: old.is_fenced, "the old one is not fenced")
        finally:
            old.end()
        self.wait_for_more()
        if new.assigned[-1] != old.assigned[-1]:
            raise Failed(f"{new.assigned[-1]} in the place of {old.assigned[-1]}")
        if [len(program.assigned) for program in others] != before:
            raise Failed("the others were assigned anew")
