#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies of buffers that kernels wrote become durations, the JSON of those whose formats they are, and profiles.
# Guards: numbers and names of buffers made by hand, in each form; iris's JSON to the order of its members and the names
# of its files; microseconds, clock offsets and rows of what overlaps; lanes below their GPU, which they keep no busier;
# damage told by kind with exit 3, and files that are something else.
. "$(dirname "$0")/lib.sh"
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$here/lanes_make.py" "$work" || fail "lanes_make.py"

# ---- durations
expect_exit 0 "$RBWP" lanes "$work/v1.bin"
grep -Eq '^group_0 +event_5 +1( +0\.128){6} +0$' "$work/out" || fail "durations: $(cat "$work/out")"
grep -Eq '^group_1 +event_1023 +0( +0\.000){6} +1$' "$work/out" || fail "unmatched: $(cat "$work/out")"
grep -Eq '^group +event +n +total us +mean us +min us +p50 us +p99 us +max us +unmatched$' "$work/out" || fail "heads"
expect_error "1 begins have no end"
for file in v1.npy rows.npy; do
    "$RBWP" lanes "$work/$file" 2>/dev/null | cmp -s - "$work/out" || fail "$file differs from v1.bin"
done
# For each block, too.
expect_exit 0 "$RBWP" lanes --by-block "$work/v1.bin"
[ "$(sed 's/  */ /g' "$work/out" | cut -d' ' -f2-5)" = "$(printf '%s\n' 'block group event n' '0 group_0 event_0 1' '0 group_1 event_1 1' '1 group_0 event_5 1' '1 group_1 event_1023 0')" ] ||
    fail "durations by block: $(cat "$work/out")"
expect_exit 0 "$RBWP" lanes --by-block --json "$work/v1.bin"
grep -q '^{"block":1,"group":"group_0","event":"event_5","n":1,' "$work/out" || fail "durations by block: $(cat "$work/out")"
expect_exit 0 "$RBWP" lanes --json "$work/v1.bin"
grep -q '^{"group":"group_0","event":"event_5","n":1,' "$work/out" || fail "durations: $(cat "$work/out")"
expect_exit 0 "$RBWP" events "$work/r0.evt" "$work/r1.evt"
grep -Eq '^rank 0 +store +1( +8\.000){6} +0$' "$work/out" || fail "events: $(cat "$work/out")"
grep -Eq '^rank 0 +unknown_99 +0 .* 1$' "$work/out" || fail "events: $(cat "$work/out")"
expect_error "2 of 6 events had no slot"
expect_exit 0 "$RBWP" events --events 99=gather "$work/r0.evt"
grep -q '^rank 0 *gather ' "$work/out" || fail "a name of the user's"

# ---- damage, and what is something else
expect_exit 3 "$RBWP" lanes "$work/bad.bin"
expect_error "damaged: 1 records with the tag of another lane"
expect_error "damaged: 1 times before that of the record before"
expect_exit 3 "$RBWP" lanes "$work/cut.npy"
expect_error "the file is not as long as its head says"
{ cat "$work/v1.bin"; printf abc; } >"$work/long.bin"
expect_exit 3 "$RBWP" lanes "$work/long.bin"
expect_error "bytes stand behind its records"
expect_exit 0 "$RBWP" lanes "$work/whole.bin"
expect_error "1 lanes have finalize in their last slot: records are missing if"
expect_exit 0 "$RBWP" lanes "$work/brim.bin"
expect_error "1 lanes are full: records may be missing"
expect_exit 3 "$RBWP" events "$work/cut.evt"
expect_error "events are missing, as the file is cut"
for file in float fortran; do
    expect_exit 1 "$RBWP" lanes "$work/$file.npy"
    expect_error "is a NumPy file, but"
done
expect_exit 1 "$RBWP" lanes "$work/r0.evt"
expect_exit 1 "$RBWP" events "$work/v1.bin"
expect_exit 1 "$RBWP" events "$work/v1.npy"
for file in nofield narrow; do
    expect_exit 1 "$RBWP" events --clock 1000000000 "$work/$file.npy"
    expect_error "its records have no field op_index of 4 bytes"
