#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes: which there are and where, what they store when the kernel runs (on machine.py), what is
refused. (assemble.py has ptxas take what comes out.)"""
import json
import re
import struct

from lib import CORPUS, WORK, check, finish, rbwp
from machine import Machine

A, B = CORPUS / "fixture_a.ptx", CORPUS / "fixture_b.ptx"
BASE = Machine.BASE


def instrument(path, *options):
    """(text, map)"""
    rbwp("instrument", "-f", "-o", WORK / "out.ptx", "--map", WORK / "map.json", *options, path)
    return (WORK / "out.ptx").read_text(), json.loads((WORK / "map.json").read_text())


def pairs(path, *options):
    return [(p["id"], p["entry"], p["exit"], p["loc"]) for p in instrument(path, *options)[1]["probes"]]


def plans():
    """P1: pairs and lines of both fixtures by mode; numbers are those of the text's order."""
    lines_a = [(17, 17), (19, 22), (26, 26), (27, 27), (28, 28), (29, 29), (31, 32), (33, 33), (35, 36), (37, 37),
               (39, 39), (41, 41)]
    loc_a = [10, 11, 12, 12, 12, 12, 13, 13, 14, 14, 15, 15]
    check("A block", pairs(A, "--mode", "block"), [(i, *pair, loc_a[i]) for i, pair in enumerate(lines_a)])
    check("A block, file 2", pairs(A, "--mode", "block", "--file", 2), [(0, 24, 24, 40)])
    check("A entire", {p[1:] for p in pairs(A, "--mode", "entire")}, {(17, 41, -1)})
    check("A single", [p[1] for p in pairs(A, "--mode", "single")], [17, 19, 21, 26, 27, 28, 31, 32, 33, 35, 36, 39, 41])
    check("A single: no END behind a branch", [p["entry"] for p in instrument(A, "--mode", "single")[1]["probes"] if not p["end"]],
          [27, 28, 33])
    check("A cfg", [p[1:3] for p in pairs(A, "--mode", "cfg")], [(17, 27), (28, 28), (31, 33), (35, 36), (39, 43)])
    check("A config", pairs(A, "--mode", "config"), [])
    check("B block", pairs(B), [(0, 13, 13, 5), (1, 15, 15, 6), (2, 16, 18, 6), (3, 20, 21, 7)])
    check("B mma", [(p["entry"], p["class"]) for p in instrument(B, "--mode", "mma")[1]["probes"]], [(21, "mma")])
    many = instrument(CORPUS / "many.ptx", "--kernel", "waits", "--mode", "mma")[1]["probes"]
    check("many mma", [(p["entry"], p["exit"], p["class"]) for p in many],
          [(107, 109, "mma"), (111, 112, "tcgen05"), (114, 116, "cp.async"), (118, 119, "tma")])
    rbwp("instrument", "--loc-map", WORK / "loc.json", "-o", WORK / "x.ptx", B)
    check("loc_map.json", (WORK / "loc.json").read_text(), '{\n  "0": 5,\n  "1": 6,\n  "2": 6,\n  "3": 7\n}')
    # All kernels of a module: numbers go on, and each names its kernel.
    found = instrument(CORPUS / "nvcc_k.ptx", "--kernel", "*")[1]
    check("numbers go on", [p["id"] for p in found["probes"]], list(range(found["ids"])))
    check("kernels", sorted(found["kernels"].values()), ["empty", "gtres", "reduce", "spin", "transpose"])
    # A path in place of a number, and a path that no .file has.
    check("file by path", pairs(CORPUS / "triton_add.ptx", "--file", "triton_dump.py"), pairs(CORPUS / "triton_add.ptx"))
    check("no such file", "no .file in it is 'x.py'; it has none" in rbwp("instrument", "--file", "x.py", A, code=1)[1], True)
    for file in "x.py", "7":
        said = rbwp("instrument", "--file", file, CORPUS / "triton_matmul.ptx", code=1)[1]
        check(f"which files there are, {file}", f"no .file in it is '{file}'; it has 1 " in said, True)


