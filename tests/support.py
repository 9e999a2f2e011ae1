# SPDX-License-Identifier: Apache-2.0
"""How tests start programs, natively and on the virtual machine. A failed test shows the last of them (conftest.py)."""

import collections
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import pathlib
import pty
import random
import re
import shlex
import signal
import struct
import subprocess
import tempfile
import termios
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Ten times and more what any of these runs needs; a run that reaches it hangs. Where ctest allows a test less, --limit ends it earlier.
LIMIT_SECONDS = 1200
# A guest finds its environment on its stack: with the caller's, one seed would not be the same run for everybody.
GUEST_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

# The last programs that the running test started.
recent = collections.deque(maxlen=2)


class Ending:
    """What a program leaves behind: what it printed, its exit code or (negative) fatal signal, and the command that repeats it."""

    def __init__(self, command, stdout, stderr, status):
        self.command, self.stdout, self.stderr, self.status = command, stdout, stderr, status

    def __repr__(self):
        return f"<ending {self.status}>"


def command_line(words, base, environment):
    """What repeats a run in a shell."""
    environment = environment or {}
    if base is not os.environ:
        words = ["env", "-i", *(f"{name}={value}" for name, value in {**base, **environment}.items()), *words]
    elif environment:
        words = ["env", *(f"{name}={value}" for name, value in environment.items()), *words]
    return shlex.join(map(str, words))


def kill_group(number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


def run(words, base=os.environ, environment=None, fixed_addresses=False, limit_seconds=LIMIT_SECONDS, end_group=False, text="",
        unshown=(), **how):
    """Runs `words` to the end, with `text` as input; `environment` is added to `base`, `how` are arguments of subprocess.Popen.

    A program that reaches the limit is killed with its process group, and with `end_group` what any program leaves of it. The command
    that is shown lacks the words `unshown`.
    """
    how = {"stdin": subprocess.PIPE if text else subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    if fixed_addresses:
        how["preexec_fn"] = fix_addresses
    command = command_line([word for word in words if word not in unshown], base, environment)
    with subprocess.Popen([str(word) for word in words], env={**base, **(environment or {})}, start_new_session=True, **how) as process:
        try:
            out, error = process.communicate(text.encode() if text else None, timeout=limit_seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            out, error, status = killed(process, f"killed after {limit_seconds} s")
        except BaseException:  # Ctrl-C, SIGTERM and the test's own limit too: nothing is left running
            note_ending(command, *killed(process, "killed as the test ended"))
            raise
    if end_group:
        kill_group(process.pid)
    return note_ending(command, out, error, status)


def killed(process, why):
    """(output, error output, status) of a program that is killed now, with its process group."""
    kill_group(process.pid)
    try:
        out, error = process.communicate(timeout=10)
    except subprocess.TimeoutExpired as held:  # a process outside the group holds the pipe
        out, error = held.stdout, held.stderr
    return out, (error or b"") + f"\n{why}".encode(), -signal.SIGKILL


def note_ending(command, out, error, status):
    ending = Ending(command, *((data or b"").decode(errors="replace") for data in (out, error)), status)
    recent.append(ending)
    return ending


def printed(words, **how):
    """What a program prints that has to succeed."""
    ending = run(words, **how)
    assert ending.status == 0
    return ending.stdout


def expect_refused(ending, *named):
    """Bad input: exit code 2 and one line, with everything in `named`."""
    assert (ending.status, ending.stdout) == (2, "")
    assert len(ending.stderr.splitlines()) == 1
    for name in named:
        assert name in ending.stderr


def fix_addresses():
    """In a child before it executes a program: the kernel draws no addresses."""
    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    if personality(0x0040000) == -1:  # ADDR_NO_RANDOMIZE, personality(2)
        raise OSError(ctypes.get_errno(), "personality")


def can_fix_addresses():
    """Containers may forbid it."""
    try:
        return run(["true"], fixed_addresses=True).status == 0
    except subprocess.SubprocessError:
        return False


def forbid_system_calls(*numbers):
    """In a child before it executes a program: from now on the calls end with ENOSYS (seccomp(2))."""
    rows = [(0x20, 0, 0, 0)]  # load the number
    rows += [row for number in numbers for row in ((0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | errno.ENOSYS))]
    rows += [(0x06, 0, 0, 0x7FFF0000)]  # allow all others
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in rows))
    header = struct.pack("@HP", len(rows), ctypes.addressof(program))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for words in ((38, 1, 0, 0, 0), (22, 2, ctypes.c_char_p(header))):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        if prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


class Terminal:
    """A pseudo-terminal of that many columns, for programs that behave otherwise on one."""

    def __init__(self, columns, rows=50):
        self.size = struct.pack("HHHH", rows, columns, 0, 0)

    def run(self, words, status=0, **environment):
        """What a program shows that ends with `status`. All three standard descriptors are the terminal."""
        control, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, self.size)
        shown = []
        reader = threading.Thread(target=lambda: shown.extend(iter(lambda: read_until_closed(control), b"")))
        reader.start()
        base = {**GUEST_ENVIRONMENT, "TERM": "xterm-256color", "TMPDIR": tempfile.gettempdir()}
        ending = run(words, base=base, environment=environment, stdin=side, stdout=side, stderr=side)
        os.close(side)
        reader.join()
        os.close(control)
        text = b"".join(shown).decode().replace("\r\n", "\n")
        recent[-1].stdout = text
        assert ending.status == status
        return text


def read_until_closed(control):
    """The next bytes of a pseudo-terminal, b"" when its other side is closed."""
    try:
        return os.read(control, 1 << 16)
    except OSError:  # EIO: no process has the other side any more
        return b""


class Elision:
    """The build under test."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.binary = self.build / "bin" / "elision"

    def workload(self, name):
        return self.build / "workloads" / name

    def test_program(self, name):
        return self.build / "tests" / name

    def run(self, *words, **how):
        """The command line itself."""
        return run([self.binary, *words], **how)

    def vm(self, words, options=(), **how):
        return run([self.binary, "vm", *options, "--", *words], base=GUEST_ENVIRONMENT, **how)

    def vm_with_statistics(self, words, options=(), **how):
        """The ending and the text of the statistics file (None if there is none)."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "statistics.json"
            statistics = (f"--stats={file}",)
            ending = self.vm(words, (*options, *statistics), unshown=statistics, **how)
            return ending, file.read_text() if file.exists() else None

    def totals(self, words, options=(), **how):
        ending, text = self.vm_with_statistics(words, options, **how)
        return ending, json.loads(text)["totals"] if text else {}


def waits(design, seed):
    """Options that make every design wait in both ways, with one seed or another."""
    return ["--wait", "park" if (seed + len(design)) % 2 else "spin"]


def write_words(path, lines=4000):
    """A text of made-up words, the same in every run."""
    draw = random.Random(7)
    vocabulary = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 8))) for _ in range(500)]
    with open(path, "w", encoding="ascii") as file:
        for _ in range(lines):
            file.write(" ".join(draw.choices(vocabulary, k=8)) + "\n")


def masked(text, patterns):
    """`text` with what each of `patterns` matches replaced by "#"."""
    for pattern in patterns:
        text = re.sub(pattern, "#", text, flags=re.MULTILINE)
    return text
