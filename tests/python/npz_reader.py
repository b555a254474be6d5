# SPDX-License-Identifier: Apache-2.0
"""Reads the arrays of an .npz file as `rbwp export --to npz` writes them, for tests, without NumPy: an archive by
Python's zipfile, arrays by the description of NumPy's format. Strict where readers may be lax: sums, no compression,
data that begin at multiples of 64 bytes, no member twice."""

import array
import ast
import struct
import zipfile

TYPES = {"<i8": "q", "<u8": "Q", "<u4": "I", "|b1": "B", "|u1": "B"}


def member(data, info):
    name_bytes, extra_bytes = struct.unpack_from("<HH", data, info.header_offset + 26)
    at = info.header_offset + 30 + name_bytes + extra_bytes
    stored = data[at:at + info.file_size]
    assert at % 64 == 0 and info.compress_type == zipfile.ZIP_STORED and len(stored) == info.file_size, info
    assert stored[:8] == b"\x93NUMPY\x01\x00", stored[:8]
    begin = 10 + struct.unpack_from("<H", stored, 8)[0]
    assert begin % 64 == 0 and stored[begin - 1:begin] == b"\n"
    header = ast.literal_eval(stored[10:begin].decode())
    assert sorted(header) == ["descr", "fortran_order", "shape"] and not header["fortran_order"], header
    values = array.array(TYPES[header["descr"]], stored[begin:])
    assert header["shape"] == (len(values), )
    assert header["descr"] != "|b1" or set(values) <= {0, 1}
    return values


def texts(arrays, name):
    whole, ends = arrays[name + ".texts"].tobytes(), [0, *arrays[name + ".ends"]]
    assert ends[-1] == len(whole)
    return [whole[a:b] for a, b in zip(ends, ends[1:])]


class File:
    """columns: lists of numbers and of bytes, None where a row has no value; facts: metadata, bytes."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            members = archive.infolist()
        with open(path, "rb") as file:
            data = file.read()
        self.arrays = {info.filename[:-len(".npy")]: member(data, info) for info in members}
        assert len(self.arrays) == len(members)
        words = texts(self.arrays, "facts")
        self.facts = dict(zip(words[::2], words[1::2]))
        self.columns = {name: self.column(name) for name in self.arrays if "." not in name}
        assert len({len(values) for values in self.columns.values()}) == 1
        self.rows = len(self.columns["start"]) if "start" in self.columns else None

    def column(self, name):
        values = list(self.arrays[name])
        known = self.arrays.get(name + ".known", [1] * len(values))
        assert len(known) == len(values) and not any(v for v, k in zip(values, known) if not k)
        if name + ".texts" in self.arrays:
            words = texts(self.arrays, name)
            assert set(values) | {0} == set(range(len(words))) | {0}  # none that nobody has
            values = [words[value] if k else None for value, k in zip(values, known)]
        return [value if k else None for value, k in zip(values, known)]
