# SPDX-License-Identifier: Apache-2.0
"""Writes RBWP version 1 files for tests, byte by byte, from plain Python values.

A record is (ts, kind, fields...): ("cb", slot), ("ce",), ("fb", sub_item), ("fe",),
("gpu", proc_id, slot, start, stop). Times are always stored in the 8-byte form.
"""
import struct
import zlib

KINDS = {"cb": 0x01, "ce": 0x02, "fb": 0x11, "fe": 0x12, "gpu": 0x21}


def record(ts, kind, *fields):
    data = struct.pack(">Q", ts & (1 << 62) - 1 | 3 << 62) + bytes([KINDS[kind]])
    if kind == "cb":
        data += struct.pack("<B", *fields)
    elif kind == "fb":
        data += struct.pack("<H", *fields)
    elif kind == "gpu":
        data += struct.pack("<QBqq", *fields)
    return data


def block(thread_id, sequence, records, compress=False):
    data = b"".join(record(*r) for r in records)
    stored = zlib.compress(data) if compress else data
    base = records[0][0] if records else 0
    return (
        struct.pack("<QIIqII", thread_id, sequence, len(records), base, len(data), len(stored) if compress else 0)
        + stored
    )


def table(work_items, sub_items):
    out = b""
    for slot, name in work_items:
        out += struct.pack("<HH", slot, len(name)) + name
    for number, kind, name in sub_items:
        out += struct.pack("<HBH", number, kind, len(name)) + name
    return out


def file(blocks, work_items=(), sub_items=(), zero_time=1000, flags=1, node=0, finalised=True):
    body = b"".join(blocks)
    header = struct.pack(
        "<4sHHIqIIQ",
        b"RBWP",
        1,
        flags,
        node,
        zero_time,
        len(work_items) if finalised else 0,
        len(sub_items) if finalised else 0,
        36 + len(body) if finalised else 0,
    )
    return header + body + (table(work_items, sub_items) if finalised else b"")


def same_run(folder, paths):
    """Copies of files as if they were of one run: node i of it, with the zero time of the first."""
    copies, zero = [], None
    for node, path in enumerate(paths):
        with open(path, "rb") as file:
            data = bytearray(file.read())
        zero = zero or data[12:20]
        data[8:12], data[12:20] = node.to_bytes(4, "little"), zero
        copies.append(f"{folder}/node{node}.bin")
        with open(copies[-1], "wb") as file:
            file.write(data)
    return copies


def section(tag, payload):
    return struct.pack("<4sIQ", tag, 0, len(payload)) + payload


def table_section(tag, entries, names=b""):
    return section(tag, struct.pack("<II", len(entries[0]) if entries else 8, len(entries)) + b"".join(entries) + names)


def thread_entry(thread_id, records=0, os_id=0, attached=0, detached=0, name=b""):
    return struct.pack("<QQqqQH6x", thread_id, os_id, attached, detached, records, len(name))


def loss_entry(thread_id, count, cause, first=0, last=0):
    return struct.pack("<QQqqI4x", thread_id, count, first, last, cause)


def info(pid=1, start=0, stop=0, nodes=1, level=2):
    return section(b"INFO", struct.pack("<QIIqqQQQ", pid, nodes, level, start, stop, 0, 0, 0))


def crc32c(data):
    sum = 0xFFFFFFFF
    for byte in data:
        sum ^= byte
        for _ in range(8):
            sum = sum >> 1 ^ 0x82F63B78 * (sum & 1)
    return sum ^ 0xFFFFFFFF


def with_trailer(file, *sections):
    """A finalised file with a trailer behind it."""
    body = b"".join(sections)
    return file + body + struct.pack("<QQII8s", len(file), len(body), crc32c(body), 0, b"RBWP.END")
