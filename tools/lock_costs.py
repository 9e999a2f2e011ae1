# SPDX-License-Identifier: Apache-2.0
"""Makes verdicts, tables and the pages docs/measured/lock-costs*.md from the output of lockcost. Pure. `values` is {name: numbers} of
one run of lockcost, `measured` is {design: values}."""

import dataclasses
import statistics

import performance
from performance import paragraph

NOISE = "glibc to itself"  # the row of a run without a preloaded library
JUMP = "glibc behind a jump"  # the same, one side through an indirect jump
REFERENCES = (NOISE, JUMP)  # rows that are no designs
# Pages are kept apart by the maker of the CPU (vendor_id of /proc/cpuinfo): the costs of atomic instructions differ.
PAGES = {"GenuineIntel": "lock-costs.md", "AuthenticAMD": "lock-costs-amd.md"}

# What lockcost prints under "one NAME" and "two NAME", and how the tables call it.
OPERATIONS = {"normal": "normal", "recursive": "recursive", "errorcheck": "errorcheck", "adaptive": "adaptive",
              "trylock": "trylock", "timedlock": "timedlock", "spin": "spin", "read": "rwlock read",
              "write": "rwlock write", "condition": "condition variable"}
CONTENDED = {f"{lock} {section}": f"{said} {section}"
             for lock, said in {"mutex": "mutex", "rwlock-0-writers": "rwlock 0 %",
                                "rwlock-10-writers": "rwlock 10 %", "rwlock-100-writers": "rwlock 100 %"}.items()
             for section in ("short", "200ns")}
# With eight threads a CPU these must be at least as fast as glibc; a lock that hands over in order waits for threads that
# have no CPU.
AT_LEAST_GLIBC = ("tatas", "htm-10")

KEPT, MISSED, UNSETTLED = "kept", "missed", "within the spread"


def noise_of(numbers):
    """How much glibc differs from itself."""
    return abs(numbers[0] - 1) if numbers else 0


def at_most_one(numbers, noise):
    """The verdict on a ratio of times: [median, lower quartile, upper quartile, ...]. A goal is missed if the ratio exceeds
    it by more than the spread of its pairs and by more than glibc differs from itself."""
    median, low = numbers[:2]
    return KEPT if median <= 1 else MISSED if low > 1 + noise else UNSETTLED


def at_least_one(numbers, noise):
    """The verdict on a ratio of throughputs."""
    median, _, high = numbers[:3]
    return KEPT if median >= 1 else MISSED if high < 1 - noise else UNSETTLED


def ratio_text(numbers):
    """The median and half the distance of the quartiles."""
    median, low, high = numbers[:3]
    return f"{median:.2f} ±{(high - low) / 2:.2f}"


def duration(microseconds):
    for limit, scale, unit in ((1e3, 1, "us"), (1e6, 1e3, "ms")):
        if microseconds < limit:
            return f"{microseconds / scale:.3g} {unit}"
    return f"{microseconds / 1e6:.3g} s"


def waits_text(numbers):
    return f"{duration(numbers[3])} ({duration(numbers[4])})"


@dataclasses.dataclass
class Goal:
    prefix: str
    names: dict
    verdict: object  # of (numbers, noise)
    designs: tuple = ()  # whom it is for; (): all

    def verdicts(self, measured):
        """{(design, name): verdict} of all measurements."""
        noise = measured.get(NOISE, {})
        found = {}
        for design, values in measured.items():
            for name in self.names:
                key = f"{self.prefix} {name}"
                if design not in REFERENCES and key in values and (not self.designs or design in self.designs):
                    found[design, name] = self.verdict(values[key], noise_of(noise.get(key)))
        return found

    def cells(self, measured):
        """How often each design keeps the goal."""
        found = self.verdicts(measured)
        designs = dict.fromkeys(design for design, _ in found)
        return [["", KEPT, UNSETTLED, MISSED],
                *([design, *(str(sum(verdict == which for (of, _), verdict in found.items() if of == design))
                             for which in (KEPT, UNSETTLED, MISSED))] for design in designs)]


UNCONTENDED_GOAL = Goal("two", OPERATIONS, at_most_one)
OVERSUBSCRIBED_GOAL = Goal("oversubscribed", CONTENDED, at_least_one, AT_LEAST_GLIBC)


def rows(measured, prefix, names, text, goal=None):
    """A table with a row per design and a column for each name that a design replaces. An exclamation mark is a missed
    goal."""
    replaced = {name for design, values in measured.items() if design not in REFERENCES for name in values}
    shown = {name: said for name, said in names.items() if f"{prefix} {name}" in replaced}
    verdicts = goal.verdicts(measured) if goal else {}

    def cell(design, name):
        numbers = measured[design].get(f"{prefix} {name}")
        missed = verdicts.get((design, name)) == MISSED
        return "-" if numbers is None else text(numbers) + ("!" if missed else "")

    measures = [design for design, values in measured.items() if any(f"{prefix} {name}" in values for name in shown)]
    return [["", *shown.values()], *([design, *(cell(design, name) for name in shown)] for design in measures)]


