"""What is measured, and what it should come to.

A bar is a ratio against the other broker in the same run, unless it says otherwise.
"""

from dataclasses import dataclass

RUNNING = "running"  # on a broker that serves all such cases, and was warmed up if it is a JVM
FRESH = "fresh"      # on a broker of its own, just started on an empty directory
STARTS = "starts"    # the load starts and stops the broker itself


@dataclass(frozen=True)
class Bar:
    """A figure of a case; `most` or `least` is what it must be, None if it is only shown."""
    figure: str
    title: str
    most: float = None
    least: float = None
    absolute: bool = False  # of the figure itself


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    load: tuple
    bars: tuple
    share: float = 1  # of the seconds asked for
    durability: tuple = ("os",)
    broker: str = RUNNING
    short: tuple = ()  # more arguments for a short run


BOTH = ("os", "fsync")
CPU = Bar("broker_us_per_record", "broker CPU, us a record", most=1 / 3)
RATE = Bar("records_per_s", "records a second", least=1.5)


# Segments as on a network. Those of the loopback, 64 KiB, fill the receive buffer that brokers ask for by default with one or two
# of them; a broker that is late to read, which is Kafka more often, then waits for timers of TCP.
ETHERNET = ("--segment-bytes", 1448)


def raw(name, title, *load, cpu=CPU, durability=("os",), segments=ETHERNET):
    bare = Bar("bare_us_per_record", "CPU to receive and write it without a broker, us a record")
    return Case(name, title, ("raw", "--beside-bare", *load, *segments), (cpu, bare, RATE), share=0.5, durability=durability)


def matrix():
    """Sizes, partitions, connections."""
    for size, title in ((100, "100 B"), (1024, "1 KiB")):
        for partitions in (1, 6, 64):
            for connections in (1, 8):
                name = f"raw-{size}B-p{partitions}-c{connections}"
                what = f"{title}, 64 KiB batches, {partitions} partitions, {connections} connections"
                durability = BOTH if (partitions, connections) == (6, 8) else ("os",)
                yield raw(name, what.replace("1 partitions", "1 partition").replace("1 connections", "1 connection"),
                          "--size", size, "--partitions", partitions, "--connections", connections, durability=durability)


def others():
    for size, title in ((100, "100 B"), (1024, "1 KiB")):
        for codec in ("lz4", "zstd"):
            yield raw(f"raw-{size}B-{codec}", f"{title} in {codec}, 64 KiB before it, 6 partitions, 4 connections",
                      "--size", size, "--codec", codec)
    for name, title, segments in (("", "", ETHERNET), ("-loopback", ", segments of 64 KiB", ())):
        yield raw(f"raw-16-partitions{name}", f"100 B, 16 partitions of 4 KiB in each request, 4 connections{title}",
                  "--batch-bytes", 4096, "--partitions", 64, "--per-request", 16, segments=segments,
                  cpu=Bar("broker_us_per_record", "broker CPU, us a record", most=1 / 20))
    yield raw("raw-one-record", "one record of 100 B in each request, 8 connections",
              "--batch-bytes", 1, "--connections", 8, durability=BOTH,
              cpu=Bar("broker_us_per_record", "broker CPU, us a request", most=1 / 6))
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        yield Case(f"client-{codec}", f"librdkafka, idempotent, 100 B, 6 partitions, codec {codec}", ("client", "--codec", codec),
                   (Bar("broker_us_per_record", "broker CPU, us a record"), Bar("records_per_s", "records a second")), share=0.7)


