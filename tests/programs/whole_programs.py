# SPDX-License-Identifier: Apache-2.0
"""How the tests in this folder start programs, natively and on the virtual machine."""

import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

# Ten times what any of these runs needs; a run that reaches it hangs.
LIMIT_SECONDS = 300


class Ending:
    """What a program leaves behind: what it printed, and its exit code or (negative) fatal signal."""

    def __init__(self, stdout, stderr, status):
        self.stdout, self.stderr, self.status = stdout, stderr, status

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def run(words, cwd=None, environment=None):
    """Runs `words` to the end; `environment` is added to ours."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=LIMIT_SECONDS, check=False)
    return Ending(done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.returncode)


class Elision:
    """The build under test."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.binary = self.build / "bin" / "elision"

    def workload(self, name):
        return self.build / "workloads" / name

    def vm(self, words, options=(), **how):
        return run([self.binary, "vm", *options, "--", *words], **how)

    def vm_with_statistics(self, words, options=(), **how):
        """The ending and the text of the statistics file (None if there is none)."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "statistics.json"
            ending = self.vm(words, (*options, "--stats", file), **how)
            return ending, file.read_text() if file.exists() else None

    def totals(self, words, options=(), **how):
        ending, text = self.vm_with_statistics(words, options, **how)
        return ending, json.loads(text)["totals"] if text else {}


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
