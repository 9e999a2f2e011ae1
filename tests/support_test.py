# SPDX-License-Identifier: Apache-2.0
"""How programs end, and what pytest reports of tests and to ctest."""

import pathlib
import shlex
import signal
import sys
import time

import pytest
from support import ROOT, run

TESTS = ROOT / "tests"


@pytest.mark.parametrize("words, environment, status", [
    (["sh", "-c", "exit 3"], {}, 3), (["sh", "-c", "kill -TERM $$"], {}, -signal.SIGTERM), (["sh", "-c", 'exit "$N"'], {"N": "5"}, 5)])
def test_command_of_an_ending_repeats_it(words, environment, status):
    ending = run(words, environment=environment)
    assert ending.status == status
    # A shell may execute the program in its own place.
    assert run(["bash", "-c", ending.command]).status in (status, 128 - status)


def test_command_of_a_guest_does_not_depend_on_the_environment(elision):
    ending = elision.vm(["env"])
    assert run(["bash", "-c", ending.command], environment={"MORE": "1"}).stdout == ending.stdout


def test_statistics_are_no_part_of_the_command(elision):
    assert "--stats" not in elision.vm_with_statistics(["true"])[0].command


def is_running(process):
    try:
        return pathlib.Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def expect_end_of(process):
    assert process.isdigit()
    deadline = time.monotonic() + 60
    while is_running(process):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_program_that_reaches_its_limit_is_killed_with_its_group():
    ending = run(["bash", "-c", "echo why >&2; sleep 1000 & echo $!; wait"], limit_seconds=5)
    assert ending.status == -signal.SIGKILL
    assert ending.stderr == "why\n\nkilled after 5 s"
    expect_end_of(ending.stdout.strip())


def test_rest_of_a_group_is_killed_on_request():
    ending = run(["bash", "-c", "sleep 1000 >&- 2>&- & echo $!"], end_group=True)
    expect_end_of(ending.stdout.strip())


@pytest.fixture
def pytest_of(folder, build):
    def run_pytest(text, *options):
        """The ending of pytest with a file of these tests."""
        (folder / "made_test.py").write_text(text)
        return run([sys.executable, "-B", "-m", "pytest", "-c", TESTS / "pytest.ini", "-p", "conftest", f"--build={build}", *options,
                    folder / "made_test.py"], environment={"PYTHONPATH": str(TESTS)}, cwd=ROOT, limit_seconds=120)
    return run_pytest


SKIPS = "import pytest\n\n\ndef test_skips():\n    pytest.skip('no such thing')\n"
PASSES = "\n\ndef test_passes():\n    assert True\n"
FAILS = "from support import run\n\n\ndef test_fails(seed):\n    assert run(['sh', '-c', 'echo said; exit 4']).status == seed\n"


@pytest.mark.parametrize("text, status", [(SKIPS, 77), (SKIPS + PASSES, 0), (PASSES, 0), (FAILS, 1), ("", 5)],
                         ids=["all skipped", "some skipped", "passed", "failed", "none"])
def test_exit_code_for_ctest(pytest_of, text, status):
    assert pytest_of(text).status == status


def test_failure_shows_the_program_and_the_command_that_repeats_it(pytest_of):
    ending = pytest_of(FAILS, "--seeds", 4, "-k", "fails")
    assert "$ sh -c 'echo said; exit 4'\nended with 4\nstdout:\nsaid\n" in ending.stdout
    commands = [line for line in ending.stdout.splitlines() if "-m pytest" in line]
    assert [command.partition("::")[2] for command in commands] == ["test_fails[1]'", "test_fails[2]'", "test_fails[3]'"]
    words = shlex.split(commands[0])
    assert words[words.index("--seeds"):][:4] == ["--seeds", "4", "-k", "fails"]
    again = run(["bash", "-c", commands[0]], environment={"PYTHONPATH": str(TESTS)}, cwd="/")
    assert again.status == 1
    assert "1 failed" in again.stdout


HANGS = """import threading

from support import run


def test_hangs():
    run(['sh', '-c', 'echo said; exec sleep 1000'])


def test_is_not_reached():
    threading.Event().wait()
"""


def test_limit_names_the_test_and_what_it_ran(pytest_of):
    ending = pytest_of(HANGS, "--limit=5")
    assert ending.status == 1
    assert "the limit of 5 s is reached" in ending.stdout
    assert "made_test.py::test_hangs" in ending.stdout
    assert "$ sh -c 'echo said; exec sleep 1000'\nended with -9\nstdout:\nsaid\n" in ending.stdout
    assert "test_is_not_reached" not in ending.stdout
