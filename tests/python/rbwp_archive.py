# SPDX-License-Identifier: Apache-2.0
"""Archives, from SPEC.md's part III alone: plain(bytes) is the version-1 file that one gives.

Plain rather than fast, like rbwp_reader.py. Raises Broken with the rule that does not hold; a reader that goes on behind
damage is not played here.
"""

import struct
import zlib

VERSION = 257
CHUNK = struct.Struct("<4sIQIIII")
FOOTER = struct.Struct("<QQII8s")
HEAD_BYTES = 29
KINDS = (0x01, 0x02, 0x11, 0x12, 0x21)
CHUNK_BYTES_MAX = 18 << 20


class Broken(Exception):
    def __init__(self, rule, offset, text):
        super().__init__(f"{rule} at offset {offset} of the archive: {text}")
        self.rule, self.offset, self.text = rule, offset, text


def is_archive(file):
    return len(file) >= 36 and file[:6] == b"RBWP" + struct.pack("<H", VERSION)


# --- 16.3 streams


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise ValueError("it ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def left(self):
        return len(self.data) - self.at


def take_stream(cursor):
    form, count = cursor.take(1)[0], cursor.varint()
    if form == 0:
        return cursor.take(count)
    if form == 1:
        return cursor.take(1) * count
    if form != 2:
        raise ValueError(f"form {form}")
    packed = cursor.take(cursor.varint())
    if count > 1032 * len(packed):
        raise ValueError("expands too far")
    data = zlib.decompress(packed)
    if len(data) != count:
        raise ValueError("another length")
    return data


# --- 16.4 numbers


class Bits:
    def __init__(self, data):
        self.value, self.most, self.used = int.from_bytes(data, "little"), 8 * len(data), 0

    def take(self, count):
        self.used += count
        if self.used > self.most:
            raise ValueError("no more bits")
        taken = self.value >> (self.used - count) & ((1 << count) - 1)
        return taken


def number(symbol, bits):
    if symbol < 64:
        return symbol
    if symbol < 160:
        top = (symbol - 64) // 8 + 6
        return (8 + symbol % 8) * 2 ** (top - 3) + bits.take(top - 3)
    if symbol > 251:
        raise ValueError(f"symbol {symbol}")
    top = (symbol - 160) // 2 + 18
    return (2 + symbol % 2) * 2 ** (top - 1) + bits.take(top - 1)


def unzigzag(value):
    return value // 2 if value % 2 == 0 else -(value + 1) // 2


def mod64(value):
    return value % 2 ** 64


class Kinds:
    """Three in a byte; the rest of the last one is 0."""

    def __init__(self, data):
        if any(byte >= 125 for byte in data):
            raise ValueError("kinds above 124")
        self.kinds = [kind for byte in data for kind in (byte % 5, byte // 5 % 5, byte // 25)]
        self.at = 0

    def take(self):
        self.at += 1
        return self.kinds[self.at - 1]

    def used_up(self):
        return len(self.kinds) - self.at < 3


class Columns:
    def __init__(self, payload):
        cursor = Cursor(payload)
        streams = [take_stream(cursor) for _ in range(21)]
        if cursor.left():
            raise ValueError("bytes behind the streams")
        self.heads, self.bytes = streams[0], Cursor(streams[1])
        self.kinds = [Kinds(data) for data in streams[2:7]]
        self.times = [Cursor(data) for data in streams[7:12]]
        self.bits = Bits(streams[12])
        self.bits_bytes = len(streams[12])
        self.wide, self.slots, self.low, self.high, self.gpu_slots, self.gpus, self.stops, self.starts = \
            (Cursor(data) for data in streams[13:])

    def time(self, kind, before):
        symbol = self.times[kind].take(1)[0]
        if symbol == 255:
            value = struct.unpack("<Q", self.wide.take(8))[0]
            if value >= 1 << 62:
                raise ValueError("a time above 2^62")
            return value, struct.pack(">Q", value | 3 << 62)
        difference = number(symbol, self.bits)
        if difference < 1 << 15:
            return mod64(before + difference), struct.pack(">H", difference)
        if difference >= 1 << 30:
            raise ValueError("a difference above 2^30")
        return mod64(before + difference), struct.pack(">I", difference | 2 << 30)

    def body(self, kind, time, processor):
        if kind == 0:
            return self.slots.take(1), processor
        if kind == 2:
            return self.low.take(1) + self.high.take(1), processor
        if kind != 4:
            return b"", processor
        slot = self.gpu_slots.take(1)
        changes = [unzigzag(number(column.take(1)[0], self.bits)) for column in (self.gpus, self.stops, self.starts)]
        processor = mod64(processor + changes[0])
        stop = mod64(time - changes[1])
        return struct.pack("<Q", processor) + slot + struct.pack("<QQ", mod64(stop - changes[2]), stop), processor

    def records(self, count):
        data, kind, time, processor = bytearray(), 1, 0, 0
        for _ in range(count):
            kind = self.kinds[kind].take()
            time, stamp = self.time(kind, time)
            body, processor = self.body(kind, time, processor)
            data += stamp + bytes([KINDS[kind]]) + body
        return bytes(data)

    def used_up(self):
        cursors = (self.bytes, *self.times, self.wide, self.slots, self.low, self.high, self.gpu_slots, self.gpus, self.stops,
                   self.starts)
        return not any(cursor.left() for cursor in cursors) and all(kinds.used_up() for kinds in self.kinds) and \
            (self.bits.used + 7) // 8 == self.bits_bytes


def blocks(payload):
    columns, data = Columns(payload), bytearray()
    if len(columns.heads) % HEAD_BYTES:
        raise ValueError("half a head")
    for at in range(0, len(columns.heads), HEAD_BYTES):
        head, flags = columns.heads[at:at + 28], columns.heads[at + 28]
        records, size = struct.unpack("<12xI8xI", head)
        if flags & ~3:
            raise ValueError("flags of a head")
        of_block = columns.bytes.take(size) if flags & 2 else columns.records(records)
        if len(of_block) != size:
            raise ValueError("a block of another size")
        data += head + bytes(4) + of_block
    if not columns.used_up():
        raise ValueError("columns are not used up")
    return bytes(data)


# --- 16.2 layout


def take_chunk(file, offset, crc32c):
    if len(file) - offset < CHUNK.size:
        raise Broken("R84", offset, "the archive was cut")
    head = file[offset:offset + CHUNK.size]
    tag, size, place, gives, _, payload_sum, head_sum = CHUNK.unpack(head)
    if tag not in (b"BLKS", b"BYTS", b"INDX") or crc32c(head[:28]) != head_sum or max(size, gives) > CHUNK_BYTES_MAX:
        raise Broken("R80", offset, "no head of a chunk")
    payload = file[offset + CHUNK.size:offset + CHUNK.size + size]
    if len(payload) < size:
        raise Broken("R84", offset, "the archive was cut")
    if crc32c(payload) != payload_sum:
        raise Broken("R81", offset, "the sum of a chunk is wrong")
    return tag, place, gives, payload


def given(tag, payload, offset):
    try:
        if tag == b"BLKS":
            return blocks(payload)
        cursor = Cursor(payload)
        data = take_stream(cursor)
        if cursor.left():
            raise ValueError("bytes behind the stream")
        return data
    except (ValueError, zlib.error) as error:
        raise Broken("R83", offset, str(error)) from None


def plain(file, crc32c):
    """The version-1 file in it, all bytes of it."""
    data, offset, places = bytearray(file[:4] + b"\1\0" + file[6:36]), 36, b""
    while True:
        tag, place, gives, payload = take_chunk(file, offset, crc32c)
        if place != len(data):
            raise Broken("R82", offset, "a chunk does not follow the one before")
        if tag == b"INDX":
            break
        part = given(tag, payload, offset)
        if len(part) != gives or gives == 0:
            raise Broken("R83", offset, "a chunk gives another number of bytes")
        places += struct.pack("<QQ", offset, place)
        data += part
        offset += CHUNK.size + len(payload)
    if payload != places:
        raise Broken("R82", offset, "the places are not those of the chunks")
    footer = file[offset + CHUNK.size + len(payload):]
    if footer != FOOTER.pack(offset, len(data), len(places) // 16, crc32c(footer[:20]), b"RBWA.END"):
        raise Broken("R84", offset, "the footer does not fit")
    return bytes(data)
