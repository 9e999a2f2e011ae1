# SPDX-License-Identifier: Apache-2.0
"""How the tests of src/tm run a program: under one library, mode and path."""

import sys

import support

sys.path.insert(0, str(support.ROOT / "tools"))

import tm_counters as counters

# Every way in which a transaction may run; `software` makes each transaction leave the hardware.
WAYS = {
    "serial": {"ELISION_TM": "serial"},
    "ale": {"ELISION_TM": "ale"},
    "ale, logged": {"ELISION_TM": "ale", "ELISION_TM_FAST_PATH": "logged"},
    "ale, in software": {"ELISION_TM": "ale", "TM_SOFTWARE": "1"},
    "hle": {"ELISION_TM": "hle"},
    "hle, in software": {"ELISION_TM": "hle", "TM_SOFTWARE": "1"},
    "hle-scm": {"ELISION_TM": "hle-scm"},
}


def settings(build, way, folder=None, library=None):
    """The environment of a way to run."""
    preloaded = library or build / "lib" / "libelision-tm.so"
    kept = {"ELISION_TM_COUNTERS_DIR": str(folder)} if folder else {}
    return {**WAYS.get(way, {}), "LD_PRELOAD": str(preloaded), **kept}


def run(build, name, way, *arguments, **how):
    """The ending of a test program on this CPU."""
    return support.run([build / "tests" / f"tm_{name}", *arguments], environment=settings(build, way, **how), limit_seconds=120)


def run_virtually(elision, name, way, *arguments, options=(), machine="core-i7-5960x", **how):
    """The same on the virtual machine, where hardware transactions commit."""
    words = [f"{key}={value}" for key, value in settings(elision.build, way, **how).items()]
    program = elision.build / "tests" / f"tm_{name}"
    return elision.vm(["env", *words, program, *arguments], ("--machine", machine, *options), limit_seconds=300)


def counted(folder):
    return counters.of_folder(folder)
