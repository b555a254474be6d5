# SPDX-License-Identifier: Apache-2.0
# Filters choose the same records as a plain computation over the unfiltered dump, in every shape,
# and the block layout and both counts stay. Guards each condition, its edges and combinations.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" <<'P' || fail "filters"
import fnmatch, itertools, json, subprocess, sys

rbwp, golden = sys.argv[1:]


def dump(*args, path, pipe=False, nothing=False):
    command = [rbwp, "dump", *args, "-" if pipe else path]
    done = subprocess.run(command, capture_output=True, input=open(path, "rb").read() if pipe else None)
    assert (done.returncode, done.stderr.count(b"\n")) == ((1, 1) if nothing else (0, 0)), (command, done)
    if "--ndjson" in args:
        return [json.loads(line) for line in done.stdout.splitlines()]
    return json.loads(done.stdout)


def wanted(records, conditions, names):
    """Records of one thread, in order, that the conditions take."""
    call, out = None, []
    for r in records:
        if r["type"] == "COARSE_BEGIN":
            call = r["slot"]
        slot = r["slot"] if r["type"] == "GPU_WORK" else call
        if r["type"] == "COARSE_END":
            call = None
        if "from" in conditions and r["ts"] < conditions["from"]:
            continue
        if "to" in conditions and r["ts"] >= conditions["to"]:
            continue
        if "slots" in conditions and not any(
                slot is not None and (slot == s or isinstance(s, str) and fnmatch.fnmatchcase(names.get(slot, ""), s))
                for s in conditions["slots"]):
            continue
        if "kinds" in conditions and not any(r["type"].startswith(k) for k in conditions["kinds"]):
            continue
        out.append(r)
    return out


