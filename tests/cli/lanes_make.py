# SPDX-License-Identifier: Apache-2.0
"""lanes_make.py FOLDER: dumps of lanes and of device events made by hand, plain and as NumPy saves them."""
import pathlib
import struct
import sys

LANES = [0x0000000200000002,  # 2 groups, 2 blocks
         0xFFFFFFE000000000, 0xFFFFFFF000001004, 0x0000010000002014, 0x0000011000003FFC,
         0x0000004000000001, 0x0000002000001005, 0x0000018000002015, 0,
         0x0000006000000003, 0x000000300000100A, 0x000001A000002003, 0,
         0, 0x0000005000001003, 0, 0]
NAMES = ["event_id", "pid", "pid_m", "pid_n", "cur_rank", "target_rank", "xcc_id", "cu_id", "timestamp", "address",
         "duration_cycles", "op_index", "payload_size"]
TYPES = ["i"] * 8 + ["q"] * 3 + ["i"] * 2
RANK0 = [(3, 7, 1, 2, 0, 1, 2, 5, 5000, 0x7F0010002000, 5600, 0, 32),
         (1, 8, 1, 3, 0, 1, 2, 5, 5100, 0x7F0010002020, 5900, 1, 0),
         (99, 9, 0, 0, 0, 0, 0, 0, 5200, 0, 0, 2, 0),
         (5, 9, 0, 0, 0, 1, 0, 1, 5300, 0x10, 5300, 3, 4)]
RANK1 = [(3, 0, 0, 0, 1, 0, 0, 0, 4000, 0, 4010, 0, 0)]


def words(values):
    return struct.pack(f"<{len(values)}Q", *values)


def numpy_file(descr, shape, data, order="False"):
    head = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def arrays(events):
    return b"".join(struct.pack(f"<{len(events)}{kind}", *column) for kind, column in zip(TYPES, zip(*events)))


def dump(rank, events, counter, hz=100000000, offset=0, bound=0):
    head = struct.pack("<8sIIIIQIIQQqQqq", b"RBWPEVT1", 1, 128, rank, 2, 4, counter, counter, len(events), hz, offset,
                       bound, 0, 0)
    return head.ljust(128, b"\0") + arrays(events)


def files():
    yield "v1.bin", words(LANES)
    yield "v1.npy", numpy_file("'<u8'", "(17,)", words(LANES))
    yield "rows.npy", numpy_file("'<i8'", "(17, 1)", words(LANES))
    bad = list(LANES)
    bad[5] |= 0x3000  # another lane's tag
    bad[14] = 0x0000000500001004  # backwards, and never ended
    yield "bad.bin", words(bad)
    yield "whole.bin", words([0x100000001, 1000 << 32, 1640 << 32 | 1, 1641 << 32 | 3])
    yield "brim.bin", words([0x100000001, 1000 << 32, 1640 << 32 | 1])
    yield "cut.npy", numpy_file("'<u8'", "(17,)", words(LANES[:13]))
    yield "float.npy", numpy_file("'<f8'", "(17,)", words(LANES))
    yield "fortran.npy", numpy_file("'<u8'", "(17,)", words(LANES), "True")
    # 8.4: group 0 waits from 1000 to 1640
    yield "wait.bin", words([0x100000001, 1000 << 32, 1640 << 32 | 1, 0])
    # more begins at once than the decoder has room for at first
    yield "open.bin", words([0x2000000001] + [1000 + k << 32 | lane << 12 | k << 2 for k in range(40) for lane in range(32)])
    # version 2: group 0 of block 1 and group 1 of block 2, both on SM 77
    lanes = [0] * 2 * 6 * 2
    for lane, k, tag in (2, 0, 4), (2, 1, 5), (5, 0, 8), (5, 1, 9):
        lanes[2 * (lane + 6 * k):2 * (lane + 6 * k) + 2] = [10**12 + 100 * k, 77 << 32 | lane << 12 | tag]
    yield "v2.bin", words([int.from_bytes(b"RBWPLAN2", "little"), 2, 2 << 32 | 3, 2 << 32 | 6, 10**9, 0, 0, 3] + lanes)
    yield "r0.evt", dump(0, RANK0, 6)
    yield "r1.evt", dump(1, RANK1, 1)
    yield "r1_ahead.evt", dump(1, RANK1, 1, offset=9000, bound=70)
    yield "nvidia.evt", dump(0, RANK0, 6, hz=1000000000)
    # From before all times to behind them, in ns, which are ticks here.
    far = [(3, 7, 1, 2, 0, 1, 2, 5, start, 0, stop, 0, 0) for start, stop in ((-2**63, 2**63 - 1), (-2**63 + 1, 5), (7, 2**63 - 1))]
    yield "far.evt", dump(0, far, 3, hz=1000000000)
    yield "cut.evt", dump(0, RANK0, 6)[:-7]
    yield "r0.arrays", arrays(RANK0)
    descr = str([(name, "<i4" if kind == "i" else "<i8") for name, kind in zip(NAMES, TYPES)])
    yield "nofield.npy", numpy_file(descr.replace("op_index", "op_indix"), "(4,)", b"".join(struct.pack("<8i3q2i", *event) for event in RANK0))
    yield "narrow.npy", numpy_file(descr.replace("'op_index', '<i4'", "'op_index', '<i8'"), "(4,)", b"".join(struct.pack("<8i3qqi", *event) for event in RANK0))
    yield "r0.npy", numpy_file(descr, "(4,)", b"".join(struct.pack("<8i3q2i", *event) for event in RANK0))


for name, data in files():
    (pathlib.Path(sys.argv[1]) / name).write_bytes(data)
