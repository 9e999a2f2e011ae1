# SPDX-License-Identifier: Apache-2.0
"""tools/install-packages with a dpkg and an apt that are scripts here: what it announces, in which order, and its one line of failure."""

import os
import re
import shutil

import pytest
from support import ROOT, printed, run

INSTALLER = ROOT / "tools" / "install-packages"
# What the installer runs besides dpkg and apt. No other program of this machine is in its PATH, sudo above all.
PLAIN = ("bash", "sh", "env", "awk", "sed", "grep", "cat", "mktemp", "rm", "tail", "wc")
DPKG_QUERY = """#!/bin/sh
for name; do case $name in here*) echo "installed amd64 $name";; foreign*) echo "installed i386 $name";; removed*) echo "config-files amd64 $name";; esac; done
"""
# A package lost* is unknown, and bulky needs libbulk, which is an upgrade.
APT_CACHE = """#!/bin/sh
command=$1; shift
for name; do case $command,$name in
  policy,lost*) ;;
  policy,virtual*) printf '%s:\\n  Installed: (none)\\n  Candidate: (none)\\n' $name;;
  policy,*) printf '%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n' $name;;
  show,lib*=2) printf 'Package: x\\nInstalled-Size: 2000000\\n\\n';;
  show,*=1.0) printf 'Package: x\\nInstalled-Size: 500\\n\\n';;
  *) exit 1;;
esac; done
"""
APT_GET = """#!/bin/sh
words="$*"
case " $words " in
  *" -s "*) for name; do case $name in -*|install) ;; *) echo "Inst $name (1.0 Debian:12/stable [amd64])";; esac; done
    echo 'Inst libbulk [1] (2 Debian:12/stable [amd64])'; echo 'Conf libbulk (2 Debian:12/stable [amd64])';;
  *" --print-uris "*) echo Reading; echo "'http://x/a.deb' a_1.deb 3000000 MD5Sum:0"; echo "'http://x/b.deb' b_1.deb 250000000 MD5Sum:0";;
  *) echo "$words" >>"$CALLS"; echo Reading package lists...
    for failing in $FAILING; do case " $words " in *" $failing "*) printf 'Err:1 http://x\\nE: Failed to fetch  x\\nE: Some files failed\\n' >&2; exit 100;; esac; done;;
esac
"""
SCRIPTS = {"dpkg-query": DPKG_QUERY, "dpkg": "#!/bin/sh\necho amd64\n", "apt-cache": APT_CACHE, "apt-get": APT_GET}