tried = seen = 0
for name in ("multi_thread", "gpu_work", "straddle", "level2_all_types_zlib"):
    path = f"{golden}/{name}.bin"
    full = dump(path=path)
    zero = full["header"]["zero_time"]
    names = {i["slot"]: i["name"] for i in full["work_items"]}
    times = sorted(r["ts"] for b in full["blocks"] for r in b["records"])
    threads = sorted({b["thread_id"] for b in full["blocks"]})
    middle, late = times[len(times) // 2], times[3 * len(times) // 4]
    options = [
        [([], {})],
        [([], {}), (["--from", str(middle)], {"from": middle}),
         (["--from", f"+{middle - zero}ns", "--to", str(late)], {"from": middle, "to": late}),
         (["--to", "+0.000001s"], {"to": zero + 1000})],
        [([], {}), (["--slot", "1"], {"slots": [1]}), (["--slot", "0x2"], {"slots": [2]}),
         (["--slot", "*e*p*"], {"slots": ["*e*p*"]}),
         (["--slot", "mem?py chan*", "--slot", "7"], {"slots": ["mem?py chan*", 7]}),
         (["--slot", "no such"], {"slots": ["no such"]})],
        [([], {}), (["--kind", "fine"], {"kinds": ["FINE"]}), (["--kind", "GPU,coarse_end"], {"kinds": ["GPU", "COARSE_END"]}),
         (["--kind=COARSE_BEGIN", "--kind=gpu_work"], {"kinds": ["COARSE_BEGIN", "GPU_WORK"]})],
        [([], {}), (["--thread", str(threads[-1])], {"thread": threads[-1]}),
         (["--thread", hex(threads[0])], {"thread": threads[0]})],
    ]
    for choice in itertools.product(*options):
        args = [a for c in choice for a in c[0]]
        conditions = {k: v for c in choice for k, v in c[1].items()}
        seen += 1
        if not args or len(args) > 2 and seen % 4:  # each condition alone, every fourth combination
            continue
        tried += 1
        by_thread = {}
        for b in sorted(full["blocks"], key=lambda b: b["sequence"]):
            by_thread.setdefault(b["thread_id"], []).extend(dict(r, at=(b["offset"], r["offset"])) for r in b["records"])
        keep = {r["at"] for t, rs in by_thread.items() if conditions.get("thread", t) == t for r in wanted(rs, conditions, names)}
        expected = []
        for b in full["blocks"]:
            records = [r for r in b["records"] if (b["offset"], r["offset"]) in keep]
            if records:
                expected.append(dict(b, records=records, records_shown=len(records)))
        nothing = not keep and bool(args)
        got = dump(*args, path=path, pipe=tried % 7 == 0, nothing=nothing)
        assert got["blocks"] == expected, (name, args)
        assert got["record_count"] == full["record_count"] and got["block_count"] == full["block_count"], (name, args)
        assert got["records_shown"] == len(keep) and got["blocks_shown"] == len(expected), (name, args)
        if tried % 5 == 0:
            lines = dump(*args, "--ndjson", path=path, pipe=tried % 10 == 0, nothing=nothing)
            flat = [r for b in expected for r in b["records"]]
            assert [(l["ts"], l["type"]) for l in lines] == [(r["ts"], r["type"]) for r in flat], (name, args)
            for l, r in zip(lines, flat):
                assert l.get("slot") == r.get("slot") and ("slot" not in l or l["name"] == names.get(l["slot"]))
assert tried > 250, tried

P

"$PYTHON" - "$here" "$work" <<'P' || fail "make files"
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import rbwp_make as m
records = [(5000 + i, "fb", i) for i in range(10)]
outside = [(1, "cb", 1), (2, "fb", 5), (3, "fe"), (4, "ce"), (5, "fb", 5), (6, "fe"), (7, "ce")]
open(sys.argv[2] + "/outside", "wb").write(m.file([m.block(1, 0, outside)]))
open(sys.argv[2] + "/nozero", "wb").write(m.file([m.block(1, 0, records)], zero_time=0))
P
expect_exit 0 "$dump" --from +3ns --to +5ns --ndjson "$work/nozero"
[ "$(grep -o '"ts":[0-9]*' "$work/out" | tr '\n' ' ')" = '"ts":5003 "ts":5004 ' ] || fail "times relative to the first record"

# What stands outside calls belongs to no slot.
expect_exit 0 "$dump" --slot 1 --ndjson "$work/outside"
[ "$(grep -o '"ts":[0-9]*' "$work/out" | tr '\n' ' ')" = '"ts":1 "ts":2 "ts":3 "ts":4 ' ] || fail "records outside calls"

# Spans: any part in the range, least duration, unfinished ones kept.
"$PYTHON" - "$RBWP" "$GOLDEN/multi_thread.bin" "$here" "$work" <<'P' || fail "filters on spans"
import json, subprocess, sys
rbwp, path, here, work = sys.argv[1:]
def spans(*args):
    return json.loads(subprocess.run([rbwp, "dump", "--spans", *args, path], capture_output=True, check=True).stdout)
full = spans()
begins = sorted(s["begin"] for s in full)
start, stop = begins[len(begins) // 3], begins[len(begins) // 2]
assert spans("--from", str(start), "--to", str(stop)) == [s for s in full if s["end"] >= start and s["begin"] < stop]
lengths = sorted(s["duration"] for s in full)
least = lengths[len(lengths) // 2]
assert 0 < least < lengths[-1]
assert spans("--min-duration", f"{least}ns") == [s for s in full if s["duration"] >= least]
assert spans("--kind", "fine", "--slot", "2") == [s for s in full if s["kind"] == "fine" and s["slot"] == 2]
assert spans("--thread", str(full[0]["thread_id"])) == [s for s in full if s["thread_id"] == full[0]["thread_id"]]
assert len(spans("--kind", "fine", "--slot", "2")) > 0

# What ends before it begins lasted for no time; what has no end, for nobody knows how long.
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m
odd = m.file([m.block(1, 0, [(1000, "cb", 0), (900, "ce"), (2000, "cb", 0), (2100, "ce"), (3000, "cb", 0)])])
open(f"{work}/odd.bin", "wb").write(odd)
shown = json.loads(subprocess.run([rbwp, "dump", "--spans", "--min-duration", "50ns", f"{work}/odd.bin"], capture_output=True).stdout)
assert [s["begin"] for s in shown] == [2000, 3000], shown
P
finish
