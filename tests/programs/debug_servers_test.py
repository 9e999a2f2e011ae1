# SPDX-License-Identifier: Apache-2.0
"""Profiles of stripped programs whose debug files only a debuginfod server has."""

import contextlib
import http.server
import json
import shutil
import socket
import subprocess
import threading
import time

import pytest
from support import printed, run

PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
static long rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;
__attribute__((noinline)) static void take_and_add(void) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < 100; ++i) sum = sum + 1;
  pthread_mutex_unlock(&lock);
}
static void* work(void* unused) {
  for (int i = 0; i < rounds; ++i) take_and_add();
  return unused;
}
int main(int argc, char** argv) {
  rounds = argc > 1 ? atol(argv[1]) : 0;
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  return 0;
}
"""
LINE_OF_CALL = PROGRAM.splitlines().index("  pthread_mutex_lock(&lock);") + 1
VIRTUALLY, NATIVELY = (("--vm", "xeon-e5-2697v4"), 200), (("--call-paths", "0"), 1_000_000)
# Brings up the loopback of a new network, and executes its arguments there. 0x8914 is SIOCSIFFLAGS, 0x41 IFF_UP and IFF_RUNNING.
WITH_LOOPBACK = "import fcntl, os, socket, struct, sys; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14x', b'lo', 0x41)); " \
    "os.execv(sys.argv[1], sys.argv[1:])"


@pytest.fixture
def stripped(folder):
    """(a program without symbols, the folder with its debug file, its build id)"""
    debug = folder / "debug"
    debug.mkdir()
    program = folder / "stripped"
    (folder / "adder.c").write_text(PROGRAM)
    printed(["gcc", "-O1", "-g", "-pthread", "-Wl,--build-id=sha1", "-o", program, "adder.c"], cwd=folder)
    printed(["objcopy", "--only-keep-debug", program, debug / "stripped.debug"])
    printed(["strip", "--strip-all", program])
    notes = printed(["readelf", "--notes", program])
    (line,) = (line for line in notes.splitlines() if "Build ID:" in line)
    return program, debug, line.split()[-1]


@pytest.fixture
def names(place, stripped, folder):
    """Records the program: the place of its busiest lock's calls, as the report has it."""

    def record(servers=None, how=VIRTUALLY, before=(), **variables):
        environment = {**place.environment, **variables, "HOME": str(folder), "DEBUGINFOD_CACHE_PATH": str(folder / "cache")}
        environment["DEBUGINFOD_URLS"] = servers or ""
        file = folder / "profile"
        ending = run([*before, place.elision.binary, "record", *how[0], "-o", file, "--", stripped[0], how[1]], environment=environment)
        assert ending.status == 0 and len(ending.stderr.splitlines()) == 1, ending.stderr
        return json.loads(file.read_text())["profile"]["locks"][0]["site"]
    return record


@contextlib.contextmanager
def serving(handler):
    """A server on this machine's loopback alone: its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            handler(self)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def expect_no_names(place):
    assert place["name"].startswith("stripped+0x") and place.get("file", "") == ""


def expect_names(place):
    assert (place["name"], place["file"], place["line"]) == ("take_and_add", "adder.c", LINE_OF_CALL)


@pytest.mark.parametrize("how", [VIRTUALLY, NATIVELY], ids=["virtually", "natively"])
def test_names_and_lines_come_from_the_server(names, stripped, how):
    """The server is asked for the debug file by the program's build id, once: then it is in the user's cache."""
    asked = []

    def answer(request):
        asked.append(request.path)
        is_it = request.path == f"/buildid/{stripped[2]}/debuginfo"
        content = (stripped[1] / "stripped.debug").read_bytes() if is_it else b""
        request.send_response(200 if is_it else 404)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    with serving(answer) as address:
        expect_names(names(address, how))
        assert asked.count(f"/buildid/{stripped[2]}/debuginfo") == 1
        expect_names(names(address, how))
        assert asked.count(f"/buildid/{stripped[2]}/debuginfo") == 1
    expect_no_names(names(None, how))


def test_no_server_is_asked_without_the_variable(names):
    expect_no_names(names())


def test_server_that_is_not_there(names):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    expect_no_names(names(f"http://127.0.0.1:{port}"))


def test_server_that_never_answers_is_asked_once(names):
    """The program has several files without debug files, and the limit of time holds for all of them together."""
    asked, ends = [], threading.Event()

    def keep_waiting(request):
        asked.append(request.path)
        ends.wait()

    with serving(keep_waiting) as address:
        expect_no_names(names(address, DEBUGINFOD_TIMEOUT="1"))
        ends.set()
    assert len(asked) == 1


def test_debians_server(names, stripped, folder):
    """It listens on every network, so it gets one that has a loopback alone."""
    server, find, unshare, nsenter = (shutil.which(name) for name in ("debuginfod", "debuginfod-find", "unshare", "nsenter"))
    if None in (server, find, unshare, nsenter):
        pytest.skip("no debuginfod")
    if run([unshare, "--net", "true"]).status != 0:
        pytest.skip("no network namespaces for this user")
    address = "http://127.0.0.1:8002"
    words = [unshare, "--net", "/usr/bin/python3", "-c", WITH_LOOPBACK, server, "-F", "-d", ":memory:", stripped[1]]
    with open(folder / "log", "w+", encoding="utf-8") as log, subprocess.Popen(list(map(str, words)), stdout=log, stderr=log) as process:
        try:
            inside = (nsenter, f"--net=/proc/{process.pid}/ns/net", "--")
            environment = {"DEBUGINFOD_URLS": address, "DEBUGINFOD_CACHE_PATH": str(folder / "other_cache")}
            deadline = time.monotonic() + 120
            while run([*inside, find, "debuginfo", stripped[2]], environment=environment).status != 0:  # it has not read the folder yet
                assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
                shutil.rmtree(folder / "other_cache", ignore_errors=True)  # it also keeps what was not found
            expect_names(names(address, before=inside))
        finally:
            process.kill()
