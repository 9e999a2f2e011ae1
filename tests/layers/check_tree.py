#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lint of the tree as a test: arrows between parts run one way, files say their licence and nothing
about the machine they were written on, folders explain themselves, links lead somewhere.

    check_tree.py ROOT

Prints one line a violation (file:line: what) and ends with 1 if there is any. check_tree_test.py seeds
violations and expects them to be found.
"""

import fnmatch
import pathlib
import re
import sys

# What a part may include besides itself: the arrows of docs/ARCHITECTURE.md, followed to their ends. A part with rooms has a row
# for each of them, and one of its own only for files that lie above the rooms.
LAYERS = {
    "base": set(),
    "abi": {"base"},
    "htm": {"base", "abi"},
    "locks": {"base", "abi", "htm"},
    "api": {"base", "abi", "htm", "locks"},
    "runtime": {"base", "abi", "htm", "locks"},
    "preload": {"base", "abi", "htm", "locks", "runtime"},
    "tm": {"base", "abi", "htm", "locks", "runtime"},
    "machine": {"base"},
    "profile": {"base", "abi"},
}
BELOW_VM = {"base", "abi", "machine"}
VM_ROOMS = {
    "interface": set(),
    "host": {"interface"},
    "decode": {"interface", "host"},
    "cpu": {"interface"},
    "code": {"interface", "host", "decode", "cpu"},
    "translate": {"interface", "host", "decode", "cpu", "code"},
    "report": {"interface", "host", "decode", "cpu"},
    "linux/memory": {"interface", "host"},
    "linux/process": {"interface", "host", "linux/memory"},
    "linux/load": {"interface", "host", "linux/memory", "linux/process"},
    "linux/events": {"interface", "host", "linux/memory", "linux/process"},
    "linux/signals": {"interface", "host", "linux/memory", "linux/process", "linux/events"},
    "linux/syscalls": {"interface", "host", "linux/memory", "linux/process", "linux/events", "linux/load", "linux/signals"},
    "linux": {"interface", "host", "linux/memory", "linux/process", "linux/events", "linux/load", "linux/signals", "linux/syscalls"},
    "engine": {"interface", "host", "decode", "cpu", "code", "translate", "report", "linux", "linux/load"},
}
LAYERS |= {f"vm/{room}": BELOW_VM | {f"vm/{other}" for other in others} for room, others in VM_ROOMS.items()}
LAYERS["vm/cpu"] |= {"profile"}
LAYERS["vm/engine"] |= {"profile"}
LAYERS["vm/report"] |= {"profile"}
BELOW_CLI = {
    "host": {"base", "htm"},
    "doctor": {"base", "abi", "htm"},
    "options": {"base", "abi", "machine", "vm/interface"},
    "experiment": {"base", "abi", "machine", "profile", "vm/engine"},
    "judge": {"base", "machine", "profile"},
    "show": {"base", "machine", "profile"},
}
CLI_ROOMS = {
    "host": set(),
    "doctor": {"host"},
    "options": {"host", "doctor"},
    "experiment": {"host", "options"},
    "judge": {"host", "options", "experiment"},
    "show": {"host", "options", "experiment", "judge"},
}
LAYERS |= {f"cli/{room}": BELOW_CLI[room] | {f"cli/{other}" for other in others} for room, others in CLI_ROOMS.items()}
# The verbs lie above the rooms of cli.
LAYERS["cli"] = {"base", "abi", "htm", "machine", "vm/interface", "vm/engine", "profile"} | {f"cli/{room}" for room in CLI_ROOMS}
# The texts describe the verbs; nothing includes them.
LAYERS["cli/texts"] = {"cli", "cli/host", "cli/options", "machine"}
PARTS = {name.split("/")[0] for name in LAYERS}

# Knowledge that a part must not have.
FORBIDDEN_HEADERS = {
    "locks": ("pthread.h", "mutex", "stdio.h", "cstdio", "iostream", "fstream"),
    "machine": ("Zydis/",),
    "profile/analysis": ("fstream", "cstdio", "stdio.h", "fcntl.h", "filesystem"),
}

# The libraries that run with the guest's registers live, by the folder whose CMakeLists.txt lists their units; and the headers
# that they may reach. Every libstdc++ allows these with -ffreestanding; containers and strings it refuses from version 13 on.
FREESTANDING_LIBRARIES = {"src/machine": "elision_machine_model", "src/vm/cpu": "elision_vm_helpers"}
FREESTANDING_HEADERS = {"algorithm", "array", "atomic", "bit", "climits", "compare", "concepts", "cstddef", "cstdint", "initializer_list",
                        "iterator", "limits", "new", "span", "tuple", "type_traits", "utility"}

CODE = {".h", ".cc", ".c", ".cpp", ".S", ".inc"}
LICENSED = CODE | {".py", ".sh", ".cmake", ".toml", ".txt", ".map", ".pml", ".ts", ".mjs", ".css"}
LICENSED_NAMES = {"Makefile", "CMakeLists.txt", "run"}
LICENSE_LINE = "SPDX-License-Identifier: Apache-2.0"
LICENSE_WITHIN_LINES = 3

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|work|Users)/\w")
PRINTS = re.compile(r"\bfmt::print\b|std::(?:cout|cerr|puts|fputs|printf|fprintf|fwrite)\b")
CONSOLE = "src/cli/host/console.cc"  # the one place of the command line that prints: it sees when output is lost
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")

LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGE = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.md\b")
NAMED = re.compile(r"`((?:src|include|workloads|tests|tools|machines|repro|docs|viewer)/[\w./*-]+)`")
NAMED_BESIDE = re.compile(r"`((?:\w+/)*\w+\.(?:cc|h|S|py|sh|toml|\*))`")
CODE_SPAN = re.compile(r"`[^`]*`")
HEADING = re.compile(r"#+ +(.*)")

SOURCE_FOLDERS = ("src", "include", "workloads", "tests", "tools", "machines", "repro", "docs", "packaging", "viewer/src", ".ci")
TOP_FILES = ("CMakeLists.txt", "Makefile", "CMakePresets.json", "README.md")
NO_README = {"golden", "data", "__pycache__"}
# These files hold the words they search for.
SELF = {"tests/layers/check_tree.py", "tests/layers/check_tree_test.py"}


def text_files(root):
    """Every text file of the product below root, as (path relative to root, lines)."""
    paths = [root / name for name in TOP_FILES]
    for folder in SOURCE_FOLDERS:
        paths += sorted((root / folder).rglob("*"))
    for path in paths:
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        yield path.relative_to(root), lines


def part_at(folder):
    """The part, or the room of one, that holds `folder` ("vm/linux/load"): the longest known start of it, or its first word."""
    words = folder.split("/")
    starts = ["/".join(words[:length]) for length in range(len(words), 0, -1)]
    return next((start for start in starts if start in LAYERS), words[0])


def part_of(path):
    """The architectural part of a file under src, or None."""
    return part_at("/".join(path.parts[1:-1])) if len(path.parts) > 2 and path.parts[0] == "src" else None


def check_includes(path, lines):
    part = part_of(path)
    if part is None or path.suffix not in CODE:
        return
    if part not in LAYERS:
        yield 1, f"part '{part}' is not in the table of layers"
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        other = part_at(target.rpartition("/")[0])
        if other.split("/")[0] in PARTS and "/" in target and other != part and other not in LAYERS[part]:
            yield number, f"{part} must not include {target}: no arrow runs from {other} to {part}"
        for folder, headers in FORBIDDEN_HEADERS.items():
            # A unit test may use what its unit may not.
            inside = str(path).startswith(f"src/{folder}/") and not path.stem.endswith("_test")
            if inside and any(target == h or (h.endswith("/") and target.startswith(h)) for h in headers):
                yield number, f"{folder} must not include {target}"


def check_public_headers(path, lines):
    if path.parts[0] != "include":
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match and match.group(2).split("/")[0] in PARTS:
            yield number, f"a public header must not include {match.group(2)}"


def needs_license(path, lines):
    script = bool(lines) and lines[0].startswith("#!")
    return path.suffix in LICENSED or path.name in LICENSED_NAMES or script


def check_license(path, lines):
    if not needs_license(path, lines) or "data" in path.parts or "golden" in path.parts:
        return
    if not any(LICENSE_LINE in line for line in lines[:LICENSE_WITHIN_LINES]):
        yield 1, "the SPDX line is missing"


def check_prints(path, lines):
    if path.suffix not in CODE or not str(path).startswith("src/cli/") or str(path) == CONSOLE:
        return
    for number, line in enumerate(lines, 1):
        if PRINTS.search(line):
            yield number, f"prints past {CONSOLE}"


def check_words(path, lines):
    if str(path) in SELF:
        return
    for number, line in enumerate(lines, 1):
        if MACHINE_PATH.search(line):
            yield number, "names a path of one machine"
        if path.suffix in CODE | {".py"} and UNFINISHED.search(line):
            yield number, "says that it is unfinished"


def prose(lines):
    """The numbered lines of a Markdown page outside of fenced blocks, without code spans."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, CODE_SPAN.sub("", line)


