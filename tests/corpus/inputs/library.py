# SPDX-License-Identifier: Apache-2.0
"""What the corpus runs of python3's library: asyncio, multiprocessing, ctypes, signals, sockets, compression, decimals."""

import asyncio
import bz2
import concurrent.futures
import ctypes
import decimal
import lzma
import mmap
import multiprocessing
import os
import random
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zlib


async def ticks(name, count, out):
    for i in range(count):
        out.append((name, i))
        await asyncio.sleep(0.001)


async def served():
    async def answer(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\n")
    print(await reader.readline())
    writer.close()
    server.close()
    out = []
    await asyncio.gather(ticks("a", 3, out), ticks("b", 3, out))
    print(sorted(out))


def square(n, results):
    results.put(n * n)


def main():
    with open(sys.argv[1], "rb") as file:
        text = file.read()
    for module in (zlib, bz2, lzma):
        assert module.decompress(module.compress(text)) == text
    asyncio.run(served())
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    children = [context.Process(target=square, args=(n, results)) for n in range(4)]
    for child in children:
        child.start()
    print(sorted(results.get() for _ in children))
    for child in children:
        child.join()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print(sum(pool.map(len, text.split(b"\n"))))
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 20)(*random.Random(3).sample(range(100), 20))
    ctypes.CDLL(None).qsort(numbers, 20, 4, compare(lambda a, b: a[0] - b[0]))
    print(list(numbers))
    caught = []
    signal.signal(signal.SIGALRM, lambda number, frame: caught.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    before = time.monotonic()
    time.sleep(0.05)
    print(caught, time.monotonic() - before >= 0.05)
    ours, theirs = socket.socketpair()
    poll = select.epoll()
    poll.register(ours.fileno(), select.EPOLLIN)
    theirs.send(struct.pack("<d", 0.1))
    print(len(poll.poll(1)), struct.unpack("<d", ours.recv(8)))
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 10000)
        file.flush()
        with mmap.mmap(file.fileno(), 0) as view:
            view[5000:5005] = b"hello"
        os.lseek(file.fileno(), 4999, os.SEEK_SET)
        print(os.read(file.fileno(), 8))
    decimal.getcontext().prec = 60
    print(decimal.Decimal(2).sqrt(), sqlite3.connect(":memory:").execute("select 6*7").fetchone())
    done = subprocess.run(["sh", "-c", "cat; echo err >&2; exit 4"], input=b"in", capture_output=True, check=False)
    print(done.stdout, done.stderr, done.returncode)


main()
