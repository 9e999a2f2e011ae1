# SPDX-License-Identifier: Apache-2.0
"""The papers' figures as data (`figure` in a row of claims.toml; README.md says how): which runs draw one, and its numbers. Pure."""

import dataclasses
import math
import re

import claims
import claims_check
from ranges import Range

KEYS = {"number", "title", "x", "points", "series", "settings", "each", "panels", "metric", "over", "inverse", "y", "from", "log", "bands", "caption"}
NEEDED = ("number", "title", "x", "points", "series")
SERIES_KEYS = {"label", "metric", "over", "values", "paper"}  # all others are settings
PANEL_KEYS = {"title", "bands"}


@dataclasses.dataclass(frozen=True)
class Band:
    """A range of y that the paper gives for all points. A bound may be infinite."""
    low: float
    high: float
    says: str


@dataclasses.dataclass(frozen=True)
class Line:
    """One series: the settings of the run at each place of x, and of the run that its metric is divided by (None: none)."""
    label: str
    metric: str
    runs: tuple  # of settings, by place
    references: tuple | None  # of settings, by place
    paper: tuple | None  # the paper's number at each place, None where it gives none


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    places: tuple  # along x
    lines: tuple
    bands: tuple

    def settings(self):
        """The settings of each run, once for each line that needs it."""
        for line in self.lines:
            yield from line.runs + (line.references or ())


def _places(figure):
    """[(the place on x, the settings there)]"""
    points = [point if isinstance(point, dict) else {figure["x"]: point} for point in figure["points"]]
    return [(point[figure["x"]], point) for point in points]


def _numbers(claim, series, places, settings):
    """Returns the paper's numbers at the places of a series."""
    if "values" in series:
        table = claim.row[series["values"]]
        return tuple(table[at["application"]][claim.row["threads"].index(at["threads"])] for at in ({**settings, **point} for _, point in places))
    return tuple(None if math.isnan(number) else number for number in series["paper"]) if "paper" in series else None


def _lines(claim, figure, settings):
    places = _places(figure)
    for series in figure["series"]:
        for own in claims.combinations({name: value for name, value in series.items() if name not in SERIES_KEYS}):
            base = {**settings, **own}
            over = series.get("over", figure.get("over"))
            runs = tuple({**base, **point} for _, point in places)
            label = series.get("label", ", ".join(map(str, own.values()))).format(**{**claim.runs.get("settings", {}), **base})
            yield Line(label, series.get("metric", figure.get("metric", "throughput")), runs,
                       None if over is None else tuple({**run, **over} for run in runs), _numbers(claim, series, places, base))


def panels_of(claim, figure):
    """A Panel for each entry of `panels`, and for each combination of `each`."""
    found = []
    for panel in figure.get("panels", [{}]):
        own = {name: value for name, value in panel.items() if name not in PANEL_KEYS}
        bands = tuple(Band(*map(float, band["range"]), band["says"]) for band in figure.get("bands", []) + panel.get("bands", []))
        for one in claims.combinations(figure.get("each", {})):
            settings = {**figure.get("settings", {}), **own, **one}
            title = panel.get("title", figure["title"]).format(**{**claim.runs.get("settings", {}), **settings})
            found.append(Panel(title, tuple(place for place, _ in _places(figure)), tuple(_lines(claim, figure, settings)), bands))
    return found


def figures_of(claim):
    return claim.row.get("figure", []) if claim.runs else []


def cells_of(claim, variations):
    """The runs that a claim's figures need, each once."""
    return claim.cells([one for figure in figures_of(claim) for panel in panels_of(claim, figure) for one in panel.settings()], variations)


def references_of(claim, cells):
    """Returns the runs by which figures divide the metrics of these cells. Without them a figure cannot draw these points."""
    there = set(cells)
    lines = [line for figure in figures_of(claim) for panel in panels_of(claim, figure) for line in panel.lines if line.references]
    pairs = [pair for line in lines for pair in zip(line.runs, line.references)]
    variations = sorted({cell.variation for cell in cells})
    found = [claim.cell(reference, variation) for run, reference in pairs for variation in variations if claim.cell(run, variation) in there]
    return list(dict.fromkeys(found))


