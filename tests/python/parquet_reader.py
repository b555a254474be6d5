# SPDX-License-Identifier: Apache-2.0
"""Reads flat Parquet files, for tests: a second opinion that shares nothing with the writer.

Written from the public specification of the format (Thrift's compact protocol, pages, encodings). It is
strict where readers may be lax: checksums, sizes, order of bounds, padding, widths, and that every byte of the
file belongs to a page or the footer. Columns may be required or optional; nothing may be nested.
"""

import struct
import zlib

BOOLEAN, INT32, INT64, DOUBLE, BYTE_ARRAY = 0, 1, 2, 5, 6
PLAIN, RLE, DELTA_BINARY_PACKED, RLE_DICTIONARY = 0, 3, 5, 8
UNCOMPRESSED, GZIP = 0, 2
DATA_PAGE, DICTIONARY_PAGE = 0, 2
LONG_TEXT_BYTES = 256  # our writer leaves out bounds of longer texts


class Broken(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Broken(what)


class Cursor:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        need(0 <= count <= len(self.data) - self.at, f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                need(shift <= 70, "a varint of more than ten bytes")
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]


# ---- Thrift's compact protocol: a struct becomes a dict from field ids ----------------------------------


def thrift_value(cursor, kind):
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return struct.unpack("b", cursor.take(1))[0]
    if kind in (4, 5, 6):
        value, bits = cursor.zigzag(), {4: 16, 5: 32, 6: 64}[kind]
        need(-(1 << bits - 1) <= value < 1 << bits - 1, f"{value} as i{bits}")
        return value
    if kind == 8:
        return bytes(cursor.take(cursor.varint()))
    if kind == 9:
        head = cursor.byte()
        count = cursor.varint() if head >> 4 == 15 else head >> 4
        return [thrift_value(cursor, head & 15) for _ in range(count)]
    need(kind == 12, f"Thrift type {kind}")
    return thrift_struct(cursor)


def thrift_struct(cursor):
    fields, last = {}, 0
    while head := cursor.byte():
        last = last + (head >> 4) if head >> 4 else cursor.zigzag()
        need(last not in fields, f"field {last} twice")
        fields[last] = thrift_value(cursor, head & 15)
    return fields


# ---- encodings ---------------------------------------------------------------------------------------------


def read_hybrid(cursor, width, count):
    """RLE and bit-packed runs of values of width bits."""
    values, octets = [], (width + 7) // 8
    while len(values) < count:
        head = cursor.varint()
        if head & 1:
            values += unpack(cursor.take((head >> 1) * width), width, (head >> 1) * 8)
        else:
            need(head, "an empty run")
            values += [int.from_bytes(cursor.take(octets), "little")] * (head >> 1)
    need(len(values) - count < 8, "more than the padding of one group")
    need(not any(values[count:]), "padding is not zero")
    return values[:count]


def unpack(data, width, count):
    if width % 8 == 0:
        octets = width // 8
        return [int.from_bytes(data[i * octets : (i + 1) * octets], "little") for i in range(count)]
    values = []
    for at in range(0, count, 8):
        packed = int.from_bytes(data[at // 8 * width : (at // 8 + 1) * width], "little")
        values += [packed >> i * width & (1 << width) - 1 for i in range(8)]
    return values[:count]


def read_delta(cursor, count, bits):
    block, minis = cursor.varint(), cursor.varint()
    need(block % 128 == 0 and block % minis == 0 and block // minis % 32 == 0, "block size")
    need(cursor.varint() == count, "number of values")
    first = cursor.zigzag()
    need(-(1 << bits - 1) <= first < 1 << bits - 1, "first value")
    values, value = [first] if count else [], first
    while len(values) < count:
        base, widths = cursor.zigzag(), cursor.take(minis)
        for width in widths:
            if len(values) == count:
                break
            need(width <= bits, f"width {width}")
            for above in unpack(cursor.take(block // minis * width // 8), width, block // minis):
                if len(values) == count:
                    need(above == 0, "padding is not zero")
                    continue
                value = (value + base + above + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
                values.append(value)
    return values


def read_plain(cursor, kind, count):
    if kind == BOOLEAN:
        return [bool(bit) for bit in unpack(cursor.take((count + 7) // 8), 1, count)]
    if kind == BYTE_ARRAY:
        return [bytes(cursor.take(cursor.u32())) for _ in range(count)]
    size, code = {INT32: (4, "i"), INT64: (8, "q"), DOUBLE: (8, "d")}[kind]
    return list(struct.unpack(f"<{count}{code}", cursor.take(count * size)))


# ---- pages and columns -----------------------------------------------------------------------------------------


class Page:
    def __init__(self, cursor, codec):
        start = cursor.at
        self.header = thrift_struct(cursor)
        stored = cursor.take(self.header[3])
        crc = zlib.crc32(stored)
        need(self.header[4] == (crc ^ 1 << 31) - (1 << 31), "checksum of a page")
        self.data = stored
        if codec == GZIP:
            stream = zlib.decompressobj(31)
            self.data = stream.decompress(stored) + stream.flush()
            need(stream.eof and not stream.unused_data, "gzip stream")
        need(len(self.data) == self.header[2], "uncompressed size of a page")
        self.bytes = cursor.at - start
        self.plain_bytes = self.bytes - len(stored) + len(self.data)


class Column:
    def __init__(self, element):
        self.name, self.kind = element[4].decode(), element[1]
        self.optional = {0: False, 1: True}[element[3]]
        self.converted, self.logical = element.get(6), element.get(10)
        self.unsigned = self.logical is not None and 10 in self.logical and not self.logical[10][2]

    def turn(self, value):
        """From the physical type to what it means."""
        if self.kind == BYTE_ARRAY:
            return value.decode() if self.converted == 0 else value  # raises what is not UTF-8
        if self.unsigned and value < 0:
            return value + (1 << {INT32: 32, INT64: 64}[self.kind])
        return value

    def bound(self, data):
        if self.kind == BYTE_ARRAY:
            return data.decode() if self.converted == 0 else data
        if self.kind == BOOLEAN:
            need(len(data) == 1, "bound of a BOOLEAN")
            return bool(data[0])
        return self.turn(read_plain(Cursor(data), self.kind, 1)[0])

    def read(self, data, meta, used):
        codec, count = meta[4], meta[5]
        need(meta[1] == self.kind and meta[3] == [self.name.encode()], f"{self.name}: type or path")
        need(codec in (UNCOMPRESSED, GZIP), "codec")
        cursor = Cursor(data, meta.get(11, meta[9]))
        used.append((cursor.at, cursor.at + meta[7]))
        dictionary, plain_bytes, seen = None, 0, set()
        if 11 in meta:
            page = Page(cursor, codec)
            need(page.header[1] == DICTIONARY_PAGE and page.header[7][2] == PLAIN, "dictionary page")
            inside = Cursor(page.data)
            dictionary = read_plain(inside, self.kind, page.header[7][1])
            need(inside.at == len(page.data), "bytes behind a dictionary")
            plain_bytes += page.plain_bytes
            seen.add(PLAIN)
        need(cursor.at == meta[9], "offset of the data page")
        values = []
        while len(values) < count:
            page = Page(cursor, codec)
            values += self.page_values(page, dictionary, seen)
            plain_bytes += page.plain_bytes
        need(len(values) == count and seen <= set(meta[2]), "number of values, or encodings")
        need(cursor.at == used[-1][1] and plain_bytes == meta[6], "sizes of a column")
        self.check_bounds(values, meta[12])
        return values

    def page_values(self, page, dictionary, seen):
        need(page.header[1] == DATA_PAGE, "kind of page")
        count, encoding = page.header[5][1], page.header[5][2]
        cursor, levels = Cursor(page.data), [1] * count
        if self.optional:
            end = 4 + cursor.u32()
            levels = read_hybrid(cursor, 1, count)
            need(cursor.at == end, "definition levels")
        there = sum(levels)
        if encoding == RLE_DICTIONARY:
            values = [dictionary[i] for i in read_hybrid(cursor, cursor.byte(), there)]
        elif encoding == DELTA_BINARY_PACKED:
            values = read_delta(cursor, there, {INT32: 32, INT64: 64}[self.kind])
        else:
            need(encoding == PLAIN, f"encoding {encoding}")
            values = read_plain(cursor, self.kind, there)
        need(cursor.at == len(page.data), f"{self.name}: bytes behind the values")
        seen.update((encoding, RLE))
        values = iter([self.turn(value) for value in values])
        return [next(values) if level else None for level in levels]

    def check_bounds(self, values, statistics):
        there = [value for value in values if value is not None]
        key = (lambda value: value.encode()) if self.kind == BYTE_ARRAY and self.converted == 0 else None
        need(statistics[3] == len(values) - len(there), f"{self.name}: null_count")
        for field, wanted in ((5, max), (6, min)):
            if self.kind == DOUBLE:  # what is no number has no place in an order
                need(field not in statistics, f"{self.name}: bound of a DOUBLE")
            elif field in statistics:
                need(self.bound(statistics[field]) == wanted(there, key=key), f"{self.name}: bound")
            else:
                is_long = self.kind == BYTE_ARRAY and there and len((key or bytes)(wanted(there, key=key))) > LONG_TEXT_BYTES
                need(not there or is_long, f"{self.name}: no bound")


class File:
    """columns: of the schema; groups: a dict from names to values for each row group; facts: metadata."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        need(data[:4] == data[-4:] == b"PAR1" and len(data) >= 12, "magic")
        length = struct.unpack("<I", data[-8:-4])[0]
        footer = Cursor(data[:-8], len(data) - 8 - length)
        start = footer.at
        meta = thrift_struct(footer)
        need(footer.at == len(data) - 8, "bytes behind the footer")
        root, *elements = meta[2]
        need(root[5] == len(elements), "schema")
        self.columns = [Column(element) for element in elements]
        self.facts = {fact[1].decode(): fact[2].decode() for fact in meta.get(5, [])}
        self.created_by = meta[6].decode()
        need(meta[7] == [{1: {}}] * len(elements), "column orders")
        used = [(0, 4)]
        self.groups = [self.read_group(data, group, used) for group in meta[4]]
        self.rows = sum(len(group[self.columns[0].name]) for group in self.groups)
        need(self.rows == meta[3], "number of rows")
        need(all(a[1] == b[0] for a, b in zip(used, used[1:])) and used[-1][1] == start, "a gap between columns")

    def read_group(self, data, group, used):
        need(len(group[1]) == len(self.columns), "columns of a row group")
        values = {column.name: column.read(data, chunk[3], used) for column, chunk in zip(self.columns, group[1])}
        need(all(len(v) == group[3] for v in values.values()), "rows of a row group")
        need(group[2] == sum(chunk[3][6] for chunk in group[1]), "size of a row group")
        need(group[6] == sum(chunk[3][7] for chunk in group[1]), "packed size of a row group")
        return values

    def column(self, name):
        return [value for group in self.groups for value in group[name]]
