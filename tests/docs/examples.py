#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md and docs/: where they stand, and whether a command still prints what its page shows.

An example is a fenced block marked `console`: a command behind `$ `, then its output. Numbers, abort causes, the width of
columns, the places of a conflict and the sentence that depends on whether this CPU has transactions may differ, other words may not. A line `...` stands for
any lines. A comment in front of a block changes how it is judged:

    <!-- example: exit 1,2 -->    one of these exit codes, not 0
    <!-- example: labels -->      only what stands in front of a colon or a column must be the same

Called as a program, it prints the commands of README.md, one a line: those of its examples, and its indented lines.
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

MARK = re.compile(r"<!-- example: (.*) -->")
NUMBER = re.compile(r"(?<![\w.-])(?:[<>](?=\d+ %)|-)?(?:0x[0-9a-f]+|\d[\d.]*(?:e[+-]\d+)?)(?:[kMGx]\b)?(?: (?:ns|us|ms|s|%|KB|MB)(?!\w))?")
CAUSE = r"(?:lock-busy|explicit|conflict|capacity|nested|debug|other)"
CAUSES = re.compile(rf"\b{CAUSE} #(?:, {CAUSE} #)*$")
PROGRESS = re.compile(r"elision (?:compare|vm): .*runs, ")
# Which of several pairs of places conflicts most, when they are close: the addresses of a guest's data decide, and they depend on paths. So they
# do about false sharing.
PAIR = re.compile(r"(^\s*# # under .*?\): |conflict on the same data, most often at #: ).* (?:and|against) .*\)(?:(, # times)(?:, by false sharing)?|(\.))$")
BAR = re.compile(r"(?<=\s)[.=+xfwosb]{20,}(?=\s)")  # where the time goes
# What the letters of the bars above stand for. It names those that they have, and no others.
LETTERS = (r"\. outside of locks", "= holding a lock", r"\+ in transactions that committed", "x in transactions that aborted", "f in fallback", "s speculating",
           "w waiting for locks", "o in the locks' code", "b blocked")
LEGEND = re.compile(f"^(?: ?(?:{'|'.join(LETTERS)}))+$")
COMMAND = re.compile(r"\s*(?:\$ +)?(?:build/bin/)?elision +\w")
ADVICE = re.compile(r"^# (?:(?:Run|(?:Unless your machine is like this one, c|C)ompare .* Then run) it with [\w-]+:|(?:This CPU has no|ELISION_HIDE_RTM=# hides this CPU's) transactions, .* On a CPU with transactions:)$")
SYNOPSIS = re.compile(r"\[OPTION\.\.\.\]|\bPROGRAM\b|\byourprogram\b|\[--format |\[--variation I\]")


class PageError(Exception):
    """A page whose examples cannot be read."""


@dataclasses.dataclass
class Example:
    page: str
    line: int
    command: str
    shown: list
    exit_codes: tuple = (0,)
    labels: bool = False


def blocks(lines):
    """(number of the first line, marks in front, word behind the fence or None, lines) of every block of code."""
    marks, index = "", 0
    while index < len(lines):
        line = lines[index]
        mark = MARK.match(line)
        if mark:
            marks = mark.group(1)
        elif line.startswith("```"):
            end = next((at for at in range(index + 1, len(lines)) if lines[at].startswith("```")), len(lines))
            yield index + 2, marks, line[3:].strip(), lines[index + 1:end]
            marks, index = "", end
        elif line.startswith("    "):
            yield index + 1, "", None, [line]
        index += 1


