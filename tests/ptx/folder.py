#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A folder that launches left becomes a profile: rows of kernel_block with the lines and times that are true by
construction, inside the work of the GPU that they are of; and folders of strangers, of which the rest is read."""
import json
import os
import shutil
import struct
import subprocess

from lib import CORPUS, RBWP, WORK, check, failures, finish, rbwp
from machine import Machine

A = CORPUS / "fixture_a.ptx"
FOLDER, OUT, SOURCE = WORK / "folder", WORK / "made.bin", WORK / "source.py"
WALL = 1_700_000_000_000_000_000  # of monotonic 0
DEVICE = 40_000_000_000  # the globaltimer then
CLOCK = json.dumps({"clock": 1, "pid": 12, "monotonic_ns": 5000, "wall_ns": WALL + 5000, "command": "python3 of/t.py", "host": "h", "title": "python3"})


class Gpu(Machine):
    """globaltimer runs with the clock, at ns a cycle, from `timer` on. off: by how much a reading of a thread, counted from 0, is off."""
    def __init__(self, *words, timer, ns=0.5, off={}, **more):
        super().__init__(*words, **more)
        self.timer, self.ns, self.zero, self.off, self.readings = timer, ns, self.clock, off, 0

    def step_one(self, at):
        self.clock += 4 + self.specials.get("%smid", 0) % 2
        return super().step_one(at)

    def special(self, name):
        if name == "%globaltimer":
            self.readings += 1
            return int(self.timer + (self.clock - self.zero) * self.ns) + self.off.get(self.readings - 1, 0)
        return super().special(name)


def instrument(name, *options):
    """The map in the folder, under the name that the stand-in gives it; what it says, and the text."""
    text = WORK / "with_file.ptx"
    text.write_text(A.read_text() + f'\n.file 1 "{SOURCE}"\n')
    rbwp("instrument", "-f", "-o", WORK / f"{name}.ptx", "--map", WORK / "map.json", *options, text)
    map_json = json.loads((WORK / "map.json").read_text())
    path = f"{map_json['hash']}.map.json"
    (FOLDER / path).write_text((WORK / "map.json").read_text())
    return map_json, path, (WORK / f"{name}.ptx").read_text()


def run(map_json, text, host_ns, loops=2, clock=1000, ns=0.5, specials=(), off={}):
    """A launch of one block of 64 threads; the buffer."""
    memory = bytearray(map_json["buffer_bytes"]) + bytearray(256)
    gpu = Gpu(text, memory, {"rbwp_ptx_buffer": Machine.BASE, "rbwp_ptx_dropped": 0},
              {"k_param_0": Machine.BASE + map_json["buffer_bytes"], "k_param_1": loops}, clock=clock, step=10,
              timer=DEVICE + host_ns, ns=ns, off=off)
    for thread in range(64):
        gpu.clock, gpu.readings = clock, 0
        gpu.thread(ntid_x=64, tid_x=thread, smid=3 + thread // 32, warpid=thread // 32, **dict(specials))
    return bytes(memory[:map_json["buffer_bytes"]])


def line(number, path, at, **more):
    """Launched at `at`, waited for until 10000 ns later."""
    return {"raw": f"12-{number}.raw", "map": path, "kernel": "k", "pid": 12, "tid": 21, "thread": "main", "device": 2, "stream": 7,
            "grid": [1, 1, 1], "block": [64, 1, 1], "launch_ns": at, "launched_ns": at + 1000, "done_ns": at + 10000,
            "anchors": [{"device_ns": DEVICE + t, "host_ns": t, "bound_ns": 20} for t in (at - 5000, at + 15000)], **more}


def write(lines, pid=12):
    (FOLDER / f"launches-{pid}.ndjson").write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines) + "\n")


def decode(code=0):
    OUT.unlink(missing_ok=True)
    errors = rbwp("decode", "--rbwp", OUT, FOLDER, code=code)[1]
    return errors


def command(*words):
    done = subprocess.run([RBWP, *map(str, words)], capture_output=True, timeout=60, text=True)
    if done.returncode:
        failures.append(str(words))
        print(f"FAILED: {words}: {done.stderr}")
    return done.stdout


def rows(table, *options):
    text = command("tables", "--table", table, "--as", "ndjson", *options, OUT)
    return [json.loads(row) for row in text.splitlines()]


def fresh():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()


def wide_cells(raw, map_json, lane):
    """start id, end id, start, end of a lane's records."""
    at = 32 + lane * 32 * (map_json["capacity"] + 1)
    for row in range(map_json["capacity"]):
        start, end = struct.unpack_from("<QQ", raw, at + 32 * (row + 1))
        if start:
            clock = lambda stamp: stamp & 0xFFFFFFFF | stamp >> 52 << 32
            yield (start >> 32 & 0xFFFFF, end >> 32 & 0xFFFFF, clock(start), clock(end))


