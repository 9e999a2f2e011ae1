# SPDX-License-Identifier: Apache-2.0
"""The picture of a comparison, read by an XML parser."""

import os
import pathlib
import shutil
import xml.etree.ElementTree as ET

import pytest

TEXT = "{http://www.w3.org/2000/svg}text"
DESIGNS = ["tatas", "htm-10"]
WORDS = ["compare", "--machine", "xeon-e5-2697v4", "--runs", "2", "--locks", ",".join(DESIGNS), "--plot", "p.svg"]

needs_gnuplot = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")


@pytest.fixture
def bench(elision):
    return [elision.workload("arraybench"), "--sections", "50", "--warmup", "5", "--threads"]


def texts_of(file):
    return ["".join(element.itertext()).strip() for element in ET.parse(file).iter(TEXT)]


@needs_gnuplot
def test_lines_over_threads(place, bench):
    assert place.run(*WORDS, "--threads", "1,2", "--", *bench, "{threads}").status == 0
    texts = texts_of(place.root / "p.svg")
    assert {"pthread", *DESIGNS, "1", "2"} <= set(texts)
    assert any(text.startswith("threads") for text in texts)
    assert any(text.startswith("runs per virtual second") for text in texts)


@needs_gnuplot
def test_bars_with_one_number_of_threads(place, bench):
    assert place.run(*WORDS, "--", *bench, "2").status == 0
    texts = texts_of(place.root / "p.svg")
    assert {"pthread", *DESIGNS} <= set(texts)
    assert any(text.startswith("lock design") for text in texts)


@needs_gnuplot
@pytest.mark.parametrize("name, shown", [
    (b"a <b>&amp;'it''s\"`touch x`", "a <b>&amp;'it''s\"`touch x`"),
    (b"$d @x %s \\ {Bold y} _z^2 #", "$d @x %s \\ {Bold y} _z^2 #"),
    (b"bad \xff\n", "bad \\xff\\n"),
    ("größer 漢字".encode(), "größer 漢字")], ids=["markup", "gnuplot", "bytes", "unicode"])
def test_names_are_text(place, name, shown):
    path = os.path.join(os.fsencode(place.root), name)
    os.symlink(os.fsencode(place.elision.workload("arraybench")), path)
    environment = {"PATH": f"{place.root}:{os.environ['PATH']}"}
    place.environment.update(environment)
    ending = place.run(*WORDS, "--", name.decode(errors="surrogateescape"), "--sections", "50", "--warmup", "5")
    assert ending.status == 0
    assert f"{shown} on virtual xeon-e5-2697v4" in texts_of(place.root / "p.svg")
    assert sorted(os.listdir(os.fsencode(place.root))) == sorted([name, b"p.svg"])


@needs_gnuplot
def test_picture_without_a_result_is_not_left_over(place):
    old = place.root / "p.svg"
    old.write_text("old")
    ending = place.run(*WORDS, "--", "bash", "-c", "exit 3")
    assert ending.status == 1
    assert "no result to draw" in ending.stderr
    assert not old.exists()


def test_missing_gnuplot_is_said_before_anything_runs(place, elision):
    place.environment["PATH"] = str(place.root)
    ending = elision.run(*WORDS, "--", elision.workload("arraybench"), cwd=place.root, environment=place.environment)
    assert (ending.status, ending.stdout, len(ending.stderr.splitlines())) == (2, "", 1)
    assert "gnuplot-nox" in ending.stderr
    assert list(place.root.iterdir()) == []


@needs_gnuplot
def test_gnuplot_that_fails_leaves_nothing(place, bench):
    failing = place.root / "bin" / "gnuplot"
    failing.parent.mkdir()
    failing.write_text("#!/bin/sh\necho 'cannot open display' >&2\nexit 1\n")
    failing.chmod(0o755)
    place.environment["PATH"] = f"{failing.parent}:{os.environ['PATH']}"
    ending = place.run(*WORDS, "--", *bench, "2")
    assert ending.status == 2
    assert "gnuplot failed: cannot open display" in ending.stderr
    assert not pathlib.Path(place.root / "p.svg").exists()
    assert "pthread" in ending.stdout
