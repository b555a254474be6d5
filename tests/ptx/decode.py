#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What comes out of buffers: files of compatible tools byte for byte, sums, the probes that a second
run can do with, the source in a terminal; and buffers that are refused."""
import json
import os
import struct

from lib import CORPUS, WORK, check, finish, rbwp
from machine import Machine

A = CORPUS / "fixture_a.ptx"
MAP, RAW, OUT = WORK / "map.json", WORK / "raw.bin", WORK / "out"


def instrument(*options, path=A):
    rbwp("instrument", "-f", "-o", WORK / "out.ptx", "--map", MAP, *options, path)
    return json.loads(MAP.read_text())


def cell(start_id, start, end_id, end):
    return struct.pack("<QQ", start | start_id << 48, end | end_id << 48)


def decode(raw, *options, code=0):
    RAW.write_bytes(raw)
    return rbwp("decode", "-f", "--map", MAP, *options, RAW, code=code)


def rows():
    """raw.csv as lists of numbers."""
    return [[int(field) for field in line.split(",")] for line in (OUT / "raw.csv").read_text().splitlines()]


def cells():
    """P5, P7: bytes of cells; both numbers are kept; empty slots at the end go, those between stay."""
    instrument("--threads", "0", "--capacity", 8)
    golden = bytes.fromhex("2d8ef461b3010000 2e8ef461b3010000 f0ffffff12000300 1000000013000300")
    raw = golden + bytes(16) + cell(7, 100, 5, 130) + bytes(16 * 4)
    decode(raw, "--dir", OUT)
    check("rows", rows(), [[0, 0, 0x1B361F48E2D, 0x1B361F48E2E], [3, 3, 0x12FFFFFFF0, 0x1300000010], [0, 0, 0, 0], [7, 5, 100, 130]])
    text = decode(raw)[0].decode()
    check("an edge has a line", [line.split()[:4] for line in text.splitlines() if "->" in line], [["7->5", "13", "1", "30"]])
    check("nothing", "nothing was recorded" in decode(bytes(128), "--dir", OUT)[1], True)
    check("no rows", rows(), [])


def forms():
    """P8, P10, P12: the NumPy header, CSV with and without names, the trace's text, the summary's columns."""
    instrument("--threads", "0-1", "--capacity", 4)
    raw = cell(0, 1000, 0, 1010) + cell(0, 2000, 0, 2030) + cell(3, 1100, 9, 1200) + cell(0, 0, 0, 0) + bytes(64)
    text = decode(raw, "--dir", OUT)[0].decode()
    npy = (OUT / "raw.npy").read_bytes()
    check("NumPy's magic", npy[:8], b"\x93NUMPY\x01\x00")
    length = struct.unpack_from("<H", npy, 8)[0]
    header = npy[10:10 + length]
    check("NumPy's header", (header.rstrip(), (10 + length) % 64, header[-1:]),
          (b"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 8), }", 0, b"\n"))
    numbers = [0, 0, 1000, 1010, 0, 0, 2000, 2030, 3, 9, 1100, 1200, 0, 0, 0, 0]
    check("NumPy's numbers", struct.unpack("<16q", npy[10 + length:]), tuple(numbers))
    check("CSV", (OUT / "raw.csv").read_bytes(), b"0,0,1000,1010,0,0,2000,2030\n3,9,1100,1200,0,0,0,0\n")
    event = lambda name, ts, dur, tid, start, end: (
        f'{{"name": "{name}", "cat": "{name}", "ph": "X", "ts": {ts}, "dur": {dur}, "pid": 0, "tid": {tid}, '
        f'"args": {{"start_index": {start}, "end_index": {end}}}}}')
    check("trace", (OUT / "trace.json").read_text(), '{"displayTimeUnit": "ns", "traceEvents": [\n' + ",\n".join(
        [event("Line 10", 1000, 10, 0, 0, 0), event("Line 10", 2000, 30, 1, 0, 0), event("Line 12", 1100, 100, 0, 3, 9)]) + "\n]}")
    check("loc_map", (OUT / "loc_map.json").read_text(), json.dumps({str(i): loc for i, loc in enumerate(
        [10, 11, 12, 12, 12, 12, 13, 13, 14, 14, 15, 15])}, indent=2))
    check("active_probes", json.loads((OUT / "active_probes.json").read_text()),
          {"active_start": {"list": [0, 3]}, "active_end": {"list": [0, 9]}})
    check("summary", text.split("\n\n")[0].splitlines()[1:], [
        "=" * 70, "  Slot   Site    Loc    Mean Cycles          Min          Max", "-" * 70,
        "     0      0     10           20.0           10           30", "     1      3     12          100.0          100          100",
        "=" * 70])
    decode(raw, "--dir", OUT, "--csv-header")
    lines = (OUT / "raw.csv").read_text().splitlines()
    check("CSV's names", lines[0], ",".join(f"t{t}_{name}" for t in range(2) for name in
                                           ["start_idx", "end_idx", "start_time", "end_time"]))
    # A probe that the map does not have, and mode entire, whose line is -1.
    map_json = json.loads(MAP.read_text())
    map_json["probes"] = [p for p in map_json["probes"] if p["id"] != 3]
    MAP.write_text(json.dumps(map_json))
    decode(raw, "--dir", OUT)
    check("no line is known", '"name": "Probe 3"' in (OUT / "trace.json").read_text(), True)
    instrument("--mode", "entire", "--threads", "0", "--capacity", 1)
    decode(cell(0, 5, 0, 9), "--dir", OUT)
    check("entire", '"name": "Line -1"' in (OUT / "trace.json").read_text(), True)


def wide():
    """The whole way: a kernel runs on machine.py, its wide buffer becomes the same records; the pair that
    was timed is subtracted; losses are reported."""
    map_json = instrument("--mode", "warp", "--threads", "0-1", "--capacity", 16)
    memory = bytearray(map_json["buffer_bytes"]) + bytearray(256)
    machine = Machine((WORK / "out.ptx").read_text(), memory, {"rbwp_ptx_buffer": Machine.BASE},
                      {"k_param_0": Machine.BASE + map_json["buffer_bytes"], "k_param_1": 2}, clock=(1 << 44) - 40, step=7)
    for thread in range(64):
        machine.thread(ntid_x=64, tid_x=thread)
    raw = bytes(memory[:map_json["buffer_bytes"]])
    text = decode(raw, "--dir", OUT)[0].decode()
    found = [row[:2] for row in rows()]
    check("records", found, [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 6], [7, 7], [8, 6], [7, 7], [8, 8], [9, 9], [10, 10], [11, 11], [12, 12]])
    flat = [time for row in rows() for time in row[2:4]]
    check("44 bits wrap", flat == sorted(flat) and flat[0] < 1 << 44 < flat[-1], True)
    check("the empty pair", "7 cycles of an empty pair" in text, True)
    pairs, whole = text.split("Spread\n")[1].split("\n\n")
    check("sums", all(line.split()[3] == "0" for line in pairs.splitlines()), True)
    # Each record of the two lanes is an empty pair: nothing is left of it, and the rest is between them.
    lanes = [[row[4 * i + 2:4 * i + 4] for row in rows() if row[4 * i + 2]] for i in range(2)]
    total = sum(lane[-1][1] - lane[0][0] for lane in lanes)
    gaps = [after[0] - before[1] for lane in lanes for before, after in zip(lane, lane[1:])]
    check("the lanes' time", whole, f"2 lanes, {total} cycles from first START to last END: 0.0% in records, "
          f"{100 - 100 * sum(gaps) / total:.1f}% in their probes, {100 * sum(gaps) / total:.1f}% between them "
          f"({sum(gaps) / len(gaps):.1f} cycles: a probe's store, and code that has none)\n")
    lossy = raw[:32 + 24] + struct.pack("<I", 5) + raw[32 + 28:]
    check("losses", "5 records found no room: 16 a lane is too few" in decode(lossy)[1], True)
    return raw


def refused(raw):
    """Cut, of another kernel, of other options: refused by name and hash; nothing is written."""
    hash_text = json.loads(MAP.read_text())["hash"]
    check("cut", f"the probes of kernel 'k' (hash {hash_text}) write" in decode(raw[:-1], code=1)[1], True)
    check("longer", "it is cut, or of another kernel" in decode(raw + b"x", code=1)[1], True)
    other = raw[:8] + bytes(8) + raw[16:]
    check("another hash", "it has the hash 0000000000000000, and the probes of kernel 'k' have " + hash_text in decode(other, code=1)[1], True)
    check("no magic", "no buffer of wide cells" in decode(b"x" + raw[1:], code=1)[1], True)
    tail = struct.pack("<QQ", 3, int(hash_text, 16))
    check("tail", "3 records found no room" in decode(raw + tail)[1], True)
    check("tail of another", "of another kernel" in decode(raw + bytes(16), code=1)[1], True)
    instrument("--threads", "0", "--capacity", 2)
    check("another's probe", "lane 0 has a record of probe 12, and kernel 'k'" in decode(cell(12, 1, 12, 2) + bytes(16), code=1)[1], True)
    instrument("--mode", "config")
    check("config", "mode config records nothing" in decode(bytes(56), code=1)[1], True)
    for text in ["", "{}", "[1]", '{"rbwp_ptx_map": 1, "hash": "1", "probes": [{"id": -1}]}', '{"hash": "x', '{"lanes": 99999999999999999999}']:
        MAP.write_text(text)
        decode(b"", code=1)
    rbwp("decode", RAW, code=2)
    rbwp("annotate", RAW, code=2)


def lists(active):
    return active["active_start"]["list"], active["active_end"]["list"]


def sanitize(matrix, locs, *options):
    (WORK / "raw.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in matrix))
    (WORK / "locs.json").write_text(json.dumps({str(i): loc for i, loc in locs.items()}))
    return lists(json.loads(rbwp("sanitize", "--loc-map", WORK / "locs.json", *options, WORK / "raw.csv")[0]))


def sanitizer():
    """P9: the golden lists, by both rules; where the rules differ; all off."""
    locs = {0: 10, 1: 10, 2: 11, 3: 11, 4: 12, 5: 12}
    first, second = [0, 1, 2, 3, 2, 3, 4], [0, 1, 2, 3]
    fire = lambda ids, row: [ids[row], ids[row], 100 + row * 10, 105 + row * 10] if row < len(ids) else [0] * 4
    matrix = [fire(first, row) + fire(second, row) for row in range(7)]
    for rules in [(), ("--compat",)]:
        check(f"both {rules}", sanitize(matrix, locs, *rules), ([0, 2, 4], [1, 3, 4]))
        check(f"dead {rules}", sanitize(matrix, locs, "--keep-neighbours", *rules), ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]))
        check(f"merge {rules}", sanitize(matrix, locs, "--keep-dead", *rules), ([0, 2, 4, 5], [1, 3, 4, 5]))
        check(f"none {rules}", sanitize(matrix, locs, "--keep-dead", "--keep-neighbours", *rules), (list(range(6)),) * 2)
    # Of one line all three: what is entered from two sides, or left to two, stays.
    line = {1: 10, 2: 10, 3: 10}
    check("entered twice", sanitize([fire([1, 3], row) + fire([2, 3], row) for row in range(2)], line), ([1, 2, 3], [1, 2, 3]))
    check("left twice", sanitize([fire([1, 2], row) + fire([1, 3], row) for row in range(2)], line), ([1, 2, 3], [1, 2, 3]))
    check("another line", sanitize([fire([1, 2], row) for row in range(2)], {1: 10, 2: 11}), ([1, 2], [1, 2]))
    # Probe 0 never fires, and empty cells are taken for it; it fires in the middle, and is taken for one.
    late = [fire([1, 2], row) + fire([1], row) for row in range(2)]
    check("dead probe 0", sanitize(late, locs, "--keep-neighbours"), ([1, 2], [1, 2]))
    check("dead probe 0, compat", sanitize(late, locs, "--keep-neighbours", "--compat"), ([0, 1, 2], [0, 1, 2]))
    middle = [fire([4, 0, 1], row) for row in range(3)]
    check("probe 0 in the middle", sanitize(middle, locs), ([0, 4], [1, 4]))
    check("probe 0 in the middle, compat", sanitize(middle, locs, "--compat"), ([0, 1, 4], [0, 1, 4]))
    named = "t0_start_idx,t0_end_idx,t0_start_time,t0_end_time\n" + "1,1,5,6\n"
    (WORK / "raw.csv").write_text(named)
    check("with names", lists(json.loads(rbwp("sanitize", "--loc-map", WORK / "locs.json", WORK / "raw.csv")[0])), ([1], [1]))
    for text in ["1,2,3\n", "1,2,3,4,5,6,7,8\n1,2,3,4\n", "a,b,c,d\n", "-1,1,1,1\n", "1,1,1,1x\n", "9999999,1,1,1\n", "1,1,1,\n1,1,1,1\n"]:
        (WORK / "raw.csv").write_text(text)
        rbwp("sanitize", "--loc-map", WORK / "locs.json", WORK / "raw.csv", code=1)
    (WORK / "raw.csv").write_text("1,1,5,6\n")
    (WORK / "locs.json").write_text('{"": 7}')
    check("an empty number", "a number is missing" in rbwp("sanitize", "--loc-map", WORK / "locs.json", WORK / "raw.csv", code=1)[1], True)
    rbwp("sanitize", WORK / "raw.csv", code=2)


def config():
    """P11: defaults, booleans, comments, a missing section; files go where it says, and come from there."""
    os.chdir(WORK)
    (WORK / "config.ini").write_text("""; a comment
