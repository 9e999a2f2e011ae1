# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page that needs no other file. Pure: callers draw the figures."""

import dataclasses
import html

import claims
import claims_page
import figures
import tables

MOST_PARTS = 6  # statements of a claim that the table lists; more are behind a fold


@dataclasses.dataclass(frozen=True)
class Panel:
    """A drawn panel: its SVG as part of a page, and what it shows in words."""
    slug: str
    svg: str
    panel: figures.Panel
    found: list  # for each line {index of the place: Range}
    figure: dict


def escaped(text):
    return html.escape(str(text))


def anchor(text):
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower())


def badge(verdict):
    return f'<span class="verdict {anchor(verdict)}">{escaped(verdict)}{" hold" if verdict == claims.DOES_NOT else ""}</span>'


def verdict_html(row, found):
    verdict = claims_page.verdict_of(row, found)
    if verdict.startswith("see "):
        return f'<span class="verdict not-judged">judged by {escaped(row["tool"])}</span>'
    return badge(verdict)


def table(columns, rows, kind=""):
    """Returns an HTML table. `rows`: lists of cells in HTML; a cell may be (text, class). Narrow pages show a row as a card."""
    lines = [f'<table class="cards {kind}">', "<thead><tr>" + "".join(f"<th scope=\"col\">{escaped(name)}</th>" for name in columns) + "</tr></thead>", "<tbody>"]
    for row in rows:
        cells = [cell if isinstance(cell, tuple) else (cell, "") for cell in row]
        lines.append("<tr>" + "".join(f'<td data-name="{escaped(name)}"{f" class={style}" if style else ""}>{text}</td>'
                                      for name, (text, style) in zip(columns, cells)) + "</tr>")
    return "\n".join([*lines, "</tbody></table>"])


def parts_list(row, found):
    """The statements with our numbers, for the table of all claims."""
    if "ours" not in row:
        return ""
    items = [f"{escaped(says)}: <b>{escaped(ours)}</b> (wanted: {escaped(wanted)})" for says, wanted, ours, _ in claims_page.statement_rows(row, found)]
    body = "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"
    if len(items) <= MOST_PARTS:
        return body
    most = sum(map(claims.is_true, found[row["id"]]))
    return f"<details><summary>{most} of {len(items)} parts are true</summary>{body}</details>"


def claims_table(rows, found):
    cells = [[f'<a href="#{anchor(row["id"])}">{escaped(row["id"])}</a>', f"{escaped(row['where'])}: {escaped(row['says'])}", parts_list(row, found),
              verdict_html(row, found), escaped(claims_page.why(row))] for row in rows]
    return table(["claim", "the paper", "ours: median [least - most]", "verdict", "why"], cells, "claims")


def statements_table(row, found):
    cells = [[escaped(says), (escaped(wanted), "number"), (escaped(ours), "number"), (escaped(times), "number")]
             for says, wanted, ours, times in claims_page.statement_rows(row, found)]
    body = table(["part", "wanted", "found", "true on"], cells)
    return body if len(cells) <= MOST_PARTS else f"<details><summary>{len(cells)} parts</summary>{body}</details>"


def alt_text(panel):
    """What a picture shows, for readers who cannot see it: each line's first and last number."""
    parts = []
    for line, ranges in zip(panel.panel.lines, panel.found):
        shown = sorted(ranges)
        ends = dict.fromkeys([*shown[:1], *shown[-1:]])
        parts.append(f"{line.label} " + ", ".join(f"{figures.short(ranges[place].median)} at {panel.panel.places[place]}" for place in ends))
    return f"{panel.panel.title}. {figures.y_of(panel.figure)} by {panel.figure['x']}: {'; '.join(parts)}."


def numbers_table(panel):
    names = [str(place) for place in panel.panel.places]
    cells = []
    for line, ranges in zip(panel.panel.lines, panel.found):
        cells.append([escaped(line.label), *((figures.short(ranges[place].median), "number") if place in ranges else "" for place in range(len(names)))])
        if line.paper:
            cells.append([f"{escaped(line.label)}, the paper", *(("" if value is None else figures.short(value), "number") for value in line.paper)])
    return f"<details><summary>Numbers: medians</summary>{table([panel.figure['x'], *names], cells)}</details>"


