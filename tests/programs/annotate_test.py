# SPDX-License-Identifier: Apache-2.0
"""`elision annotate`: times and conflicts stand on the lines of source that they belong to."""

import json

import made_up_profile as made_up
import pytest
from support import expect_refused

SOURCE = [f"\tline {number};" for number in range(1, 100)]


@pytest.fixture
def bank(place):
    """The made-up profile, and its source at the end of another path."""
    made_up.write(place.root / "elision.profile")
    (place.root / "checkout" / "src").mkdir(parents=True)
    (place.root / "checkout" / "src" / "bank.cc").write_text("\n".join(SOURCE) + "\n")
    return place


def blocks_of(text):
    """{heading: lines} of each function."""
    return {block.splitlines()[0]: block.splitlines()[1:] for block in text.split("\n\n")}


def shown(place, *words):
    ending = place.run("annotate", *words)
    assert (ending.status, ending.stderr) == (0, "")
    return ending.stdout


def test_lines_have_the_time_of_each_state(bank):
    (heading, lines), = blocks_of(shown(bank, "elision.profile", "transfer", "--source-root", "checkout")).items()
    own = made_up.times(lambda path: made_up.functions(path)[-1])["transfer(int, int)"]
    whole = sum(round(path["ns"]) for path in made_up.PATHS if "transfer(int, int)" in made_up.functions(path))
    assert heading == f"transfer(int, int) in /src/bank.cc: {whole / 1e6:.1f} ms, of which {own / 1e6:.1f} ms its own"
    states = ["section", "attempt", "aborted", "fallback", "waiting", "speculating", "overhead"]
    assert lines[0].split() == [*states, "line"]
    rows = {int(line[12 * len(states):].split()[0]): line for line in lines[1:] if "..." not in line}
    assert list(rows) == [10, 11, 12, 13, 14, 17, 18, 19, 20, 21]
    for number, frame in ((12, 2), (19, 4)):
        times = dict.fromkeys(states, 0)
        for path in made_up.PATHS:
            times[path["state"]] = times.get(path["state"], 0) + (path["ns"] if frame in path["frames"] else 0)
        cells = [rows[number][12 * column:12 * (column + 1)].strip() for column in range(len(states))]
        assert cells == [f"{times[state] / 1e6:#.3g} ms" if times[state] else "" for state in states]
        assert rows[number].endswith(f"{number}          line {number};")


def test_functions_with_most_time_of_their_own_at_locks_come_first(bank):
    text = shown(bank)
    names = [heading.split(" in ")[0] for heading in blocks_of(text)]
    assert names == ["transfer(int, int)", "Account::add(int)", "worker(void*)", "2 more functions have lines of source; name one to see it."]


def test_functions_without_time_at_locks_are_shown_only_by_name(bank):
    made_up.write(bank.root / "p", [made_up.path("outside", 0, [0], 6_000_000, 12), made_up.path("blocked", 0, [0], 0.3, 1)])
    assert shown(bank, "p") == "No function has conflicts or spends time of its own at locks; name one to see its lines.\n"
    assert shown(bank, "p", "main").startswith("main in /src/bank.cc: ")


def test_more_functions_are_counted(bank):
    frames = [{"address": number, "name": f"f{number}()", "file": "many.c", "line": number} for number in range(1, 9)]
    paths = [made_up.path("section", 0, [number], 1000 + number, 1, lock=0) for number in range(8)]
    made_up.write(bank.root / "p", paths, frames=frames)
    text = shown(bank, "p")
    assert [heading.split("(")[0] for heading in blocks_of(text)] == [
        "f8", "f7", "f6", "f5", "f4", "3 more functions have lines of source; name one to see it."]


