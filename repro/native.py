# SPDX-License-Identifier: Apache-2.0
"""The claims' comparisons natively, with as many threads as this computer has CPUs: measured, never judged. Pure.

A claim with `native` in its table `ours` runs natively. `native` has the program's words, with runs that are long enough for a clock. {threads} is 1
if a run has one thread, else the number of CPUs. {input} comes from `native_inputs` instead of `inputs`. Runs use only those options of
`elision vm` that `elision run` has too.
"""

import dataclasses
import re

import claims
from ranges import Range

METRICS = set(claims.METRICS) - set(claims.COUNTED)
COLUMNS = ("claim", "part", "threads", "metric", "low", "median", "high", "runs", "cpu", "cpus", "commit", "changed", "elision")


def known_options(help_text):
    """Returns the options in a help text, without those that require something of the CPU."""
    return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_text, re.MULTILINE))


def kept(options, known):
    """Returns the known options among the words, each with its values."""
    words, keep = [], False
    for word in options:
        keep = word in known if word.startswith("--") else keep
        words += [word] if keep else []
    return words


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A statement without its range. `of` and `over`: the words of `elision run` behind it, a list for each run."""
    claim: str
    part: str
    threads: str
    metric: str
    of: tuple
    over: tuple | None


def _settings(claim, settings, cpus):
    every = {**claim.ours.get("settings", {}), **settings}
    return {**every, "threads": 1 if every.get("threads") == 1 else cpus}


def _words(claim, settings, known):
    ours = claim.ours
    inputs = ours.get("native_inputs", ours.get("inputs"))
    named = {**settings, "input": inputs[settings["application"]]} if inputs else settings
    options = kept(ours.get("options", "").format(**named).split(), known)
    return (*([] if "--lock" in options else ["--lock", "pthread"]), *options, "--", *ours["native"].format(**named).split())


def _values(runs, names):
    """{name: its values in these runs}"""
    values = {name: list(dict.fromkeys(run[name] for run in runs if name in run)) for name in names}
    return {name: found for name, found in values.items() if found}


def _text(values, names):
    return ", ".join(f"{name.replace('_', ' ')} {' or '.join(map(str, values[name]))}" for name in names if name in values)


def _part(claim, of, over):
    """The settings of a comparison in words: first those by which its sides differ."""
    names = dict.fromkeys(re.findall(r"{(\w+)}", claim.ours.get("options", "") + claim.ours["native"]))
    names = [name for name in {"application": None, **names} if name != "input"]
    ours, theirs = _values(of, names), _values(over or of, names)
    differ = [name for name in names if ours.get(name) != theirs.get(name)]
    same = [name for name in names if name not in differ and name != "threads" and ours.get(name) != [""]]
    sides = f"{_text(ours, differ)} over {_text(theirs, differ)}" if differ else ""
    return "; ".join(filter(None, [sides, _text(ours, same)]))


def comparisons(claim, cpus, known):
    """The comparisons of a claim's statements, each once."""
    found = {}
    for statement in claim.statements():
        of = [_settings(claim, one, cpus) for one in statement.of]
        over = None if statement.over is None else [_settings(claim, one, cpus) for one in statement.over]
        words = [None if side is None else tuple(_words(claim, one, known) for one in side) for side in (of, over)]
        threads = " over ".join(dict.fromkeys(str(side[0]["threads"]) for side in (of, over) if side))
        one = Comparison(claim.id, _part(claim, of, over), threads, statement.metric, *words)
        if one.over != one.of:
            found.setdefault((one.metric, one.of, one.over), one)
    return list(found.values())


def values_of(comparison, outputs):
    """Returns one value per run. `outputs`: {words: what each run printed}. Raises NotMeasured if only the virtual machine counts the metric."""
    measure = claims.METRICS[comparison.metric]

    def most(side, run):
        return max(measure({"output": outputs[words][run], "totals": None}) for words in side)

    runs = len(outputs[comparison.of[0]])
    return [claims.ratio(most(comparison.of, run), most(comparison.over, run)) if comparison.over else most(comparison.of, run) for run in range(runs)]


def row_of(comparison, values, origin):
    """Returns a row of the CSV. `origin`: cpu, cpus, commit, changed and version."""
    own = Range.of(values)
    return [comparison.claim, comparison.part, comparison.threads, comparison.metric + (" ratio" if comparison.over else ""),
            *(f"{number:.4g}" for number in (own.low, own.median, own.high)), len(values), *origin]


def cpu_line(rows):
    """Returns a line that names the CPU of these rows of the CSV."""
    return f"On this CPU: {rows[0]['cpu']}; {rows[0]['cpus']} CPUs, as many threads, {rows[0]['runs']} runs: median [least - most]. Not judged."


def tables(rows):
    """Returns {claim: [[part, threads, found]]} for rows of the CSV."""
    found = {}
    for row in rows:
        unit = " %" if row["metric"].endswith("percent") else "x" if row["metric"].endswith("ratio") else ""
        own = Range(*(float(row[name]) for name in ("median", "low", "high")))
        found.setdefault(row["claim"], []).append([row["part"], row["threads"], own.text(unit)])
    return found


def text(rows):
    """Returns the rows as text for a terminal."""
    lines = [cpu_line(rows)]
    for claim, own in tables(rows).items():
        lines += [claim, *(f"  {part} ({threads} thread{'' if threads == '1' else 's'}): {found}" for part, threads, found in own)]
    return "\n".join(lines)
