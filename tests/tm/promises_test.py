# SPDX-License-Identifier: Apache-2.0
"""What the ABI promises, one program each. The output is the same on every path of the library, and for GCC's libitm.

libitm's other methods (serialirr, htm) run a block that may cancel without a log of what to undo. The parts of programs that
libitm gets wrong with every method (cancels of nested transactions, handlers inside of transactions, transactions in commit
actions) run on this library alone.
"""

import pytest
import support
import tm

PROGRAMS = ("allocation", "cancel", "clones", "dead_frames", "exceptions", "fresh_memory", "inspection", "irrevocable", "nesting", "types", "user_actions")
LIBITM_METHODS = ("gl_wt", "ml_wt")


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_output_on_every_path(build, program):
    expected = tm.run(build, program, "serial", "all")
    assert (expected.status, expected.stderr) == (0, "")
    for way in tm.WAYS:
        ending = tm.run(build, program, way, "all")
        assert (ending.status, ending.stdout, ending.stderr) == (0, expected.stdout, ""), way


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_output_as_libitm(build, program):
    ours = tm.run(build, program, "ale")
    assert ours.status == 0
    for method in LIBITM_METHODS:
        theirs = support.run([build / "tests" / f"tm_{program}"], environment={"ITM_DEFAULT_METHOD": method})
        assert (theirs.status, theirs.stdout) == (0, ours.stdout), method


@pytest.mark.parametrize("program", ("allocation", "cancel", "clones", "dead_frames", "exceptions", "inspection", "irrevocable", "nesting",
                                     "user_actions"))
def test_same_output_on_virtual_machine(elision, program):
    expected = tm.run(elision.build, program, "serial", "all")
    for way in ("ale", "ale, in software"):
        ending = tm.run_virtually(elision, program, way, "all")
        assert (ending.status, ending.stdout) == (0, expected.stdout), way


def test_transactions_nest_deeper_than_the_hardware(elision, folder):
    """Twenty levels are one hardware transaction; the CPU itself nests seven."""
    assert tm.run_virtually(elision, "nesting", "ale", folder=folder).status == 0
    counts = tm.counted(folder)
    assert counts["plain_commits"] > 0 and counts["nested_aborts"] == 0


def test_buffered_store_to_dead_frame_would_be_noticed(elision):
    """The same library without the rule for dead frames fails in one way or another."""
    library = elision.build / "tests" / "libelision-tm-deadframes.so"
    ending = tm.run_virtually(elision, "dead_frames", "ale, in software", library=library)
    assert ending.status != 0


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"ELISION_TM": "fast"}, ("ELISION_TM=fast", "not a mode", "ale, hle, hle-scm, unsafe-lr or serial")),
        ({"ELISION_TM_FAST_PATH": "two_speed"}, ("ELISION_TM_FAST_PATH=two_speed", "not a fast path", "two-speed or logged")),
        ({"ELISION_TM_RETRY": "never"}, ("ELISION_TM_RETRY=never", "not a retry rule", "patient or hint")),
        ({"ELISION_TM": "unsafe-lr"}, ("unsafe-lr", "ELISION_TM_ACCEPT_UNSAFE=1")),
    ],
)
def test_refuses_bad_value_with_one_line(build, environment, named):
    preload = {"LD_PRELOAD": str(build / "lib" / "libelision-tm.so"), **environment}
    support.expect_refused(support.run([build / "tests" / "tm_cancel"], environment=preload), *named)


def test_default_goes_by_cpu(build, folder):
    how = tm.settings(build, "default", folder=folder)
    assert support.run([build / "tests" / "tm_cancel"], environment={**how, "ELISION_HIDE_RTM": "1"}).status == 0
    assert tm.counted(folder)["mode"] == "serial"
