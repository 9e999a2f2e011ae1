# SPDX-License-Identifier: Apache-2.0
"""What tools/bench-tm compares, and its page. Pure."""

import dataclasses

import performance

MACHINE = "xeon-gold-5520plus"  # GCC's libitm uses its hardware transactions
VIRTUAL_THREADS = (1, 2, 4, 8, 16)
VIRTUAL_RUNS = 3
VIRTUAL_SECONDS = 3600  # of one run, at most: virtual time does not depend on the load of the host
MODES = ("libitm-serialirr", "libitm-gl_wt", "libitm-ml_wt", "serial", "hle", "hle-scm", "ale", "ale-logged")
OWN_MODES = ("ale", "hle")


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple      # of the workload
    native: tuple     # for the number of operations
    virtual: tuple


PROGRAMS = (
    Program("list, 100 nodes, 2 % mutations", ("list", "--size", "100", "--mutations", "2"), ("--operations", "2000000"), ("--operations", "40000")),
    Program("hash table, 262,144 nodes in 8,192 buckets, 20 % mutations", ("hash", "--size", "262144", "--buckets", "8192"), ("--operations", "1000000"),
            ("--operations", "20000")),
    Program("tree, 100,000 nodes, 20 % mutations", ("tree", "--size", "100000"), ("--operations", "1000000"), ("--operations", "20000")),
)


def words_of(build, program, place, threads):
    """The command that compares a program. `threads`: numbers of them."""
    native = place == "native"
    size = program.native if native else program.virtual
    return [str(build / "bin/elision"), "compare", "--tm", ",".join(MODES), "--machine", "native" if native else MACHINE, "--threads", ",".join(map(str, threads)),
            "--metric", "throughput: ([0-9.]+)", "--ignore-output", "--format", "json", *([] if native else ["--runs", str(VIRTUAL_RUNS), "--timeout", str(VIRTUAL_SECONDS)]), "--",
            str(build / "workloads" / program.words[0]), *program.words[1:], *size, "--back-end", "gcc-tm", "--threads", "{threads}"]


class NoResult(Exception):
    """A comparison without the runs that the others are compared with."""


def rows_of(report):
    """{number of threads: {mode: its row}}"""
    rows = {block["threads"]: {row["design"]: row for row in block["rows"]} for block in report["blocks"]}
    for threads, of_threads in rows.items():
        for mode in ("libitm", "serial"):
            if of_threads[mode]["state"] != "good":
                raise NoResult(f"{mode} with {threads} threads: {of_threads[mode].get('remark', of_threads[mode]['state'])}")
    return rows


def cell(row):
    if row["state"] != "good":
        return "-" if row["state"] == "not-run" else row["state"]
    interval = row.get("interval")
    if row["design"] == "libitm" or interval is None:
        return f"{row['speedup']:.2f}"
    return f"{row['speedup']:.2f} [{interval['low']:.2f} - {interval['high']:.2f}]"


def table(report):
    """The modes over numbers of threads; the first row has the throughput under GCC's libitm."""
    rows = rows_of(report)
    lines = [["", *(f"{threads} thread{'s' if threads > 1 else ''}" for threads in rows)]]
    lines.append(["libitm, operations/s", *(f"{row['libitm']['value']['median']:.3g}" for row in rows.values())])
    return lines + [[mode, *(cell(row[mode]) for row in rows.values())] for mode in MODES]


def standing(reports, mode):
    """In how many cells a mode is ahead of GCC's libitm beyond the interval, not shown to differ, and behind: three numbers."""
    counts = [0, 0, 0]
    for report in reports:
        for rows in rows_of(report).values():
            row = rows[mode]
            if row["state"] != "good" or row.get("interval") is None:
                continue
            interval = row["interval"]
            counts[0 if interval["low"] > 1 else 2 if interval["high"] < 1 else 1] += 1
    return counts


def best_of_libitm(rows):
    """The highest throughput under one of its methods or its own choice."""
    return max(row["value"]["median"] for mode, row in rows.items() if mode.startswith("libitm") and row["state"] == "good")


def sentences(place, reports):
    """What is asked of the library (docs/guide/tm.md), in numbers."""
    lines = []
    for mode in OWN_MODES:
        ahead, open_, behind = standing(reports, mode)
        if ahead + open_ + behind:
            lines.append(f"`{mode}` is ahead of libitm beyond the interval in {ahead} cells, behind in {behind}; in {open_} the interval includes 1.")
    if place == "native":
        ratios = [rows_of(report)[1]["serial"]["value"]["median"] / best_of_libitm(rows_of(report)[1]) for report in reports]
        lines.append("With one thread, `serial` has " + ", ".join(f"{ratio:.2f}" for ratio in ratios) + " times the throughput of libitm's best method, in this order of programs.")
    return lines


WHERE = {"native": "natively on the machine named here", "virtual": f"on the virtual {MACHINE}"}


def document(origin, place, results, has_hardware=True):
    """`place`: "native" or "virtual". `results`: [(program, report)]"""
    reports = [report for _, report in results]
    lines = [f"# Speed of transactional memory, {'natively' if place == 'native' else 'virtually'}{'' if has_hardware else ' without hardware transactions'}", "",
             "Written by `make bench-tm`.", "", *performance.markdown(performance.origin_cells(origin)), "",
             *performance.paragraph(
                 f"Programs of the ALE paper whose sections are transactions of GCC, under GCC's own libitm and under libelision-tm ([modes](../guide/tm.md)), {WHERE[place]}. "
                 "The first row has operations a second under libitm, which chooses its method itself; the others are speedups over it, with `elision compare`'s "
                 "95 % intervals. A dash: not run, since it needs hardware transactions that this CPU does not have."),
             *performance.paragraph(" ".join(sentences(place, reports)))]
    for program, report in results:
        lines += [f"## {program.name[0].upper()}{program.name[1:]}", "", *performance.markdown(table(report)), ""]
    option = " --natively" if place == "native" else ""
    return "\n".join([*lines, "## How to repeat", "", "    make bench-tm", f"    tools/bench-tm{option}", f"    tools/bench-tm{option} list    one program; writes nothing", ""])
