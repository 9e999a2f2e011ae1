# SPDX-License-Identifier: Apache-2.0
"""The papers' claims as data (claims.toml): which runs a claim needs, and what they say of it. Pure.

A claim that `make repro` judges has a table `ours`:

    machine, options, program   what runs: a described machine, options of `elision vm`, a workload and its arguments. {name} is a setting.
                                A program of Debian has its whole path
    settings                    its default values
    full                        values that these settings have in `make repro-full` instead
    quick                       on how many variations `make repro` runs it, where runs are long; default: on all
    inputs                      for {input}: the program of each value of the setting `application`, or a table with one for each value of `size`
    profiler                    options of `elision record`, which starts the program where the setting `profiled` is "yes". `options` do not apply there:
                                the locks of the recorder itself are not elided
    statement                   one row for each part of the claim:
      says, metric              the metric of METRICS; default: throughput
      of, over                  settings of two runs. The statement is about the ratio of their metrics; without `over` it is about one metric. Of a
                                list of settings the largest metric counts: so `of` is the best of some designs, `over` the best of the others
      mean                      settings with lists of values: the ratio is the geometric mean over all combinations
      base                      settings of a third run: the statement is about the part of `over`'s gain over it that `of` reaches
      range                     what the paper gives; a bound of `inf` is open
      values                    instead of a range: the claim's table that has numbers by application and number of threads
      tolerance                 how far a bound may be missed, as a share of it; for percentages, in points
      points                    for ratios: how far a bound may be missed, in hundredths
      each                      settings with lists of values: one statement for each combination. `says` may name them, and {value}

A run takes place on several variations of the machine, each with its own seed.
"""

import dataclasses
import itertools
import math
import re
import statistics

from ranges import Range

HOLDS, DOES_NOT, NOT_SETTLED, NOT_JUDGED = "holds", "does not", "not settled", "not judged"
NOT_PROFILED, PROFILED = "no", "yes"
PROFILE_SUFFIX = ".profile"  # behind the name of the file with a run's statistics
MOST = 0.75  # share of variations on which each statement of a claim that holds is true


class NotMeasured(Exception):
    """A run says nothing about a metric."""


def _printed(name, result):
    found = re.search(rf"^{name}: ([0-9.]+)", result["output"], re.MULTILINE)
    if not found:
        raise NotMeasured(f"no '{name}:' in what a run printed: {result['output'][:200]!r}")
    return float(found.group(1))


def _throughput(result):
    return _printed("throughput", result)


def totals_of(statistics):
    """Returns the totals of a run's statistics, with the times of all threads by state (`times_ns`), if the run noted them (--lock-times)."""
    times = [process["lock_times"]["times_ns"] for process in statistics["processes"] if "lock_times" in process]
    return statistics["totals"] | ({"times_ns": {state: sum(one[state] for one in times) for state in times[0]}} if times else {})


def samples_of(profile):
    """Returns the number of samples of call paths that a program took, those included whose calls were not followed."""
    return sum(path["samples"] for path in profile["profile"].get("paths", [])) + profile["profile"].get("paths_lost", 0)


# The library's causes (abi/counters.h), and those that the CPU's samples tell apart (profile/abort_account.h).
CAUSES = {"conflict": ("conflict",), "capacity": ("capacity",), "lock-busy": ("lock-busy",), "explicit": ("explicit",), "other": ("instruction", "interrupt")}


def abort_events_of(profile):
    """Returns what a profile says of aborts: `samples` of the CPU's performance events, and what these and the lock library counted. A lost sample
    stands for its period. Nothing if there were no events."""
    events = profile["profile"].get("abort_events", {})
    if "samples" not in events or events["missing"]:
        return None
    locks = profile["profile"]["locks"]
    return {"samples": events["samples"], "lost": events["lost"], "sampled_aborts": events["sampled_aborts"] + events["lost"] * events["period"], "commits": events["commits"],
            "cycles": events["cycles"], "counted_cycles": events["counted_cycles"],
            "causes": {name: sum(events["by_cause"].get(one, 0) for one in of_samples) for name, of_samples in CAUSES.items()},
            "library_commits": sum(lock["commits"] for lock in locks),
            "library_causes": {name: sum(lock["aborts"].get(name, 0) for lock in locks) for name in CAUSES}}


def _counted(name, result):
    """Returns a number that only the virtual machine counts."""
    totals = result["totals"]
    if totals is None:
        raise NotMeasured("a native run counts no transactions")
    if name not in totals:
        raise NotMeasured(f"a run without '{name}'")
    return totals[name]


def _abort_percent(result):
    """Returns the abort percentage of hardware transactions."""
    begins = _counted("begins", result)
    if begins == 0:
        raise NotMeasured("a run whose aborts are asked for began no transaction")
    return 100 * (1 - _counted("commits", result) / begins)


