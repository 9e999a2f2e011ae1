# SPDX-License-Identifier: Apache-2.0
"""A place for commands to run in."""

import contextlib
import os
import pathlib
import subprocess
import threading

import pytest
from support import LIMIT_SECONDS, Ending, command_line, kill_group, recent


class Place:
    """A working directory, and a folder for temporary files that a command must leave empty."""

    def __init__(self, elision, folder):
        self.elision, self.root, self.temporary = elision, folder / "root", folder / "temporary"
        self.environment = {"TMPDIR": str(self.temporary)}
        self.root.mkdir()
        self.temporary.mkdir()

    def run(self, *words, **how):
        """The command line, with these words."""
        return self.elision.run(*words, cwd=self.root, environment=self.environment, **how)

    @contextlib.contextmanager
    def started(self, *words, **how):
        """The command line while it runs, as a subprocess.Popen; killed if the block leaves it running, or if it hangs."""
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        words = [str(word) for word in (self.elision.binary, *words)]
        environment = {**os.environ, **self.environment}
        with subprocess.Popen(words, cwd=self.root, env=environment, text=True, start_new_session=True, **how) as process:
            watchdog = threading.Timer(LIMIT_SECONDS, kill_group, [process.pid])
            watchdog.start()
            try:
                yield process
            finally:
                watchdog.cancel()
                if process.poll() is None:
                    kill_group(process.pid)
                recent.append(Ending(command_line(words, os.environ, self.environment), "", "", process.wait()))

    def loaderless(self):
        """A program that is found and checked, but cannot start: its loader is not there."""
        program = bytearray(pathlib.Path("/bin/true").read_bytes())
        at = program.find(b"/lib64/ld-linux-x86-64.so.2")
        program[at:at + 6] = b"/lib00"
        path = self.root.parent / "loaderless"
        path.write_bytes(program)
        path.chmod(0o755)
        return path

    def left(self):
        return sorted(self.temporary.iterdir())


@pytest.fixture
def place(elision, folder):
    made = Place(elision, folder)
    yield made
    assert made.left() == []