def panel_html(panel):
    return (f'<figure id="{panel.slug}"><div class="plot" role="img" aria-label="{escaped(alt_text(panel))}">{panel.svg}</div>{numbers_table(panel)}</figure>')


def figures_html(row, drawn):
    """The panels of each figure of a claim, with the paper's words."""
    lines = []
    for number in dict.fromkeys(panel.figure["number"] for panel in drawn):
        own = [panel for panel in drawn if panel.figure["number"] == number]
        caption = own[0].figure.get("caption", row["says"])
        lines += [f"<h4>The paper's {escaped(number)}, by our runs</h4>", f'<p class="faint">The paper: {escaped(caption)}.</p>',
                  '<div class="panels">', *map(panel_html, own), "</div>"]
    return lines


def native_html(rows):
    """What this CPU measured of a claim. `rows`: [part, threads, found]."""
    cells = [[escaped(part), escaped(threads), (escaped(ours), "number")] for part, threads, ours in rows]
    return ["<h4>On this CPU, not judged</h4>", table(["part", "threads", "found"], cells)]


def claim_section(row, found, drawn, native):
    lines = [f'<section><h3 id="{anchor(row["id"])}">{escaped(row["id"])}: {verdict_html(row, found)}</h3>',
             f"<p>{escaped(row['where'])}. {escaped(row['machine'])}. {escaped(row['workload'])}.</p>", f"<p>The paper: {escaped(row['says'])}.</p>"]
    if "ours" in row:
        lines.append(statements_table(row, found))
    lines += figures_html(row, drawn)
    if native:
        lines += native_html(native)
    if why := claims_page.why(row):
        lines.append(f"<p>Why: {escaped(why.rstrip('.'))}.</p>")
    return "\n".join([*lines, "</section>"])


def tables_html(filled):
    """The tables that no paper has. `filled`: tables.Filled."""
    lines = ['<h2 id="tables">Tables that no paper has</h2>'] if filled else []
    for one in filled:
        cells = [[escaped(label), *((escaped(cell), "number") for cell in own)] for label, *own in one.texts()]
        lines += [f'<section><h3 id="{anchor(one.table.id)}">{escaped(one.table.title)}</h3>', f"<p>{escaped(tables.explanation(one))}</p>",
                  table([one.table.row["corner"], *one.table.columns], cells), "</section>"]
    return lines


def contents(rows, found, filled):
    items = []
    for paper in dict.fromkeys(row["paper"] for row in rows):
        own = "".join(f'<li><a href="#{anchor(row["id"])}">{escaped(row["id"])}</a> {verdict_html(row, found)}</li>' for row in rows if row["paper"] == paper)
        items.append(f'<p><a href="#{anchor(paper)}">{escaped(paper)}</a></p><ul>{own}</ul>')
    if filled:
        own = "".join(f'<li><a href="#{anchor(one.table.id)}">{escaped(one.table.title)}</a></li>' for one in filled)
        items.append(f'<p><a href="#tables">Tables that no paper has</a></p><ul>{own}</ul>')
    return f'<nav aria-label="Contents"><h2>Contents</h2><p><a href="#claims">All claims</a></p>{"".join(items)}</nav>'


def document(rows, found, drawn, native, filled, origin, style):
    """The page. `drawn`: Panels by claim; `native`: rows of native_html by claim, and "" for the line about the CPU; `filled`: the tables (tables.py);
    `origin`: lines about the runs; `style`: the text of style.css."""
    lines = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
             f"<title>The papers' claims</title><style>{style}</style></head><body>", "<header><h1>The papers' claims, on virtual machines</h1>",
             *(f'<p class="faint">{escaped(line)}</p>' for line in origin), f"<p>{escaped(claims_page.count_line(rows, found))}</p></header>",
             contents(rows, found, filled), '<main><h2 id="claims">All claims</h2>', claims_table(rows, found)]
    if native:
        lines.append(f'<p class="faint">{escaped(native[""])}</p>')
    for paper in dict.fromkeys(row["paper"] for row in rows):
        lines.append(f'<h2 id="{anchor(paper)}">{escaped(paper)}</h2>')
        lines += [claim_section(row, found, drawn.get(row["id"], []), native.get(row["id"])) for row in rows if row["paper"] == paper]
    return "\n".join([*lines, *tables_html(filled), "</main></body></html>"]) + "\n"
