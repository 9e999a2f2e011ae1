# SPDX-License-Identifier: Apache-2.0
"""Runs the claims' cells with the workflow and prints the progress (tools/repro)."""

import functools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import cells
import claims
import figures
import forecast
import host
import outcomes
import tables
import tm_counters

FORMAT = "results 2"  # another format has other keys
# A job of the workflow: starting one takes Snakemake and Python a second, and many runs take less.
BATCH_SECONDS, BATCH_RUNS = 20, 32
DONE = ".done"  # the end of a batch's file
INTERVAL = 30  # seconds between two lines that say how far it is, where there is no terminal
SUMMARY = host.ROOT / host.PAGES / "repro.csv"


def run_cell(plan, key):
    """Writes what a run prints and counts."""
    with tempfile.TemporaryDirectory() as folder:
        statistics = pathlib.Path(folder) / "statistics.json"
        words = [word.replace(plan["statistics"], str(statistics)) for word in plan["keys"][key]]
        begin = time.monotonic()
        done = cells.run_words(words, environment={"ELISION_TM_COUNTERS_DIR": folder} if "--tm" in words else None)
        seconds = time.monotonic() - begin
        totals = claims.totals_of(json.loads(statistics.read_text()))
        if transactions := tm_counters.of_folder(pathlib.Path(folder)):
            totals["transactional_memory"] = transactions
        if (profile := pathlib.Path(folder) / f"statistics.json{claims.PROFILE_SUFFIX}").exists():
            recorded = json.loads(profile.read_text())
            totals["profile_samples"] = claims.samples_of(recorded)
            if events := claims.abort_events_of(recorded):
                totals["abort_events"] = events
    result = {"output": done.stdout, "totals": totals, "seconds": seconds, **plan["tree"]}
    host.write_page(pathlib.Path(plan["folder"]) / f"{key}.json", json.dumps(result))


def run_batch(plan, name):
    """Runs the cells of a batch that have no result yet. Raises an exception that names the first failure, after all of them."""
    failures = []
    for key in plan["batches"][name]:
        if (pathlib.Path(plan["folder"]) / f"{key}.json").exists():
            continue
        try:
            run_cell(plan, key)
        except cells.CellFailed as failure:
            failures.append(str(failure))
    if failures:
        raise cells.CellFailed(f"{len(failures)} of the batch's runs failed; the first: {failures[0]}")


def tree(build):
    """Returns the origin of a result: commit, changes and version."""
    return {"commit": host.first_line(["git", "rev-parse", "HEAD"]) or "unknown", "changed": host.changed(),
            "elision": host.first_line([build / "bin/elision", "--version"])}


class Plan:
    """The runs that are needed: those of statements, and of figures those that statements share or, if `full`, all. Knows the others of figures
    too: an earlier call may have left their results."""
    STATISTICS = "STATISTICS"  # in a command: the file, which differs from run to run

    def __init__(self, build, chosen, variations, full):
        """`variations`: {claim: how many}"""
        self.build, self.folder = build, build / "repro"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.machine_of = {claim.id: claim.runs["machine"] for claim in chosen}
        self.key_of, self.words_of = {}, {}
        self.shared = [build / "bin/elision", *sorted((build / "lib").glob("libelision*.so"))]
        self.programs, self.stored = {}, {}  # keys of programs, results by the keys of their runs
        self.needed = []
        for claim in chosen:
            of_statements = claims.cells_of(claim, variations[claim.id])
            every = list(dict.fromkeys(of_statements + figures.cells_of(claim, variations[claim.id])))
            self.needed += every if full else list(dict.fromkeys(of_statements + figures.references_of(claim, of_statements)))
            for cell in every:
                self._add(claim, cell)
        self.runs = {self.key_of[cell]: cell for cell in self.needed}  # several cells may be one run

    def _add(self, claim, cell):
        words = claims.command(self.build, claim, cell, self.STATISTICS)
        self.words_of[cell] = words
        self.key_of[cell] = host.key_of([FORMAT, self._program_key(claims.program_of(words)), *words], [])

    def machine(self, cell):
        return claims.machine(self.machine_of[cell.claim], cell.settings)

    def _program_key(self, program):
        """Returns the key of a program and the Elision binaries that it runs with."""
        if program not in self.programs:
            if not pathlib.Path(program).exists():
                raise host.Failed(f"there is no {program}: run make build")
            self.programs[program] = host.key_of([], [*self.shared, pathlib.Path(program)])
        return self.programs[program]

    def text(self):
        """The plan of the workflow (Snakefile): the runs that are missing."""
        missing = {self.key_of[cell]: cell for cell in self.missing()}
        known = earlier_forecast()
        batches = forecast.batches([(key, known.seconds(cell)) for key, cell in missing.items()], BATCH_SECONDS, BATCH_RUNS)
        return json.dumps({"folder": str(self.folder), "statistics": self.STATISTICS, "python": sys.executable, "tree": tree(self.build),
                           "tool": str(host.ROOT / "tools/repro"), "minutes": math.ceil(cells.MOST_SECONDS / 60),
                           "keys": {key: self.words_of[cell] for key, cell in missing.items()},
                           "batches": {host.key_of(batch, []): batch for batch in batches}})

    def forget_batches(self):
        """Removes what the jobs of a workflow leave beside results."""
        for file in self.folder.glob(f"*{DONE}"):
            file.unlink()

    def _load(self, keys):
        """Reads the results that are new. Removes a file without a result, which a crash of the computer may leave, so that it runs again."""
        there = {entry.name for entry in os.scandir(self.folder)}
        for file in (self.folder / f"{key}.json" for key in keys if key not in self.stored and f"{key}.json" in there):
            try:
                self.stored[file.stem] = json.loads(file.read_text())
            except ValueError:
                file.unlink()

    def missing(self):
        """A cell of each run that is needed and has no result."""
        self._load(self.runs)
        return [cell for key, cell in self.runs.items() if key not in self.stored]

    def results(self):
        """Returns {cell: result} for all needed cells and for those of figures that have run."""
        self._load(self.key_of.values())
        return {cell: self.stored[key] for cell, key in self.key_of.items() if key in self.stored}