def _software_abort_percent(result):
    aborts, commits = _printed("aborts", result), _printed("sections", result)
    if aborts + commits == 0:
        raise NotMeasured("a run whose aborts are asked for had no section")
    return 100 * aborts / (aborts + commits)


def _part_speed(result):
    """Returns 1 / seconds of a part of the run that ends after a fixed amount of work."""
    return 1e9 / _counted("virtual_ns", result)


def _tries(result):
    """Returns the tries of hardware transactions per commit."""
    commits = _counted("commits", result)
    if commits == 0:
        raise NotMeasured("a run whose tries a commit are asked for has no commit")
    return _counted("begins", result) / commits


def _conflict_percent(result):
    """Returns the percentage of hardware transactions' aborts that are conflicts."""
    aborts = _counted("aborts", result)
    if sum(aborts.values()) == 0:
        raise NotMeasured("a run whose conflicts are asked for has no abort")
    return 100 * aborts["conflict"] / sum(aborts.values())


def _section_percent(result):
    """Returns the percentage of their running time that threads spend for sections: in them, in attempts, on locks, waiting."""
    times = {state: time for state, time in _counted("times_ns", result).items() if state != "blocked"}
    if sum(times.values()) == 0:
        raise NotMeasured("a run whose threads did not run")
    return 100 * (sum(times.values()) - times["outside"]) / sum(times.values())


def _percent_of_sections(*states):
    """Returns the function that gives the percentage of the time that threads spend for sections which they are in one of the states."""
    def percent(result):
        times = {state: time for state, time in _counted("times_ns", result).items() if state not in ("blocked", "outside")}
        return _percent(sum(times[state] for state in states), sum(times.values()), "sections")
    return percent


def _capacity_percent(result):
    """Returns the percentage of hardware transactions' aborts that are for capacity."""
    aborts = _counted("aborts", result)
    return _percent(aborts["capacity"], sum(aborts.values()), "aborts")


def _conflict_share(result):
    """Returns the percentage of conflicts among aborts by conflict and by capacity: the aborts that the AAHTM paper's lock code counts (enter_htm in
    txutil.h of github.com/greenShell/aahtm). Those by PAUSE or XABORT, when the lock was held, are not among them."""
    aborts = _counted("aborts", result)
    return _percent(aborts["conflict"], aborts["conflict"] + aborts["capacity"], "aborts by conflict or capacity")


def _aborts_a_commit(result):
    commits, aborts = _counted("commits", result), sum(_counted("aborts", result).values())
    if commits + aborts == 0:
        raise NotMeasured("a run whose aborts a commit are asked for had no transaction")
    return aborts / commits if commits else math.inf


def _program_type(result):
    """Returns TxSampler's type of a program: 1 if it spends less than a fifth of its time for sections, else 2 if more transactions commit than abort, else 3."""
    if _section_percent(result) < 20:
        return 1
    return 2 if _aborts_a_commit(result) < 1 else 3


def _transactional_memory(result):
    """Returns what libelision-tm counted (tools/tm_counters.py)."""
    return _counted("transactional_memory", result)


def _ratio(part, whole, what):
    if whole == 0:
        raise NotMeasured(f"a run without {what}")
    return part / whole


def _percent(part, whole, what):
    return 100 * _ratio(part, whole, what)


def _fallback_percent(result):
    """Returns the percentage of the program's transactions that did not commit as one hardware transaction."""
    counts = _transactional_memory(result)
    return _percent(counts["fallback_commits"] + counts["serial_commits"], counts["commits"], "transactions")


FAST_PATH_ABORTS = [f"{cause}_aborts" for cause in ("lock_busy", "explicit", "conflict", "capacity", "nested", "debug", "other")]


def _fast_path_percent(*causes):
    """Returns the function that gives the percentage of the fast path's attempts that abort for one of the causes."""
    def percent(result):
        counts = _transactional_memory(result)
        aborts = sum(count for name, count in counts.items() if name in FAST_PATH_ABORTS)
        attempts = aborts + counts["plain_commits"] + counts["read_only_commits"] + counts["logged_commits"]
        return _percent(sum(counts[f"{cause}_aborts"] for cause in causes), attempts, "attempts in hardware")
    return percent


def _write_back_percent(result):
    """Returns the percentage of write-backs that committed as one hardware transaction."""
    counts = _transactional_memory(result)
    return _percent(counts["write_backs"] - counts["write_backs_under_lock"], counts["write_backs"], "write-backs")


