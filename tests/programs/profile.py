#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`elision vm --profile`: its counts are those of the statistics, its shares make a whole, and it changes nothing.

    profile.py BUILD CASE      CASE: transactions, threads, processes
"""

import json
import re
import sys
import time

from whole_programs import Elision

HEAD = re.compile(r"^elision vm: ([0-9.]+) ms of the host's time for (\S+), and ([0-9.]+) ms for this profile "
                  r"\(CPU time: ([0-9.]+) ms\):$")
LINE = re.compile(r"^  (\S.*?) +([0-9]+) +([0-9.]+) ms +([0-9.]+) % +([0-9.]+) ns$")
LAST = re.compile(r"^  In all: (.*)\. The largest is where a faster virtual machine would gain most\.$")
COLUMNS = ["count", "time", "share", "each"]

CODE = "translated code (by instruction)"
EVENTS = {"l1_misses": "l1_misses", "l2_misses": "l2_misses", "l3_misses": "l3_misses",
          "cache_to_cache": "cache_to_cache", "upgrades": "upgrades"}
# access rows: an event that every one has, and those that none has
FOUND = {
    "access: private hit": (None, ("accesses", "l1_misses", "l2_misses", "l3_misses", "cache_to_cache", "upgrades")),
    "access: L1, and the model was asked": ("accesses", ("l1_misses", "l2_misses", "l3_misses", "cache_to_cache", "upgrades")),
    "access: upgrade": ("upgrades", ("l3_misses", "cache_to_cache")),
    "access: L2": ("l1_misses", ("l2_misses", "l3_misses", "cache_to_cache", "upgrades")),
    "access: L3": ("l2_misses", ("l3_misses", "cache_to_cache", "upgrades")),
    "access: memory": ("l3_misses", ()),
    "access: another core's cache": ("cache_to_cache", ("l3_misses",)),
}


class Table:
    """One table of the error output."""

    def __init__(self, head):
        found = HEAD.match(head)
        self.total_ms, self.program, self.own_ms = float(found.group(1)), found.group(2), float(found.group(3))
        self.cpu_ms = float(found.group(4))
        self.rows = {}
        self.last = None

    def counts(self):
        return {name: row["count"] for name, row in self.rows.items()}

    def shares(self):
        return sum(row["share"] for row in self.rows.values())

    def times(self):
        return sum(row["time"] for row in self.rows.values())


def tables(text):
    """The tables in `text`; anything else in it is a mistake."""
    found = []
    for line in text.splitlines():
        if HEAD.match(line):
            found.append(Table(line))
        elif row := LINE.match(line):
            values = dict(zip(COLUMNS, (int(row.group(2)), *map(float, row.groups()[2:]))))
            found[-1].rows[row.group(1)] = values
        elif last := LAST.match(line):
            found[-1].last = last.group(1)
        elif line.split() != COLUMNS:
            raise AssertionError(f"no line of a table: {line!r}")
    return found


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(part) for part in what))


def check_table(table, elapsed_ms):
    expect(len(table.rows) > 3 and table.last, "rows are missing")
    # Shares have one digit behind the point, times two.
    expect(abs(table.shares() - 100) <= 0.05 * len(table.rows) + 0.01, "shares add up to", table.shares())
    expect(abs(table.times() - table.total_ms) <= 0.005 * len(table.rows) + 0.06, table.times(), "of", table.total_ms)
    groups = sum(int(number) for number in re.findall(r" ([0-9]+) %", table.last))
    expect(abs(groups - 100) <= 2, "groups add up to", groups)
    times = [row["time"] for row in table.rows.values()]
    expect(times == sorted(times, reverse=True), "not sorted by time")
    expect(0 < table.cpu_ms <= 1.05 * elapsed_ms, "more CPU time than the process ran")
    expect(0 < table.total_ms + table.own_ms <= 1.05 * elapsed_ms, "longer than the process ran")
    for name, row in table.rows.items():
        exact = 1e6 * row["time"] / max(1, row["count"])
        expect(abs(exact - row["each"]) <= 0.06 + 5100 / max(1, row["count"]), name, "costs", exact, "each")


def check_times(profile):
    """No time is lost and none counts twice."""
    counted = profile["ns"] + profile["own_ns"]
    expect(abs(counted - profile["wall_ns"]) <= 0.01 * profile["wall_ns"], counted, "of", profile["wall_ns"], "ns")
    expect(abs(sum(row["ns"] for row in profile["work"].values()) - profile["ns"]) <= len(profile["work"]), "lines")


def check_counts(process):
    """The profile in a process's statistics against the rest of them."""
    work, cache = process["profile"]["work"], process["cache"]

    def count(name):
        return work.get(name, {}).get("count", 0)

    def total(event):
        return sum(row.get(event, 0) for row in work.values())

    expect(count(CODE) == process["instructions"] > 0, "instructions")
    accesses = cache["loads_slow"] + cache["stores_slow"] + cache["atomics"]
    expect(total("accesses") == accesses > 0, "accesses:", total("accesses"), "of", accesses)
    for event, name in EVENTS.items():
        expect(total(event) == cache[name], name, total(event), "of", cache[name])
    changes = sum(row["count"] for name, row in work.items() if name.startswith("change of CPU"))
    expect(changes == process["waits_for_order"], "changes:", changes, "of", process["waits_for_order"])
    begins = count("exit: transaction begin") + count("exit: always-abort begin")
    expect(begins == process["begins"], "transactions:", begins, "of", process["begins"])
    # Inside a transaction a system call only aborts.
    expect(0 < count("kernel") <= count("exit: system call"), "system calls")
    for name, (has, lacks) in FOUND.items():
        row = work.get(name, {"count": 0})
        expect(has is None or row.get(has, 0) >= row["count"], name, "without", has, row)
        for event in lacks:
            expect(event not in row, name, "with", event, row)