done
expect_exit 1 "$RBWP" events "$work/r0.evt" "$work/r0.evt"
expect_error "are both of rank 0"
expect_exit 1 "$RBWP" lanes --stride 3 "$work/v1.bin"
expect_error "lanes would share slots"
expect_exit 2 "$RBWP" lanes --dialect cupti "$work/v1.bin"
expect_exit 2 "$RBWP" lanes --clock 0 "$work/v1.bin"
for anchor in 0=7 5x7 5=; do
    expect_exit 2 "$RBWP" lanes --anchor "$anchor" "$work/v1.bin"
done
expect_exit 2 "$RBWP" lanes --to rbwp "$work/v1.bin"
expect_exit 2 "$RBWP" lanes --to warpscope "$work/v1.bin" "$work/v1.npy"
expect_exit 2 "$RBWP" events --merge "$work/r0.evt"
expect_exit 2 "$RBWP" events --to iris "$work/r0.evt" "$work/r1.evt"
for offset in 1 =5 0= 0=5x 0=5: 0=5:x 0=:5 0=5:7x 0=-; do
    expect_exit 2 "$RBWP" events --offset "$offset" "$work/r0.evt"
    expect_error "is no RANK=NS or RANK=NS:BOUND"
done

# ---- iris: files and names
iris() {
    "$RBWP" events --to iris "$@" 2>/dev/null || fail "events --to iris $*"
}
iris --raw-cycles --merge -o "$work/raw.json" "$work/r1.evt" "$work/r0.evt"
iris --raw-cycles -o "$work/plain" "$work/r0.evt"
iris --merge -o "$work/us.json" "$work/r0.evt" "$work/r1.evt"
iris --merge -o "$work/aligned.json" "$work/r0.evt" "$work/r1_ahead.evt"
iris --merge -o "$work/told.json" --offset 1=9000:70 "$work/r0.evt" "$work/r1.evt"
iris -o "$work/nvidia.json" "$work/nvidia.evt"
cmp -s "$work/plain_rank0" "$work/raw_rank0.json" || fail "plain_rank0"
for file in r0.npy r0.arrays; do
    iris --raw-cycles --clock 100MHz --count 6 --ranks 2 "$work/$file" | sed "s/$file/r0.evt/" |
        cmp -s - "$work/raw_rank0.json" || fail "$file is not what r0.evt is"
done

# A rank alone tells of at least so many.
iris --rank 3 "$work/r0.npy" | grep -q '"world_size": 4,' || fail "--rank 3 is not one of 4 ranks"

# ---- times as far apart as they can be: each difference is right, and no undefined behaviour (negating INT64_MIN)
iris "$work/far.evt" >"$work/far.json"
grep -c '"dur": 18446744073709551.615$\|"dur": 9223372036854775.812$\|"dur": 9223372036854775.800$' "$work/far.json" |
    grep -qx 3 || fail "far.evt: $(grep '"dur"' "$work/far.json")"
for form in csv chrome rbwp; do
    expect_exit 0 "$RBWP" events -f --to $form -o "$work/far.$form" "$work/far.evt"
    ! grep "runtime error" "$work/err" || fail "far.evt to $form"
done

# ---- the other forms
"$RBWP" lanes --to warpscope --events wait,mma --groups load "$work/v1.bin" >"$work/warpscope.json" 2>/dev/null || fail "warpscope"
"$RBWP" lanes --to rbwp -o "$work/v1_profile.bin" "$work/v1.bin" 2>/dev/null || fail "a profile"
expect_exit 0 "$RBWP" check "$work/v1_profile.bin"
"$RBWP" lanes --events wait -o "$work/wait.pftrace" "$work/wait.bin" 2>/dev/null || fail "perfetto"
"$RBWP" events --to ndjson -o "$work/events.ndjson" "$work/r0.evt" "$work/r1_ahead.evt" 2>/dev/null || fail "ndjson"
"$RBWP" lanes --to ndjson "$work/v1.bin" >"$work/lanes.ndjson" 2>/dev/null || fail "ndjson"
"$RBWP" stats --json "$work/v1_profile.bin" >"$work/stats.json" || fail "stats"

"$RBWP" lanes --to chrome --events wait,mma --groups load "$work/v1.bin" >"$work/blocks.json" 2>/dev/null || fail "chrome"
"$RBWP" export --to chrome --block-processes "$work/v1_profile.bin" >"$work/processes.json" || fail "export --block-processes"
"$RBWP" lanes --to chrome "$work/v2.bin" >"$work/sms.json" 2>/dev/null || fail "chrome, by SM"
"$RBWP" lanes --to chrome --by-block "$work/v2.bin" >"$work/by_block.json" 2>/dev/null || fail "chrome --by-block"

