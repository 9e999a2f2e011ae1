# SPDX-License-Identifier: Apache-2.0
"""Runs cells of ArrayBench and the probes on the virtual machine, as many at once as there are CPUs: virtual time does
not depend on the host's."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import probes
from arraybench import MACHINE, Result

THROUGHPUT = re.compile(r"^throughput: ([0-9.]+)", re.MULTILINE)
SECTIONS = re.compile(r"^sections: ([0-9]+)", re.MULTILINE)


MOST_SECONDS = 300  # host time of one run; the longest take a few
SAMPLE = 16         # runs by which the time of all is estimated


class CellFailed(Exception):
    """A run ended otherwise than with a result; the message repeats its command."""


def command(build, cell, statistics, seconds):
    """The words of one run."""
    words = [f"{build}/bin/elision", "vm", "--machine", MACHINE, "--seed", str(cell.seed), "--variation",
             str(cell.variation), "--lock", cell.design, "--wait", "spin", *cell.rules.lock, "--stats", str(statistics),
             "--", f"{build}/workloads/arraybench", "--threads", str(cell.threads), "--writes", str(cell.writes),
             "--contention", cell.contention, *cell.rules.workload, "--seconds", str(seconds)]
    return words + (["--opt"] if cell.opt else [])


def run_words(words, but=(), environment=None):
    """The finished process, with exit code 0 or one of `but`; a run that hangs ends with its command instead of holding up the
    rest for ever. `environment`: beside this process's."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=MOST_SECONDS, env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired as late:
        raise CellFailed(f"did not end within {MOST_SECONDS} s: {' '.join(words)}") from late
    if done.returncode != 0 and done.returncode not in but:
        raise CellFailed(f"exit code {done.returncode}: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done


def throughput_in(done):
    """What a finished program says of itself."""
    found = THROUGHPUT.search(done.stdout)
    if not found:
        raise CellFailed(f"tells no throughput: {' '.join(done.args)}\n{done.stdout}{done.stderr}")
    return float(found.group(1))


def run_cell(build, cell, seconds):
    with tempfile.TemporaryDirectory() as folder:
        statistics = pathlib.Path(folder) / "statistics.json"
        words = command(build, cell, statistics, seconds)
        done = run_words(words)
        document = json.loads(statistics.read_text())
    totals = document["totals"]
    return Result(throughput_in(done), int(SECTIONS.search(done.stdout).group(1)), totals["commits"],
                  totals["always_abort_begins"], {cause: n for cause, n in totals["aborts"].items() if n},
                  document["drawn"])


def run_all(run_one, cells, results, progress, at_once=None):
    """Adds run_one(cell) of each cell to `results`; `progress(done)` is called after each. At once: as many as there are CPUs."""
    with concurrent.futures.ThreadPoolExecutor(at_once or len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(run_one, cell): cell for cell in cells}
        try:
            for done in concurrent.futures.as_completed(running):
                results[running[done]] = done.result()
                progress(len(results))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def announce(seconds):
    print(f"This will take about {seconds:.0f} s." if seconds < 120 else f"This will take about {seconds / 60:.0f} minutes.",
          file=sys.stderr, flush=True)


def sample_of(cells):
    """A few cells that stand for all, if those are in order of their length, and the others."""
    count = min(SAMPLE, len(cells))
    chosen = {(2 * i + 1) * len(cells) // (2 * count) for i in range(count)}
    return [cells[i] for i in sorted(chosen)], [cell for i, cell in enumerate(cells) if i not in chosen]


def run_each(run_one, cells, announce, progress):
    """{cell: run_one(cell)} of cells in order of their length, long ones first, so that no CPU is left with one at the end.
    `announce(seconds)` tells how long all will take, as soon as a sample of them has run; `progress(done, all)` is called
    after each."""
    results = {}
    sample, rest = sample_of(cells)
    start = time.monotonic()
    run_all(run_one, sample, results, lambda done: progress(done, len(cells)))
    announce((time.monotonic() - start) * len(cells) / len(sample))
    run_all(run_one, rest, results, lambda done: progress(done, len(cells)))
    return results


def run_cells(build, cells, seconds, announce, progress):
    """{cell: result} of ArrayBench."""
    ordered = sorted(cells, key=lambda cell: -cell.threads * cell.writes)
    return run_each(lambda cell: run_cell(build, cell, seconds), ordered, announce, progress)


def probe_command(build, run):
    """The words of one run of a probe (fidelity.Run)."""
    words = [f"{build}/bin/elision", "vm", "--machine", run.machine, "--seed", str(run.seed)]
    if run.variation:
        words += ["--variation", str(run.variation)]
    return words + ["--", f"{build}/workloads/probes/{run.probe}", *run.arguments]


def run_probe(build, run):
    """What a probe prints on the virtual machine, by name."""
    return probes.parse(run_words(probe_command(build, run)).stdout)


def run_probes(build, plan, progress):
    """{fidelity.Run: what it printed}; `progress(run, done, all)` is called after each."""
    samples = {}
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(run_probe, build, run): run for run in plan}
        try:
            for done in concurrent.futures.as_completed(running):
                samples[running[done]] = done.result()
                progress(running[done], len(samples), len(plan))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return samples


def megahertz_of(build, machine):
    """The base frequency of a machine, by which ticks become nanoseconds."""
    words = [f"{build}/bin/elision", "machines", machine]
    done = run_words(words)
    found = re.search(r"^clock\.frequency_mhz +([0-9]+)", done.stdout, re.MULTILINE)
    if not found:
        raise CellFailed(f"tells no frequency: {' '.join(words)}")
    return int(found.group(1))
