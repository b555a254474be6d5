# SPDX-License-Identifier: Apache-2.0
# info counts what the dump shows; the trailer's facts (threads, losses, clock, session, reused
# slots) and opaque blocks come through info, dump, names and filters. What happened to the clocks meanwhile is told: the wall clock
# was set, the machine slept, the counter was set back, the system does not trust it.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$MAKE_EXTENDED" "$work" <<'P' || fail "info"
import collections, csv, glob, json, subprocess, sys

rbwp, golden, make_extended, work = sys.argv[1:]


def run(*args, code=0, **more):
    done = subprocess.run([rbwp, *args], capture_output=True, **more)
    assert done.returncode == code, (args, done)
    return done.stdout.decode()


for path in sorted(glob.glob(f"{golden}/*.bin")):
    code = subprocess.run([rbwp, "dump", path], capture_output=True).returncode
    full, info = json.loads(run("dump", path, code=code)), json.loads(run("info", "--json", path, code=code))
    records = [(b, r) for b in full["blocks"] for r in b["records"]]
    kinds = collections.Counter(r["type"] for _, r in records)
    assert {k: v for k, v in info["kinds"].items() if v} == kinds, path
    calls = collections.Counter(r["slot"] for _, r in records if r["type"] == "COARSE_BEGIN")
    gpu = collections.Counter(r["slot"] for _, r in records if r["type"] == "GPU_WORK")
    assert {s["slot"]: s["calls"] for s in info["slot_counts"] if s["calls"]} == calls, path
    assert {s["slot"]: s["gpu_work"] for s in info["slot_counts"] if s["gpu_work"]} == gpu, path
    subs = collections.Counter(r["sub_item"] for _, r in records if r["type"] == "FINE_BEGIN")
    assert {s["sub_item"]: s["begins"] for s in info["sub_item_counts"]} == subs, path
    per_thread = collections.Counter(b["thread_id"] for b, _ in records)
    assert {t["thread_id"]: t["records"] for t in info["thread_counts"]} == per_thread, path
    assert (info["block_count"], info["record_count"]) == (full["block_count"], full["record_count"])
    assert info["data_size"] == sum(b["data_size"] for b in full["blocks"])
    assert info["stored_size"] == sum(b["compressed_size"] or b["data_size"] for b in full["blocks"])
    if records:
        times = [r["ts"] for _, r in records]
        assert (info["first"], info["last"]) == (min(times), max(times)), path
    for key in ("header", "work_items", "sub_items", "incomplete_tail", "problems", "finalized", "valid", "file_size"):
        assert info[key] == full[key], (path, key)
    text = run("info", path, code=code)
    assert f"records      {len(records):,}: " in text and ("DAMAGED" in text) == (code == 3)
    assert ("NEVER FINALISED" in text) == (not full["finalized"])
    piped = run("info", "--json", "-", code=code, input=open(path, "rb").read())
    assert {**json.loads(piped), "file": path} == info, path
    quick = json.loads(run("info", "--json", "--quick", path, code=0 if code == 0 else subprocess.run([rbwp, "info", "--quick", path], capture_output=True).returncode))
    assert "kinds" not in quick and quick["work_items"] == full["work_items"], path

both = json.loads(run("info", "--json", f"{golden}/gaps.bin", f"{golden}/empty.bin"))
assert [f["record_count"] for f in both] == [160, 0]
names = [f"{golden}/gaps.bin", f"{golden}/empty.bin"]  # one line of keys for both, and each line begins with its file
for table, rows in ("files", [1, 1]), ("work_items", [len(f["work_items"]) for f in both]):
    found = list(csv.DictReader(run("info", "--csv", table, *names).splitlines()))
    assert [row["file"] for row in found] == [name for name, count in zip(names, rows) for _ in range(count)], (table, found)

