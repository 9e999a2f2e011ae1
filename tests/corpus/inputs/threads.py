# SPDX-License-Identifier: Apache-2.0
"""What the whole-program test runs under python3: threads, exceptions, hashing, big integers, children."""

import collections
import hashlib
import json
import os
import queue
import re
import subprocess
import sys
import threading


def count_words(lines, results):
    counter = collections.Counter()
    for line in lines:
        counter.update(re.findall(r"[a-z]+", line))
    results.put(counter)


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        lines = file.read().splitlines()
    results = queue.Queue()
    threads = [threading.Thread(target=count_words, args=(lines[i::4], results)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = collections.Counter()
    while not results.empty():
        total.update(results.get())
    print(json.dumps(sorted(total.items(), key=lambda item: (-item[1], item[0]))[:5]))
    print(hashlib.sha256(repr(sorted(total.items())).encode()).hexdigest())
    print(pow(3, 5000) % (10**40), sum(1 / n for n in range(1, 2000)))
    try:
        [][1]
    except IndexError as error:
        print("caught", error)
    print(subprocess.run(["cat"], input=b"through a pipe", capture_output=True, check=True).stdout)
    child = os.fork()
    if child == 0:
        os._exit(17)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    sys.exit(5)


main()
