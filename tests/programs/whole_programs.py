# SPDX-License-Identifier: Apache-2.0
"""How the tests in this folder start programs, natively and on the virtual machine."""

import ctypes
import errno
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import tempfile

# Ten times and more what any of these runs needs; a run that reaches it hangs.
LIMIT_SECONDS = 1200


class Ending:
    """What a program leaves behind: what it printed, and its exit code or (negative) fatal signal."""

    def __init__(self, stdout, stderr, status):
        self.stdout, self.stderr, self.status = stdout, stderr, status

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


# A guest finds its environment on its stack: with the caller's, one seed would not be the same run for everybody.
GUEST_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def fix_addresses():
    """In a child before it executes a program: the kernel draws no addresses."""
    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    if personality(0x0040000) == -1:  # ADDR_NO_RANDOMIZE, personality(2)
        raise OSError(ctypes.get_errno(), "personality")


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


def can_fix_addresses():
    """Containers may forbid it."""
    try:
        return run(["true"], fixed_addresses=True).status == 0
    except subprocess.SubprocessError:
        return False


def run(words, cwd=None, environment=None, base=os.environ, fixed_addresses=False):
    """Runs `words` to the end; `environment` is added to `base`. What reaches the limit was killed, and says so."""
    try:
        done = subprocess.run(
            [str(word) for word in words], cwd=cwd, env={**base, **(environment or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=LIMIT_SECONDS, check=False, preexec_fn=fix_addresses if fixed_addresses else None)
    except subprocess.TimeoutExpired as ended:
        return Ending((ended.stdout or b"").decode(errors="replace"), f"killed after {LIMIT_SECONDS} s", -signal.SIGKILL)
    return Ending(done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.returncode)


def say_cpu(build):
    """Prints which kind of CPU this is, as the first line of a test, if the build has the program that knows."""
    program = pathlib.Path(build) / "tests" / "cpu_kind"
    if program.exists():
        print(subprocess.run([program], capture_output=True, text=True, check=False).stdout, end="", flush=True)


class Elision:
    """The build under test."""

    cpu_is_said = False

    def __init__(self, build):
        self.build = pathlib.Path(build)
        if not Elision.cpu_is_said:
            say_cpu(build)
        Elision.cpu_is_said = True
        self.binary = self.build / "bin" / "elision"

    def workload(self, name):
        return self.build / "workloads" / name

    def vm_command(self, words, options=(), environment=None):
        """The words of a shell command that repeats vm(), in any environment."""
        settings = [f"{name}={value}" for name, value in {**GUEST_ENVIRONMENT, **(environment or {})}.items()]
        return ["env", "-i", *settings, self.binary, "vm", *options, "--", *words]

    def vm(self, words, options=(), **how):
        return run([self.binary, "vm", *options, "--", *words], base=GUEST_ENVIRONMENT, **how)

    def printed(self, words, options=()):
        """What a program prints that has to succeed."""
        ending = self.vm(words, options)
        if ending.status != 0:
            raise SystemExit(f"{words}: {ending!r}")
        return ending.stdout

    def vm_with_statistics(self, words, options=(), **how):
        """The ending and the text of the statistics file (None if there is none)."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "statistics.json"
            ending = self.vm(words, (*options, "--stats", file), **how)
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
