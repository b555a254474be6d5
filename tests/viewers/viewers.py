# SPDX-License-Identifier: Apache-2.0
"""What viewers find in our exports against what the dump says; see traces.sh."""
import collections
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

rbwp, golden, here, work, make_extended = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, f"{here}/../cli")
import export_expect as x

ASSETS = f"{work}/package/assets"
OURS = ("link", "loss", "fact")
EXACT_NS = 2**52  # JSON's numbers are exact below, with their fractions


def exact(spans, origin):
    """True when viewers of JSON can have all times as they are."""
    return all(abs(t - origin) < EXACT_NS for s in spans for t in (s.start, s.stop or s.start))


def node(script, *args):
    done = subprocess.run(["node", f"{here}/{script}", *args], capture_output=True, timeout=240)
    assert done.returncode == 0, (script, args, done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"[") or line.startswith(b"{")]


def shown(name):
    """Names end at a NUL in some viewers."""
    return name.split("\0")[0]


def perfetto(name, path, trace, origin):
    spans, errors, flows = node(
        "perfetto.mjs", f"{ASSETS}/trace-processor", trace,
        "select category, name, ts, dur, (select int_value from args a where a.arg_set_id = s.arg_set_id and"
        " a.key glob '*unfinished') from slice s",
        "select name, value from stats where value != 0 and severity not in ('info')",
        "select s.ts, d.ts, d.category from flow f join slice s on f.slice_out = s.id join slice d on f.slice_in = d.id",
    )
    have, want, dropped = collections.Counter(), collections.Counter(), 0
    for category, title, start, duration, unfinished in spans:
        if category not in OURS:
            start = int(start) + origin
            stop = None if unfinished else start + int(duration)
            have[x.Span(category, shown(title), start, stop)] += 1
    json_form = not trace.endswith(".pftrace")
    for s, n in x.spans(rbwp, path).items():
        if json_form and s.start < origin:  # Perfetto takes no JSON before time 0, and says so
            dropped += n
            continue
        start, stop = (t if json_form or t is None else max(t, 0) for t in (s.start, s.stop))
        want[x.Span(s.category, shown(s.name), start, stop)] += n
    early = [["trace_sorter_negative_timestamp_dropped", str(dropped)]] if dropped else []
    if json_form and not exact(want, origin):  # then what is early is the viewer's guess
        assert [e[0] for e in errors] in ([], ["trace_sorter_negative_timestamp_dropped"]), (trace, errors)
        assert sum(have.values()) + sum(int(e[1]) for e in errors) == sum(want.values()) + dropped, trace
        return
    assert errors == early, (trace, errors)
    assert have == want, (trace, have - want, want - have)
    if name == "overlap":
        assert len(flows) == 8 and all(int(a) <= int(b) and c == "gpu" for a, b, c in flows), flows