# Three ends of the kernel, the last one on a line of its own, or not.
ENDS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
	.reg .pred %p<4>;
	.reg .b32 %r<4>;
	.loc 1 10 1
	ld.param.u32 %r1, [k_param_1];
	.loc 1 11 1
	setp.eq.s32 %p1, %r1, 0;
	@%p1 bra DONE;
	.loc 1 12 1
	setp.eq.s32 %p2, %r1, 1;
	@%p2 bra SECOND;
	.loc 1 13 1
	add.s32 %r2, %r1, 1;
	ret;
SECOND:
	.loc 1 14 1
	add.s32 %r2, %r1, 2;
	ret;
DONE:
	.loc 1 15 1
	add.s32 %r3, %r1, 3;
	ret;
}
"""


def ends():
    """Mode entire: one number, a START, and an END before each end of the kernel: every way through it is one record."""
    path = WORK / "ends.ptx"
    second = ENDS.replace("\t.loc 1 11 1\n", "").replace("@%p1 bra DONE;", "@!%p1 bra ON;\n\t.loc 1 11 1\n\tmov.u32 %r3, 0;\n\tret;\nON:")
    for text in ENDS, ENDS.replace("3;\n\tret", "3;\n\t.loc 1 16 1\n\tret"), second:
        path.write_text(text)
        for way in range(3):
            memory, _, map_json = run(["--mode", "entire", "--threads", "0", "--capacity", 4, "--cells", "compat"], way, path=path)
            check(f"way {way}", [cell[:2] for cell in cells(memory, map_json)], [(0, 0)])


def active():
    """P4: a list leaves out STARTs and ENDs, and renumbers nothing."""
    (WORK / "active.json").write_text('{"active_start": {"list": [7, 0]}, "active_end": {"list": [2, 7]}}')
    found = instrument(A, "--active", WORK / "active.json")[1]["probes"]
    check("active", [(p["id"], p["start"], p["end"]) for p in found], [(0, True, False), (2, False, True), (7, True, True)])
    (WORK / "none.json").write_text('{"active_start": {"list": []}, "active_end": {"list": []}}')
    check("none active", instrument(A, "--active", WORK / "none.json")[1]["probes"], [])
    for text in ["", "[]", "{}", '{"active_start": {"list": [1]}}', '{"active_start": {"list": [-1]}, "active_end": {"list": []}}']:
        (WORK / "bad.json").write_text(text)
        rbwp("instrument", "--active", WORK / "bad.json", A, code=1)


def binding():
    """P3: the third parameter from last, by name, one more, or none; and what is refused."""
    def loads(path, *options):
        return re.findall(r"ld\.(?:param|global)\.u64 %rbwp_d4, \[(\w+)\]", instrument(path, *options)[0])
    check("by index", loads(A, "--bind", "param"), ["k_param_2"])
    check("by name", loads(A, "--param", "k_param_4"), ["k_param_4"])
    check("appended", loads(A, "--bind", "append"), ["rbwp_ptx_buffer"])
    check("variable", loads(A), ["rbwp_ptx_buffer"])
    check("the signature", re.search(r"k_param_4\n,\n\t\.param \.u64 rbwp_ptx_buffer\n\)", instrument(A, "--bind", "append")[0]) is not None, True)

    def refused(reason, place, *options, path=A):
        errors = rbwp("instrument", *options, path, code=1)[1].split("\n")
        check(f"{options}", errors[0], f"{path}:{place}{reason}")
    nvcc = CORPUS / "nvcc_k.ptx"
    refused("the buffer is the third parameter from last, and of spin_param_<n> there are 2", "17:17: ", "--bind", "param", path=nvcc)
    refused("the buffer is the third parameter from last, and of empty_param_<n> there are 0", "67:17: ", "--bind", "param",
            "--kernel", "empty", path=nvcc)
    refused("this kernel has no parameter nothing", "4:17: ", "--param", "nothing")
    refused("the buffer's parameter has not 64 bits", "6:14: ", "--param", "k_param_1")
    refused(" no kernel 'x' in it", "", "--kernel", "x")
    refused(" so many threads and cells need more than 1 TiB", "", "--threads", "0-999999999999", "--capacity", "2000000000")
    (WORK / "unknown.ptx").write_text(A.read_text().replace("bar.sync", "leap.sync"))
    refused("unknown instruction 'leap.sync': where it goes on is not known", "35:2: ", path=WORK / "unknown.ptx")
    rbwp("instrument", "--unknown", WORK / "unknown.ptx")
    (WORK / "twice.ptx").write_text(instrument(A)[0])
    refused("this PTX has probes, or names like theirs", "4:32: ", path=WORK / "twice.ptx")
    (WORK / "many_params.ptx").write_text(".version 8.0\n.entry k(" + ",".join(f".param .u64 p{i}" for i in range(544)) + ")\n{\nret;\n}\n")
    refused("this kernel has no room for another parameter: 4352 of 4352 bytes are taken", "2:8: ", "--bind", "append", path=WORK / "many_params.ptx")
    full = ".param .u64 .ptr .global .align 128 a, .param .u8 b, .param .align 64 .b8 c[%d], .param .f32 d"
    for size, code in [(32684, 0), (32685, 1)]:
        (WORK / "full.ptx").write_text(".version 8.7\n.target sm_90\n.entry k(" + full % size + ")\n{\nret;\n}\n")
        rbwp("instrument", "--bind", "append", WORK / "full.ptx", code=code)
    (WORK / "narrow.ptx").write_text(A.read_text().replace("size 64", "size 32"))
    refused("probes need addresses of 64 bits", "3:15: ", path=WORK / "narrow.ptx")
    for options in [("--threads", "5-3"), ("--threads", "x"), ("--threads", "1-2/0"), ("--capacity", 0), ("--mode", "all")]:
        rbwp("instrument", *options, A, code=2)


EXPECTED_13 = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (6, 6), (7, 5), (6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (11, 11)]
EXPECTED_6 = [(0, 0), (1, 1), (2, 2), (3, 9), (10, 10), (11, 11)]
# Ends early above a limit.
EARLY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 k_param_0)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.loc 1 1 1
	ld.param.u32 %r1, [k_param_0];
	.loc 1 2 1
	setp.gt.u32 %p1, %r1, 5;
	.loc 1 3 1
	@%p1 ret;
	.loc 1 4 1
	add.s32 %r2, %r1, 1;
	ret;
}
.file 1 "early.py"
"""
GUARD = b"\xa5" * 64


