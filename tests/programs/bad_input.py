#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input gets one line that names it, exit code 2, and leaves nothing behind.

    bad_input.py BUILD
"""

import os
import pathlib
import struct
import sys
import tempfile
import unittest

from whole_programs import Elision, run

BUILD = None


def elf(machine=62, elf_class=2, kind=3):
    """An ELF program's first bytes: an x86-64 one that says it has a segment where the file has none."""
    header = b"\x7fELF" + bytes([elf_class, 1, 1]) + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 120, 120, 4096)
    return header + segment


class BadInput(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "temporary").mkdir()
        (self.root / "here").mkdir()

    def tearDown(self):
        self.folder.cleanup()

    def file(self, name, content, mode=0o755):
        path = self.root / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def refused(self, words, *named):
        """Checks that `words` are refused in one line with everything in `named`."""
        here = self.root / "here"
        ending = run([self.elision.binary, *words], cwd=here, environment={"TMPDIR": str(self.root / "temporary")})
        self.assertEqual(ending.status, 2, ending)
        self.assertEqual(ending.stdout, "", ending)
        self.assertEqual(len(ending.stderr.splitlines()), 1, ending)
        for name in named:
            self.assertIn(name, ending.stderr)
        self.assertEqual(list((self.root / "temporary").iterdir()), [])
        self.assertEqual(list(here.iterdir()), [])

    def refused_by_all(self, program, *named):
        for verb in (["vm", "--stats", "s.json"], ["vm"], ["run", "--lock", "tatas"],
                     ["vm", "--vary", "2", "--stats", "s.json"], ["compare", "--json", "c.json"], ["compare", "--machine", "xeon-e5-2697v4"]):
            with self.subTest(verb=verb):
                self.refused([*verb, "--", program], *named)

    def test_names_that_do_not_exist(self):
        cases = [
            (["vmm"], "'vmm'", "'vm'"),
            (["vm", "--machin", "x", "--", "true"], "--machin", "--machine"),
            (["vm", "--machine", "xeon-e5-2697v5", "--", "true"], "xeon-e5-2697v5", "xeon-e5-2697v4"),
            (["doctr"], "'doctr'", "'doctor'"),
            (["doctor", "--jso"], "--jso", "--json"),
            (["doctor", "true"], "'true'"),
            (["machines", "core-i7-5960"], "core-i7-5960", "core-i7-5960x"),
            (["compare", "--machine", "nativ", "--", "true"], "nativ"),
            (["vm", "--lock", "tatass", "--", "true"], "'tatass'", "'tatas'"),
            (["run", "--lock", "htm-0", "--", "true"], "'htm-0'", "'htm-1"),
            (["compare", "--locks", "pthread,tickets", "--", "true"], "'tickets'", "'ticket'"),
            (["run", "--lock", "tatas", "--wait", "spim", "--", "true"], "'spim'", "'spin'"),
            (["run", "--lock", "tatas", "--speculation", "runon", "--", "true"], "'runon'", "'run-on'"),
            (["run", "--lock", "tatas", "--busy", "insid", "--", "true"], "'insid'", "'inside'"),
        ]
        for words, *named in cases:
            with self.subTest(words=words):
                self.refused(words, *named)

    def test_values_that_are_no_numbers(self):
        for words, *named in [
            (["vm", "--cpus", "0", "--", "true"], "--cpus"),
            (["vm", "--cpus", "19", "--", "true"], "--cpus 19"),
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
            (["run", "--lock", "tatas", "--tries", "1.5", "--", "true"], "--tries"),
        ]:
            with self.subTest(words=words):
                self.refused(words, *named)

    def test_empty_values(self):
        for verb, options in {"vm": ("--machine", "--seed", "--lock", "--wait", "--stats", "--stats-directory", "--date",
                                     "--crash-reports"),
                              "compare": ("--locks", "--machine", "--threads", "--metric", "--json", "--timeout")}.items():
            for option in options:
                with self.subTest(verb=verb, option=option):
                    self.refused([verb, option, "", "--", "true"], option)

    def test_options_that_exclude_each_other(self):
        for words, *named in [
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
            (["machines", "--variation", "1"], "--variation"),
        ]:
            with self.subTest(words=words):
                self.refused(words, *named)

    def test_no_program(self):
        for words in (["vm"], ["vm", "--"], ["run", "--lock", "tatas"], ["compare", "--runs", "1"]):
            self.refused(words, "no program")
        self.refused(["vm", "true"], "'true'", "'--'")

    def test_missing_program(self):
        self.refused_by_all("no-such-program", "'no-such-program'")
        self.refused_by_all("/no/such/program", "'/no/such/program'")

    def test_script_without_interpreter(self):
        self.refused_by_all(self.file("script", b"#!/no/such/interpreter\n"), "script'", "'/no/such/interpreter'")
        self.refused_by_all(self.file("plain", b"echo hello\n"), "plain'")

    def test_file_that_is_no_program(self):
        self.refused_by_all(self.file("text", b"x", 0o644), "text'", "not executable")
        self.refused_by_all(self.file("empty", b""), "empty'")
        self.refused_by_all(self.root, str(self.root), "directory")

    def test_foreign_programs(self):
        self.refused_by_all(self.file("narrow", elf(machine=3, elf_class=1)), "narrow'", "32-bit")
        self.refused_by_all(self.file("foreign", elf(machine=183)), "foreign'", "another CPU")
        self.refused_by_all(self.file("object", elf(kind=1)), "object'", "not a program")

    def test_truncated_programs(self):
        with open("/bin/ls", "rb") as file:
            whole = file.read()
        for size in (10, 63, 100, 5000, len(whole) // 2):
            with self.subTest(size=size):
                self.refused_by_all(self.file("short", whole[:size]), "short'", "truncated")

    def test_machine_files(self):
        built_in = run([self.elision.binary, "machines", "xeon-e5-2697v4"]).stdout
        self.assertIn("l1d.", built_in)
        source = pathlib.Path(__file__).parents[2] / "machines" / "xeon-e5-2697v4.toml"
        good = source.read_text()
        line = next(line for line in good.splitlines() if line.startswith("frequency_mhz"))
        cases = {
            "wrong-type": (good.replace(line, 'frequency_mhz = "fast"'), "frequency_mhz"),
            "unknown-field": (good.replace(line, line + "\nfrequency_mzh = 3"), "frequency_mzh", "frequency_mhz"),
            "missing-field": (good.replace(line, ""), "frequency_mhz"),
            "no-toml": ("= =", ""),
            "empty": ("", "empty"),
        }
        for name, (text, *named) in cases.items():
            file = self.file(name + ".toml", text.encode())
            for words in (["vm", "--machine", file, "--", "true"], ["machines", file],
                          ["compare", "--machine", file, "--", "true"]):
                with self.subTest(name=name, words=words):
                    self.refused(words, str(file), *named)
        self.refused(["vm", "--machine", "/no/such.toml", "--", "true"], "/no/such.toml")

    def test_machine_files_that_do_not_end(self):
        os.mkfifo(self.root / "fifo.toml")
        os.truncate(self.file("huge.toml", b""), 1 << 40)
        for file, why in (("/dev/zero", "not a regular file"), (f"{self.root}/fifo.toml", "not a regular file"),
                          (f"{self.root}/huge.toml", "larger than 1 MB")):
            for words in (["vm", "--machine", file, "--", "true"], ["vm", "--vary", "2", "--machine", file, "--", "true"],
                          ["machines", file], ["compare", "--machine", file, "--", "true"]):
                with self.subTest(words=words):
                    self.refused(words, file, why)

    def test_output_larger_than_a_comparison_keeps(self):
        self.refused(["compare", "--machine", "native", "--", "head", "-c", str((64 << 20) + 1), "/dev/zero"],
                     "'head'", "stdout", "larger than 64 MB")

    def test_metric(self):
        self.refused(["compare", "--metric", "(", "--", "true"], "'('")
        self.refused(["compare", "--metric", "a(?=b)", "--", "true"], "look-ahead", "'(?='")
        self.refused(["compare", "--metric", "(a)\\1", "--", "true"], "back reference", "'\\1'")
        self.refused(["compare", "--metric", "fast", "--", "echo", "fast"], "'fast'", "no group", "no number")
        # What the first run tells takes a run: the estimate has not been printed yet.
        self.refused(["vm", "--vary", "2", "--metric", "(", "--", "true"], "'('")
        self.refused(["vm", "--vary", "2", "--metric", "speed ([0-9]+)", "--stats", "s.json", "--", "echo", "fast"],
                     "'speed ([0-9]+)'", "echo")
        self.refused(["compare", "--metric", "speed ([0-9]+)", "--json", "c.json", "--", "echo", "fast"],
                     "'speed ([0-9]+)'", "echo")

    def test_places_that_cannot_be_written(self):
        self.refused(["vm", "--stats", "/no/such/place", "--", "true"], "/no/such/place")
        self.refused(["vm", "--stats", ".", "--", "true"], "'.'")
        self.refused(["vm", "--crash-reports", "/no/such/place", "--", "true"], "/no/such/place")
        self.refused(["compare", "--json", "/no/such/place", "--", "true"], "/no/such/place")

    def test_supervised_guest_that_cannot_start_leaves_nothing(self):
        # The program is fine, its loader is not there: found only once the supervisor has started.
        program = bytearray(pathlib.Path("/bin/true").read_bytes())
        at = program.find(b"/lib64/ld-linux-x86-64.so.2")
        program[at:at + 6] = b"/lib00"
        loaderless = self.file("loaderless", bytes(program))
        self.refused(["vm", "--stats", "s.json", "--", loaderless], "/lib00")
        # The first program runs, the one that it becomes cannot: there are statistics of the first.
        at_null = self.file("at-null", elf(kind=2))
        self.refused(["vm", "--stats", "s.json", "--", "bash", "-c", f"exec {at_null}"], "at-null", "null page")
        self.refused(["vm", "--vary", "2", "--stats", "s.json", "--", loaderless], "/lib00")
        self.refused(["compare", "--machine", "xeon-e5-2697v4", "--json", "c.json", "--", loaderless], "/lib00")


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
