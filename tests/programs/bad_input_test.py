# SPDX-License-Identifier: Apache-2.0
"""Bad input gets one line that names it, exit code 2, and leaves nothing behind."""

import os
import pathlib
import struct

import pytest
from support import ROOT, expect_refused

XEON = ["--machine", "xeon-e5-2697v4"]
LS = pathlib.Path("/bin/ls")
# The ways to start a program.
STARTERS = [["vm", "--stats", "s.json"], ["vm"], ["run", "--lock", "tatas"], ["vm", "--vary", "2", "--stats", "s.json"],
            ["compare", "--json", "c.json"], ["compare", *XEON]]
each_starter = pytest.mark.parametrize("starter", STARTERS, ids=" ".join)


def elf(machine=62, elf_class=2, kind=3):
    """An ELF program's first bytes: an x86-64 one that says it has a segment where the file has none."""
    header = b"\x7fELF" + bytes([elf_class, 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 120, 120, 4096)
    return header + segment


class Refusal:
    """Runs words that must be refused."""

    def __init__(self, place, folder):
        self.place, self.folder = place, folder

    def file(self, name, content, mode=0o755):
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def __call__(self, words, *named):
        """One line, with everything in `named`; nothing is left in the working directory."""
        ending = self.place.run(*words)
        expect_refused(ending, *named)
        assert list(self.place.root.iterdir()) == []


@pytest.fixture
def refuse(place, folder):
    return Refusal(place, folder)


def cases(*rows):
    return pytest.mark.parametrize("words, named", [(words, named) for words, *named in rows], ids=lambda part: " ".join(part))


@cases(
    (["vmm"], "'vmm'", "'vm'"),
    (["vm", "--machin", "x", "--", "true"], "--machin", "--machine"),
    (["vm", "--machine", "xeon-e5-2697v5", "--", "true"], "xeon-e5-2697v5", "xeon-e5-2697v4"),
    (["doctr"], "'doctr'", "'doctor'"),
    (["doctor", "--jso"], "--jso", "--json"),
    (["doctor", "true"], "'true'"),
    (["machines", "core-i7-5960"], "core-i7-5960", "core-i7-5960x"),
    (["machines", "nope"], "nope", "'elision machines'"),
    (["compare", "--machine", "nativ", "--", "true"], "nativ"),
    (["vm", "--lock", "tatass", "--", "true"], "'tatass'", "'tatas'"),
    (["run", "--lock", "htm-0", "--", "true"], "'htm-0'", "'htm-1"),
    (["compare", "--locks", "pthread,tickets", "--", "true"], "'tickets'", "'ticket'"),
    (["run", "--lock", "tatas", "--wait", "spim", "--", "true"], "'spim'", "'spin'"),
    (["run", "--lock", "tatas", "--speculation", "runon", "--", "true"], "'runon'", "'run-on'"),
    (["run", "--lock", "tatas", "--busy", "insid", "--", "true"], "'insid'", "'inside'"),
    (["compare", "--format", "xml", "--", "true"], "format 'xml'"),
    (["compare", "--plot", "picture.png", "--", "true"], "SVG", "'picture.png'"),
    (["compare", "--format", "jsn", "--", "true"], "'jsn'", "'json'"))
def test_names_that_do_not_exist(refuse, words, named):
    refuse(words, *named)


@cases(
    (["vm", "--lock-times", "--", "true"], "--lock-times has no effect without --stats"),
    (["vm", "--vary", "2", "--instruction-forms", "--", "true"], "--instruction-forms has no effect without --stats"),
    (["run", "--lock", "htm-10", "--busy-counts", "--", "true"], "--busy-counts has no effect without --busy inside"),
    (["compare", "--", "nosuchprogram", "{thread}"], "no program 'nosuchprogram'"),
    (["compare", "--min-dist", "5", "--", "true"], "--min-dist 5 is not below --max-dist 4"))
def test_options_without_effect(refuse, words, named):
    refuse(words, *named)


@cases(
    (["vm", "--cpus", "0", "--", "true"], "--cpus"),
    (["vm", "--cpus", "57", "--", "true"], "--cpus 57"),
    (["vm", "--seed", "x", "--", "true"], "--seed"),
    (["vm", "--seed", "-5", "--", "true"], "--seed", "'-5'"),
    (["vm", "--seed", "0x10", "--", "true"], "--seed", "'0x10'"),
    (["vm", "--seed", "99999999999999999999", "--", "true"], "--seed", "'99999999999999999999'"),
    (["compare", "--seed", "-5", "--", "true"], "--seed", "'-5'"),
    (["compare", "--seed", "18446744073709551617", "--", "true"], "--seed", "'18446744073709551617'"),
    (["compare", "--timeout", "0", "--", "true"], "--timeout", "'0'"),
    (["compare", "--timeout", "nan", "--", "true"], "--timeout", "'nan'"),
    (["compare", "--threads", "4,4", "--", "echo", "{threads}"], "--threads", "4 is named twice"),
    (["compare", "--threads", "1000000", "--", "echo", "{threads}"], "--threads", "'1000000'"),
    (["run", "--lock", "tatas", "--tries", "1000001", "--", "true"], "--tries", "'1000001'"),
    (["vm", "--variation", "10000", "--", "true"], "--variation", "'10000'"),
    (["vm", "--variation", "-1", "--", "true"], "--variation", "'-1'"),
    (["vm", "--variation", "x", "--", "true"], "--variation", "'x'"),
    (["vm", "--variation", "1.5", "--", "true"], "--variation", "1.5"),
    (["vm", "--vary", "0", "--", "true"], "--vary", "'0'"),
    (["vm", "--vary", "10001", "--", "true"], "--vary", "'10001'"),
    (["compare", "--vary", "0", "--", "true"], "--vary", "'0'"),
    (["compare", "--vary", "many", "--", "true"], "--vary", "'many'"),
    (["machines", "core-i7-4770", "--variation", "10000"], "--variation", "'10000'"),
    (["vm", "--run-ahead", "-1", "--", "true"], "--run-ahead"),
    (["compare", "--runs", "0", "--", "true"], "--runs"),
    (["compare", "--timeout", "soon", "--", "true"], "--timeout"),
    (["compare", "--threads", "1,,2", "--", "echo", "{threads}"], "--threads"),
    (["compare", "--threads", "2", "--", "echo"], "{threads}"),
    (["compare", "--threads", "2", "--", "echo", "-n{thread}"], "{threads}", "'{thread}'"),
    (["run", "--lock", "tatas", "--tries", "1.5", "--", "true"], "--tries"))
def test_values_that_are_no_numbers(refuse, words, named):
    refuse(words, *named)


@pytest.mark.parametrize("verb, option", [
    *(("vm", option) for option in ("--machine", "--seed", "--lock", "--wait", "--stats", "--stats-directory", "--date",
                                    "--crash-reports")),
    *(("compare", option) for option in ("--locks", "--machine", "--threads", "--metric", "--json", "--html", "--timeout", "--format"))])
def test_empty_values(refuse, verb, option):
    refuse([verb, option, "", "--", "true"], option)


@cases(
    (["vm", "--wait", "spin", "--", "true"], "--wait", "--lock"),
    (["vm", "--rtm-always-abort", "--", "true"], "--rtm-always-abort", "--lock"),
    (["vm", "--stats", "s", "--stats-directory", ".", "--", "true"], "--stats", "--stats-directory"),
    (["vm", "--seed", "1", "--seed", "2", "--", "true"], "--seed"),
    (["compare", "--lower-is-better", "--", "true"], "--lower-is-better", "--metric"),
    (["compare", "--machine", "native", "--vary", "2", "--", "true"], "--vary", "native"),
    (["compare", "--vary", "2", "--runs", "2", "--", "true"], "--vary", "--runs"),
    (["vm", "--vary", "2", "--variation", "1", "--", "true"], "--vary", "--variation"),
    (["vm", "--vary", "2", "--stats-directory", ".", "--", "true"], "--vary", "--stats-directory"),
    (["vm", "--metric", "([0-9]+)", "--", "true"], "--metric", "--vary"),
    (["compare", "--runs", "2", "--runs", "3", "--", "true"], "--runs", "more than once"),
    (["compare", "--machine", "native,core.issue_width=2", "--", "true"], "native,core.issue_width=2"),
    (["doctor", "--json", "--format", "csv"], "--json", "--format"),
    (["machines", "--variation", "1"], "--variation"))
def test_options_that_exclude_each_other(refuse, words, named):
    refuse(words, *named)


@cases(
    (["vm"], "no program"),
    (["vm", "--"], "no program"),
    (["run", "--lock", "tatas"], "no program"),
    (["compare", "--runs", "1"], "no program"),
    (["vm", "true"], "'true'", "'--'"))
def test_no_program(refuse, words, named):
    refuse(words, *named)


@each_starter
@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program"])
def test_missing_program(refuse, starter, program):
    refuse([*starter, "--", program], f"'{program}'")


@each_starter
@pytest.mark.parametrize("name, content, mode, named", [
    ("script", b"#!/no/such/interpreter\n", 0o755, ["'/no/such/interpreter'"]),
    ("plain", b"echo hello\n", 0o755, []),
    ("text", b"x", 0o644, ["not executable"]),
    ("empty", b"", 0o755, []),
    ("narrow", elf(machine=3, elf_class=1), 0o755, ["32-bit"]),
    ("foreign", elf(machine=183), 0o755, ["another CPU"]),
    ("object", elf(kind=1), 0o755, ["not a program"])], ids=lambda part: part if isinstance(part, str) else "")
def test_file_that_is_no_program(refuse, starter, name, content, mode, named):
    refuse([*starter, "--", refuse.file(name, content, mode)], f"{name}'", *named)


@each_starter
def test_directory(refuse, starter, folder):
    refuse([*starter, "--", folder], str(folder), "directory")


@each_starter
@pytest.mark.parametrize("size", [10, 63, 100, 5000, LS.stat().st_size // 2])
def test_truncated_programs(refuse, starter, size):
    refuse([*starter, "--", refuse.file("short", LS.read_bytes()[:size])], "short'", "truncated")


each_reader = pytest.mark.parametrize("reader", [
    "vm --machine {} -- true", "machines {}", "compare --machine {} -- true", "vm --vary 2 --machine {} -- true"])


def words_of(reader, file):
    return [word.format(file) for word in reader.split()]


def changed_machine(new):
    """The text of a machine file whose line of the frequency is `new`."""
    text = (ROOT / "machines" / "xeon-e5-2697v4.toml").read_text()
    old = next(line for line in text.splitlines() if line.startswith("frequency_mhz"))
    return text.replace(old, new.format(old=old))


@each_reader
@pytest.mark.parametrize("text, named", [
    pytest.param(changed_machine('frequency_mhz = "fast"'), ["frequency_mhz"], id="wrong-type"),
    pytest.param(changed_machine("{old}\nfrequency_mzh = 3"), ["frequency_mzh", "frequency_mhz"], id="unknown-field"),
    pytest.param(changed_machine(""), ["frequency_mhz"], id="missing-field"),
    pytest.param("= =", [], id="no-toml"),
    pytest.param("", ["empty"], id="empty")])
def test_machine_files(refuse, reader, text, named):
    file = refuse.file("machine.toml", text.encode())
    refuse(words_of(reader, file), str(file), *named)


def test_unchanged_machine_file_is_read(place, refuse):
    assert place.run("machines", refuse.file("machine.toml", changed_machine("{old}").encode())).status == 0


def test_missing_machine_file(refuse):
    refuse(["vm", "--machine", "/no/such.toml", "--", "true"], "/no/such.toml")


@each_reader
@pytest.mark.parametrize("name, why", [("/dev/zero", "not a regular file"), ("fifo.toml", "not a regular file"),
                                       ("huge.toml", "larger than 1 MB")])
def test_machine_files_that_do_not_end(refuse, folder, reader, name, why):
    os.mkfifo(folder / "fifo.toml")
    os.truncate(refuse.file("huge.toml", b""), 1 << 40)
    refuse(words_of(reader, folder / name), str(folder / name), why)


def test_output_larger_than_a_comparison_keeps(refuse):
    refuse(["compare", "--machine", "native", "--", "head", "-c", str((64 << 20) + 1), "/dev/zero"],
           "'head'", "stdout", "larger than 64 MB")


@cases(
    (["compare", "--metric", "(", "--", "true"], "'('"),
    (["compare", "--metric", "a(?=b)", "--", "true"], "look-ahead", "'(?='"),
    (["compare", "--metric", "(a)\\1", "--", "true"], "back reference", "'\\1'"),
    (["compare", "--metric", "fast", "--", "echo", "fast"], "'fast'", "no group", "no number"),
    (["vm", "--vary", "2", "--metric", "(", "--", "true"], "'('"),
    # What the first run shows takes a run: the estimate has not been printed yet.
    (["vm", "--vary", "2", "--metric", "speed ([0-9]+)", "--stats", "s.json", "--", "echo", "fast"], "'speed ([0-9]+)'", "echo"),
    (["compare", "--metric", "speed ([0-9]+)", "--json", "c.json", "--", "echo", "fast"], "'speed ([0-9]+)'", "echo"))
def test_metric(refuse, words, named):
    refuse(words, *named)


@cases(
    (["vm", "--stats", "/no/such/place", "--", "true"], "/no/such/place"),
    (["vm", "--stats", ".", "--", "true"], "'.'"),
    (["vm", "--crash-reports", "/no/such/place", "--", "true"], "/no/such/place"),
    (["compare", "--json", "/no/such/place", "--", "true"], "/no/such/place"),
    (["compare", "--html", "/no/such/place", "--", "true"], "/no/such/place"),
    (["compare", "--html", ".", "--", "true"], "'.'"),
    (["compare", "--html", "/proc/nothing", "--", "true"], "/proc/nothing"),
    (["compare", "--html", "/dev/null", "--", "true"], "/dev/null", "not a regular file"),
    (["compare", "--html", "-", "--json", "-", "--", "true"], "--json", "--html", "standard output"),
    (["compare", "--html", "both", "--json", "both", "--", "true"], "--json", "--html", "'both'"))
def test_places_that_cannot_be_written(refuse, words, named):
    refuse(words, *named)


@pytest.mark.parametrize("starter", [["vm", "--stats", "s.json"], ["vm", "--vary", "2", "--stats", "s.json"],
                                     ["compare", *XEON, "--json", "c.json"]], ids=" ".join)
def test_guest_without_a_loader_leaves_nothing(place, refuse, starter):
    """The program is fine, its loader is not there: found only once the supervisor has started."""
    refuse([*starter, "--", place.loaderless()], "/lib00")


def test_guest_that_becomes_what_cannot_start_leaves_nothing(refuse):
    """The first program runs, the one that it becomes cannot: there are statistics of the first."""
    at_null = refuse.file("at-null", elf(kind=2))
    refuse(["vm", "--stats", "s.json", "--", "bash", "-c", f"exec {at_null}"], "at-null", "null page")
