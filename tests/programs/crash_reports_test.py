# SPDX-License-Identifier: Apache-2.0
"""What people see when a program crashes, waits for ever or does what the virtual machine cannot do.

The program is crashing.c, built with unwinding rules, with frame pointers instead, static and stripped.
"""

import json
import os
import re
import resource
import select
import shlex
import signal
import struct

import pytest
from support import GUEST_ENVIRONMENT, LIMIT_SECONDS, printed, run

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


def symbols_of(program):
    words = [line.split() for line in printed(["nm", "-S", "--defined-only", program]).splitlines()]
    return {w[3]: (int(w[0], 16), int(w[1], 16)) for w in words if len(w) == 4 and w[3] in FUNCTIONS}


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


@pytest.fixture
def crash(elision):
    def run_program(way, kind="crashing", options=()):
        return elision.vm([elision.test_program(kind), way], options)
    return run_program


@pytest.fixture
def chain(elision):
    def functions(report, kind="crashing"):
        """The program's own functions in the backtrace. A stripped program's are known by their place."""
        symbols = symbols_of(elision.test_program("crashing")) if kind == "crashing_stripped" else {}
        names = []
        for number, _, name, rest in STEP.findall(report):
            place = re.search(r"crashing_stripped\+(0x[0-9a-f]+)", rest)
            if place:
                # Of a return address the call counts, which lies before it.
                name = function_at(symbols, int(place[1], 16) - (number != "0")) or ""
            if name in FUNCTIONS:
                names.append(name)
        return names
    return functions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", CRASHES)
def test_who_called_whom(crash, chain, kind, way):
    name, words, functions = CRASHES[way]
    ending = crash(way, kind)
    assert ending.status == -getattr(signal, "SIG" + name)
    lines = ending.stderr.splitlines()
    assert all(line.startswith("elision vm: ") for line in lines)
    first = lines[1] if way == "wide" else lines[0]
    assert first.startswith(f"elision vm: SIG{name} (")
    assert words in first
    assert chain(ending.stderr, kind) == functions
    numbers = [int(step[0]) for step in STEP.findall(ending.stderr)]
    assert numbers == list(range(len(numbers)))


def test_the_first_step_shows_the_instruction_and_the_registers(crash):
    ending = crash("illegal")
    assert re.search(r"#0 0x[0-9a-f]+ illegal\+\S+ \(crashing\)  ud2\n", ending.stderr)
    pc = STEP.search(ending.stderr)[2]
    assert f"rip {int(pc, 16):016x}" in ending.stderr
    for register in ["rax", "rsp", "r8 ", "r15", "rflags"]:
        assert re.search(rf" {register} [0-9a-f]{{8}}", ending.stderr)


def test_a_frame_pointer_counts_more_than_what_lies_on_the_stack(crash, chain):
    ending = crash("stale", "crashing_by_frame_pointer")
    assert chain(ending.stderr) == ["stale", "main"]


def test_where_there_is_no_code(crash):
    assert "#0 0x10 (nothing is mapped here)\n" in crash("jump").stderr
    assert re.search(r"#0 0x[0-9a-f]+ \(anonymous memory\)  ud2\n", crash("generated").stderr)
    assert "<signal handler called>" in crash("handler").stderr
    ending = crash("smashed")
    assert ending.status == -signal.SIGSEGV
    assert len(STEP.findall(ending.stderr)) == 1


@pytest.mark.parametrize("way", ["overflow", "overflow-handled"])
def test_a_stack_that_runs_out(way, crash):
    ending = crash(way)
    assert ending.status == -signal.SIGSEGV
    assert "(near the stack pointer)" in ending.stderr
    assert re.search(r"#1 0x[0-9a-f]+ recurse\+\S+ \(crashing\)\n"
                     r"elision vm:   \.\.\. the same 62 more times\nelision vm:   \.\.\. and more\n", ending.stderr)
    assert ("the handler of SIGSEGV cannot be entered" in ending.stderr) == (way == "overflow-handled")


def test_the_command_repeats_it(elision, crash):
    ending = elision.vm([elision.test_program("crashing"), "fault", "it's \"two\" words"], ["--seed", "5", "--cpus", "2"])
    command = re.search(r"^elision vm: repeat with: (.*)$", ending.stderr, re.MULTILINE)[1]
    assert "--seed 5 --cpus 2 --machine xeon-gold-5520plus --variation 0 -- " in command
    again = run(shlex.split(command), base=GUEST_ENVIRONMENT)
    assert (again.stderr, again.status) == (ending.stderr, ending.status)
    assert crash("fault").stderr != ending.stderr, "another seed moves the program"


def test_the_command_leaves_out_what_only_statistics_had(elision, folder):
    ending = elision.vm([elision.test_program("crashing"), "fault"], ["--lock-times", "--stats-directory", str(folder)])
    command = re.search(r"^elision vm: repeat with: (.*)$", ending.stderr, re.MULTILINE)[1]
    again = run(shlex.split(command), base=GUEST_ENVIRONMENT)
    assert (again.stderr, again.status) == (ending.stderr, ending.status)


@pytest.mark.parametrize("way", ["child", "vfork-child"])
def test_inner_processes(way, crash, chain):
    ending = crash(way)
    assert ending.status == signal.SIGSEGV, "what the parent saw of its child"
    assert chain(ending.stderr) == ["innermost", "middle", "outer", "main"]


def test_process_of_a_shell(elision, chain):
    ending = elision.vm(["sh", "-c", f"{elision.test_program('crashing')} fault; exit 7"])
    assert ending.status == 7
    assert chain(ending.stderr) == ["innermost", "middle", "outer", "main"]
    assert "-- sh -c '" in ending.stderr


