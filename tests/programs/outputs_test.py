# SPDX-License-Identifier: Apache-2.0
"""What the commands write reaches its place, or is an error: devices, links, FIFOs, descriptors, closed and full outputs.

No device is named but through a link: a command that replaces what it should write to replaces the link.
"""

import json
import os
import shutil
import stat
import threading

import pytest
from support import run

XEON = ["--machine", "xeon-e5-2697v4"]
# Every option that names an output, with a command that ends at once.
each_writer = pytest.mark.parametrize("writer", [
    "vm --stats {} -- true", "vm --vary 1 --stats {} -- true", f"compare {' '.join(XEON)} --locks tatas --runs 1 --json {{}} -- true"])


@pytest.fixture
def write_to(place, writer):
    def run_writer(output, program=None, **how):
        words = [word.format(output) for word in writer.split()]
        return place.run(*(words if program is None else [*words[:-1], *program]), **how)
    return run_writer


@pytest.fixture
def shell(place):
    def run_line(line):
        """`line` in a shell where "elision" is the command."""
        script = f'elision() {{ {place.elision.binary} "$@"; }}; {line}'
        return run(["bash", "-c", script], cwd=place.root, environment=place.environment)
    return run_line


def expect_refused(ending, *named):
    assert ending.status > 0  # not by a signal
    lines = [line for line in ending.stderr.splitlines() if "cannot write" in line]
    assert len(lines) == 1
    for name in named:
        assert name in lines[0]


def expect_json(text):
    assert "version" in json.loads(text)


@each_writer
def test_device_is_written_and_stays(place, write_to):
    link = place.root / "device"
    link.symlink_to("/dev/null")
    assert write_to(link).status in (0, 1)
    assert link.is_symlink(), "the link was replaced"
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@each_writer
def test_full_device_is_an_error(place, write_to):
    link = place.root / "full"
    link.symlink_to("/dev/full")
    expect_refused(write_to(link), "full'", "No space left")
    assert link.is_symlink(), "the link was replaced"


@each_writer
def test_link_is_followed_also_where_its_target_is_missing(place, write_to):
    (place.root / "links").mkdir()
    link, target = place.root / "links" / "link", place.root / "target"
    link.symlink_to("../target")
    write_to(link)
    assert link.is_symlink(), "the link was replaced"
    expect_json(target.read_text())


@each_writer
def test_file_keeps_its_mode(place, write_to):
    file = place.root / "file"
    file.write_text("old")
    file.chmod(0o604)
    write_to(file)
    expect_json(file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o604


@each_writer
def test_other_names_of_a_file_show_it_too(place, write_to):
    file, other = place.root / "file", place.root / "other"
    file.write_text("old")
    other.hardlink_to(file)
    write_to(file)
    expect_json(other.read_text())


@each_writer
def test_fifo_hands_everything_to_its_reader(place, write_to):
    fifo = place.root / "fifo"
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()), daemon=True)
    reader.start()
    write_to(fifo)
    assert stat.S_ISFIFO(fifo.stat().st_mode), "the FIFO was replaced"
    reader.join(60)
    assert not reader.is_alive()
    expect_json(got[0])


@each_writer
@pytest.mark.parametrize("folder_of_descriptors", ["/dev/fd", "/proc/self/fd"])
def test_descriptor_is_written_where_it_stands(place, write_to, folder_of_descriptors):
    file = place.root / "file"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(descriptor, b"before\n")
    write_to(f"{folder_of_descriptors}/{descriptor}", pass_fds=[descriptor])
    os.write(descriptor, b"after")
    os.close(descriptor)
    lines = file.read_text()
    assert lines.startswith("before\n") and lines.endswith("after")
    expect_json(lines[len("before\n"):-len("after")])


@each_writer
def test_descriptor_that_is_not_open_is_refused_before_the_program_runs(place, write_to):
    expect_refused(write_to("/dev/fd/99", ["touch", "ran"]), "/dev/fd/99")
    assert not (place.root / "ran").exists()


@each_writer
def test_dash_is_standard_output(place, write_to):
    expect_json(write_to("-").stdout)
    assert not (place.root / "-").exists(), "a file named '-'"


each_run = pytest.mark.parametrize("vary", [[], ["--vary", "2"]], ids=["once", "vary"])


def statistics_left(place, vary, words, file):
    """Whether the statistics of an earlier run lie in `file` after the refused words."""
    file.write_text("old")
    assert place.run("vm", *vary, "--stats", file, *words).status == 2
    return file.exists() and file.read_text() == "old"


@each_run
def test_old_statistics_go_if_the_run_does_not_start(place, vary):
    file = place.root / "file"
    for words in (["--", place.loaderless()], ["--", place.root / "missing"], ["--machine", "core-i7-4770", "--cpus", "9", "--", "true"]):
        assert not statistics_left(place, vary, words, file)
        assert not file.exists()


