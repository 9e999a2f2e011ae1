# SPDX-License-Identifier: Apache-2.0
"""Threads that add under every kind of lock that Python has, and hand things on in order: totals are exact.

    lock_totals.py SIZE

Python's own locks are semaphores; what is a mutex with a condition variable is the interpreter's global lock, which is
passed on as often as possible here, and which hashing and compression let go.
"""

import collections
import hashlib
import queue
import sys
import threading
import zlib

THREADS = 6


def run_all(work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def totals_under(lock, size):
    """What is read and written apart from each other loses updates unless the lock keeps others out."""
    total = 0

    def add(_):
        nonlocal total
        for _ in range(size):
            with lock:
                seen = total
                for _ in range(3):
                    pass
                total = seen + 1

    run_all(add)
    return total


def orders_kept(size):
    """Every producer's numbers arrive in its order, and all of them, through a short queue."""
    numbers, arrived = queue.Queue(maxsize=4), collections.defaultdict(list)

    def consume():
        while (item := numbers.get()) is not None:
            arrived[item[0]].append(item[1])

    consumer = threading.Thread(target=consume)
    consumer.start()
    run_all(lambda who: [numbers.put((who, i)) for i in range(size)])
    numbers.put(None)
    consumer.join()
    return all(arrived[who] == list(range(size)) for who in range(THREADS))


def turns_taken(size):
    """Each waits for its turn by one condition variable."""
    turn, changed = 0, threading.Condition()

    def take(who):
        nonlocal turn

        def is_next():
            return turn % THREADS == who

        for _ in range(size):
            with changed:
                changed.wait_for(is_next)
                turn += 1
                changed.notify_all()

    run_all(take)
    return turn


def rounds_met(size):
    """Nobody passes a barrier before all have counted."""
    counts, meeting, early = [0] * THREADS, threading.Barrier(THREADS), []

    def meet(who):
        for number in range(size):
            counts[who] += 1
            meeting.wait()
            early.extend(count for count in counts if count != number + 1)
            meeting.wait()

    run_all(meet)
    return counts, early


def digests(size):
    """Work that lets the global lock go, in parallel, is that of one thread."""
    data, found = bytes(range(256)) * 40, {}

    def digest(who):
        for i in range(size):
            packed = zlib.compress(data[who * 100 + i:])
            found[who, i] = hashlib.sha256(zlib.decompress(packed)).hexdigest()

    run_all(digest)
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()


def main():
    size = int(sys.argv[1])
    sys.setswitchinterval(1e-6)
    for kind in (threading.Lock, threading.RLock, threading.BoundedSemaphore, threading.Condition):
        print(kind.__name__, totals_under(kind(), size * 20))
    print("queue", orders_kept(size * 2))
    print("turns", turns_taken(size // 4))
    print("barrier", rounds_met(size // 4))
    print("digests", digests(size // 4))


main()
