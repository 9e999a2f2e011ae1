# SPDX-License-Identifier: Apache-2.0
"""Takes out of a shared library what a later glibc added to it: an imitation of the glibc before that.

The symbols of later versions lose their names; the versions stay defined, so that programs that ask for them still start.
"""

import re
import struct

SHT_DYNSYM, SHT_GNU_VERDEF, SHT_GNU_VERSYM = 11, 0x6FFFFFFD, 0x6FFFFFFF
HIDDEN = 0x8000


def version_key(name):
    """(2, 30) of GLIBC_2.30; None of any other version."""
    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", name)
    return (int(found[1]), int(found[2])) if found else None


def sections(data):
    """(type, offset, size, link) of each."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for index in range(count):
        _, kind, _, _, offset, length, link = struct.unpack_from("<IIQQQQI", data, table + index * size)
        yield kind, offset, length, link


def text_at(data, offset):
    return data[offset:data.index(b"\0", offset)].decode()


def defined_versions(data, found):
    """{index: name}."""
    _, offset, _, link = found[SHT_GNU_VERDEF]
    names = list(sections(data))[link][1]
    versions = {}
    while True:
        _, _, index, _, _, aux, following = struct.unpack_from("<HHHHIII", data, offset)
        name, = struct.unpack_from("<I", data, offset + aux)
        versions[index] = text_at(data, names + name)
        if following == 0:
            return versions
        offset += following


def without_later(data, newest):
    """(`data` without its symbols of versions above `newest`, their names)."""
    data = bytearray(data)
    found = {section[0]: section for section in sections(data)}
    versions = defined_versions(data, found)
    _, symbols, size, link = found[SHT_DYNSYM]
    names = list(sections(data))[link][1]
    of_symbol = found[SHT_GNU_VERSYM][1]
    taken = []
    for index in range(size // 24):
        name, _, _, section = struct.unpack_from("<IBBH", data, symbols + index * 24)
        version, = struct.unpack_from("<H", data, of_symbol + index * 2)
        key = version_key(versions.get(version & ~HIDDEN, ""))
        if section != 0 and key is not None and key > newest:
            taken.append(text_at(data, names + name))
            struct.pack_into("<I", data, symbols + index * 24, 0)
    return bytes(data), taken
