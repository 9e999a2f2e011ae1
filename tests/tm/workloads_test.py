# SPDX-License-Identifier: Apache-2.0
"""Programs over sections end as their sequential forms do, whatever path their transactions take.

On the virtual machine, with one thread, so that the order of sections is the same. The library aborts hardware transactions and segments at
random accesses, so that many transactions are fallbacks.
"""

import pytest
import tm
from support import printed

PROGRAMS = ("bayes -r 512 -n 2 -p 40 -e 3", "genome -n 4096", "intruder -n 400", "kmeans --points 512", "labyrinth -x 24 -y 24 -z 3 -n 24", "ssca2 -s 8",
            "vacation -r 1024 -t 400", "yada -a 15 -n 200", "b_plus_tree --size 500 --operations 4000", "cache_db --size 500 --buckets 2 --operations 4000",
            "hash --size 500 --operations 4000", "list --operations 4000", "skip_list --size 500 --operations 4000", "tree --size 500 --operations 4000")


def results(text):
    """The lines that do not depend on time."""
    return [line for line in text.splitlines() if not line.startswith(("seconds:", "throughput:", "aborts:"))]


@pytest.mark.parametrize("program", PROGRAMS)
def test_fallbacks_end_as_the_sequential_form(elision, folder, program):
    name, *words = program.split()
    command = [elision.workload(name), *words, "--threads", 1]
    library = elision.build / "tests" / "libelision-tm-aborts.so"
    variables = [f"{key}={value}" for key, value in tm.settings(elision.build, "ale", folder, library).items()]
    ending = elision.vm(["env", *variables, *command, "--back-end", "gcc-tm"], ("--machine", "core-i7-5960x", "--start", "thread:2"))
    assert ending.status == 0
    assert results(ending.stdout) == results(printed([*command, "--back-end", "sequential"]))
    assert tm.counted(folder)["fallback_commits"] > 10