def anchors(lines):
    """The anchors of a page's headings, as GitHub makes them."""
    fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        heading = None if fenced else HEADING.match(line)
        if heading:
            words = re.sub(r"\]\([^)]*\)", "", heading.group(1)).lower()
            yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def check_links(root):
    """Relative links of every Markdown page, files that a page names, and pages of docs/ that any text file names."""
    for path, lines in text_files(root):
        for number, line in enumerate(lines, 1) if path.suffix == ".md" else ():
            for name in NAMED.findall(line):
                if not any(root.glob(name.rstrip("/"))):
                    yield path, number, f"names {name}, which does not exist"
        for number, line in prose(lines) if path.suffix == ".md" else ():
            for target in LINK.findall(line):
                if "://" in target:
                    continue
                name, _, anchor = target.partition("#")
                page = root / path.parent / name if name else root / path
                if not page.exists():
                    yield path, number, f"links to {name}, which does not exist"
                elif anchor and anchor not in anchors(page.read_text(encoding="utf-8").splitlines()):
                    yield path, number, f"links to {target}, which has no such heading"
        for number, line in enumerate(lines, 1) if str(path) not in SELF else ():
            for name in PAGE.findall(line):
                if not (root / name).is_file():
                    yield path, number, f"names {name}, which does not exist"


