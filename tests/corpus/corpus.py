#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody wrote for this project behave the same natively and on the virtual machine.

    corpus.py BUILD NAME...             these programs of programs.toml
    corpus.py --list quick|long         names of those in `make test`, or of the others

Compared are standard output (after the program's filter), standard error unless the script sends it elsewhere, exit code and
fatal signal. The filter is tested by the same comparison between two native runs. Each run has a fresh folder, an
environment without the user's, and the virtual ones a seed, which --seed changes. --forms FOLDER leaves in NAME.forms the
forms of instructions that the program executed virtually, each with the bytes of one.
"""

import argparse
import contextlib
import difflib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import masked, write_words  # noqa: E402

# Some ten times what the longest takes: a run that reaches it hangs.
LIMIT_SECONDS = 1200
KEYS = {"packages", "run", "prepare", "options", "mask", "quick", "status"}
SHOWN_LINES = 30


class PrepareError(Exception):
    """What a program needs could not be built natively."""


def read_programs():
    programs = tomllib.loads((HERE / "programs.toml").read_text())
    for name, program in programs.items():
        if unknown := set(program) - KEYS:
            sys.exit(f"programs.toml: {name}: unknown {', '.join(sorted(unknown))}")
        if not {"packages", "run"} <= set(program):
            sys.exit(f"programs.toml: {name}: packages and run are required")
    return programs


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(folder, more=None):
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC", "TMPDIR": folder,
            "INPUTS": str(HERE / "inputs"), "PORT": str(free_port()), **(more or {})}


def kill_group(number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)


def ending(words, folder, port_matters=False, more=None, seconds=LIMIT_SECONDS):
    """Output, error output and status; the folder does not count as a difference, nor the port of who has one.

    `more` is added to the environment. Servers that the script left are killed.
    """
    variables = environment(folder, more)
    with subprocess.Popen(words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            out, error = process.communicate(timeout=seconds)
        except BaseException:  # Ctrl-C and SIGTERM too: nothing is left running
            kill_group(process.pid)
            process.communicate()
            raise
    kill_group(process.pid)

    def plain(data):
        text = data.decode(errors="replace").replace(folder, "FOLDER")
        return re.sub(rf"\b{variables['PORT']}\b", "PORT", text) if port_matters else text

    return plain(out), plain(error), process.returncode


def behaviour(program, prefix, more=None, limit_seconds=LIMIT_SECONDS):
    """(filtered text with the status, status, seconds) of one run behind the words of `prefix`; `more` is environment."""
    with tempfile.TemporaryDirectory() as folder:
        write_words(pathlib.Path(folder) / "words")
        if "prepare" in program:
            out, error, status = ending(["bash", "-c", program["prepare"]], folder)
            if status != 0:
                raise PrepareError(f"prepare ended with status {status}:\n{out}{error}")
        start = time.monotonic()
        out, error, status = ending([*prefix, "bash", "-c", program["run"]], folder, "$PORT" in program["run"], more, limit_seconds)
        seconds = time.monotonic() - start
    patterns = program.get("mask", [])
    return masked(out, patterns) + "--- stderr\n" + masked(error, patterns) + f"--- status {status}\n", status, seconds


def difference(left, right, left_name, right_name):
    lines = list(difflib.unified_diff(left.splitlines(), right.splitlines(), left_name, right_name, lineterm="", n=1))
    more = [f"... {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return "\n".join(lines[:SHOWN_LINES] + more)


def write_forms(statistics, file):
    """One file of all forms in the statistics of a program's processes; those that were killed left none."""
    forms = {}
    for part in sorted(pathlib.Path(statistics).glob("*.json")):
        if text := part.read_text():
            forms.update(json.loads(text)["instruction_forms"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{form}\t{code}\n" for form, code in sorted(forms.items())))


def compare(name, program, build, options, forms):
    missing = [p for p in program["packages"] if not is_installed(p)]
    if missing:
        print(f"{name}: not installed: {' '.join(missing)}")
        return False
    vm = [str(build / "bin" / "elision"), "vm", "--crash-reports", "none", *options, *program.get("options", [])]
    try:
        first, status, native_seconds = behaviour(program, [])
        second, _, _ = behaviour(program, [])
    except PrepareError as error:
        print(f"{name}: {error}")
        return False
    except subprocess.TimeoutExpired:
        print(f"{name}: natively no end within {LIMIT_SECONDS} s")
        return False
    if status != program.get("status", 0):
        print(f"{name}: natively it ends with {status}, which is not what programs.toml says:\n{first}")
        return False
    if first != second:
        print(f"{name}: two native runs differ, which its mask must allow for:")
        print(difference(first, second, "native", "native again"))
        return False
    with tempfile.TemporaryDirectory() as statistics:
        recording = ["--instruction-forms", "--stats-directory", statistics] if forms else []
        try:
            virtual, _, seconds = behaviour(program, [*vm, *recording, "--"])
        except subprocess.TimeoutExpired:
            print(f"{name}: virtually no end within {LIMIT_SECONDS} s")
            return False
        if forms:
            write_forms(statistics, forms / f"{name}.forms")
    if first != virtual:
        print(f"{name}: DIFFERS")
        print(difference(first, virtual, "native", "virtual"))
        print(f"repeat with: tests/corpus/corpus.py {build} {' '.join(options)} {name}".replace("  ", " "))
        return False
    print(f"{name}: same ({native_seconds:.1f} s natively, {seconds:.1f} s virtually)", flush=True)
    return True


def is_installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, check=False)
    return done.stdout == b"installed"


def selected(programs, which):
    return [name for name, program in programs.items() if which == "all" or program.get("quick", False) == (which == "quick")]


def end_on_sigterm():
    """SIGTERM ends this script by way of its exceptions, which kill what it started."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def is_answered(parser, arguments, programs, listed):
    """Answers --list by what `listed` says of its word, and then is true; else checks BUILD and the names."""
    if arguments.list:
        print(";".join(listed(programs, arguments.list)), end="")
        return True
    if arguments.build is None or not arguments.name:
        parser.error("needs BUILD and at least one NAME")
    if not (arguments.build / "bin" / "elision").exists():
        parser.error(f"{arguments.build} has no bin/elision: run make build")
    if unknown := [name for name in arguments.name if name not in programs]:
        parser.error(f"there is no program {', '.join(unknown)}")
    arguments.build = arguments.build.resolve()
    return False


def main():
    end_on_sigterm()
    parser = argparse.ArgumentParser(description="Compares programs natively and on the virtual machine.")
    parser.add_argument("--list", choices=["quick", "long", "all"])
    parser.add_argument("--seed", default="1")
    parser.add_argument("--forms", type=pathlib.Path)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("name", nargs="*")
    arguments = parser.parse_args()
    programs = read_programs()
    if is_answered(parser, arguments, programs, selected):
        return 0
    options = [] if arguments.seed == "1" else ["--seed", arguments.seed]
    good = [compare(name, programs[name], arguments.build, options, arguments.forms) for name in arguments.name]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