if command -v protoc >/dev/null; then
    "$RBWP" lanes --no-deflate --to perfetto "$work/wait.bin" 2>/dev/null | protoc --decode_raw >"$work/out" || fail "protoc cannot decode it"
fi

PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$work" "$here" <<'P' || fail "forms"
import json, pathlib, sys
work = pathlib.Path(sys.argv[1])
sys.path.insert(0, sys.argv[2])
import perfetto_decode


def load(name):
    return json.loads((work / name).read_text())


def times(name):
    return [(e["ts"], e.get("dur"), e["ph"]) for e in load(name)["traceEvents"] if e["ph"] != "M"]


# iris, exactly: the first event as text, members in order, what has no end or no length is an instant
raw = load("raw_rank0.json")
first = {"name": "put", "cat": "iris", "ts": 5000, "pid": 0, "tid": "XCC2_CU5",
         "args": {"program_id": 7, "pid_m": 1, "pid_n": 2, "target_rank": 1, "address": "0x7f0010002000", "xcc_id": 2,
                  "cu_id": 5, "op_index": 0, "payload_size": 32}, "ph": "X", "dur": 600}
assert json.dumps(raw["traceEvents"][0]) == json.dumps(first)
assert [e["name"] for e in raw["traceEvents"]] == ["put", "store", "unknown_99", "atomic_add", "process_name"]
assert times("raw_rank0.json") == [(5000, 600, "X"), (5100, 800, "X"), (5200, None, "i"), (5300, None, "i")]
assert raw["traceEvents"][1]["tid"] == "XCC2_CU5"
assert list(raw["traceEvents"][2]) == ["name", "cat", "ts", "pid", "tid", "args", "ph", "s"]
assert json.dumps(raw["traceEvents"][4]) == json.dumps(
    {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "Rank 0"}})
assert list(raw) == ["traceEvents", "displayTimeUnit", "metadata"] and raw["displayTimeUnit"] == "ns"
system = ["process_name", "command_line", "hostname", "gpu_device_name", "gpu_total_memory_gb", "gpu_arch",
          "gpu_cu_count", "gpu_num_xcc", "rocm_version"]
meta = raw["metadata"]
assert list(meta) == ["schema_version", "num_events", "rank", "world_size", "time_unit", "fields", *system, "recorded",
                      "dropped"]
assert (meta["schema_version"], meta["num_events"], meta["world_size"]) == ("1.1", 4, 2)
assert meta["time_unit"] == "raw cycles (s_memrealtime @ 100MHz)" and (meta["recorded"], meta["dropped"]) == (6, 2)
assert list(meta["fields"]) == ["name", "cat", "ts", "pid", "tid", "ph", "dur", "args"]
text = (work / "raw_rank0.json").read_text()
assert text == json.dumps(raw, indent=2), "not as Python writes it"

# merged: ranks in order, the least time becomes 0; in microseconds, with rows, offsets and their bound
merged = load("raw.json")
assert times("raw.json") == [(1000, 600, "X"), (1100, 800, "X"), (1200, None, "i"), (1300, None, "i"), (0, 10, "X")]
meta = merged["metadata"]
assert list(meta) == ["schema_version", "total_events", "max_events", "time_unit", "world_size", "timestamp_offset",
                      "aligned", "fields", *system, "ranks"]
assert (meta["total_events"], meta["timestamp_offset"], meta["max_events"]) == (7, 4000, 4)
assert meta["aligned"] == "minimum timestamp across all ranks"
assert times("us.json") == [(10, 6, "X"), (11, 8, "X"), (12, None, "i"), (13, None, "i"), (0, 0.1, "X")]
assert '"dur": 6.000' in (work / "us.json").read_text() and '"ts": 10.000' in (work / "us.json").read_text()
assert times("us_rank0.json")[0] == (50, 6, "X")
assert times("nvidia_rank0.json")[0] == (5, 0.6, "X")
for name in "aligned.json", "told.json":
    assert times(name)[0][0] == 19 and times(name)[4][0] == 0, times(name)  # 50 us less 31 us
    assert load(name)["metadata"]["ranks"][1] == {"rank": 1, "recorded": 1, "dropped": 0, "clock_offset_ns": 9000,
                                                  "clock_error_ns": 70, "clock_drift_ppb": 0}