def test_signals_from_outside_are_not_reported(crash):
    ending = crash("kill")
    assert (ending.status, ending.stderr) == (signal.SIGSEGV, "")


def test_no_reports_are_written_on_request(crash):
    ending = crash("fault", options=["--crash-reports", "none"])
    assert (ending.status, ending.stderr) == (-signal.SIGSEGV, "")
    ending = crash("deadlock", options=["--crash-reports", "none"])
    assert ending.stderr == "elision vm: deadlock: every thread waits for another\n"


def test_reports_are_added_to_a_file(crash, folder):
    file = folder / "reports"
    for count in (1, 2):
        ending = crash("fault", options=["--crash-reports", file])
        assert (ending.status, ending.stderr) == (-signal.SIGSEGV, "")
        assert file.read_text().count("elision vm: SIGSEGV") == count


def test_no_file_is_made_without_a_report(elision, folder):
    elision.vm(["true"], ["--crash-reports", folder / "reports"])
    assert not (folder / "reports").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_deadlock(kind, elision, crash, chain):
    ending = crash("deadlock", kind)
    assert ending.status == 124
    assert "2 threads\n" in ending.stderr.splitlines(keepends=True)[0]
    first, second = re.split(r'^elision vm: thread \d+ "waiter"', ending.stderr, flags=re.MULTILINE)
    assert " waits in futex\n" in first
    assert second.startswith(" waits in futex\n")
    assert chain(first, kind) == ["deadlock", "main"]
    assert chain(second, kind) == ["waits"]


def test_unsupported_instruction_is_named_once_and_counted(elision):
    ending, text = elision.vm_with_statistics([elision.test_program("crashing"), "wide-handled"])
    assert ending.status == 0
    assert re.search(r"\Aelision vm: instruction vaddps zmm, zmm, zmm \(62 f1 74 48 58 c2\) at "
                     r"0x[0-9a-f]+ wide\+\S+ \(crashing\) is not supported\n\Z", ending.stderr)
    unsupported = json.loads(text)["totals"]["unsupported"]
    assert unsupported["instructions"] == {"vaddps zmm, zmm, zmm": 3}


def test_unsupported_system_call_is_named_once_and_counted(elision):
    ending, text = elision.vm_with_statistics([elision.test_program("crashing"), "unknown-calls"])
    assert ending.status == 3
    assert re.search(r"\Aelision vm: system call 9999 \(unknown\) at 0x[0-9a-f]+ is not supported\n\Z", ending.stderr)
    process = json.loads(text)["processes"][0]["unsupported"]
    assert process["system_calls"]["number 9999"] == 2
    assert process["system_calls"]["rseq"] == 1, "refused knowingly"
    assert process["instructions"] == {}


def test_statistics_of_what_crashes(elision):
    ending, text = elision.vm_with_statistics([elision.test_program("crashing"), "fault"])
    assert ending.status == -signal.SIGSEGV
    assert [process["exit"] for process in json.loads(text)["processes"]] == [128 + signal.SIGSEGV]


def core_of(words, place):
    """Whether the host says that a core was left, the signal, and the core where it lies in the folder `place`."""
    place.mkdir()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(place)
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            os.execv(words[0], [str(word) for word in words])
        finally:
            os._exit(127)
    descriptor = os.pidfd_open(child)
    try:
        ended = select.select([descriptor], [], [], LIMIT_SECONDS)[0]
    finally:
        os.kill(child, signal.SIGKILL)  # does nothing to a process that has ended
        status = os.waitpid(child, 0)[1]
        os.close(descriptor)
    assert ended, "it hangs"
    assert os.WIFSIGNALED(status), status
    return os.WCOREDUMP(status), os.WTERMSIG(status), next(place.glob("core*"), None)


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY, reason="cores are limited")
@pytest.mark.parametrize("way", ["fault", "abort"])
def test_cores(way, elision, folder):
    words = [elision.test_program("crashing"), way, "core"]
    reports = folder / "reports"
    native = core_of(words, folder / "native")
    virtual = core_of([elision.binary, "vm", "--crash-reports", reports, "--", *words], folder / "virtual")
    assert virtual[:2] == native[:2]
    assert (virtual[2] is None) == (native[2] is None)
    if native[2] is None:
        pytest.skip("cores are kept elsewhere")
    registers, auxiliary = core_notes(virtual[2])
    _, pc, _, _ = STEP.search(reports.read_text()).groups()
    assert hex(registers[16]) == pc
    assert (f"{registers[19]:016x}" if way == "fault" else "") in reports.read_text()  # RSP
    # The program's entry, by which debuggers find where it was put.
    entry = int(re.search(r"^(\S+) T _start$", printed(["nm", words[0]]), re.MULTILINE)[1], 16)
    assert auxiliary[9] & 0xfff == entry & 0xfff
    assert auxiliary[9] < 0x20000000


@pytest.mark.parametrize("way", ["spin", "wait"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(way, number, elision, place):
    with place.started("vm", "--stats", "s.json", "--", elision.test_program("crashing"), way) as command:
        assert command.stdout.readline() == "ready\n"
        command.send_signal(number)
        _, errors = command.communicate(timeout=LIMIT_SECONDS)
    assert (command.returncode, errors) == (-number, "")
    processes = json.loads((place.root / "s.json").read_text())["processes"]
    assert [process["exit"] for process in processes] == [128 + number]
    assert [path.name for path in place.root.iterdir()] == ["s.json"]
