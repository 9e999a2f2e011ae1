# SPDX-License-Identifier: Apache-2.0
"""From a record (silicon.py) to a machine file: which figure of which micro-probe determines which value, the search for the value
with which the virtual machine shows the same figure, and the file. Pure: what runs a probe is passed in.

Nothing here looks at a workload of the record.
"""

import dataclasses
import math
import statistics

AGREES = 0.02   # of the record's median, if its quartiles are nearer than that
SETTLED = 0.005  # of the median: nothing is to be gained any more
FLAT = 0.003     # of the figure: smaller changes are noise
HALF_A_STEP = 0.6  # of a value; a little more, for figures that are rounded too
MOST_RUNS = 6   # of a group of figures in one pass
MOST_PASSES = 3
MOST_HALVES = 12
STEPS_MEGAHERTZ = 100  # in which the clock of a core changes


@dataclasses.dataclass(frozen=True)
class Figure:
    """A number of a job: that of a name, at a position, or the distance of the outer two of three quantiles in percent of the
    middle one. `less`: the name of a number to subtract, which leaves out what both contain."""

    job: str
    name: str
    position: int = 0
    spread: bool = False
    less: str = ""

    def __str__(self):
        return (f"{self.job}: {self.name}" + (f" less {self.less}" if self.less else "")
                + (f" [{self.position}]" if self.position else "") + (", spread" if self.spread else ""))

    @property
    def base(self):
        return Figure(self.job, self.less, self.position)

    def of_sample(self, values):
        """From what a run printed; None if it lacks the figure."""
        found = values.get(self.name)
        if not found or len(found) <= self.position:
            return None
        if self.less:
            base = self.base.of_sample(values)
            return None if base is None else found[self.position] - base
        return spread_of(found) if self.spread else found[self.position]

    def of_record(self, record):
        """(first quartile, median, third quartile), or None."""
        found = record["jobs"].get(self.job, {}).get("figures", {}).get(self.name)
        if not found:
            return None
        rows = found if isinstance(found[0], list) else [found]
        if self.spread:
            spreads = tuple(spread_of([row[quantile] for row in rows]) for quantile in (1, 2, 3)) if len(rows) == 3 else (None,)
            return None if None in spreads else spreads
        if self.position >= len(rows):
            return None
        quartiles = tuple(rows[self.position][1:4])
        if self.less:
            base = self.base.of_record(record)
            return None if base is None else tuple(quantile - base[1] for quantile in quartiles)
        return quartiles


def spread_of(quantiles):
    """None if the middle is 0."""
    low, middle, high = quantiles
    return 100 * (high - low) / middle if middle else None


@dataclasses.dataclass(frozen=True)
class Row:
    """A value and a figure that responds to it. `arguments`: of the probe in the search, if less work shows the same figure."""

    parameter: str
    figure: Figure
    why: str
    arguments: tuple | None = None
    least: int = 0
    most: int = 1_000_000
    words: tuple = ()  # of a value that is one of several
    beside: str = ""   # a job that the record must have too
    noisy: bool = False  # few events: what lies between the quartiles agrees, and more precision means nothing

    @property
    def first_slope(self):
        """Of a figure in ticks or cycles, at some 2.5 GHz."""
        return 0.25 if self.parameter.endswith("_ns") else 1.0


CACHES_ONLY = ("16384", "131072", "4194304", "128")