def run(options, loops, threads=1, buffer=True, memory_bytes=None, path=A, **clock):
    """Runs fixture A, or another; (memory without the guard behind it, the machine, the map)."""
    text, map_json = instrument(path, *options)
    size = map_json["buffer_bytes"] if memory_bytes is None else memory_bytes
    result = bytearray(256)
    memory = bytearray(size) + bytearray(GUARD) + result
    machine = Machine(text, memory, {"rbwp_ptx_buffer": BASE if buffer else 0, "rbwp_ptx_dropped": 0},
                      {"k_param_0": BASE + size + 64, "k_param_1": loops}, **clock)
    for thread in range(threads):
        machine.thread(ntid_x=threads, tid_x=thread)
    check(f"guard intact: {options}", bytes(memory[size:size + 64]), GUARD)
    return memory[:size], machine, map_json


def cells(memory, map_json, lane=0):
    """The records of a lane of compat cells."""
    found = []
    for slot in range(map_json["capacity"]):
        words = struct.unpack_from("<4I", memory, (slot * map_json["lanes"] + lane) * 16)
        if any(words):
            found.append((words[1] >> 16, words[3] >> 16, words[0] | (words[1] & 0xFFFF) << 32, words[2] | (words[3] & 0xFFFF) << 32))
    return found


