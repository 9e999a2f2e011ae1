# SPDX-License-Identifier: Apache-2.0
"""A comparison where the counters of the program's locks find no room: the program runs to its end, and one line says
what is missing and why."""

import shlex

import pytest
from support import run


@pytest.fixture
def compare(elision, folder):
    # The program prints nothing: what it prints would have no room either.
    words = [elision.binary, "compare", "--machine", "native", "--locks", "pthread,tatas", "--runs", "1", "--",
             elision.test_program("preload_worker"), "count", "4", "1000"]

    def compare_after(script, shell=("sh",)):
        """Runs the comparison in a shell, after the commands of `script`."""
        return run([*shell, "-c", f"{script}; {shlex.join(map(str, words))}"], environment={"TMPDIR": str(folder)})
    return compare_after


@pytest.fixture
def compare_on_disk(compare, folder):
    def compare_with_room(size):
        ending = compare(f"mount -t tmpfs -o size={size} tmpfs {folder} || exit 77",
                         ("unshare", "--user", "--map-root-user", "--mount", "sh"))
        if ending.status == 77 or "unshare" in ending.stderr:
            pytest.skip("no namespaces here")
        return ending
    return compare_with_room


def expect_not_counted(ending, reason):
    assert ending.status == 0
    said = [line for line in ending.stderr.splitlines() if "not counted" in line]
    assert len(said) == 1
    assert reason in said[0]
    assert "took no lock" not in ending.stdout


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_limit_on_the_size_of_files(compare, blocks):
    expect_not_counted(compare(f"ulimit -f {blocks}"), "File too large")


def test_a_full_disk(compare_on_disk):
    expect_not_counted(compare_on_disk("8k"), "No space left on device")


def test_a_disk_with_little_room(compare_on_disk):
    ending = compare_on_disk("64k")
    assert ending.status == 0
    assert "not counted" not in ending.stderr
