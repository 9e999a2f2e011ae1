#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""However a command ends, nothing that it started runs on, and no folder of it stays.

    left_behind.py BUILD

The program starts another in a session of its own, without environment, and both wait for ever.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from whole_programs import LIMIT_SECONDS, Elision

BUILD = None
COMMANDS = {
    "compare native": ["compare", "--machine", "native", "--locks", "tatas"],
    "compare virtual": ["compare", "--machine", "xeon-e5-2697v4", "--locks", "tatas"],
    "vm --vary": ["vm", "--vary", "2"],
}
SIGNALS = {signal.SIGKILL: -9, signal.SIGQUIT: 130, signal.SIGTERM: 130, signal.SIGHUP: 130, signal.SIGINT: 130}


class LeftBehind(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "temporary").mkdir()
        os.mkfifo(self.root / "never")
        # In the virtual machine a sleep would take no time; nobody ever writes to the FIFO.
        wait = f"cat {self.root}/never"
        self.program = ["bash", "-c", f"env -i setsid {wait} & echo >{self.root}/started; {wait}"]

    def tearDown(self):
        for process in self.processes():  # a failure must not leave them
            os.kill(process, signal.SIGKILL)
        self.folder.cleanup()

    def processes(self):
        """Those that our folder's name shows to belong to the command."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes() + \
                    pathlib.Path("/proc", entry, "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(self.root) in words:
                found.append(int(entry))
        return found

    def until(self, condition, what):
        end = time.monotonic() + min(LIMIT_SECONDS, 120)
        while not condition():
            self.assertLess(time.monotonic(), end, what())
            time.sleep(0.01)

    def start(self, words):
        """Starts the command and returns once its program runs, with the program's own child."""
        (self.root / "started").unlink(missing_ok=True)
        process = subprocess.Popen([self.elision.binary, *words, "--", *self.program], cwd=self.root, text=True,
                                   env={**os.environ, "TMPDIR": str(self.root / "temporary")}, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until((self.root / "started").exists, lambda: "the program did not start")
        self.assertNotEqual(list((self.root / "temporary").iterdir()), [])
        return process

    def assert_nothing_left(self):
        self.until(lambda: not self.processes() and not list((self.root / "temporary").iterdir()),
                   lambda: f"left: processes {self.processes()}, {list((self.root / 'temporary').iterdir())}")

    def test_signals_to_the_command(self):
        for name, words in COMMANDS.items():
            for number, status in SIGNALS.items():
                with self.subTest(command=name, signal=number.name):
                    process = self.start(words)
                    process.send_signal(number)
                    self.assertEqual(process.wait(LIMIT_SECONDS), status)
                    self.assert_nothing_left()

    def test_kill_of_the_whole_process_group(self):
        for name, words in COMMANDS.items():
            with self.subTest(command=name):
                process = self.start(words)
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(LIMIT_SECONDS)
                self.assert_nothing_left()

    def test_killed_supervisor_leaves_no_folder(self):
        process = self.start(["vm", "--stats", "s.json"])
        process.kill()
        process.wait(LIMIT_SECONDS)
        self.until(lambda: not list((self.root / "temporary").iterdir()), lambda: "the folder is still there")

    def test_hang_up_under_nohup_stops_nothing(self):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = self.start(COMMANDS["vm --vary"])
        finally:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        status = pathlib.Path("/proc", str(process.pid), "status").read_text()
        ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
        self.assertTrue(ignored & 1 << (signal.SIGHUP - 1), status)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT_SECONDS), 130)
        self.assert_nothing_left()

    def test_what_a_run_leaves_running_is_ended_with_it(self):
        done = subprocess.run([self.elision.binary, "compare", "--machine", "native", "--locks", "tatas", "--runs", "1", "--",
                               "bash", "-c", f"setsid cat {self.root}/never >/dev/null 2>&1 & true"], cwd=self.root,
                              env={**os.environ, "TMPDIR": str(self.root / "temporary")}, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.processes(), [])


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