def records():
    """The records of both runs of the fixture, edges of taken branches among them; each thread in its lane."""
    memory, machine, map_json = run(["--threads", "0-3", "--capacity", 16], 2, threads=4)
    for lane in range(4):
        check("13 records", [cell[:2] for cell in cells(memory, map_json, lane)], EXPECTED_13)
    check("nothing dropped", machine.variables["rbwp_ptx_dropped"], 0)
    memory, _, map_json = run(["--threads", "0-3", "--capacity", 16], 0)
    check("6 records", [cell[:2] for cell in cells(memory, map_json)], EXPECTED_6)
    check("times go on", all(c[2] < c[3] for c in cells(memory, map_json)), True)
    # Only every second thread of a set, and a set of two parts.
    memory, _, map_json = run(["--threads", "1-5/2,7", "--capacity", 16], 0, threads=8)
    check("lanes of a set", (map_json["lanes"], [len(cells(memory, map_json, lane)) for lane in range(4)]), (4, [6] * 4))
    memory, _, map_json = run(["--threads", "100-103", "--capacity", 16], 0, threads=8)
    check("no thread of the set", any(memory), False)
    memory, machine, _ = run(["--capacity", 2], 2, buffer=False)
    check("no buffer: nothing is stored, nothing counted", (any(memory), machine.variables["rbwp_ptx_dropped"]), (False, 0))


def early_records(path, limit, kind, capacity):
    """Records of thread 1 of 3, and how many were dropped."""
    text, map_json = instrument(path, "--mode", "block", "--threads", "1", "--capacity", capacity, "--cells", kind)
    memory = bytearray(map_json["buffer_bytes"])
    machine = Machine(text, memory, {"rbwp_ptx_buffer": BASE, "rbwp_ptx_dropped": 0}, {"k_param_0": limit})
    for thread in range(3):
        machine.thread(ntid_x=3, tid_x=thread)
    size, first = (32, 64) if kind == "wide" else (16, 0)
    stored = sum(any(memory[first + slot * size:first + slot * size + 16]) for slot in range(capacity))
    return stored, machine.variables["rbwp_ptx_dropped"] + (struct.unpack_from("<I", memory, 56)[0] if kind == "wide" else 0)


def full():
    """P6: what finds no room is counted and not stored, in either kind of cells."""
    memory, machine, map_json = run(["--threads", "0", "--capacity", 2], 2)
    check("2 rows", [cell[:2] for cell in cells(memory, map_json)], EXPECTED_13[:2])
    check("11 dropped", machine.variables["rbwp_ptx_dropped"], 11)
    # Written where the kernel may end, once, whether it ends there or not; and by threads of the set alone.
    early = WORK / "early.ptx"
    early.write_text(EARLY)
    for limit in (0, 9):
        for kind in ("compat", "wide"):
            fired, dropped = [early_records(early, limit, kind, capacity) for capacity in (16, 1)]
            check(f"{kind}, {limit}: all but one", (fired[1], dropped, fired[0] > 1), (0, (1, fired[0] - 1), True))
    memory, _, map_json = run(["--threads", "0-1", "--capacity", 2, "--cells", "wide"], 2, threads=2)
    for lane in range(2):
        at = 32 + lane * 96
        check("wide: 11 dropped", struct.unpack_from("<I", memory, at + 24)[0], 11)
        stamps = [struct.unpack_from("<2Q", memory, at + 32 + 32 * cell) for cell in range(2)]
        check("wide: 2 cells", [tuple(stamp >> 32 & 0xFFFFF for stamp in cell) for cell in stamps], EXPECTED_13[:2])
    check("wide: magic and hash", struct.unpack_from("<8sQ", memory), (b"RBWPPTX1", int(map_json["hash"], 16)))


WAYS = """.version 8.0
.target sm_80
.address_size 64
.entry w(.param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<4>;
	.loc 1 1 0
	ld.param.u32 %r1, [n];
	.loc 1 2 0
	setp.eq.u32 %p1, %r1, 1;
	mov.u32 %r2, 0;
	.loc 1 3 0
	@%p1 ret;
	.loc 1 4 0
	setp.eq.u32 %p2, %r1, 2;
	.loc 1 5 0
	add.u32 %r2, %r2, 1; @!%p2 ret;
	.loc 1 6 0
	add.u32 %r2, %r2, 1;
	.loc 1 7 0
	exit;
}
"""


