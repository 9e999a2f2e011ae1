#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands write reaches its place, or is an error: devices, links, FIFOs, descriptors, closed and full outputs.

    outputs.py BUILD

No device is named but through a link: a command that replaces what it should write to replaces the link.
"""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import unittest

from whole_programs import LIMIT_SECONDS, Elision

BUILD = None
XEON = ["--machine", "xeon-e5-2697v4"]


class Outputs(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "temporary").mkdir()
        # Every option that names an output, with a command that ends at once.
        self.writers = [["vm", "--stats", "{}", "--", "true"], ["vm", "--vary", "1", "--stats", "{}", "--", "true"],
                        ["compare", *XEON, "--locks", "tatas", "--runs", "1", "--json", "{}", "--", "true"]]

    def tearDown(self):
        self.assertEqual(list((self.root / "temporary").iterdir()), [])
        self.folder.cleanup()

    def run_words(self, words, **how):
        environment = {**os.environ, "TMPDIR": str(self.root / "temporary")}
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **how}
        return subprocess.run([str(self.elision.binary), *map(str, words)], cwd=self.root, env=environment, text=True,
                              timeout=LIMIT_SECONDS, check=False, **how)

    def shell(self, line):
        """`line` in a shell where "elision" is the command."""
        script = f'elision() {{ {self.elision.binary} "$@"; }}; {line}'
        environment = {**os.environ, "TMPDIR": str(self.root / "temporary")}
        return subprocess.run(["bash", "-c", script], cwd=self.root, env=environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_SECONDS, check=False)

    def each_writer(self, place):
        return [[word.format(place) for word in words] for words in self.writers]

    def assert_refused(self, done, *named):
        self.assertNotEqual(done.returncode, 0, done)
        self.assertGreater(done.returncode, 0, done)  # not by a signal
        lines = [line for line in done.stderr.splitlines() if "cannot write" in line]
        self.assertEqual(len(lines), 1, done)
        for name in named:
            self.assertIn(name, lines[0])

    def assert_json(self, text):
        self.assertIn("version", json.loads(text))

    def test_device_is_written_and_stays(self):
        link = self.root / "device"
        link.symlink_to("/dev/null")
        for words in self.each_writer(link):
            done = self.run_words(words)
            self.assertTrue(link.is_symlink(), "the link was replaced")
            self.assertIn(done.returncode, (0, 1), done)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_full_device_is_an_error(self):
        link = self.root / "full"
        link.symlink_to("/dev/full")
        for words in self.each_writer(link):
            self.assert_refused(self.run_words(words), "full'", "No space left")
            self.assertTrue(link.is_symlink(), "the link was replaced")

    def test_link_is_followed_also_where_its_target_is_missing(self):
        (self.root / "links").mkdir()
        link, target = self.root / "links" / "link", self.root / "target"
        link.symlink_to("../target")
        for words in self.each_writer(link):
            self.run_words(words)
            self.assertTrue(link.is_symlink(), "the link was replaced")
            self.assert_json(target.read_text())
            target.unlink()

    def test_file_keeps_its_mode(self):
        file = self.root / "file"
        for words in self.each_writer(file):
            file.write_text("old")
            file.chmod(0o604)
            self.run_words(words)
            self.assert_json(file.read_text())
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o604)

    def test_other_names_of_a_file_show_it_too(self):
        file, other = self.root / "file", self.root / "other"
        for words in self.each_writer(file):
            file.write_text("old")
            other.hardlink_to(file)
            self.run_words(words)
            self.assert_json(other.read_text())
            other.unlink()

    def test_fifo_hands_everything_to_its_reader(self):
        fifo = self.root / "fifo"
        os.mkfifo(fifo)
        for words in self.each_writer(fifo):
            got = []
            reader = threading.Thread(target=lambda got=got: got.append(fifo.read_text()), daemon=True)
            reader.start()
            self.run_words(words)
            self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode), "the FIFO was replaced")
            reader.join()
            self.assert_json(got[0])

    def test_descriptor_is_written_where_it_stands(self):
        file = self.root / "file"
        for name in ("/dev/fd/{}", "/proc/self/fd/{}"):
            for words in self.each_writer("PLACE"):
                descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.write(descriptor, b"before\n")
                self.run_words([word.replace("PLACE", name.format(descriptor)) for word in words],
                               pass_fds=[descriptor])
                os.write(descriptor, b"after")
                os.close(descriptor)
                lines = file.read_text()
                self.assertTrue(lines.startswith("before\n") and lines.endswith("after"), lines[:100])
                self.assert_json(lines[len("before\n"):-len("after")])

    def test_descriptor_that_is_not_open_is_refused_before_the_program_runs(self):
        for words in self.each_writer("/dev/fd/99"):
            done = self.run_words([*words[:-1], "touch", "ran"])
            self.assert_refused(done, "/dev/fd/99")
            self.assertFalse((self.root / "ran").exists())

    def test_dash_is_standard_output(self):
        for words in self.each_writer("-"):
            self.assert_json(self.run_words(words).stdout)
            self.assertFalse((self.root / "-").exists(), "a file named '-'")

    def loaderless(self):
        """A program that is found and checked, but cannot start: its loader is not there."""
        program = bytearray(pathlib.Path("/bin/true").read_bytes())
        at = program.find(b"/lib64/ld-linux-x86-64.so.2")
        program[at:at + 6] = b"/lib00"
        path = self.root / "loaderless"
        path.write_bytes(program)
        path.chmod(0o755)
        return path

    def statistics_left(self, words, file):
        """Whether the statistics of an earlier run lie in `file` after the refused words, with and without --vary."""
        for vary in ([], ["--vary", "2"]):
            file.write_text("old")
            done = self.run_words(["vm", *vary, "--stats", file, *words])
            self.assertEqual(done.returncode, 2, done)
            yield file.exists() and file.read_text() == "old"

    def test_old_statistics_go_if_the_run_does_not_start(self):
        file = self.root / "file"
        for words in (["--", self.loaderless()], ["--", self.root / "missing"], ["--machine", "core-i7-4770", "--cpus", "9", "--", "true"]):
            self.assertEqual(list(self.statistics_left(words, file)), [False, False], words)
            self.assertFalse(file.exists())

    def test_old_statistics_go_if_the_metric_is_no_expression(self):
        file = self.root / "file"
        file.write_text("old")
        done = self.run_words(["vm", "--vary", "2", "--stats", file, "--metric", "(", "--", "true"])
        self.assertEqual(done.returncode, 2, done)
        self.assertFalse(file.exists())

    def test_statistics_of_a_program_whose_name_is_no_text(self):
        program = os.fsdecode(os.fsencode(self.root) + b"/x\xff")
        shutil.copy("/bin/true", program)
        done = self.run_words(["vm", "--stats", self.root / "file", "--", program])
        self.assertEqual(done.returncode, 0, done)
        self.assert_json((self.root / "file").read_text())

    def test_old_statistics_go_by_all_names_of_the_file(self):
        file, other = self.root / "file", self.root / "other"
        for way in (other.symlink_to, lambda target: other.hardlink_to(target)):
            file.write_text("old")
            way(file)
            self.assertEqual(list(self.statistics_left(["--", self.loaderless()], other)), [False, False])
            self.assertNotEqual(file.exists() and file.read_text(), "old")
            other.unlink()
            file.unlink(missing_ok=True)

    def test_old_statistics_stay_if_the_words_are_not_understood(self):
        for words in (["--sede", "1", "--", "true"], ["--seed", "x", "--", "true"]):
            self.assertEqual(list(self.statistics_left(words, self.root / "file")), [True, True])

    def test_directory_is_refused(self):
        for words in self.each_writer("."):
            self.assert_refused(self.run_words(words), "'.'", "directory")

    def test_missing_statistics_directory_is_refused(self):
        done = self.run_words(["vm", "--stats-directory", "missing", "--", "true"])
        self.assert_refused(done, "'missing'", "No such file")

    def test_statistics_directory_holds_when_the_program_goes_elsewhere(self):
        (self.root / "here").mkdir()
        (self.root / "here" / "not-started").write_text("an earlier run")
        done = self.run_words(["vm", "--stats-directory", "here", "--", "bash", "-c", "cd /; (true); true"])
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(len(list((self.root / "here").glob("*.json"))), 2)
        self.assertEqual(len(list((self.root / "here").iterdir())), 2)

    PRINTERS = ("machines", "machines xeon-e5-2697v4", "help", "--version", "vm --help", "doctor", "doctor --json",
                "compare --machine xeon-e5-2697v4 --locks tatas -- true", "vm --vary 1 -- echo x", "vm --stats - -- true")

    def test_full_standard_output_is_an_error(self):
        for words in self.PRINTERS:
            with self.subTest(words=words):
                self.assert_refused(self.shell(f"elision {words} > /dev/full"), "No space left")

    def test_closed_standard_output_is_an_error(self):
        for words in self.PRINTERS:
            with self.subTest(words=words):
                self.assert_refused(self.shell(f"elision {words} >&-"), "Bad file descriptor")

    def test_closed_standard_error_changes_nothing(self):
        for words in ("machines", "vm --vary 1 -- echo x", "run --lock htm-1 -- echo x",
                      "compare --machine xeon-e5-2697v4 --locks tatas -- true"):
            with self.subTest(words=words):
                self.assertEqual(self.shell(f"elision {words} 2>&-").returncode, 0)
        for words in ("machines nowhere", "vm --seed x -- true", "nothing"):
            with self.subTest(words=words):
                self.assertEqual(self.shell(f"elision {words} 2>&-").returncode, 2)

    def test_reader_that_leaves_ends_it_quietly(self):
        for signal_of_pipe in ("", "trap '' PIPE;"):
            done = self.shell(f"{signal_of_pipe} (elision machines xeon-e5-2697v4; echo $? >status) | true")
            self.assertEqual(done.stderr, "")
            self.assertIn((self.root / "status").read_text(), ("141\n", "0\n"))  # 0: written before the reader left

    def test_files_do_not_land_on_closed_descriptors(self):
        # What the program finds closed natively it finds closed here: the first file that it opens gets number 0.
        for verb in ("", "elision vm --", "elision run --lock tatas --", "elision vm --stats s.json --"):
            with self.subTest(verb=verb):
                program = "bash -c 'exec bash -c \"exec 9>&1; readlink /proc/self/fd/0 >&9\"'"
                self.assertEqual(self.shell(f"{verb} {program} <&-").stdout, "", verb)
        self.shell("elision vm --stats s.json -- bash -c 'echo a; echo b >&2' <&- >&- 2>&-")
        self.assert_json((self.root / "s.json").read_text())

    def test_names_do_not_break_the_line_of_an_error(self):
        for words in (["vm", "--machine", "a\nb", "--", "true"], ["a\nb"], ["vm", "--stats", "a\nb/c", "--", "true"],
                      ["run", "--lock", "x\ny", "--", "true"], ["vm", "--", "a\nb"], ["machines", "a\nb"], ["vm", "--a\nb"],
                      ["vm", "--seed", "1\n2", "--", "true"], ["vm", "a\nb"], ["compare", "--metric", "(\n", "--", "true"],
                      ["compare", "--threads", "1\n", "--", "x{threads}"], ["machines", "./a\x1b[2J"]):
            with self.subTest(words=words):
                done = self.run_words(words)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stderr.count("\n"), 1, done)
                self.assertNotIn("\x1b", done.stderr)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
