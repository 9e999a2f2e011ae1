# SPDX-License-Identifier: Apache-2.0
"""`elision import`: files that Debian's perf records in the virtual machine become profiles, and damaged ones are refused or read as far as they go."""

import json

import pytest
from support import expect_refused, run

ABORTS = ("aborts", "--threads", "4", "--sections", "4000", "--every", "2")


@pytest.fixture
def record(elision, perf, folder):
    """perf record in the virtual machine: the file."""

    def start(*words, lock="htm-5"):
        file = folder / "perf.data"
        program = [elision.workload(ABORTS[0]), *ABORTS[1:]]
        ending = elision.vm([perf, "record", "-o", file, *words, "--", *program], ["--machine", "xeon-e5-2697v4", "--lock", lock])
        assert ending.status == 0, ending.stderr
        return file
    return start


@pytest.fixture
def imported(elision, folder):
    def start(file, said=""):
        profile = folder / "profile"
        ending = run([elision.binary, "import", "-o", profile, file])
        assert ending.status == 0, ending.stderr
        assert said in ending.stderr
        assert len(ending.stderr.splitlines()) == (2 if said else 1)
        return json.loads(profile.read_text())
    return start


def test_aborts_and_call_paths(elision, record, imported, folder):
    file = imported(record("--call-graph", "fp", "--weight", "--transaction", "-e", "cycles/period=20011/u,cpu/tx-abort,period=101/upp"))
    profile = file["profile"]
    assert (file["where"], file["design"]) == ("perf", "unknown")
    assert file["program"][0].endswith("/workloads/aborts")
    events = profile["abort_events"]
    assert events["samples"] >= 5 and events["cycles"] > 0
    assert "conflict" in events["by_cause"]
    assert any(row["place"]["name"] == "share()" for row in events["rows"])
    # A sample aborts the transaction that it interrupts, and shows its fallback, which the loop of sections has called.
    assert "workloads::TimedSections::run<...>::operator()()" in {frame.get("name") for frame in profile["frames"]}
    assert sum(path["samples"] for path in profile["paths"]) > 100
    assert "aborts" in {thread["name"] for thread in profile["threads"]}
    text = run([elision.binary, "report", folder / "profile"]).stdout
    assert "perf does not record what threads do at locks" in text and "conflict at share()" in text
    assert "on the CPU where perf recorded it," in text.splitlines()[0] and " under " not in text.splitlines()[0]
    for words in (["export", "--format", "folded"], ["annotate"], ["report", "--format", "json"]):
        ending = run([elision.binary, *words, folder / "profile"])
        assert ending.status == 0 and ending.stdout, words


def test_samples_in_sections_under_locks_name_their_functions(record, imported):
    profile = imported(record("-e", "cycles/period=20011/u", lock="tatas"))["profile"]
    assert {"work_alone()", "share()"} <= {frame.get("name") for frame in profile["frames"]}


def test_calls_are_followed_by_copies_of_the_stack(record, imported):
    profile = imported(record("--call-graph", "dwarf,4096", "-e", "cycles:u", "-c", "100003"))["profile"]
    longest = max(len(path["frames"]) for path in profile["paths"])
    assert longest >= 4
    assert profile["abort_events"]["missing"] == "the file has no event of aborts"


def test_cycles_at_a_frequency(record, imported):
    profile = imported(record("-e", "cycles:u"))["profile"]
    assert profile["paths"] and profile["threads"]


def test_a_file_without_samples_is_refused(elision, record, folder):
    file = record("-e", "cpu/tx-capacity/u", "-c", "1000000")
    expect_refused(run([elision.binary, "import", "-o", folder / "profile", file]), str(file), "no samples of time or aborts")
    assert not (folder / "profile").exists()


def test_every_cut_is_refused_or_read_as_far_as_it_goes(elision, record, folder):
    file = record("--weight", "--transaction", "-e", "cpu/tx-abort/upp", "-c", "101")
    whole, profile = file.read_bytes(), folder / "profile"
    read = 0
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:length])
        ending = run([elision.binary, "import", "-o", profile, file])
        if ending.status == 0:
            read += 1
            json.loads(profile.read_text())
            profile.unlink()
        else:
            expect_refused(ending, str(file))
            assert not profile.exists()
    assert 10 < read < 40


@pytest.mark.parametrize("content, named", [
    (b"", "is no file of perf record"), (b"PERFILE2", "cut short"), (b"2ELIFREP" + b"\0" * 200, "byte order"), (b"PERFFILE" + b"\0" * 200, "before Linux 3.9"),
    (b"PERFILE2" + (16).to_bytes(8, "little"), "to a pipe"), (b"PERFILE2" + (104).to_bytes(8, "little") + b"\xff" * 88, "damaged"),
    (b"PERFILE2" + (108).to_bytes(8, "little") + b"\0" * 100, "another version"), (b"\x7fELF" + b"\0" * 200, "is no file of perf record")])
def test_what_is_no_file_of_perf_is_refused(elision, folder, content, named):
    file = folder / "file"
    file.write_bytes(content)
    expect_refused(run([elision.binary, "import", "-o", folder / "profile", file]), str(file), named)
    assert not (folder / "profile").exists()


def test_words_that_are_wrong(elision, folder):
    expect_refused(run([elision.binary, "import", folder / "missing"]), "missing", "No such file")
    expect_refused(run([elision.binary, "import", folder]), str(folder))
    file = folder / "file"
    file.write_bytes(b"x")
    expect_refused(run([elision.binary, "import", "-o", file, file]), "both the file and the profile")
    assert file.read_bytes() == b"x"
