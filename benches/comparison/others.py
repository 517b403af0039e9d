"""How much of the machine other processes take while something is measured."""

import os
import resource
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
KERNEL_THREAD = 0x00200000  # PF_KTHREAD
# The clock of the machine counts whole ticks of a hundredth of a second, those of processes do not.
ERROR_SECONDS = 0.1


class Others:
    """Cores that neither this run nor the kernel's own threads have used since it was made; the hypervisor's share counts as other."""

    def __init__(self, brokers):
        self.brokers = brokers
        self.began = time.monotonic()
        self.before = self.seconds()

    def cores(self):
        return max(0.0, self.seconds() - self.before - ERROR_SECONDS) / (time.monotonic() - self.began)

    def seconds(self):
        # Of live brokers; those that have ended are children that were waited for.
        brokers = sum(process_ticks(broker.process.pid)[0] for broker in self.brokers if broker.process)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = resource.getrusage(resource.RUSAGE_SELF)
        ours = sum(usage.ru_utime + usage.ru_stime for usage in (children, own))
        return (machine_ticks() - kernel_ticks() - brokers) / TICKS - ours


def machine_ticks():
    """All but idle ones. Interrupts are charged to the process that they came upon."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return user + nice + system + irq + softirq + steal


def kernel_ticks():
    """Of threads that write to disks and such: their work is mostly that of what is measured."""
    everything = (process_ticks(pid) for pid in os.listdir("/proc") if pid.isdigit())
    return sum(ticks for ticks, flags in everything if flags & KERNEL_THREAD)


def process_ticks(pid):
    """Ticks in user and kernel mode, and the flags of the process; nothing if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0, 0
    return int(fields[11]) + int(fields[12]), int(fields[6])