def earlier_forecast():
    """Returns a forecast by the runs of the committed page."""
    return forecast.Forecast(outcomes.seconds_in(SUMMARY.read_text()) if SUMMARY.exists() else {})


class Progress:
    """One line that updates, or a line now and then where there is no terminal."""

    def __init__(self, plan, cpus):
        self.plan, self.cpus, self.known = plan, cpus, set()
        self.forecast = earlier_forecast()
        self.terminal = sys.stderr.isatty()
        self.next = 0.0

    def line(self):
        missing = self.plan.missing()
        for key in self.plan.stored.keys() - self.known:
            self.forecast.add(self.plan.runs[key], self.plan.stored[key]["seconds"])
            self.known.add(key)
        count = len(self.plan.runs)
        return forecast.line(count - len(missing), count, self.forecast.left(missing, self.cpus))

    def show(self, last=False):
        now = time.monotonic()
        if self.terminal:
            print(f"\r\033[K{self.line()}", end="\n" if last else "", file=sys.stderr, flush=True)
        elif last or now >= self.next:
            self.next = now + INTERVAL
            print(self.line(), file=sys.stderr, flush=True)


def snakemake(plan, file, where):
    """Returns the words that run the workflow. `file`: of the plan; `where`: Snakemake's options. A result is written whole or not at all, so none is
    incomplete, whatever Snakemake noted of it before it was killed."""
    python = plan.build / "repro-tools/bin/python"
    if not python.exists():
        raise host.Failed("there is no Snakemake: run make repro, which installs it")
    words = [python, "-B", "-m", "snakemake", "--snakefile", host.ROOT / "repro/workflow/Snakefile", "--directory", plan.folder, "--nolock",
             "--keep-going", "--quiet", "all", "--rerun-triggers", "mtime", "--ignore-incomplete", *where, "--config", f"plan={file}"]
    return [str(word) for word in words]


def run_workflow(plan, profile):
    """Runs the workflow. Raises an exception that names the log if a run failed. `profile`: Snakemake's for a cluster; None: this machine's CPUs."""
    cpus = len(os.sched_getaffinity(0))
    progress = Progress(plan, cpus)
    progress.show(last=True)
    if not plan.missing():
        return
    plan.forget_batches()  # of a workflow that was killed
    with tempfile.NamedTemporaryFile("w", dir=plan.folder, prefix="plan-", suffix=".json") as file:
        file.write(plan.text())
        file.flush()
        workflow = subprocess.Popen(snakemake(plan, file.name, ["--profile", profile] if profile else ["--cores", cpus]))
        try:
            while workflow.poll() is None:
                time.sleep(1)
                progress.show()
        finally:
            workflow.wait()
            plan.forget_batches()
    progress.show(last=True)
    log = f"{plan.folder}/.snakemake/log"
    if failed := plan.missing():
        raise host.Failed(f"{len(failed)} runs did not end well (see {log}); the first:\n{' '.join(plan.words_of[failed[0]])}")
    if workflow.returncode != 0:
        raise host.Failed(f"Snakemake ended with {workflow.returncode}: see {log}")


@functools.cache
def machine_hash(build, machine, variation):
    """Returns the hash of a variation's machine."""
    return outcomes.machine_hash(host.run([f"{build}/bin/elision", "machines", machine, "--variation", str(variation), "--format", "csv"]).stdout)


def write_results(plan):
    """The results of all runs as CSV; returns the file."""
    rows = (outcomes.row_of(cell, plan.machine(cell), machine_hash(plan.build, plan.machine(cell), cell.variation), plan.words_of[cell], result)
            for cell, result in plan.results().items())
    file = plan.folder / "results.csv"
    host.write_page(file, outcomes.text(outcomes.COLUMNS, rows))
    return file


def write_tables(build, filled):
    """The tables as CSV; returns the file."""
    file = build / "repro/tables.csv"
    host.write_page(file, tables.csv_text(filled))
    return file


def write_summary(plan):
    """One row for all variations of a run, into the tree; returns the file."""
    results = plan.results()
    rows = outcomes.summary_rows({cell: results[cell] for cell in plan.needed}, plan.machine_of)
    host.write_page(SUMMARY, outcomes.text(outcomes.SUMMARY, rows))
    return SUMMARY
