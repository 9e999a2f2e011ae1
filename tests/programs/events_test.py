# SPDX-License-Identifier: Apache-2.0
"""perf_event_open in the virtual machine: counts are those of the machine's own statistics, and Debian's perf works."""

import collections
import itertools
import re

import pytest

MACHINES = ("xeon-gold-5520plus", "xeon-e5-2697v4")


@pytest.fixture
def counts(build):
    return build / "guests" / "event_counts"


@pytest.fixture
def samples(build):
    return build / "guests" / "event_samples"


def counted(text, event):
    """What a line of perf stat says."""
    match = re.search(rf"^ *([\d,.]+) +(?:msec +)?{re.escape(event)}(?=\s)", text, re.MULTILINE)
    assert match, f"no {event} in {text}"
    return float(match[1].replace(",", ""))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("mode", [(), ("--fast",)])
def test_counts_are_the_machines(elision, counts, machine, mode):
    ending, totals = elision.totals([counts, "whole"], ["--machine", machine, *mode])
    assert ending.status == 0
    seen = {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", ending.stdout, re.MULTILINE)}
    assert seen["begins"] == totals["begins"] == 570
    assert seen["commits"] == totals["commits"]
    assert seen["aborts"] == sum(totals["aborts"].values())
    # The statistics have what the program does before it opens the events and after it has read them, too.
    assert 0.5 * totals["instructions"] < seen["instructions"] + 100_000 < 2 * totals["instructions"]


def test_same_seed_same_samples(elision, samples):
    first, second = (elision.vm_with_statistics([samples], ["--cpus", "4", "--seed", "3"]) for _ in range(2))
    assert first[0].status == 0
    assert first[1] == second[1]


def test_perf_stat(elision, counts, perf):
    events = ["task-clock", "cycles", "instructions", "tx-start", "tx-commit", "tx-abort"]
    ending = elision.vm([perf, "stat", "-e", ",".join(events), "--", counts, "transactions"])
    assert ending.status == 0
    text = ending.stderr
    assert counted(text, "tx-start") == 500
    assert counted(text, "tx-commit") + counted(text, "tx-abort") == 500
    assert counted(text, "cycles") > counted(text, "instructions") > 50_000
    assert counted(text, "task-clock") > 0
    _, totals = elision.totals([counts, "transactions"])
    assert counted(text, "instructions") == pytest.approx(totals["instructions"], rel=0.02)


def test_perf_record_and_report(elision, samples, perf, tmp_path):
    data = tmp_path / "perf.data"
    ending = elision.vm([perf, "record", "-e", "cycles", "-o", data, "--", samples], ["--cpus", "4"])
    assert ending.status == 0
    assert re.search(r"\(\d{3,} samples\)", ending.stderr)
    report = elision.vm([perf, "report", "--stdio", "--percent-limit", "0", "-i", data])
    shares = collections.Counter()
    for share, symbol in re.findall(r"^ +([\d.]+)% .*\[\.\] (\S+)", report.stdout, re.MULTILINE):
        shares[symbol] += float(share)
    assert shares["loop_begin"] > 5
    assert shares["next_record"] > 5
    assert sum(shares.values()) > 95


def test_perf_shows_why_transactions_abort(elision, samples, perf, tmp_path):
    data = tmp_path / "perf.data"
    record = [perf, "record", "--transaction", "--weight", "-e", "tx-abort:pp", "-c", "1", "-o", data, "--", samples]
    assert elision.vm(record, ["--cpus", "4"]).status == 0
    report = elision.vm([perf, "report", "--stdio", "--sort", "symbol,transaction", "-i", data]).stdout
    assert re.search(r"aborting_instruction|run_abort", report)
    assert re.search(r"TX SYNC +:5a", report)
    assert re.search(r"reading_begin +TX ASYNC RETRY CON", report)
    assert re.search(r"inside_begin +TX ASYNC", report)


def test_perf_shows_the_branches_before_an_abort(elision, build, perf, tmp_path):
    data = tmp_path / "perf.data"
    record = [perf, "record", "-b", "-e", "tx-abort:pp", "-c", "1", "-o", data, "--", build / "guests" / "event_branches"]
    assert elision.vm(record, ["--cpus", "4"]).status == 0
    stacks = elision.vm([perf, "script", "-F", "brstacksym", "-i", data]).stdout.splitlines()
    # From and to, unknown whether predicted, in a transaction, abort; the newest first.
    expected = r"abort\S+/abort\S+/-/X/A/0/? +return\S+/behind_indirect_call\S+/-/X/-/0/? .*direct_call\S+/callee\S+/-/X/-/0/? +main\S+/run_branches\S+/-/-/-/0/? "
    assert sum(bool(re.match(r" *" + expected, stack)) for stack in stacks) >= 30, stacks[:3]
    report = elision.vm([perf, "report", "--stdio", "--sort", "symbol_from,symbol_to,abort,in_tx", "-i", data]).stdout
    assert re.search(r"indirect_call +\[\.\] callee +\. +T", report)


def test_perf_shows_the_addresses_of_stores(elision, build, perf, tmp_path):
    data = tmp_path / "perf.data"
    record = [perf, "record", "-d", "-e", "mem-stores:pp", "-c", "10", "-o", data, "--", build / "guests" / "event_accesses", "accesses"]
    assert elision.vm(record, ["--cpus", "4"]).status == 0
    lines = elision.vm([perf, "script", "-F", "addr,ip,sym", "-i", data]).stdout.splitlines()
    found = {int(line.split()[0], 16) for line in lines if re.search("(store|change)_here", line)}
    assert len(found) >= 100  # addresses
    steps = collections.Counter(later - before for before, later in itertools.pairwise(sorted(found)))
    assert set(steps) <= {8 * step for step in range(1, 20)}, steps


def test_perf_lists_the_events(elision, perf):
    with_rtm = elision.vm([perf, "list", "pmu"], ["--machine", "xeon-e5-2697v4"]).stdout
    for event in ("tx-start", "tx-commit", "tx-abort", "tx-conflict", "tx-capacity"):
        assert re.search(rf"{event} OR cpu/{event}/", with_rtm)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_event_of_the_list_can_be_counted(elision, counts, perf, machine):
    folder = "/sys/bus/event_source/devices/cpu/events"
    names = elision.vm(["ls", folder], ["--machine", machine]).stdout.split()
    assert len(names) >= 13
    events = [f"cpu/{name}/" for name in names]
    ending = elision.vm([perf, "stat", "-e", ",".join(events), "--", counts, "transactions"], ["--machine", machine])
    assert ending.status == 0
    for event in events:
        assert counted(ending.stderr, event) >= 0
