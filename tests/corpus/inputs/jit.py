# SPDX-License-Identifier: Apache-2.0
"""What the corpus runs under pypy3: loops that its JIT compiles, threads, exceptions out of compiled code."""

import threading


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n >> 1
        steps += 1
    return steps


def main():
    print(max((collatz(n), n) for n in range(1, 20000)))
    words = {}
    for i in range(100000):
        words[f"w{i % 991}"] = words.get(f"w{i % 991}", 0) + i * 0.5
    print(sum(words.values()), len(words))
    lock, total = threading.Lock(), [0]

    def work():
        for i in range(2000):
            with lock:
                total[0] += i

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(total)
    failures = 0
    for i in range(3000):
        try:
            failures += 1 // (i % 3)
        except ZeroDivisionError:
            failures += 100
    print(failures)


main()
