# SPDX-License-Identifier: Apache-2.0
"""Reads the data of a page of `rbwp report`, by its own code: base64, zlib, varints."""
import base64
import json
import re
import struct
import zlib


class Page:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:  # a page is UTF-8 whatever the names are
            self.text = file.read()
        self.elements = dict(re.findall(r'<script type="application/octet-stream" id="(\w+)">([A-Za-z0-9+/=]*)</script>', self.text))
        self.data = json.loads(self.unpack(self.elements["data0"]))

    @staticmethod
    def unpack(text):
        return zlib.decompress(base64.b64decode(text), -15)

    def tiles(self):
        index = self.unpack(self.elements["index0"])
        for first, _last, owner, count, element, offset, characters, _ in struct.iter_unpack("<ddIIIIII", index):
            packed = self.elements[f"tiles{element}"][offset : offset + characters]
            yield count >> 31, owner, int(first), count & 0x7FFFFFFF, varints(self.unpack(packed))

    def on_gpu(self, row):
        return self.data["tracks"][self.data["rows"][row][0]]["kind"] == "gpu"

    def is_inside(self, row):
        return "parent" in self.data["tracks"][self.data["rows"][row][0]]

    def places(self):
        """(name, block, launch, start, stop) of each span inside a kernel, times from origin_ns."""
        for is_link, row, first, count, numbers in self.tiles():
            if is_link or not self.is_inside(row):
                continue
            for step, length, kind, block, launch in zip(*(numbers[i * count:(i + 1) * count] for i in range(5))):
                first += step >> 1 ^ -(step & 1)
                yield self.data["kinds"][kind >> 3]["name"], block, launch, first, first + length

    def bounds(self):
        """(start, stop) by so much of each span of a GPU."""
        for is_link, row, _, count, numbers in self.tiles():
            if not is_link and self.on_gpu(row):
                yield from zip(numbers[3 * count :], numbers[4 * count :])

    def spans(self):
        """(row, kind number, flags, start, stop), times from origin_ns."""
        for is_link, row, first, count, numbers in self.tiles():
            if is_link:
                continue
            assert len(numbers) == (5 if self.on_gpu(row) or self.is_inside(row) else 3) * count
            start = first
            for step, length, kind in zip(numbers, numbers[count:], numbers[2 * count : 3 * count]):
                start += step >> 1 ^ -(step & 1)
                yield row, kind >> 3, kind & 7, start, start + length

    def begun(self, level):
        """Spans that began, by row, in the summary of that level."""
        cells = self.unpack(self.elements[f"cells{level}"])
        rows = len(self.data["rows"])
        counts = [struct.unpack_from("<dII", cells, 16 * row)[1] for row in range(rows)]
        assert len(cells) == 16 * rows + 7 * sum(counts)
        begun = struct.unpack_from(f"<{sum(counts)}I", cells, 16 * rows)
        sums, at = [], 0
        for count in counts:
            sums.append(sum(begun[at : at + count]))
            at += count
        return sums


def varints(data):
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    assert shift == 0
    return numbers