class Machine:
    """A machine whose PATH is one folder, with scripts for dpkg and apt."""

    def __init__(self, folder):
        self.folder = folder
        for name in PLAIN:
            (folder / name).symlink_to(shutil.which(name, path="/usr/bin:/bin"))
        for name, text in {**SCRIPTS, "id": "#!/bin/sh\necho 0\n"}.items():
            self.script(name, text)

    def script(self, name, text):
        file = self.folder / name
        file.unlink(missing_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def install(self, *packages, failing=""):
        """(exit code, lines of output, lines of errors, what apt-get was to change)."""
        calls, temporary = self.folder / "calls", self.folder / "tmp"
        calls.write_text("")
        temporary.mkdir(exist_ok=True)
        variables = {"PATH": self.folder, "CALLS": calls, "FAILING": failing, "TMPDIR": temporary}
        ending = run([INSTALLER, "make it", *packages], base={}, environment=variables)
        assert list(temporary.iterdir()) == [], "something is left behind"
        return ending.status, ending.stdout.splitlines(), ending.stderr.splitlines(), calls.read_text().splitlines()


@pytest.fixture
def machine(folder):
    return Machine(folder)


def test_everything_present_calls_no_apt_and_needs_no_root(machine):
    machine.script("id", "#!/bin/sh\necho 1000\n")
    assert machine.install("here1", "here2") == (0, ["make it: all of these Debian packages are installed: here1 here2"], [], [])


def test_missing_packages_are_announced_once_with_sizes_and_installed_together(machine):
    code, out, error, calls = machine.install("here1", "one", "removed", "foreign", "one")
    assert (code, error) == (0, [])
    assert out == ["make it: these Debian packages are missing: one removed foreign",
                           "make it: with what they depend on, 4 packages: 253 MB to download, 2050 MB on disk",
                           "make it: downloaded; installing"]
    assert [("update" in call, "--download-only" in call) for call in calls] == [(True, False), (False, True), (False, False)]
    for call in calls[1:]:
        assert call.endswith("install one removed foreign"), call


def test_unknown_names_are_one_line_and_nothing_is_installed(machine):
    code, _, error, calls = machine.install("one", "lost1", "virtual", "lost2")
    assert (code, len(error), len(calls)) == (1, 1, 1), error
    assert re.search(r"^make it: .* has no package named: lost1 virtual lost2$", error[0])


def test_unknown_names_after_a_failed_update_are_laid_on_it(machine):
    code, _, error, _ = machine.install("one", "lost1", failing="update")
    assert (code, error) == (1, [
        "make it: apt-get update failed, and without it these packages are unknown: lost1 (Failed to fetch x)"])


def test_failed_update_alone_stops_nothing(machine):
    assert machine.install("one", failing="update")[::2] == (0, [])


def test_failed_download_is_one_line(machine):
    code, _, error, _ = machine.install("one", failing="--download-only")
    assert (code, error) == (1, ["make it: apt-get could not download them: Failed to fetch x"])


def test_failed_installation_is_one_line(machine):
    machine.script("apt-get", APT_GET.replace('case " $words " in *" $failing "*)', 'case " $words " in *only*) ;; *" $failing "*)'))
    code, _, error, _ = machine.install("one", failing="install")
    assert (code, error) == (1, ["make it: apt-get could not install them: Failed to fetch x"])


def test_user_without_sudo_is_told_what_to_run(machine):
    machine.script("id", "#!/bin/sh\necho 1000\n")
    assert machine.install("one", "here", "two") == (
        1, [], ["make it: needs root, and there is no sudo; as root run: apt-get install one two"], [])


def test_user_with_sudo_installs_through_it(machine):
    machine.script("id", "#!/bin/sh\necho 1000\n")
    machine.script("sudo", '#!/bin/sh\n[ "$1" = true ] || echo sudo "$1" >>"$CALLS"; exec "$@"\n')
    machine.script("true", "#!/bin/sh\n")
    code, _, error, calls = machine.install("one")
    assert (code, error, calls.count("sudo env")) == (0, [], 3)


def test_user_whom_sudo_refuses_is_told_what_to_run(machine):
    machine.script("id", "#!/bin/sh\necho 1000\n")
    machine.script("sudo", "#!/bin/sh\nexit 1\n")
    assert machine.install("one") == (
        1, [], ["make it: sudo gives this user no root; as root run: apt-get install one"], [])


def test_machine_without_apt_is_told_what_is_needed(machine):
    (machine.folder / "apt-get").unlink()
    code, out, error, _ = machine.install("one", "here")
    assert (code, out, len(error)) == (1, [], 1)
    assert re.search(r"^make it: there is no apt-get here.*: one here$", error[0])


def targets():
    names = (ROOT / "Makefile").read_text().split(".PHONY:")[1].splitlines()[0].split()
    return [name for name in names if name not in ("clean", "help")]


def test_targets_are_found():
    assert len(targets()) > 10


def test_help_has_a_line_for_each_target():
    lines = printed(["make", "-C", ROOT, "--no-print-directory", "help"], base={"PATH": os.environ["PATH"]}).splitlines()
    told = dict(line.split(maxsplit=1) for line in lines)
    assert sorted(told) == sorted([*targets(), "clean", "help"])
    assert told["clean"] == "Deletes what `make build` has built"


@pytest.mark.parametrize("target", targets())
def test_target_installs_in_one_round_before_anything_else(target):
    text = printed(["make", "-n", "-C", ROOT, target], base={"PATH": os.environ["PATH"]})
    lines = [line for line in text.splitlines() if not line.startswith("make")]
    assert sum("install-packages" in line for line in lines) == 1
    assert "install-packages" in lines[0]


def test_cmake_knows_every_library_that_the_build_installs():
    installed = re.search(r"^BUILD_PACKAGES := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.M)[1]
    known = re.search(r"^foreach\(need ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
    tools = {"g++", "cmake", "ninja-build", "python3"}
    assert {need.split("=")[1] for need in known.split()} == set(installed.replace("\\", " ").split()) - tools
