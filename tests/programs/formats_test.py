# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison in each format, read by libraries that know the format."""

import csv
import io
import json
import os

import pytest
from markdown_it import MarkdownIt

WORDS = ["compare", "--machine", "xeon-e5-2697v4", "--runs", "2", "--locks", "tatas,htm-10"]
# What breaks formats if it is not escaped.
NASTY = b'b|c <i>"x", *y*\xff\n'


@pytest.fixture
def bench(elision):
    return [elision.workload("arraybench"), "--sections", "50", "--warmup", "5", "--threads"]


@pytest.fixture
def nasty(place):
    """A program with such a name."""
    path = os.path.join(os.fsencode(place.root), NASTY)
    os.symlink(os.fsencode(place.elision.workload("arraybench")), path)
    return [path.decode(errors="surrogateescape"), "--sections", "50", "--warmup", "5", "--threads", "2"]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def markdown_tables(text):
    """The tables of a page, as lists of rows of cells' texts, and all text outside of them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not [token for token in tokens if token.type.startswith("html")]
    tables, outside = [], []
    for i, token in enumerate(tokens):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline":
            assert not [child for child in token.children if child.type in ("html_inline", "link_open", "em_open")]
            text = "".join(child.content for child in token.children)
            in_cell = tokens[i - 1].type in ("th_open", "td_open")
            (tables[-1][-1] if in_cell else outside).append(text)
    return tables, outside


def test_csv_has_a_row_for_each_design_and_thread_count(place, bench):
    words = [*WORDS, "--threads", "1,2"]
    rows = rows_of(place.run(*words, "--format", "csv", "--json", "c.json", "--", *bench, "{threads}").stdout)
    report = json.loads((place.root / "c.json").read_text())
    expected = {(str(block["threads"]), row["design"]): row for block in report["blocks"] for row in block["rows"]}
    assert [(row["threads"], row["design"]) for row in rows] == list(expected)
    for row in rows:
        same = expected[row["threads"], row["design"]]
        assert float(row["result"]) == same["value"]["median"]
        assert float(row["speedup"]) == same["speedup"]
        assert row["state"] == "good"
        assert row["commits"] == (str(same["locks"]["commits"]) if row["design"] == "htm-10" else "")
        assert row["best"] == str(same["best"]).lower()


@pytest.mark.parametrize("arguments, why", [
    (["true"], "elision compare: true took no lock that Elision can replace"),
    (["false"], "elision compare: Nothing to compare: under pthread, false ended with exit code 1")])
def test_csv_without_results_has_its_reason_on_standard_error(place, arguments, why):
    ending = place.run(*WORDS, "--format", "csv", "--", *arguments)
    assert [row["result"] for row in rows_of(ending.stdout)][1:] == ["", ""]
    assert ending.stderr.splitlines()[-1].startswith(why), ending.stderr


@pytest.mark.parametrize("format", ["json", "csv", "markdown"])
def test_values_of_a_machine(place, format):
    text = place.run("machines", "--format", format, "--variation", "3", "xeon-gold-5520plus").stdout
    if format == "json":
        rows = [(value["field"], value["value"], ", ".join(value["others"]), value["source"]) for value in json.loads(text)["values"]]
    elif format == "csv":
        rows = [tuple(row.values()) for row in rows_of(text)]
    else:
        rows = [tuple(row) for row in markdown_tables(text)[0][0][1:]]
    assert ("topology.cores", "28") in [row[:2] for row in rows]
    [drawn] = [row for row in rows if row[0] == "instructions.pause_cycles"]
    listed = place.run("machines", "xeon-gold-5520plus").stdout
    [best] = [line.split()[1] for line in listed.splitlines() if line.startswith("instructions.pause_cycles ")]
    assert drawn[1] != best
    assert "variation 3" in drawn[3]


def test_uncertain_values_of_a_machine_have_the_others(place):
    values = json.loads(place.run("machines", "--format", "json", "xeon-gold-5520plus").stdout)
    assert (values["machine"], values["variation"]) == ("xeon-gold-5520plus", 0)
    others = {value["field"]: value["others"] for value in values["values"]}
    assert others["prefetch.stream_lines"] == ["8", "20"]
    assert others["prefetch.snoops"] == ["false"]
    assert others["topology.cores"] == []


def test_json_on_standard_output(place, bench):
    report, other = (json.loads(place.run(*WORDS, *option, "--", *bench, "2").stdout) for option in (["--format", "json"], ["--json", "-"]))
    assert report["blocks"] == other["blocks"]
    assert [row["design"] for row in report["blocks"][0]["rows"]] == ["pthread", "tatas", "htm-10"]


def test_table_makes_room_for_json_on_standard_output(place, bench):
    ending = place.run(*WORDS, "--json", "-", "--", *bench, "2")
    assert json.loads(ending.stdout)["version"] == 1
    assert "pthread" in ending.stderr
    also = place.run(*WORDS, "--json", "/dev/stdout", "--format", "csv", "--", *bench, "2")
    assert json.loads(also.stdout)["version"] == 1
    assert "threads,design,state" in also.stderr


def test_markdown_is_a_table(place, bench):
    ending = place.run(*WORDS, "--no-why", "--format", "markdown", "--", *bench, "2")
    (table,), outside = markdown_tables(ending.stdout)
    assert table[0][:2] == ["design", "virtual time"]
    assert [row[0] for row in table[1:]] == ["pthread", "tatas", "htm-10"]
    assert {len(row) for row in table} == {len(table[0])}
    assert "on virtual xeon-e5-2697v4" in outside[0]


def test_names_cannot_break_a_format(place, nasty):
    shown = place.run(*WORDS, "--format", "markdown", "--", *nasty).stdout
    _, outside = markdown_tables(shown)
    assert 'b|c <i>"x", *y*\\xff\\n on virtual' in outside[0]
    failing = [*WORDS[:-1], "tatas", "--format", "csv", "--", "bash", "-c",
               'test "$ELISION_LOCK" != tatas || { printf \'a"b,c|<\\377\\n\' >&2; exit 3; }; "$0" "$@"', *nasty]
    reference, tatas = rows_of(place.run(*failing).stdout)
    assert (reference["state"], tatas["state"]) == ("good", "failed")
    assert tatas["remark"] == 'ended with exit code 3: a"b,c|<\ufffd'
