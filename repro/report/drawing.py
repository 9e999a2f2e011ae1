# SPDX-License-Identifier: Apache-2.0
"""Draws a panel of a figure as SVG, 380 pixels wide, so that it is readable on a narrow screen."""

import io
import itertools
import re
import textwrap

import figures
import matplotlib as mpl
from matplotlib import ticker
from matplotlib.figure import Figure

WIDTH, PLOT_HEIGHT = 3.96, 2.1  # inches; 380 pixels
LEFT, RIGHT, ROW, TITLE_ROW, Y_ROW = 0.68, 0.12, 0.165, 0.19, 0.12
BELOW_NUMBERS, BELOW_WORDS = 0.42, 0.52  # the plot, for the labels of x
TITLE_LETTERS, Y_LETTERS, LEGEND_LETTERS = 48, 34, 20  # in a line of the title or of y's label; of a label in a legend of two columns
INK, GRID = "#222222", "#d0d0d0"
HEADROOM = 1.07  # above the highest mark
WIDEST_BAR = 0.2  # of the distance between two places
# Colours that people with a colour vision deficiency tell apart (Okabe and Ito), each with its marker.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#777777", "#7b3294", "#1b7837", "#a6611a")
BAND_COLOURS = ("#f0b400", "#6a7fdb", "#8c8c8c")
MARKERS = "osD^vPX<>h"
FONTS = "'DejaVu Sans', Verdana, sans-serif"  # of like widths
LEAST_TICKS_APART, LETTER = 0.06, 0.075  # inches

mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "elision", "font.size": 8, "font.family": "DejaVu Sans", "text.color": INK,
                     "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK, "axes.unicode_minus": False})


