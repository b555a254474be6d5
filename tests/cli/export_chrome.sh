# SPDX-License-Identifier: Apache-2.0
# Chrome JSON holds every span of the dump with its times to the nanosecond, is strict JSON in
# UTF-8 whatever the names are, keeps to 31-bit numbers and to threads whose spans nest, also for who
# adds up in doubles, and its compressed form is the same text, whatever the number of threads.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" "$MAKE_EXTENDED" <<'P' || fail "chrome"
import collections, decimal, gzip, json, subprocess, sys, zlib

rbwp, golden, here, work, make_extended = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import export_expect as x


def ns(text, origin=0):
    """Exact: the text has three decimals."""
    value = decimal.Decimal(text) * 1000
    assert value == int(value) and text[-4] == ".", text
    return int(value) + origin


def duration_ns(text):
    """Where spans abut it is a little less (chrome_marks.c), by far less than half a nanosecond."""
    value = decimal.Decimal(text) * 1000
    whole = int(value.to_integral_value())
    assert text[-4] == "." or text[-7] == "." and 0 < whole - value <= decimal.Decimal("0.4"), text
    return whole


def adds_up(rows):
    """Spans nest for a reader with doubles, whether it counts from 0 or from the first of a row."""
    for row in rows:
        first = min(ts for ts, _ in row)
        for zero in 0.0, first:
            assert x.nested([[(ts - zero, ts - zero + dur) for ts, dur in row]]), row[:5]


def load(data):
    return json.loads(data.decode("utf-8"), parse_float=str, parse_constant=lambda c: 1 / 0)


def check(path, code=0):
    decimal.getcontext().prec = 60
    want = x.spans(rbwp, path)
    data = x.export(rbwp, "chrome", path, "-j", "1", code=code)
    assert x.export(rbwp, "chrome", path, "-j", "3", code=code) == data
    trace = load(data)
    origin = int(trace["otherData"]["origin_ns"])
    have, rows, doubles = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
    for e in trace["traceEvents"]:
        assert 0 < e["pid"] < 2**31 and 0 <= e.get("tid", 0) < 2**31
        if e["ph"] == "X":
            start = ns(e["ts"], origin)
            stop = start + duration_ns(e["dur"])
            unfinished = e.get("args", {}).get("unfinished")
            have[x.Span(e["cat"], e["name"], start, None if unfinished else stop)] += 1
            rows[e["pid"], e["tid"]].append((start, stop))
            doubles[e["pid"], e["tid"]].append((float(e["ts"]), float(e["dur"])))
    assert have == want, (path, have - want, want - have)
    assert x.nested(rows.values()), path
    if all(abs(stop - origin) < 10**15 for row in rows.values() for _, stop in row):
        adds_up(doubles.values())
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert set(rows) <= named
    tids = [tid for _, tid in named]
    assert len(set(tids)) == len(tids)
    return trace, rows


x.every_file(rbwp, "chrome", golden, check)

path = f"{work}/hostile.bin"
x.hostile_names(path)
trace, _ = check(path)
assert any(e["name"] == 'quote " backslash \\ slash /' for e in trace["traceEvents"])

path = f"{work}/overlap.bin"
x.overlapping_gpu(path)
trace, rows = check(path)
events = trace["traceEvents"]
gpu = [e for e in events if e.get("cat") == "gpu"]
assert len({e["tid"] for e in gpu}) == 4 and all(e["args"]["slot"] == 3 and e["args"]["rbwp"]["inferred"] for e in gpu), gpu
names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
assert {names[e["tid"]] for e in gpu} == {"GPU 0.1", "GPU 0.2", "GPU 0.2 / 1", "GPU 0.2 / 2"}
order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
lanes = {n: order[t] for t, n in names.items()}
assert lanes["GPU 0.1"] != lanes["GPU 0.2"] and lanes["GPU 0.2"] + 1 == lanes["GPU 0.2 / 1"]
# Arrows: each begins inside a call and ends at a piece of GPU work, by the same id, a string.
begins = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert len(begins) == len(ends) == 8 and begins.keys() == ends.keys()
for flow, begin in begins.items():
    end = ends[flow]
    assert flow.startswith("0x") and end["bp"] == "e"
    assert (begin["cat"], begin["name"]) == (end["cat"], end["name"])
    at = ns(begin["ts"], 10**18)
    assert any(start <= at < stop for start, stop in rows[begin["pid"], begin["tid"]])
    assert ns(begin["ts"]) <= ns(end["ts"])
    assert ns(end["ts"], 10**18) in {start for start, _ in rows[end["pid"], end["tid"]]}

for zero in 0, 10**13, 10**14:  # of the run: how many decimals a double has left
    path = f"{work}/abutting.bin"
    x.abutting(path, zero)
    check(path)

path = f"{work}/many.bin"
x.many_inside(path)
check(path)
path = f"{work}/unfinished.bin"
x.unfinished(path)
check(path)

path = f"{work}/extended.bin"
subprocess.run([make_extended, path], check=True)
trace, _ = check(path)
assert {e["pid"] for e in trace["traceEvents"]} == {4242}
losses = [e for e in trace["traceEvents"] if e.get("cat") == "loss"]
assert any(e["args"] == {"records": 1234, "first_ns": "2000", "last_ns": "2100"} for e in losses), losses
assert trace["otherData"]["lost_records"] == str(sum(e["args"]["records"] for e in losses)) != "0"
assert all(e["ph"] == "i" and e["s"] in "tp" and e["cname"] for e in losses)
assert trace["otherData"]["process.0.writer"] == "make_extended"

# What begins at the zero time begins at 0, which has no sign.
open(f"{work}/zero.bin", "wb").write(x.m.file([x.m.block(1, 0, [(10**18, "cb", 1), (10**18 + 5, "ce")])], zero_time=10**18))
text = x.export(rbwp, "chrome", f"{work}/zero.bin").decode()
assert '"ts":0.000,' in text and "-0.000" not in text, text

# Compressed: the same text in one member, also over many pieces, by any number of threads.
text = x.export(rbwp, "chrome", f"{work}/many.bin")
assert len(text) > 4 << 20
for threads in "1", "2", "5":
    packed = f"{work}/many{threads}.json.gz"
    subprocess.run([rbwp, "export", "-j", threads, "-o", packed, f"{work}/many.bin"], check=True)
    unzip = zlib.decompressobj(31)
    assert unzip.decompress(open(packed, "rb").read()) == text and unzip.eof and not unzip.unused_data
assert len({open(f"{work}/many{t}.json.gz", "rb").read() for t in "125"}) == 1
subprocess.run([rbwp, "export", "-o", f"{work}/e.json.gz", f"{golden}/empty.bin"], check=True)
assert load(gzip.open(f"{work}/e.json.gz").read())["traceEvents"]
P

"$RBWP" export --to chrome "$GOLDEN/gaps.bin" >/dev/full 2>"$work/err"
[ $? -eq 1 ] || fail "a full disk does not exit 1"
expect_error "cannot be written"
(
    ulimit -f 8
    trap '' XFSZ
    exec "$RBWP" export -o "$work/partial.json.gz" "$work/many.bin"
) >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "a compressed file over the limit does not exit 1"
[ ! -e "$work/partial.json.gz" ] || fail "a partial file was left behind"
finish
