# SPDX-License-Identifier: Apache-2.0
"""Writes live files (format/include/live_layout.h) for tests, from plain Python values, in the byte order of
the machine that rbwp is for: this one, or RBWP_BYTE_ORDER (big, little) under an emulator.

The clock makes one tick a nanosecond: tick t is the time ZERO + t.
"""
import os
import struct
import sys

ORDER = {"big": ">", "little": "<"}[os.environ.get("RBWP_BYTE_ORDER", sys.byteorder)]
ZERO = 1_700_000_000_000_000_000
OFFSET = 1_600_000_000_000_000_000
TABLE_OFFSET, HEAD_BYTES, SEGMENT_BYTES, CHUNK_BYTES = 65536, 65536 + 65536 * 16, 4 << 20, 4096
LOST = {"unwritten_records": 0, "unwritten_blocks": 1, "unprotected_chunks": 2, "unlogged_slot": 5,
        "unlogged_thread": 8, "lost_dropped": 21, "lost_stalled": 22}  # u64 number of the counts
EVENTS = {"cb": 1, "ce": 2, "fb": 3, "fe": 4}


def pack(form, *values):
    return struct.pack(ORDER + form, *values)


def entry(kind, payload):
    data = pack("II", 8 + len(payload), kind) + payload
    return data + bytes(-len(data) % 8)


def slot(number, name, start=0):
    return entry(1, pack("qH", start, number) + name)


def sub_item(number, kind, name):
    return entry(3, pack("HH", number, kind) + name)


def thread(thread_id, name):
    return entry(4, pack("QQq", thread_id, thread_id + 1000, 0) + name)


def sample(ticks):
    return entry(6, pack("Qqqq", ticks, ZERO + ticks, ZERO + ticks - OFFSET, ZERO + ticks))


def chunk(thread_id, base, ticket, events):
    """events: (tick from base, kind, id)."""
    words = b"".join(pack("Q", t << 19 | number << 3 | EVENTS[kind]) for t, kind, number in events)
    return pack("QQQ40x", thread_id, base, ticket) + words


def write(path, log, chunks, committed=36, ticket=0, zero=ZERO, node=0, level=2, **lost):
    """lost: counts by the names in LOST."""
    counts = [0] * 52
    for name, number in lost.items():
        counts[LOST[name]] = number
    head = pack("8sIIIIQqqIIIIQQQQQQII52Q", b"RBWPLIVE", 2, 0x01020304, CHUNK_BYTES, 64, 4242, zero, OFFSET, node,
                       level, 0, 1, 10**9, 0, committed, ticket, 0, 0, 0, 0, *counts)
    with open(path, "wb") as file:
        file.write(head)
        file.seek(TABLE_OFFSET)
        for number, kind in enumerate((2, 1)):
            file.write(pack("QII", HEAD_BYTES + number * SEGMENT_BYTES, SEGMENT_BYTES, kind))
        file.seek(HEAD_BYTES)
        file.write(b"".join(log))
        for number, data in enumerate(chunks):
            file.seek(HEAD_BYTES + SEGMENT_BYTES + number * CHUNK_BYTES)
            file.write(data)
        file.truncate(HEAD_BYTES + 2 * SEGMENT_BYTES)
