# SPDX-License-Identifier: Apache-2.0
"""`elision vm --profile`: its counts are those of the statistics, its shares make a whole, and it changes nothing."""

import json
import re
import time

import pytest

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
    "access: local hit": (None, ("accesses", "l1_misses", "l2_misses", "l3_misses", "cache_to_cache", "upgrades")),
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


def check_table(table, elapsed_ms):
    assert len(table.rows) > 3 and table.last, "rows are missing"
    # Shares have one digit behind the point, times two.
    assert abs(table.shares() - 100) <= 0.05 * len(table.rows) + 0.01
    assert abs(table.times() - table.total_ms) <= 0.005 * len(table.rows) + 0.06
    groups = sum(int(number) for number in re.findall(r" ([0-9]+) %", table.last))
    assert abs(groups - 100) <= 2
    times = [row["time"] for row in table.rows.values()]
    assert times == sorted(times, reverse=True), "not sorted by time"
    assert 0 < table.cpu_ms <= 1.05 * elapsed_ms, "more CPU time than the process ran"
    assert 0 < table.total_ms + table.own_ms <= 1.05 * elapsed_ms, "longer than the process ran"
    for name, row in table.rows.items():
        exact = 1e6 * row["time"] / max(1, row["count"])
        assert abs(exact - row["each"]) <= 0.06 + 5100 / max(1, row["count"]), name


def check_times(profile):
    """No time is lost and none counts twice."""
    counted = profile["ns"] + profile["own_ns"]
    assert abs(counted - profile["wall_ns"]) <= 0.01 * profile["wall_ns"]
    assert abs(sum(row["ns"] for row in profile["work"].values()) - profile["ns"]) <= len(profile["work"]), "lines"


def check_counts(process):
    """The profile in a process's statistics against the rest of them."""
    work, cache = process["profile"]["work"], process["cache"]

    def count(name):
        return work.get(name, {}).get("count", 0)

    def total(event):
        return sum(row.get(event, 0) for row in work.values())

    assert count(CODE) == process["instructions"] > 0, "instructions"
    accesses = cache["loads_slow"] + cache["stores_slow"] + cache["atomics"]
    assert total("accesses") == accesses > 0
    for event, name in EVENTS.items():
        assert total(event) == cache[name], name
    changes = sum(row["count"] for name, row in work.items() if name.startswith("change of CPU"))
    assert changes == process["waits_for_order"]
    begins = count("exit: transaction begin") + count("exit: always-abort begin")
    assert begins == process["begins"]
    # Inside a transaction a system call only aborts.
    assert 0 < count("kernel") <= count("exit: system call"), "system calls"
    for name, (has, lacks) in FOUND.items():
        row = work.get(name, {"count": 0})
        assert has is None or row.get(has, 0) >= row["count"], name
        for event in lacks:
            assert event not in row, name


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
    assert middle > start and plain[0].status == ending.status == 0
    assert plain[0].stdout == ending.stdout and plain[0].stderr == ""
    return json.loads(plain[1]), json.loads(text), tables(ending.stderr), elapsed_ms


def check(elision, words, options, rows, processes=1, repeatable=True):
    """`rows` are prefixes of names that the table must have."""
    plain, profiled, printed, elapsed_ms = run(elision, words, options)
    assert len(printed) == len(profiled["processes"]) == processes
    for table in printed:
        check_table(table, elapsed_ms)
    for process in profiled["processes"]:
        work = process["profile"]["work"]
        check_times(process["profile"])
        counts = {name: row["count"] for name, row in work.items()}
        assert any(table.counts() == counts for table in printed)
    for row in rows:
        assert any(name.startswith(row) for table in printed for name in table.rows)
    if repeatable:
        for process in profiled["processes"]:
            check_counts(process)
        assert without_profile(plain) == without_profile(profiled), "the profile changes the statistics"


ACCESSES = [CODE, "access: memory", "access: L3", "access: L2", "access: upgrade", "access: local hit", "access: line on its way",
            "translation", "kernel", "exit: link", "start"]


@pytest.mark.parametrize("lock, exits", [("htm-10", ["exit: transaction begin", "exit: transaction end"]),
                                         ("tatas-aahtm", ["exit: always-abort begin"])])
def test_transactions(elision, lock, exits):
    bench = [elision.workload("arraybench"), "--threads", 4, "--sections", 200, "--contention", "high"]
    check(elision, bench, ["--lock", lock, "--cpus", 4], [*ACCESSES, *exits])


def test_threads(elision):
    check(elision, [elision.workload("events"), "mixed", 4, 4000], ["--cpus", 4, "--run-ahead", 50],
          [*ACCESSES, "change of CPU: others", "change of CPU: line", "change of CPU: budget", "access: another core"])


def test_processes(elision):
    check(elision, ["sh", "-c", "echo one; (echo two); sleep 0; exec printf three"], [], [CODE, "kernel"], processes=4, repeatable=False)
