# SPDX-License-Identifier: Apache-2.0
"""However a command ends, nothing that it started runs on, and no folder of it stays."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
from support import LIMIT_SECONDS, forbid_system_calls, run

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


class Meeting:
    """A program that waits for ever and has started another in a session of its own, without environment, which waits too."""

    def __init__(self, place, folder):
        self.place, self.folder = place, folder
        self.never, self.mark = folder / "never", folder / "started"
        os.mkfifo(self.never)
        # In the virtual machine a sleep would take no time; nobody ever writes to the FIFO.
        wait = f"cat {self.never}"
        self.program = ["bash", "-c", f"env -i setsid {wait} & echo >{self.mark}; {wait}"]

    def processes(self):
        """Those that our folder's name shows to belong to the command. A guest's engine shows it as its directory."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes() + os.fsencode(os.readlink(entry / "cwd"))
            except OSError:
                continue
            if os.fsencode(self.folder) in words:
                found.append(int(entry.name))
        return found

    def kill_all(self):
        """A failure must not leave processes, to which new ones may be born."""
        while processes := self.processes():
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)

    @contextlib.contextmanager
    def started(self, *words):
        """The command, from when its program runs with the program's own child."""
        nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with self.place.started(*words, "--", *self.program, **nowhere) as command:
            until(self.mark.exists, lambda: "the program did not start")
            assert self.place.left() != []
            yield command

    def expect_nothing_left(self):
        until(lambda: not self.processes() and not self.place.left(),
              lambda: f"left: processes {self.processes()}, {self.place.left()}")

    def compare(self, options, program, **how):
        return self.place.run("compare", "--machine", "native", "--locks", "tatas", *options, "--", *program, **how)


def until(condition, what):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.01)


@pytest.fixture
def meeting(place, folder):
    met = Meeting(place, folder)
    yield met
    met.kill_all()


each_command = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())


@each_command
@pytest.mark.parametrize("number, status", SIGNALS.items(), ids=[number.name for number in SIGNALS])
def test_signals_to_the_command(meeting, words, number, status):
    with meeting.started(*words) as command:
        command.send_signal(number)
        assert command.wait(LIMIT_SECONDS) == status
    meeting.expect_nothing_left()


@each_command
def test_kill_of_the_whole_process_group(meeting, words):
    with meeting.started(*words) as command:
        os.killpg(command.pid, signal.SIGKILL)
        command.wait(LIMIT_SECONDS)
    meeting.expect_nothing_left()


def guards(meeting, command):
    """The processes between the command and its program: forks of the command that have children."""
    words = pathlib.Path("/proc", str(command.pid), "cmdline").read_bytes()
    others = [process for process in meeting.processes() if process != command.pid]
    parents = {parent_of(process) for process in others}
    return sorted(process for process in others if process in parents
                  and pathlib.Path("/proc", str(process), "cmdline").read_bytes() == words)


@each_command
@pytest.mark.parametrize("which", [0, -1], ids=["first", "last"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_kill_of_a_guard(meeting, words, which, number):
    with meeting.started(*words) as command:
        os.kill(guards(meeting, command)[which], number)
        assert command.wait(LIMIT_SECONDS) == 2
    meeting.expect_nothing_left()


def test_guards_have_other_names_than_the_command(meeting):
    with meeting.started(*COMMANDS["vm --vary"]) as command:
        found = guards(meeting, command)
        assert found
        for guard in found:
            assert "elision" not in pathlib.Path("/proc", str(guard), "comm").read_text()
        command.terminate()
        command.wait(LIMIT_SECONDS)
    meeting.expect_nothing_left()


def test_time_limit_holds_without_new_system_calls(meeting):
    ending = meeting.compare(["--timeout", "1"], meeting.program, limit_seconds=60,
                             preexec_fn=lambda: forbid_system_calls(PIDFD_OPEN, CLOSE_RANGE, SIGNALFD4))
    assert ending.status == 1
    assert "did not end within" in ending.stdout
    meeting.expect_nothing_left()


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root")
def test_process_of_another_user_is_named_and_not_waited_for(elision, place, folder, meeting):
    folder.chmod(0o711)
    meeting.never.chmod(0o644)
    other_user = ["setpriv", "--reuid", "65534", "--clear-groups", *meeting.program]
    # Without the right to signal everybody.
    ending = run(["setpriv", "--bounding-set", "-kill", elision.binary, "compare", "--machine", "native", "--locks", "tatas",
                  "--timeout", "1", "--", *other_user], cwd=place.root, environment=place.environment, limit_seconds=60)
    assert ending.status == 1
    assert "which setpriv started, cannot be ended and runs on: it belongs to another user" in ending.stderr
    assert place.left() == []


def test_killed_supervisor_leaves_no_folder(meeting, place):
    with meeting.started("vm", "--stats", "s.json") as command:
        command.kill()
        command.wait(LIMIT_SECONDS)
    until(lambda: not place.left(), lambda: "the folder is still there")


@pytest.fixture
def nohup():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def test_hang_up_under_nohup_stops_nothing(nohup, meeting):
    with meeting.started(*COMMANDS["vm --vary"]) as command:
        status = pathlib.Path("/proc", str(command.pid), "status").read_text()
        ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16)
        assert ignored & 1 << (signal.SIGHUP - 1)
        command.send_signal(signal.SIGTERM)
        assert command.wait(LIMIT_SECONDS) == 130
    meeting.expect_nothing_left()


def test_what_a_run_leaves_running_is_ended_with_it(meeting):
    ending = meeting.compare(["--runs", "1"], ["bash", "-c", f"setsid cat {meeting.never} >/dev/null 2>&1 & true"])
    assert ending.status == 0
    assert meeting.processes() == []