def check_names_in_readmes(root):
    """Files that a README under src names, in its folder or anywhere."""
    files = [f"/{path}" for path, _ in text_files(root)]
    for path, lines in text_files(root):
        if path.parts[0] != "src" or path.name != "README.md":
            continue
        for number, line in enumerate(lines, 1):
            for name in NAMED_BESIDE.findall(line):
                if not fnmatch.filter(files, f"*/{name}"):
                    yield path, number, f"names {name}, which does not exist"


def reached_headers(root, units):
    """(file, line, header) of every <header> that the units include, directly or through the project's own files."""
    files, seen = list(units), set()
    while files:
        file = files.pop()
        if file in seen or not (root / file).is_file():
            continue
        seen.add(file)
        for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), 1):
            if match := INCLUDE.match(line):
                if match.group(1) == "<":
                    yield file, number, match.group(2)
                else:
                    files.append(pathlib.Path("src") / match.group(2))


def check_freestanding(root):
    for folder, library in FREESTANDING_LIBRARIES.items():
        lists = pathlib.Path(folder) / "CMakeLists.txt"
        if not (root / lists).is_file():
            continue
        units = re.search(rf"add_library\({library} STATIC\s([^)]*)\)", (root / lists).read_text(encoding="utf-8"))
        if not units:
            yield lists, 1, f"does not list the units of {library}"
            continue
        for file, number, header in reached_headers(root, [pathlib.Path(folder) / unit for unit in units.group(1).split()]):
            if header not in FREESTANDING_HEADERS:
                yield file, number, f"{library} is freestanding and must not reach <{header}>"


def check_readmes(root):
    folders = [root / "src"] + [p for p in sorted((root / "src").rglob("*")) if p.is_dir()]
    folders += [root / name for name in ("workloads", "machines", "tests", "tools", "repro")]
    for folder in folders[1:]:
        if folder.is_dir() and folder.name not in NO_README and not (folder / "README.md").is_file():
            yield folder.relative_to(root), 0, "the folder has no README.md"


def violations(root):
    """Every violation below root as (relative path, line, what)."""
    root = pathlib.Path(root)
    for path, lines in text_files(root):
        for check in (check_includes, check_public_headers, check_license, check_prints, check_words):
            for number, what in check(path, lines):
                yield path, number, what
    yield from check_freestanding(root)
    yield from check_readmes(root)
    yield from check_links(root)
    yield from check_names_in_readmes(root)


def main():
    found = list(violations(sys.argv[1]))
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