def rows():
    """In the order of the search: what others depend on comes first. Of several rows of one parameter the first that the record
    has figures for counts."""
    found = []

    def add(parameter, job, name, why, arguments=None, **how):
        figure = Figure(job, name, how.pop("position", 0), how.pop("spread", False), how.pop("less", ""))
        found.append(Row(parameter, figure, why, arguments, **how))

    for parameter, name in (("rdtsc", "rdtsc"), ("lfence", "lfence"), ("mfence", "mfence"), ("pause", "pause"), ("locked", "lock_add"),
                            ("cpuid", "cpuid")):
        add(f"instructions.{parameter}_cycles", "instructions", name, "ten in a row", ("5000",))
    add("l1d.latency_cycles", "loads", "l1_cycles", "dependent loads within 16 KB", CACHES_ONLY, least=1, most=100)
    add("l2.latency_cycles", "loads", "l2_cycles", "dependent loads within 128 KB", CACHES_ONLY, least=1, most=1000)
    add("l3.latency_ns", "loads", "l3_cycles", "dependent loads within 4 MB", CACHES_ONLY, least=1, most=100_000)
    add("memory.latency_ns", "loads", "dram_cycles", "dependent loads within 256 MB", (), least=1, most=100_000)
    shared = ("1000",)
    add("coherence.dirty_transfer_ns", "shared_lines", "dirty_load_ticks", "a load of a line that the other core has written", shared,
        least=1, most=100_000)
    add("coherence.dirty_transfer_ns", "cache_to_cache", "dirty_line_ticks", "a load of a line that the other core has written",
        ("1000",), least=1, most=100_000)
    add("coherence.clean_transfer_ns", "shared_lines", "clean_load_ticks", "a load of a line that the other core has loaded alone",
        shared, least=1, most=100_000)
    add("coherence.upgrade_ns", "shared_lines", "upgrade_ticks", "a store to a line that both cores have loaded", shared,
        least=1, most=100_000)
    add("coherence.upgrade_ns", "conflict_cost", "plain", "a store to a line on which the other core spins, until that core sees it",
        ("500",), position=1, least=1, most=100_000)
    add("jitter.latency_percent", "shared_lines", "dirty_load_spread_percent", "single transfers differ by it", shared, most=50)
    add("jitter.latency_percent", "conflict_cost", "plain", "single transfers differ by it", ("500",), spread=True, most=50)
    add("core.outstanding_stores", "store_overlap", "16384_kb_store_increment_load_dependent",
        "random stores in 16 MB cost a latency divided by it", ("200000", "16384"), least=1, most=64)
    add("core.branch_misprediction_cycles", "branches", "misprediction_ticks", "a branch on random bits", ("100000",), most=1000)
    add("tlb.shared_latency_cycles", "page_walks", "second_level_ticks", "loads over pages that only the second level holds",
        ("50000",), most=1000)
    add("tlb.walk_cycles", "page_walks", "walk_ticks", "loads over pages that no level holds", ("50000",), most=10_000)
    add("prefetch.stream_lines", "streams", "lines_ahead", "how many lines ahead of loads in order a load is fast", ("2",), most=31)
    add("transactions.begin_cycles", "transaction_parts", "begin_ticks", "the clock before and behind XBEGIN", ("10000",))
    add("transactions.commit_cycles", "empty_transaction", "commit_cycles", "XBEGIN and XEND, of which begin is known", ("10000",),
        beside="transaction_parts")
    add("transactions.commit_cycles", "vulnerable_window", "read_0_window_percent_length",
        "how long a transaction of one load can lose its line: until the commit is done", ("20000",),
        noisy=True)
    add("transactions.commit_hold_cycles", "vulnerable_window", "write_0_window_percent_length",
        "how long a transaction of one store can lose its line: until the commit holds it", ("20000",), noisy=True)
    add("transactions.begin_cycles", "empty_transaction", "commit_cycles", "XBEGIN and XEND, of which commit is known", ("10000",))
    add("transactions.abort_cycles", "empty_transaction", "abort_cycles", "XBEGIN and XABORT, of which begin is known", ("10000",))
    add("transactions.commit_line_cycles", "commit_cost", "transaction_in_l1_32", "each of 32 written lines adds it", ("500",), position=1,
        most=1000)
    add("coherence.request_ns", "conflict_cost", "aborted", "from another core's store to the abort, of which an abort is known",
        ("500",), position=1, most=100_000)
    add("jitter.transaction_percent", "transaction_parts", "abort_spread_percent", "single aborts differ by it", ("10000",), most=50)
    add("jitter.transaction_percent", "commit_cost", "transaction_in_l1_0", "single empty transactions differ by it", ("500",),
        spread=True, most=50)
    add("transactions.aborted_lines", "aborted_lines", "load_written", "a load of a line that an aborted transaction wrote", ("60",),
        position=1, less="load_l1", words=("l1", "l2", "lost"))
    kernel = ("500", "50")
    add("instructions.syscall_cycles", "kernel_costs", "call_ticks", "an empty system call", kernel)
    add("system.context_switch_cycles", "kernel_costs", "switch_ticks", "two threads of one CPU that yield", kernel)
    add("system.page_fault_cycles", "kernel_costs", "fault_ticks", "the first store to a page", kernel, least=1)
    add("system.futex_wake_cycles", "kernel_costs", "wake_ticks", "from the waker's call to the woken thread", kernel, most=100_000_000)
    add("system.timer_interrupt_cycles", "kernel_costs", "interruption_ticks", "gaps in a thread that reads the clock", kernel)
    add("system.timer_hz", "kernel_costs", "interruptions_a_second", "how often such gaps come", kernel, least=1, most=100_000)
    add("prefetch.snoops", "false_conflicts", "neighbour_conflict_percent",
        "a transaction aborts if the other line of a pair is loaded elsewhere", ("500",), words=(True, False))
    add("coherence.loads_take_modified", "false_conflicts", "modified_conflict_percent",
        "a transaction aborts if a line that it reads and had modified before is loaded elsewhere", ("500",), words=(True, False))
    add("transactions.read_filter_log2", "false_conflicts", "filter_conflict_percent",
        "stores to other lines abort a transaction whose reads have left L1", ("2000",), least=6, most=20)
    # Last: a run is long, and interrupts add to these aborts.
    add("transactions.spurious_aborts_per_million", "spurious", "aborts_per_million", "transactions of one line that nobody else has",
        ("4000000",), noisy=True)
    return found