# What only our files have. make_extended.c is the other half of this.
path = f"{work}/extended.bin"
subprocess.run([make_extended, path], check=True)
done = subprocess.run([rbwp, "dump", path], capture_output=True, check=True)
assert done.stderr.decode().splitlines() == [
    f"{path}: 1234 records are missing (dropped): rbwp info tells which",
    f"{path}: 2 calls not recorded: an end without its begin; begin and end on the same thread, as often",
    f"{path}: 1000000 threads had no room in its tables",
    f"{path}: 7 slot uses had no room in its tables"], done.stderr
full = json.loads(done.stdout)
assert full["session"]["host"] == "host \u00e9" and full["session"]["command"] == ["prog", "a b", "", "c\"d", ""]
assert full["session"]["process_id"] == 4242 and full["session"]["level"] == 2 and full["session"]["discarded"] == 17
assert full["clock"]["kind_name"] == "tsc" and full["clock"]["hz"] == 2300000000 and len(full["clock"]["samples"]) == 6
assert full["left_out"] == [{"kind": 1, "kind_name": "threads", "entries": 1000000, "records": 2000000},
                            {"kind": 2, "kind_name": "slot uses", "entries": 7, "records": 0}]
assert full["unknown_sections"] == [{"tag": "xtst", "length": 9}]
assert "  section 'xtst': 9 bytes\n" in run("info", path)
assert "left out     1,000,000 threads, with 2,000,000 records, are not in the tables\n" in run("info", path)
assert [(t["thread_id"], t["name"], t["os_id"]) for t in full["threads"]] == [(11, "cleaner", 900), (2**64 - 1, "", 901)]
assert [(l["cause_name"], l["thread_id"], l["count"]) for l in full["losses"]] == [("dropped", 11, 1234), ("stray end", 0, 2)] or \
       [(l["cause"], l["thread_id"], l["count"]) for l in full["losses"]] == [(1, 11, 1234), (7, 0, 2)]
opaque = [b for b in full["blocks"] if b.get("opaque")]
assert len(opaque) == full["opaque_block_count"] == 1 and opaque[0]["tag"] == "xtst" and opaque[0]["records"] == []
assert full["block_count"] == len(full["blocks"]) == 3 and full["record_count"] == 10

# A slot that was released and used again has the name of its time.
lines = [json.loads(l) for l in run("dump", "--ndjson", path).splitlines()]
assert [(l["ts"], l["name"], l["thread"]) for l in lines if l["type"] == "COARSE_BEGIN"] == [
    (1000, "old", "cleaner"), (3000, "new", "cleaner"), (3050, "new", "cleaner"), (4000, "old", "cleaner"),
    (3100, "other", "")]
for stdin in (None, open(path, "rb").read()):
    source = "-" if stdin else path
    got = json.loads(run("dump", "--slot", "new", "--thread", "clean*", source, input=stdin))
    assert [r["ts"] for b in got["blocks"] for r in b["records"]] == [3000, 3010, 3050, 3060]

text = run("info", path)
assert "LOST         1,234 records; 2 calls refused" in text
assert "  1,234 records: dropped, thread cleaner (11), +0.000001100s to" in text
assert "prog 'a b' '' c\"d ''\n" in text and "2,300,000,000 Hz, error at most 40 ns, 6 samples\n" in text and "opaque 'xtst': 1 blocks" in text
assert text.index("LOST") < text.index("session")
assert "0 calls         0 GPU  gpu reap\n" in run("info", f"{golden}/empty.bin")  # a name is shown where nothing ran
gpu = run("info", f"{golden}/gpu_work.bin")  # beside others it is counted
assert "active message handlers" not in gpu and "  ... and 3 without calls (--json shows all)\n" in gpu, gpu
info = json.loads(run("info", "--json", path))
assert (info["lost_records"], info["refused_calls"]) == (1234, 2)

# Calls count for the name that the slot had at that time; a name that comes back keeps its row.
rows = [(3, 2, "old"), (3, 2, "new"), (4, 1, "other")]
listed = [line.split() for line in text[text.index("work items"):text.index("sub-items")].splitlines() if line]
assert listed[0] == ["work", "items", "(3):"], listed
assert [(int(slot), int(calls), name) for slot, calls, _, _, _, name in listed[1:]] == rows, listed
for stdin in (None, open(path, "rb").read()):
    info = json.loads(run("info", "--json", "-" if stdin else path, input=stdin))
    assert [(s["slot"], s["calls"], s["name"]) for s in info["slot_counts"]] == rows, info["slot_counts"]