def _segment_accesses(result):
    """Returns the mean number of accesses in a hardware segment of the fallback."""
    counts = _transactional_memory(result)
    return _ratio(counts["segment_accesses"], counts["segments"], "segments")


def _sampled_abort_percent(result):
    """Returns the aborts that samples stand for, as a percentage of those that the library counted."""
    events = _counted("abort_events", result)
    return _percent(events["sampled_aborts"], sum(events["library_causes"].values()), "aborts")


def _event_commit_percent(result):
    """Returns the commits that the CPU's event counted, as a percentage of those that the library counted."""
    events = _counted("abort_events", result)
    return _percent(events["commits"], events["library_commits"], "commits")


def _cause_error_percent(result):
    """Returns how far the share of a cause in the samples lies from that in the library's counts, in points: the largest difference."""
    events = _counted("abort_events", result)
    sampled, exact = sum(events["causes"].values()), sum(events["library_causes"].values())
    return max(abs(_percent(events["causes"][name], sampled, "samples") - _percent(events["library_causes"][name], exact, "aborts")) for name in CAUSES)


def _weight_percent(result):
    """Returns the cycles that samples of aborts stand for by their weights, as a percentage of those that the CPU counted."""
    events = _counted("abort_events", result)
    return _percent(events["cycles"], events["counted_cycles"], "cycles in transactions that aborted")


COUNTED = {"sampled abort percent": _sampled_abort_percent, "event commit percent": _event_commit_percent, "cause error percent": _cause_error_percent,
           "weight percent": _weight_percent, "abort samples": lambda result: _counted("abort_events", result)["samples"],
           "abort percent": _abort_percent, "part speed": _part_speed, "tries": _tries, "conflict percent": _conflict_percent,
           "conflict share": _conflict_share,
           "capacity percent": _capacity_percent, "transaction percent": _percent_of_sections("attempt"), "waiting percent": _percent_of_sections("waiting", "speculating"),
           "section percent": _section_percent, "aborts a commit": _aborts_a_commit,
           "samples": lambda result: _counted("profile_samples", result), "program type": _program_type, "fallback percent": _fallback_percent,
           "write-back percent": _write_back_percent,
           "segment accesses": _segment_accesses, "conflict abort percent": _fast_path_percent("conflict"),
           "explicit abort percent": _fast_path_percent("explicit", "lock_busy"), "capacity abort percent": _fast_path_percent("capacity")}
METRICS = {"throughput": _throughput, "abort percent": _abort_percent, "software abort percent": _software_abort_percent, **COUNTED}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run: the settings that make its command, and the variation of the machine."""
    claim: str
    settings: tuple  # of (name, value), in order of their names
    variation: int


def listed(value):
    return value if isinstance(value, list) else [value]


def combinations(table):
    """{name: value or list of values} -> a table without lists for each combination."""
    return [dict(zip(table, values)) for values in itertools.product(*map(listed, table.values()))]


@dataclasses.dataclass(frozen=True)
class Statement:
    says: str
    of: list  # of settings
    over: list | None
    low: float
    high: float
    metric: str = "throughput"
    base: list | None = None
    mean: tuple = ()  # statements whose geometric mean this one is about; the first has its `of` and `over`

    @property
    def runs(self):
        """The settings of all runs of the statement."""
        if self.mean:
            return [settings for part in self.mean for settings in part.runs]
        return self.of + (self.over or []) + (self.base or [])

    @classmethod
    def read(cls, claim, row, settings):
        """One statement of a row, for these settings of its `each`."""
        if "mean" in row:
            part = {key: value for key, value in row.items() if key != "mean"}
            mean = tuple(cls.read(claim, part, {**settings, **more}) for more in combinations(row["mean"]))
            return dataclasses.replace(mean[0], mean=mean)
        metric, tolerance = row.get("metric", "throughput"), row.get("tolerance", 0)
        if "values" in row:
            at = claim["threads"].index(settings["threads"])
            low = high = claim[row["values"]][settings["application"]][at]
        else:
            low, high = map(float, row["range"])
        says, points = row["says"].format(**settings, value=low), row.get("points", 0) / 100
        if metric.endswith("percent"):
            low, high = low - tolerance, high + tolerance
        else:
            low, high = low * (1 - tolerance) - points, high * (1 + tolerance) + points
        of, over, base = ([{**settings, **one} for one in listed(row[key])] if key in row else None for key in ("of", "over", "base"))
        return cls(says, of or [settings], over, low, high, metric, base)


@dataclasses.dataclass(frozen=True)
class Claim:
    row: dict

    @property
    def id(self):
        return self.row["id"]

    @property
    def ours(self):
        return self.row.get("ours")

    @property
    def runs(self):
        """The table that says what runs: `ours`, or `runs` if another tool judges the claim and figures show it. None if nothing runs."""
        return self.row.get("ours", self.row.get("runs"))

    def whole(self):
        """Returns the claim as `make repro-full` runs it."""
        key = "ours" if self.ours else "runs"
        if not self.runs or "full" not in self.runs:
            return self
        return Claim({**self.row, key: {**self.runs, "settings": {**self.runs["settings"], **self.runs["full"]}}})

    def variations(self, most):
        """The number of variations on which the claim runs. `most`: that of other claims."""
        return min(most, self.runs.get("quick", most))

    def statements(self):
        return [Statement.read(self.row, row, settings) for row in self.ours["statement"] for settings in combinations(row.get("each", {}))]

    def cell(self, settings, variation):
        return Cell(self.id, tuple(sorted({**self.runs.get("settings", {}), **settings}.items())), variation)

    def cells(self, every, variations):
        """The runs with these settings, each once."""
        return list(dict.fromkeys(self.cell(one, variation) for one in every for variation in range(variations)))


def cells_of(claim, variations):
    """The runs that a claim's statements need, or that a table needs (`always`, tables.py), each once."""
    of_statements = [one for statement in (claim.statements() if claim.ours else []) for one in statement.runs]
    return claim.cells(of_statements + claim.row.get("always", []), variations)