def wide():
    """Two warps, two launches: each record is a row, at the time when it was, within its bound; in the kernel."""
    fresh()
    map_json, path, text = instrument("wide", "--mode", "warp", "--threads", "0-1", "--capacity", 16)
    raws, starts = [], [100_000_000, 100_500_000]
    for number, at in enumerate(starts):
        raws.append(run(map_json, text, at + 3000, loops=2 * (1 - number)))
        (FOLDER / f"12-{number}.raw").write_bytes(raws[-1])
    write([CLOCK] + [line(number, path, at) for number, at in enumerate(starts)])
    decode()
    works, made = rows("gpu_activity"), rows("kernel_block")
    check("works", [[w[n] for n in ("processor", "stream", "thread", "name", "correlation")] for w in works],
          [[(1 << 32) + 2, 7, 21, "k", i] for i in (1, 2)])
    check("launched", [[w["begin"] - WALL, w["end"] - WALL] for w in works], [[at, at + 1000] for at in starts])
    check("its start", [0 <= w["start"] - WALL - at - 3000 < 200 for w, at in zip(works, starts)], [True, True])
    for number, (raw, at) in enumerate(zip(raws, starts)):
        for lane in range(2):
            mine = [row for row in made if row["launch"] == number + 1 and row["thread"] == 32 * lane]
            cells = list(wide_cells(raw, map_json, lane))
            cost = min(struct.unpack_from("<I", raw, 32 + 28 + 32 * n * (map_json["capacity"] + 1))[0] for n in range(2))
            check(f"records {number} {lane}", [(row["first"], row["last"], row["cycles"]) for row in mine],
                  [(a, b, max(end - start - cost, 0)) for a, b, start, end in cells])
            check("some", len(cells) >= 6 and any(row["cycles"] for row in mine), True)
            check("places", {(r["sm"], r["warp"], r["block"], r["cost"], r["kernel"]) for r in mine}, {(3 + lane, lane, 0, cost, "k")})
            for row, (_, _, start, end) in zip(mine, cells):
                true = [at + 3000 + (clock - 1000) * 0.5 for clock in (start, end)]
                error = max(abs(row["start"] - WALL - true[0]), abs(row["stop"] - WALL - true[1]))
                if not (error <= row["bound"] <= 60 and works[number]["start"] <= row["start"] <= row["stop"] <= works[number]["stop"]):
                    check("a record's time", (row, true), "within its bound, in the kernel")
    check("lines", {(row["place"], row["line"], row["file"]) for row in made if row["line"] < 40},
          {(f"source.py:{n}", n, str(SOURCE)) for n in (10, 11, 12, 13, 14, 15)})
    check("a file without a name", {row["place"] for row in made if row["line"] == 40}, {"file 2:40"})
    check("the file is sound", command("check", OUT).count("problem"), 0)
    info = json.loads(command("info", "--json", OUT))
    check("whose it is", (info["session"]["command"], info["session"]["host"], [t["name"] for t in info["threads"]]), (["python3 of/t.py"], "h", ["main"]))
    check("what it is called", {span["process"] for span in map(json.loads, command("export", "--to=ndjson", OUT).splitlines())}, {"python3 12"})
    return map_json, path, raws[0]