def at_a_rate():
    half = Bar("p50_ms", "p50, ms", most=1 / 2), Bar("p99_ms", "p99, ms", most=1 / 2)
    yield Case("single", "one record of 100 B in flight", ("single",), half)
    yield Case("single-fsync", "one record of 100 B in flight", ("single", "--beyond-sync"),
               (Bar("p50_ms", "p50, ms"), Bar("p99_ms", "p99, ms"), Bar("sync_p50_ms", "one fdatasync without a broker, p50, ms"),
                Bar("beyond_sync_ms", "p50 beyond one fdatasync, ms", most=0.060, absolute=True)), durability=("fsync",))
    for rate, size, title in ((20_000, 100, "20 k/s of 100 B"), (100_000, 100, "100 k/s of 100 B"), (50_000, 1024, "50 k/s of 1 KiB")):
        bars = [Bar("ack_p50_ms", "ack p50, ms"), Bar("ack_p99_ms", "ack p99, ms", most=1 / 3),
                Bar("ack_p99.9_ms", "ack p99.9, ms", most=1 / 2), Bar("end_to_end_p99_ms", "end to end p99, ms", most=1 / 3),
                Bar("broker_us_per_record", "broker CPU, us a record", most=1 / 4 if size == 100 else None)]
        load = ("rate", "--rate", rate, "--size", size)
        yield Case(f"rate-{rate // 1000}k-{size}B", title, load, tuple(bars))
        bars = (Bar("ack_p50_ms", "ack p50, ms"), Bar("ack_p99_ms", "ack p99, ms", most=None if rate == 100_000 else 5, absolute=True),
                Bar("end_to_end_p99_ms", "end to end p99, ms"), Bar("broker_us_per_record", "broker CPU, us a record"))
        yield Case(f"rate-{rate // 1000}k-{size}B-fsync", title, load, bars, durability=("fsync",))


def reading():
    bars = []
    for readers in (1, 4):
        bars += [Bar(f"readers{readers}_broker_s_per_gb", f"{readers} at once: broker CPU, s a GB", most=1),
                 Bar(f"readers{readers}_gb_per_s", f"{readers} at once: GB a second", least=1)]
    for name, title, segments in (("", "", ()), ("-ethernet", ", segments of an Ethernet", ETHERNET)):
        yield Case(f"catch-up{name}", f"1 GiB of 1 KiB records from its beginning{title}", ("catch-up", *segments), tuple(bars),
                   short=("--mib", 32))
    for readers in (1, 4, 16):
        title = f"48 k/s of 1 KiB, {readers} at its end".replace("1 at its end", "one reader at its end", readers == 1)
        yield Case(f"tail-{readers}", title, ("tail", "--readers", readers),
                   (Bar("broker_cores", "broker cores", most=1 / 2 if readers == 4 else None),))


def at_scale():
    yield Case("idle", "5,000 idle connections", ("idle",),
               (Bar("open_broker_us_each", "broker CPU to open one, us", most=1 / 4),
                Bar("beside_p99_ms", "one record in flight beside them, p99, ms", most=1 / 2),
                Bar("idle_broker_ms_per_s", "broker CPU with them, ms a second")), share=0.7, short=("--connections", 100))
    yield Case("idle-memory", "5,000 idle connections of a fresh broker", ("idle",),
               (Bar("memory_mib", "memory of the broker, MiB", most=1 / 5), Bar("memory_kib_each", "memory of each, KiB")),
               share=0.2, broker=FRESH, short=("--connections", 100))
    yield Case("partitions", "10,000 partitions", ("partitions",),
               (Bar("create_s", "created, s", most=1 / 20), Bar("memory_mib", "memory with a record in each, MiB", most=1 / 12),
                Bar("clean_served_s", "all served after a clean stop, s", most=1 / 20),
                Bar("killed_served_s", "all served after kill -9, s", most=1 / 20),
                Bar("first_records_s", "the first record in each, one after the other, s"),
                Bar("clean_each_asked_s", "each asked for its end after a clean stop, s"),
                Bar("killed_each_asked_s", "each asked for its end after kill -9, s")),
               broker=STARTS, short=("--partitions", 100))
    yield Case("groups", "a new group of a fresh broker", ("first-records",),
               (Bar("first_group_ms", "first record, first group, ms", most=10, absolute=True),
                Bar("later_group_ms", "first record, later groups, ms", most=5, absolute=True)), broker=FRESH)
    yield Case("start", "start on an empty directory", ("start",),
               (Bar("answer_ms", "first correct answer, ms", most=10, absolute=True),
                Bar("format_ms", "format step before it, ms"), Bar("first_record_ms", "first record, ms"),
                Bar("memory_mib", "memory when idle, MiB", most=15, absolute=True),
                Bar("idle_broker_ms_per_s", "CPU when idle, ms a second"), Bar("answer_again_ms", "started again, ms")), broker=STARTS)


CASES = (*matrix(), *others(), *at_a_rate(), *reading(), *at_scale())
