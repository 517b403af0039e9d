"""docs/benchmarks.md with its plot and its figures: generated, nothing in them is written by hand."""

import json
import platform
import re
import subprocess
from datetime import date
from pathlib import Path

from harness.tools import ROOT

from .plot import plot


def write_pages(results, folder):
    rows = list(results.rows())
    (folder / "benchmarks.json").write_text(json.dumps(document(results, rows), indent=1) + "\n")
    (folder / "benchmarks.svg").write_text(plot(rows))
    (folder / "benchmarks.md").write_text(page(results, rows))


def document(results, rows):
    return {
        "machine": {**machine(), "figures": results.machine},
        "versions": results.versions,
        "command": command(results.options),
        "rounds": results.options.rounds,
        "runs": [{"case": case.name, "durability": durability, "load": list(map(str, case.load)), "brokers": of}
                 for (case, durability), of in results.runs.items()],
        "ratios": [{"case": row.case.name, "durability": row.durability, "figure": row.bar.figure, "ratios": row.ratios,
                    "must_be": row.must_be, "verdict": row.verdict} for row in rows],
    }


def page(results, rows):
    judged = [row for row in rows if row.verdict]
    short = [row for row in judged if row.verdict == "falls short"]
    others = [row for row in rows if not row.verdict]
    ours, theirs = [*results.names, "-"][:2]
    lines = [
        "# Benchmarks", "",
        f"Written by `{command(results.options)}`, which repeats it; nothing here is written by hand. {date.today():%B %Y}, "
        f"{results.options.rounds} rounds, {results.minutes:.0f} minutes.", "",
        f"{results.versions[ours]} and {results.versions.get(theirs, '-')} in turn, case by case, with the same client "
        "([examples/load](../examples/load/main.rs)), on one machine that client and broker share. `os`: both answer from the page "
        "cache. `fsync`: both sync before they answer (Kafka with `log.flush.interval.messages=1`). Figures are medians of the rounds. "
        "Each round gives one ratio: their median, least and greatest. Below 1 is less than the other broker, which is good but for "
        "records and GB a second.", "",
        *machine_lines(results), "",
        "![Ratios on a logarithmic scale](benchmarks.svg)", "",
        f"## What must be: {len(judged) - len(short)} of {len(judged)} hold", "",
        *markdown(results.head(), judged), "",
        "## The rest", "",
        *markdown(results.head()[:6], others), ""]
    if results.failures:
        lines += ["## Failed", "", *(f"- {failure}" for failure in results.failures), ""]
    lines += ["## The cases", "", "Each is a run of `load`; " + f"`--seconds` is that share of {results.options.seconds:g}. "
              "All figures of all rounds are in [benchmarks.json](benchmarks.json).", "",
              "| case | load | share |", "|---|---|---|",
              *(f"| {case.title} | `load {' '.join(map(str, case.load))}` | {case.share:g} |" for case in unique(results)), ""]
    return "\n".join(lines)


def unique(results):
    return {case.title: case for case, _ in results.runs}.values()


def markdown(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    last = None
    for row in rows:
        cells = row.cells()[:len(head)]
        if cells[7:] == ["falls short"]:
            cells[7] = "**falls short**"
        # A case is named once.
        named, last = (["", ""] if cells[:2] == last else cells[:2]), cells[:2]
        yield "| " + " | ".join([*named, *cells[2:]]) + " |"


def command(options):
    words = ["benches/compare", *options.case]
    for name, default in (("rounds", 3), ("seconds", 3), ("brokers", "highwater,kafka"), ("durability", "os,fsync")):
        if getattr(options, name) != default:
            words += [f"--{name}", f"{getattr(options, name):g}" if name == "seconds" else str(getattr(options, name))]
    return " ".join([*words, "--write"])


def machine():
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1])
    return {
        "processor": cpu[1] if cpu else platform.machine(),
        "cores": len(re.findall(r"^processor", Path("/proc/cpuinfo").read_text(), re.M)),
        "memory_gib": round(memory / 2**20),
        "kernel": f"Linux {platform.release().split('-')[0]}",
        "java": first_line(["java", "-version"]),
        "rust": first_line(["rustc", "--version"]),
        "commit": first_line(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]),
    }


def machine_lines(results):
    of, figures = machine(), results.machine
    yield (f"Machine: {of['cores']} cores ({of['processor']}), {of['memory_gib']} GiB, {of['kernel']}. {of['java']}, {of['rust']}, "
           f"commit {of['commit']}. One fdatasync after an append of 4 KiB took {figures['fdatasync_after_4k_append_p50_ms']:.3f} ms "
           f"(p99 {figures['fdatasync_after_4k_append_p99_ms']:.3f}), a message to another thread and back "
           f"{figures['loopback_round_trip_p50_ms']:.3f} ms (p99 {figures['loopback_round_trip_p99_ms']:.3f}).")


def first_line(command):
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (ended.stdout or ended.stderr).splitlines()[0]