def ways_out():
    """What found no room is counted on each way out of a kernel, once, whichever guard that has."""
    (WORK / "ways.ptx").write_text(WAYS)

    def fired(way, capacity, cells):
        """(records, dropped) of one thread."""
        text, map_json = instrument(WORK / "ways.ptx", "--threads", "0", "--capacity", capacity, "--cells", cells)
        memory = bytearray(map_json["buffer_bytes"])
        machine = Machine(text, memory, {"rbwp_ptx_buffer": BASE, "rbwp_ptx_dropped": 0}, {"n": way})
        for thread in range(2):
            machine.thread(ntid_x=2, tid_x=thread)
        if cells == "compat":
            return sum(any(memory[at:at + 16]) for at in range(0, len(memory), 16)), machine.variables["rbwp_ptx_dropped"]
        return (sum(any(memory[at:at + 32]) for at in range(64, len(memory), 32)),
                struct.unpack_from("<I", memory, 32 + 24)[0])
    found = [fired(way, 16, "compat") for way in (1, 3, 2)]
    check("each way has more records", found[0] < found[1] < found[2], True)
    for way, (count, none) in zip((1, 3, 2), found):
        check(f"way {way}: there is room", none, 0)
        for cells_ in ("compat", "wide"):
            check(f"way {way}, {cells_}", fired(way, 1, cells_), (1, count - 1))


def clock():
    """P15: the low word of the clock wraps in the middle; no record is 2^32 cycles off."""
    for begin in range(0x1FFFFFF00, 0x1FFFFFFFF, 24):
        for kind in ["compat", "wide"]:
            memory, _, map_json = run(["--threads", "0", "--capacity", 16, "--cells", kind], 2, clock=begin, step=13)
            if kind == "compat":
                times = [cell[2:] for cell in cells(memory, map_json)]
            else:
                stamps = [struct.unpack_from("<2Q", memory, 64 + 32 * cell) for cell in range(13)]
                times = [tuple(s & 0xFFFFFFFF | s >> 52 << 32 for s in cell) for cell in stamps]
            flat = [time for pair in times for time in pair]
            check(f"wrap at {begin:x}, {kind}", flat == sorted(flat) and flat[-1] - flat[0] < 4000 and len(flat) == 26, True)


def others():
    """Modes whose records are not by line: basic blocks follow each other, one span of all, warps."""
    ids = lambda memory, map_json: [cell[:2] for cell in cells(memory, map_json)]
    compat = ["--threads", "0", "--capacity", 32, "--cells", "compat"]
    memory, _, map_json = run([*compat, "--mode", "cfg"], 2)
    check("cfg", ids(memory, map_json), [(0, 0), (1, 1), (2, 2), (2, 2), (3, 3), (4, 4)])
    memory, _, map_json = run([*compat, "--mode", "entire"], 2)
    check("entire", ids(memory, map_json), [(0, 0)])
    memory, _, map_json = run([*compat, "--mode", "single"], 0)
    check("single", ids(memory, map_json), [(0, 0), (1, 1), (2, 2), (3, 3), (11, 11), (12, 12)])
    memory, _, map_json = run(["--mode", "warp", "--threads", "0-1", "--capacity", 16], 0, threads=64)
    check("warp: two lanes of 64 threads", map_json["lanes"], 2)
    for lane in range(2):
        head = struct.unpack_from("<QQIIII", memory, 32 + lane * 17 * 32)
        check("warp: its first thread", head[2:5], (0, 32 * lane, 0))
        check("warp: an empty pair was timed", head[5], 1)
    text, map_json = instrument(A, "--mode", "config")
    check("config's buffer", map_json["buffer_bytes"], 56)
    memory = bytearray(56) + bytearray(8)
    machine = Machine(text, memory, {"rbwp_ptx_buffer": BASE}, {"k_param_0": BASE + 56, "k_param_1": 0})
    for thread in range(4):
        machine.thread(ntid_x=2, ntid_y=3, nctaid_x=5, nctaid_z=7, tid_x=thread % 2, tid_y=thread // 2)
    check("config", struct.unpack_from("<7Q", memory), (2, 3, 1, 5, 1, 7, 210))


plans()
ends()
active()
binding()
records()
full()
ways_out()
clock()
others()
finish()
