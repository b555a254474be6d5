# SPDX-License-Identifier: Apache-2.0
"""What every export of spans is held against: the spans that rbwp dump --spans prints, and files that
are hard to export."""

import json
import os
import subprocess

import rbwp_make as m

GOLDEN_CODES = {"crash_cut_in_data": 3, "defect_discard_rotate": 3}  # all others: 0
HOSTILE_NAMES = [b"", b"\0", b"a\0b", b'a"b\\c/d', b'"', b",", b" x ", bytes(range(256)), "gr\u00fc\u00df \u20ac \U0001f600".encode(), b"\xc3",
                 b"ok\xc3\x28", b"\xed\xa0\x80", b"\xff" * 300, b"x" * 65535, b"\n\r\t\x7f\\", b"\\N", b"\\t", b"'; drop table span; --", b"NULL"]


def export(rbwp, path, output, *options, code=0, kind=None):
    kind = ["--to", kind] if kind else []
    done = subprocess.run([rbwp, "export", *kind, *options, "-o", output, path], capture_output=True)
    assert done.returncode == code, (path, done.returncode, done.stderr)
    return done


def repaired(name):
    """Of names that are not UTF-8: U+FFFD for each byte that is no part of a character."""
    text = ""
    while name:
        for size in range(1, 5):
            try:
                text, name = text + name[:size].decode(), name[size:]
                break
            except UnicodeDecodeError:
                pass
        else:
            text, name = text + "\ufffd", name[1:]
    return text


def expected(rbwp, path, code=0):
    """A dict from span ids to (begin, duration or None if unfinished, name as bytes, parent or None, category)."""
    done = subprocess.run([rbwp, "dump", "--spans", path], capture_output=True)
    assert done.returncode == code, (path, done.stderr)
    spans = {}
    for s in json.loads(done.stdout):
        if s["begin"] is None:
            continue
        name = bytes.fromhex(s["name_hex"]) if "name_hex" in s else (s["name"] or "").encode()
        if not name:
            name = (f"sub-item {s['sub_item']}" if s["kind"] == "fine" else f"slot {s['slot']}").encode()
        types = {"AM_HANDLER": "am", "XFER_CHANNEL": "xfer", "DEPPART_OP": "deppart", "GPU_REAP": "reap"}
        category = {"coarse": "bgwork", "gpu": "gpu"}.get(s["kind"]) or types.get(s["sub_item_type"], "sub_item")
        duration = max(0, s["end"] - s["begin"]) if s["finished"] else None
        spans[s["id"]] = (s["begin"], duration, name, s["parent"], category)
    return spans


def calls(start, count):
    return [r for i in range(count) for r in ((start + 20 * i, "cb", 1), (start + 20 * i + 5, "fb", 5), (start + 20 * i + 9, "fe"), (start + 20 * i + 12, "ce"))]


def hard_files(work, blocks=34):
    """Pairs of a path and the exit code that it deserves. The longest file has so many blocks of each of two threads, of
    2000 spans each: 34 are more than a row group of Parquet."""
    ends = [-(1 << 61), (1 << 61) - 1]
    names = [r for i in range(len(HOSTILE_NAMES)) for r in ((1000 + 4 * i, "cb", i), (1001 + 4 * i, "fb", i + 100), (1002 + 4 * i, "fe"), (1003 + 4 * i, "ce"))]
    files = {
        "names": m.file([m.block(1, 0, names)], list(enumerate(HOSTILE_NAMES)), [(i + 100, i % 6, n) for i, n in enumerate(HOSTILE_NAMES)]),
        "bounds": m.file([m.block(1, 0, [(10, "cb", 1), (20, "ce"), (30, "cb", 2), (40, "ce")])], [(1, b"a" * 256), (2, b"b" * 257)]),
        "unnamed": m.file([m.block(1, 0, [(10, "cb", 7), (20, "fb", 65535), (30, "fe"), (40, "ce")])]),
        "unfinished": m.file([m.block(1, 0, [(100, "cb", 1), (120, "fb", 5), (150, "gpu", 77, 1, 900, 800), (160, "cb", 2), (170, "ce")])]),
        "far": m.file([m.block(1, 0, [(ends[0], "cb", 1), (ends[0] + 1, "ce")]), m.block(2, 0, [(ends[1] - 9, "cb", 2), (ends[1], "ce")]),
                       m.block(3, 0, [(5, "gpu", 1 << 63, 255, -(1 << 63), (1 << 63) - 1), (6, "gpu", 0, 0, (1 << 63) - 1, -(1 << 63))])]),
        "deep": m.file([m.block(1, 0, [(i, "fb", 5) for i in range(3000)] + [(9000 + i, "fe") for i in range(3000)])]),
        "many": m.file([m.block(t, i, calls(10**12 + 40000 * i + t, 1000)) for i in range(blocks) for t in (1, 2)], [(1, b"one")], [(5, 1, b"five")]),
    }
    for name, data in files.items():
        with open(f"{work}/{name}.bin", "wb") as file:
            file.write(data)
    return [(f"{work}/{name}.bin", 0) for name in files]


def golden_files(golden):
    names = sorted(name[:-4] for name in os.listdir(golden) if name.endswith(".bin"))
    assert len(names) == 14, names
    return [(f"{golden}/{name}.bin", GOLDEN_CODES.get(name, 0)) for name in names]