def timer():
    """A timer that is off: the line through a lane's head is moved to where it is as much too early as too late, and that is the bound."""
    fresh()
    map_json, path, text = instrument("timer", "--mode", "warp", "--threads", "0-1", "--capacity", 16)
    at = 100_000_000
    for off in {}, {3: 300}, {3: 300, 4: -101}, {2: -50, 5: -102}, {4: 7, 5: 8, 6: 4}, {0: 400}, {0: -401}:
        raw = run(map_json, text, at + 3000, ns=1, off=off)
        (FOLDER / "12-0.raw").write_bytes(raw)
        write([CLOCK, line(0, path, at, clock_hz=1_000_000_000)])
        decode()
        for lane in range(2):
            head = 32 + lane * 32 * (map_json["capacity"] + 1)
            first, clock = struct.unpack_from("<QQ", raw, head)
            cells = list(wide_cells(raw, map_json, lane))
            errors = [0] + [struct.unpack_from("<Q", raw, head + 32 * (n + 1) + 16)[0] - first - (cell[3] - clock) for n, cell in enumerate(cells)]
            shift, bound = min(errors) + (max(errors) - min(errors)) // 2, (max(errors) - min(errors) + 1) // 2
            check(f"times with {off}", [(row["start"], row["bound"]) for row in rows("kernel_block") if row["thread"] == 32 * lane],
                  [(WALL + first - DEVICE + cell[2] - clock + shift, bound + 20) for cell in cells])


