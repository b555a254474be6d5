# SPDX-License-Identifier: Apache-2.0
"""Files with tables of ranges, GPU work and annotations, and calls on two threads around them all."""
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kernels_make
from make_rbwp import T0, begin, block, end, finalised, ts8
from test_tables import names, rows, schema

RANGE = [("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("range", 1, 11), ("id", 1, 0), ("parent", 1, 12),
         ("kind", 1, 0), ("payload_type", 1, 0), ("payload", 1, 0)]
ACTIVITY = kernels_make.ACTIVITY + [("range", 1, 0)]
ANNOTATION = [("start", 4, 1), ("stop", 4, 2), ("processor", 1, 3), ("stream", 1, 0), ("name", 6, 4), ("range", 1, 0), ("id", 1, 0)]


def table(number, name, columns, made):
    cells = [(0, struct.pack(f"<{len(made)}Q", *column)) for column in zip(*made)]
    clocks = [row[i] for row in made for i, column in enumerate(columns) if column[1] == 4]
    return [schema(number, [(kind, role, 0, text.encode(), b"") for text, kind, role in columns], name.encode()),
            rows(1, cells, len(made), number, (min(clocks, default=0), max(clocks, default=0)), compress=True)]


def write(path, texts, *tables, zero=T0, stop=10000):
    """texts: bytes of the names from 1 on. tables: (name, columns, rows). Calls of threads 7 and 8 last from 0 to stop."""
    blocks = [block([begin(ts8(zero)), end(ts8(zero + stop))], zero, thread) for thread in (7, 8)] + [names(1, *texts)]
    for number, one in enumerate(tables, 1):
        blocks += table(number, *one)
    with open(path, "wb") as file:
        file.write(finalised(blocks, zero=zero))
