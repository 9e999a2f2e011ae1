# SPDX-License-Identifier: Apache-2.0
"""What a record of a CPU consists of: its jobs, what each printed, the quantiles of each figure, and its file.

A job is one program run. A figure is one number that a job prints; each repetition of the job gives one sample. A record holds
every figure with its quantiles over the repetitions and is never edited: a new run is a new record.
"""

import dataclasses
import itertools
import re
import statistics

import probes

MOST_STOLEN = 0.01  # of the CPUs' time during a run; above it the run is repeated
MOST_TRIES = 3
MOST_SECONDS = 7200  # of one job; on a virtual machine a compared one with all designs takes many minutes
SIBLING_RATIO = 1.3  # work on both CPUs over work on one, from which on they count as siblings of one core

# Always-abort designs take part by their opt-in. glibc-elision is left out: few glibcs still have it.
DESIGNS = ("pthread", "tts", "ttstle", "tatas", "ticket", "htm-1", "htm-5", "htm-10", "htm-10-fb-aahtm", "hle-scm",
           "tatas-aahtm", "tatas-pri-aahtm", "ticket-aahtm", "pthread-aahtm")


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    program: str  # below the build's folder
    arguments: tuple = ()
    compared: tuple = ()  # options of `elision compare`; a job that has them runs under every design
    two_cores: bool = True  # says nothing on two hardware threads of one core


@dataclasses.dataclass
class Sample:
    """One run of a job."""
    values: dict  # figure: [numbers]
    clock: float  # core cycles a tick of the time-stamp counter, just before
    stolen: float  # share of the CPUs' time that the hypervisor gave to others
    load: float  # processes that wanted a CPU in the last minute, just before


def probe(name, *arguments, alias=None, two_cores=True):
    return Job(alias or name, f"workloads/probes/{name}", tuple(str(word) for word in arguments), (), two_cores)


def compared(name, program, *arguments, wait="park", result=r"throughput: ([0-9.]+)"):
    return Job(name, f"workloads/{program}", tuple(str(word) for word in arguments), ("--metric", result, "--wait", wait))