# What the record's host section says.
FACTS = ("name", "cpuid.family", "cpuid.model", "cpuid.stepping", "cpuid.brand", "clock.frequency_mhz", "clock.core_mhz", "topology.sockets", "topology.cores",
         "topology.threads_per_core", "l1d.size_kb", "l1d.ways", "l1i.size_kb", "l1i.ways", "l2.size_kb", "l2.ways", "l3.size_kb",
         "l3.ways", "l3.slices", "transactions.nesting_limit")

# Why no figure determines a value.
_SIZES = "a size that no probe looks for"
_RULE = "a rule of the model"
_ALL_CORES = "needs all cores at once"
UNDETERMINED = {
    "core.issue_width": _SIZES,
    "core.reorder_buffer_uops": _SIZES,
    "core.load_buffer_entries": _SIZES,
    "core.fill_buffers": _SIZES,
    "core.store_buffer_entries": _SIZES,
    "core.sibling_issue_percent": "needs two hardware threads of one core",
    "l1i.latency_cycles": "hidden by the pipeline",
    "l3.inclusive": "CPUID says it, the record does not",
    "l3.gigabytes_per_second": _ALL_CORES,
    "memory.gigabytes_per_second": _ALL_CORES,
    **{f"tlb.{level}_{what}": _SIZES for level in ("data", "huge", "code", "shared") for what in ("entries", "ways")},
    **{f"prefetch.{name}": "no probe looks for these prefetches" for name in ("next_line", "stride", "adjacent_line")},
    "numa.hop_ns": "needs two sockets",
    "coherence.hot_window_cycles": _RULE,
    "system.time_slice_us": "seen only in whole periods of the timer",
    "transactions.vzeroupper_aborts": "no probe executes VZEROUPPER in a transaction",
    "always_abort.abort_on_read_eviction": "no CPU has such transactions",
    "always_abort.detects_read_conflicts": "no CPU has such transactions",
    "always_abort.detects_write_conflicts": "no CPU has such transactions",
}


