#!/usr/bin/env python3
"""Makes the vectors of this directory from docs/FORMAT.md and docs/FORMAT-extensions.md, and from nothing of the engine.

    generate.py DIR      writes them into DIR

A number behind a section sign is a section of FORMAT-extensions.md; "FORMAT n" is one of FORMAT.md."""
import os
import sys
import zlib

# ---- numbers and checksums ----


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0xC96C5795D7870F42 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = make_table()
END = 2**64 - 1


def crc64(data):
    """CRC-64/XZ: reflected polynomial of ECMA-182, initial value and final xor all ones."""
    crc = END
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 255]
    return crc ^ END


assert crc64(b"123456789") == 0x995DC9BBDF1939FA


def little(*numbers):
    return b"".join(n.to_bytes(8, "little") for n in numbers)


def sealed(data):
    return data + little(crc64(data))


# ---- what the vectors are of ----

OLDEST = 1 << 40 | 0x0CC0FFEE01  # §2: a count of commits, and 40 random bits with the last one set
OLDER = 2 << 40 | 0x0000BEEF03
GENERATION = 3 << 40 | 0xAB12CD34EF
NEXT = 4 << 40 | 0x1020304051
AT_FIRST = 4 << 40 | 0x6070809001  # a next journal's own generation, before its rank prepares the commit
SINCE = 200_000_000_000 << 22 | 0x2AAAAB  # of a file of one rank: milliseconds since 2020, and 22 random bits
ONE_RANK = 200_000_000_777 << 22 | 0x155555

BOOT_ID = b"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n"
TIME = 1_790_000_000
JOB, USER, LABEL = "4711", "ann", "step 7, \u00e9tape"
MINUTE = 60

MEMBERS = 3
SIZES = [700, 6000, 5000]  # of the data files of ranks 0, 1 and 2, which are one XOR set
CHUNK = 3000  # FORMAT 7: max(1, ceil(6000 / 2))
ONE_RANK_SIZE = 70_000
BLOCK = 65536
CHANGED_AT, CHANGED_TO = 100, 116  # of the payload of rank 1, by the update

PREFIX = "ckpt_1.h5."
DESCRIPTOR = PREFIX + "1.redset"
REDUNDANCY = PREFIX + "1.xor.grp_1_of_1.mem_2_of_3.redset"


def content(rank, size):
    return bytes((i * 167 + rank * 59 + (i >> 8) * 13) & 255 for i in range(size))


def payload():
    """FORMAT 7: rank 1 has the parity of stripe 1, of which rank 0 has its first chunk and rank 2 its second."""
    first = content(0, SIZES[0])[:CHUNK].ljust(CHUNK, b"\0")
    second = content(2, SIZES[2])[CHUNK : 2 * CHUNK].ljust(CHUNK, b"\0")
    return bytes(a ^ b for a, b in zip(first, second))


def changed_payload():
    data = bytearray(payload())
    for i in range(CHANGED_AT, CHANGED_TO):
        data[i] ^= 255
    return bytes(data)


# ---- headers: FORMAT 2, 3, 5, 6, and §1 ----


def packed(tree):
    """A dict is a tree, anything else a value, which is a key with an empty tree."""
    if not isinstance(tree, dict):
        tree = {str(tree): {}}
    keys = {key.encode(): below for key, below in tree.items()}
    return len(keys).to_bytes(4, "big") + b"".join(key + b"\0" + packed(keys[key]) for key in sorted(keys))


def container(tree):
    body = packed(tree)
    head = bytes.fromhex("951fc3f500010001") + (24 + len(body)).to_bytes(8, "big") + bytes.fromhex("00000001")
    return head + body + zlib.crc32(head + body).to_bytes(4, "big")


def padded(tree):
    """§1: 64 or more digits of PAD, so that the length is a multiple of 4096."""
    short = len(container({**tree, "PAD": "0" * 64}))
    return container({**tree, "PAD": "0" * (64 + -short % 4096)})


def sums(data):
    blocks = "".join(f"{crc64(data[i:i + BLOCK]):016x}" for i in range(0, len(data), BLOCK))
    return {"CRC64": f"{crc64(data):016x}", "CRC64_BLOCK": BLOCK, **({"CRC64_BLOCKS": blocks} if blocks else {})}


def file_of(path, rank, data):
    return {
        path: {
            "ATIME_NSECS": 42,
            "ATIME_SECS": 2**64 - 86400,  # a day before 1970
            "CTIME_NSECS": 999_999_999,
            "CTIME_SECS": TIME - 3,
            "GID": 100,
            "MODE": 0o100640,
            "MTIME_NSECS": 7,
            "MTIME_SECS": TIME - 5,
            "SIZE": len(data),
            "UID": 1000 + rank,
            **sums(data),
        }
    }


def descriptor_of(rank, generation):
    return {
        "ENABLED": 1,
        "GROUP": 0,
        "GROUPS": 1,
        "RANK": rank,
        "RANKS": MEMBERS,
        "TYPE": "XOR",
        "WRANK": rank,
        "WRANKS": MEMBERS,
        "GENERATION": generation,
    }


def info_of(rank, generation, time):
    return {
        "DESC": descriptor_of(rank, generation),
        "FILE": {"0": file_of(f"/local/ckpt_{rank}.h5", rank, content(rank, SIZES[rank]))},
        "FILES": 1,
        "HOST": f"node{rank}",
        "TIME": time,
        "JOB": JOB,
        "USER": USER,
        "LABEL": LABEL,
        "TOGETHER": f"mesh_{rank}.h5/part_{rank}.h5",
    }


