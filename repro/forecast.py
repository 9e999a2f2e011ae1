# SPDX-License-Identifier: Apache-2.0
"""How long runs will take, from the seconds of those that have run. Pure."""

import statistics

from outcomes import settings_text


class Forecast:
    """`earlier`: {(claim, text of the settings): seconds} of another time or computer, for runs of which none has run here."""

    def __init__(self, earlier):
        self.earlier = earlier
        self.same, self.claims = {}, {}  # seconds of runs here, by the settings and by the claim
        self.here, self.there = 0.0, 0.0  # seconds of the runs that both know

    def add(self, cell, seconds):
        name = (cell.claim, settings_text(cell.settings))
        self.same.setdefault(name, []).append(seconds)
        self.claims.setdefault(cell.claim, []).append(seconds)
        if name in self.earlier:
            self.here += seconds
            self.there += self.earlier[name]

    def _known(self):
        """Returns the mean seconds of all known runs, for a run that is not known."""
        known = self.claims or {"": list(self.earlier.values())}
        every = [second for seconds in known.values() for second in seconds]
        return statistics.fmean(every) if every else None

    def seconds(self, cell):
        """Returns the seconds of one run, or None if no run is known."""
        name = (cell.claim, settings_text(cell.settings))
        if name in self.same:
            return statistics.fmean(self.same[name])
        if name in self.earlier:
            return self.earlier[name] * (self.here / self.there if self.there else 1)
        return statistics.fmean(self.claims[cell.claim]) if cell.claim in self.claims else self._known()

    def left(self, cells, cpus):
        """Returns the seconds that these runs will take on so many CPUs, or None if no run is known."""
        cells_of = {}
        for cell in cells:
            cells_of.setdefault((cell.claim, cell.settings), []).append(cell)
        counts = [(self.seconds(own[0]), len(own)) for own in cells_of.values()]
        if any(seconds is None for seconds, _ in counts):
            return None
        return max(sum(seconds * count for seconds, count in counts) / cpus, *(seconds for seconds, _ in counts)) if counts else 0.0


def batches(runs, most_seconds, most_runs):
    """Returns lists of names, in order: runs that take at most so many seconds together, or one that takes longer. `runs`: pairs of a name and its
    seconds, None if these are not known: such a run counts as a quarter of a batch."""
    made, room = [], 0.0
    for name, seconds in runs:
        needed = most_seconds / 4 if seconds is None else seconds
        if not made or needed > room or len(made[-1]) == most_runs:
            made.append([])
            room = most_seconds
        made[-1].append(name)
        room -= needed
    return made


def duration(seconds):
    if seconds is None:
        return "unknown until the first runs have ended"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def line(done, count, left):
    return f"{done} of {count} runs ({100 * done // max(count, 1)} %), left: {duration(left)}"
