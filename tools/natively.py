# SPDX-License-Identifier: Apache-2.0
"""Runs the claims' comparisons on this CPU (tools/repro --native)."""

import csv
import os
import sys

import claims
import host
import native
import outcomes
import reproducing

ROUNDS = 5
MOST_SECONDS = 120  # of a run


def require_transactions(build):
    """Returns the doctor's report. Raises an exception unless hardware transactions commit."""
    report = host.doctor(build)
    if not report["trial"]["commits"]:
        raise host.Failed(f"--native: there are no hardware transactions here: {report['sentence']}")
    return report


def cpu_of(report):
    cpu = report["cpu"]
    return f"{cpu['brand']}, family {cpu['family']}, model {cpu['model']}, stepping {cpu['stepping']}"


def comparisons_of(build, judged, cpus):
    """Returns the comparisons of these claims that can be measured here. Raises an exception if there are none."""
    known = native.known_options(host.output_of([build / "bin/elision", "run", "--help"])[1]) - {"--rtm-always-abort"}
    found = [one for claim in judged if "native" in claim.ours for one in native.comparisons(claim, cpus, known)]
    found = [one for one in found if one.metric in native.METRICS]
    if not found:
        raise host.Failed("--native: none of these claims has runs on this CPU")
    return found


def run_all(build, comparisons, report):
    """Returns {words: what each round printed}. Runs one program at a time and round after round, so that a change of the CPU's speed affects all runs."""
    files = [build / "bin/elision", build / "lib/libelision.so"]
    always_abort = ["--rtm-always-abort"] if report["always_abort"] != "none" else []
    every = list(dict.fromkeys(words for one in comparisons for side in (one.of, one.over or ()) for words in side))
    outputs = {words: [] for words in every}
    cpu = host.key_of([cpu_of(report)], [])
    for number in range(ROUNDS):
        print(f"round {number + 1} of {ROUNDS}: {len(every)} runs", file=sys.stderr, flush=True)
        for words in every:
            at = words.index("--")
            program = build / "workloads" / words[at + 1]
            whole = [build / "bin/elision", "run", *words[:at], *always_abort, "--", program, *words[at + 2:]]
            outputs[words].append(host.stored(build / "repro/native" / f"{number}-{cpu}", whole, [*files, program], MOST_SECONDS).output)
    return outputs


def measure(build, judged, report):
    """Writes DIR/repro/native.csv, and returns it. `report`: the doctor's."""
    cpus = len(os.sched_getaffinity(0))
    comparisons = comparisons_of(build, judged, cpus)
    outputs = run_all(build, comparisons, report)
    tree = reproducing.tree(build)
    origin = [cpu_of(report), cpus, tree["commit"], "yes" if tree["changed"] else "no", tree["elision"]]
    rows = []
    for one in comparisons:
        try:
            rows.append(native.row_of(one, native.values_of(one, outputs), origin))
        except claims.NotMeasured as error:
            raise host.Failed(f"{one.claim}: {error}") from error
    file = build / "repro/native.csv"
    host.write_page(file, outcomes.text(native.COLUMNS, rows))
    return file


def load(build):
    """Returns the rows of the last measurement on this CPU, or [] if nothing was measured yet."""
    file = build / "repro/native.csv"
    return list(csv.DictReader(file.read_text().splitlines())) if file.exists() else []