tracks = {}
for e in load("us.json")["traceEvents"]:
    if e["ph"] == "X":
        tracks.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
assert (0, "XCC2_CU5") in tracks and (0, "XCC2_CU5 / 1") in tracks
for spans in tracks.values():
    assert not any(a[0] < b[0] < a[1] < b[1] for a in spans for b in spans), "partial overlap"

# warpscope: a process a block, a thread a group, microseconds
trace = load("warpscope.json")["traceEvents"]
spans = [(e["pid"], e["tid"], e["ts"], e["dur"], e["name"]) for e in trace if e["ph"] == "X"]
assert spans == [(0, 0, 0, 0.096, "wait"), (0, 1, 0.016, 0.048, "mma"), (1, 0, 0.288, 0.128, "event_5"),
                 (1, 1, 0.304, 0, "event_1023")], spans
assert [(e["pid"], e["tid"], e["ts"], e["name"]) for e in trace if e["ph"] == "i"] == [(0, 1, 0.08, "event_2")]
assert trace[-1]["args"] == {"unclosed": True}
names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in trace if e["ph"] == "M"}
assert names == {(0, None): "block 0", (0, 0): "load", (0, 1): "group_1", (1, None): "block 1", (1, 0): "load",
                 (1, 1): "group_1"}

# the common Chrome JSON: the same processes and threads, with a SM as the process where it is known
def places(name):
    events = load(name)["traceEvents"]
    told = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"] in ("process_name", "thread_name")}
    return {(e["pid"], e["tid"], told[e["pid"], None], told[e["pid"], e["tid"]]) for e in events if e["ph"] in "Xi"}


assert places("blocks.json") == {(0, 0, "block 0", "load"), (0, 1, "block 0", "group_1"), (1, 0, "block 1", "load"),
                                 (1, 1, "block 1", "group_1")}, places("blocks.json")
assert {place[:3] for place in places("processes.json")} == {place[:3] for place in places("blocks.json")}
assert places("sms.json") == {(77, 0, "SM 77", "group_0"), (77, 1, "SM 77", "group_1")}, places("sms.json")
assert places("by_block.json") == {(1, 0, "block 1", "group_0"), (2, 1, "block 2", "group_1")}, places("by_block.json")

# perfetto, by the independent reader: "wait" for 640 ns on its group below its block
trace = perfetto_decode.Trace((work / "wait.pftrace").read_bytes())
(wait,) = [found for found in trace.slices if found.category != "fact"]
assert (wait.name, wait.start, wait.stop) == ("wait", 0, 640), wait
above, track = [], wait.track
while track in trace.tracks:
    above.append(perfetto_decode.one(trace.tracks[track], 2, b"").decode())
    track = perfetto_decode.one(trace.tracks[track], 5)
assert above[:4] == ["group_0", "block 0", "lanes", "GPU 0x0"], above

# the model: lanes below their GPU, ranges and no work
rows = [json.loads(line) for line in (work / "lanes.ndjson").read_text().splitlines()]
assert {(row["category"], row["track_kind"]) for row in rows} == {("range", "lane")}
assert sorted((row["track"], row["name"], row["start_ns"], row["duration_ns"]) for row in rows) == [
    ("group_0", "event_0", 0, 96), ("group_0", "event_5", 288, 128), ("group_1", "event_1", 16, 48),
    ("group_1", "event_1023", 304, 0), ("group_1", "event_2", 80, 0)], rows
rows = [json.loads(line) for line in (work / "events.ndjson").read_text().splitlines()]
puts = {row["args"]["rank"]: row for row in rows if row["name"] == "put"}
assert puts[0]["start_ns"] - puts[1]["start_ns"] == 19000 and puts[0]["args"]["target_rank"] == 1, puts
assert puts[1]["start_uncertain_ns"] == 70 and len({row["lane"] for row in rows if row["track"] == "XCC2_CU5"}) == 2
stats = load("stats.json")
assert [(gpu["name"], gpu["busy"]) for gpu in stats["gpus"]] == [("GPU 0x0", 0)], stats["gpus"]
P

finish
