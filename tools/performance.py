# SPDX-License-Identifier: Apache-2.0
"""Makes rates, tables and docs/measured/performance.md from the measurements of tools/bench. Pure."""

import dataclasses
import math
import re
import textwrap

THREADS = (2, 8, 18, 72)
SCALING_THREADS = (8, 72)
MOST_SCALING = 2.0  # a guest instruction on 72 virtual CPUs may cost the host this many times one on 8


@dataclasses.dataclass
class Sample:
    """One run on the virtual machine: the host's CPU time and what the statistics counted."""
    cpu_seconds: float
    events: int = 0
    changes: int = 0
    instructions: int = 0


@dataclasses.dataclass
class Row:
    """One program run in four ways."""
    name: str
    native_seconds: float
    virtual_seconds: float
    fast_seconds: float
    cachegrind_seconds: float
    memory_mb: float

    @property
    def slowdown(self):
        return self.virtual_seconds / self.native_seconds

    @property
    def fast_slowdown(self):
        return self.fast_seconds / self.native_seconds

    @property
    def cachegrind_slowdown(self):
        return self.cachegrind_seconds / self.native_seconds


@dataclasses.dataclass
class OrderCost:
    """Nanoseconds of the host at one number of virtual CPUs."""
    threads: int
    event: float     # an ordered event of the CPU that runs anyway
    contended: float  # an ordered event on lines that all want
    change: float    # what a change of the running CPU adds
    changes_per_event: float


@dataclasses.dataclass
class Scaling:
    """Nanoseconds of the host a guest instruction takes, by number of virtual CPUs."""
    by_threads: dict

    @property
    def ratio(self):
        few, many = SCALING_THREADS
        return self.by_threads[many] / self.by_threads[few]


@dataclasses.dataclass
class AccessCost:
    """One kind of access that leaves translated code, in the helpers and the model."""
    name: str
    instructions: float  # of the host
    misses: float        # of a host's L1D, as cachegrind models it
    far_misses: float    # of its last level
    nanoseconds: float   # of the host
    most: int            # instructions that it may take


class NoDifference(Exception):
    """Two runs differ too little to compute the cost of the difference."""


def between(large, small):
    """The difference of a larger run and a smaller one, in which start and end cancel out."""
    differences = [getattr(large, field.name) - getattr(small, field.name) for field in dataclasses.fields(Sample)]
    difference = Sample(*differences)
    if difference.cpu_seconds <= 0:
        raise NoDifference(f"ten times the work took {large.cpu_seconds:.3f} s after {small.cpu_seconds:.3f} s")
    return difference


def nanoseconds_each(seconds, count):
    if count <= 0:
        raise NoDifference("ten times the work counted no more events")
    return seconds * 1e9 / count


def order_cost(threads, private, shared):
    """Costs from differences (between()). `private` never changes the running CPU. The cost of `shared` above that of as
    many private events is the cost of its changes."""
    event = nanoseconds_each(private.cpu_seconds, private.events)
    beyond = shared.cpu_seconds - shared.events * event / 1e9
    return OrderCost(threads, event, nanoseconds_each(shared.cpu_seconds, shared.events),
                     nanoseconds_each(max(0.0, beyond), shared.changes), shared.changes / shared.events)


def reaches(kind, accesses, misses):
    """Whether nearly all accesses of a kind of access_cost reach the level that it names, and none goes further. `misses`: of L1, L2 and L3."""
    level = {"stream": 0, "l2": 1, "store": 1, "l3": 2}[kind]
    return all(miss >= 0.9 * accesses for miss in misses[:level]) and misses[2] == 0 and (level == 2 or misses[1] == 0)


def access_cost(name, most, few, many, nanoseconds):
    """From two runs with different numbers of accesses: (accesses, instructions, misses, far misses) of each."""
    accesses, *counts = (more - less for less, more in zip(few, many))
    return AccessCost(name, *(count / accesses for count in counts), nanoseconds, most)


def scaling(differences):
    """`differences`: {threads: between(...)}."""
    return Scaling({threads: nanoseconds_each(one.cpu_seconds, one.instructions)
                    for threads, one in differences.items()})


def geometric_mean(ratios):
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def cpu_model(cpuinfo):
    """The model name in the text of /proc/cpuinfo."""
    found = re.search(r"^model name\s*:\s*(.+?)\s*$", cpuinfo, re.MULTILINE)
    return found.group(1) if found else "unknown"


def cached(name, cmake_cache):
    """A variable's value in the text of CMakeCache.txt; "" if it is missing."""
    found = re.search(rf"^{re.escape(name)}:[A-Z]+=(.*)$", cmake_cache, re.MULTILINE)
    return found.group(1) if found else ""


# --- tables: lists of cells, laid out for a terminal or as Markdown ---

