# SPDX-License-Identifier: Apache-2.0
"""Runs the jobs of a record (repro/silicon.py), on this CPU or on a virtual machine, with the same programs and arguments."""

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

import host
import probes
import silicon

CLOCK_ADDITIONS = 200000
TWO_CORES = {"topology.sockets": "1", "topology.cores": "2", "topology.threads_per_core": "1"}


def stat_line():
    return pathlib.Path("/proc/stat").read_text().splitlines()[0]


@dataclasses.dataclass(frozen=True)
class RealCpu:
    """This machine's CPU. Rounds differ by chance."""

    build: pathlib.Path

    def words(self, _turn, program, *arguments):
        return [self.build / program, *arguments]

    def compare_options(self, _turn):
        return ["--machine", "native", "--rtm-always-abort"]

    def before(self):
        return os.getloadavg()[0], stat_line()

    def disturbance(self, before):
        """(share of stolen time, load) since before()."""
        load, line = before
        return silicon.stolen_share(line, stat_line()), load


@dataclasses.dataclass(frozen=True)
class VirtualMachine:
    """A virtual machine with all its values set. Rounds differ by their seed. The host's load changes no virtual time."""

    build: pathlib.Path
    machine: str  # as elision vm takes it
    seed: int = 1

    def words(self, turn, program, *arguments):
        return [self.build / "bin/elision", "vm", "--machine", self.machine, "--seed", self.seed + turn, "--", self.build / program,
                *arguments]

    def compare_options(self, turn):
        return ["--machine", self.machine, "--seed", self.seed + turn, "--whole-run"]

    def before(self):
        return None

    def disturbance(self, _before):
        return 0.0, 0.0

    def key(self):
        """Names the finished runs of this machine without saying what its values are."""
        return hashlib.sha256(f"{self.machine} {self.seed}".encode()).hexdigest()[:16]


def file_of(machine):
    """The file of a machine as elision vm takes it, perhaps with values behind it; None of a built-in one."""
    name = str(machine).split(",")[0]
    return pathlib.Path(name) if "/" in name or name.endswith(".toml") else None


def from_anywhere(machine):
    """The machine with the absolute path of its file, if it has one: programs run in several folders."""
    _, *values = str(machine).split(",")
    return ",".join([str(file_of(machine).resolve()), *values]) if file_of(machine) else machine


def machine_values(build, machine, variation=0):
    """{field: value} of a machine, as text, after the draw of a variation."""
    words = [build / "bin/elision", "machines", "--format", "json", "--variation", variation, machine]
    return {value["field"]: value["value"] for value in json.loads(host.run(words).stdout)["values"]}


def with_values(machine, values):
    """The machine with these values, as elision vm takes it."""
    return ",".join([str(machine), *(f"{field}={value}" for field, value in values.items())])


def drawn(build, machine, variation):
    """A variation of a machine as the machine with each drawn value set, for commands that take no variation."""
    if variation == 0:
        return machine
    best, values = machine_values(build, machine), machine_values(build, machine, variation)
    return with_values(machine, {field: value for field, value in values.items() if value != best[field]})


def on_two_cores(machine):
    """With as many CPUs as the record of a real part has: two cores, no siblings."""
    return with_values(machine, TWO_CORES)


def variation_on_two_cores(build, machine, variation, seed=1):
    """The target of a record: every CPU that a real one lacks is left out."""
    return VirtualMachine(build, on_two_cores(drawn(build, machine, variation)), seed)


def doctor_of(target):
    """Doctor's report on a virtual machine."""
    return json.loads(host.run(target.words(0, "bin/elision", "doctor", "--json")).stdout)


