# SPDX-License-Identifier: Apache-2.0
"""Writes the report of tools/repro: the papers' figures as SVG files, and a page that holds them."""

import importlib.util
import pathlib
import tempfile

import claims
import claims_page
import figures
import host
import native
from report import page


def require_matplotlib():
    if importlib.util.find_spec("matplotlib") is None:
        raise host.Failed("this Python has no Matplotlib; Debian's /usr/bin/python3 has it by the package python3-matplotlib")


def drawn_of(claim, results, variations):
    """Returns the panels of a claim that have results: [(SVG file, page.Panel)]"""
    from report import drawing  # takes half a second, which the workflow's jobs need not wait

    found = []
    for figure in figures.figures_of(claim):
        for index, panel in enumerate(figures.panels_of(claim, figure)):
            ranges = [figures.ranges_of(claim, figure, line, results, variations) for line in panel.lines]
            if any(ranges):
                slug = figures.slug_of(claim, figure, index)
                panel, ranges = figures.shown(panel, ranges)
                svg = drawing.draw(panel, ranges, figure["x"], figures.y_of(figure), figure.get("log", False), figure.get("from", 0))
                found.append((svg, page.Panel(slug, drawing.inline(svg, slug), panel, ranges, figure)))
    return found


def origin_lines(origin, rows, variations):
    return [f"Elision {origin.commit}. {sum('ours' in row for row in rows)} claims ran on {variations} variations of their machines (those with long runs on fewer), described multicores in virtual "
            f"time. {claims_page.RULE}",
            "In the figures a mark is the median of the variations, a bar or band their range. Hollow marks are the paper's own numbers; shaded ranges and dotted "
            "lines are what its text says. Papers that give no numbers are quoted."]


def write_files(folder, origin, rows, found, results, variations, native_rows, filled):
    drawn = {row["id"]: drawn_of(claims.Claim(row), results, variations) for row in rows}
    for one in drawn.values():
        for svg, panel in one:
            (folder / f"{panel.slug}.svg").write_text(svg)
    natively = {"": native.cpu_line(native_rows), **native.tables(native_rows)} if native_rows else {}
    style = (host.ROOT / "repro/report/style.css").read_text()
    panels = {claim: [panel for _, panel in one] for claim, one in drawn.items()}
    (folder / "index.html").write_text(page.document(rows, found, panels, natively, filled, origin_lines(origin, rows, variations), style))


def write(build, *what):
    """Writes DIR/repro/report anew, whole or not at all; returns its page."""
    folder = build / "repro/report"
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="report-") as name:
        unfinished = pathlib.Path(name) / "report"
        unfinished.mkdir()
        write_files(unfinished, *what)
        if folder.exists():
            folder.rename(pathlib.Path(name) / "earlier")
        unfinished.rename(folder)
    return folder / "index.html"