def values_of(claim, line, place, inverse, results, variations):
    """Returns the value of each variation at the place with this index. A variation has none if its runs are not in `results` or lack the metric."""
    found = []
    for variation in range(variations):
        cells = [claim.cell(settings[place], variation) for settings in (line.runs, line.references) if settings is not None]
        if all(cell in results for cell in cells):
            try:
                values = [claims.METRICS[line.metric](results[cell]) for cell in cells]
                found.append(claims.ratio(*(reversed(values) if inverse else values)) if line.references else values[0])
            except claims.NotMeasured:
                continue
    return found


def ranges_of(claim, figure, line, results, variations):
    """{index of the place: Range}, for places where a variation has run."""
    values = {place: values_of(claim, line, place, figure.get("inverse", False), results, variations) for place in range(len(line.runs))}
    return {place: Range.of(found) for place, found in values.items() if found}


def shown(panel, found):
    """The panel and its `found` ({index of the place: Range} of each line) as they can be drawn: without lines that have not run, and as bars if
    runs are at one place only."""
    pairs = [(line, ranges) for line, ranges in zip(panel.lines, found) if ranges]
    at = {place for _, ranges in pairs for place in ranges}
    lines, left = tuple(line for line, _ in pairs), [ranges for _, ranges in pairs]
    if not numeric(panel) or len(at) != 1 or len(panel.places) == 1:
        return dataclasses.replace(panel, lines=lines), left
    place = at.pop()
    lines = tuple(dataclasses.replace(line, paper=line.paper and line.paper[place:place + 1]) for line in lines)
    return Panel(panel.title, (str(panel.places[place]),), lines, panel.bands), [{0: ranges[place]} for ranges in left]


def y_of(figure):
    """The label of the y axis."""
    return figure.get("y", "ratio" if "over" in figure else figure.get("metric", "throughput"))


def problems(rows):
    """What is wrong with the figures of the rows of claims.toml, a line each."""
    for row in rows:
        for number, figure in enumerate(row.get("figure", []), 1):
            name = f"{row.get('id')}: figure {figure.get('number', number)}"
            if claims.Claim(row).runs is None:
                yield f"{name}: its claim has neither ours nor runs"
                continue
            yield from (f"{name}: {problem}" for problem in _problems(claims.Claim(row), figure))


def _problems(claim, figure):
    for key in sorted(set(figure) - KEYS):
        yield f"unknown '{key}'"
    missing = [key for key in NEEDED if not figure.get(key)]
    if missing:
        yield f"no {', '.join(missing)}"
        return
    for series in figure["series"]:
        if "paper" in series and len(series["paper"]) != len(figure["points"]):
            yield f"'paper' has {len(series['paper'])} numbers for {len(figure['points'])} points"
    try:
        panels = panels_of(claim, figure)
    except claims_check.MALFORMED as error:
        yield f"{type(error).__name__}: {error}"
        return
    yield from _panel_problems(claim, panels)


def _panel_problems(claim, panels):
    names = claims_check.names_of(claim.runs)
    for panel in panels:
        for band in panel.bands:
            if not band.low <= band.high:
                yield f"'{band.says}': an empty range"
        for line in panel.lines:
            if line.metric not in claims.METRICS:
                yield f"no metric '{line.metric}'"
        wrong = {name for settings in panel.settings() for name in names ^ (set(claim.runs.get("settings", {})) | set(settings))}
        if wrong:
            yield f"its settings are not those of the program and its options: {', '.join(sorted(wrong))}"
            return


def numeric(panel):
    return all(isinstance(place, int | float) for place in panel.places)


def slug_of(claim, figure, index):
    """A file's name, without its ending, for the panel with this index."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{figure['number']} {index + 1}".lower()).strip("-")
    return f"{claim.id}-{name}"


def finite(value, other):
    return other if math.isinf(value) else value


def short(value):
    """A number as axes and tables show it: 12.5M, 340k, 0.25."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"