def facts_of_virtual_machine(target):
    """As those of a real CPU, from values that its description says for certain."""
    values = machine_values(target.build, target.machine)
    cores, threads = int(values["topology.cores"]), int(values["topology.threads_per_core"])
    return {
        "virtual_machine": pathlib.Path(target.machine.split(",")[0]).name.removesuffix(".toml"),
        "cpus": cores * threads,
        "topology_by_cpuid": [{"cpu": cpu, "siblings": ",".join(map(str, range(cpu % cores, cores * threads, cores))),
                               "core": cpu % cores, "package": 0} for cpu in range(cores * threads)],
        "caches_by_cpuid": [{"level": level, "type": kind, "size": f"{values[f'{name}.size_kb']}K",
                             "ways": int(values[f"{name}.ways"])}
                            for level, kind, name in ((1, "Data", "l1d"), (1, "Instruction", "l1i"), (2, "Unified", "l2"),
                                                      (3, "Unified", "l3"))],
    }


def clock_of(target, turn):
    words = target.words(turn, "workloads/probes/clock", CLOCK_ADDITIONS)
    return probes.parse(host.run(words).stdout)["cycles_per_tick"][0]


def values_of(target, job, turn=0, designs=silicon.DESIGNS):
    """The output of one run of a job."""
    if not job.compared:
        return silicon.printed_values(host.run(target.words(turn, job.program, *job.arguments)).stdout)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        host.run([target.build / "bin/elision", "compare", *target.compare_options(turn), "--locks", ",".join(designs), "--runs", 1,
                  "--no-why", "--json", report, *job.compared, "--", target.build / job.program, *job.arguments],
                 most_seconds=silicon.MOST_SECONDS)
        return silicon.compared_values(json.loads(report.read_text()))


def sample_of(target, job, turn=0, designs=silicon.DESIGNS):
    """One sample. A run with much stolen time is repeated; the last run counts."""
    for _ in range(silicon.MOST_TRIES):
        clock, before = clock_of(target, turn), target.before()
        values = values_of(target, job, turn, designs)
        stolen, load = target.disturbance(before)
        if stolen <= silicon.MOST_STOLEN:
            break
    return silicon.Sample(values, clock, stolen, load)


def together_to_alone(target):
    return probes.parse(host.run(target.words(0, "workloads/probes/topology")).stdout)["together_to_alone"][0]


def contents_of(files):
    """One number for the contents of these files, in this order; a file that is missing counts as empty."""
    every = hashlib.sha256()
    for file in files:
        every.update(hashlib.sha256(file.read_bytes() if file.exists() else b"").digest())
    return every.hexdigest()


def files_of(build, *read):
    """What runs when a job does, and the files among `read`."""
    programs = sorted({job.program for job in silicon.plan(False)})
    return [*(build / name for name in ("bin/elision", "lib/libelision.so", *programs)), *(file for file in read if file)]


class Progress:
    """The finished runs of one tree and of one content of `files`: what runs and what it reads. They are in a folder that survives an
    interrupted call."""

    def __init__(self, folder, files):
        self.folder = folder
        key, state = self.folder / "key", f"{host.commit()} {contents_of(files)}"
        if self.folder.exists() and not (key.exists() and key.read_text() == state):
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        key.write_text(state)

    def path(self, job, turn):
        return self.folder / f"{job.name}.{turn}.json"

    def load(self, job, turn):
        path = self.path(job, turn)
        return silicon.Sample(**json.loads(path.read_text())) if path.exists() else None

    def store(self, job, turn, sample):
        host.write_page(self.path(job, turn), json.dumps(vars(sample)))

    def clear(self):
        shutil.rmtree(self.folder)


def run_rounds(target, plan, rounds, progress, siblings, announce, designs=silicon.DESIGNS):
    """{name of a job: samples}. `announce(turn)` is called when a round is done."""
    samples = {}
    for turn in range(rounds):
        for job in plan:
            if job.two_cores and siblings:
                continue
            sample = progress.load(job, turn)
            if sample is None:
                sample = sample_of(target, job, turn, designs)
                progress.store(job, turn, sample)
            samples.setdefault(job.name, []).append(sample)
        announce(turn)
    return samples