def test_conflicts_stand_on_both_lines(bank):
    place = {"address": 0x401204, "name": "transfer(int, int)", "file": "bank.cc", "line": 12}
    other = {"address": 0x401304, "name": "audit()", "file": "audit.cc", "line": 7}
    conflict = {"data": {"address": 0x5040, "name": "accounts+0x8"}, "victim": place, "other": other, "at_lock": False,
                "counts": {"count": 40, "apart": 40, "prefetched": 0, "unknown": 0}}
    locks = [{**made_up.LOCKS[0], "conflicts": [conflict]}, made_up.LOCKS[1]]
    made_up.write(bank.root / "p", locks=locks)
    lines = shown(bank, "p", "transfer", "--source-root", "checkout").splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("line 12;"))
    assert lines[at + 1].strip() == "^ aborts 40 times because of audit() (audit.cc:7): accounts+0x8 under queue;lock, by false sharing"
    assert "^ ends attempts 40 times, of transfer(int, int) (bank.cc:12): accounts+0x8" in shown(bank, "p", "audit")
    made_up.write(bank.root / "p", [], locks=locks)
    assert "aborts 40 times" in shown(bank, "p"), "a profile without call paths"


def test_source_is_looked_for_by_path_then_by_name(bank):
    words = ("elision.profile", "transfer", "--source-root")
    assert "line 12;" in shown(bank, *words, "checkout/src"), "by its name"
    (bank.root / "another").mkdir()
    (bank.root / "another" / "bank.cc").write_text("another file\n" * 50)
    assert "line 12;" in shown(bank, "elision.profile", "transfer"), "the end of its path is most like that of the profile"
    for folder in ("other/src", "third"):
        (bank.root / folder).mkdir(parents=True)
        (bank.root / folder / "bank.cc").write_text("another file\n" * 50)
    assert "another file" in shown(bank, *words, "other")
    assert "another file" in shown(bank, *words, "third")
    text = shown(bank, "elision.profile", "transfer")
    assert "'./checkout/src/bank.cc' and './other/src/bank.cc' both may be its source" in text and "line 12;" not in text


def test_a_folder_that_is_named_comes_before_the_compiled_path(place):
    compiled, other = place.root / "compiled", place.root / "other"
    for folder in (compiled, other):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "bank.cc").write_text(f"in {folder.name}\n" * 50)
    frames = [{**frame, "file": str(compiled / "src" / "bank.cc"), "line": 12} if "name" in frame else frame for frame in made_up.FRAMES]
    made_up.write(place.root / "elision.profile", frames=frames)
    words = ("elision.profile", "transfer")
    assert "in compiled" in shown(place, *words)
    text = shown(place, *words, "--source-root", "other")
    assert "in other" in text and "in compiled" not in text
    (place.root / "empty").mkdir()
    assert "in compiled" in shown(place, *words, "--source-root", "empty"), "else where it was compiled"


@pytest.mark.parametrize("content, why", [(None, "'/src/bank.cc' is not in '.' nor below it; --source-root names a folder"),
                                          ("one\n" * 18, "'./bank.cc' has only 18 lines: it is not what was compiled")])
def test_lines_stand_alone_without_source(place, content, why):
    made_up.write(place.root / "elision.profile")
    if content:
        (place.root / "bank.cc").write_text(content)
    lines = shown(place, "elision.profile", "transfer").splitlines()
    assert lines[1] == why
    assert [line.split()[-1] for line in lines[3:]] == ["12", "...", "19"]


def test_hidden_folders_are_left_out(place):
    made_up.write(place.root / "elision.profile")
    (place.root / ".git").mkdir()
    (place.root / ".git" / "bank.cc").write_text("x\n" * 99)
    assert "is not in '.'" in shown(place, "elision.profile", "transfer")


@pytest.mark.parametrize("words, named", [
    (["missing"], ["'missing'", "No such file"]), (["elision.profile", "transfre"], ["function 'transfre'", "'transfer'"]),
    (["elision.profile", "main", "third"], ["'third'"]), (["--source-root", "no/such"], ["'no/such'"]),
    (["--source-root", "elision.profile"], ["'elision.profile'", "folder"]), (["elision.profile", ""], ["FUNCTION"])], ids=lambda part: " ".join(part))
def test_bad_input_is_one_line(bank, words, named):
    expect_refused(bank.run("annotate", *words), *named)


def test_profile_without_lines_is_refused(place):
    document = made_up.document([made_up.path("blocked", 3, [6], 1_500_000, 3)])
    (place.root / "p").write_text(json.dumps(document))
    expect_refused(place.run("annotate", "p"), "'p'", "-g")
