#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""However a command ends, nothing that it started runs on, and no folder of it stays.

    left_behind.py BUILD

The program starts another in a session of its own, without environment, and both wait for ever.
"""

import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from whole_programs import LIMIT_SECONDS, Elision, forbid_system_calls

BUILD = None
COMMANDS = {
    "compare native": ["compare", "--machine", "native", "--locks", "tatas"],
    "compare virtual": ["compare", "--machine", "xeon-e5-2697v4", "--locks", "tatas"],
    "vm --vary": ["vm", "--vary", "2"],
}
SIGNALS = {signal.SIGKILL: -9, signal.SIGQUIT: 130, signal.SIGTERM: 130, signal.SIGHUP: 130, signal.SIGINT: 130}
PIDFD_OPEN, CLOSE_RANGE, SIGNALFD4 = 434, 436, 289  # as under an old kernel, or in an old container


def parent_of(process):
    try:
        return int(pathlib.Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


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
        self.kill_all()
        self.folder.cleanup()

    def kill_all(self):
        """A failure must not leave processes, to which new ones may be born."""
        while processes := self.processes():
            for process in processes:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)

    def processes(self):
        """Those that our folder's name shows to belong to the command. A guest's engine shows it as its directory."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes() + \
                    pathlib.Path("/proc", entry, "environ").read_bytes() + os.fsencode(os.readlink(f"/proc/{entry}/cwd"))
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

    def guards(self, command):
        """The processes between the command and its program: forks of the command that have children."""
        words = pathlib.Path("/proc", str(command.pid), "cmdline").read_bytes()
        others = [process for process in self.processes() if process != command.pid]
        parents = {parent_of(process) for process in others}
        return sorted(process for process in others if process in parents
                      and pathlib.Path("/proc", str(process), "cmdline").read_bytes() == words)

    def test_kill_of_a_guard(self):
        for name, words in COMMANDS.items():
            for which, number in itertools.product((0, -1), (signal.SIGKILL, signal.SIGTERM)):
                with self.subTest(command=name, guard=which, signal=number.name):
                    process = self.start(words)
                    try:
                        os.kill(self.guards(process)[which], number)
                        self.assertEqual(process.wait(LIMIT_SECONDS), 2)
                        self.assert_nothing_left()
                    finally:
                        self.kill_all()

    def test_guards_have_other_names_than_the_command(self):
        process = self.start(COMMANDS["vm --vary"])
        guards = self.guards(process)
        self.assertTrue(guards)
        for guard in guards:
            self.assertNotIn("elision", pathlib.Path("/proc", str(guard), "comm").read_text())
        process.terminate()
        process.wait(LIMIT_SECONDS)
        self.assert_nothing_left()

    def compare(self, options, program, **more):
        return subprocess.run([self.elision.binary, "compare", "--machine", "native", "--locks", "tatas", *options, "--",
                               *program], cwd=self.root, env={**os.environ, "TMPDIR": str(self.root / "temporary")},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)

    def test_time_limit_holds_without_new_system_calls(self):
        done = self.compare(["--timeout", "1"], self.program, timeout=60, preexec_fn=lambda: forbid_system_calls(PIDFD_OPEN, CLOSE_RANGE, SIGNALFD4))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("did not end within", done.stdout)
        self.assert_nothing_left()

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"), "needs root")
    def test_process_of_another_user_is_named_and_not_waited_for(self):
        self.root.chmod(0o711)
        (self.root / "never").chmod(0o644)
        other_user = ["setpriv", "--reuid", "65534", "--clear-groups", *self.program]
        # Without the right to signal everybody.
        done = subprocess.run(["setpriv", "--bounding-set", "-kill", self.elision.binary, "compare", "--machine", "native",
                               "--locks", "tatas", "--timeout", "1", "--", *other_user], cwd=self.root, text=True,
                              env={**os.environ, "TMPDIR": str(self.root / "temporary")}, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("which setpriv started, cannot be ended and runs on: it belongs to another user", done.stderr)
        self.assertEqual(list((self.root / "temporary").iterdir()), [])

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
        done = self.compare(["--runs", "1"], ["bash", "-c", f"setsid cat {self.root}/never >/dev/null 2>&1 & true"],
                            timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.processes(), [])


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
