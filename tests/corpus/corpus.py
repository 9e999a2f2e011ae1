#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of programs.toml and locked_programs.toml, and how one of them behaves.

    corpus.py quick|long                      names of the programs in `make test`, or of the others
    corpus.py designs-quick|designs-soak      NAME/native and NAME/virtual of those under lock designs in `make test`, or in `make soak`

How a program behaves is its standard output (after its filter), its standard error unless the script sends it elsewhere, its exit code
and fatal signal. Each run has a fresh folder and an environment without the user's.
"""

import difflib
import json
import pathlib
import re
import socket
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import LIMIT_SECONDS, masked, run, write_words  # noqa: E402

REQUIRED = {"packages", "run"}
KEYS = REQUIRED | {"prepare", "options", "mask", "quick", "status"}
LOCKED_REQUIRED = REQUIRED | {"locks", "soak"}
LOCKED_KEYS = LOCKED_REQUIRED | {"prepare", "options", "mask", "quick", "forms"}
PLACES = ("native", "virtual")
SHOWN_LINES = 30


def read(name, required, keys):
    programs = tomllib.loads((HERE / name).read_text())
    for program, table in programs.items():
        if wrong := set(table) - keys or required - set(table):
            raise ValueError(f"{name}: {program}: unknown or missing {', '.join(sorted(wrong))}")
    return programs


def read_programs():
    return read("programs.toml", REQUIRED, KEYS)


def read_locked_programs():
    programs = read("locked_programs.toml", LOCKED_REQUIRED, LOCKED_KEYS)
    for name, program in programs.items():
        for when in ("forms", "quick", "soak"):
            if wrong := set(program.get(when, {})) - set(PLACES):
                raise ValueError(f"locked_programs.toml: {name}: {when} knows no {', '.join(sorted(wrong))}")
    return programs


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ending(script, folder, prefix=(), more=None, seconds=LIMIT_SECONDS):
    """(output, error output, status) of a script; the folder does not count as a difference, nor the port of a script that has one.

    `more` is added to the environment. Servers that the script left are killed.
    """
    port = str(free_port())
    variables = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC", "TMPDIR": folder,
                 "INPUTS": str(HERE / "inputs"), "PORT": port}
    ended = run([*prefix, "bash", "-c", script], base=variables, environment=more, cwd=folder, limit_seconds=seconds, end_group=True)

    def plain(text):
        text = text.replace(folder, "FOLDER")
        return re.sub(rf"\b{port}\b", "PORT", text) if "$PORT" in script else text

    return plain(ended.stdout), plain(ended.stderr), ended.status


def behaviour(program, prefix=(), more=None, seconds=LIMIT_SECONDS):
    """The filtered text, with the status, of one run behind the words of `prefix`; `more` is environment."""
    with tempfile.TemporaryDirectory() as folder:
        write_words(pathlib.Path(folder) / "words")
        if "prepare" in program:
            out, error, status = ending(program["prepare"], folder)
            assert status == 0, f"prepare ended with status {status}:\n{out}{error}"
        out, error, status = ending(program["run"], folder, prefix, more, seconds)
    patterns = program.get("mask", [])
    return masked(out, patterns) + "--- stderr\n" + masked(error, patterns) + f"--- status {status}\n"


def difference(left, right, left_name, right_name):
    """In some lines; nothing if there is none."""
    lines = list(difflib.unified_diff(left.splitlines(), right.splitlines(), left_name, right_name, lineterm="", n=1))
    more = [f"... {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return "\n".join(lines[:SHOWN_LINES] + more)


def write_forms(statistics, file):
    """One file of all forms in the statistics of a program's processes; those that were killed left none."""
    forms = {}
    for part in sorted(statistics.glob("*.json")):
        if text := part.read_text():
            forms.update(json.loads(text)["instruction_forms"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{form}\t{code}\n" for form, code in sorted(forms.items())))


def missing_packages(program):
    return [package for package in program["packages"]
            if run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package]).stdout != "installed"]


def listed(which):
    if which in ("quick", "long"):
        return [name for name, program in read_programs().items() if program.get("quick", False) == (which == "quick")]
    when = which.removeprefix("designs-")
    return [f"{name}/{place}" for name, program in read_locked_programs().items() for place in PLACES if place in program.get(when, {})]


if __name__ == "__main__":
    print(";".join(listed(sys.argv[1])), end="")