assert "cleaner" in run("info", "--quick", path)

# The index tells of the blocks that the dump shows; a file without one has none.
ranges = json.loads(run("info", "--json", "--quick", "--index", path))["index"]
blocks = full["blocks"]
assert ranges and sum(r["blocks"] for r in ranges) == info["block_count"] and sum(r["records"] for r in ranges) == info["record_count"]
times = [r["ts"] for b in blocks for r in b["records"]]
assert (min(r["first"] for r in ranges if r["records"]), max(r["last"] for r in ranges if r["records"])) == (min(times), max(times))
assert [r["offset"] for r in ranges] == [36 + sum(r["bytes"] for r in ranges[:i]) for i in range(len(ranges))]
assert f"index ({len(ranges)}):\n  at 36: " in run("info", "--quick", "--index", path)
assert json.loads(run("info", "--json", "--index", f"{golden}/gaps.bin"))["index"] == [] and "index" not in info
P
# All that it says of three files, to the letter: tables and losses, GPUs with their biases, compressed blocks.
"$MAKE_EXTENDED" "$work/ext.bin" && "$MAKE_GPU" "$work/gpu.bin" && cp "$GOLDEN/level2_all_types_zlib.bin" "$work/" || fail "making files"
for name in ext gpu level2_all_types_zlib; do
    (cd "$work" && "$RBWP" info $name.bin 2>/dev/null)
done >"$work/whole"
diff "$here/info_whole.txt" "$work/whole" >&2 || fail "info says something else"

# ---- the clocks ----
"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "clocks"
import struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here]
import rbwp_make as m

S, T = 10**9, 1_700_000_000 * 10**9


def told(flags, *steps):
    """steps: by what ticks, monotonic and wall clock go on between samples."""
    ticks, monotonic, wall = 1000 * S, 50 * S, T
    samples = [struct.pack("<Qqqq", ticks, T, monotonic, wall)]
    for step in steps:
        ticks, monotonic, wall = ticks + step[0], monotonic + step[1], wall + step[2]
        samples.append(struct.pack("<Qqqq", ticks, T + monotonic - 50 * S, monotonic, wall))
    path = f"{work}/clocks.bin"
    with open(path, "wb") as file:
        file.write(m.with_trailer(m.file([m.block(1, 0, [(T + 100, "cb", 0), (T + 200, "ce")])], [(0, b"work")], zero_time=T),
                                  m.info(1, T, T + 9 * S, 1), m.section(b"CLCK", struct.pack("<IIQQ", 1, flags, S, 10)),
                                  m.table_section(b"SAMP", samples)))
    done = subprocess.run([rbwp, "info", path], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return [line.strip() for line in lines if "wall clock was" in line or "slept" in line or "counter had" in line or "unstable" in line]


usual = (S, S, S)
assert told(0, usual, usual, (S + 900, S, S + 900)) == []
assert told(0, usual, (S, S, S - 3600 * S)) == ["+2.000000000s: the wall clock was set by -3600.000 s"], told(0, usual, (S, S, S - 3600 * S))
assert told(0, usual, (S, S, S + 60 * S)) == ["+2.000000000s: the wall clock was set by 60.000 s"], told(0, usual, (S, S, S + 60 * S))
assert told(0, (121 * S, S, 121 * S), usual) == ["+1.000000000s: the machine had slept for 120.000 s"], told(0, (121 * S, S, 121 * S))
assert told(0, (-999 * S, S, 31 * S)) == ["+1.000000000s: the machine had slept for 30.000 s", "+1.000000000s: the counter had been set back"], told(0, (-999 * S, S, 31 * S))
assert told(0, (-999 * S, S, S)) == ["+1.000000000s: the counter had been set back"]
assert told(1, usual) == ["the system found the counter unstable, and did not trust it at the end"]
P
finish