[instrument]
mode = single   ; of the mode
target_file=2
t_start: 4
t_end = 7
[output]
output_dir = made
DUMP_PTX = No
[other]
mode = nonsense
""")
    rbwp("instrument", "--config", "config.ini", "--map", MAP, "-f", "-o", "o.ptx", A)
    map_json = json.loads(MAP.read_text())
    check("from the file", (map_json["mode"], map_json["threads"], map_json["capacity"], [p["entry"] for p in map_json["probes"]]),
          ("single", [[4, 7, 1]], 256, [24]))
    check("where files go", ((WORK / "made").exists(), json.loads((WORK / "analysis/loc_map.json").read_text())), (False, {"0": 40}))
    rbwp("instrument", "--config", "config.ini", "-m", "block", "-t", "0", "--capacity", 3, "--file", 1, "--map", MAP, "-f", "-o", "o.ptx", A)
    map_json = json.loads(MAP.read_text())
    check("options come first", (map_json["mode"], map_json["threads"], map_json["capacity"], len(map_json["probes"])), ("block", [[0, 0, 1]], 3, 12))
    for word, value in [("1", 1), ("yes", 1), ("TRUE", 1), ("on", 1), ("0", 0), ("no", 0), ("False", 0), ("oFF", 0)]:
        (WORK / "b.ini").write_text(f"[output]\noutput_dir = dump_{word}\ndump_ptx = {word}\n[analysis]\nanalysis_dir =\n")
        rbwp("instrument", "--config", "b.ini", "-f", "-o", "o.ptx", A)
        check(f"boolean {word}", (WORK / f"dump_{word}" / "original.ptx").exists(), bool(value))
    # A buffer of compatible tools, described by the configuration alone; no section [sanitizer]: nothing is removed.
    (WORK / "c.ini").write_text("[instrument]\nt_end = 0\nn_probes_estimate = 2\n")
    rbwp("instrument", "--config", "c.ini", "-f", "-o", "o.ptx", A)
    check("both texts", (WORK / "output/original.ptx").read_bytes() == A.read_bytes()
          and (WORK / "output/instrumented.ptx").read_bytes() == (WORK / "o.ptx").read_bytes(), True)
    RAW.write_bytes(cell(2, 5, 2, 6) + cell(3, 7, 9, 8))
    rbwp("decode", "--config", "c.ini", RAW)
    check("rows", (WORK / "output/raw.csv").read_text(), "2,2,5,6\n3,9,7,8\n")
    active = lambda: lists(json.loads((WORK / "analysis/active_probes.json").read_text()))
    check("no section", active(), (list(range(12)),) * 2)
    with open(WORK / "c.ini", "a") as file:
        file.write("[sanitizer]\nenable = true\n")
    rbwp("sanitize", "--config", "c.ini")
    check("dead and merge", active(), ([2], [9]))
    rbwp("instrument", "--config", "c.ini", "--map", MAP, "-f", "-o", "o.ptx", A)
    check("the second pass", [(p["id"], p["start"], p["end"]) for p in json.loads(MAP.read_text())["probes"]],
          [(2, True, False), (9, False, True)])
    for text in ["[instrument\n", "mode\n", "[instrument]\nt_end = x\n", "[output]\ndump_ptx = maybe\n", "[instrument]\nmode = all\n"]:
        (WORK / "bad.ini").write_text(text)
        rbwp("instrument", "--config", "bad.ini", A, code=1)


def annotate():
    """The source, each line of it with what it took; without it the lines that have probes."""
    source = WORK / "source.py"
    source.write_text("".join(f"line\t{i}\n" for i in range(1, 20)))
    (WORK / "with_file.ptx").write_text(A.read_text() + f'\n.file 1 "{source}"\n')
    instrument("--threads", "0-1", "--capacity", 3, path=WORK / "with_file.ptx")
    RAW.write_bytes(cell(0, 1, 0, 21) + cell(0, 1, 0, 11) + cell(8, 100, 8, 160) + bytes(48))
    text = rbwp("annotate", "--map", MAP, RAW)[0].decode()
    lines = text.splitlines()
    check("head", (lines[0], lines[2]), ("kernel k: 90 cycles in all lanes", f"{source}:"))
    check("lines", [line.split()[-2:] for line in lines[3:8]], [["line", str(i)] for i in range(10, 15)])
    check("the lanes' time", lines[8:], ["2 lanes, 169 cycles from first START to last END: 53.3% in records, 0.0% in their probes, "
                                         "46.7% between them (79.0 cycles: a probe's store, and code that has none)"])
    check("share, count, p50, p99, spread, line", lines[3].replace("#", "").split()[:6], ["33.3%", "2", "10", "20", "50.0%", "10"])
    check("its bar", lines[7].count("#"), 7)
    text = rbwp("annotate", "--map", MAP, RAW, locale="C.UTF-8")[0].decode()
    check("its bar in UTF-8", text.splitlines()[7].count("\u2588"), 7)
    source.write_bytes(b"".join(b"line %d\r\n" % i for i in range(1, 20)))  # as editors elsewhere write it
    check("its ends of lines", [line.split("  ")[-1] for line in rbwp("annotate", "--map", MAP, RAW)[0].decode().split("\n")[3:8]], [f"line {i}" for i in range(10, 15)])
    source.unlink()
    lines = rbwp("annotate", "--map", MAP, "--pair-cost", 10, "--color", "always", RAW)[0].decode().splitlines()
    check("without the source", len(lines), 6)
    check("probes in records", "35.5% in records, 17.8% in their probes, 46.7% between" in lines[5], True)
    check("what a pair costs is off", ("60 cycles" in lines[0], "\x1b[" in lines[4]), (True, True))


cells()
forms()
refused(wide())
sanitizer()
annotate()
config()
finish()
