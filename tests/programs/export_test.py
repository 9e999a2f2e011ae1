# SPDX-License-Identifier: Apache-2.0
"""`elision export`: each format is read by a reader that is not ours, and says what the profile says. pprof's files are read by what Debian's
protobuf makes of pprof's own description of the format."""

import collections
import csv
import gzip
import importlib
import io
import json
import pathlib
import re
import sys
import tempfile

import jsonschema
import made_up_profile as made_up
import pytest
from support import ROOT, Terminal, expect_refused, printed

PROTO = pathlib.Path("/usr/share/gocode/src/github.com/google/pprof/proto/profile.proto")
SCHEMA = ROOT / "tests" / "export" / "firefox-58.schema.json"
FORMATS = ["pprof", "firefox", "speedscope", "folded", "json", "csv"]
FILES = {"pprof": "elision.pb.gz", "firefox": "elision-firefox.json"}
# The innermost frame of each state, for tools that have no labels.
FRAMES = {"outside": "", "section": "[holding {}]", "attempt": "[in a transaction of {}]", "aborted": "[in an aborted transaction of {}]",
          "fallback": "[in the fallback of {}]", "waiting": "[waiting for {}]", "speculating": "[speculating at {}]",
          "overhead": "[in the code of {}]", "blocked": "[blocked]"}


def lock_name(path):
    return made_up.LOCK_NAMES[path["lock"]] if "lock" in path else ""


def stack_with_state(path):
    last = FRAMES[path["state"]].format(lock_name(path))
    return [*made_up.functions(path), *([last] if last else [])]


@pytest.fixture
def exported(place):
    """Exports the made-up profile to standard output, and returns the text."""
    made_up.write(place.root / "elision.profile")

    def export(form, *words):
        ending = place.run("export", "--format", form, "-o", "-", *words)
        assert (ending.status, ending.stderr) == (0, "")
        return ending.stdout

    return export


@pytest.fixture(scope="session")
def profile_message():
    """The class of pprof's message Profile."""
    assert PROTO.exists(), "golang-github-google-pprof-dev is missing: make test installs it"
    with tempfile.TemporaryDirectory() as folder:
        printed(["protoc", f"--proto_path={PROTO.parent}", f"--python_out={folder}", PROTO.name])
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("profile_pb2").Profile
        finally:
            sys.path.remove(folder)


class Pprof:
    """A file of pprof, with names in place of numbers."""

    def __init__(self, message, content):
        self.message = message
        self.message.ParseFromString(gzip.decompress(content))
        self.locations = {location.id: location for location in self.message.location}
        self.functions = {function.id: function for function in self.message.function}
        assert len(self.locations) == len(self.message.location) and 0 not in self.locations
        assert len(self.functions) == len(self.message.function) and 0 not in self.functions
        assert self.message.string_table[0] == ""
        assert len(set(self.message.string_table)) == len(self.message.string_table)
        assert {location.mapping_id for location in self.message.location} == {self.message.mapping[0].id}

    def text(self, index):
        return self.message.string_table[index]

    def labels(self, sample):
        return {self.text(label.key): self.text(label.str) for label in sample.label}

    def lines(self, sample):
        """(function, file, line) of each frame, the innermost first."""
        found = []
        for number in sample.location_id:
            for line in self.locations[number].line:
                function = self.functions[line.function_id]
                found.append((self.text(function.name), self.text(function.filename), line.line))
        return found

    def stack(self, sample):
        """The outermost function first."""
        return [name for name, _, _ in reversed(self.lines(sample))]


@pytest.fixture
def pprof(place, profile_message):
    made_up.write(place.root / "elision.profile")
    assert place.run("export", "--format", "pprof").status == 0
    return Pprof(profile_message(), (place.root / "elision.pb.gz").read_bytes())


def test_pprof_has_each_path_with_its_labels(pprof):
    found = [(pprof.labels(sample), pprof.stack(sample), list(sample.value)) for sample in pprof.message.sample]
    expected = []
    for path in made_up.PATHS:
        labels = {"state": path["state"], "thread": made_up.thread_label(path["thread"])}
        labels |= {"lock": lock_name(path)} if "lock" in path else {}
        expected.append((labels, made_up.functions(path), [path["samples"], round(path["ns"])]))
    assert found == expected


