# SPDX-License-Identifier: Apache-2.0
"""The programs of tools/real-programs, what is known about their locks, and their pages in docs/measured. Pure."""

import dataclasses
import re

import performance
from performance import paragraph

FOLDER = "build/real-programs"
MACHINES = {"virtual": ["--machine", "xeon-e5-2697v4", "--threads", "8"], "native": ["--machine", "native"]}
RUNS = {"virtual": "3", "native": "5"}
PLACES = {"virtual": "on the virtual Xeon E5-2697 v4, 8 threads", "native": "natively"}
# Natively there is something to measure where transactions commit. Elsewhere that page stays as it is.
PAGES = {"virtual": "real-programs.md", "native": "real-programs-native.md"}


@dataclasses.dataclass(frozen=True)
class Known:
    """What the diagnosis on the virtual machine must be, by the program's source. Natively it depends on the CPU and its load."""
    lock: str     # regular expression for the name of the lock
    codes: tuple  # one of these findings is about that lock


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    package: str
    what: str
    words: tuple     # a word may contain {size}
    sizes: dict      # place -> {size}
    known: Known
    judgement: dict  # place -> text
    options: tuple = ()  # of elision compare
    prepare: tuple = ()  # words of a command that makes the program's data


SYSBENCH = Program(
    "sysbench mutex", "sysbench",
    "Threads take one mutex in a loop, and count up a variable under it.",
    ("sysbench", "mutex", "--mutex-num=1", "--mutex-locks={size}", "--mutex-loops=100", "--threads={threads}", "--time=0", "run"),
    {"virtual": "5000", "native": "3000000"},
    Known(r"sysbench\+0x", ("true-sharing",)),
    {"virtual":
     "The program has no symbols, so the lock is named by the place of its call, and the data by their place in the file: the counter "
     "that each section increments. The section first reads a pointer beside the counter; by the accesses of both sides the diagnosis tells "
     "that the counter is what all threads write, so that padding would not help. Transactions gain little over the mutex, since nearly every two "
     "sections conflict.",
     "native":
     "Sections take a few nanoseconds, and two threads meet in them only while both have a CPU. So the diagnosis depends on the load of the "
     "computer: conflicts, rare conflicts, or a lock that hardly matters. A real CPU reports no addresses of conflicts, so no data are named."})

KCGRASSTEST = Program(
    "kcgrasstest wicked", "kyotocabinet-utils",
    "Kyoto Cabinet's test of a B+ tree in memory: threads read, write and remove records and move cursors at random.",
    ("kcgrasstest", "wicked", "-th", "{threads}", "{size}"),
    {"virtual": "300", "native": "100000"},
    Known(r"kcgrasstest\+0x|PlantDB", ("true-sharing", "false-sharing")),
    {"virtual":
     "The first lock is the reader-writer lock of the whole database: the call at its place is in the constructor of a cursor, which takes it for "
     "writing. The next ones are locks of parts of the tree. Most conflicts meet in the database object, where counters that all operations "
     "change lie beside the pointers to its locks, which all operations read. Keeping them apart is the first step; then the counters themselves "
     "are in the way.",
     "native":
     "The lock is known by the library's function that takes it: only the virtual machine sees the caller. "
     "Two threads wait little for each other, so whether locks matter at all depends on the load."},
    options=("--ignore-output",))  # it tells how much memory it used

ROCKSDB = Program(
    "db_bench readrandom", "rocksdb-tools",
    "RocksDB reads random keys through a block cache with one shard (`--cache_numshardbits=0`), so that its mutex is hot.",
    ("db_bench", "--benchmarks=readrandom", "--use_existing_db=1", "--readonly=1", "--cache_numshardbits=0", "--cache_size=8388608",
     "--num=20000", "--reads={size}", "--threads={threads}", "--seed=1", f"--db={FOLDER}/db"),
    {"virtual": "1000", "native": "150000"},
    Known("LRUCacheShard", ("true-sharing",)),
    {"virtual":
     "The lock is the cache's, named by the call outside of RocksDB's own lock functions. Debian builds RocksDB with assertions, and then `port::Mutex::Lock()` "
     "notes in the mutex that it is held: every section writes the same byte beside the lock, and so conflicts with every other, whatever it looks up. "
     "The diagnosis shows this write and its function. The remedy is a build without assertions, or more shards.",
     "native":
     "The lock is known by RocksDB's own function that takes it. RocksDB's background threads sleep, so they do not count as sharing the CPUs."},
    options=("--metric", "([0-9]+) ops/sec"),
    prepare=("db_bench", "--benchmarks=fillseq,compact", "--num=20000", "--seed=1", f"--db={FOLDER}/db"))

PROGRAMS = (SYSBENCH, KCGRASSTEST, ROCKSDB)


def command(program, place, elision="elision"):
    """The words of the comparison."""
    return [elision, "compare", *MACHINES[place], "--runs", RUNS[place], *program.options, "--",
            *(word.replace("{size}", program.sizes[place]) for word in program.words)]


def is_as_known(known, report):
    """Whether the diagnosis in a JSON report names the lock and one of the reasons."""
    diagnosis = report["blocks"][-1].get("diagnosis", {"sentence": "", "findings": []})
    return re.search(known.lock, diagnosis["sentence"]) is not None and any(
        finding["code"] in known.codes and re.search(known.lock, finding["lock"]) for finding in diagnosis["findings"])


def section(program, place, output, as_known):
    """`output`: what the comparison printed."""
    shown = " ".join(quoted(word) for word in command(program, place))
    verdict = "" if place == "native" else "The diagnosis matches the source. " if as_known else "**The diagnosis does not match the source.** "
    lines = [f"## {program.name}", "", *paragraph(f"Package {program.package}. {program.what}")]
    if program.prepare:
        lines += ["Its data are made before:", "", "```console", "$ " + " ".join(map(quoted, program.prepare)), "```", ""]
    return [*lines, "```console", f"$ {shown}", *output.rstrip().splitlines(), "```", "", *paragraph(verdict + program.judgement[place])]


def quoted(word):
    return f"'{word}'" if re.search(r"[^\w@%+=:,./{}-]", word) else word


def document(origin, place, found, command_line):
    """The text of a place's page. `found`: [(program, output, as_known)]; `command_line` wrote it."""
    (other,) = set(PLACES) - {place}
    lines = [f"# Programs that were not written for Elision, {PLACES[place]}", "", f"Written by `{command_line}`.", "",
             *performance.markdown(performance.origin_cells(origin)), "",
             *paragraph("What `elision compare` says about three programs from Debian, as Debian builds them: without symbols and debug "
                        f"information. Their sources say which lock must be named, and why. The same [{PLACES[other]}]({PAGES[other]}).")]
    for one in found:
        lines += section(one[0], place, *one[1:])
    return "\n".join([*lines, "## How to repeat", "",
                      "    tools/real-programs                        all of it, writes the pages; also make real-programs",
                      "    tools/real-programs --places virtual db    some programs, by a part of their names; writes nothing", ""])