class BadRecord(Exception):
    """The record lacks what a description needs; the message says what."""


def chosen_rows(record):
    """Of each parameter the first row for which the record has a figure, in the order of the search."""
    taken = {}
    for row in rows():
        if row.parameter not in taken and row.figure.of_record(record) and (not row.beside or row.beside in record["jobs"]):
            taken[row.parameter] = row
    # A group's rows are searched together, so the place of the row counts and not that of the parameter.
    return [row for row in rows() if taken.get(row.parameter) == row]


def groups(chosen):
    """Rows whose figures one run of a probe shows, in order."""
    found = {}
    for row in chosen:
        found.setdefault((row.figure.job, row.arguments), []).append(row)
    return list(found.values())


@dataclasses.dataclass
class Found:
    """How a search ended. `slope` is the figure's change by one more of the value; None if it does not respond."""

    value: int | str | bool
    figure: float
    slope: float | None
    agrees: bool


def agrees(figure, target, slope=0.0):
    """Whether a figure lies between the record's quartiles, or near its median, or as near as an integer value allows."""
    low, median, high = target
    return low <= figure <= high or abs(figure - median) <= max(AGREES * abs(median), abs(slope) * HALF_A_STEP)


def no_figure(row, value):
    return BadRecord(f"the virtual machine prints no {row.figure} with {row.parameter} = {value_in_units(row.parameter, value)}")


