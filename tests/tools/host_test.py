# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks' drivers share: their options, and results that are kept."""

import sys

import host
import pytest


@pytest.fixture
def counting(tmp_path):
    """A command that prints how often it has run, and the file that it depends on."""
    script, counter = tmp_path / "script.py", tmp_path / "counter"
    script.write_text("import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\nruns = int(file.read_text()) + 1 if file.exists() else 1\n"
                      "file.write_text(str(runs))\nprint(runs)\nsys.exit(int(sys.argv[2]))\n")
    return lambda code=0, **more: host.stored(tmp_path / "stored", [sys.executable, script, counter, code], [script], 60, **more), script


def test_a_result_is_kept_until_a_file_or_a_word_changes(counting):
    run, script = counting
    assert run().output == run().output == "1\n"
    script.write_text(script.read_text() + "\n")
    assert run().output == "2\n"
    assert run(code=3, codes=(0, 3)).output == "3\n"
    assert run(code=3, codes=(0, 3)).code == 3


def test_a_run_that_failed_is_not_kept(counting):
    run, _ = counting
    with pytest.raises(host.Failed):
        run(code=1)
    with pytest.raises(host.Failed):
        run(code=1)
    assert run(code=1, codes=(1,)).output == "3\n"


def test_a_broken_file_counts_as_none(counting, tmp_path):
    run, _ = counting
    run()
    for text in ("", "{}", '{"blocks": []}'):
        file, = (tmp_path / "stored").glob("*.json")
        before = int(run().output)
        file.write_text(text)
        assert int(run().output) == before + 1


def test_no_time_means_no_run(tmp_path):
    assert host.stored(tmp_path, ["false"], [], 0) is None


class Named:
    def __init__(self, name):
        self.name = name


def chosen(monkeypatch, tmp_path, *words):
    for file in ("bin/elision", "CMakeCache.txt", "workloads/one"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(sys, "argv", ["tool", "--build", str(tmp_path), *words])
    return host.parse_chosen("tool", "What it does.", [Named("one"), Named("other")], "snapshots.md", lambda program: [f"workloads/{program.name}"])


def test_some_programs_have_no_page_unless_asked(monkeypatch, tmp_path):
    some = chosen(monkeypatch, tmp_path, "on")
    assert [program.name for program in some.chosen] == ["one"] and some.output is None
    asked = chosen(monkeypatch, tmp_path, "on", "--output", str(tmp_path / "page.md"))
    assert asked.output == tmp_path / "page.md"


def test_a_program_that_the_build_lacks_or_nobody_knows_is_named(monkeypatch, tmp_path, capsys):
    for words, text in (([], "has no workloads/other"), (["third"], "no program 'third'; there are: one; other")):
        with pytest.raises(SystemExit) as ended:
            chosen(monkeypatch, tmp_path, *words)
        assert ended.value.code == 2 and text in capsys.readouterr().err
