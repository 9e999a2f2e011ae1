# SPDX-License-Identifier: Apache-2.0
"""The claims' results as CSV, the forecast, figures as data, and the report, from made-up results."""

import csv
import html.parser
import io
import math
import re
import tomllib

import claims
import figures
import forecast
import outcomes
import performance
import pytest
import reporting
from made_up_claims import CLAIM, FIGURE, ROW, changed, document, panels, result, results
from ranges import Range
from support import ROOT


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_of_the_results_holds_a_run():
    cell = CLAIM.cell({"lock": "new"}, 3)
    words = claims.command("/b", CLAIM, cell, "/s")
    row, = rows_of(outcomes.text(outcomes.COLUMNS, [outcomes.row_of(cell, "m", "f00", words, result(125000))]))
    assert row == {
        "claim": "faster", "settings": "lock=new; reads=80; threads=8", "variation": "3", "seed": "4", "machine": "m", "machine sha256": "f00",
        "options": "--lock new", "program": "work --threads 8 --reads 80", **dict.fromkeys(claims.METRICS, ""), "throughput": "125000",
        "abort percent": "25", "tries": "1.33333", "seconds": "2.00", "commit": "abc", "changed": "yes", "elision": "elision 1"}


def test_a_row_of_the_summary_holds_all_variations_of_a_run():
    found = {cell: value for cell, value in results().items() if dict(cell.settings) == {"lock": "new", "threads": 8, "reads": 80}}
    row, = rows_of(outcomes.text(outcomes.SUMMARY, outcomes.summary_rows(found, {"faster": "m"})))
    assert (row["variations"], row["throughput: low"], row["throughput: median"], row["throughput: high"]) == ("2", "200", "225", "250")
    assert outcomes.seconds_in(outcomes.text(outcomes.SUMMARY, outcomes.summary_rows(found, {"faster": "m"}))) == {
        ("faster", "lock=new; reads=80; threads=8"): 2.0}


def test_the_hash_of_a_machine_is_of_its_values():
    values = "field,value,others,source\nl1d.ways,8,,a book\nl2.ways,4,,\n"
    same = "field,value,others,source\nl2.ways,4,,\nl1d.ways,8,6,another book\n"
    assert outcomes.machine_hash(values) == outcomes.machine_hash(same)
    assert outcomes.machine_hash(values) != outcomes.machine_hash(values.replace(",8,", ",9,"))


def test_a_forecast_takes_the_nearest_run_that_it_knows():
    cells = claims.cells_of(CLAIM, 3)  # old and new
    known = forecast.Forecast({})
    assert known.left(cells, 2) is None
    known = forecast.Forecast({("faster", outcomes.settings_text(cells[0].settings)): 10.0, ("faster", outcomes.settings_text(cells[3].settings)): 30.0})
    assert known.left(cells, 2) == 60
    known.add(cells[0], 20.0)  # this computer needs twice the time
    assert (known.seconds(cells[1]), known.seconds(cells[3])) == (20, 60)
    assert known.left(cells[1:], 100) == 60  # no run is shorter than itself
    assert known.seconds(claims.Cell("another", (), 0)) == 20
    assert known.left([], 2) == 0


@pytest.mark.parametrize("seconds, text", [(None, "unknown until the first runs have ended"), (0, "0 s"), (89, "89 s"), (1500, "25 min"), (8100, "2 h 15 min")])
def test_a_duration(seconds, text):
    assert forecast.duration(seconds) == text


def test_a_figure_has_a_panel_and_a_line_each():
    first, second = figures.panels_of(CLAIM, FIGURE)
    assert (first.title, second.title) == ("80 % reads", "No reads")
    assert [line.label for line in first.lines] == ["old", "new"]
    assert first.lines[1].runs == tuple({"reads": 80, "lock": "new", "threads": threads} for threads in (1, 2, 8))
    assert first.lines[1].references[2] == {"reads": 80, "lock": "old", "threads": 1}
    assert (first.bands, second.bands[0].says) == ((), "the paper: twice")


def test_a_point_is_a_ratio_by_variation():
    panel = figures.panels_of(CLAIM, FIGURE)[0]
    assert figures.ranges_of(CLAIM, FIGURE, panel.lines[1], results(), 2) == {0: Range(2.5, 2.5, 2.5), 1: Range(5, 5, 5), 2: Range(20, 20, 20)}
    time = changed(inverse=True)
    assert figures.ranges_of(time, time.row["figure"][0], panel.lines[1], results(), 2)[1] == Range(0.2, 0.2, 0.2)
    plain = changed()
    del plain.row["figure"][0]["over"]
    line = figures.panels_of(plain, plain.row["figure"][0])[0].lines[1]
    assert figures.ranges_of(plain, plain.row["figure"][0], line, results(), 2)[2] == Range(225, 200, 250)


