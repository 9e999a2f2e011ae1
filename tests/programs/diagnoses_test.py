# SPDX-License-Identifier: Apache-2.0
"""What elision compare says about programs of which it is known what is in their way (diagnoses.cc): the right lock among four,
the right reason, the right next step; and without that, no such diagnosis. On several machines and seeds.
"""

import json

import pytest
from support import ROOT

BROADWELL, DESKTOP = "xeon-e5-2697v4", "core-i7-4770"
SHARING = "Move shared writes out of the sections"
PADDING = "a cache line each"
OBJECTS = "cache lines of its own"
SPLITTING = "Split the sections"
MOVING = "Move input, output"
TOUCHING = "Touch new memory before the sections"
FEWER = "no more threads than CPUs"
RUNNING = "elision run --lock htm-10 -- "

# kind, machine, threads, what is found, the next step; where it is gone, threads, and the finding that must be gone
DEFECTS = [
    ("hot-lock", BROADWELL, 8, "rare-conflicts", RUNNING, 8),
    ("counter", BROADWELL, 8, "true-sharing", SHARING, 8),
    ("counted-lookup", BROADWELL, 8, "true-sharing", SHARING, 8),
    ("false-sharing", BROADWELL, 8, "false-sharing", PADDING, 8),
    ("too-long", BROADWELL, 8, "too-long", SPLITTING, 8),
    ("system-call", BROADWELL, 8, "system-calls", MOVING, 8),
    ("first-touch", BROADWELL, 8, "first-touch", TOUCHING, 8),
    ("reader-mostly", BROADWELL, 8, "rare-conflicts", RUNNING, 8),
    ("turns", BROADWELL, 8, "contended-line", SHARING, 8),
    ("oversubscribed", DESKTOP, 16, "oversubscribed", FEWER, 4),
]
HEALTHY = ["no-contention", "lock-per-object", "queue"]


@pytest.fixture
def diagnose(elision, place):
    def run(kind, machine, threads, first_seed, *more):
        ending = place.run("compare", "--machine", machine, "--locks", "htm-10", "--runs", "1", "--seed", str(first_seed), "--json", "c.json",
                           "--", elision.test_program("diagnoses"), kind, str(threads), *more)
        assert ending.status == 0
        report = json.loads((place.root / "c.json").read_text())
        return report["blocks"][0]["diagnosis"], report.get("next_steps", [])
    return run


def steps_text(steps):
    return "\n".join(step["sentence"] + " " + step.get("command", "") for step in steps)


@pytest.mark.parametrize("first_seed", [1, 7])
@pytest.mark.parametrize("kind,machine,threads,code,step,fewer", DEFECTS)
def test_defect_is_named_and_goes_away(diagnose, kind, machine, threads, code, step, fewer, first_seed):
    diagnosis, steps = diagnose(kind, machine, threads, first_seed)
    assert diagnosis["locks_matter"], diagnosis
    found = {finding["code"]: finding["lock"] for finding in diagnosis["findings"]}
    assert code in found, diagnosis
    assert found[code] in ("hot_lock", ""), diagnosis
    assert "for hot_lock, one of " in diagnosis["sentence"], diagnosis
    assert step in steps_text(steps), steps
    without, _ = diagnose(kind, machine, fewer, first_seed, "without")
    left = {finding["code"] for finding in without["findings"] if without["locks_matter"]}
    assert code not in left, without


def test_counter_behind_a_small_lock_is_no_part_of_the_lock(diagnose):
    diagnosis, _ = diagnose("beside-lock", BROADWELL, 8, 1)
    found = {finding["code"]: finding["sentence"] for finding in diagnosis["findings"]}
    assert "counted+0x4 (count): a look at the lock beside it against " in found["true-sharing"], diagnosis


@pytest.mark.parametrize("first_seed", [1, 7])
def test_data_of_one_thread_beside_the_lock_end_all_transactions(diagnose, first_seed):
    diagnosis, steps = diagnose("owner-beside-lock", BROADWELL, 8, first_seed)
    found = {finding["code"]: finding["sentence"] for finding in diagnosis["findings"]}
    assert "write counted+0x4 (count), which is in the cache line of the lock" in found["data-at-lock"], diagnosis
    assert "Move counted+0x4 (count) out of the cache line of its lock" in steps_text(steps), steps
    without, _ = diagnose("owner-beside-lock", BROADWELL, 8, first_seed, "without")
    assert "data-at-lock" not in {finding["code"] for finding in without["findings"]}, without


@pytest.mark.parametrize("kind", ["packed-accounts", "packed-own-accounts"])
def test_objects_that_share_cache_lines_are_padded(diagnose, kind):
    diagnosis, steps = diagnose(kind, BROADWELL, 8, 1)
    found = {finding["code"]: finding["lock"] for finding in diagnosis["findings"]}
    assert found.get("false-sharing", "").endswith("locks in accounts"), diagnosis
    assert diagnosis["locks_matter"] == (kind == "packed-accounts"), diagnosis
    assert OBJECTS in steps_text(steps) and "elsewhere" not in steps_text(steps), steps
    without, _ = diagnose(kind, BROADWELL, 8, 1, "without")
    assert "false-sharing" not in {finding["code"] for finding in without["findings"]}, without


@pytest.mark.parametrize("kind", HEALTHY)
def test_program_whose_locks_do_not_matter(diagnose, kind):
    diagnosis, steps = diagnose(kind, BROADWELL, 8, 1)
    assert not diagnosis["locks_matter"], diagnosis
    # A single run of the queue may find another design faster, which then is the next step.
    assert kind == "queue" or "Look for the time elsewhere" in steps_text(steps), steps
    codes = [finding["code"] for finding in diagnosis["findings"]]
    assert ("mostly-blocked" in codes) == (kind == "queue"), diagnosis


def test_lock_without_a_name_is_named_by_the_call_outside_of_wrappers(diagnose):
    source = (ROOT / "tests" / "programs" / "diagnoses.cc").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if text.endswith("// here"))
    diagnosis, _ = diagnose("wrapped", BROADWELL, 8, 1)
    assert f"for the lock taken at diagnoses.cc:{line}, one of " in diagnosis["sentence"], diagnosis
    assert diagnosis["findings"][0]["code"] == "rare-conflicts", diagnosis