def machine(template, settings):
    """Returns the machine of a run. `settings`: pairs (name, value)."""
    return template.format(**dict(settings))


def command(build, claim, cell, statistics):
    """The words of one run. `statistics`: the file for what the virtual machine counted."""
    settings, ours = dict(cell.settings), claim.runs
    if "inputs" in ours:
        program = ours["inputs"][settings["application"]]
        settings["input"] = program[settings["size"]] if isinstance(program, dict) else program
    program, *arguments = ours["program"].format(**settings).split()
    profiled = settings.get("profiled", NOT_PROFILED)
    options, recorder = {
        NOT_PROFILED: (ours.get("options", "").format(**settings).split(), []),
        PROFILED: ([], [f"{build}/bin/elision", "record", *ours.get("profiler", "").split(), "-o", f"{statistics}{PROFILE_SUFFIX}", "--"]),
    }[profiled]
    return [f"{build}/bin/elision", "vm", "--machine", machine(ours["machine"], cell.settings), "--variation", str(cell.variation), "--seed", str(cell.variation + 1),
            *options, "--stats", str(statistics), "--", *recorder, program if program.startswith("/") else f"{build}/workloads/{program}", *arguments]


def program_of(words):
    """Returns the program of a run's words: behind the virtual machine's options, and behind the profiler's if that starts it."""
    started = words[words.index("--") + 1:]
    return program_of(started) if started[0] == words[0] else started[0]


@dataclasses.dataclass(frozen=True)
class Found:
    """What the runs say of a statement."""
    statement: Statement
    values: tuple  # by variation

    @property
    def range(self):
        return Range.of(self.values)

    @property
    def times(self):
        """On how many variations it is true."""
        return sum(self.statement.low <= value <= self.statement.high for value in self.values)


def ratio(own, reference):
    if reference == 0:
        raise NotMeasured("a ratio to a run that measured 0")
    return own / reference


def _share_of_gain(of, over, base):
    return (of - base) / (over - base) if over > base else math.inf


def _value(statement, measured):
    """Returns the statement's value. `measured(settings, metric)` returns the metric of the run with these settings."""
    if statement.mean:
        return statistics.geometric_mean(_value(part, measured) for part in statement.mean)

    def most(settings):
        return max(measured(one, statement.metric) for one in settings)

    if statement.base is not None:
        return _share_of_gain(most(statement.of), most(statement.over), most(statement.base))
    return ratio(most(statement.of), most(statement.over)) if statement.over is not None else most(statement.of)


def find(claim, results, variations):
    """A Found for each statement. `results`: {cell: what it printed and counted}. Raises NotMeasured with the claim and the statement."""
    def value(statement, variation):
        try:
            return _value(statement, lambda settings, metric: METRICS[metric](results[claim.cell(settings, variation)]))
        except NotMeasured as error:
            raise NotMeasured(f"{claim.id}: {statement.says}: {error}") from error

    return [Found(statement, tuple(value(statement, variation) for variation in range(variations))) for statement in claim.statements()]


def is_true(one):
    """Whether a statement is true on most variations."""
    return one.times >= MOST * len(one.values)


def verdict(found):
    """HOLDS if each statement is true on most variations, DOES_NOT if one is false on as many."""
    if all(map(is_true, found)):
        return HOLDS
    shares = [one.times / len(one.values) for one in found]
    return DOES_NOT if any(share <= 1 - MOST for share in shares) else NOT_SETTLED