def examples_in(page, text):
    """Every example of a page. A command that stands in another kind of block is an error."""
    for number, marks, kind, lines in blocks(text.splitlines()):
        if kind != "console":
            for offset, line in enumerate(lines):
                if COMMAND.match(line) and not SYNOPSIS.search(line):
                    raise PageError(f"{page}:{number + offset}: a command outside of a console block")
            continue
        codes = re.search(r"exit ([\d,]+)", marks)
        found = None
        for offset, line in enumerate(lines):
            if line.startswith("$ "):
                if found:
                    yield found
                found = Example(page, number + offset, line[2:], [],
                                tuple(map(int, codes.group(1).split(","))) if codes else (0,), "labels" in marks)
            elif found is None:
                raise PageError(f"{page}:{number + offset}: a console block begins with a command")
            elif found.command.endswith("\\") and not found.shown:
                found.command = found.command[:-1] + line.strip()
            else:
                found.shown.append(line)
        if found:
            yield found


def shape(line):
    """`line` without its numbers, and without the spaces that align them."""
    words = NUMBER.sub("#", line)
    words = re.sub(r"(?<=\s)-(?=\s|$)", "#", words)  # a column that this design does not have
    words = re.sub(r"#(?:, #)*, \.\.\.", "#", words)
    words = re.sub(r"#(?:, #)+", "#", words)
    words = BAR.sub("bar", words)
    words = PAIR.sub(r"\1two places\2\3", words)
    words = re.sub(r"# to # runs", "# runs", words)  # as many as the results needed
    words = re.sub(r"\s+", " ", words).strip()
    words = LEGEND.sub("letters of the bars", words)
    words = ADVICE.sub("# advice for this CPU:", words)
    return CAUSES.sub("#", words)


def label(line):
    return shape(re.split(r":|(?<=\S)  ", line.strip())[0])


def lines_of(text, by):
    kept = (line for line in text if line.strip() and not PROGRESS.match(line))
    return [line.strip() if line.strip() == "..." else by(line) for line in kept]


def matches(shown, printed):
    """Whether `printed` is `shown`, in which `...` stands for any lines."""
    if "..." not in shown:
        return shown == printed
    first = shown.index("...")
    if printed[:first] != shown[:first]:
        return False
    rest = shown[first + 1:]
    return any(matches(rest, printed[start:]) for start in range(first, len(printed) + 1))


def wrong_legend(text):
    """The first legend that does not name just the letters of the bars above it, or None."""
    letters = set()
    for line in text:
        letters.update(*BAR.findall(line))
        legend = re.sub(r"\s+", " ", line).strip()
        if LEGEND.match(legend):
            if letters != {found.group()[0] for found in re.finditer("|".join(LETTERS), legend)}:
                return legend
            letters = set()
    return None


def judge(example, status, printed):
    """What differs, in words; None if nothing does."""
    if status not in example.exit_codes:
        return f"exit code {status}, not {' or '.join(map(str, example.exit_codes))}"
    for name, text in (("page", example.shown), ("command", printed.splitlines())):
        if wrong := wrong_legend(text):
            return f"the legend of the {name} names other letters than its bars have: {wrong}"
    by = label if example.labels else shape
    shown = lines_of(example.shown, by)
    got = lines_of(printed.splitlines(), by)
    if matches(shown, got):
        return None
    return "\n  ".join(["the page shows"] + shown + ["but the command prints"] + got)


def quicker(command):
    return re.sub(r"--vary \d+", "--vary 2", command)


def all_examples():
    """Those of measured pages are run by the targets of the Makefile that write the pages; they take minutes."""
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", *sorted(page for page in docs.rglob("*.md") if docs / "measured" not in page.parents)]
    return [example for page in pages for example in examples_in(page.relative_to(ROOT), page.read_text(encoding="utf-8"))]


def commands_of(page, text):
    """What a reader of the page types, in its order: the commands of its examples, and its indented lines without their comments."""
    examples = {example.line: example.command for example in examples_in(page, text)}
    indented = {number: re.sub(r"\s+#.*", "", lines[0]).strip() for number, _, kind, lines in blocks(text.splitlines())
                if kind is None and not SYNOPSIS.search(lines[0])}
    return [command for _, command in sorted((examples | indented).items())]


if __name__ == "__main__":
    print("\n".join(commands_of("README.md", (ROOT / "README.md").read_text(encoding="utf-8"))))