def program_cells(rows):
    head = ["program", "native", "elision vm", "vm --fast", "cachegrind", "vm memory"]
    body = [[row.name, f"{row.native_seconds:.2f} s", f"{row.slowdown:.1f}x", f"{row.fast_slowdown:.1f}x",
             f"{row.cachegrind_slowdown:.1f}x",
             f"{row.memory_mb:+.0f} MB"] for row in rows]
    if rows:
        body.append(["geometric mean", "", f"{geometric_mean([row.slowdown for row in rows]):.1f}x",
                     f"{geometric_mean([row.fast_slowdown for row in rows]):.1f}x",
                     f"{geometric_mean([row.cachegrind_slowdown for row in rows]):.1f}x", ""])
    return [head, *body]


def order_cells(costs):
    head = ["virtual CPUs", "event, CPU stays", "event, all want the line", "changes an event", "change of CPU"]
    return [head, *([str(cost.threads), f"{cost.event:.0f} ns", f"{cost.contended:.0f} ns",
                     f"{cost.changes_per_event:.2f}", f"{cost.change:.0f} ns"] for cost in costs)]


def access_cells(costs):
    head = ["access", "host instructions", "L1 misses", "last-level misses", "time"]
    return [head, *([cost.name, f"{cost.instructions:.0f} (at most {cost.most}: {'kept' if cost.instructions <= cost.most else 'missed'})" if cost.most
                     else f"{cost.instructions:.0f}",
                     f"{cost.misses:.1f}", f"{cost.far_misses:.2f}", f"{cost.nanoseconds:.0f} ns"] for cost in costs)]


def scaling_cells(found):
    few, many = SCALING_THREADS
    verdict = "kept" if found.ratio <= MOST_SCALING else "missed"
    return [["virtual CPUs", "guest instruction"],
            *([str(threads), f"{cost:.2f} ns"] for threads, cost in found.by_threads.items()),
            [f"{many} to {few}", f"{found.ratio:.2f}x (at most {MOST_SCALING:g}x: {verdict})"]]


def plain(cells):
    """A table for a terminal: the first column left-aligned, the others right-aligned."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) if not column else cell.rjust(width)
                      for column, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in cells]


def markdown(cells):
    head, *body = ["| " + " | ".join(row) + " |" for row in cells]
    return [head, "|---|" + "--:|" * (len(cells[0]) - 1), *body]


def paragraph(text):
    """Lines of a page with an empty line after them."""
    return [*textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False), ""]


@dataclasses.dataclass
class Origin:
    """The origin of the numbers."""
    commit: str
    cpu: str
    cpus: int
    kernel: str
    compiler: str
    load: float  # of the host when it began: what else ran
    scale: float


def of_full_size(origin):
    return "" if origin.scale == 1 else f" at {origin.scale:g} of the full size"


def origin_cells(origin):
    return [["measured on", ""], ["elision", origin.commit], ["CPU", origin.cpu], ["CPUs", str(origin.cpus)],
            ["kernel", origin.kernel], ["compiler", origin.compiler], ["load before", f"{origin.load:.1f}"]]


def document(origin, rows, accesses, costs, found):
    """The text of docs/measured/performance.md."""
    return "\n".join([
        "# How fast the virtual machine is",
        "",
        f"Written by `make bench`{of_full_size(origin)}. Times are CPU time of the host.",
        "",
        *markdown(origin_cells(origin)),
        "",
        "## Programs",
        "",
        "Times as multiples of the native run (the fastest of three). Each run prints the same as the native one. Memory is the",
        "largest resident set minus the native one.",
        "",
        *markdown(program_cells(rows)),
        "",
        "## Cost of an access",
        "",
        *paragraph(
            "What one access costs the host in the helpers and the model, if it leaves translated code: cachegrind counts a run of "
            "`access_cost` (src/vm/cpu) minus a run with half of the accesses. The instructions that translated code and the stubs take to "
            "get there, some 40, are not in it. L1 and the last level are cachegrind's models of this host's."),
        *markdown(access_cells(accesses)),
        "",
        "## Cost of the order of events",
        "",
        *paragraph(
            "An ordered event is an access that other CPUs could notice; here it is an atomic addition with the loop around it. "
            "*CPU stays*: one thread, on a line that no other thread uses. *All want the line*: as many threads as CPUs, on four "
            "lines. The additional time divided by the changes of the running virtual CPU is the cost of a change. All figures are "
            "difference quotients: a run minus a run with a tenth of the work."),
        *markdown(order_cells(costs)),
        "",
        "## The same work on more virtual CPUs",
        "",
        "Private work with some atomics on shared lines and a lock. The total work is the same on few CPUs and on many.",
        "",
        *markdown(scaling_cells(found)),
        "",
        "## How to repeat",
        "",
        "    make bench                 all of it (about half an hour); writes this page",
        "    tools/bench --quick        a tenth of the work; writes nothing unless --write asks for it",
        "    tools/bench xz python3     some programs alone",
        "",
        "How the time of one run is spent: `elision vm --profile` ([vm](../guide/vm.md)).",
        "",
    ])