def test_pprof_has_files_and_lines(pprof):
    lines = pprof.lines(pprof.message.sample[3])
    assert lines == [(frame["name"], frame["file"], frame["line"]) for frame in (made_up.FRAMES[index] for index in (3, 2, 1))]


def test_pprof_has_inlined_functions_at_one_location_and_recursion_at_several(pprof):
    inlined, recursive = pprof.message.sample[3], pprof.message.sample[12]
    assert [len(pprof.locations[number].line) for number in inlined.location_id] == [2, 1]
    assert [pprof.locations[number].address for number in inlined.location_id] == [0x401200, 0x401100]
    assert [len(pprof.locations[number].line) for number in recursive.location_id] == [1, 1, 1, 1]
    assert len(set(recursive.location_id)) == 2


def test_pprof_says_what_its_numbers_mean(pprof):
    message = pprof.message
    types = [(pprof.text(kind.type), pprof.text(kind.unit)) for kind in message.sample_type]
    assert types == [("samples", "count"), ("time", "nanoseconds")]
    assert pprof.text(message.default_sample_type) == "time"
    assert message.duration_nanos == 20_000_000
    assert (pprof.text(message.period_type.type), pprof.text(message.period_type.unit), message.period) == ("time", "nanoseconds", 500_004)
    assert pprof.text(message.mapping[0].filename) == "/bin/ba nk"
    assert message.mapping[0].has_functions and message.mapping[0].has_line_numbers, "pprof would look for symbols"
    comments = [pprof.text(index) for index in message.comment]
    assert comments == ["'/bin/ba nk' --threads 4", "on a real CPU under htm-10", "elision 0.1.0", "5 samples were lost"]


def test_pprof_is_the_same_every_time(place):
    made_up.write(place.root / "elision.profile")
    contents = []
    for name in ("first", "second"):
        assert place.run("export", "--format", "pprof", "-o", name).status == 0
        contents.append((place.root / name).read_bytes())
    assert contents[0] == contents[1] and contents[0][4:8] == bytes(4), "a time in the header"


class Firefox:
    """A thread of a Firefox profile, with names in place of indices."""

    def __init__(self, profile, thread):
        self.profile, self.thread = profile, thread
        tables = [thread, *(thread[name] for name in ("samples", "stackTable", "frameTable", "funcTable"))]
        for table in [*tables[1:], profile["shared"]["sources"]]:
            assert {len(column) for column in table.values() if isinstance(column, list)} == {table["length"]}

    def frames(self, stack):
        """Indices, the outermost first."""
        table, found = self.thread["stackTable"], []
        while stack is not None:
            prefix = table["prefix"][stack]
            assert prefix is None or prefix < stack, "a stack stands behind its prefix"
            found.insert(0, table["frame"][stack])
            stack = prefix
        return found

    def function(self, frame):
        name = self.thread["funcTable"]["name"][self.thread["frameTable"]["func"][frame]]
        return self.profile["shared"]["stringArray"][name]

    def place(self, frame):
        source = self.thread["funcTable"]["source"][self.thread["frameTable"]["func"][frame]]
        shared = self.profile["shared"]
        file = None if source is None else shared["stringArray"][shared["sources"]["filename"][source]]
        return file, self.thread["frameTable"]["line"][frame]

    def category(self, frame):
        return self.profile["meta"]["categories"][self.thread["frameTable"]["category"][frame]]

    def rows(self):
        """(begin, weight, category's name, functions) of samples with weight, times in nanoseconds."""
        samples, found = self.thread["samples"], []
        for stack, time, weight in zip(samples["stack"], samples["time"], samples["weight"]):
            if weight:
                frames = self.frames(stack)
                categories = {self.category(frame)["name"] for frame in frames}
                assert len(categories) == 1
                found.append((round(1e6 * time), round(1e6 * weight), *categories, [self.function(frame) for frame in frames]))
        return found


@pytest.fixture
def firefox(exported):
    profile = json.loads(exported("firefox"))
    return [Firefox(profile, thread) for thread in profile["threads"]]


CATEGORIES = dict(zip(made_up.STATES, ["outside of locks", "holding a lock", "in transactions that committed", "in transactions that aborted",
                                       "in fallback", "waiting for locks", "speculating", "in the locks' code", "blocked"]))


