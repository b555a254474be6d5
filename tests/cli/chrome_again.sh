# SPDX-License-Identifier: Apache-2.0
# Our own Chrome JSON, read and written again, is the same: every event, argument, counter, arrow, process and
# track, though numbers that only tell things apart may differ; as CSV it is what the file itself is.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$work" "$MAKE_EVERYTHING" <<'P' || fail "again"
import collections, csv, io, json, subprocess, sys

rbwp, golden, work, everything = sys.argv[1:]


def run(*args):
    return subprocess.run([rbwp, *args], capture_output=True)


def events(path):
    """Without what only tells apart: numbers of processes, threads, tracks and arrows."""
    trace = json.load(open(path))["traceEvents"]
    names = {(e["name"], e.get("tid", e["pid"])): e["args"]["name"] for e in trace if e["name"] in ("process_name", "thread_name")}
    tracks = {e["args"].get("rbwp_track"): e["args"]["name"] for e in trace if e["name"] == "thread_name" and not e["args"].get("rbwp_row")}
    seen = collections.Counter()
    for e in trace:
        if e["name"].endswith("sort_index"):
            continue
        e["pid"] = names["process_name", e["pid"]]
        if e.get("tid"):
            e["tid"] = names["thread_name", e["tid"]]
        if e["ph"] in "stfC":
            e.pop("id", None)
        if "dur" in e:
            e["dur"] = round(e["dur"], 3)
        args = e.get("args", {})
        args.pop("rbwp_source", None)
        args.pop("rbwp_track", None)
        for holder, key in ((args, "rbwp_parent"), (args.get("rbwp", {}), "launch_track")):
            if key in holder:
                holder[key] = tracks[holder[key]]
        seen[json.dumps(e, sort_keys=True)] += 1
    return seen


def again(name):
    done = run("export", "-f", "-o", f"{work}/2.json", f"{work}/1.json")
    assert done.returncode == 0 and b"nowhere" not in done.stderr, (name, done.stderr)
    one, two = events(f"{work}/1.json"), events(f"{work}/2.json")
    assert one == two, (name, list((one - two).items())[:3], list((two - one).items())[:3])
    return sum(one.values())


def rows(path):
    text = run("export", "--to=csv", path).stdout.decode()
    return sorted(tuple(v for k, v in row.items() if k not in ("id", "parent")) for row in csv.DictReader(io.StringIO(text)))


for name in ("level2_all_types_zlib", "multi_thread", "discard", "crash_killed", "defect_discard_rotate", "empty"):
    run("export", "-f", "-o", f"{work}/1.json", f"{golden}/{name}.bin")
    assert again(name) > 0
    assert rows(f"{work}/1.json") == rows(f"{golden}/{name}.bin"), name
# A recording and what was made of it would count twice: refused, in either order, also after another export, and asked for all the same.
recording, export, exported = f"{golden}/multi_thread.bin", f"{work}/own.json", {}
for form in ("chrome", "kineto", "perfetto", "legion"):
    exported[form] = f"{work}/own.{form}"
    subprocess.run([rbwp, "export", "-f", "--to", form, "-o", exported[form], recording], capture_output=True)
items = lambda path: collections.Counter((s["name"], s["category"], s["item"]) for s in map(json.loads, run("export", "--to=ndjson", path).stdout.splitlines()))
assert all(items(exported[form]) == items(recording) for form in ("chrome", "perfetto")) and len({item for *_, item in items(recording)}) > 1
run("export", "-f", "-o", export, exported["perfetto"])
for pair in [(recording, made) for made in (*exported.values(), export)] + [(export, recording), (exported["chrome"], exported["kineto"])]:
    done = subprocess.run([rbwp, "merge", "-f", "-o", f"{work}/2.json", *pair], capture_output=True)
    assert done.returncode == 1 and b"it would count twice" in done.stderr, (pair, done)
assert run("merge", "-f", "--force-merge", "-o", f"{work}/2.json", recording, export).returncode == 0
assert run("merge", "-f", "-o", f"{work}/2.json", f"{golden}/gaps.bin", export).returncode == 0

subprocess.run([everything, "chrome", f"{work}/1.json"], check=True, capture_output=True)
trace = json.load(open(f"{work}/1.json"))
trace["otherData"].update({"rbwp.version": "0", "origin_ns": "1700000000000000000"})
json.dump(trace, open(f"{work}/1.json", "w"))
assert again("everything") > 30

# Arguments that are longer than the buffer they are written through: whole, as JSON and in a row.
long = {f"k{i:03}": "x" * 254 for i in range(1000)}  # as much as is kept of one event; with commas and colons 264,000 bytes
json.dump({"traceEvents": [{"ph": "X", "name": "long", "ts": 1, "dur": 1, "pid": 1, "tid": 1, "args": long}]}, open(f"{work}/1.json", "w"))
run("export", "-f", "-o", f"{work}/2.json", f"{work}/1.json")
assert [e["args"] for e in json.load(open(f"{work}/2.json"))["traceEvents"] if e["ph"] == "X"] == [long]
csv.field_size_limit(1 << 20)
row, = csv.DictReader(io.StringIO(run("export", "--to=csv", f"{work}/1.json").stdout.decode()))
assert json.loads(row["args"]) == long
P
finish
