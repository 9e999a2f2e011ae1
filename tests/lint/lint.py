#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lints the tree: layout, likely defects, shell scripts, Python, layers.

    lint.py [--tools FOLDER] [--build FOLDER] [--root FOLDER] [STEP...]

Steps: format, tidy, shell, python, tree; all of them if none is named. FOLDER of --tools holds the programs of requirements.txt
(a virtual environment's bin); --build has the compile_commands.json. Prints what the tools find, and one line a step; ends with 1 if
a step is not clean, with 2 if it cannot run.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

CODE = {".cc", ".h", ".c"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
KNOWN_CLEAN = "tests/lint/known_clean.txt"
CONFIGURATION = (".clang-tidy", "tests/lint/requirements.txt")
# Options of GCC that clang does not have, and -Werror: the compiler's own warnings are the build's affair.
GCC_ONLY = {"-fno-tree-loop-distribute-patterns", "-Wno-clobbered", "-Werror"}
# What clang cannot parse: files, and folders with all their files.
UNPARSED = {
    "tests/guest/nested_functions.c": "GCC's nested functions",
    "tests/tm/programs/": "GCC's transactions",
    "workloads/sections/program_gcc_tm.cc": "GCC's transactions",
}


class CannotRun(Exception):
    """Why a step cannot run, in one line."""


def output_of(*words):
    """What a program prints without which no step can run."""
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError:
        raise CannotRun(f"{words[0]} is missing (make lint installs it)") from None
    if done.returncode != 0:
        raise CannotRun(f"{words[0]} failed: {' '.join(done.stderr.split())}")
    return done.stdout


class Tree:
    """The tracked files below a root, and where the tools are."""

    def __init__(self, root, build, tools):
        self.root, self.build, self.tools = root, build, tools
        listed = output_of("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        self.files = sorted(name for name in listed.split("\0") if name and (root / name).is_file())

    def run(self, program, *arguments):
        """(exit code, what it printed) of one of the tools."""
        path = self.tools / program
        if not path.exists():
            raise CannotRun(f"{path} is missing (make lint installs it)")
        done = subprocess.run([path, *arguments], cwd=self.root, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8")


def is_formatted_code(name):
    """Programs in C below tests/ are compiled as they are, public headers are laid out to be read: not these."""
    return pathlib.PurePath(name).suffix in CODE and not name.startswith("include/") and not name.endswith(".c")


def check_format(tree):
    return tree.run("clang-format", "--dry-run", "--Werror", *filter(is_formatted_code, tree.files))


def is_shell(tree, name):
    with open(tree.root / name, "rb") as file:
        first = file.readline()
    return re.match(rb"#!.*\b(ba|da)?sh\b", first) is not None


def check_shell(tree):
    scripts = [name for name in tree.files if is_shell(tree, name)]
    return tree.run("shellcheck", "--severity", "warning", *scripts)


def check_python(tree):
    return tree.run("ruff", "check", "--no-cache", "--quiet", ".")


def check_tree(tree):
    done = subprocess.run([sys.executable, "-B", tree.root / "tests/layers/check_tree.py", tree.root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def include_folders(tree, words):
    """The folders of the tree in which the compiler looks for headers."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        named = following if word in ("-I", "-isystem") else word[2:] if word.startswith("-I") else ""
        if named.startswith("ROOT"):
            yield named.removeprefix("ROOT").strip("/")


def reached(tree, source, words):
    """The source and every header of the project that it includes, directly or not."""
    folders = list(dict.fromkeys(include_folders(tree, words)))
    files, seen = [source], set()
    while files:
        name = files.pop()
        if name in seen:
            continue
        seen.add(name)
        for target in INCLUDE.findall(tree.read(name)):
            near = os.path.normpath(os.path.join(os.path.dirname(name), target))
            for candidate in (near, *(os.path.join(folder, target) for folder in folders)):
                if (tree.root / candidate).is_file():
                    files.append(candidate)
                    break
    return sorted(seen)


def options_of(tree, commands):
    """The words of compilers' commands without what differs from one machine or one object file to the next."""
    for command in commands:
        words = [word.replace(str(tree.build), "BUILD").replace(str(tree.root), "ROOT") for word in command.split()]
        folders = {place + 1 for place, word in enumerate(words) if word in ("-I", "-isystem")}
        yield from (word for place, word in enumerate(words)
                    if place in folders or word.startswith(("-D", "-I", "-std", "-m", "-f", "-isystem")))


def hash_of(tree, source, commands):
    words = list(options_of(tree, commands))
    total = hashlib.sha256(" ".join(words).encode())
    for name in (*CONFIGURATION, *reached(tree, source, words)):
        total.update(f"\n{name}\n{tree.read(name)}".encode())
    return total.hexdigest()[:32]


def compiled_sources(tree):
    """The commands of each tracked source that the build compiles, by name."""
    database = tree.build / "compile_commands.json"
    if not database.is_file():
        raise CannotRun(f"{database} is missing (cmake --preset release writes it)")
    tracked, commands = set(tree.files), {}
    for entry in json.loads(database.read_text(encoding="utf-8")):
        name = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.root)
        if name in tracked and name.endswith((".cc", ".c")):
            commands.setdefault(name, []).append(entry["command"])
    return commands


def load_known(tree):
    path = tree.root / KNOWN_CLEAN
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def save_known(tree, known):
    text = "# SPDX-License-Identifier: Apache-2.0\n# Sources in which clang-tidy finds nothing (README.md).\n"
    text += "".join(f"{name} {known[name]}\n" for name in sorted(known))
    temporary = tree.root / f"{KNOWN_CLEAN}.part"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(tree.root / KNOWN_CLEAN)


def write_commands_for_clang(tree):
    """The folder with the compiler's commands as clang understands them. PyPI's clang-tidy lacks some headers of Debian's clang."""
    folder = tree.build / "lint"
    headers = folder / "include"
    headers.mkdir(parents=True, exist_ok=True)
    resources = output_of("clang", "-print-resource-dir").strip()
    for name in ("omp.h", "sanitizer"):
        (headers / name).unlink(missing_ok=True)
        (headers / name).symlink_to(f"{resources}/include/{name}")
    entries = json.loads((tree.build / "compile_commands.json").read_text(encoding="utf-8"))
    for entry in entries:
        words = [word for word in entry["command"].split() if word not in GCC_ONLY]
        entry["command"] = " ".join([*words, "-w", "-idirafter", str(headers)])
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def check_tidy(tree):
    commands = {name: each for name, each in compiled_sources(tree).items() if not name.startswith(tuple(UNPARSED))}
    folder = write_commands_for_clang(tree)
    hashes = {name: hash_of(tree, name, each) for name, each in commands.items()}
    known = load_known(tree)
    clean = {name: value for name, value in hashes.items() if known.get(name) == value}
    wanted = sorted(set(hashes) - set(clean))
    status, found = 0, ""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def tidy(name):
            return name, tree.run("clang-tidy", "-p", str(folder), "--quiet", name)
        try:
            for name, (code, text) in pool.map(tidy, wanted):
                if code == 0:
                    clean[name] = hashes[name]
                else:
                    status, found = 1, found + text
        finally:  # what was looked at before an interrupt need not be looked at again
            pool.shutdown(cancel_futures=True)
            if clean != known:
                save_known(tree, clean)
    print(f"lint: clang-tidy looked at {len(wanted)} of {len(hashes)} sources; the others are known to be clean")
    return status, found


STEPS = {"format": check_format, "tidy": check_tidy, "shell": check_shell, "python": check_python, "tree": check_tree}


def is_clean(tree, step):
    code, text = STEPS[step](tree)
    if code != 0:
        print(text, end="")
    print(f"lint: {step}: {'clean' if code == 0 else 'not clean'}", flush=True)
    return code == 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    here = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=here)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--tools", type=pathlib.Path)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    options = parser.parse_args()
    if unknown := [step for step in options.steps if step not in STEPS]:
        parser.error(f"unknown step '{unknown[0]}'")
    root = options.root.resolve()
    build = (options.build or root / "build").resolve()
    try:
        tree = Tree(root, build, (options.tools or build / "lint-tools/bin").absolute())
        return 0 if all([is_clean(tree, step) for step in options.steps or STEPS]) else 1
    except CannotRun as reason:
        print(f"lint: {reason}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
