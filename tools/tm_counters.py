# SPDX-License-Identifier: Apache-2.0
"""Reads the counter files of the transactional memory library (src/abi/tm_counters.h)."""

import struct
import sys

MAGIC = 0x31304D5453494C45
HEADER = struct.Struct("=Q8I")
HEADER_BYTES = 4096
CAUSES = ("lock_busy", "explicit", "conflict", "capacity", "nested", "debug", "other")
NAMES = (
    *("plain_commits", "read_only_commits", "logged_commits", "fallback_commits", "serial_commits", "cancels"),
    *(f"{cause}_aborts" for cause in CAUSES),
    *("validation_aborts", "foreign_aborts"),
    *("segments", "segment_accesses", "segment_aborts", "software_segments", "write_backs", "write_backs_under_lock"),
)
MODES = ("serial", "hle", "hle-scm", "unsafe-lr", "ale")


def totals(path):
    """The sums over all threads of one process, and its mode."""
    data = path.read_bytes()
    magic, version, slot_bytes, slots, _, _, mode, _, _ = HEADER.unpack_from(data)
    assert (magic, version) == (MAGIC, 1)
    sums = dict.fromkeys(NAMES, 0)
    for slot in range(slots):
        values = struct.unpack_from(f"={len(NAMES)}Q", data, HEADER_BYTES + slot * slot_bytes)
        for name, value in zip(NAMES, values, strict=True):
            sums[name] += value
    sums["commits"] = sum(sums[name] for name in NAMES[:5])
    return {"mode": MODES[mode], **sums}


def of_folder(folder):
    """The same of the only process that left a file in `folder`; None without one."""
    files = sorted(folder.glob("*.tm"))
    if not files:
        return None
    (path,) = files
    return totals(path)


if __name__ == "__main__":
    import pathlib

    for name in sys.argv[1:]:
        print({key: value for key, value in totals(pathlib.Path(name)).items() if value})
