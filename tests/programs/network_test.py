# SPDX-License-Identifier: Apache-2.0
"""The network workloads (workloads/network): their streams arrive under every lock and condition variable, and the check can fail."""

import pytest
from support import expect_refused, run

MOST_SEEDS = 20
MOST_HOST_SECONDS = 10  # of a run without conflict detection, which may hang; another seed is tried then
VARIANTS = {
    "mutex": ["--lock", "pthread", "--condition", "glibc"],
    "tsx.abort": ["--lock", "htm-5", "--condition", "glibc"],
    "tsx.cond": ["--lock", "htm-5", "--condition", "aware"],
    "mutex.busywait": ["--lock", "pthread", "--condition", "busy"],
    "tsx.busywait": ["--lock", "htm-5", "--condition", "busy"],
}
SIZES = {"netferret": ["--messages", 30], "netdedup": ["--messages", 1], "netstreamcluster": ["--messages", 2, "--bytes", 16384]}
RESULTS = {"netferret": ["bytes"], "netdedup": ["bytes", "chunks", "unique chunks", "runs"], "netstreamcluster": ["bytes", "centres"]}
each_program = pytest.mark.parametrize("program", SIZES)
each_variant = pytest.mark.parametrize("variant", VARIANTS)


def words_of(elision, program, *more):
    return [elision.workload(program), *SIZES[program], *more]


def results_of(program, ending):
    """The lines that do not depend on the order of threads."""
    assert ending.status == 0, ending.stdout
    lines = dict(line.split(": ", 1) for line in ending.stdout.splitlines())
    assert int(lines["packets"]) > 0
    assert float(lines["throughput"].removesuffix(" bytes/s")) > 0
    return [lines[name] for name in RESULTS[program]]


@each_program
@each_variant
def test_natively(elision, program, variant):
    for more in ((), ("--locks", "host", "--threads", 4)):
        words = words_of(elision, program, *more)
        assert results_of(program, elision.run("run", *VARIANTS[variant], "--", *words)) == results_of(program, run(words))


@each_program
@each_variant
def test_virtually(elision, program, variant, seed):
    """With transactions, if the variant has some."""
    words = words_of(elision, program)
    ending, totals = elision.totals(words, ["--machine", "core-i7-4770", "--seed", seed, *VARIANTS[variant]])
    assert results_of(program, ending) == results_of(program, run(words))
    # As it starts, the library commits one.
    assert (totals["commits"] > 20) == variant.startswith("tsx")


@pytest.mark.parametrize("more", [("--locks", "host"), ("--mtu", 104), ("--mtu", 9000), ("--bytes", 65536), ("--bytes", 512)])
def test_other_packets(elision, seed, more):
    """Chains of mbufs, and packets whose data is in the mbuf itself."""
    words = [elision.workload("netdedup"), "--messages", 2, "--threads", 6, *more]
    expected = results_of("netdedup", run(words))
    for variant in ("tsx.cond", "tsx.busywait"):
        ending = elision.vm(words, ["--machine", "core-i7-4770", "--seed", seed, *VARIANTS[variant]])
        assert results_of("netdedup", ending) == expected


def test_loses_without_conflict_detection(elision):
    """Threads then run through each other: lost packets, or a crash, or a loop that the limit ends."""
    words = ["timeout", MOST_HOST_SECONDS, *words_of(elision, "netdedup", "--threads", 6)]
    options = [*VARIANTS["tsx.cond"], "--no-conflict-detection"]
    endings = (elision.vm(words, [*options, "--seed", seed]) for seed in range(1, MOST_SEEDS + 1))
    assert any(ending.status == 1 and ("LOST" in ending.stdout or "WRONG" in ending.stdout) for ending in endings)


@pytest.mark.parametrize("words, named", [
    ("netferret --threads 5", "5"), ("netferret --threads 2", "2"), ("netferret --bytes 6", "4"), ("netferret --locks two", "two"),
    ("netdedup --messages 0", "0"), ("netdedup --mtu 40", "40"), ("netdedup --messages=-1", "-1"), ("netstreamcluster --bytes 100", "512")])
def test_words_that_are_wrong(elision, words, named):
    program, *more = words.split()
    expect_refused(run([elision.workload(program), *more]), named)