def test_firefox_profile_is_as_documented(exported):
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(exported("firefox")))


def test_firefox_has_each_path_in_the_track_of_its_thread(firefox):
    assert [track.thread["name"] for track in firefox] == [made_up.thread_label(index) for index in range(len(made_up.THREADS))]
    assert [track.thread["tid"] for track in firefox] == [thread["id"] for thread in made_up.THREADS]
    assert [track.thread["isMainThread"] for track in firefox] == [True, False, False, False]
    for index, track in enumerate(firefox):
        paths = [path for path in made_up.PATHS if path["thread"] == index]
        paths.sort(key=lambda path: (made_up.STATES.index(path["state"]), -path["ns"]))
        expected, now = [], 0.0
        for path in paths:
            expected.append((round(now), round(path["ns"]), CATEGORIES[path["state"]], stack_with_state(path)))
            now += path["ns"]
        assert track.rows() == expected


def test_firefox_draws_each_path_to_its_end(firefox):
    """A sample without weight stands where the path ends: there the next one begins."""
    for track in firefox:
        samples = track.thread["samples"]
        times, weights, stacks = samples["time"], samples["weight"], samples["stack"]
        assert samples["weightType"] == "tracing-ms" and len(times) % 2 == 0
        for begin in range(0, len(times), 2):
            assert stacks[begin] == stacks[begin + 1] and weights[begin + 1] == 0
            assert times[begin + 1] == pytest.approx(times[begin] + weights[begin])
            assert begin + 2 == len(times) or times[begin + 1] == times[begin + 2]


def test_firefox_has_files_and_lines(firefox):
    track = firefox[1]
    places = {(track.function(frame), *track.place(frame)) for frame in range(track.thread["frameTable"]["length"])}
    known = {(made_up.function(index), made_up.FRAMES[index]["file"], made_up.FRAMES[index]["line"]) for index in (1, 2, 3, 4)}
    assert known == {found for found in places if not found[0].startswith("[")}


def test_firefox_has_a_colour_for_each_state(firefox):
    categories = firefox[0].profile["meta"]["categories"]
    assert [category["name"] for category in categories] == ["Other", *CATEGORIES.values()]
    assert len({category["color"] for category in categories}) == len(categories)


def speedscope_rows(file, profile):
    return [([file["shared"]["frames"][frame]["name"] for frame in sample], weight) for sample, weight in zip(profile["samples"], profile["weights"])]


def test_speedscope_has_all_states_and_each(exported):
    file = json.loads(exported("speedscope"))
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert [profile["name"] for profile in file["profiles"]] == ["all states", *made_up.STATES]
    for profile in file["profiles"]:
        paths = [path for path in made_up.PATHS if profile["name"] in ("all states", path["state"])]
        assert speedscope_rows(file, profile) == [(stack_with_state(path), round(path["ns"])) for path in paths]
        assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "nanoseconds", 0)
        assert profile["endValue"] == sum(profile["weights"])


def test_speedscope_has_each_function_once_and_only_states_that_occur(place):
    made_up.write(place.root / "p", [path for path in made_up.PATHS if path["state"] in ("section", "waiting")])
    file = json.loads(place.run("export", "--format", "speedscope", "p").stdout)
    assert [profile["name"] for profile in file["profiles"]] == ["all states", "section", "waiting"]
    names = [(frame["name"], frame.get("file")) for frame in file["shared"]["frames"]]
    assert len(names) == len(set(names)) and ("transfer(int, int)", "/src/bank.cc") in names


def folded_name(name):
    return re.sub(r"[\n\t]", lambda found: repr(found.group())[1:-1], name).replace(";", ":")


def test_folded_lines_are_stacks_with_microseconds(exported):
    lines = exported("folded").splitlines()
    expected = collections.Counter()
    for path in made_up.PATHS:
        frames = [made_up.thread_label(path["thread"]), *stack_with_state(path)]
        expected[";".join(map(folded_name, frames))] += path["ns"]
    found = [re.fullmatch(r"(.+) (\d+)", line).groups() for line in lines]
    assert dict(found) == {stack: str(round(ns / 1000)) for stack, ns in expected.items() if ns >= 500}
    assert [stack for stack, _ in found] == sorted((stack for stack, _ in found), key=str.encode)