def test_runs_at_one_place_are_bars():
    claim = changed(series=[{"lock": ["old", "new"], "paper": [1, 2, 9]}, {"label": "not run", "lock": "newer"}])
    panel = figures.panels_of(claim, claim.row["figure"][0])[0]
    drawn, found = figures.shown(panel, [{2: Range(8, 8, 8)}, {2: Range(20, 20, 20)}, {}])
    assert (drawn.title, drawn.places, [line.label for line in drawn.lines]) == ("80 % reads", ("8",), ["old", "new"])
    assert (drawn.lines[0].paper, found) == ((9,), [{0: Range(8, 8, 8)}, {0: Range(20, 20, 20)}])
    drawn, found = figures.shown(panel, [{2: Range(8, 8, 8)}, {0: Range(2, 2, 2)}, {}])
    assert (drawn.places, len(drawn.lines), found) == ((1, 2, 8), 2, [{2: Range(8, 8, 8)}, {0: Range(2, 2, 2)}])


def test_a_run_that_does_not_tell_has_no_point():
    claim = changed(metric="abort percent")
    del claim.row["figure"][0]["over"]
    figure = claim.row["figure"][0]
    silent = {cell: {**value, "totals": {"begins": 0, "commits": 0}} if dict(cell.settings)["threads"] == 1 else value for cell, value in results().items()}
    line = figures.panels_of(claim, figure)[0].lines[1]
    assert figures.ranges_of(claim, figure, line, silent, 2) == {1: Range(25, 25, 25), 2: Range(25, 25, 25)}


def test_a_ratio_to_nothing_has_no_point():
    panel = figures.panels_of(CLAIM, FIGURE)[0]
    still = {cell: result(0) if dict(cell.settings)["lock"] == "old" else value for cell, value in results().items()}
    assert figures.ranges_of(CLAIM, FIGURE, panel.lines[1], still, 2) == {}


def test_a_claim_that_another_tool_judges_may_have_figures():
    row = {**ROW, "tool": "tools/demo", "runs": {key: value for key, value in ROW["ours"].items() if key != "statement"}}
    del row["ours"]
    claim = claims.Claim(row)
    assert list(figures.problems([row])) == []
    assert claims.cells_of(claim, 1) == []
    assert figures.cells_of(claim, 1) == figures.cells_of(CLAIM, 1)
    words = claims.command("/b", claim, figures.cells_of(claim, 1)[0], "/s")
    assert words[words.index("--") + 1:] == ["/b/workloads/work", "--threads", "1", "--reads", "80"]


def test_points_that_have_not_run_are_left_out():
    needed = claims.cells_of(CLAIM, 2)  # 8 threads
    needed += figures.references_of(CLAIM, needed)
    assert CLAIM.cell({"lock": "old", "threads": 1}, 0) in needed
    some = {cell: value for cell, value in results().items() if cell in needed}
    line = figures.panels_of(CLAIM, FIGURE)[0].lines[1]
    assert set(figures.ranges_of(CLAIM, FIGURE, line, some, 2)) == {2}


def test_a_point_may_have_settings_of_its_own():
    line = figures.panels_of(CLAIM, changed(points=[1, {"threads": 8, "reads": 50}], over={"lock": "old"}).row["figure"][0])[0].lines[0]
    assert line.runs == ({"reads": 80, "lock": "old", "threads": 1}, {"reads": 50, "lock": "old", "threads": 8})


def test_the_paper_s_numbers_come_with_a_series():
    claim = changed(series=[{"lock": "new", "paper": [math.nan, 3, 20]}])
    assert figures.panels_of(claim, claim.row["figure"][0])[0].lines[0].paper == (None, 3, 20)
    row = changed().row
    row["ours"].update(program="{input} --threads {threads} --reads {reads}", inputs={"kmeans": "kmeans -n 9"})
    row["figure"][0].update(each={"application": ["kmeans"]}, series=[{"lock": "new", "values": "published"}])
    assert list(figures.problems([row])) == []
    assert figures.panels_of(claims.Claim(row), row["figure"][0])[0].lines[0].paper == (0, 26, 71)


