#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A comparison where the counters of the program's locks find no room: the program runs to its end, and one line says
what is missing and why.

    no_counters.py BUILD
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
# It prints nothing: what a program prints has no room either.
PROGRAM = [BUILD / "tests" / "preload_worker", "count", "4", "1000"]
COMPARE = [BUILD / "bin" / "elision", "compare", "--machine", "native", "--locks", "pthread,tatas", "--runs", "1", "--",
           *PROGRAM]


def shell(script, folder, words=("sh",)):
    return subprocess.run([*words, "-c", script], env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True,
                          check=False, timeout=300)


class NoCounters(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.compare = shlex.join(map(str, COMPARE))

    def check(self, done, reason):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = [line for line in done.stderr.splitlines() if "not counted" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(reason, said[0])
        self.assertNotIn("took no lock", done.stdout)

    def test_a_limit_on_the_size_of_files(self):
        for blocks in (0, 1):
            with self.subTest(blocks=blocks):
                self.check(shell(f"ulimit -f {blocks}; {self.compare}", self.folder), "File too large")

    def on_small_disk(self, size):
        done = shell(f"mount -t tmpfs -o size={size} tmpfs {self.folder} || exit 77; {self.compare}", self.folder,
                     ("unshare", "--user", "--map-root-user", "--mount", "sh"))
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("no namespaces here")
        return done

    def test_a_full_disk(self):
        self.check(self.on_small_disk("8k"), "No space left on device")

    def test_a_disk_with_little_room(self):
        done = self.on_small_disk("64k")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("not counted", done.stderr)


if __name__ == "__main__":
    unittest.main()
