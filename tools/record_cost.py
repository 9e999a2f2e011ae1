# SPDX-License-Identifier: Apache-2.0
"""What tools/bench-record measures, and its page. Pure."""

import dataclasses
import math

import paired
import performance

FREQUENCY = 100  # samples a second and thread
WANTED = 0.01    # of a program's time, at most


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    words: tuple  # of the workload: a fixed amount of work


PROGRAMS = (
    Program("onelock, map, 2 threads", ("onelock", "--structure", "map", "--threads", "2", "--sections", "3000000")),
    Program("onelock, hash table, 2 threads", ("onelock", "--structure", "hash", "--threads", "2", "--sections", "3000000")),
    Program("STAMP's vacation, 2 threads", ("vacation", "--threads", "2", "-r", "16384", "-t", "400000")),
    Program("STAMP's intruder, 2 threads", ("intruder", "--threads", "2", "-l", "128", "-n", "20000")),
)

ALONE, NOTED, WOKEN, RECORDED, PERF = "alone", "noted", "woken", "recorded", "perf"
FORMS = (ALONE, NOTED, WOKEN, RECORDED, PERF)
OVER_NOTES, TIMER, OVER_TIMER = "elision record over notes", "a timer over notes", "elision record over the timer"
HEADINGS = ("notes alone", "elision record", OVER_NOTES, TIMER, OVER_TIMER, "perf record")


def logarithms(rounds, form, base):
    """Of the ratios of a form's times to those of another in the same round."""
    return [math.log(times[form] / times[base]) for times in rounds]


def ratios_of(rounds):
    """By heading."""
    pairs = ((NOTED, ALONE), (RECORDED, ALONE), (RECORDED, NOTED), (WOKEN, NOTED), (RECORDED, WOKEN), (PERF, ALONE))
    return {heading: logarithms(rounds, *pair) for heading, pair in zip(HEADINGS, pairs) if all(form in rounds[0] for form in pair)}


def cells_of(measured):
    """`measured`: [(program, rounds)], each round {form: seconds}."""
    cells = [["program", *HEADINGS]]
    for program, rounds in measured:
        found = ratios_of(rounds)
        cells.append([program.name, *(paired.more(found[heading]) if heading in found else "-" for heading in HEADINGS)])
    return cells


def upper_ends(measured, heading):
    """Of the intervals of what a form adds to another, as shares."""
    return [math.expm1(paired.interval(ratios_of(rounds)[heading])[1]) for _, rounds in measured]


def sentence(measured):
    ends = upper_ends(measured, OVER_NOTES)
    within = sum(end <= WANTED for end in ends)
    timers = [math.expm1(paired.middle(ratios_of(rounds)[TIMER])) for _, rounds in measured]
    return (f"What `record` adds to the notes is at most {100 * WANTED:.0f} %, the upper end of the interval included, in {within} of {len(ends)} programs; "
            f"the highest upper end is {100 * max(ends):.1f} %. Another process that wakes {FREQUENCY} times a second and does nothing adds "
            f"{100 * min(timers):.1f} to {100 * max(timers):.1f} %: so much is the machine's price of a timer. Over it, the highest upper end is "
            f"{100 * max(upper_ends(measured, OVER_TIMER)):.1f} %.")


def document(origin, measured):
    """The text of docs/measured/record.md."""
    return "\n".join([
        "# What elision record costs a program",
        "",
        "Written by `make bench-record`.",
        "",
        *performance.markdown(performance.origin_cells(origin)),
        "",
        *performance.paragraph(
            f"Programs that do a fixed amount of work under glibc's own locks, and say how long it took: alone; with the lock library, which notes what threads do "
            f"at their locks; with it and another process that only wakes {FREQUENCY} times a second; under [`elision record`](../guide/record.md) with {FREQUENCY} samples a second and thread, of states and of call paths; and under Debian's "
            f"`perf record -F {FREQUENCY} -e cpu-clock -g`. The forms take turns, {len(measured[0][1])} rounds. More time than another form, with a 95 % interval (bootstrap of the mean "
            "logarithm of the ratios in a round, without the lowest and the highest fifth)."),
        *performance.paragraph(sentence(measured)),
        *performance.markdown(cells_of(measured)),
        "",
    ])
