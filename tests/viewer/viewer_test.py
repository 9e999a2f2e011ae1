# SPDX-License-Identifier: Apache-2.0
"""The page of `elision compare --html` and `elision report --html`: the committed page is what its sources make, and works in Debian's Chromium. There the report of
`make repro` is tried too."""

import json
import os
import pathlib
import re
import shutil

import made_up_claims
import pytest
from support import ROOT, run

VIEWER = ROOT / "viewer"
TESTS = ROOT / "tests" / "viewer"
CHROMIUM = pathlib.Path("/usr/bin/chromium")
NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT")


def install(folder):
    """Installs the packages of the lock file, unless they are there."""
    lock = (VIEWER / "package-lock.json").read_bytes()
    installed = folder / "node_modules" / "installed-lock.json"
    if installed.exists() and installed.read_bytes() == lock:
        return
    ending = run(["npm", "ci", "--ignore-scripts", "--fetch-retries=1"], cwd=folder)
    if ending.status != 0 and NO_NETWORK.search(ending.stderr):
        pytest.skip(f"npm cannot reach its registry: {NO_NETWORK.search(ending.stderr).group()}")
    assert ending.status == 0
    installed.write_bytes(lock)


def with_call_paths(profile):
    """Call paths for a profile of the virtual machine, which records none."""
    body = profile["profile"]
    body["threads"] = [{"id": 1, "name": "onelock", "commits": 90, "aborts": 10}]
    body["frames"] = [{"address": 1, "name": "main"}, {"address": 2, "name": "insert", "file": "hash.cc", "line": 3}]
    body["paths"] = [{"state": "attempt", "lock": 0, "thread": 0, "frames": [0, 1], "ns": 1e6, "samples": 3}]
    return profile


def page_of_samples(elision, folder, name, options):
    """A page with what the CPU sampled, which the virtual machine's CPU does, too; and what `report` prints with it. `options`: of `record`."""
    page, profile = folder / f"{name}.html", folder / f"{name}.profile"
    program = [elision.workload("aborts"), "--threads", 4, "--sections", 5000, "--cause", "true-sharing", "--every", 2]
    lock = ["--lock", "htm-5", "--wait", "spin"]
    recorder = [elision.binary, "record", *lock, "--call-paths", "0", *options, "-o", profile, "--", *program]
    assert elision.vm(recorder, ["--machine", "xeon-e5-2697v4", *lock]).status == 0
    ending = run([elision.binary, "report", "--html", page, profile])
    assert ending.status == 0
    return page, ending.stdout


@pytest.fixture(scope="session")
def viewer(build):
    """A copy of viewer/ with its packages, in the build folder: nothing is written beside the sources."""
    assert shutil.which("npm"), "npm is missing: make test-viewer installs it"
    folder = build / "viewer"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name != "node_modules":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(VIEWER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "dist"))
    install(folder)
    return folder


def test_rebuilt_page_is_the_committed_one(viewer):
    assert run(["npm", "run", "build"], cwd=viewer).status == 0
    rebuilt = (viewer / "dist" / "report.html").read_bytes()
    assert rebuilt == (VIEWER / "dist" / "report.html").read_bytes(), "viewer/dist/report.html is not what viewer/ makes: run make viewer"


def test_sources_are_clean(viewer):
    assert run(["npm", "run", "lint"], cwd=viewer).status == 0
    prettier = ["npx", "prettier", "--config", viewer / ".prettierrc.json", "--check"]
    assert run([*prettier, *sorted(TESTS.glob("*.mjs"))], cwd=viewer).status == 0


def test_lock_file_names_no_registry():
    assert "resolved" not in (VIEWER / "package-lock.json").read_text()


def test_page_in_chromium(viewer, elision, folder):
    assert CHROMIUM.exists(), "chromium is missing: make test-viewer installs it"
    page = folder / "report.html"
    program = [elision.workload("onelock"), "--structure", "hash", "--threads", "{threads}", "--seconds", "0.0003"]
    options = ["--machine", "xeon-e5-2697v4", "--threads", "1,2,8", "--metric", "throughput: ([0-9.]+)", "--locks", "htm-10,ticket"]
    assert run([elision.binary, "compare", *options, "--html", page, "--", *program]).status == 0
    environment = {"ELISION_VIEWER": str(viewer), "ELISION_PAGE": str(page)}
    assert run(["node", "--test", TESTS / "page_test.mjs"], base=os.environ, environment=environment).status == 0


def test_profile_in_chromium(viewer, elision, folder):
    assert CHROMIUM.exists(), "chromium is missing: make test-viewer installs it"
    page, profile = folder / "profile.html", folder / "elision.profile"
    program = [elision.workload("onelock"), "--structure", "hash", "--threads", "4", "--seconds", "0.0005"]
    options = ["--vm", "xeon-e5-2697v4", "--lock", "htm-10", "-o", profile]
    assert run([elision.binary, "record", *options, "--", *program]).status == 0
    profile.write_text(json.dumps(with_call_paths(json.loads(profile.read_text()))))
    assert run([elision.binary, "report", "--html", page, profile]).status == 0
    environment = {"ELISION_VIEWER": str(viewer), "ELISION_PROFILE_PAGE": str(page)}
    for name, options in (("aborts", ["--aborts", 13]), ("sharing", ["--accesses", 97])):
        sampled_page, printed = page_of_samples(elision, folder, name, options)
        environment |= {f"ELISION_{name.upper()}_PAGE": str(sampled_page), f"ELISION_{name.upper()}_TEXT": printed}
    assert run(["node", "--test", TESTS / "profile_page_test.mjs"], base=os.environ, environment=environment).status == 0


def test_report_of_the_claims_in_chromium(viewer, folder):
    assert CHROMIUM.exists(), "chromium is missing: make test-viewer installs it"
    page = folder / "index.html"
    page.write_text(made_up_claims.document_of_all_kinds())
    environment = {"ELISION_VIEWER": str(viewer), "ELISION_CLAIMS_PAGE": str(page)}
    assert run(["node", "--test", TESTS / "claims_page_test.mjs"], base=os.environ, environment=environment).status == 0
