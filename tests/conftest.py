# SPDX-License-Identifier: Apache-2.0
"""What all tests in Python share: the build under test, seeds and designs as parameters, skips as ctest knows them, and failures
that say how to repeat them."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

pytest.register_assert_rewrite("support")

import support  # noqa: E402

SKIPPED = 77  # the exit code that ctest takes for a skipped test
DESIGNS = "pthread,tatas,htm-10"
SHOWN = 3000  # characters of each output of a program


def pytest_addoption(parser):
    parser.addoption("--build", type=pathlib.Path, default=support.ROOT / "build", metavar="FOLDER", help="the build under test")
    parser.addoption("--seeds", type=int, default=1, metavar="N", help="how many seeds a seeded test takes")
    parser.addoption("--designs", metavar="NAME,...", help="lock designs of tests that run over them")
    parser.addoption("--seed", type=int, metavar="N", help="the seed of random sequences, or of programs in the virtual machine")
    parser.addoption("--count", type=int, default=1000, metavar="N", help="how many random sequences")
    parser.addoption("--forms", type=pathlib.Path, metavar="FOLDER", help="where the forms of instructions in programs are")
    parser.addoption("--size", type=int, metavar="N", help="the size of a program under lock designs")
    parser.addoption("--form", metavar="OPTIONS", help="options of the designs of a program under them")
    parser.addoption("--limit", type=float, default=0, metavar="SECONDS", help="end as a failure after this time; 0: never")
    parser.addoption("--soak", action="store_true", help="in full, as make soak does")


def pytest_configure(config):
    sys.dont_write_bytecode = True
    config.option.build = config.option.build.resolve()


def pytest_sessionstart(session):
    """SIGTERM and the limit raise an exception in the running test, which then ends the programs that it started."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM", returncode=128 + signal.SIGTERM))
    limit = session.config.option.limit

    def end_test(*_):
        session.shouldfail = f"the limit of {limit:g} s is reached"
        pytest.fail(session.shouldfail)

    signal.signal(signal.SIGALRM, end_test)
    signal.setitimer(signal.ITIMER_REAL, limit)
    cpu_kind = session.config.option.build / "tests" / "cpu_kind"
    if cpu_kind.exists():
        print(subprocess.run([cpu_kind], capture_output=True, text=True, check=False).stdout, end="", flush=True)


def pytest_generate_tests(metafunc):
    """A test with an argument `seed` runs with each seed, and one with `design` under each design."""
    options = metafunc.config.option
    for name, values in (("seed", range(1, options.seeds + 1)), ("design", (options.designs or DESIGNS).split(","))):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values)


@pytest.fixture(scope="session")
def build(request):
    return request.config.option.build


@pytest.fixture(scope="session")
def elision(build):
    found = support.Elision(build)
    assert found.binary.exists(), f"{build} has no bin/elision: run make build"
    return found


@pytest.fixture(scope="session")
def cpu_has_rtm(elision):
    """Whether this CPU's transactions can commit, hidden or not."""
    cpu = json.loads(elision.run("doctor", "--json", environment={"ELISION_HIDE_RTM": ""}).stdout)["cpu"]
    return cpu["rtm"] and not cpu["rtm_always_abort"]


@pytest.fixture(scope="session")
def perf():
    """Debian's perf."""
    found = shutil.which("perf")
    if found is None:
        pytest.skip("no perf: install linux-perf")
    return found


@pytest.fixture(scope="session")
def seeds(request):
    """For a test of all seeds together."""
    return range(1, request.config.option.seeds + 1)


@pytest.fixture(scope="session")
def soak(request):
    return request.config.option.soak


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as name:
        yield pathlib.Path(name)


def pytest_runtest_setup():
    support.recent.clear()


def shown(ending):
    parts = [f"$ {ending.command}", f"ended with {ending.status}"]
    for name in ("stdout", "stderr"):
        text = getattr(ending, name)
        if text:
            parts += [f"{name}:", text[-SHOWN:].rstrip("\n")]
    return "\n".join(parts)


def repeating(item):
    """What runs this test alone in a shell, with the options of this run, which may name places relative to its folder."""
    invocation = item.config.invocation_params
    options = [word for word in map(str, invocation.args) if word not in item.config.option.file_or_dir]
    settings = {name: value for name, value in os.environ.items() if name.startswith("ELISION_")}
    words = [sys.executable, "-B", "-m", "pytest", *options, f"{item.path}::{item.nodeid.partition('::')[2]}"]
    return f"{shlex.join(['cd', str(invocation.dir)])} && {support.command_line(words, os.environ, settings)}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if not report.failed:
        return
    if support.recent:
        report.sections.append(("last programs", "\n".join(map(shown, support.recent))))
    report.sections.append(("repeat with", repeating(item)))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    signal.setitimer(signal.ITIMER_REAL, 0)
    counts = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus == 0 and counts.get("skipped") and not counts.get("passed"):
        session.exitstatus = SKIPPED