def test_folded_stacks_that_read_alike_are_one(place):
    paths = [made_up.path("outside", 1, [1, frame], 300, 1) for frame in (2, 4)]
    made_up.write(place.root / "p", paths)
    assert place.run("export", "--format", "folded", "p").stdout == "wor:ker 7 (4712);worker(void*);transfer(int, int) 1\n"


def test_json_has_a_row_for_each_path(exported):
    file = json.loads(exported("json"))
    assert {name: value for name, value in file.items() if name != "paths"} == {
        "version": 1, "program": ["/bin/ba nk", "--threads", "4"], "where": "native", "design": "htm-10", "seconds": 0.02, "samples_lost": 5}
    for row, path in zip(file["paths"], made_up.PATHS, strict=True):
        thread = made_up.THREADS[path["thread"]]
        stack = [{"function": frame.get("name"), "file": frame.get("file"), "line": frame.get("line"), "address": frame["address"]}
                 for frame in (made_up.FRAMES[index] for index in path["frames"])]
        assert row == {"state": path["state"], "lock": lock_name(path) or None, "thread": {"id": thread["id"], "name": thread["name"] or None},
                       "ns": round(path["ns"]), "samples": path["samples"], "stack": stack}


def test_csv_has_a_row_for_each_path(exported):
    rows = list(csv.DictReader(io.StringIO(exported("csv"), newline="")))
    for row, path in zip(rows, made_up.PATHS, strict=True):
        thread = made_up.THREADS[path["thread"]]
        stack = [folded_name(made_up.function(index)) for index in path["frames"]]
        assert row == {"state": path["state"], "lock": lock_name(path), "thread": str(thread["id"]), "thread name": thread["name"],
                       "ns": str(round(path["ns"])), "samples": str(path["samples"]), "stack": ";".join(stack)}


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_has_its_own_output(place, form):
    made_up.write(place.root / "elision.profile")
    ending = place.run("export", "--format", form)
    assert ending.status == 0
    made = {file.name for file in place.root.iterdir()} - {"elision.profile"}
    if form in FILES:
        assert (made, ending.stdout) == ({FILES[form]}, "")
        assert ending.stderr.startswith(f"elision export: wrote {FILES[form]}; ") and len(ending.stderr.splitlines()) == 1
    else:
        assert (made, ending.stderr) == (set(), "") and ending.stdout


@pytest.mark.parametrize("form", FORMATS)
def test_profile_without_paths_is_refused_and_an_old_output_is_gone(place, form):
    made_up.write(place.root / "p", [])
    (place.root / "old").write_text("old")
    expect_refused(place.run("export", "--format", form, "-o", "old", "p"), "'p'", "no call paths")
    assert {file.name for file in place.root.iterdir()} == {"p"}


@pytest.fixture
def of_aborts(place):
    """Exports a profile with samples of aborts, and returns the output."""
    made_up.write(place.root / "p", [], abort_events=made_up.ABORT_EVENTS)

    def export(form):
        ending = place.run("export", "--of", "aborts", "--format", form, "-o", "-", "p")
        assert (ending.status, ending.stderr) == (0, "")
        return ending.stdout

    return export