def without_profile(statistics):
    for part in [*statistics["processes"], statistics["totals"]]:
        part.pop("profile", None)
    return json.dumps(statistics, indent=1)


def run(elision, words, options):
    start = time.monotonic()
    plain = elision.vm_with_statistics(words, options)
    middle = time.monotonic()
    ending, text = elision.vm_with_statistics(words, [*options, "--profile"])
    elapsed_ms = 1000 * (time.monotonic() - middle)
    expect(middle > start and plain[0].status == ending.status == 0, plain[0], ending)
    expect(plain[0].stdout == ending.stdout and plain[0].stderr == "", "output differs:", plain[0], ending)
    return json.loads(plain[1]), json.loads(text), tables(ending.stderr), elapsed_ms


def check(elision, words, options, rows, processes=1, repeatable=True):
    """`rows` are prefixes of names that the table must have."""
    plain, profiled, printed, elapsed_ms = run(elision, words, options)
    expect(len(printed) == len(profiled["processes"]) == processes, len(printed), "tables")
    for table in printed:
        check_table(table, elapsed_ms)
    for process in profiled["processes"]:
        work = process["profile"]["work"]
        check_times(process["profile"])
        counts = {name: row["count"] for name, row in work.items()}
        expect(any(table.counts() == counts for table in printed), "no table has the counts of", work)
    for row in rows:
        expect(any(name.startswith(row) for table in printed for name in table.rows), "no row", row)
    if repeatable:
        for process in profiled["processes"]:
            check_counts(process)
        expect(without_profile(plain) == without_profile(profiled), "the profile changes the statistics")


def main():
    elision, case = Elision(sys.argv[1]), sys.argv[2]
    accesses = [CODE, "access: memory", "access: L3", "access: L2", "access: upgrade", "access: private hit",
                "access: line on its way", "translation", "kernel", "exit: link", "start"]
    if case == "transactions":
        bench = [elision.workload("arraybench"), "--threads", 4, "--sections", 200, "--contention", "high"]
        check(elision, bench, ["--lock", "htm-10", "--cpus", 4],
              [*accesses, "exit: transaction begin", "exit: transaction end"])
        check(elision, bench, ["--lock", "tatas-aahtm", "--cpus", 4], [*accesses, "exit: always-abort begin"])
    elif case == "threads":
        check(elision, [elision.workload("events"), "mixed", 4, 4000], ["--cpus", 4, "--run-ahead", 50],
              [*accesses, "change of CPU: others", "change of CPU: line", "change of CPU: budget",
               "access: another core"])
    else:
        check(elision, ["sh", "-c", "echo one; (echo two); sleep 0; exec printf three"], [],
              [CODE, "kernel"], processes=4, repeatable=False)


if __name__ == "__main__":
    main()