def model(map_json):
    """By source line and by edge, as this reader adds them up; the blocks lie below their GPU and make it no busier; every
    exporter takes them."""
    made, lanes = rows("kernel_block"), {}
    for row in made:
        lanes.setdefault((row["launch"], row["thread"]), []).append(row)
    (sums,) = json.loads(command("stats", "--json", "--by", "kernel", OUT))["kernel_lines"]
    check("kernel", [sums[n] for n in ("kernel", "launches", "lanes", "records", "cycles")],
          ["k", 2, len(lanes), len(made), sum(row["cycles"] for row in made)])
    check("the lanes' time", (sums["recorded_ns"], sums["between_ns"]),
          (sum(row["stop"] - row["start"] for row in made),
           sum(after["start"] - before["stop"] for lane in lanes.values() for before, after in zip(lane, lane[1:]))))
    lines = {}
    for row in made:
        lines.setdefault(row["place"], []).append(row)
    median = lambda cycles: sorted(cycles)[(len(cycles) - 1) // 2]
    check("by line", {line["place"]: [line[n] for n in ("file", "line", "count", "cycles", "p50", "max")] for line in sums["lines"]},
          {place: [mine[0]["file"] or "", mine[0]["line"], len(mine), sum(r["cycles"] for r in mine), median([r["cycles"] for r in mine]),
                   max(r["cycles"] for r in mine)] for place, mine in lines.items()})
    def spread(mine):
        total = 0
        for launch in (1, 2):
            lane = [sum(r["cycles"] for r in mine if (r["launch"], r["thread"]) == key) for key in
                    sorted({(r["launch"], r["thread"]) for r in mine if r["launch"] == launch})]
            if lane and max(lane):
                total += (1 - min(lane) / max(lane)) * sum(lane)
        return total / (sum(r["cycles"] for r in mine) or 1)
    check("spread", [abs(line["spread"] - spread(lines[line["place"]])) < 1e-5 for line in sums["lines"]], [True] * len(lines))
    edges = {}
    for lane in lanes.values():
        for before, row in zip([None] + lane, lane):
            for edge in [(row["first"], row["last"])] * (row["first"] != row["last"]) + ([(before["last"], row["first"])] if before else []):
                edges[edge] = edges.get(edge, 0) + 1
    check("edges", {(e["from"], e["to"]): e["count"] for e in sums["edges"]}, edges)
    check("probes", {p["probe"]: (p["place"], p["count"], p["cycles"]) for p in sums["probes"]},
          {r["first"]: (r["place"], sum(x["first"] == r["first"] for x in made),
                        sum(x["cycles"] for x in made if x["first"] == r["first"])) for r in made})
    all_of_it = json.loads(command("stats", "--json", OUT))
    busy = sum(work["stop"] - work["start"] for work in rows("gpu_activity"))
    check("busy once", [gpu["busy"] for gpu in all_of_it["gpus"]], [busy])
    (inside,) = all_of_it["inside_kernels"]
    check("inside", (inside["kernel"], inside["launches"], inside["groups"][0]["group"], inside["groups"][0]["spans"]), ("k", 2, "blocks", len(made)))
    # The same sums in a terminal, straight from the folder; quantiles are exact there.
    text = rbwp("annotate", FOLDER)[0].decode().splitlines()
    check("annotate", text[0], f"kernel k: {sums['cycles']} cycles in all lanes of 2 launches")
    check("annotate's last", text[-1].startswith(f"{len(lanes)} lanes, "), True)
    shown = [line.replace("#", "").split() for line in text[2:-1] if "%" in line]
    check("annotate's lines", sorted((int(fields[5]), int(fields[1])) for fields in shown),
          sorted((line, sum(r["line"] == line for r in made)) for line in {r["line"] for r in made}))
    rbwp("annotate", WORK / "nowhere", code=2)
    text = command("stats", "--by", "kernel", OUT).split("Lines in kernels")[1].splitlines()
    shown = 100 * sums["between_ns"] / (sums["recorded_ns"] + sums["between_ns"])
    check("text", (text[2], text[3].split()[-1]), (f"  k: 2 launches, {len(lanes)} lanes, {sums['cycles']} cycles, {shown:.1f}% of the time between records",
                                                   max(sums["lines"], key=lambda line: line["cycles"])["place"]))
    tree = json.loads(command("export", "--to", "speedscope", OUT))
    check("tracks", sorted(p["name"] for p in tree["profiles"] if "warp" in p["name"]).__len__(), 2)
    for to in ("chrome", "csv", "folded", "perfetto", "firefox"):
        check(f"export to {to}", len(subprocess.run([RBWP, "export", "--to", to, OUT], capture_output=True).stdout) > 400, True)
    chrome = json.loads(command("export", "--to", "chrome", OUT))["traceEvents"]
    events = [e for e in chrome if e.get("name") in lines and e["ph"] == "X"]
    check("Chrome's", sorted((e["name"], e["args"]["first"], e["args"]["kernel"]) for e in events),
          sorted((r["place"], r["first"], "k") for r in made))


def compat():
    """Cells without a timer: in order and as long as the clock says, somewhere in the kernel, and the bound says where."""
    fresh()
    map_json, path, text = instrument("compat", "--mode", "block", "--threads", "33,2", "--capacity", 16)
    at = 200_000_000
    (FOLDER / "12-0.raw").write_bytes(run(map_json, text, at + 3000) + struct.pack("<QQ", 3, int(map_json["hash"], 16)))
    device = {"start_ns": DEVICE + at + 3000, "stop_ns": DEVICE + at + 5000}
    write([CLOCK, line(0, path, at, clock_hz=2_000_000_000, device_name="H200", sms=132, **device)])
    check("losses", "3 records found no room" in decode(), True)
    work, made = rows("gpu_activity")[0], rows("kernel_block")
    check("its times", (work["start"], work["stop"]), (WALL + at + 3000, WALL + at + 5000))
    check("lanes", sorted({(r["block"], r["thread"], r["warp"], r["sm"]) for r in made}), [(0, t, (1 << 64) - 1, (1 << 64) - 1) for t in (2, 33)])
    mine = [row for row in made if row["thread"] == 33]
    lasted = mine[-1]["stop"] - mine[0]["start"]
    check("bound", all(row["bound"] == 20 + 2000 - lasted for row in mine) and 100 < lasted < 1000, True)
    check("in order", [row["start"] for row in mine] == sorted(row["start"] for row in mine) and mine[0]["start"] == WALL + at + 3000, True)
    check("the GPU", rows("gpu_device"), [{"row": 1, "processor": (1 << 32) + 2, "name": "H200", "multiprocessors": 132}])
    # The clock is slower than was said: no lane takes longer than its kernel.
    write([CLOCK, line(0, path, at, clock_hz=1000, **device)])
    decode()
    check("in the kernel", {WALL + at + 3000 <= r["start"] <= r["stop"] <= WALL + at + 5000 for r in rows("kernel_block")}, {True})


def anchors(path, raw):
    """Without them, or where they contradict the launch, the kernel is in its launch, and the bound is as long."""
    at = 100_000_000
    for what in [[], [{"device_ns": DEVICE, "host_ns": 5_000_000, "bound_ns": 9}], [{"device_ns": 1 << 61, "host_ns": (1 << 62) - 1, "bound_ns": 0}]]:
        fresh()
        (FOLDER / path).write_text((WORK / "map.json").read_text())
        (FOLDER / "12-0.raw").write_bytes(raw)
        write([CLOCK, line(0, path, at, anchors=what)])
        decode()
        work = rows("gpu_activity")[0]
        check(f"launch {what}", WALL + at <= work["start"] < work["stop"] <= WALL + at + 10000 and work["start_bound"] > 8000, True)
    # A little before the launch: the launch is believed, and the bound is what they are off.
    write([CLOCK, line(0, path, at, anchors=[{"device_ns": DEVICE + at, "host_ns": at - 5000, "bound_ns": 9}])])
    decode()
    work = rows("gpu_activity")[0]
    check("early", (work["start"] - WALL - at, 1500 < work["start_bound"] < 2100), (0, True))
    # Clocks that run apart: between two anchors the truth is between them.
    write([CLOCK, line(0, path, at, anchors=[{"device_ns": DEVICE + at + t, "host_ns": at + t + drift, "bound_ns": 5}
                                             for t, drift in ((-1_000_000, 0), (1_003_000, 100))])])
    decode()
    check("drift", abs(rows("gpu_activity")[0]["start"] - WALL - at - 3000 - 50) < 150 and rows("gpu_activity")[0]["start_bound"] == 5, True)


def second_pass():
    """The list of all launches with a map, as sanitize has it of their records side by side: what any launch needs stays, what
    lost records keeps dead probes; rbwp-ptxas takes it, and the second run's map has those probes alone."""
    fresh()
    map_json, path, text = instrument("pass", "--mode", "cfg", "--kernel", "k", "--threads", "0", "--capacity", 64)
    at = 300_000_000
    def lists(*loops):
        for number, loop in enumerate(loops):
            (FOLDER / f"12-{number}.raw").write_bytes(run(map_json, text, at, loops=loop))
        write([CLOCK] + [line(number, path, at) for number in range(len(loops))])
        rbwp("sanitize", "--dir", WORK / "active", FOLDER)
        made = json.loads((WORK / "active" / f"{map_json['hash']}.active.json").read_text())
        return made["active_start"]["list"], made["active_end"]["list"]
    def expected(*loops):
        cells = [list(wide_cells(run(map_json, text, at, loops=loop), map_json, 0)) for loop in loops]
        rows = [[n for lane in cells for n in ((lane[r][0], lane[r][1], lane[r][2], lane[r][3]) if r < len(lane) else (0,) * 4)]
                for r in range(max(map(len, cells)))]
        (WORK / "side.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
        (WORK / "locs.json").write_text(json.dumps({str(p["id"]): p["loc"] for p in map_json["probes"]}))
        made = json.loads(rbwp("sanitize", "--loc-map", WORK / "locs.json", WORK / "side.csv")[0])
        return made["active_start"]["list"], made["active_end"]["list"]
    check("one launch", lists(0), expected(0))
    check("both ways", lists(0, 2), expected(0, 2))
    check("more is needed", set(lists(0)[0]) < set(lists(0, 2)[0]), True)
    rbwp("sanitize", "--dir", WORK / "all", "--keep-dead", "--keep-neighbours", FOLDER)
    made = json.loads((WORK / "all" / f"{map_json['hash']}.active.json").read_text())
    check("nothing is left out", made["active_start"]["list"], sorted(probe["id"] for probe in map_json["probes"]))
    lossy = bytearray(run(map_json, text, at, loops=0))
    lossy[32 + 24] = 1
    wanted = lists(0)
    (FOLDER / "12-0.raw").write_bytes(lossy)
    rbwp("sanitize", FOLDER)
    made = json.loads((FOLDER / f"{map_json['hash']}.active.json").read_text())["active_start"]["list"]
    check("losses keep dead probes", set(made) > set(wanted[0]), True)
    # The stand-in: its ptxas takes anything.
    lists(0)
    fake = WORK / "ptxas"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    environment = {**os.environ, "RBWP_PTXAS": str(fake), "RBWP_PTX_DIR": str(WORK / "maps"), "RBWP_PTX_ACTIVE": str(WORK / "active"),
                   "RBWP_PTX_OPTIONS": "--mode cfg --kernel k --threads 0 --capacity 64"}
    stand_in = os.path.join(os.path.dirname(RBWP), "rbwp-ptxas")
    done = subprocess.run([stand_in, "--gpu-name=sm_90a", WORK / "with_file.ptx", "-o", WORK / "x"], env=environment, capture_output=True, text=True)
    check("stand-in", (done.returncode, done.stderr), (0, ""))
    (kept,) = [json.loads(path.read_text()) for path in (WORK / "maps").glob("*.map.json")]
    check("its probes", (sorted(p["id"] for p in kept["probes"] if p["start"]), sorted(p["id"] for p in kept["probes"] if p["end"]),
                         kept["hash"] == map_json["hash"]), (wanted[0], wanted[1], False))
    for name in FOLDER.glob("*.raw"):
        name.unlink()
    check("nothing to go by", "no launch with records is in it" in rbwp("sanitize", FOLDER, code=1)[1], True)


def hostile(map_json, path, raw):
    """What does not fit is refused by name and hash; the launch and all others are there; the exit status is 3."""
    at, hash_text, maps = 100_000_000, map_json["hash"], (FOLDER / path).read_text()
    good = line(0, path, at)
    def attempt(what, wanted, lines, blocks, works, code=3):
        write([CLOCK] + lines)
        errors = decode(code)
        check(f"{what}: {errors}", wanted in errors, True)
        if code != 1:
            check(f"{what}: rows", (len(rows("kernel_block")), len(rows("gpu_activity"))), (blocks, works))
    (FOLDER / "12-0.raw").write_bytes(raw)
    (FOLDER / "12-1.raw").write_bytes(raw[:-1])
    (FOLDER / "12-2.raw").write_bytes(raw[:8] + bytes(8) + raw[16:])
    count = len(list(wide_cells(raw, map_json, 0))) * 2
    attempt("cut", f"12-1.raw: it has {len(raw) - 1} bytes, and the probes of kernel 'k' (hash {hash_text}) write", [good, line(1, path, at)], count, 2)
    attempt("foreign", f"12-2.raw: it has the hash {0:016x}, and the probes of kernel 'k' have {hash_text}", [line(2, path, at), good], count, 2)
    attempt("missing", "12-9.raw: No such file", [line(9, path, at), good], count, 2)
    attempt("no map", "nothing.map.json: No such file", [line(0, "nothing.map.json", at), good], count, 2)
    attempt("outside", "'../12-0.raw', which is no file of this folder", [{**good, "raw": "../12-0.raw"}, good], count, 2)
    attempt("hidden", "'.', which is no file", [{**good, "map": "."}, good], count, 2)
    os.mkfifo(FOLDER / "12-3.raw")
    attempt("a pipe", "12-3.raw: no plain file", [line(3, path, at), good], count, 2)
    attempt("no times", "ended before it began, or without times", [{**good, "done_ns": at - 1}, good], count, 1)
    attempt("a cut line", "line 3: an anchor is cut", [good, json.dumps(good)[:-9]], count, 1)
    attempt("no launch", "launches-12.ndjson: line 3: no launch", [good, "[1]", good], 2 * count, 2)
    attempt("many of them", "line 101: no launch", [good] + ["7"] * 200 + [good], count, 1)
    attempt("no JSON", "line 3: a name without its value", [good, '{"raw" 5', good], 2 * count, 2)
    attempt("absurd", "a number is out of range", [{**good, "done_ns": 1 << 63}, {**good, "stream": (1 << 64) - 1}, {**good, "tid": 1 << 64}, {**good, "tid": -1}], count, 1)
    attempt("absurd sizes", "a number is out of range", [good, {**good, "block": [0, 1, 1]}], count, 1)
    attempt("nothing good", "no launch is in it", [{**good, "done_ns": 0}], 0, 0, code=1)
    check("no file", OUT.exists(), False)
    for wrong in [("capacity", 0), ("lanes", 1 << 40), ("buffer_bytes", 5), ("threads", [[5, 4, 1]]), ("threads", [[0, 1, 0]]), ("hash", "0")]:
        (FOLDER / "bad.map.json").write_text(json.dumps({**json.loads(maps), wrong[0]: wrong[1]}))
        attempt(f"map {wrong}", "12-0.raw" if wrong[0] in ("capacity", "lanes", "buffer_bytes") else "bad.map.json", [line(0, "bad.map.json", at), good], count, 2)
    # Clocks and timers of nobody: they stay in their launch.
    wild = bytearray(raw)
    for offset in range(32, len(wild), 8):
        if offset % 32 not in (16, 24) or offset % (32 * (map_json["capacity"] + 1)) != 32:
            struct.pack_into("<Q", wild, offset, (0xFFFFFFFFFFFFFFFF if offset % 64 else 0x7FFFFFFFFFFFFFFF) & 0xFFF00000FFFFFFFF | offset)
    (FOLDER / "12-4.raw").write_bytes(wild)
    write([CLOCK, line(4, path, at)])
    decode()
    check("wild", {WALL + at <= r["start"] <= r["stop"] <= WALL + at + 10000 for r in rows("kernel_block")}, {True})
    # Launches that were not recorded are counted; a folder without any is none.
    write([CLOCK, good, {"pid": 12, "kernel": "k", "skipped": "limit", "count": 5}, {"kernel": "k", "skipped": "capture"}])
    check("skipped", "6 launches were not recorded" in decode(), True)
    decode()
    OUT.rename(WORK / "one.bin")
    write([CLOCK, {**good, "tid": 99, "pid": 13}], pid=13)
    decode()
    both = json.loads(command("stats", "--json", "--by", "kernel", OUT, WORK / "one.bin"))["kernel_lines"][0]
    check("files with the same launch ids", (both["launches"], both["lanes"]), (3, 6))
    check("two processes", [w["thread"] for w in rows("gpu_activity")], [21, 99])
    for name in FOLDER.glob("launches*"):
        name.unlink()
    check("nothing", "nothing was recorded" in decode(1), True)
    check("no folder", "No such file" in rbwp("decode", "--rbwp", OUT, WORK / "nowhere", code=1)[1], True)
    check("no output", "cannot go to standard output" in rbwp("decode", "--rbwp", "-", FOLDER, code=2)[1], True)
    OUT.write_text("mine")
    check("in the way", "exists" in rbwp("decode", "--rbwp", OUT, FOLDER, code=1)[1], True)


map_json, path, raw = wide()
model(map_json)
hostile(map_json, path, raw)
compat()
timer()
second_pass()
map_json, path, raw = wide()
anchors(path, raw)
finish()
