"""What every client does under the suite transactions.

A client program is called as `PROGRAM write BOOTSTRAP TOPIC`. TOPIC has three partitions, TOPIC-in has one with ten records; the
transactional id is TOPIC-id, the group TOPIC-group. Each phase is ten records, PHASE-0 to PHASE-9, number n to partition n mod 3.

    two in a row   `first` and `second`, both committed
    abort          `aborted` written and aborted, then `after` committed
    offsets        `offsets` with offset 5 of TOPIC-in for the group, committed; `no-offsets` with offset 8, aborted
    fencing        `zombie` written; a second instance with the same id begins and commits `heir`; the first cannot commit
    timeout        the id TOPIC-late with a transaction.timeout.ms of LATE_TIMEOUT_MS: `late` written, then nothing for LATE_SECONDS;
                   it cannot commit; its next instance commits `in-time`

For each case one line: name, `ok` or `FAIL`, and a detail (of fencing and timeout: the error), separated by tabs.
"""

PARTITIONS = 3
RECORDS = 10
COMMITTED = ["first", "second", "after", "offsets", "heir", "in-time"]
NOT_COMMITTED = ["aborted", "no-offsets", "zombie", "late"]
GROUP_OFFSET = 5

LATE_TIMEOUT_MS = 4_000
LATE_SECONDS = 15
"""Kafka looks for transactions that are late every ten seconds only."""


def report(name, action):
    try:
        detail = action()
        print(f"{name}\tok\t{detail or ''}", flush=True)
    except Exception as error:  # noqa: BLE001 - whatever a client raises is its result
        print(f"{name}\tFAIL\t{' '.join(f'{type(error).__name__}: {error}'.split())}", flush=True)


def values(phases):
    """By partition, in order."""
    return {p: [f"{phase}-{n}" for phase in phases for n in range(RECORDS) if n % PARTITIONS == p]
            for p in range(PARTITIONS)}