def test_old_statistics_go_if_the_metric_is_no_expression(place):
    file = place.root / "file"
    assert not statistics_left(place, ["--vary", "2"], ["--metric", "(", "--", "true"], file)
    assert not file.exists()


def test_statistics_of_a_program_whose_name_is_no_text(place):
    program = os.fsdecode(os.fsencode(place.root) + b"/x\xff")
    shutil.copy("/bin/true", program)
    assert place.run("vm", "--stats", "file", "--", program).status == 0
    expect_json((place.root / "file").read_text())


@each_run
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_old_statistics_go_by_all_names_of_the_file(place, vary, link):
    file, other = place.root / "file", place.root / "other"
    file.write_text("old")
    link(file, other)
    assert not statistics_left(place, vary, ["--", place.loaderless()], other)
    assert not (file.exists() and file.read_text() == "old")


@each_run
@pytest.mark.parametrize("words", [["--sede", "1", "--", "true"], ["--seed", "x", "--", "true"]], ids=" ".join)
def test_old_statistics_stay_if_the_words_are_not_understood(place, vary, words):
    assert statistics_left(place, vary, words, place.root / "file")


@each_writer
def test_directory_is_refused(write_to):
    expect_refused(write_to("."), "'.'", "directory")


def test_missing_statistics_directory_is_refused(place):
    expect_refused(place.run("vm", "--stats-directory", "missing", "--", "true"), "'missing'", "No such file")


def test_statistics_directory_holds_when_the_program_goes_elsewhere(place):
    here = place.root / "here"
    here.mkdir()
    (here / "not-started").write_text("an earlier run")
    assert place.run("vm", "--stats-directory", "here", "--", "bash", "-c", "cd /; (true); true").status == 0
    assert len(list(here.glob("*.json"))) == 2
    assert len(list(here.iterdir())) == 2


each_printer = pytest.mark.parametrize("words", [
    "machines", "machines xeon-e5-2697v4", "help", "--version", "vm --help", "doctor", "doctor --json",
    "compare --machine xeon-e5-2697v4 --locks tatas -- true", "vm --vary 1 -- echo x", "vm --stats - -- true"])


@each_printer
def test_full_standard_output_is_an_error(shell, words):
    expect_refused(shell(f"elision {words} > /dev/full"), "No space left")


@each_printer
def test_closed_standard_output_is_an_error(shell, words):
    expect_refused(shell(f"elision {words} >&-"), "Bad file descriptor")


@pytest.mark.parametrize("words, status", [
    ("machines", 0), ("vm --vary 1 -- echo x", 0), ("run --lock htm-1 -- echo x", 0),
    ("compare --machine xeon-e5-2697v4 --locks tatas -- true", 0), ("machines nowhere", 2), ("vm --seed x -- true", 2), ("nothing", 2)])
def test_closed_standard_error_changes_nothing(shell, words, status):
    assert shell(f"elision {words} 2>&-").status == status


@pytest.mark.parametrize("signal_of_pipe", ["", "trap '' PIPE;"])
def test_reader_that_leaves_ends_it_quietly(place, shell, signal_of_pipe):
    ending = shell(f"{signal_of_pipe} (elision machines xeon-e5-2697v4; echo $? >status) | true")
    assert ending.stderr == ""
    assert (place.root / "status").read_text() in ("141\n", "0\n")  # 0: written before the reader left


@pytest.mark.parametrize("verb", ["", "elision vm --", "elision run --lock tatas --", "elision vm --stats s.json --"])
def test_program_finds_closed_what_is_closed(shell, verb):
    """The first file that it opens gets number 0, as natively."""
    program = "bash -c 'exec bash -c \"exec 9>&1; readlink /proc/self/fd/0 >&9\"'"
    assert shell(f"{verb} {program} <&-").stdout == ""


def test_statistics_do_not_land_on_closed_descriptors(place, shell):
    shell("elision vm --stats s.json -- bash -c 'echo a; echo b >&2' <&- >&- 2>&-")
    expect_json((place.root / "s.json").read_text())


@pytest.mark.parametrize("words", [
    ["vm", "--machine", "a\nb", "--", "true"], ["a\nb"], ["vm", "--stats", "a\nb/c", "--", "true"],
    ["run", "--lock", "x\ny", "--", "true"], ["vm", "--", "a\nb"], ["machines", "a\nb"], ["vm", "--a\nb"],
    ["vm", "--seed", "1\n2", "--", "true"], ["vm", "a\nb"], ["compare", "--metric", "(\n", "--", "true"],
    ["compare", "--threads", "1\n", "--", "x{threads}"], ["machines", "./a\x1b[2J"]])
def test_names_do_not_break_the_line_of_an_error(place, words):
    ending = place.run(*words)
    assert ending.status == 2
    assert ending.stderr.count("\n") == 1
    assert "\x1b" not in ending.stderr