def _legend_rows(labels):
    columns = 2 if max(map(len, labels)) <= LEGEND_LETTERS else 1
    return columns, -(-len(labels) // columns)


def _ticks(places, at):
    """Returns the places along x whose numbers do not touch: the last one, and others from left to right. `at`: inches."""
    kept = [places[-1]]
    for place in places[:-1]:
        near = [other for other in kept if abs(at(other) - at(place)) < LEAST_TICKS_APART + LETTER * (len(f"{other:g}{place:g}") / 2)]
        if not near:
            kept.append(place)
    return sorted(kept)


def _set_numeric(axes, panel, log):
    places = sorted(panel.places)
    width = WIDTH - LEFT - Y_ROW - RIGHT
    if log:
        axes.set_xscale("log")
    margin = 0.05
    transform = axes.xaxis.get_transform().transform
    low, high = (float(transform([place])[0]) for place in (places[0], places[-1]))
    span = (high - low) or 1.0
    axes.xaxis.set_major_locator(ticker.FixedLocator(_ticks(places, lambda place: (float(transform([place])[0]) - low) / span * width / (1 + 2 * margin))))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    inverse = axes.xaxis.get_transform().inverted().transform
    axes.set_xlim(float(inverse([low - margin * span])[0]), float(inverse([high + margin * span])[0]))


def _draw_line(axes, panel, line, ranges, style):
    at = sorted(ranges, key=lambda place: panel.places[place])
    x = [panel.places[place] for place in at]
    axes.plot(x, [ranges[place].median for place in at], color=style["color"], marker=style["marker"], markersize=4, linewidth=1.3, label=line.label, zorder=3)
    axes.fill_between(x, [ranges[place].low for place in at], [ranges[place].high for place in at], color=style["color"], alpha=0.18, linewidth=0)
    axes.vlines(x, [ranges[place].low for place in at], [ranges[place].high for place in at], color=style["color"], linewidth=0.9)


def _draw_bars(axes, panel, line, ranges, style, index):
    width = min(0.8 / len(panel.lines), WIDEST_BAR)
    x = {place: place + (index - (len(panel.lines) - 1) / 2) * width for place in range(len(panel.places))}
    medians = [ranges[place].median for place in ranges]
    error = [[ranges[place].median - ranges[place].low for place in ranges], [ranges[place].high - ranges[place].median for place in ranges]]
    axes.bar([x[place] for place in ranges], medians, width * 0.92, color=style["color"], label=line.label, zorder=2,
             yerr=error if ranges else None, error_kw={"ecolor": INK, "elinewidth": 0.8, "zorder": 3})
    return x


def _draw_paper(axes, line, style, x):
    """Draws the paper's numbers as hollow marks, with dashed lines between them if x is a number."""
    shown = [(x[place], value) for place, value in enumerate(line.paper or ()) if value is not None]
    if shown:
        axes.plot(*zip(*shown), color=style["color"], marker=style["marker"], markersize=6, markerfacecolor="none", linewidth=0.8,
                  linestyle="none" if isinstance(x, dict) else "--", label=f"{line.label}, the paper", zorder=4)


def _draw_bands(axes, panel):
    """Draws bands as wide as the plot. An open bound ends at the plot's edge. The caller has set the limits of y."""
    bottom, top = axes.get_ylim()
    for band, colour in zip(panel.bands, itertools.cycle(BAND_COLOURS)):
        low, high = figures.finite(band.low, bottom), figures.finite(band.high, top)
        top = max(top, high * 1.08)
        if low == high:
            axes.axhline(low, zorder=5, color=INK, linewidth=0.9, linestyle=":", label=band.says)
        else:
            axes.axhspan(low, high, color=colour, alpha=0.25, linewidth=0, label=band.says)
    axes.set_ylim(bottom, top)


def _even_lines(text, letters):
    """Wraps text into the fewest lines of at most `letters` letters, with similar lengths."""
    count = -(-len(text) // letters)
    return textwrap.wrap(text, min(letters, -(-len(text) // count) + 4), break_on_hyphens=False)


def _layout(panel, y_label):
    lines, y_lines = textwrap.wrap(panel.title, TITLE_LETTERS) or [""], _even_lines(y_label, Y_LETTERS)
    left = LEFT + Y_ROW * (len(y_lines) - 1)
    columns, rows = _legend_rows(labels_of(panel))
    below = (BELOW_NUMBERS if figures.numeric(panel) else BELOW_WORDS) + ROW * rows + 0.08
    head = TITLE_ROW * len(lines) + 0.12
    height = head + PLOT_HEIGHT + below
    own = Figure(figsize=(WIDTH, height))
    axes = own.add_axes((left / WIDTH, below / height, 1 - (left + RIGHT) / WIDTH, PLOT_HEIGHT / height))
    axes.set_title("\n".join(lines), fontsize=8.5, loc="left", x=-left / (WIDTH - left - RIGHT) + 0.02)
    axes.set_ylabel("\n".join(y_lines))
    return own, axes, columns


def labels_of(panel):
    return [line.label for line in panel.lines] + [f"{line.label}, the paper" for line in panel.lines if line.paper] + [band.says for band in panel.bands]


def _draw_lines(axes, panel, found):
    numeric = figures.numeric(panel)
    for index, (line, ranges) in enumerate(zip(panel.lines, found)):
        style = {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
        if numeric:
            _draw_line(axes, panel, line, ranges, style)
        x = list(panel.places) if numeric else _draw_bars(axes, panel, line, ranges, style, index)
        _draw_paper(axes, line, style, x)


def _draw_legend(own, axes, panel, columns):
    handles = dict(zip(*reversed(axes.get_legend_handles_labels())))
    labels = [label for label in labels_of(panel) if label in handles]
    own.legend([handles[label] for label in labels], labels, loc="lower left", bbox_to_anchor=(0.02, 0.0), ncol=columns, frameon=False, fontsize=7.5,
               handlelength=1.8, columnspacing=1.2, labelspacing=0.35, borderaxespad=0.2)


def draw(panel, found, x_label, y_label, log=False, lowest=0):
    """The SVG of a panel. `found`: for each of its lines {index of the place: Range}. `lowest`: where y begins."""
    own, axes, columns = _layout(panel, y_label)
    if figures.numeric(panel):
        _set_numeric(axes, panel, log)
    else:
        axes.set_xlim(-0.55, len(panel.places) - 0.45)
        axes.set_xticks(range(len(panel.places)), [textwrap.fill(str(place), 11) for place in panel.places], fontsize=7 if len(panel.places) > 5 else 8)
    _draw_lines(axes, panel, found)
    axes.set_ylim(lowest, lowest + (max(axes.dataLim.y1, lowest) - lowest) * HEADROOM or 1)
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: figures.short(value)))
    axes.yaxis.set_major_locator(ticker.MaxNLocator(6))
    _draw_bands(axes, panel)
    axes.set_xlabel(x_label)
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _draw_legend(own, axes, panel, columns)
    out = io.StringIO()
    own.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return out.getvalue().replace("'DejaVu Sans'", FONTS)


def inline(svg, slug):
    """An SVG file as part of an HTML page: its own names, and the page's colours."""
    text = svg[svg.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="', f' id="{slug}-', text)
    text = re.sub(r'(href="|url\()#', rf"\1#{slug}-", text)
    text = re.sub(r'^<svg [^>]*(viewBox="[^"]*")[^>]*>', r"<svg \1>", text)
    return text.replace(INK, "var(--ink)").replace(GRID, "var(--grid)")
