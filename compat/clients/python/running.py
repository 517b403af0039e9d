"""When a program is to end."""

import signal


class Running:
    """True until SIGTERM."""

    def __init__(self):
        self.goes_on = True
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.goes_on = False

    def __bool__(self):
        return self.goes_on
