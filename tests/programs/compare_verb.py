#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`elision compare`, `elision run` and `elision vm` as a user sees them, with real programs.

    compare_verb.py BUILD
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from whole_programs import Elision, run

BUILD = None
XEON = ["--machine", "xeon-e5-2697v4"]
METRIC = ["--metric", "throughput: ([0-9.]+)"]


class Verbs(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.bench = [str(self.elision.workload("arraybench")), "--sections", "300", "--warmup", "5"]

    def tearDown(self):
        self.assertEqual([p.name for p in self.root.iterdir() if p.name.startswith("elision.")], [])
        self.folder.cleanup()

    def verb(self, *words, **how):
        return run([self.elision.binary, *words], cwd=self.root, environment={"TMPDIR": str(self.root)}, **how)

    def test_virtual_comparison_of_all_designs(self):
        ending = self.verb("compare", *XEON, "--threads", "1,4", *METRIC, "--json", "c.json", "--", *self.bench,
                           "--threads", "{threads}", "--writes", "100")
        self.assertEqual(ending.status, 0, ending)
        report = json.loads((self.root / "c.json").read_text())
        self.assertEqual([block["threads"] for block in report["blocks"]], [1, 4])
        for block in report["blocks"]:
            self.assertIn(block["verdict"]["sentence"], ending.stdout)
            rows = {row["design"]: row for row in block["rows"]}
            self.assertEqual(list(rows), ["pthread", "tatas", "ticket", "htm-1", "htm-10", "tatas-aahtm",
                                          "ticket-aahtm"])
            self.assertEqual({row["state"] for row in rows.values()}, {"good"}, ending)
            self.assertGreater(rows["htm-10"]["locks"]["commits"], 0)
        self.assertGreater(rows["tatas-aahtm"]["locks"]["speculations"], 0)
        self.assertEqual(sum(row["best"] for row in block["rows"]), 1)
        self.assertEqual(len(report["runs"]), 2 * 7 * 3)
        self.assertIn("runs", ending.stderr)  # the estimate
        self.assertNotIn("\r", ending.stderr)  # no bar without a terminal

    def test_virtual_comparison_is_the_same_every_time(self):
        words = ("compare", *XEON, "--locks", "tatas,htm-10", "--runs", "2", "--", *self.bench, "--threads", "4")
        self.assertEqual(self.verb(*words).stdout, self.verb(*words).stdout)

    def test_programs_started_by_the_program_are_counted(self):
        command = " ".join(self.bench) + " --threads 2; true"
        ending = self.verb("compare", *XEON, "--locks", "htm-10", "--runs", "1", "--json", "c.json", "--",
                           "bash", "-c", command)
        report = json.loads((self.root / "c.json").read_text())
        self.assertGreater(report["blocks"][0]["rows"][1]["locks"]["commits"], 0, ending)

    def test_program_without_locks(self):
        ending = self.verb("compare", *XEON, "--", "ls", "/")
        self.assertEqual(ending.stdout.count("\n"), 1, ending)
        self.assertIn("took no lock", ending.stdout)

    def test_design_that_breaks_the_program_cannot_win(self):
        script = "test $ELISION_LOCK != tatas || exit 3; test $ELISION_LOCK != htm-1 || echo more; " + \
                 " ".join(self.bench) + " --threads 2"
        ending = self.verb("compare", *XEON, "--locks", "tatas,htm-1,htm-10", "--runs", "2", "--", "bash", "-c", script)
        lines = {line.split()[0]: line for line in ending.stdout.splitlines() if line[:1] in " *"}
        self.assertIn("exit code 3", lines["tatas"])
        self.assertIn("printed something else", lines["htm-1"])

    def test_program_that_fails_by_itself_is_compared_only_on_request(self):
        words = ["compare", *XEON, "--locks", "tatas", "--runs", "2"]
        program = ["bash", "-c", " ".join(self.bench) + "; echo no luck >&2; exit 3"]
        refused = self.verb(*words, "--", *program)
        self.assertEqual(refused.status, 1, refused)
        self.assertIn("Nothing to compare: under pthread, bash ended with exit code 3 (no luck)", refused.stdout)
        self.assertNotIn("Stay with", refused.stdout)
        self.assertEqual(self.verb(*words, "--ignore-failure", "--", *program).status, 0)

    def test_code_two_of_the_program_is_told_from_an_engine_that_does_not_start(self):
        machine = self.root / "m.toml"
        words = ["--machine", machine, "--", "bash", "-c"]
        for verb, said in (["compare", "--locks", "tatas"], "bash ended with exit code 2"), (["vm", "--vary", "2"], ""):
            with self.subTest(verb=verb):
                machine.write_text((pathlib.Path(__file__).parents[2] / "machines" / "xeon-e5-2697v4.toml").read_text())
                own = self.verb(*verb, *words, "exit 2")
                self.assertIn(said, own.stdout)
                self.assertEqual((own.status, "cannot read" in own.stderr), (1 if said else 2, False), own)
                # The shell runs, and what it becomes does not start.
                other = self.verb(*verb, *words, f"rm {machine}; exec true")
                self.assertEqual((other.status, other.stdout), (2, ""), other)
                self.assertRegex(other.stderr, "^elision [a-z]*: cannot read machine file .*m.toml")

    def test_code_two_of_a_program_whose_statistics_are_lost_is_not_taken_for_one_that_did_not_start(self):
        program = ["bash", "-c", "echo first >&2; rm -r $TMPDIR/elision.*; exit 2"]
        for words in (["compare", *XEON, "--locks", "tatas"], ["vm", "--vary", "2"], ["vm", "--stats", "s.json"]):
            with self.subTest(words=words):
                ending = self.verb(*words, "--", *program)
                self.assertEqual(ending.status, 2, ending)
                self.assertRegex(ending.stderr.splitlines()[-1], "statistics")

    def test_deadlock_is_never_compared(self):
        ending = self.verb("compare", *XEON, "--locks", "tatas", "--runs", "2", "--json", "c.json", "--ignore-failure",
                           "--", self.elision.build / "tests" / "crashing", "deadlock")
        self.assertEqual(ending.status, 1, ending)
        self.assertIn("deadlocked: every thread waited for another", ending.stdout)
        report = json.loads((self.root / "c.json").read_text())
        self.assertEqual([run["deadlocked"] for run in report["runs"]], [True])

    def test_programs_without_locks_are_told_so(self):
        static = self.root / "static"
        static.write_bytes((self.elision.build / "tests" / "crashing_static").read_bytes())
        static.chmod(0o755)
        script = self.root / "script"
        script.write_text(f"#!{static} nothing\n")
        script.chmod(0o755)
        for verb in (["run", "--lock", "tatas"], ["vm", "--lock", "tatas"]):
            for program, why in ((static, "it is linked statically"), (script, "it is linked statically"),
                                 ("true", "it does not lock through pthread mutexes")):
                with self.subTest(verb=verb, program=program):
                    said = self.verb(*verb, "--", program).stderr.splitlines()
                    self.assertEqual([line for line in said if line.startswith(f"elision {verb[0]}: {program} takes")],
                                     [f"elision {verb[0]}: {program} takes no lock that Elision can replace ({why}), so the "
                                      "design of the lock makes no difference to it"])
            for program in (self.bench, ["bash", "-c", "true"]):  # a shell may start anything
                self.assertNotIn("no lock that Elision", self.verb(*verb, "--", *program).stderr)
        self.assertIn("crashing_static took no lock that Elision can replace (it is linked statically), so",
                      self.verb("compare", *XEON, "--ignore-failure", "--", self.elision.build / "tests" / "crashing_static",
                                "nothing").stdout)
        vary = self.verb("vm", "--vary", "2", "--lock", "tatas", "--", "true").stderr
        self.assertEqual(vary.count("no lock that Elision can replace"), 1, vary)

    def test_program_with_more_rights_than_its_caller_is_told_apart(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to make such a program")
        program = self.root / "other"
        program.write_bytes(pathlib.Path(self.bench[0]).read_bytes())
        os.chown(program, 65534, -1)
        program.chmod(0o4755)
        self.assertIn("(it runs with more rights than its caller)",
                      self.verb("run", "--lock", "tatas", "--", program, *self.bench[1:]).stderr)

    def test_no_program_but_a_dynamic_linker_is_started_to_ask(self):
        program, other = self.root / "program", self.root / "i"
        other.write_text(f"#!/bin/sh\ntouch {self.root}/started\n")
        other.chmod(0o755)
        linker = b"/lib64/ld-linux-x86-64.so.2"
        image = pathlib.Path(self.bench[0]).read_bytes()
        self.assertIn(linker, image)
        self.assertLessEqual(len(os.fsencode(other)), len(linker))
        program.write_bytes(image.replace(linker, os.fsencode(other).ljust(len(linker), b"\0")))
        program.chmod(0o755)
        self.verb("vm", "--lock", "tatas", "--", program)
        self.assertFalse((self.root / "started").exists())

    def test_design_that_hangs_is_given_up(self):
        script = "test $ELISION_LOCK != tatas || sleep 1000; " + " ".join(self.bench)
        ending = self.verb("compare", "--machine", "native", "--locks", "tatas,ticket", "--timeout", "5", "--", "bash",
                           "-c", script)
        self.assertIn("did not end within 5 s", ending.stdout)

    def test_interrupt_prints_what_is_done(self):
        words = [self.elision.binary, "compare", *XEON, "--runs", "1000", "--locks", "tatas", "--", *self.bench]
        process = subprocess.Popen(words, cwd=self.root, env={**os.environ, "TMPDIR": str(self.root)}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stderr.readline()  # the estimate: the first run is done
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn("Stopped early.", output)
        self.assertIn("pthread", output)

    def test_interrupted_machine_leaves_no_directory(self):
        # Waits for input that never comes: a sleep would take no time at all in the virtual machine.
        words = [self.elision.binary, "vm", "--stats", "s.json", "--", "bash", "-c", "echo started; cat"]
        process = subprocess.Popen(words, cwd=self.root, env={**os.environ, "TMPDIR": str(self.root)}, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.wait()
        process.stdin.close()
        process.stdout.close()
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_statistics_of_several_processes(self):
        ending = self.verb("vm", "--stats", "s.json", "--", "bash", "-c", "cat /dev/null; (exit 4); exit 6")
        self.assertEqual(ending.status, 6)
        statistics = json.loads((self.root / "s.json").read_text())
        self.assertGreaterEqual(len(statistics["processes"]), 3)
        total = sum(process["instructions"] for process in statistics["processes"])
        self.assertEqual(statistics["totals"]["instructions"], total)

    def stats_of(self, *options, words=None):
        """The ending of `elision vm` and the bytes of its statistics file."""
        ending = self.verb("vm", *options, "--stats", "s.json", "--", *(words or [*self.bench, "--threads", "4"]))
        return ending, (self.root / "s.json").read_bytes()

    def test_variation_is_repeatable_and_matters(self):
        one, bytes_one = self.stats_of("--variation", "3", "--seed", "7")
        again, bytes_again = self.stats_of("--variation", "3", "--seed", "7")
        self.assertEqual((one.status, one.stdout, bytes_one), (0, again.stdout, bytes_again))
        other, bytes_other = self.stats_of("--variation", "4", "--seed", "7")
        clocks = [json.loads(text)["totals"]["virtual_ns"] for text in (bytes_one, bytes_other)]
        self.assertNotEqual(*clocks)
        named = json.loads(bytes_one)
        self.assertEqual(named["variation"], 3)
        self.assertIn(f"tlb.walk_cycles {named['drawn']['tlb.walk_cycles']} drawn".split(),
                      [line.split()[:3] for line in
                       self.verb("machines", "xeon-e5-2697v4", "--variation", "3").stdout.splitlines()])

    def test_variation_zero_is_the_best_guess(self):
        self.assertEqual(self.stats_of("--variation", "0")[1], self.stats_of()[1])

    def test_variation_is_handed_to_children(self):
        program = " ".join(self.bench)
        _, text = self.stats_of("--variation", "5", words=["bash", "-c", f"{program} >/dev/null; exec {program}"])
        processes = json.loads(text)["processes"]
        self.assertGreaterEqual(len(processes), 3)
        self.assertEqual({process["variation"] for process in processes}, {5})
        # A machine of its own each, but the same one: the two runs of the program differ in nothing but their start.
        best_guess = json.loads(self.stats_of(words=["bash", "-c", f"{program} >/dev/null; exec {program}"])[1])
        for varied, plain in zip(processes, best_guess["processes"]):
            self.assertNotEqual(varied["virtual_ns"], plain["virtual_ns"], varied["program"])

    def test_vary_runs_each_variation_with_its_seed(self):
        ending, text = self.stats_of("--vary", "3", "--seed", "5")
        self.assertEqual(ending.stdout, self.stats_of("--seed", "5")[0].stdout)
        whole = json.loads(text)
        for i, varied in enumerate(whole["variations"]):
            alone = json.loads(self.stats_of("--variation", str(i), "--seed", str(5 + i))[1])
            self.assertEqual((varied["variation"], varied["seed"]), (i, 5 + i))
            self.assertEqual(varied["processes"], alone["processes"])
            self.assertEqual(varied["drawn"], alone["drawn"])
        commits = sorted(varied["totals"]["commits"] for varied in whole["variations"])
        self.assertEqual(whole["ranges"]["commits"], dict(zip(("low", "median", "high"), commits)))
        self.assertIn("virtual time", ending.stderr)
        self.assertNotIn("fallbacks", ending.stderr)
        self.assertEqual(self.stats_of("--vary", "3", "--seed", "5")[1], text)

    def test_vary_with_a_lock_design_and_a_metric(self):
        ending = self.verb("vm", "--vary", "3", "--lock", "htm-1", "--cpus", "4", *METRIC, "--", *self.bench, "--threads",
                           "4", "--contention", "high")
        lines = {line.split("  ")[1]: line for line in ending.stderr.splitlines() if line.startswith("  ")}
        self.assertLessEqual({"virtual time", "CPU time", "commits", "aborts: conflict", "fallbacks", "result"},
                             set(lines), ending)
        self.assertRegex(lines["result"], r"M \[.*M - .*M\]$")

    def test_vary_ends_as_variation_zero_did(self):
        ending = self.verb("vm", "--vary", "2", "--", "bash", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((ending.status, ending.stdout), (7, "out\n"))
        self.assertIn("err\n", ending.stderr)
        self.assertNotIn("Not the same", ending.stderr)
        killed = self.verb("vm", "--vary", "2", "--", "bash", "-c", "kill -USR1 $$")
        self.assertEqual(killed.status, -signal.SIGUSR1)

    def test_vary_says_where_the_program_noticed(self):
        # The result in every digit: another one on every machine.
        ending = self.verb("vm", "--vary", "3", "--", *self.bench, "--threads", "4")
        self.assertIn("Not the same as in variation 0: its output is another in 2 of 3 (1, 2).\n", ending.stderr)

    def test_vary_gives_a_file_to_every_run(self):
        (self.root / "in.txt").write_text("line\n" * 3)
        ending = run(["bash", "-c", f"{self.elision.binary} vm --vary 3 -- wc -l < in.txt"], cwd=self.root)
        self.assertEqual(ending.stdout.strip(), "3", ending)
        self.assertNotIn("Not the same", ending.stderr)
        words = f"{self.elision.binary} compare --machine native --locks tatas --metric '([0-9]+)' -- sort -n < in.txt"
        (self.root / "in.txt").write_text("17\n4\n")
        self.assertIn("17", run(["bash", "-c", words], cwd=self.root).stdout)

    def test_interrupt_of_vary_leaves_nothing(self):
        words = [self.elision.binary, "vm", "--vary", "1000", "--stats", "s.json", "--", *self.bench]
        process = subprocess.Popen(words, cwd=self.root, env={**os.environ, "TMPDIR": str(self.root)}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stderr.readline()  # the estimate: the first run is done
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
        self.assertEqual(process.returncode, 130)
        self.assertIn("throughput", output)
        self.assertIn("Stopped early.", errors)

    def test_comparison_over_variations(self):
        words = ["compare", *XEON, "--locks", "tatas,htm-10", "--vary", "3", "--seed", "11", *METRIC, "--json", "c.json",
                 "--", *self.bench, "--threads", "4"]
        ending = self.verb(*words)
        self.assertEqual(ending.status, 0, ending)
        report = json.loads((self.root / "c.json").read_text())
        self.assertEqual([variation["seed"] for variation in report["variations"]], [11, 12, 13])
        self.assertEqual(len({json.dumps(variation["drawn"]) for variation in report["variations"]}), 3)
        self.assertEqual([(r["run"], r["seed"], r["variation"]) for r in report["runs"]],
                         [(i, 11 + i, i) for i in range(3) for _ in range(3)])
        metrics = {(r["design"], r["variation"]): r["metric"] for r in report["runs"]}
        for row in report["blocks"][0]["rows"]:
            expected = [metrics[row["design"], i] / metrics["pthread", i] for i in range(3)]
            self.assertEqual(row["ratios"], expected)
            self.assertEqual([row["ratio"][part] for part in ("low", "median", "high")], sorted(expected))
        self.assertRegex(ending.stdout, r" beats \S+( \S+){0,3} (only )?in [0-3] of 3, (by|at) [0-9.]+x to [0-9.]+x")
        self.assertEqual(self.verb(*words).stdout, ending.stdout)

    def test_arguments_of_the_program_are_its_own(self):
        for verb in (["vm"], ["run", "--lock", "tatas"]):
            ending = self.verb(*verb, "--", "echo", "--lock", "--", "-h", "--version")
            self.assertEqual(ending.stdout, "--lock -- -h --version\n")

    def test_run_preloads_in_front_and_passes_on_the_ending(self):
        ending = run([self.elision.binary, "run", "--lock", "ticket", "--wait", "spin", "--", "bash", "-c",
                      'echo "$ELISION_LOCK $ELISION_WAIT $LD_PRELOAD"; exit 9'],
                     environment={"LD_PRELOAD": str(self.elision.build / "lib" / "libelision.so") + ":"})
        self.assertEqual(ending.status, 9)
        self.assertIn("ticket spin ", ending.stdout)
        killed = self.verb("run", "--lock", "tatas", "--", "bash", "-c", "kill -USR1 $$")
        self.assertEqual(killed.status, -signal.SIGUSR1)

    def test_glibc_elides_by_itself_on_the_virtual_machine(self):
        if not sys.platform.startswith("linux") or tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1]
                                                              .split("."))) >= (2, 43):
            self.skipTest("glibc has had no elision since 2.43")
        _, totals = self.elision.totals(["env", "GLIBC_TUNABLES=glibc.elision.enable=1", *self.bench, "--threads", "2"])
        self.assertGreater(totals["commits"], 0)


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv.pop(1))
    unittest.main()