def header(generation, time, data):
    """Of the redundancy file of rank 1: its own info, and that of its left neighbour."""
    return padded(
        {
            "CHUNK": CHUNK,
            "DESC": {str(rank): info_of(rank, generation, time) for rank in (0, 1)},
            "GROUP": {"RANK": {str(rank): rank for rank in range(MEMBERS)}, "RANKS": MEMBERS},
            "RANK": 1,
            "PAYLOAD": {"SIZE": len(data), **sums(data)},
            "VFD": 1,
        }
    )


def header_of_one_rank():
    """Of a file of one rank (`root=`): SINGLE, with nothing after the header."""
    single = {
        "ENABLED": 1,
        "GROUP": 0,
        "GROUPS": 1,
        "RANK": 0,
        "RANKS": 1,
        "TYPE": "SINGLE",
        "WRANK": 0,
        "WRANKS": 1,
        "GENERATION": ONE_RANK,
    }
    info = {
        "DESC": single,
        "FILE": {"0": file_of("/local/one.h5", 0, content(3, ONE_RANK_SIZE))},
        "FILES": 1,
        "HOST": "node0",
        "TIME": TIME,
        "SINCE": SINCE,
    }
    return padded({"DESC": {"0": info}, "RANK": 0, "PAYLOAD": {"SIZE": 0, **sums(b"")}, "VFD": 1})


# ---- undo journals: §4 ----

OPEN, CLOSED = 1, 2
KEPT, ASIDE, FIRST, NEXT_FLAG = 1, 2, 4, 8
UNKNOWN = (0, 0, 0)
STEP = (0x1122334455667788, 41, 3)  # label: job, step, ranks


def head(sequence, state, flags, generation, size, key, label=UNKNOWN, closed=0):
    return sealed(b"RSETJRN3" + little(sequence, state, flags, generation, size, *label, closed, key))


def entry(offset, data, key):
    return little(offset, len(data), crc64(little(offset, len(data), key))) + data


def journal(*heads, entries=()):
    """Each head is at its place, and nothing is where none was written."""
    file = bytearray()
    for number, one in enumerate(heads, 1):
        place = 512 * (number % 2)
        file.extend(b"\0" * (place + len(one) - len(file)))
        file[place : place + len(one)] = one
    if entries:
        file.extend(b"\0" * (1024 - len(file)))
    return bytes(file) + b"".join(entries)


def journals():
    size = SIZES[1]
    old = content(1, size)
    begun = head(1, OPEN, KEPT, GENERATION, size, GENERATION)
    kept = [entry(4096, old[4096:], GENERATION), entry(0, old[:4096], GENERATION)]
    closed = head(2, CLOSED, KEPT, GENERATION, size, GENERATION, STEP, size + 500)
    aside = head(1, OPEN, ASIDE, GENERATION, size, GENERATION)
    nexts = [head(i, OPEN, KEPT | NEXT_FLAG, g, size, AT_FIRST) for i, g in ((1, AT_FIRST), (2, NEXT))]
    firsts = [head(1, OPEN, FIRST, 0, 0, 0), head(2, CLOSED, FIRST, 0, 0, 0, STEP, 3)]
    return {
        f"undo_open/{PREFIX}redset.{GENERATION:016x}.undo": journal(begun, entries=kept),
        f"undo_closed/{PREFIX}redset.{GENERATION:016x}.undo": journal(begun, closed, entries=kept),
        f"undo_aside/{PREFIX}redset.{GENERATION:016x}.undo": journal(aside),
        f"undo_next/{PREFIX}redset.{NEXT:016x}.undo": journal(*nexts, entries=[entry(0, old[:4096], AT_FIRST)]),
        f"undo_first/{PREFIX}redset.{0:016x}.undo": journal(*firsts),
    }


# ---- an update: §5 ----


def update():
    new = header(NEXT, TIME + MINUTE, changed_payload())
    return b"".join(
        [
            sealed(b"RSETDLT1" + little(NEXT, len(new) + CHUNK)),
            entry(len(new) + CHANGED_AT, changed_payload()[CHANGED_AT:CHANGED_TO], NEXT),
            entry(0, new, NEXT),
            entry(END, b"", NEXT),
        ]
    )


# ---- the names file: §6 ----


def names():
    stems = [REDUNDANCY, DESCRIPTOR, f"{PREFIX}redset.{NEXT:016x}", PREFIX + "1.redset.1"]
    text = b"".join(stem[len(PREFIX) :].encode() + b"\0" for stem in stems)
    older = little(OLDER, 0, OLDEST, 1)
    before = b"RSETNAM3" + little(crc64(BOOT_ID), len(stems), len(text), len(older) // 16)
    return before + little(crc64(before + text + older)) + text + older


# ---- the placeholder: §3 ----

PLACEHOLDER = (
    "redset: a file of this name is being written beside this one, "
    "and takes its place when it is closed and protected.\n"
)


def vectors():
    return {
        f"set/{REDUNDANCY}": header(GENERATION, TIME, payload()) + payload(),
        f"set/{DESCRIPTOR}": container({str(rank): {"DESC": descriptor_of(rank, GENERATION)} for rank in (0, 1)}),
        f"set/{PREFIX}redset.names": names(),
        "one_rank/one.h5.0.single.grp_1_of_1.mem_1_of_1.redset": header_of_one_rank(),
        **journals(),
        f"update/{REDUNDANCY}.redo": update(),
        f"update_torn/{REDUNDANCY}.new": update()[:-1],
        "placeholder/new.h5": PLACEHOLDER.encode(),
    }


def main():
    for path, data in vectors().items():
        assert len(data) < 8192, path
        path = os.path.join(sys.argv[1], path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()
