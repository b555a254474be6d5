#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second, independent reader of RBWP files, written from SPEC.md alone.

It exists to check the C reader and the specification against each other, so it favours being plain over
being fast: it follows SPEC.md section by section and holds the whole file in memory. parse() never raises;
whatever is wrong with a file is in "problems", each with a file offset and the number of the broken rule
(or erratum). parse_strict() plays a reader that knows only Part I, and raises Refused at the first thing
that Part I does not promise.

usage: rbwp_reader.py [--strict] FILE      prints JSON; exit status 0 good, 1 bad data, 2 usage
"""

import json
import math
import struct
import sys
import zlib

import rbwp_archive

# --- Section 1: conventions ------------------------------------------------------------------------------


class Broken(Exception):
    """A rule does not hold; left to the caller to report or to refuse."""

    def __init__(self, rule, offset, text):
        super().__init__(f"{rule} at offset {offset}: {text}")
        self.rule = rule
        self.offset = offset
        self.text = text


class Refused(Exception):
    """The strict reader does not go on."""


def name_of(raw):
    """Names are bytes of any value: those that are not UTF-8 survive as surrogates."""
    return raw.decode("utf-8", "surrogateescape")


class Problems(list):
    def add(self, rule, offset, text):
        self.append({"rule": rule, "offset": offset, "text": text})

    def add_broken(self, broken):
        self.add(broken.rule, broken.offset, broken.text)


# --- Section 3: file header ------------------------------------------------------------------------------

HEADER = struct.Struct("<4sHHIqIIQ")
HEADER_FIELDS = ("magic", "version", "flags", "node_id", "zero_time", "work_item_count", "sub_item_count",
                 "descriptor_offset")
MAGIC = b"RBWP"
FLAG_LEVEL2 = 0x0001
FLAGS_REFUSED = 0xFF00


def read_header(file):
    """The header as stored. Raises Broken where a reader must refuse the file (R1-R4)."""
    if len(file) < HEADER.size:
        raise Broken("R1", 0, f"the file has {len(file)} bytes, a header has {HEADER.size}")
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(file, 0)))
    if header["magic"] != MAGIC:
        raise Broken("R2", 0, f"the file begins with {header['magic'].hex(' ')}, not with RBWP")
    header["magic"] = "RBWP"
    if header["version"] != 1:
        raise Broken("R3", 4, f"version {header['version']} is not known")
    if header["flags"] & FLAGS_REFUSED:
        raise Broken("R4", 6, f"flags {header['flags']:#06x} have a bit of 8-15 set")
    return header


def is_older_layout(file, header):
    """Erratum E3. A descriptor offset that is really a table entry with a name is 2^32 or more."""
    if header["work_item_count"] == 0 or header["descriptor_offset"] < 1 << 32:
        return False
    if header["descriptor_offset"] <= len(file):
        return False
    try:
        items, _ = read_work_items(file, 28, len(file), header["work_item_count"])
    except Broken:
        return False
    return all(item["slot"] < 256 for item in items)


# --- Sections 5.1, 5.2: records --------------------------------------------------------------------------

COARSE_BEGIN, COARSE_END, FINE_BEGIN, FINE_END, GPU_WORK = 0x01, 0x02, 0x11, 0x12, 0x21
KINDS = {
    COARSE_BEGIN: ("COARSE_BEGIN", struct.Struct("<B"), ("slot",)),
    COARSE_END: ("COARSE_END", struct.Struct("<"), ()),
    FINE_BEGIN: ("FINE_BEGIN", struct.Struct("<H"), ("sub_item",)),
    FINE_END: ("FINE_END", struct.Struct("<"), ()),
    GPU_WORK: ("GPU_WORK", struct.Struct("<QBqq"), ("proc_id", "slot", "start", "stop")),
}
LOW_62_BITS = (1 << 62) - 1


def read_timestamp(data, position, before, where):
    """Time of the record at position, and the bytes its timestamp takes."""
    form = data[position] >> 6
    size = 8 if form == 3 else 4 if form == 2 else 2
    raw = data[position:position + size]
    if len(raw) < size:
        raise Broken("R18", where, f"the data end inside a timestamp at {position}")
    value = int.from_bytes(raw, "big")
    if size == 8:
        return value & LOW_62_BITS, size
    if size == 4:
        return before + (value & 0x3FFFFFFF), size
    return before + value, size


def read_records(data, count, base_time, where):
    """The records of one block (R16-R19); where is the file offset of the block, for messages."""
    records = []
    position = 0
    time = 0
    while position < len(data) and len(records) < count:
        start = position
        time, ts_bytes = read_timestamp(data, position, time, where)
        position += ts_bytes
        if not records and (time ^ base_time) & LOW_62_BITS:
            raise Broken("R19", where, f"base time {base_time}, but the first record has {time}")
        if position >= len(data):
            raise Broken("R18", where, f"the data end before the kind of record {len(records)}")
        if data[position] not in KINDS:
            raise Broken("R17", where, f"record {len(records)} at {start} has kind {data[position]:#04x}")
        name, payload, fields = KINDS[data[position]]
        position += 1
        if position + payload.size > len(data):
            raise Broken("R18", where, f"the data end inside record {len(records)}")
        record = {"ts": time, "ts_bytes": ts_bytes, "offset": start, "type": name}
        record.update(zip(fields, payload.unpack_from(data, position)))
        records.append(record)
        position += payload.size
    if len(records) < count or position < len(data):
        raise Broken("R16", where, f"{count} records expected; {len(records)} take {position} of {len(data)} bytes")
    return records


# --- Section 4: blocks -----------------------------------------------------------------------------------

BLOCK = struct.Struct("<QIIqII")
BLOCK_FIELDS = ("thread_id", "sequence", "record_count", "base_timestamp", "data_size", "compressed_size")
BLOCK_BYTES_MAX = 16 << 20
SEARCH_BYTES_MAX = 64 << 20


def read_block_header(file, offset, end):
    """Header fields and the file offset behind the payload. What the sizes promise is checked before they are
    compared with the file, so that nonsense is damage (R12-R14, R40) and only a sane header is a cut (R11)."""
    if end - offset < BLOCK.size:
        raise Broken("R10", offset, f"{end - offset} bytes are left, a block header has {BLOCK.size}")
    block = {"offset": offset}
    block.update(zip(BLOCK_FIELDS, BLOCK.unpack_from(file, offset)))
    count, data_size, stored_size = block["record_count"], block["data_size"], block["compressed_size"]
    if data_size > BLOCK_BYTES_MAX or stored_size > BLOCK_BYTES_MAX:
        raise Broken("R12", offset, f"sizes {data_size} and {stored_size} exceed {BLOCK_BYTES_MAX}")
    if count == 0 and data_size < 4:
        raise Broken("R40", offset, f"an opaque block with {data_size} bytes of data")
    if count != 0 and not 3 * count <= data_size <= 34 * count:
        raise Broken("R13", offset, f"{count} records cannot take {data_size} bytes")
    if stored_size and data_size > 1032 * stored_size:
        raise Broken("R14", offset, f"{stored_size} stored bytes cannot give {data_size}")
    behind = offset + BLOCK.size + (stored_size or data_size)
    if behind > end:
        raise Broken("R11", offset, f"the payload ends at {behind}, the blocks at {end}")
    return block, behind


def block_data(file, block, behind):
    payload = file[block["offset"] + BLOCK.size:behind]
    if block["compressed_size"] == 0:
        return payload
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(payload, block["data_size"] + 1)
    except zlib.error as error:
        raise Broken("R15", block["offset"], f"the payload is no zlib stream: {error}") from None
    if not stream.eof or stream.unused_data or len(data) != block["data_size"]:
        raise Broken("R15", block["offset"], f"the zlib stream does not give exactly {block['data_size']} bytes")
    return data


def read_block(file, offset, end):
    """One whole block, of records or opaque, and the offset behind it. Raises Broken (R10-R19, R40, R41, R43)."""
    block, behind = read_block_header(file, offset, end)
    data = block_data(file, block, behind)
    if block["record_count"]:
        block["records"] = read_records(data, block["record_count"], block["base_timestamp"], offset)
    else:
        block.update(records=[], opaque=True, tag=opaque_tag(data, offset))
        if block["tag"] == "gpux":
            block["gpu"] = gpu_facts(data[4:], offset)
        elif block["tag"] in ("tsch", "name", "rows"):
            block["table_data"] = data[4:]
    return block, behind


# --- Section 9: opaque blocks ----------------------------------------------------------------------------


def opaque_tag(data, where):
    tag = data[:4]
    if not (tag.isalnum() and tag[:1].isalpha()):  # of bytes: ASCII only
        raise Broken("R41", where, f"the tag of an opaque block is {tag.hex(' ')}")
    return tag.decode("ascii")


GPU_FACTS = struct.Struct("<QII")
GPU_FACT = struct.Struct("<qqqQII")
GPU_FACT_MORE = struct.Struct("<qII")  # behind it, if the entry is so long


def gpu_facts(data, where):
    """Section 9.1: facts beside GPU_WORK records."""
    size, count = 0, 0
    if len(data) >= GPU_FACTS.size:
        proc_id, size, count = GPU_FACTS.unpack_from(data)
    if size < GPU_FACT.size or GPU_FACTS.size + size * count != len(data):
        raise Broken("R43", where, f"{count} entries of {size} bytes in a gpux block of {len(data)}")
    return {"proc_id": proc_id, "entries": [
        gpu_fact(data, GPU_FACTS.size + size * index, size) for index in range(count)]}


def gpu_fact(data, at, size):
    fields = ("start", "stop", "launch", "thread_id", "start_gap", "stop_gap", "launched", "launching")
    more = (0, 0, 0)
    if size >= GPU_FACT.size + GPU_FACT_MORE.size:
        more = GPU_FACT_MORE.unpack_from(data, at + GPU_FACT.size)
    return dict(zip(fields, GPU_FACT.unpack_from(data, at) + more), idle=bool(more[2] & 1))


# --- Section 9.2: tables ---------------------------------------------------------------------------------

SCHEMA = struct.Struct("<IHHH2x")
COLUMN = struct.Struct("<BBHHBx")
ROWS = struct.Struct("<IIQqqI4x")
COLUMN_TYPES = {1: "u64", 2: "i64", 3: "f64", 4: "time", 5: "duration", 6: "name", 7: "row", 8: "bytes"}
ROWS_MAX, CELLS_MAX, ROW_NUMBER_MAX = 1 << 20, 1 << 22, (1 << 64) - 1
PLAIN, VARINT, DELTA, CONSTANT, DICTIONARY, BYTES = range(6)


class Bytes:
    """A byte string that is taken apart; Broken at its end."""

    def __init__(self, data, rule, where):
        self.data, self.at, self.rule, self.where = data, 0, rule, where

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Broken(self.rule, self.where, f"{count} bytes wanted, {len(self.data) - self.at} are left")
        self.at += count
        return self.data[self.at - count:self.at]

    def unpack(self, layout):
        return layout.unpack(self.take(layout.size))

    def varint(self):
        value = 0
        for place in range(10):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if value >> 64:
                    break
                return value
        raise Broken(self.rule, self.where, "a varint of more than 64 bits")

    def end(self):
        if self.at != len(self.data):
            raise Broken(self.rule, self.where, f"{len(self.data) - self.at} bytes too many")


def read_schema(data, where):
    source = Bytes(data, "R44", where)
    table, version, count, name_bytes = source.unpack(SCHEMA)
    fixed = [source.unpack(COLUMN) for _ in range(count)]
    schema = {"table": table, "version": version, "name": name_of(source.take(name_bytes)), "columns": [],
              "rows": [], "last_row": 0, "bytes": data}
    for kind, role, of, column_name, unit in fixed:
        if kind not in COLUMN_TYPES or (COLUMN_TYPES[kind] == "row") != (of != 0):
            raise Broken("R44", where, f"a column of type {kind} that names table {of}")
        schema["columns"].append({"type": COLUMN_TYPES[kind], "role": role, "table": of,
                                  "name": name_of(source.take(column_name)), "unit": name_of(source.take(unit))})
    source.end()
    if not 1 <= table <= 65535 or not 1 <= count <= 256:
        raise Broken("R44", where, f"table {table} with {count} columns")
    return schema


def unzigzag(value):
    return value >> 1 ^ -(value & 1)


def read_column(data, code, count, where):
    """The cells: numbers of 64 bits, or byte strings."""
    source = Bytes(data, "R48", where)
    if code == PLAIN:
        cells = list(struct.unpack(f"<{count}Q", source.take(8 * count)))
    elif code in (VARINT, DELTA):
        cells = [source.varint() for _ in range(count)]
    elif code == CONSTANT:
        cells = [source.varint()] * count
    elif code == DICTIONARY:
        values = [source.varint() for _ in range(min(source.varint(), 257))]
        if not 1 <= len(values) <= 256:
            raise Broken("R48", where, f"a dictionary of {len(values)} values")
        numbers = source.take(count)
        if max(numbers) >= len(values):
            raise Broken("R48", where, f"value {max(numbers)} of a dictionary of {len(values)}")
        cells = [values[number] for number in numbers]
    elif code == BYTES:
        cells = [source.take(length) for length in [source.varint() for _ in range(count)]]
    else:
        raise Broken("R48", where, f"column code {code} is not known")
    source.end()
    if code == DELTA:
        value = 0
        for index, cell in enumerate(cells):
            value = (value + unzigzag(cell)) % (1 << 64)
            cells[index] = value
    return cells


def value_of(cell, kind):
    if kind in ("i64", "time"):
        return cell - (1 << 64) if cell >> 63 else cell
    if kind == "f64":
        return struct.unpack("<d", struct.pack("<Q", cell))[0]
    return name_of(cell) if kind == "bytes" else cell


def shown_text(text):
    """As a string of JSON, where a byte that is no UTF-8 stands for the character of its number."""
    return "".join(chr(ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def shown_schema(schema):
    return {key: schema[key] for key in ("table", "version", "name")} | {"columns": [
        {"name": column["name"], "type": column["type"], "unit": column["unit"], "of_table": column["table"]}
        for column in schema["columns"]]}


class Tables:
    """What the blocks say of tables, in the order of the file. Each take_ returns what its block says, as rbwp-dump
    puts it."""

    def __init__(self):
        self.schemas, self.names, self.last_name = {}, {}, 0

    def take(self, tag, data, where):
        return {"tsch": self.take_schema, "name": self.take_names, "rows": self.take_rows}[tag](data, where)

    def shown(self, value, kind):
        if kind == "name":
            return shown_text(self.names.get(value, "")) if value else None
        if kind == "row":
            return value or None
        if kind == "f64":
            return json.loads(f"{value:.17g}") if math.isfinite(value) else None
        return shown_text(value) if kind == "bytes" else value

    def take_schema(self, data, where):
        schema = read_schema(data, where)
        known = self.schemas.get(schema["table"])
        if known:
            if known["bytes"] != data:
                raise Broken("R45", where, f"table {schema['table']} has another schema already")
            return {"schema": shown_schema(schema)}
        for column in schema["columns"]:
            if column["table"] not in (0, schema["table"], *self.schemas):
                raise Broken("R46", where, f"a column names table {column['table']}, which is not known")
        self.schemas[schema["table"]] = schema
        return {"schema": shown_schema(schema)}

    def take_names(self, data, where):
        source = Bytes(data, "R47", where)
        first, count = source.unpack(struct.Struct("<II"))
        lengths = struct.unpack(f"<{count}I", source.take(4 * count))
        texts = [source.take(length) for length in lengths]
        source.end()
        if count == 0 or first <= self.last_name:
            raise Broken("R47", where, f"{count} names from {first} on, behind {self.last_name}")
        self.names.update(enumerate(map(name_of, texts), first))
        self.last_name = first + count - 1
        return {"names": {"first": first, "names": [shown_text(name_of(text)) for text in texts]}}

    def take_rows(self, data, where):
        source = Bytes(data, "R48", where)
        table, count, first, first_ns, last_ns, column_count = source.unpack(ROWS)
        schema = self.schemas.get(table)
        if schema is None or first <= schema["last_row"]:
            raise Broken("R49", where, f"rows from {first} on of table {table}")
        columns = schema["columns"]
        if not 1 <= count <= ROWS_MAX or count * len(columns) > CELLS_MAX or column_count > len(columns):
            raise Broken("R48", where, f"{count} rows of {column_count} columns")
        if first + count > ROW_NUMBER_MAX:
            raise Broken("R48", where, f"{count} rows from {first} on")
        heads = [source.unpack(struct.Struct("<B3xI")) for _ in range(column_count)]
        cells = []
        for (code, size), column in zip(heads, columns):
            if (code == BYTES) != (column["type"] == "bytes"):
                raise Broken("R48", where, f"code {code} for a column of {column['type']}")
            cells.append(read_column(source.take(size), code, count, where))
        source.end()
        self.check_cells(schema, cells, first, (first_ns, last_ns), where)
        cells += [[b"" if column["type"] == "bytes" else 0] * count for column in columns[column_count:]]
        values = [[value_of(cell, column["type"]) for cell, column in zip(row, columns)] for row in zip(*cells)]
        schema["rows"] += [{"row": row, "values": of_row} for row, of_row in enumerate(values, first)]
        schema["last_row"] = first + count - 1
        rows = [[self.shown(value, column["type"]) for value, column in zip(row, columns)] for row in values]
        return {"table": {key: schema[key] for key in ("table", "version", "name")} | {
            "first_row": first, "row_count": count, "first": first_ns, "last": last_ns,
            "columns": [shown_text(column["name"]) for column in columns], "rows": rows}}

    def check_cells(self, schema, cells, first, said, where):
        times = [value_of(cell, "time") for column, values in zip(schema["columns"], cells)
                 if column["type"] == "time" for cell in values]
        if (min(times, default=0), max(times, default=0)) != said:
            raise Broken("R48", where, f"times {said} are not those of the cells")
        for column, values in zip(schema["columns"], cells):
            most = self.last_name if column["type"] == "name" else None
            if column["type"] == "row" and column["table"] != schema["table"]:
                most = self.schemas[column["table"]]["last_row"]
            if most is not None and max(values) > most:
                raise Broken("R49", where, f"{column['type']} {max(values)} is not there yet")
            if column["table"] == schema["table"] and any(cell >= first + i for i, cell in enumerate(values)):
                raise Broken("R49", where, "a row names itself or one behind it")


def read_table_blocks(blocks, problems):
    """The schemas with their rows, and the names, of blocks that keep their data."""
    tables = Tables()
    for block in blocks:
        if "table_data" in block:
            try:
                block.update(tables.take(block["tag"], block.pop("table_data"), block["offset"]))
            except Broken as broken:
                block["broken"] = {"rule": int(broken.rule[1:])}
                problems.add_broken(broken)
    for schema in tables.schemas.values():
        del schema["bytes"], schema["last_row"]
    return list(tables.schemas.values()), tables.names


# --- Section 8: damage, and files that end too early -----------------------------------------------------


def end_by_own_header(file, offset, end):
    """Where a broken block ends if its sizes at least can be right; None if they cannot."""
    if end - offset < BLOCK.size:
        return None
    data_size, stored_size = struct.unpack_from("<II", file, offset + 24)
    behind = offset + BLOCK.size + (stored_size or data_size)
    return behind if max(data_size, stored_size) <= BLOCK_BYTES_MAX and behind <= end else None


def find_block(file, broken_offset, end, problems):
    """Offset of the next whole block behind a broken one, or None."""
    own_end = end_by_own_header(file, broken_offset, end)
    last = min(end - BLOCK.size, broken_offset + SEARCH_BYTES_MAX)
    for offset in range(broken_offset + 1, last + 1):
        count, data_size = struct.unpack_from("<I8xI", file, offset + 12)
        if not 3 * count <= data_size <= 34 * count and offset != own_end:
            continue  # what is neither a block with records nor behind the broken one by its own header
        try:
            read_block(file, offset, end)
        except Broken:
            continue
        return offset
    if last < end - BLOCK.size:
        problems.add("section 8", last, f"gave up the search for a block after {SEARCH_BYTES_MAX} bytes")
    return None


def read_blocks(file, end, may_be_cut, problems):
    """All blocks in file order, the cut at the end if there is one, and whether everything was read.

    may_be_cut: the blocks go on to the end of the file, so that a cut is no damage.
    """
    blocks = []
    offset = HEADER.size
    whole = True
    while offset < end:
        try:
            block, behind = read_block(file, offset, end)
        except Broken as broken:
            whole = False
            if broken.rule == "R40" and not any(file[offset:end]):
                problems.add("R40", offset, f"erratum E13: only zeros from here to {end}")
                return blocks, None, whole
            following = find_block(file, offset, end, problems)
            if following is None and may_be_cut and broken.rule in ("R10", "R11"):
                return blocks, incomplete_tail(file, offset, end, broken.rule), whole
            problems.add_broken(broken)
            if following is None:
                return blocks, None, whole
            offset = following
            continue
        if block.get("tag", "")[:1].isupper():
            problems.add("R42", offset, f"an opaque block {block['tag']}, which a reader must know")
            return blocks, None, False
        blocks.append(block)
        offset = behind
    return blocks, None, whole


def incomplete_tail(file, offset, end, rule):
    tail = {"offset": offset, "bytes": end - offset,
            "reason": "block data cut" if rule == "R11" else "block header cut"}
    if rule == "R11":
        tail.update(zip(BLOCK_FIELDS, BLOCK.unpack_from(file, offset)))
    return tail


def check_blocks(blocks, header, records_lost, problems):
    """What spans records or blocks; such blocks are kept (R20-R22)."""
    seen = set()
    for block in blocks:
        if block["record_count"] == 0:
            continue
        key = (block["thread_id"], block["sequence"])
        if key in seen:
            problems.add("R20", block["offset"], f"sequence {key[1]} of thread {key[0]} occurs again")
        seen.add(key)
        types = [record["type"] for record in block["records"]]
        coarse = [kind for kind in types if kind.startswith("COARSE")]
        if not records_lost and any(a == b for a, b in zip(coarse, coarse[1:])):
            problems.add("R21", block["offset"], "COARSE_BEGIN and COARSE_END do not take turns")
        if not header["flags"] & FLAG_LEVEL2 and any(kind.startswith("FINE") for kind in types):
            problems.add("R22", block["offset"], "sub-items in a file that says it has level 1 only")


def blocks_of_thread(blocks, thread):
    """The blocks of one thread in the order of sequence, which has 32 bits and may wrap (section 4)."""
    ordered = []
    unwrapped = 0
    for block in blocks:
        if block["record_count"] and block["thread_id"] == thread:
            step = (block["sequence"] - unwrapped) % (1 << 32)
            unwrapped += step if step < 1 << 31 else step - (1 << 32)
            ordered.append((unwrapped, block["offset"], block))
    return [block for _, _, block in sorted(ordered, key=lambda entry: entry[:2])]


# --- Section 7: descriptor tables ------------------------------------------------------------------------

SUB_ITEM_TYPES = ("AM_HANDLER", "XFER_CHANNEL", "DEPPART_OP", "GPU_REAP")
TABLE_ENTRIES_MAX = 65536
TABLES_BYTES_MAX = 64 << 20


def read_entries(file, offset, end, count, entry, make):
    """count entries, each with its name behind it. Raises Broken (R30), with the whole entries in .entries."""
    entries = []
    for _ in range(count):
        if end - offset >= entry.size:
            *fields, name_bytes = entry.unpack_from(file, offset)
            name_at = offset + entry.size
            if end - name_at >= name_bytes:
                entries.append(make(*fields, name_of(file[name_at:name_at + name_bytes])))
                offset = name_at + name_bytes
                continue
        broken = Broken("R30", offset, f"a table ends after {len(entries)} of {count} entries")
        broken.entries = entries
        raise broken
    return entries, offset


def read_work_items(file, offset, end, count):
    return read_entries(file, offset, end, count, struct.Struct("<HH"),
                        lambda slot, name: {"slot": slot, "name": name})


def read_sub_items(file, offset, end, count):
    def make(number, kind, name):
        item = {"id": number, "type": kind}
        if kind < len(SUB_ITEM_TYPES):
            item["type_name"] = SUB_ITEM_TYPES[kind]
        item["name"] = name
        return item
    return read_entries(file, offset, end, count, struct.Struct("<HBH"), make)


def read_tables(file, offset, work_item_count, sub_item_count, problems):
    """Both tables, and where they end: None if that is not known because they break a rule."""
    work_items, sub_items = [], []
    if max(work_item_count, sub_item_count) > TABLE_ENTRIES_MAX:
        problems.add("R31", offset, f"tables of {work_item_count} and {sub_item_count} entries are refused")
        return work_items, sub_items, None
    end = min(len(file), offset + TABLES_BYTES_MAX)
    try:
        work_items, at = read_work_items(file, offset, end, work_item_count)
    except Broken as broken:
        problems.add_broken(broken)
        return broken.entries, sub_items, None
    try:
        sub_items, at = read_sub_items(file, at, end, sub_item_count)
    except Broken as broken:
        problems.add_broken(broken)
        return work_items, broken.entries, None
    check_tables(work_items, sub_items, offset, problems)
    return work_items, sub_items, at


def check_tables(work_items, sub_items, offset, problems):
    slots = [item["slot"] for item in work_items]
    ids = [item["id"] for item in sub_items]
    for slot in slots:
        if slot > 255:
            problems.add("R32", offset, f"slot {slot} in the work-item table")
    if len(set(slots)) < len(slots):
        problems.add("R33", offset, "a slot occurs twice in the work-item table")
    if len(set(ids)) < len(ids):
        problems.add("R34", offset, "an id occurs twice in the sub-item table")


# --- Section 10.9: CRC-32C -------------------------------------------------------------------------------


def crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC32C_TABLE = crc32c_table()


def crc32c(data):
    table = CRC32C_TABLE
    value = 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


# --- Sections 10.1, 10.2: footer and sections ------------------------------------------------------------

FOOTER = struct.Struct("<QQII8s")
END_MAGIC = b"RBWP.END"
SECTION = struct.Struct("<4sIQ")
TRAILER_BYTES_MAX = 64 << 20
FLAGS_REFUSED_HIGH = 0xFFFF0000
MUST_UNDERSTAND = 0x00000001


def read_footer(file):
    """Offset and bytes of the trailer, or None if there is none. Raises Broken (R50-R53)."""
    at = len(file) - FOOTER.size
    if file[-len(END_MAGIC):] != END_MAGIC:
        return None
    offset, size, stored_sum, flags, _ = FOOTER.unpack_from(file, at)
    if size > TRAILER_BYTES_MAX:
        raise Broken("R52", at, f"a trailer of {size} bytes")
    if offset + size != at:
        raise Broken("R50", at, f"a trailer of {size} bytes at {offset} does not end at the footer")
    if flags & FLAGS_REFUSED_HIGH:
        raise Broken("R53", at, f"footer flags {flags:#010x}")
    if crc32c(file[offset:at]) != stored_sum:
        raise Broken("R51", at, f"the sum of the trailer is {crc32c(file[offset:at]):#010x}, not {stored_sum:#010x}")
    return offset, size


def read_sections(file, offset, end):
    """(tag, flags, offset of the payload, payload) of every section. Raises Broken (R55)."""
    sections = []
    while offset < end:
        if end - offset < SECTION.size:
            raise Broken("R55", offset, "the trailer ends inside a section header")
        tag, flags, length = SECTION.unpack_from(file, offset)
        offset += SECTION.size
        if length > end - offset:
            raise Broken("R55", offset, f"section {tag!r} has {length} bytes, {end - offset} are left")
        sections.append((tag, flags, offset, file[offset:offset + length]))
        offset += length
    return sections


class FixedSection:
    """Fields at the start of the payload; bytes behind them belong to later versions (R57)."""

    def __init__(self, key, layout, *fields):
        self.key, self.layout, self.fields = key, struct.Struct("<" + layout), fields
        self.missing = None

    def read(self, payload, where):
        if len(payload) < self.layout.size:
            raise Broken("R57", where, f"section {self.key}: {len(payload)} of {self.layout.size} bytes")
        return dict(zip(self.fields, self.layout.unpack_from(payload)))


class TextSection:
    def __init__(self, key):
        self.key, self.missing = key, ""

    def read(self, payload, _):
        return name_of(payload)


class ListSection:
    """Texts with a 0 byte between them; an empty payload is no text."""

    def __init__(self, key):
        self.key, self.missing = key, []

    def read(self, payload, _):
        return [name_of(text) for text in payload.split(b"\0")] if payload else []


class TableSection:
    """Entries of a stored size, and the names of all of them behind the last one (R58, R59)."""

    def __init__(self, key, layout, *fields, more=("", ())):
        """more: layout and fields behind those, 0 in entries that are too short for all of them."""
        self.key, self.layout, self.fields = key, struct.Struct("<" + layout), fields
        self.more, self.more_fields = struct.Struct("<" + more[0]), more[1]
        self.missing = []

    def entry(self, payload, at, entry_size):
        values = dict(zip(self.fields, self.layout.unpack_from(payload, at)))
        more = [0] * len(self.more_fields)
        if entry_size >= self.layout.size + self.more.size:
            more = self.more.unpack_from(payload, at + self.layout.size)
        return {**values, **dict(zip(self.more_fields, more))}

    def read(self, payload, where):
        if len(payload) < 8:
            raise Broken("R58", where, f"section {self.key} has {len(payload)} bytes")
        entry_size, count = struct.unpack_from("<II", payload)
        names_at = 8 + entry_size * count
        if entry_size < self.layout.size or names_at > len(payload):
            raise Broken("R58", where, f"section {self.key}: {count} entries of {entry_size} bytes in {len(payload)}")
        entries = [self.entry(payload, 8 + entry_size * index, entry_size) for index in range(count)]
        for entry in entries:
            entry.update((field, value.hex()) for field, value in entry.items() if isinstance(value, bytes))
            if "name" in entry:
                name_bytes = entry["name"]
                entry["name"] = name_of(payload[names_at:names_at + name_bytes])
                names_at += name_bytes
        if names_at != len(payload):
            raise Broken("R59", where, f"section {self.key}: entries and names end at {names_at} of {len(payload)}")
        return entries


# --- Sections 10.3-10.8: the payloads; "name" in a table holds the name length until the names are read ----

SECTIONS = {
    b"INFO": FixedSection("session", "QIIqqQQQ", "process_id", "nodes", "level", "start", "stop", "cap_bytes",
                          "peak_bytes", "discarded"),
    b"HOST": TextSection("host"),
    b"CMDL": ListSection("command"),
    b"WRIT": TextSection("writer"),
    b"THRD": TableSection("threads", "QQqqQH6x", "thread_id", "os_id", "attached", "detached", "record_count", "name"),
    b"LOSS": TableSection("losses", "QQqqI4x", "thread_id", "count", "first", "last", "cause"),
    b"CLCK": FixedSection("clock", "IIQQ", "kind", "flags", "hz", "error_ns"),
    b"SAMP": TableSection("samples", "Qqqq", "ticks", "ts", "monotonic", "realtime"),
    b"SLOT": TableSection("slot_uses", "qqHH4x", "from", "to", "slot", "name"),
    b"GPUD": TableSection("gpus", "QIIqqH6x", "proc_id", "api", "bias_rounds", "bias", "bias_spread", "name",
                          more=("I4xqq", ("idle_rounds", "idle_bias", "idle_spread"))),
    b"LEFT": TableSection("left_out", "I4xQQ", "kind", "entries", "records"),
    b"PROC": TableSection("processes", "16sqH6x", "boot_id", "start_since_boot", "name"),
    b"JOBM": TableSection("job", "IH2xq", "what", "name", "number"),
    b"NCLK": TableSection("node_clocks", "qqQI4x", "time", "offset", "bound", "reference"),
    b"KEPT": TableSection("kept", "qQQQQQIIH6x", "from", "dropped_records", "dropped_rows", "dropped_bytes",
                          "keep_bytes", "keep_ns", "why", "part", "name"),
    b"KIND": TableSection("sub_item_kinds", "HHI8x", "id", "name", "flags"),
    b"TABL": FixedSection("tables", "QQIII4x", "descriptor_offset", "size", "work_item_count", "sub_item_count",
                          "crc32c"),
    b"INDX": TableSection("index", "QQQqqQII", "offset", "size", "record_count", "min_time", "max_time", "thread_id",
                          "block_count", "crc32c"),
    b"TIDX": TableSection("table_ranges", "QQQIIQQQqqQ", "offset", "size", "block_size", "table", "block_count",
                          "row_count", "first_row", "last_row", "min_time", "max_time", "thread_id"),
    b"MARK": TableSection("marks", "QIIQqq", "offset", "crc32c", "open_count", "gpu_works", "gpu_first", "gpu_last"),
    b"OPEN": TableSection("open_items", "QqHB5x", "thread_id", "begin", "id", "kind"),
    b"FRST": TableSection("first_blocks", "QQqq", "thread_id", "offset", "min_time", "max_time"),
}


CAUSES_OF_LOST_RECORDS = (1, 2, 3, 4, 5, 9, 14, 15)  # R21: the others leave none out


def no_trailer():
    values = {section.key: section.missing for section in SECTIONS.values()}
    values.update(table_ranges=None, trailer=None, unknown_sections=[])
    return values


def read_trailer(file):
    """Values of all sections, or None without a trailer. Raises Broken; R54 means: refuse the file."""
    place = read_footer(file)
    if place is None:
        return None
    offset, size = place
    values = no_trailer()
    values["trailer"] = {"offset": offset, "size": size}
    seen = set()
    for tag, flags, where, payload in read_sections(file, offset, offset + size):
        if flags & FLAGS_REFUSED_HIGH or (flags & MUST_UNDERSTAND and tag not in SECTIONS):
            raise Broken("R54", where - SECTION.size, f"section {tag!r} with flags {flags:#x} must be understood")
        if tag not in SECTIONS:
            values["unknown_sections"].append({"tag": name_of(tag), "offset": where, "length": len(payload)})
            continue
        if tag in seen:
            raise Broken("R56", where - SECTION.size, f"section {tag!r} occurs again")
        seen.add(tag)
        values[SECTIONS[tag].key] = SECTIONS[tag].read(payload, where)
    return values


def check_threads(result, problems):
    recorded, promised = {}, {}
    for block in result["blocks"]:
        recorded[block["thread_id"]] = recorded.get(block["thread_id"], 0) + block["record_count"]
    for entry in result["threads"]:
        promised[entry["thread_id"]] = promised.get(entry["thread_id"], 0) + entry["record_count"]
    for thread, count in promised.items():
        if recorded.get(thread, 0) != count:
            problems.add("R60", result["trailer"]["offset"],
                         f"thread {thread} has {recorded.get(thread, 0)} records, the trailer says {count}")


def check_node_clocks(result, problems):
    times = [entry["time"] for entry in result["node_clocks"]]
    if any(later <= earlier for earlier, later in zip(times, times[1:])):
        problems.add("R67", result["trailer"]["offset"], "comparisons with another node's clock do not ascend")


def check_index(file, result, descriptor_offset, whole, problems):
    """R62-R64. What is in a range is compared only if all blocks were read and its sum is right."""
    at = HEADER.size
    for entry in result["index"]:
        end = entry["offset"] + entry["size"]
        if entry["offset"] != at or end > descriptor_offset:
            problems.add("R62", entry["offset"], f"a range from {entry['offset']} to {end} where {at} is due")
            return
        at = end
        if crc32c(file[entry["offset"]:end]) != entry["crc32c"]:
            problems.add("R64", entry["offset"], "the sum of the range is wrong")
        elif whole:
            inside = [block for block in result["blocks"] if entry["offset"] <= block["offset"] < end]
            check_range(entry, inside, end, problems)
    if result["index"] and at != descriptor_offset:
        problems.add("R62", at, f"the last range ends at {at}, the blocks at {descriptor_offset}")


def check_range(entry, blocks, end, problems):
    if not blocks or blocks[0]["offset"] != entry["offset"] or block_end(blocks[-1]) != end:
        problems.add("R62", entry["offset"], "the range does not hold whole blocks")
        return
    times = [record["ts"] for block in blocks for record in block["records"]]
    threads = {block["thread_id"] for block in blocks if block["record_count"]}
    found = {"record_count": len(times), "min_time": min(times, default=0), "max_time": max(times, default=0),
             "thread_id": threads.pop() if len(threads) == 1 else 0, "block_count": len(blocks)}
    for key, value in found.items():
        if entry[key] != value:
            problems.add("R63", entry["offset"], f"the range says {key} {entry[key]}, its blocks {value}")


def table_blocks(blocks):
    """Of each block of a table, 0 for names: its place and what its head says, as TIDX does."""
    for block in blocks:
        data = block.get("table_data", b"")
        table, count, first, last, times, thread = 0, 0, 0, 0, (0, 0), 0
        if block.get("tag") == "rows" and len(data) >= 32:
            table, count, first, *times = struct.unpack_from("<IIQqq", data)
            thread = block["thread_id"]
        elif block.get("tag") == "name" and len(data) >= 8:
            first, count = struct.unpack_from("<II", data)
        elif block.get("tag") == "tsch" and len(data) >= 4:
            [table] = struct.unpack_from("<I", data)
        else:
            continue
        if count:
            last = first + count - 1
        yield {"offset": block["offset"], "end": block_end(block), "table": table, "row_count": count,
               "first_row": first, "last_row": last, "times": times, "thread_id": thread}


def check_table_ranges(result, blocks, problems):
    """R65 and R66, for a file in which nothing else is wrong."""
    left = {entry["offset"]: entry for entry in blocks}
    for entry in sorted(result["table_ranges"], key=lambda entry: entry["offset"]):
        end = entry["offset"] + entry["size"]
        inside = [block for block in blocks if block["offset"] in left and block["table"] == entry["table"]
                  and entry["offset"] <= block["offset"] < end]
        if not inside or inside[0]["offset"] != entry["offset"] or inside[-1]["end"] != end:
            problems.add("R65", entry["offset"], f"the range does not hold whole blocks of table {entry['table']}")
            continue
        for block in inside:
            del left[block["offset"]]
        filled = [block for block in inside if block["row_count"]]
        threads = {block["thread_id"] for block in filled}
        found = {"block_size": sum(block["end"] - block["offset"] for block in inside), "block_count": len(inside),
                 "row_count": sum(block["row_count"] for block in filled),
                 "first_row": filled[0]["first_row"] if filled else 0,
                 "last_row": filled[-1]["last_row"] if filled else 0,
                 "min_time": min((block["times"][0] for block in filled), default=0),
                 "max_time": max((block["times"][1] for block in filled), default=0),
                 "thread_id": threads.pop() if len(threads) == 1 else 0}
        for key, value in found.items():
            if entry[key] != value:
                problems.add("R66", entry["offset"], f"the range says {key} {entry[key]}, its blocks {value}")
    for offset in left:
        problems.add("R65", offset, f"a block of table {left[offset]['table']} is in no range")


class Pairing:
    """What threads have open, block by block (section 10.18)."""

    def __init__(self):
        self.threads, self.gpu, self.paired = {}, [], True

    def take(self, block):
        times = [record["ts"] for record in block["records"]]
        thread = self.threads.setdefault(block["thread_id"], {"offset": block["offset"], "min_time": min(times),
                                                              "max_time": max(times), "open": []})
        thread["max_time"] = max(thread["max_time"], max(times))
        for record in block["records"]:
            self.take_record(thread["open"], record)

    def take_record(self, opened, record):
        name = record["type"]
        if name == "GPU_WORK":
            self.gpu.append((record["start"], record["stop"]))
        elif name == "COARSE_BEGIN":
            self.paired &= all(item[2] != COARSE_BEGIN for item in opened)
            opened.append((record["ts"], record["slot"], COARSE_BEGIN))
        elif name == "FINE_BEGIN":
            opened.append((record["ts"], record["sub_item"], FINE_BEGIN))
        elif opened and opened[-1][2] == (COARSE_BEGIN if name == "COARSE_END" else FINE_BEGIN):
            opened.pop()
        else:
            self.paired = False

    def open_items(self):
        return [(number, *item) for number, thread in self.threads.items() for item in thread["open"]]

    def gpu_since(self):
        works, self.gpu = self.gpu, []
        return (len(works), min((start for start, _ in works), default=0), max((stop for _, stop in works), default=0))


def check_marks(file, result, descriptor_offset, blocks, problems):
    """R68-R72, for a file in which nothing else is wrong."""
    marks, begins = result["marks"], {entry["offset"] for entry in result["index"]}
    items = [(item["thread_id"], item["begin"], item["id"], item["kind"]) for item in result["open_items"]]
    pairing, where, at, stretches = Pairing(), [mark["offset"] for mark in marks], 0, []
    if where[-1] != descriptor_offset or crc32c(file[HEADER.size:where[-1]]) != marks[-1]["crc32c"]:
        return  # they are another file's
    good = (where[0] == HEADER.size and marks[0]["open_count"] == 0 and begins.issuperset(where[:-1])
            and all(a < b for a, b in zip(where, where[1:])))
    for mark in marks:
        good = good and crc32c(file[HEADER.size:mark["offset"]]) == mark["crc32c"]
    if not good:
        problems.add("R68", where[0], "marks are not where ranges begin, or their sums are wrong")
        return
    left = list(blocks)
    for mark in marks:
        while left and left[0]["offset"] < mark["offset"]:
            block = left.pop(0)
            if block["record_count"]:
                pairing.take(block)
        stretches.append(pairing.gpu_since())
        if items[at:at + mark["open_count"]] != pairing.open_items():
            problems.add("R69", mark["offset"], "what is open there is not what the mark says")
            return
        at += mark["open_count"]
    if at != len(items):
        problems.add("R69", descriptor_offset, "open items are of no mark")
    if [(mark["gpu_works"], mark["gpu_first"], mark["gpu_last"]) for mark in marks] != stretches[1:] + [(0, 0, 0)]:
        problems.add("R70", where[0], "GPU work is not what marks say")
    if not pairing.paired:
        problems.add("R71", where[0], "begins and ends are not in pairs")
    if [tuple(first.values()) for first in result["first_blocks"]] != [
            (number, thread["offset"], thread["min_time"], thread["max_time"])
            for number, thread in pairing.threads.items()]:
        problems.add("R72", where[0], "first blocks are others")


def block_end(block):
    return block["offset"] + BLOCK.size + (block["compressed_size"] or block["data_size"])


# --- The whole file --------------------------------------------------------------------------------------


def table_place(file, header, trailer, problems):
    """(descriptor offset, work items, sub-items), or None for a file without tables (R5, R6, 10.8)."""
    offset, counts = header["descriptor_offset"], (header["work_item_count"], header["sub_item_count"])
    if offset == 0:
        if any(counts):
            problems.add("R6", 20, f"counts {counts} without a descriptor offset")
        tables = trailer and trailer["tables"]
        if tables:
            return tables["descriptor_offset"], tables["work_item_count"], tables["sub_item_count"]
        return None
    if not HEADER.size <= offset <= len(file):
        problems.add("R5", 28, f"descriptor offset {offset} in a file of {len(file)} bytes")
        return None
    return offset, *counts


def check_tables_place(file, place, tables_end, trailer):
    """Raises Broken if trailer and tables do not meet (R50). Broken tables have no end to check."""
    begin = trailer["trailer"]["offset"]
    if not HEADER.size <= place <= begin or tables_end not in (None, begin):
        raise Broken("R50", len(file) - FOOTER.size,
                     f"the trailer begins at {begin}, the tables at {place} end at {tables_end}")


def check_tabl(file, place, tables_end, tables, problems):
    said = (tables["descriptor_offset"], tables["work_item_count"], tables["sub_item_count"])
    if said != place or place[0] + tables["size"] != tables_end:
        problems.add("R61", place[0], "TABL and header do not agree")
    elif crc32c(file[place[0]:tables_end]) != tables["crc32c"]:
        problems.add("R61", place[0], "the sum of the tables is wrong")


def read_behind_blocks(file, header, result, problems):
    """Tables and trailer. Returns where the blocks end, and whether that is the end of a cut file."""
    trailer = None
    try:
        trailer = read_trailer(file)
    except Broken as broken:
        if broken.rule == "R54":
            raise
        problems.add_broken(broken)
    place = table_place(file, header, trailer, problems)
    if place is None:
        return len(file), header["descriptor_offset"] == 0
    found = Problems()
    work_items, sub_items, tables_end = read_tables(file, *place, found)
    if trailer:
        try:
            check_tables_place(file, place[0], tables_end, trailer)
            result.update(trailer)
        except Broken as broken:
            trailer = None
            problems.add_broken(broken)
    if header["descriptor_offset"] == 0 and trailer is None:
        return len(file), True  # what looked like a trailer leads nowhere: the file was never finalised
    result.update(work_items=work_items, sub_items=sub_items)
    problems += found
    if trailer and trailer["tables"]:
        check_tabl(file, place, tables_end, trailer["tables"], problems)
    elif trailer is None and tables_end is not None and tables_end != len(file) and file[-8:] != END_MAGIC:
        problems.add("R35", tables_end, f"{len(file) - tables_end} bytes behind the tables")
    return place[0], False


def plain_file(archive, problems):
    """Part III: the file in an archive; of a broken one nothing but why."""
    try:
        return rbwp_archive.plain(archive, crc32c)
    except rbwp_archive.Broken as broken:
        problems.add(broken.rule, broken.offset, broken.text)
        return b""


def parse(file):
    """Everything in the file, and what is wrong with it. "refused" is None, or says why nothing was read."""
    problems = Problems()
    if rbwp_archive.is_archive(file):
        file = plain_file(file, problems)
    result = {"file_size": len(file), "header": None, "finalized": False, "work_items": [], "sub_items": [],
              "block_count": 0, "opaque_block_count": 0, "record_count": 0, "incomplete_tail": None, "blocks": [],
              "refused": None, "schemas": [], "names": {}, "problems": problems}
    result.update(no_trailer())
    try:
        header = result["header"] = read_header(file)
        if is_older_layout(file, header):
            raise Broken("E3", 28, "the older layout of the same version number, with a header of 28 bytes")
        result["finalized"] = header["descriptor_offset"] != 0
        end, may_be_cut = read_behind_blocks(file, header, result, problems)
    except Broken as broken:
        problems.add_broken(broken)
        result["refused"] = str(broken)
        return result
    blocks, result["incomplete_tail"], whole = read_blocks(file, end, may_be_cut, problems)
    result["blocks"] = blocks
    result["block_count"] = len(blocks)
    result["opaque_block_count"] = sum(block["record_count"] == 0 for block in blocks)
    result["record_count"] = sum(block["record_count"] for block in blocks)
    records_lost = any(loss["cause"] in CAUSES_OF_LOST_RECORDS and loss["count"] for loss in result["losses"])
    check_blocks(blocks, header, records_lost, problems)
    of_tables = list(table_blocks(blocks))
    result["schemas"], result["names"] = read_table_blocks(blocks, problems)
    if result["trailer"]:
        if whole:
            check_threads(result, problems)
            check_node_clocks(result, problems)
        check_index(file, result, end, whole, problems)
        if result["table_ranges"] is not None and not problems:
            check_table_ranges(result, of_tables, problems)
        if result["marks"] and not problems:
            check_marks(file, result, end, blocks, problems)
    return result


def parse_strict(file):
    """The same keys, read as Part I says: 36 bytes of header, blocks up to the descriptor offset, the counts as
    stored, nothing else looked at. Raises Refused at anything that Part I does not promise."""
    problems = Problems()
    try:
        header = read_header(file)
        place = table_place(file, header, None, problems)
        end = place[0] if place else len(file)
        blocks, offset = [], HEADER.size
        while offset < end and not problems:
            block, offset = strict_block(file, offset, end)
            blocks.append(block)
        work_items, sub_items, _ = read_tables(file, *place, problems) if place else ([], [], None)
        check_blocks(blocks, header, True, problems)  # R21 depends on the trailer, which Part I cannot see
    except Broken as broken:
        raise Refused(str(broken)) from None
    if problems:
        raise Refused("{rule} at offset {offset}: {text}".format(**problems[0]))
    return {"file_size": len(file), "header": header, "finalized": place is not None, "work_items": work_items,
            "sub_items": sub_items, "block_count": len(blocks), "incomplete_tail": None,
            "record_count": sum(block["record_count"] for block in blocks), "blocks": blocks}


def strict_block(file, offset, end):
    """A block without records is one in which the loop over its records does nothing."""
    block, behind = read_block_header(file, offset, end)
    if block["record_count"] == 0:
        return block | {"records": []}, behind
    return read_block(file, offset, end)


def main(arguments):
    strict = arguments[:1] == ["--strict"]
    if len(arguments) != 1 + strict:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    try:
        with open(arguments[-1], "rb") as stream:
            file = stream.read()
        result = parse_strict(file) if strict else parse(file)
    except (OSError, Refused) as error:
        print(f"rbwp_reader.py: {arguments[-1]}: {error}", file=sys.stderr)
        return 1
    json.dump(result, sys.stdout, indent=1)
    print()
    return 1 if not strict and result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
