#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people see when a program crashes, waits for ever or does what the virtual machine cannot.

    crash_reports.py BUILD

The program is crashing.c, built with unwinding rules, with frame pointers instead, static and stripped.
"""

import json
import os
import pathlib
import re
import resource
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from whole_programs import GUEST_ENVIRONMENT, LIMIT_SECONDS, Elision, run

BUILD = None
KINDS = ["crashing", "crashing_static", "crashing_by_frame_pointer", "crashing_stripped"]
FUNCTIONS = ["innermost", "middle", "outer", "in_thread", "in_handler", "compare", "jump_to", "recurse", "divide",
             "illegal", "stale", "breakpoint", "wide", "give_up", "beyond_file", "generated", "waits", "deadlock", "main"]
STEP = re.compile(r"^elision vm:   #(\d+) (0x[0-9a-f]+)(?: ([^\s(]+)\+0x[0-9a-f]+)?(.*)$", re.MULTILINE)

# How it crashes -> signal, what the first line says, the program's functions from the innermost on.
CRASHES = {
    "fault": ("SEGV", "address not mapped) at 0x10 in", ["innermost", "middle", "outer", "main"]),
    "thread": ("SEGV", '"worker"', ["innermost", "middle", "outer", "in_thread"]),
    "handler": ("SEGV", "at 0x10", ["innermost", "middle", "outer", "in_handler", "main"]),
    "callback": ("SEGV", "at 0x10", ["innermost", "middle", "outer", "compare", "main"]),
    "jump": ("SEGV", "address not mapped) at 0x10 in", ["jump_to", "main"]),
    "jump-to-data": ("SEGV", "access not permitted", ["jump_to", "main"]),
    "divide": ("FPE", "division by zero", ["divide", "main"]),
    "illegal": ("ILL", "illegal instruction", ["illegal", "main"]),
    "breakpoint": ("TRAP", "breakpoint", ["breakpoint", "main"]),
    "wide": ("ILL", "illegal instruction", ["wide", "main"]),
    "abort": ("ABRT", "raised by the program itself", ["give_up", "main"]),
    "beyond-file": ("BUS", "mapped file is shorter", ["beyond_file", "main"]),
    "generated": ("ILL", "illegal instruction", ["generated", "main"]),
    "generated-with-frame": ("ILL", "illegal instruction", ["generated", "main"]),
}


def function_at(symbols, offset):
    """The function of `symbols` (name -> start, size) that holds `offset`."""
    return next((name for name, (start, size) in symbols.items() if start <= offset < start + size), None)


def core_notes(path):
    """The general registers (struct user_regs_struct) and the auxiliary vector of a core file."""
    with open(path, "rb") as file:
        header = file.read(64)
        offset, = struct.unpack_from("<Q", header, 32)
        file.seek(offset)
        kind, _, offset, _, _, size = struct.unpack("<IIQQQQ", file.read(40))
        assert kind == 4, "PT_NOTE comes first"
        file.seek(offset)
        notes = file.read(size)
    found, at = {}, 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        at += 12 + (name_size + 3) // 4 * 4
        found.setdefault(kind, notes[at:at + size])
        at += (size + 3) // 4 * 4
    vector = struct.unpack(f"<{len(found[6]) // 8}Q", found[6])
    return struct.unpack_from("<27Q", found[1], 112), dict(zip(vector[::2], vector[1::2]))


class CrashReports(unittest.TestCase):
    def setUp(self):
        self.elision = Elision(BUILD)
        self.programs = self.elision.build / "tests"
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def crash(self, way, kind="crashing", options=()):
        return self.elision.vm([self.programs / kind, way], options)

    def symbols(self):
        listing = run(["nm", "-S", "--defined-only", self.programs / "crashing"]).stdout
        words = [line.split() for line in listing.splitlines()]
        return {w[3]: (int(w[0], 16), int(w[1], 16)) for w in words if len(w) == 4 and w[3] in FUNCTIONS}

    def chain(self, report, kind):
        """The program's own functions in the backtrace. A stripped program's are known by their place."""
        symbols = self.symbols() if kind == "crashing_stripped" else {}
        names = []
        for number, _, name, rest in STEP.findall(report):
            place = re.search(r"crashing_stripped\+(0x[0-9a-f]+)", rest)
            if place:
                # Of a return address the call counts, which lies before it.
                name = function_at(symbols, int(place[1], 16) - (number != "0")) or ""
            if name in FUNCTIONS:
                names.append(name)
        return names

    def test_who_called_whom(self):
        for kind in KINDS:
            for way, (name, words, chain) in CRASHES.items():
                with self.subTest(kind=kind, way=way):
                    ending = self.crash(way, kind)
                    self.assertEqual(ending.status, -getattr(signal, "SIG" + name), ending)
                    lines = ending.stderr.splitlines()
                    self.assertTrue(all(line.startswith("elision vm: ") for line in lines), ending)
                    first = lines[1] if way == "wide" else lines[0]
                    self.assertTrue(first.startswith(f"elision vm: SIG{name} ("), first)
                    self.assertIn(words, first)
                    self.assertEqual(self.chain(ending.stderr, kind), chain, ending)
                    numbers = [int(step[0]) for step in STEP.findall(ending.stderr)]
                    self.assertEqual(numbers, list(range(len(numbers))))

    def test_the_first_step_shows_the_instruction_and_the_registers(self):
        ending = self.crash("illegal")
        self.assertRegex(ending.stderr, r"#0 0x[0-9a-f]+ illegal\+\S+ \(crashing\)  ud2\n")
        pc = STEP.search(ending.stderr)[2]
        self.assertIn(f"rip {int(pc, 16):016x}", ending.stderr)
        for register in ["rax", "rsp", "r8 ", "r15", "rflags"]:
            self.assertRegex(ending.stderr, rf" {register} [0-9a-f]{{8}}")

    def test_a_frame_pointer_counts_more_than_what_lies_on_the_stack(self):
        ending = self.crash("stale", "crashing_by_frame_pointer")
        self.assertEqual(self.chain(ending.stderr, "crashing"), ["stale", "main"], ending)

    def test_where_there_is_no_code(self):
        self.assertIn("#0 0x10 (nothing is mapped here)\n", self.crash("jump").stderr)
        self.assertRegex(self.crash("generated").stderr, r"#0 0x[0-9a-f]+ \(anonymous memory\)  ud2\n")
        self.assertIn("<signal handler called>", self.crash("handler").stderr)
        ending = self.crash("smashed")
        self.assertEqual(ending.status, -signal.SIGSEGV)
        self.assertEqual(len(STEP.findall(ending.stderr)), 1, ending)

    def test_a_stack_that_runs_out(self):
        for way in ("overflow", "overflow-handled"):
            ending = self.crash(way)
            self.assertEqual(ending.status, -signal.SIGSEGV)
            self.assertIn("(near the stack pointer)", ending.stderr)
            self.assertRegex(ending.stderr, r"#1 0x[0-9a-f]+ recurse\+\S+ \(crashing\)\n"
                                            r"elision vm:   \.\.\. the same 62 more times\nelision vm:   \.\.\. and more\n")
            self.assertEqual("the handler of SIGSEGV cannot be entered" in ending.stderr, way == "overflow-handled")

    def test_the_command_repeats_it(self):
        ending = self.elision.vm([self.programs / "crashing", "fault", "it's \"two\" words"], ["--seed", "5", "--cpus", "2"])
        command = re.search(r"^elision vm: repeat with: (.*)$", ending.stderr, re.MULTILINE)[1]
        self.assertIn("--seed 5 --cpus 2 --machine xeon-e5-2697v4 --variation 0 -- ", command)
        again = run(shlex.split(command), base=GUEST_ENVIRONMENT)
        self.assertEqual((again.stderr, again.status), (ending.stderr, ending.status))
        self.assertNotEqual(self.crash("fault").stderr, ending.stderr, "another seed moves the program")

    def test_inner_processes(self):
        for way in ("child", "vfork-child"):
            ending = self.crash(way)
            self.assertEqual(ending.status, signal.SIGSEGV, "what the parent saw of its child")
            self.assertEqual(self.chain(ending.stderr, "crashing"), ["innermost", "middle", "outer", "main"])
        ending = self.elision.vm(["sh", "-c", f"{self.programs}/crashing fault; exit 7"])
        self.assertEqual(ending.status, 7)
        self.assertEqual(self.chain(ending.stderr, "crashing"), ["innermost", "middle", "outer", "main"])
        self.assertIn("-- sh -c '", ending.stderr)

    def test_signals_from_outside_are_not_reported(self):
        ending = self.crash("kill")
        self.assertEqual((ending.status, ending.stderr), (signal.SIGSEGV, ""))

    def test_where_reports_go(self):
        ending = self.crash("fault", options=["--crash-reports", "none"])
        self.assertEqual((ending.status, ending.stderr), (-signal.SIGSEGV, ""))
        file = self.root / "reports"
        for count in (1, 2):
            ending = self.crash("fault", options=["--crash-reports", file])
            self.assertEqual((ending.status, ending.stderr), (-signal.SIGSEGV, ""))
            self.assertEqual(file.read_text().count("elision vm: SIGSEGV"), count)
        self.assertEqual(self.crash("deadlock", options=["--crash-reports", "none"]).stderr,
                         "elision vm: deadlock: every thread waits for another\n")
        file = self.root / "none-needed"
        self.elision.vm(["true"], ["--crash-reports", file])
        self.assertFalse(file.exists())

    def test_deadlock(self):
        for kind in KINDS:
            ending = self.crash("deadlock", kind)
            self.assertEqual(ending.status, 124, ending)
            self.assertIn("2 threads\n", ending.stderr.splitlines(keepends=True)[0])
            first, second = re.split(r'^elision vm: thread \d+ "waiter"', ending.stderr, flags=re.MULTILINE)
            self.assertIn(" waits in futex\n", first)
            self.assertTrue(second.startswith(" waits in futex\n"), ending)
            self.assertEqual(self.chain(first, kind), ["deadlock", "main"], ending)
            self.assertEqual(self.chain(second, kind), ["waits"], ending)

    def test_what_is_not_supported_is_named_once_and_counted(self):
        ending, text = self.elision.vm_with_statistics([self.programs / "crashing", "wide-handled"])
        self.assertEqual(ending.status, 0, ending)
        self.assertRegex(ending.stderr, r"\Aelision vm: instruction vaddps zmm, zmm, zmm \(62 f1 74 48 58 c2\) at "
                                        r"0x[0-9a-f]+ wide\+\S+ \(crashing\) is not supported\n\Z")
        unsupported = json.loads(text)["totals"]["unsupported"]
        self.assertEqual(unsupported["instructions"], {"vaddps zmm, zmm, zmm": 3})
        ending, text = self.elision.vm_with_statistics([self.programs / "crashing", "unknown-calls"])
        self.assertEqual(ending.status, 3, ending)
        self.assertRegex(ending.stderr, r"\Aelision vm: system call 9999 \(unknown\) at 0x[0-9a-f]+ is not supported\n\Z")
        process = json.loads(text)["processes"][0]["unsupported"]
        self.assertEqual(process["system_calls"]["number 9999"], 2)
        self.assertEqual(process["system_calls"]["rseq"], 1, "refused knowingly")
        self.assertEqual(process["instructions"], {})

    def test_statistics_of_what_crashes(self):
        ending, text = self.elision.vm_with_statistics([self.programs / "crashing", "fault"])
        self.assertEqual(ending.status, -signal.SIGSEGV)
        self.assertEqual([process["exit"] for process in json.loads(text)["processes"]], [128 + signal.SIGSEGV])

    def core_of(self, words):
        """Whether the host says that a core was left, and the core where it lies in the folder."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            os.execv(words[0], [str(word) for word in words])
        status = os.waitpid(child, 0)[1]
        self.assertTrue(os.WIFSIGNALED(status), status)
        return os.WCOREDUMP(status), os.WTERMSIG(status), next(folder.glob("core*"), None)

    def test_cores(self):
        if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
            self.skipTest("cores are limited")
        for way in ("fault", "abort"):
            with self.subTest(way=way):
                words = [(self.programs / "crashing").absolute(), way, "core"]
                reports = self.root / "reports"
                native = self.core_of(words)
                virtual = self.core_of([self.elision.binary.absolute(), "vm", "--crash-reports", reports, "--", *words])
                self.assertEqual(virtual[:2], native[:2])
                if virtual[2] is None:
                    continue  # the host keeps cores elsewhere
                registers, auxiliary = core_notes(virtual[2])
                _, pc, _, _ = STEP.search(reports.read_text()).groups()
                self.assertEqual(hex(registers[16]), pc)
                self.assertIn(f"{registers[19]:016x}" if way == "fault" else "", reports.read_text())  # RSP
                # The program's entry, by which debuggers find where it was put.
                pages = run(["nm", words[0]]).stdout
                entry = int(re.search(r"^(\S+) T _start$", pages, re.MULTILINE)[1], 16)
                self.assertEqual(auxiliary[9] & 0xfff, entry & 0xfff)
                self.assertLess(auxiliary[9], 0x20000000)
                reports.unlink()

    def test_interrupted(self):
        for way in ("spin", "wait"):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(way=way, number=number):
                    file = self.root / "statistics.json"
                    words = [self.elision.binary, "vm", "--stats", file, "--", self.programs / "crashing", way]
                    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as vm:
                        self.assertEqual(vm.stdout.readline(), b"ready\n")
                        vm.send_signal(number)
                        _, errors = vm.communicate(timeout=LIMIT_SECONDS)
                    self.assertEqual((vm.returncode, errors), (-number, b""))
                    processes = json.loads(file.read_text())["processes"]
                    self.assertEqual([process["exit"] for process in processes], [128 + number])
                    self.assertEqual([path.name for path in self.root.iterdir()], ["statistics.json"])
                    file.unlink()


if __name__ == "__main__":
    BUILD = sys.argv.pop(1)
    unittest.main()