def plan(quick):
    """All jobs in the order of a round. Quick ones take a tenth of the time."""
    part = 10 if quick else 1
    seconds = "0.03" if quick else "0.2"
    jobs = [
        probe("instructions", 100000 // part, two_cores=False),
        probe("loads", two_cores=False),
        probe("cache_to_cache", 20000 // part),
        probe("empty_transaction", 1000000 // part, two_cores=False),
        probe("spurious", 1000000 // part, two_cores=False),
        probe("read_set", 16, 512, 16, 4 if quick else 40, alias="read_set_small", two_cores=False),
        probe("read_set", *((512, 4096, 512, 2) if quick else (512, 8192, 256, 3)), two_cores=False),
        probe("write_set", two_cores=False),
        probe("conflict_matrix", 200000 // part),
        probe("conflicts", 200000 // part),
        probe("vulnerable_window", 100000 // part),
        probe("commit_cost", 20000 // part, two_cores=False),
        probe("conflict_cost", 20000 // part),
        probe("early_loads", 20000 // part, two_cores=False),
        probe("aborted_lines", 2000 // part, two_cores=False),
        probe("store_overlap", 2000000 // part, two_cores=False),
        probe("handover", 2000000 // part),
        probe("clock", 1000000 // part, two_cores=False),
        probe("loops", 2000000 // part, two_cores=False),
        probe("branches", 2000000 // part, two_cores=False),
        probe("page_walks", 200000 // part, two_cores=False),
        probe("streams", 20 // part, two_cores=False),
        probe("transaction_parts", 20000 // part, two_cores=False),
        probe("shared_lines", 5000 // part),
        probe("false_conflicts", 2000 // part),
        probe("mutual_aborts", 50000 // part),
        probe("kernel_costs", 2000 // part, 100 if quick else 200),  # in less, a timer of 100 Hz ticks too seldom
    ]
    for threads in (1, 2):
        for layout in "AB":
            for measure, amount in (("transactions", 20000), ("seconds", seconds)):
                jobs.append(probe("bank", threads, measure, amount, layout, alias=f"bank_{layout.lower()}_{threads}_{measure}",
                                  two_cores=threads > 1))
    for writes in (10, 100):
        for contention in ("low", "high"):
            for wait in ("park", "spin"):
                jobs.append(compared(f"arraybench_{writes}_{contention}_{wait}", "arraybench", "--threads", 2, "--writes", writes,
                                     "--contention", contention, "--seconds", seconds, wait=wait))
    for structure in ("counters", "map", "hash"):
        jobs.append(compared(f"onelock_{structure}", "onelock", "--structure", structure, "--threads", 2, "--seconds", seconds))
    jobs.append(compared("packets", "packets", "--threads", 2, "--packets", 20000 // part))
    for kernel in ("histogram", "physics"):
        for variant in ("lock", "elided", "lockset", "atomic"):
            if (kernel, variant) != ("histogram", "lockset"):
                jobs.append(Job(f"updates_{kernel}_{variant}", "workloads/updates", (
                    "--kernel", kernel, "--variant", variant, "--threads", "2", "--items", str(2000000 // part))))
    jobs.append(Job("lock_costs", "workloads/lockcost", ("--pairs", str(max(3, 30 // part)), "uncontended"), two_cores=False))
    return jobs


def compared_values(document):
    """The figures of one `elision compare --json`: a design's result, and what its locks counted."""
    values = {}
    for row in document["blocks"][0]["rows"]:
        design = row["design"]
        if row["state"] != "good":
            continue
        locks = row["locks"]
        values[f"{design}.result"] = [row["value"]["median"]]
        values[f"{design}.cpu_seconds"] = [row["cpu_seconds"]]
        for count in ("acquisitions", "commits", "fallbacks", "speculations"):
            values[f"{design}.{count}"] = [locks[count] or 0]  # null: the design has none
        for cause, number in locks["aborts"].items():
            values[f"{design}.aborts.{cause}"] = [number]
    return values


def printed_values(output):
    """The figures that a program printed as "name: number..."; a unit behind the number is left out."""
    values = probes.parse(output)
    for line in output.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and len(words) == 2 and name.strip() not in values:
            try:
                values[name.strip()] = [float(words[0])]
            except ValueError:
                continue
    return values


def quantiles(numbers):
    """[least, first quartile, median, third quartile, most]."""
    if len(numbers) == 1:
        return [numbers[0]] * 5
    low, middle, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return [min(numbers), low, middle, high, max(numbers)]


def significant(number):
    """Six digits: more than any timing has."""
    return float(f"{number:.6g}")


def figures(samples):
    """({figure: quantiles}, {figure: samples} of those that some runs lack); one of several numbers gets quantiles by
    position."""
    found, fewer = {}, {}
    for name in dict.fromkeys(name for sample in samples for name in sample.values):
        rows = [sample.values[name] for sample in samples if sample.values.get(name)]
        if not rows:
            continue
        shortest = min(len(row) for row in rows)
        columns = [[significant(number) for number in quantiles([row[i] for row in rows])] for i in range(shortest)]
        found[name] = columns[0] if shortest == 1 else columns
        if len(rows) < len(samples):
            fewer[name] = len(rows)
    return found, fewer


def job_entry(job, samples, siblings):
    entry = {"program": job.program, "arguments": list(job.arguments)}
    if job.compared:
        entry["compare"] = list(job.compared)
    if job.two_cores and siblings:
        return {**entry, "not_run": "needs two cores, and the two CPUs are hardware threads of one"}
    entry["repetitions"] = len(samples)
    entry["clock_cycles_a_tick"] = [significant(number) for number in quantiles([sample.clock for sample in samples])]
    entry["most_stolen"] = significant(max(sample.stolen for sample in samples))
    entry["most_load"] = significant(max(sample.load for sample in samples))
    entry["figures"], fewer = figures(samples)
    if fewer:
        entry["fewer_samples"] = fewer
    return entry


def document(host, jobs, samples_by_job, siblings):
    """The record as it is written."""
    return {
        "format": 1,
        "quantiles": ["least", "first quartile", "median", "third quartile", "most"],
        "host": host,
        "jobs": {job.name: job_entry(job, samples_by_job.get(job.name, []), siblings)
                 for job in jobs if samples_by_job.get(job.name) or (job.two_cores and siblings)},
    }


def compact(text):
    """TOML with each innermost array of numbers on one line; what it says stays."""
    def on_one_line(found):
        return "[" + ", ".join(number.strip() for number in found.group(1).strip().rstrip(",").split(",")) + "]"

    return re.sub(r"\[\n((?:\s*[-+.\de]+,\n)+)\s*\]", on_one_line, text)


def stolen_share(before, after):
    """From two readings of the first line of /proc/stat."""
    def fields(line):
        return [int(word) for word in line.split()[1:]]

    first, last = fields(before), fields(after)
    # Guest time is part of user time, so the first eight fields are all time.
    passed = sum(last[:8]) - sum(first[:8])
    return (last[7] - first[7]) / passed if passed > 0 else 0.0


def new_record(folder, cpu, date, quick):
    """FOLDER/intel-6-167-1-2026-11-23.toml, by the CPUID signature; a later record of that day ends in -2, -3 and so on."""
    maker = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(cpu["vendor"], cpu["vendor"].lower())
    stem = f"{maker}-{cpu['family']}-{cpu['model']}-{cpu['stepping']}-{date}{'-quick' if quick else ''}"
    names = itertools.chain([stem], (f"{stem}-{number}" for number in itertools.count(2)))
    return next(path for path in (folder / f"{name}.toml" for name in names) if not path.exists())