def not_replaced(measured):
    """The names that no design replaces, in the tables' words."""
    replaced = {name for design, values in measured.items() if design not in REFERENCES for name in values}
    return [said for name, said in OPERATIONS.items() if f"two {name}" not in replaced]


def sections(measured):
    """[(title, caption, cells)] of all tables."""
    held = " and ".join(AT_LEAST_GLIBC)
    return [
        ("Uncontended, one thread alive", "Time of a lock and unlock. glibc leaves its atomics out then.",
         rows(measured, "one", OPERATIONS, ratio_text)),
        ("Uncontended, two threads alive",
         "The same while a second thread sleeps; condition variable: a round trip of two threads. The goal is at most 1.0; "
         "! misses it.",
         rows(measured, "two", OPERATIONS, ratio_text, UNCONTENDED_GOAL)),
        ("How many keep the goal, two threads alive", "Of the columns above.", UNCONTENDED_GOAL.cells(measured)),
        ("Contended, a thread a CPU",
         "Throughput, more is better. Sections increment a counter (short) or take 200 ns more; work outside of them takes "
         "0 to 400 ns. Percent are those of writers.",
         rows(measured, "contended", CONTENDED, ratio_text)),
        ("Longest wait, a thread a CPU", "In parentheses glibc's in the same run.",
         rows(measured, "contended", CONTENDED, waits_text)),
        ("Contended, eight threads a CPU",
         f"Throughput, more is better. The goal of {held} is at least 1.0; ! misses it. A lock that hands over in order waits "
         "for threads without a CPU.",
         rows(measured, "oversubscribed", CONTENDED, ratio_text, OVERSUBSCRIBED_GOAL)),
        ("How many keep the goal, eight threads a CPU", "Of the columns above.", OVERSUBSCRIBED_GOAL.cells(measured)),
        ("Longest wait, eight threads a CPU", "In parentheses glibc's in the same run.",
         rows(measured, "oversubscribed", CONTENDED, waits_text)),
    ]


def loading_cells(loading):
    """The time that loading the library adds to a program. `loading`: pairs of microseconds, without it and with it."""
    added = sorted(beside - without for without, beside in loading)
    quarter = len(added) // 4
    spread = (added[-1 - quarter] - added[quarter]) / 2
    return [["", "time"],
            ["a program that ends at once", duration(statistics.median(without for without, _ in loading))],
            ["added by loading the library", f"{statistics.median(added):.0f} ±{spread:.0f} us"]]


def document(origin, measured, notes, loading, others=()):
    """The text of a page. `notes`: {design: the launcher's output}; `others`: the pages of other makers' CPUs."""
    lines = [
        "# What the locks cost beside glibc's",
        "",
        f"Written by `make bench-locks`{performance.of_full_size(origin)}, natively on the machine named here.",
        "",
        *performance.markdown(performance.origin_cells(origin)),
        "",
        *(paragraph(f"On other CPUs: {', '.join(f'[{name}]({name})' for name in others)}.") if others else ()),
        *paragraph(
            "Every number is a ratio to glibc's own function. Both functions are called in the same process, in rounds that take "
            "turns, so that other work on the machine affects both. The number is the median of the ratios of neighbouring rounds, "
            f"± half the distance of their quartiles. *{NOISE}* is a run without Elision's library; its difference from 1 is noise. "
            f"*{JUMP}* is glibc through one indirect jump for each function, which any library that forwards to glibc adds. "
            "A goal is missed if the median and its quartile are beyond it by more than the noise. A dash: the design leaves the "
            "function to glibc."),
        *paragraph(
            "Longest waits are measured in separate rounds, ten times as long, which read a clock before and after taking the "
            "lock. They include waiting for a CPU. If a thread starves, its longest wait is about the length of a round."),
    ]
    left = not_replaced(measured)
    if left:
        lines += paragraph(f"No design replaces: {', '.join(left)}.")
    for design, note in notes.items():
        lines += paragraph(f"{design}: {note}")
    for title, what, cells in sections(measured):
        lines += [f"## {title}", "", *paragraph(what), *performance.markdown(cells), ""]
    lines += ["## Loading", "", *paragraph(
        f"{len(loading)} pairs of runs, one without the library and one with it: medians, ± half the distance of the quartiles."),
        *performance.markdown(loading_cells(loading)), ""]
    return "\n".join([*lines,
                      "## How to repeat",
                      "",
                      "    make bench-locks                            all of it (some minutes); writes this page",
                      "    tools/bench-locks --quick                   short rounds; writes nothing",
                      "    tools/bench-locks --locks tatas,htm-10      some designs; writes nothing",
                      ""])