def test_aborts_are_exported_with_the_calls_in_their_transactions(of_aborts, place, profile_message):
    stacks = {row["cause"]: made_up.abort_stack(row) for row in made_up.ABORT_ROWS}
    cycles = {row["cause"]: row["cycles"] for row in made_up.ABORT_ROWS}
    assert stacks["conflict"] == ["worker(void*)", "transfer(int, int)", "[in a transaction]", "transfer(int, int)", made_up.SPECIAL]

    folded = {";".join(map(folded_name, ["all threads", *stack, f"[{cause}]"])): cycles[cause] for cause, stack in stacks.items()}
    assert {stack: int(number) for stack, number in (line.rsplit(" ", 1) for line in of_aborts("folded").splitlines())} == folded

    rows = json.loads(of_aborts("json"))
    assert rows["samples_lost"] == 2
    assert [(row["cause"], row["cycles"], row["samples"], [frame["function"] for frame in row["stack"]]) for row in rows["paths"]] == [
        (row["cause"], row["cycles"], row["samples"], made_up.abort_stack(row)) for row in made_up.ABORT_ROWS]
    assert [(row["cause"], int(row["cycles"])) for row in csv.DictReader(io.StringIO(of_aborts("csv"), newline=""))] == list(cycles.items())

    speedscope = json.loads(of_aborts("speedscope"))
    assert [profile["name"] for profile in speedscope["profiles"]] == ["all causes", *stacks]
    assert speedscope_rows(speedscope, speedscope["profiles"][0]) == [([*stack, f"[{cause}]"], cycles[cause]) for cause, stack in stacks.items()]

    firefox = json.loads(of_aborts("firefox"))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(firefox)
    assert [category["name"] for category in firefox["meta"]["categories"]] == ["Other", *stacks]
    assert firefox["threads"][0]["samples"]["weight"][::2] == list(cycles.values())

    assert place.run("export", "--of", "aborts", "--format", "pprof", "p").status == 0
    pprof = Pprof(profile_message(), (place.root / "elision.pb.gz").read_bytes())
    assert [(pprof.text(kind.type), pprof.text(kind.unit)) for kind in pprof.message.sample_type] == [("samples", "count"), ("aborted_cycles", "count")]
    assert [(pprof.labels(sample), pprof.stack(sample), list(sample.value)) for sample in pprof.message.sample] == [
        ({"cause": row["cause"]}, made_up.abort_stack(row), [row["samples"], row["cycles"]]) for row in made_up.ABORT_ROWS]


def test_aborts_without_cycles_are_exported_by_their_number(place):
    rows = [{**row, "cycles": 0} for row in made_up.ABORT_ROWS]
    made_up.write(place.root / "p", [], abort_events={**made_up.ABORT_EVENTS, "cycles": 0, "rows": rows})
    file = json.loads(place.run("export", "--of", "aborts", "--format", "json", "p").stdout)
    assert [row["aborts"] for row in file["paths"]] == [70, 30] and "cycles" not in file["paths"][0]
    ending = place.run("export", "--of", "aborts", "--format", "folded", "-o", "f", "p")
    assert "--countname=aborts f" in ending.stderr


@pytest.mark.parametrize("events, why", [
    (None, "an earlier version"), ({**made_up.ABORT_EVENTS, "missing": "this CPU has no such event"}, "this CPU has no such event"),
    ({**made_up.ABORT_EVENTS, "rows": []}, "none was sampled")], ids=["old", "missing", "none"])
def test_profile_without_aborts_is_refused(place, events, why):
    made_up.write(place.root / "p", **({"abort_events": events} if events else {}))
    expect_refused(place.run("export", "--of", "aborts", "--format", "json", "p"), "'p' has no aborts", why)


@pytest.mark.parametrize("words, named", [
    ([], ["no format", "pprof|firefox|speedscope|folded|json|csv"]), (["--format", "prof"], ["'prof'", "'pprof'"]), (["--format", ""], ["--format"]),
    (["--format", "json", "--of", "abort"], ["'abort'", "'aborts'"]),
    (["--format", "json", "missing"], ["'missing'", "No such file"]), (["--format", "json", "-o", "no/such"], ["no/such"]),
    (["--format", "json", "-o", "elision.profile"], ["'elision.profile'", "the profile itself"]),
    (["--format", "json", "-o", "./elision.profile", "elision.profile"], ["the profile itself"]),
    (["--format", "json", "one", "two"], ["'two'"])], ids=lambda part: " ".join(part))
def test_bad_input_is_one_line_and_changes_nothing(place, words, named):
    before = made_up.write(place.root / "elision.profile").read_bytes()
    expect_refused(place.run("export", *words), *named)
    assert {file.name: file.read_bytes() for file in place.root.iterdir()} == {"elision.profile": before}


@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/tty"])
def test_binary_file_is_not_written_onto_a_terminal(elision, folder, output):
    """A pseudo-terminal is no process's controlling one here, so /dev/tty cannot be written at all."""
    profile = made_up.write(folder / "p")
    shown = Terminal(100).run([elision.binary, "export", "--format", "pprof", "-o", output, profile], status=2)
    assert re.fullmatch(r"elision export: .*(terminal|/dev/tty).*\n", shown)
    text = Terminal(100).run([elision.binary, "export", "--format", "folded", profile])
    assert text.startswith("bank (4711);main 6000\n")

