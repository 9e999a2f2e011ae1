# SPDX-License-Identifier: Apache-2.0
"""What `elision record` says against ground truth: the virtual machine counts everything.

looks_at_itself.cc has threads at locks and looks at them by the code of `record`, on the clock of the virtual machine, which in the
same run counts the time in each state exactly. (A recorder in a process of its own has a clock of its own there: its looks would be
evenly spread over the host's time, in which a moment of four busy threads takes four times that of one.) Each seed is a run with
other work and other moments of looks. For each state the intervals of the shares must hold the exact share as often as their
confidence says.

What fails. A state of a workload with n runs, k of whose intervals hold the exact share, fails if so few or fewer would be as likely
as LEVEL by chance, were the coverage 95 %. LEVEL is 1 % for all states of all workloads together (Bonferroni). More are no failure:
intervals may be wider than they must be. Runs in the virtual machine repeat to the byte, so a build either passes or fails."""

import concurrent.futures
import json
import math
import os
import tempfile

import pytest

CONFIDENCE = 0.95
LEVEL = 0.01
LEAST_SHARE = 0.005  # of a state that is looked at, on average: most states do not occur in a workload
MACHINE = "xeon-e5-2697v4"
# Cycles. A look sees memory as the other CPUs have left it, which may be so much later than its own time.
RUN_AHEAD = "100"

# Design, kind, threads, milliseconds of virtual time, microseconds between looks.
WORKLOADS = {
    "phases": ("pthread", "phases", 4, 9, 60),
    "elided": ("htm-10", "data", 4, 3, 30),
}
MORE_WORKLOADS = {  # as part of make soak
    "sections": ("pthread", "sections", 4, 12, 40),
    "spinning": ("ticket", "sections", 4, 12, 40),
    "speculating": ("tatas-aahtm", "data", 4, 8, 40),
    "many threads": ("pthread", "phases", 24, 8, 40),
}


def at_most(successes, trials, probability):
    """The probability of so few successes."""
    return sum(math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(successes + 1))


class Run:
    """One run: what its looks found and what the virtual machine counted."""

    def __init__(self, elision, workload, seed):
        design, kind, *numbers = {**WORKLOADS, **MORE_WORKLOADS}[workload]
        words = [elision.test_program("looks_at_itself"), kind, *numbers, seed]
        options = ["--machine", MACHINE, "--run-ahead", RUN_AHEAD, "--seed", str(seed), "--lock", design, "--lock-times"]
        with tempfile.TemporaryDirectory() as counters:
            ending, text = elision.vm_with_statistics(words, options, environment={"ELISION_ACTIVITY": "1", "ELISION_COUNTERS_DIR": counters})
        assert ending.status == 0, ending.stderr
        self.found = json.loads(ending.stdout)
        self.profile = self.found["profile"]
        statistics = json.loads(text)
        process, = statistics["processes"]
        self.totals = statistics["totals"]
        self.counted = process["lock_times"]
        self.exact = self.exact_shares()

    def exact_shares(self):
        """Without the first thread, which looks and is not looked at, always outside of locks."""
        times = dict(self.counted["times_ns"])
        times["outside"] -= self.counted["parallel_ns"]
        whole = sum(times.values())
        return {state: time / whole for state, time in times.items()}

    def share(self, state):
        times = self.profile["times_ns"]
        return times[state] / sum(times.values())

    def holds(self, state):
        interval = self.found["intervals"][state]
        assert interval["confidence"] == CONFIDENCE
        return interval["low"] <= self.exact[state] <= interval["high"]


@pytest.fixture(scope="module")
def runs_of(elision, seeds):
    """All runs of a workload, as many at a time as there are CPUs."""
    known = {}

    def runs(workload):
        if workload not in known:
            with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                known[workload] = list(pool.map(lambda seed: Run(elision, workload, seed), seeds))
        return known[workload]
    return runs


def states_of(runs):
    states = runs[0].exact
    return [state for state in states if sum(run.exact[state] for run in runs) >= LEAST_SHARE * len(runs)]


def expect_coverage(runs, workload):
    """Level and coverage: see above."""
    states = states_of(runs)
    assert len(states) >= 3, states
    rows, failed = [], []
    for state in states:
        held = sum(run.holds(state) for run in runs)
        exact, found = (sum(values) / len(runs) for values in ([run.exact[state] for run in runs], [run.share(state) for run in runs]))
        width = sum(run.found["intervals"][state]["high"] - run.found["intervals"][state]["low"] for run in runs) / len(runs)
        rows.append(f"{workload} {state}: {held} of {len(runs)} hold; exact {exact:.4f}, found {found:.4f}, width {width:.4f}")
        if at_most(held, len(runs), CONFIDENCE) < LEVEL / (len(WORKLOADS) + len(MORE_WORKLOADS)) / len(states):
            failed.append(state)
    print(*rows, sep="\n")
    assert not failed, "\n".join(rows)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_intervals_hold_the_exact_shares(runs_of, workload):
    expect_coverage(runs_of(workload), workload)


@pytest.mark.parametrize("workload", MORE_WORKLOADS)
def test_intervals_hold_in_more_workloads(runs_of, soak, workload):
    if not soak:
        pytest.skip("part of make soak")
    expect_coverage(runs_of(workload), workload)


def test_narrower_intervals_would_fail(runs_of):
    """The intervals are not wider than they must be, and the check notices those that are too narrow."""
    def holds(run):
        interval, share = run.found["intervals"]["outside"], run.share("outside")
        return share - (share - interval["low"]) / 3 <= run.exact["outside"] <= share + (interval["high"] - share) / 3

    runs = runs_of("elided")
    assert at_most(sum(map(holds, runs)), len(runs), CONFIDENCE) < LEVEL


def test_attempts_and_commits_are_those_that_happened(runs_of):
    """The locks of the recorder itself, which begin when its looks are over, are not among them."""
    for run in runs_of("elided"):
        counted = max(run.counted["locks"], key=lambda lock: lock["aborted_ns"])
        found, = (lock for lock in run.profile["locks"] if lock["place"]["address"] == counted["place"]["address"])
        assert found["place"]["name"] == "mutex"
        for count in ("commits", "attempts", "fallbacks", "acquisitions"):
            assert found[count] == counted[count] > 0, count
        # A conflict with the holder's store to the lock word is one on what the section's attempt has read, too.
        aborts, machine = found["aborts"], run.totals["aborts"]
        assert aborts["conflict"] == machine["conflict"] > 0
        assert aborts.get("lock-busy", 0) == machine["explicit"]
        assert sum(aborts.values()) == found["attempts"] - found["commits"]
