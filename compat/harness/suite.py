"""What a suite is, and what it is given while it runs."""

from .script import table


class NotAvailable(Exception):
    """The suite, or what it needs, cannot be had here; the text says what was tried and what was answered."""


class Suite:
    """Tests that belong together, against a broker of their own."""

    name = ""
    about = ""
    """What it is, with the version, in a few words."""
    settings = ()
    """Lines of the broker's properties, of either broker."""
    port = None
    """Where the suite insists on one."""
    quick = False
    """Whether some of it is run for every change; `Lab.is_quick` says so while it runs."""

    def prepare(self, lab):
        """Installs and builds what the suite needs; raises NotAvailable."""

    def run(self, lab):
        """Yields a Row for each test, as soon as it is known."""
        raise NotImplementedError

    def summary(self, rows):
        """What is printed when the suite has run."""
        return table([("test", "result", ""), *((row.test, row.result, row.detail[:100]) for row in rows if row.result != "pass")])


class Lab:
    """A run of a suite: the broker is `server`, logs and files go to `work`."""

    def __init__(self, suite, options, work):
        self.suite, self.options, self.work = suite, options, work
        self.server = None
        self.requests = {}
        """By client: how many requests of each API in each version the broker has read."""

    @property
    def is_quick(self):
        return self.options.quick

    @property
    def is_part(self):
        """Whether tests are left out on purpose."""
        return bool(self.options.quick or self.options.only)

    def wants(self, test):
        return any(part in test for part in self.options.only.split(","))

    def count_requests(self, client="", server=None):
        """Adds what the broker has read since it was asked last to what `client` has asked."""
        for key, count in (server or self.server).requests_since().items():
            counts = self.requests.setdefault(client, {})
            counts[key] = counts.get(key, 0) + count
