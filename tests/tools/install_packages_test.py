#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/install-packages with a dpkg and an apt that are scripts here: what it announces, in which order, and its one line of failure."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


class InstallPackages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        for name in PLAIN:
            for folder in ("/usr/bin", "/bin"):
                if os.path.exists(f"{folder}/{name}"):
                    (self.path / name).symlink_to(f"{folder}/{name}")
                    break
        for name, text in SCRIPTS.items():
            self.script(name, text)
        self.script("id", "#!/bin/sh\necho 0\n")

    def script(self, name, text):
        file = self.path / name
        file.unlink(missing_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def install(self, *packages, failing=""):
        """(exit code, lines of output, lines of errors, what apt-get was to change)."""
        calls = self.path / "calls"
        calls.write_text("")
        (self.path / "tmp").mkdir(exist_ok=True)
        variables = {"PATH": str(self.path), "CALLS": str(calls), "FAILING": failing, "TMPDIR": str(self.path / "tmp")}
        done = subprocess.run([str(INSTALLER), "make it", *packages], env=variables, capture_output=True, text=True, check=False)
        self.assertEqual(list((self.path / "tmp").iterdir()), [], "nothing is left behind")
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), calls.read_text().splitlines()

    def test_everything_present_calls_no_apt_and_needs_no_root(self):
        self.script("id", "#!/bin/sh\necho 1000\n")
        self.assertEqual(self.install("here1", "here2"),
                         (0, ["make it: all of these Debian packages are installed: here1 here2"], [], []))

    def test_missing_packages_are_announced_once_with_sizes_and_installed_together(self):
        code, out, error, calls = self.install("here1", "one", "removed", "foreign", "one")
        self.assertEqual((code, error), (0, []))
        self.assertEqual(out, ["make it: these Debian packages are missing: one removed foreign",
                               "make it: with what they depend on, 4 packages: 253 MB to download, 2050 MB on disk",
                               "make it: downloaded; installing"])
        self.assertEqual([("update" in call, "--download-only" in call) for call in calls],
                         [(True, False), (False, True), (False, False)])
        for call in calls[1:]:
            self.assertTrue(call.endswith("install one removed foreign"), call)

    def test_unknown_names_are_one_line_and_nothing_is_installed(self):
        code, _, error, calls = self.install("one", "lost1", "virtual", "lost2")
        self.assertEqual((code, len(error), len(calls)), (1, 1, 1), error)
        self.assertRegex(error[0], r"^make it: .* has no package named: lost1 virtual lost2$")

    def test_unknown_names_after_a_failed_update_are_laid_on_it(self):
        code, _, error, _ = self.install("one", "lost1", failing="update")
        self.assertEqual((code, error), (1, [
            "make it: apt-get update failed, and without it these packages are unknown: lost1 (Failed to fetch x)"]))

    def test_failed_update_alone_stops_nothing(self):
        self.assertEqual(self.install("one", failing="update")[::2], (0, []))

    def test_failed_download_is_one_line(self):
        code, _, error, _ = self.install("one", failing="--download-only")
        self.assertEqual((code, error), (1, ["make it: apt-get could not download them: Failed to fetch x"]))

    def test_failed_installation_is_one_line(self):
        self.script("apt-get", APT_GET.replace('case " $words " in *" $failing "*)', 'case " $words " in *only*) ;; *" $failing "*)'))
        code, _, error, _ = self.install("one", failing="install")
        self.assertEqual((code, error), (1, ["make it: apt-get could not install them: Failed to fetch x"]))

    def test_user_without_sudo_is_told_what_to_run(self):
        self.script("id", "#!/bin/sh\necho 1000\n")
        self.assertEqual(self.install("one", "here", "two"), (
            1, [], ["make it: needs root, and there is no sudo; as root run: apt-get install one two"], []))

    def test_user_with_sudo_installs_through_it(self):
        self.script("id", "#!/bin/sh\necho 1000\n")
        self.script("sudo", '#!/bin/sh\n[ "$1" = true ] || echo sudo "$1" >>"$CALLS"; exec "$@"\n')
        self.script("true", "#!/bin/sh\n")
        code, _, error, calls = self.install("one")
        self.assertEqual((code, error, calls.count("sudo env")), (0, [], 3))

    def test_user_whom_sudo_refuses_is_told_what_to_run(self):
        self.script("id", "#!/bin/sh\necho 1000\n")
        self.script("sudo", "#!/bin/sh\nexit 1\n")
        self.assertEqual(self.install("one"), (
            1, [], ["make it: sudo gives this user no root; as root run: apt-get install one"], []))

    def test_machine_without_apt_is_told_what_is_needed(self):
        (self.path / "apt-get").unlink()
        code, out, error, _ = self.install("one", "here")
        self.assertEqual((code, out, len(error)), (1, [], 1))
        self.assertRegex(error[0], r"^make it: there is no apt-get here.*: one here$")


class Targets(unittest.TestCase):
    def test_every_target_installs_in_one_round_before_anything_else(self):
        rules = (ROOT / "Makefile").read_text()
        targets = [t for t in rules.split(".PHONY:")[1].splitlines()[0].split() if t not in ("clean",)]
        self.assertGreater(len(targets), 10)
        for target in targets:
            with self.subTest(target=target):
                done = subprocess.run(["make", "-n", "-C", str(ROOT), target], capture_output=True, text=True, check=True,
                                      env={"PATH": os.environ["PATH"]})
                lines = [line for line in done.stdout.splitlines() if not line.startswith("make")]
                self.assertEqual(sum("install-packages" in line for line in lines), 1, done.stdout)
                self.assertIn("install-packages", lines[0])

    def test_cmake_knows_every_library_that_the_build_installs(self):
        installed = re.search(r"^BUILD_PACKAGES := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.M)[1]
        known = re.search(r"^foreach\(need ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        tools = {"g++", "cmake", "ninja-build", "python3"}
        self.assertEqual({need.split("=")[1] for need in known.split()}, set(installed.replace("\\", " ").split()) - tools)


if __name__ == "__main__":
    unittest.main()
