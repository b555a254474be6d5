# SPDX-License-Identifier: Apache-2.0
"""Makes small RBWP files for the tests, byte by byte, right or wrong as asked.

It shares no code with the reader except CRC-32C, which has a test of its own: every layout is written here a
second time, so that a field that the reader takes from the wrong place does not go unnoticed. The defaults
make a good file.
"""

import struct
import zlib

from rbwp_reader import crc32c

T0 = 1_700_000_000_000_000_000
HEADER_BYTES = 36


def ts8(time):
    return (time & (1 << 62) - 1 | 3 << 62).to_bytes(8, "big")


def ts4(value):
    return (value | 2 << 30).to_bytes(4, "big")


def ts2(value):
    return value.to_bytes(2, "big")


def begin(ts, slot=0):
    return ts + bytes([0x01, slot])


def end(ts):
    return ts + b"\x02"


def fine_begin(ts, number=0):
    return ts + b"\x11" + struct.pack("<H", number)


def fine_end(ts):
    return ts + b"\x12"


def gpu_work(ts, processor=0, slot=0, start=0, stop=0):
    return ts + b"\x21" + struct.pack("<QBqq", processor, slot, start, stop)


PAIR = [begin(ts8(T0)), end(ts2(5))]  # one call from T0 to T0 + 5


def block(records, base=T0, thread=7, sequence=0, compress=False, count=None, data_size=None, stored_size=None):
    data = records if isinstance(records, bytes) else b"".join(records)
    payload = zlib.compress(data) if compress else data
    count = len(records) if count is None else count
    data_size = len(data) if data_size is None else data_size
    if stored_size is None:
        stored_size = len(payload) if compress else 0
    return struct.pack("<QIIqII", thread, sequence, count, base, data_size, stored_size) + payload


def opaque(data, compress=False):
    return block(data, base=0, thread=0, count=0, compress=compress)


def work_item(slot, name):
    return struct.pack("<HH", slot, len(name)) + name


def sub_item(number, kind, name):
    return struct.pack("<HBH", number, kind, len(name)) + name


def header(descriptor_offset=0, items=0, subs=0, version=1, flags=1, node=0, zero=0, magic=b"RBWP"):
    return struct.pack("<4sHHIqIIQ", magic, version, flags, node, zero, items, subs, descriptor_offset)


def finalised(blocks=(), items=(), subs=(), behind=b"", **fields):
    body = b"".join(blocks)
    values = {"descriptor_offset": 36 + len(body), "items": len(items), "subs": len(subs)} | fields
    return header(**values) + body + b"".join(items) + b"".join(subs) + behind


def section(tag, payload=b"", flags=0, length=None):
    return struct.pack("<4sIQ", tag, flags, len(payload) if length is None else length) + payload


def table_section(tag, entries, entry_size, names=b"", count=None):
    count = len(entries) if count is None else count
    return section(tag, struct.pack("<II", entry_size, count) + b"".join(entries) + names)


def footer(offset, sections, flags=0, size=None, crc=None):
    return struct.pack("<QQII8s", offset, len(sections) if size is None else size,
                       crc32c(sections) if crc is None else crc, flags, b"RBWP.END")


def with_trailer(file, *sections, **fields):
    body = b"".join(sections)
    return file + body + footer(fields.pop("offset", len(file)), body, **fields)


def index_entry(file, offset, size, records, first, last, thread, blocks, crc=None):
    crc = crc32c(file[offset:offset + size]) if crc is None else crc
    return struct.pack("<QQQqqQII", offset, size, records, first, last, thread, blocks, crc)


def table_range(offset, size, table, blocks, rows, first, last, times=(0, 0), thread=0, block_size=None):
    """An entry of TIDX; without block_size, of blocks that follow each other."""
    return struct.pack("<QQQIIQQQqqQ", offset, size, size if block_size is None else block_size, table, blocks, rows,
                       first, last, *times, thread)


def tabl(file, descriptor_offset, items, subs, crc=None):
    tables = file[descriptor_offset:]
    crc = crc32c(tables) if crc is None else crc
    return section(b"TABL", struct.pack("<QQIII4x", descriptor_offset, len(tables), items, subs, crc))