class Search:
    """The search for one value by Newton's method, with the slope of the last two runs. It starts with a slope of a tick for each
    cycle. Several searches share the runs of a probe. From a value with which a probe prints no figure it turns back half the way."""

    def __init__(self, row, start, target, slope=None):
        self.row, self.target, self.value = row, target, start
        self.slope, self.learned, self.flat = slope or row.first_slope, slope is not None, False
        self.local = False  # the slope is that of values near the present one
        self.tried = {}  # value: figure
        self.silent = set()  # values without a figure
        self.before = None  # the last value with a figure

    @property
    def figure(self):
        return self.tried[self.value]

    def note(self, figure):
        """What the machine shows with the present value; None: no figure."""
        if figure is None and not self.tried:
            raise no_figure(self.row, self.value)
        if figure is None:
            if self.value not in self.tried:  # else another search's value silenced the probe
                self.silent.add(self.value)
            return
        self.tried[self.value] = figure
        if self.before is not None and self.before != self.value:
            change = figure - self.tried[self.before]
            self.flat = abs(change) <= FLAT * abs(figure)
            if not self.flat:
                self.slope, self.learned = change / (self.value - self.before), True
                self.local = abs(self.value - self.before) <= max(1, self.value // 10)
        self.before = self.value

    def step(self):
        """Moves to the next value; False if there is nothing to gain."""
        if self.value in self.silent:
            return self.move((self.value + self.before) // 2)
        gap = self.target[1] - self.figure
        if self.flat or (self.row.noisy and agrees(self.figure, self.target)):
            return False
        change = round(gap / self.slope)
        if not self.learned and not self.row.noisy:  # to learn whether the figure responds, even where it agrees
            least = max(1, self.value // 5)
            change = max(change, least) if gap > 0 or self.value <= least else min(change, -least)
        elif abs(gap) <= SETTLED * abs(self.target[1]):
            return False
        most = max(4, self.value)
        value = self.value + max(-(self.value * 3 // 4) - 1, min(most, change))
        return self.move(max(self.row.least, min(self.row.most, value)))

    def move(self, value):
        if value in self.tried or value in self.silent:
            self.value = self.nearest()
            return False
        self.value = value
        return True

    def nearest(self):
        """The tried value whose figure is the nearest."""
        return min(self.tried, key=lambda tried: abs(self.tried[tried] - self.target[1]))

    def ended(self):
        if self.value in self.silent:
            self.value = self.nearest()
        # A slope of noisy figures, learned while other values of the same runs moved, is no measure of a step.
        step = self.slope if self.local and not self.row.noisy else 0
        return Found(self.value, self.figure, None if self.flat else self.slope, agrees(self.figure, self.target, step))


def by_halves(figure_at, row, start, target):
    """Found, for a value whose figure only moves in one direction. `figure_at(value)` runs the probe; None: no figure."""
    tried = {}

    def above(value):
        if value not in tried:
            tried[value] = figure_at(value)
        return None if tried[value] is None else tried[value] > target[1]

    if above(start) is None:
        raise no_figure(row, start)
    ends = bracket(above, row, start)
    while ends and ends[1] - ends[0] > 1 and len(tried) < MOST_HALVES:
        middle = (ends[0] + ends[1]) // 2
        if above(middle) is None:
            break
        ends = (middle, ends[1]) if above(middle) == above(ends[0]) else (ends[0], middle)
    shown = {value: figure for value, figure in tried.items() if figure is not None}
    best = min(shown, key=lambda value: abs(shown[value] - target[1]))
    nearest = min((value for value in shown if shown[value] != shown[best]), key=lambda value: abs(value - best), default=None)
    slope = (shown[nearest] - shown[best]) / (nearest - best) if nearest is not None else 0
    local = slope if nearest is not None and abs(nearest - best) <= max(1, best // 10) else 0
    flat = max(shown.values()) - min(shown.values()) <= FLAT * abs(shown[best])
    return Found(best, shown[best], None if flat else slope, agrees(shown[best], target, local))


def bracket(above, row, start):
    """Two values, the lower one first, between which the figure passes its target; None if there are none near `start`. Values without a
    figure are out of range."""
    width = max(1, start // 4)
    while width <= 16 * max(1, start):
        for value in (max(row.least, start - width), min(row.most, start + width)):
            if above(value) not in (None, above(start)):
                return min(start, value), max(start, value)
        width *= 4
    return None


# A search moves in whole units: a cycle, or a tenth of a nanosecond.

def units_of(parameter, value):
    return round(value * 10) if parameter.endswith("_ns") else value


def value_in_units(parameter, units):
    return units / 10 if parameter.endswith("_ns") else units


LEVELS = ("l1d.latency_cycles", "l2.latency_cycles", "l3.latency_ns", "memory.latency_ns")


def consistent(values, base):
    """The values, with those of `base` that they need, so that no level of memory is faster than the one before: the loader
    refuses that, and a search may come by."""
    values = {**{level: value_of(base[level]) for level in LEVELS}, **values}
    cycles_a_nanosecond = value_of(base["clock.core_mhz"]) / 1000
    for nearer, farther in zip(LEVELS, LEVELS[1:]):
        least = values[nearer]
        if farther.endswith("_ns") and not nearer.endswith("_ns"):
            least = math.ceil(10 * least / cycles_a_nanosecond) / 10
        values[farther] = max(values[farther], least)
    return values


def best_word(row, values, target, run):
    """Found, for a value that is one of several words. Words without a figure do not count."""
    figures = {}
    for word in row.words:
        figure = row.figure.of_sample(run(row.figure.job, row.arguments, {**values, row.parameter: word}))
        if figure is not None:
            figures[word] = figure
    if not figures:
        raise no_figure(row, values[row.parameter])
    word = min(figures, key=lambda word: abs(figures[word] - target[1]))
    spread = max(figures.values()) - min(figures.values())
    responds = spread > FLAT * target[1]
    return Found(word, figures[word], spread if responds else None, agrees(figures[word], target))


def fit_group(group, values, targets, slopes, run):
    """{parameter: Found} of rows whose figures one run shows. Changes `values` and `slopes`."""
    if group[0].words:
        return {row.parameter: best_word(row, values, targets[row.parameter], run) for row in group}
    job, arguments = group[0].figure.job, group[0].arguments
    searches = [Search(row, values[row.parameter], targets[row.parameter], slopes.get(row.parameter)) for row in group]
    for turn in range(MOST_RUNS):
        sample = run(job, arguments, values)
        for search in searches:
            search.note(search.row.figure.of_sample(sample))
        moving = [search.step() for search in searches] if turn + 1 < MOST_RUNS else []
        values.update({search.row.parameter: search.value for search in searches})
        if not any(moving):
            break
    found = {search.row.parameter: search.ended() for search in searches}
    values.update({parameter: one.value for parameter, one in found.items()})
    for search in searches:
        row, one = search.row, found[search.row.parameter]
        if not one.agrees:
            one = by_halves(lambda value, row=row: row.figure.of_sample(
                run(job, arguments, {**values, row.parameter: value})), row, search.value, search.target)
        values[row.parameter] = one.value
        if one.slope is not None:
            slopes[row.parameter] = one.slope
        found[row.parameter] = one
    return found


def fit(chosen, record, start, run, note=lambda turn, group: None):
    """{parameter: Found}. `start` has a value for each parameter, and `run(job, arguments, values)` gives what the probe prints on
    the machine with these values. Passes are repeated while values move, since some figures depend on several."""
    values = {row.parameter: start[row.parameter] for row in chosen}
    targets = {row.parameter: row.figure.of_record(record) for row in chosen}
    found, slopes = {}, {}
    for turn in range(MOST_PASSES):
        before = dict(values)
        for group in groups(chosen):
            note(turn, group)
            for parameter, one in fit_group(group, values, targets, slopes, run).items():
                # A value to which its figure does not respond stays what it was.
                values[parameter] = one.value if one.slope is not None else start[parameter]
                found[parameter] = one
        if all(same(before[parameter], values[parameter]) for parameter in values):
            break
    return found


def same(before, after):
    return before == after if isinstance(after, str) else abs(after - before) <= max(1, AGREES * after)


def interval(row, one, target):
    """(low, high) of a value: where the figure would lie on the record's quartiles, and at least as far as figures agree."""
    low, median, high = target
    near = AGREES * abs(median)
    ends = sorted(one.value + (edge - one.figure) / one.slope for edge in (min(low, median - near), max(high, median + near)))
    least, most = math.floor(ends[0]), math.ceil(ends[1])
    return max(row.least, min(least, one.value)), min(row.most, max(most, one.value))


# What follows makes the file.

def entries_of(machine):
    """{table.key: {"value" or "best", perhaps "low", "high", "alternatives", "source"}} of a machine file, in its order."""
    found = {}
    for name, table in machine.items():
        if not isinstance(table, dict):
            found[name] = {"value": table}
            continue
        for key, value in table.items():
            if key != "source":
                entry = dict(value) if isinstance(value, dict) else {"value": value}
                found[f"{name}.{key}"] = {**entry, "source": entry.get("source", table.get("source"))}
    return found


def value_of(entry):
    return entry["best"] if "best" in entry else entry["value"]


def megahertz_of(record):
    """(frequency of the time-stamp counter, where from), or None. Old records do not have it. But the clock of a core
    changes in steps of 100 MHz, so that the ratio of the clocks changes in steps of 100 MHz over the counter's frequency."""
    target = Figure("clock", "ticks_a_microsecond").of_record(record)
    if target:
        return round(target[1]), "clock: ticks_a_microsecond"
    ratios = sorted({ratio for job in record["jobs"].values() if "clock_cycles_a_tick" in job
                     for ratio in (job["clock_cycles_a_tick"][i] for i in (0, 2, 4))})
    steps = [after - before for before, after in zip(ratios, ratios[1:]) if after - before > 0.01]
    if len(steps) < 3:
        return None

    def error(megahertz):
        return max(abs(ratio * megahertz / STEPS_MEGAHERTZ - round(ratio * megahertz / STEPS_MEGAHERTZ)) for ratio in ratios)

    likely = round(STEPS_MEGAHERTZ / min(steps))
    found = min(range(likely * 95 // 100, likely * 105 // 100), key=error)
    return (round(found, -2), "steps of 100 MHz in the ratio of the clocks") if error(found) < 0.1 else None


LEAST_SETS = 1024
LARGE_SET_KB = 262144  # of loads' dram_cycles


def l3_of(record, cache):
    """(size in KB, where from). A guest is told of an L3 of which it has a part: if loads from a set that should fit cost more
    than in L3, the largest set counts whose loads are nearer to L3 than to those."""
    size = int(cache["size"].rstrip("K"))
    near, far = (Figure("loads", name).of_record(record) for name in ("l3_cycles", "dram_cycles"))
    if size < LARGE_SET_KB or not near or not far or far[1] < 1.5 * near[1]:
        return size, "CPUID"
    held = [4096]
    for kilobytes in (16384,):
        dependent = Figure("store_overlap", f"{kilobytes}_kb_store_increment_load_dependent", 3).of_record(record)
        if dependent and dependent[1] < (near[1] + far[1]) / 2:
            held.append(kilobytes)
    return max(held), f"CPUID says {cache['size']}, but loads within {LARGE_SET_KB // 1024} MB miss it: the largest set that it holds"


def slices_of(size_kb, ways, like_sets):
    """The number of slices with which each has a power of two of sets, next to those of a slice of the machine that the search starts
    from. With fewer sets a line's tag would not fit the model's directory."""
    sets = size_kb * 16 // ways
    fitting = [slices for slices in range(1, 129)
               if sets % slices == 0 and (sets // slices).bit_count() == 1 and sets // slices >= LEAST_SETS]
    if not fitting:
        raise BadRecord(f"an L3 of {size_kb} KB with {ways} ways has no shape that the model knows")
    return min(fitting, key=lambda slices: abs(math.log2(sets / slices / like_sets)))


CACHES = {"l1d": (1, "Data"), "l1i": (1, "Instruction"), "l2": (2, "Unified"), "l3": (3, "Unified")}


def facts_of(record, like):
    """{table.key: (value, where from)} of the record's host section."""
    machine = record["host"]
    topology = machine["topology_by_cpuid"]
    cores = len({(cpu["package"], cpu["core"]) for cpu in topology})
    caches = {(cache["level"], cache["type"]): cache for cache in machine["caches_by_cpuid"]}
    cpu = machine["cpu"]
    facts = {"name": (cpu["brand"], "CPUID"), "cpuid.brand": (cpu["brand"], "CPUID"),
             "topology.sockets": (len({one["package"] for one in topology}), "CPUID"), "topology.cores": (cores, "CPUID"),
             "topology.threads_per_core": (len(topology) // cores, "CPUID")}
    for key in ("family", "model", "stepping"):
        facts[f"cpuid.{key}"] = (cpu[key], "CPUID")
    for name in ("l1d", "l1i", "l2"):
        facts[f"{name}.size_kb"] = (int(caches[CACHES[name]]["size"].rstrip("K")), "CPUID")
        facts[f"{name}.ways"] = (caches[CACHES[name]]["ways"], "CPUID")
    l3 = caches[CACHES["l3"]]
    size = l3_of(record, l3)
    facts["l3.size_kb"], facts["l3.ways"] = size, (l3["ways"], "CPUID")
    sets_of_like = value_of(like["l3.size_kb"]) * 16 // value_of(like["l3.ways"]) // value_of(like["l3.slices"])
    facts["l3.slices"] = (slices_of(size[0], l3["ways"], sets_of_like), f"slices as in the machine that the search started from; size: {size[1]}")
    frequency = megahertz_of(record)
    if frequency:
        facts["clock.frequency_mhz"] = frequency
        ratio = statistics.median(job["clock_cycles_a_tick"][2] for job in record["jobs"].values() if "clock_cycles_a_tick" in job)
        facts["clock.core_mhz"] = (round(frequency[0] * ratio), "cycles a tick of the time-stamp counter, the median of all jobs")
    if "nesting_depth" in machine:
        facts["transactions.nesting_limit"] = (machine["nesting_depth"], "doctor's trial")
    return facts


def check_record(record):
    """Raises BadRecord if the record lacks what facts_of() needs."""
    machine = record.get("host", {})
    if record.get("format") != 1 or not machine or not record.get("jobs"):
        raise BadRecord("not a record of tools/silicon")
    for name in ("topology_by_cpuid", "caches_by_cpuid", "cpu"):
        if not machine.get(name):
            raise BadRecord(f"the record has no host.{name}")
    for name in ("brand", "family", "model", "stepping"):
        if name not in machine["cpu"]:
            raise BadRecord(f"the record has no host.cpu.{name}")
    shown = {(cache["level"], cache["type"]) for cache in machine["caches_by_cpuid"]}
    for level, kind in CACHES.values():
        if (level, kind) not in shown:
            raise BadRecord(f"the record shows no cache of level {level}, {kind.lower()}")


def check_like(machine):
    """Raises BadRecord if a machine file lacks a field; others than those of this version have other ones."""
    fields = {*FACTS, *UNDETERMINED, *(row.parameter for row in rows())}
    lacking = [field for field in sorted(fields) if not {"best", "value"} & set(entries_of(machine).get(field, ()))]
    if lacking:
        raise BadRecord(f"the machine file has no {lacking[0]}")


def with_facts(like, facts, record_name):
    with_source = {field: {"value": value, "source": f"{where}, record {record_name}"} for field, (value, where) in facts.items()}
    return {**like, **with_source, "name": {"value": f"{facts['name'][0]}, record {record_name}"}}


def with_found(entries, chosen, found, record, record_name):
    """The entries with what the search determined."""
    entries = dict(entries)
    for row in chosen:
        one = found[row.parameter]
        if one.slope is None:
            continue
        source = f"{row.figure} of record {record_name}"
        if row.words:
            others = [word for word in row.words if word != one.value]
            entries[row.parameter] = {"best": one.value, "alternatives": others, "source": source}
            continue
        best, low, high = (value_in_units(row.parameter, units)
                           for units in (one.value, *interval(row, one, row.figure.of_record(record))))
        entries[row.parameter] = {"best": best, "low": low, "high": high, "source": source}
    return entries


def toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render(entries, comment):
    """The machine file. `comment`: lines."""
    lines = ["# SPDX-License-Identifier: Apache-2.0", *(f"# {line}" for line in comment), ""]
    table = None
    for field, entry in entries.items():
        name, dot, key = field.partition(".")
        if not dot:
            lines.append(f"{field} = {toml_value(entry['value'])}")
            continue
        if name != table:
            lines += ["", f"[{name}]"]
            table = name
        inner = ", ".join(f"{part} = {toml_value(value)}" for part, value in entry.items())
        lines.append(f"{key} = {{ {inner} }}")
    return "\n".join(lines) + "\n"


def undetermined(entries, chosen, found, facts):
    """[(field, why)] of the values that stay those of the machine that the description starts from."""
    determined = {row.parameter for row in chosen if found[row.parameter].slope is not None}
    left = []
    for field in entries:
        if field in determined or field in facts:
            continue
        mine = [row for row in chosen if row.parameter == field]
        if mine:
            why = f"{mine[0].figure} does not respond to it"
        elif field in UNDETERMINED:
            why = UNDETERMINED[field]
        else:
            figures = [str(row.figure) for row in rows() if row.parameter == field]
            why = "the record has no " + " and no ".join(figures) if figures else "the record does not say it"
        left.append((field, why))
    return left