def catapult(name, path, trace, origin):
    seen = node("catapult.mjs", ASSETS, trace)[-1]
    events = json.load(open(trace))["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    empty = {(e["pid"], e["tid"], e["ts"]) for e in spans if e["dur"] == 0}
    lost = [e for e in events if e["ph"] == "f" and (e["pid"], e["tid"], e["ts"]) in empty]
    assert len(seen["warnings"]) == len(lost), (trace, seen["warnings"])  # no arrow ends in an empty span
    assert seen["slices"] == len(spans) == sum(x.spans(rbwp, path).values()), (trace, seen["slices"])
    assert seen["arrows"] == sum(e["ph"] == "s" for e in events) - len(lost), trace
    assert seen["departures"] == sum(e["ph"] == "i" and e["cat"] == "link" for e in events), (trace, seen["departures"])
    if not spans or not exact(x.spans(rbwp, path), origin):
        return
    total = sum(e["dur"] for e in spans) / 1000
    assert abs(seen["duration_ms"] - total) <= 1e-9 * total, trace
    first = min(e["ts"] for e in events if "ts" in e)  # where the viewer puts its 0
    assert abs(seen["first_ms"] - (min(e["ts"] for e in spans) - first) / 1000) < 1e-6, (trace, seen)
    last = (max(e["ts"] + e["dur"] for e in spans) - first) / 1000
    assert abs(seen["last_ms"] - last) <= 1e-9 * last, (trace, seen)


def speedscope(name, path, trace, origin):
    """Its own form to the nanosecond; Chrome JSON to what abutting spans are shorter by."""
    native, spans = trace.endswith(".speedscope.json"), x.spans(rbwp, path)
    if native and not spans:  # of a file without profiles it says that it is none
        return
    seen, = node("speedscope.mjs", f"{work}/package/dist/release", trace)
    if not spans or not exact(spans, origin) or any(s.stop is None for s in spans):
        return
    assert seen["warnings"] == [], (trace, seen["warnings"][:3])
    have, want = collections.Counter(), collections.Counter()
    for frame, sum_ in seen["frames"].items():
        have[frame if native else frame.partition(' {"')[0]] += sum_["ns"]
    for s, n in spans.items():
        want[s.name] += n * (s.stop - s.start)
    count = sum(f["count"] for f in seen["frames"].values())
    longer = sum(n for s, n in spans.items() if s.stop > s.start)  # it forgets what takes no time
    assert longer <= count <= sum(spans.values()), (trace, count)
    if name != "hostile":
        assert all(abs(have[k] - want[k]) <= (0 if native else 0.4 * count) for k in have | want), (trace, have, want)


def as_kineto(name, path, trace, origin):
    """PyTorch's form: every event is there, and every arrow's end."""
    events = json.load(open(trace))["traceEvents"]
    of = lambda ph: sum(e["ph"] == ph for e in events)
    (spans,), errors, (flows,) = node("perfetto.mjs", f"{ASSETS}/trace-processor", trace, "select count(*) from slice",
                                      "select name, value from stats where value != 0 and severity not in ('info')", "select count(*) from flow")
    assert (int(spans[0]), errors, int(flows[0])) == (of("X") + of("i"), [], of("f")) and of("f"), (trace, spans, errors, flows)
    if os.environ["CHROMIUM"]:
        seen = node("catapult.mjs", ASSETS, trace)[-1]
        assert (seen["slices"], seen["arrows"], seen["warnings"]) == (of("X") + of("i") - 1, of("s"), []), (trace, seen)


def files():
    for path in sorted(glob.glob(f"{golden}/*.bin")):
        yield os.path.basename(path)[:-4], path
    for name, make in ("hostile", x.hostile_names), ("overlap", x.overlapping_gpu), ("many", x.many_inside), ("unfinished", x.unfinished), ("abutting", x.abutting):
        make(f"{work}/{name}.bin")
        yield name, f"{work}/{name}.bin"
    subprocess.run([make_extended, f"{work}/extended.bin"], check=True)
    yield "extended", f"{work}/extended.bin"


def checks():
    for name, path in files():
        code = x.code_of(rbwp, path)
        if code == 1:
            continue
        made = {}
        for suffix in ("pftrace", "json", "speedscope.json") + (("json.gz",) if name == "multi_thread" else ()):
            made[suffix] = f"{work}/{name}.{suffix}"
            done = subprocess.run([rbwp, "export", "-o", made[suffix], path], capture_output=True)
            assert done.returncode == code, (path, done)
        origin = int(json.load(open(made["json"]))["otherData"]["origin_ns"])
        yield perfetto, name, path, made["pftrace"], 0
        yield perfetto, name, path, made["json"], origin
        if "json.gz" in made:
            yield perfetto, name, path, made["json.gz"], origin
        yield speedscope, name, path, made["speedscope.json"], origin
        yield speedscope, name, path, made["json"], origin
        if os.environ["CHROMIUM"]:
            yield catapult, name, path, made["json"], origin
        if name == "overlap":
            subprocess.run([rbwp, "export", "-o", f"{work}/{name}.kineto.json", path], check=True)
            yield as_kineto, name, path, f"{work}/{name}.kineto.json", origin


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    wanted = os.environ.get("VIEWERS_ONLY")
    running = [(c[1], c[3], pool.submit(*c)) for c in checks() if not wanted or c[1] in wanted.split()]
    failed = 0
    for name, trace, check in running:
        error = check.exception()
        if error:
            print(f"{name}: {trace}: {str(error)[:1500]}", file=sys.stderr)
            failed += 1
print(f"viewers: {len(running)} traces opened, {failed} with trouble")
sys.exit(1 if failed or not running else 0)
