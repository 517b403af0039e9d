"""docs/benchmarks.md with its plot and its figures, and the table in README.md: generated, nothing in them is written by hand.

What bounds a figure that falls short is told in accounts.md beside this file, under a heading that names its case; the page takes it
over as long as the figure falls short.
"""

import json
import platform
import re
import subprocess
from pathlib import Path

from harness.tools import ROOT

from .plot import plot
from .results import LOUD_CORES

DOCS = ROOT / "docs"
FIGURES = DOCS / "benchmarks.json"
ACCOUNTS = Path(__file__).parent / "accounts.md"
README = ROOT / "README.md"
README_BLOCK = re.compile(r"(?<=<!-- benches/compare begins -->\n).*?(?=<!-- benches/compare ends -->)", re.S)
# Case, durability, figures of the table in README.md.
SHOWN = (("raw-100B-p6-c8", "os", ("broker_us_per_record", "records_per_s")), ("raw-1024B-p6-c8", "os", ("broker_us_per_record",)),
         ("raw-100B-zstd", "os", ("broker_us_per_record",)), ("raw-16-partitions", "os", ("broker_us_per_record",)),
         ("raw-one-record", "os", ("broker_us_per_record",)), ("single", "os", ("p50_ms", "p99_ms")),
         ("single-fsync", "fsync", ("p50_ms", "p99_ms")), ("rate-20k-100B", "os", ("ack_p99_ms", "broker_us_per_record")),
         ("rate-20k-100B-fsync", "fsync", ("ack_p99_ms",)), ("catch-up", "os", ("readers4_broker_s_per_gb",)),
         ("idle-memory", "os", ("memory_mib",)),
         ("partitions", "os", ("create_s", "memory_mib", "clean_served_s", "killed_served_s")),
         ("groups", "os", ("first_group_ms", "later_group_ms")), ("start", "os", ("answer_ms", "memory_mib")))


def write_pages(results):
    rows = list(results.rows())
    FIGURES.write_text(json.dumps(results.document(), indent=1) + "\n")
    (DOCS / "benchmarks.svg").write_text(plot(rows))
    (DOCS / "benchmarks.md").write_text(page(results, rows))
    README.write_text(README_BLOCK.sub(lambda _: readme_table(results, rows), README.read_text()))


def page(results, rows):
    judged = [row for row in rows if row.verdict]
    short = [row for row in judged if row.verdict == "falls short"]
    others = [row for row in rows if not row.verdict]
    ours, theirs = [*results.names, "-"][:2]
    rounds = min(len(of) for runs in results.runs.values() for of in runs.brokers.values())
    lines = [
        "# Benchmarks", "",
        "Written by `benches/compare --write`, which repeats it; nothing here is written by hand but what bounds the figures that "
        f"fall short. At least {rounds} rounds, {results.minutes:.0f} minutes in all.", "",
        f"{results.versions[ours]} and {results.versions.get(theirs, '-')} in turn, case by case, with the same client "
        "([examples/load](../examples/load/main.rs)), on one machine that client and broker share. `os`: both answer from the page "
        "cache. `fsync`: both sync before they answer (Kafka with `log.flush.interval.messages=1`). Figures are medians of the rounds. "
        "Each round gives one ratio: their median, least and greatest. Below 1 is less than the other broker, which is good but for "
        "records and GB a second.", "",
        *machine_lines(results), "",
        *loud_lines(results),
        "![Ratios on a logarithmic scale](benchmarks.svg)", "",
        f"## What must be: {len(judged) - len(short)} of {len(judged)} hold", "",
        *markdown(results.head(), judged), "",
        *account_lines(short),
        "## The rest", "",
        *markdown(results.head()[:6], others), ""]
    if results.failures:
        lines += ["## Failed", "", *(f"- {failure}" for failure in results.failures), ""]
    lines += ["## The cases", "", "Each is a run of `load`; `--seconds` is a share of 3 unless `benches/compare` is told otherwise. "
              "`benches/compare NAME --write` measures one again. All figures of all rounds are in "
              "[benchmarks.json](benchmarks.json).", "",
              "| name | durability | load | share | commit | day |", "|---|---|---|---|---|---|",
              *(f"| {case.name} | {durability} | `load {' '.join(map(str, case.load))}` | {case.share:g} | {runs.commit} | {runs.date} |"
                for case, durability, runs in results.ordered()), ""]
    return "\n".join(lines)


def loud_lines(results):
    loud = [f"{case.name} ({runs.others_cores:.2f})" for case, durability, runs in results.ordered() if runs.is_loud]
    if loud:
        yield (f"**Loud**: other processes took more than {LOUD_CORES:g} of a core while these were measured, and their latencies say "
               f"little: {', '.join(loud)}. `benches/compare --write --left` measures them again.")
        yield ""


def account_lines(short):
    if not short:
        return
    accounts = dict(re.findall(r"^## (\S+)\n+(.*?)\s*(?=^## |\Z)", ACCOUNTS.read_text(), re.M | re.S))
    yield from ("## What bounds those that fall short", "")
    for names in unique(row.case.name for row in short):
        known = [account for name, account in accounts.items() if re.fullmatch(name, names)]
        figures = unique(f"{row.bar.title} ({row.durability})" for row in short if row.case.name == names)
        yield from (f"**{names}** — {'; '.join(figures)}. {' '.join(known) or 'No account yet.'}", "")


def unique(values):
    return list(dict.fromkeys(values))


def markdown(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    last = None
    for row in rows:
        cells = row.cells()[:len(head)]
        if cells[7:] and cells[7].startswith("falls short"):
            cells[7] = f"**{cells[7]}**"
        # A case is named once.
        named, last = (["", ""] if cells[:2] == last else cells[:2]), cells[:2]
        yield "| " + " | ".join([*named, *cells[2:]]) + " |"


def readme_table(results, rows):
    found = {(row.case.name, row.durability, row.bar.figure): row for row in rows}
    shown = [found[case, durability, figure] for case, durability, figures in SHOWN for figure in figures
             if (case, durability, figure) in found]
    return "\n".join([*markdown(results.head()[:6], shown), ""])


def machine():
    """What measures and what is measured beside the brokers."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1])
    return {
        "processor": cpu[1] if cpu else platform.machine(),
        "cores": len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.M)),
        "memory_gib": round(memory / 2**20),
        "kernel": f"Linux {platform.release().split('-')[0]}",
        "java": first_line(["java", "-version"]),
        "rust": first_line(["rustc", "--version"]),
    }


def machine_lines(results):
    of = results.machine
    yield (f"Machine: {of['cores']} cores ({of['processor']}), {of['memory_gib']} GiB, {of['kernel']}. {of['java']}, {of['rust']}. "
           f"One fdatasync after an append of 4 KiB took {of['fdatasync_after_4k_append_p50_ms']:.3f} ms "
           f"(p99 {of['fdatasync_after_4k_append_p99_ms']:.3f}), a message to another thread and back "
           f"{of['loopback_round_trip_p50_ms']:.3f} ms (p99 {of['loopback_round_trip_p99_ms']:.3f}).")


def first_line(command):
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (ended.stdout or ended.stderr).splitlines()[0]