@pytest.mark.parametrize("change, named", [
    ({"pointz": [1]}, "unknown 'pointz'"), ({"points": []}, "no points"), ({"series": [{"lock": "new", "metric": "speed"}]}, "no metric 'speed'"),
    ({"series": [{"lock": "new", "size": 1}]}, "not those of the program and its options: size"), ({"title": "{size}"}, "KeyError: 'size'"),
    ({"bands": [{"range": [2, 1], "says": "x"}]}, "'x': an empty range"), ({"bands": [{"range": [2]}]}, "KeyError: 'says'"),
    ({"series": [{"lock": "new", "paper": [1]}]}, "'paper' has 1 numbers for 3 points"), ({"series": [{"lock": "new", "values": "nothing"}]}, "KeyError: 'nothing'"),
    ({"each": [1]}, "AttributeError"), ({"title": "{}"}, "IndexError")])
def test_a_figure_that_is_wrong_is_named_in_one_line(change, named):
    found = list(figures.problems([changed(**change).row]))
    assert found and all(problem.startswith("faster: figure Fig. 3: ") and "\n" not in problem for problem in found)
    assert any(named in problem for problem in found)


def test_the_figures_of_the_claims_are_right():
    rows = tomllib.loads((ROOT / "repro/claims.toml").read_text())["claim"]
    assert list(figures.problems(rows)) == []
    slugs = [figures.slug_of(claim, figure, index) for claim in map(claims.Claim, rows) for figure in figures.figures_of(claim)
             for index, _ in enumerate(figures.panels_of(claim, figure))]
    assert len(slugs) == len(set(slugs)) > 0


def texts_of(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_a_panel_shows_its_lines_and_the_paper_s_words():
    first, second = (texts_of(panel.svg) for panel in panels())
    assert {"80 % reads", "old", "new", "threads", "speedup"} <= set(first)
    assert "the paper: twice" in second


@pytest.mark.parametrize("change", [
    {"points": ["a", "b"], "x": "reads", "panels": [{}], "over": {"lock": "old"}}, {"log": True}, {"points": [8], "over": {"lock": "old"}},
    {"series": [{"lock": "new", "paper": [1, math.nan, 3]}]}], ids=["bars", "log", "one point", "paper"])
def test_every_kind_of_panel_can_be_drawn(change):
    for panel in panels(changed(**change)):
        assert "<svg" in panel.svg and "new" in " ".join(texts_of(panel.svg))


def test_a_drawing_repeats_to_the_byte():
    assert panels()[0].svg == panels()[0].svg


class Reader(html.parser.HTMLParser):
    """Names of elements, what they refer to, and whether each is closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.references, self.unlabelled, self.open = [], [], 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        self.ids += [own["id"]] if "id" in own else []
        self.references += [own[name] for name in ("href", "src", "xlink:href", "srcset", "data", "action") if name in own]
        self.references += re.findall(r"url\(([^)]*)\)", own.get("style", "") + own.get("clip-path", ""))
        self.unlabelled += own.get("role") == "img" and not own.get("aria-label")
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_but_itself():
    text = document()
    reader = Reader(text)
    assert reader.open == []
    assert reader.references and all(reference.startswith("#") for reference in reader.references)
    assert "@import" not in text and "<script" not in text
    assert len(reader.ids) == len(set(reader.ids))
    assert {reference[1:] for reference in reader.references} <= set(reader.ids)


def test_pictures_have_texts_in_their_place():
    assert Reader(document()).unlabelled == 0
    assert "80 % reads. speedup by threads: old 1 at 1, 8 at 8; new 2.5 at 1, 20 at 8." in document()


def test_the_page_has_a_table_of_all_claims():
    text = document()
    assert "a &lt;machine&gt;" in text and "<machine>" not in text
    assert "new is 2x old: <b>2.5x [2.5 - 2.5]</b> (wanted: 2x to 3x)" in text
    assert '<span class="verdict holds">holds</span>' in text
    assert "to come: a workload" in text


def test_the_page_shows_this_cpu_if_it_ran_there():
    assert "On this CPU" not in document()
    text = document(native={"": "On this CPU: a CPU", "faster": [["lock new over lock old", "2", "1.1x [1.0 - 1.2]"]]})
    assert "On this CPU: a CPU" in text and "1.1x [1.0 - 1.2]" in text


def test_a_report_replaces_the_earlier_one(folder):
    (folder / "repro").mkdir()
    found = {"faster": claims.find(CLAIM, results(), 2)}
    origin = performance.Origin("abc", "a CPU", 2, "Linux", "gcc", 0.0, 1)
    for variations in (2, 1):
        page = reporting.write(folder, origin, [ROW], found, results(), variations, [], [])
        assert sorted(file.name for file in page.parent.iterdir()) == ["faster-fig-3-1.svg", "faster-fig-3-2.svg", "index.html"]
        assert f"on {variations} variations" in page.read_text()
        (page.parent / "old.svg").touch()
        assert [file.name for file in (folder / "repro").iterdir()] == ["report"]  # nothing unfinished
