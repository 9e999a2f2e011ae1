# SPDX-License-Identifier: Apache-2.0
"""The judgement of examples.py on made-up pages: a page that no longer shows what its command prints is found."""

import examples
import pytest

TABLE = """  design        result  speedup  commits  aborts by cause
  pthread        1.25M    1.00x        -  -
* htm-10          909k    0.73x      480  conflict 43.2k, lock-busy 6011, other 11
Use htm-10: 1.35 times the result of pthread (spread of the runs up to 1.4 %).
"""


def page(command, shown, mark=""):
    return f"{mark}\n```console\n$ {command}\n{shown}```\n"


def judged(text, status=0, printed=None):
    (example,) = examples.examples_in("page.md", text)
    return examples.judge(example, status, TABLE if printed is None else printed)


def test_same_output():
    assert judged(page("elision compare", TABLE)) is None


def test_other_numbers_causes_and_widths():
    other = TABLE.replace("1.25M ", "987k").replace("909k", "1.1M").replace("480", "  -").replace(
        "conflict 43.2k, lock-busy 6011, other 11", "capacity 7").replace("1.4 %", "0.1 %")
    assert other != TABLE
    assert judged(page("elision compare", TABLE), printed=other) is None


@pytest.mark.parametrize("old, new", [("htm-10 ", "ticket "), ("* htm", "  htm"), ("htm-10 ", "htm-1 "), ("Use", "Perhaps"),
                                      ("speedup", "ratio"), ("of pthread (", "of tatas (")])
def test_other_words(old, new):
    assert "the page shows" in judged(page("elision compare", TABLE), printed=TABLE.replace(old, new))


def test_a_share_may_be_below_one_percent():
    shown = page("elision compare", "  lock     100     3 %  here\n")
    assert judged(shown, printed="  lock     100    <1 %  here\n") is None


BARS = "  pthread  ....====bbbbbbbbbbbbbbbb  71 % waiting\n  htm-10   ..oooooooooooooooobbbbbb  5 % waiting\n"
LEGEND = "  . outside of locks  = holding a lock  o in the locks' code  b blocked\n"


def test_a_bar_may_have_other_letters_with_their_legend():
    shown = page("elision compare", BARS + LEGEND)
    others = BARS.replace("ooo", "fff", 1), LEGEND.replace("  o in", "  f in fallback  o in")
    assert judged(shown, printed=BARS + LEGEND) is None
    assert judged(shown, printed="".join(others)) is None
    assert "the legend of the command" in judged(shown, printed=others[0] + LEGEND)
    assert "the legend of the command" in judged(shown, printed=BARS + others[1])
    assert "the legend of the page" in judged(page("elision compare", BARS + others[1]), printed=BARS + LEGEND)


def test_a_legend_has_its_words():
    shown = page("elision compare", BARS + LEGEND)
    assert "the page shows" in judged(shown, printed=BARS + LEGEND.replace("holding", "taking"))
    assert "the page shows" in judged(page("elision compare", "  half b blocked\n"), printed="  half f in fallback\n")


ADVICE = "  2. Run it with htm-10:\n     elision run --lock htm-10 -- bank\n"


@pytest.mark.parametrize("sentence", ["Run it with htm-10:",
                                      "This CPU has no transactions, and htm-10 needs transactions: it may help on a Xeon. On a CPU with transactions:",
                                      "ELISION_HIDE_RTM=1 hides this CPU's transactions, and htm-10 needs transactions. On a CPU with transactions:",
                                      "Compare with --machine native first, since sections conflict. Then run it with htm-10:"])
def test_advice_for_another_cpu(sentence):
    shown = page("elision compare", ADVICE)
    assert judged(shown, printed=ADVICE.replace("Run it with htm-10:", sentence)) is None
    assert "the page shows" in judged(shown, printed=ADVICE.replace("Run it with htm-10", "Do not run htm-10"))


def test_line_too_few_or_too_many():
    lines = TABLE.splitlines(keepends=True)
    assert "the page shows" in judged(page("elision compare", TABLE), printed="".join(lines[:-1]))
    assert "the page shows" in judged(page("elision compare", "".join(lines[:-1])))


def test_dots_stand_for_any_lines():
    lines = TABLE.splitlines(keepends=True)
    assert judged(page("elision compare", lines[0] + "...\n" + lines[-1])) is None
    assert judged(page("elision compare", "...\n")) is None
    assert "the page shows" in judged(page("elision compare", "...\n" + lines[0]))


def test_exit_code():
    assert judged(page("elision vm", TABLE), 1) == "exit code 1, not 0"
    marked = page("elision vm", TABLE, "<!-- example: exit 1,139 -->")
    assert judged(marked, 139) is None
    assert judged(marked, 0) == "exit code 0, not 1 or 139"


def test_labels():
    marked = page("elision doctor", "Hardware transactions: yes, 5 of 5.\n  RTM     yes   what Elision uses\n", "<!-- example: labels -->")
    assert judged(marked, printed="Hardware transactions: no.\n  RTM     no    what Elision would use\n") is None
    assert "the page shows" in judged(marked, printed="Hardware transactions: no.\n  HLE     no    older\n")


def test_commands_of_a_block():
    text = "```console\n$ elision vm \\\n    a\nx\n$ elision run b\n```\n"
    assert [(found.command, found.shown, found.line) for found in examples.examples_in("page.md", text)] == [("elision vm a", ["x"], 2), ("elision run b", [], 5)]


@pytest.mark.parametrize("block", ["    elision run --lock tatas -- true\n", "```\n$ build/bin/elision machines\n```\n"])
def test_command_outside_of_a_console_block(block):
    with pytest.raises(examples.PageError, match="page.md:[12]: a command outside"):
        list(examples.examples_in("page.md", block))


def test_synopsis_outside_of_a_console_block():
    synopsis = "    elision vm [OPTION...] -- PROGRAM ARG...\n\n```cpp\nelision::mutex mutex;\n```\n"
    assert list(examples.examples_in("page.md", synopsis)) == []


def test_quick_takes_two_variations():
    assert examples.quicker("elision vm --vary 16 -- a") == "elision vm --vary 2 -- a"


PLACES = """\
  - 0x1061c098 under Worker<...>::section(): erase(...) (table.h:649) and Table::insert(...) (table.h:2000), 5814 times
- Sections under the lock taken at one.cc:178 conflict on the same data, most often at 0x1061c098: erase(...) (table.h:649) against insert(...) (table.h:2000).
"""


def test_the_places_of_a_conflict_may_be_others():
    shown = page("elision compare", PLACES)
    assert judged(shown, printed=PLACES.replace("erase(...) (table.h:649)", "look_up(...) (table.h:7)")) is None
    assert judged(shown, printed=PLACES.replace("5814 times", "5814 times, by false sharing")) is None
    assert "the page shows" in judged(shown, printed=PLACES.replace("5814 times", "5814 times, by chance"))
    assert "the page shows" in judged(shown, printed=PLACES.replace("(table.h:2000).", "(table.h:2000), by false sharing."))
    assert "the page shows" in judged(shown, printed=PLACES.replace("Worker<...>", "Reader"))
    assert "the page shows" in judged(shown, printed=PLACES.replace("conflict on the same data", "share a line"))
    assert "the page shows" in judged(shown, printed=PLACES.replace(" and Table::insert(...) (table.h:2000)", ""))
