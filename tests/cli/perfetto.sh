# SPDX-License-Identifier: Apache-2.0
# Perfetto's own traces come in: the tree of tracks, slices, instants, counters, flows, categories and
# arguments, names told once, clocks of every kind, packed packets; what is of other kinds is listed. Our
# own export comes back as what it was. Bytes that are cut or wrong cost what is behind them, no more.
. "$(dirname "$0")/lib.sh"

PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$RBWP" "$work" "$GOLDEN" "$here" <<'P' || fail "Perfetto"
import csv, glob, gzip, io, json, os, random, struct, subprocess, sys, zlib

rbwp, work, golden, here = sys.argv[1:]
sys.path.insert(0, here)
import perfetto_decode


def varint(n):
    n &= 2**64 - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def m(*fields):
    """A message of (number, value): ints are varints, floats doubles, bytes and texts lengths; ("fixed", n) is fixed64."""
    out = b""
    for number, value in fields:
        if isinstance(value, tuple):
            out += varint(number << 3 | 1) + struct.pack("<Q", value[1])
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def packet(*fields):
    return m((1, m(*fields)))


def run(data, to="ndjson"):
    open(f"{work}/t", "wb").write(data)
    done = subprocess.run([rbwp, "export", f"--to={to}", f"{work}/t"], capture_output=True)
    out = done.stdout.decode()
    lines = json.loads(out) if to == "chrome" and out else [json.loads(line) for line in out.splitlines()] if to == "ndjson" else out
    return done.returncode, lines, done.stderr.decode()


def flat(spans):
    return sorted((s["start_ns"], s["duration_ns"], s["process"], s["track"], s["track_kind"], s["category"], s["name"], s["depth"]) for s in spans)


T = 5_000_000_000
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
tracks = [packet((10, 1), (60, m((1, 10), (3, m((1, 7), (6, "app")))))), packet((10, 1), (60, m((1, 11), (5, 10), (4, m((1, 7), (2, 8), (5, "main")))))),
          packet((10, 1), (60, m((1, 12), (5, 11), (2, "queue")))),
          packet((10, 1), (60, m((1, 13), (5, 10), (2, "memory"), (8, m((3, 3), (4, 1024), (5, 1)))))), packet((10, 1), (60, m((1, 14), (5, 12), (2, "load"), (8, m((6, "W")))))),
          # The same thread, as another producer knows it.
          packet((10, 2), (60, m((1, 99), (4, m((1, 7), (2, 8), (5, "main again"))))))]
names = m((1, m((1, 1), (2, "net"))), (1, m((1, 2), (2, "io"))), (2, m((1, 5), (2, "send"))), (3, m((1, 1), (2, "bytes"))), (29, m((1, 1), (2, "told once"))))


def event(ts, *fields, seq=1, more=()):
    return packet((10, seq), (13, 2), *([(8, ts)] if ts is not None else []), (11, m(*fields)), *more)


args = [(4, m((1, 1), (3, 2**64 - 1))), (4, m((10, "delta"), (4, -5))), (4, m((10, "ratio"), (5, 0.5))), (4, m((10, "last"), (2, 1))), (4, m((10, "note"), (6, 'a"b'))),
        (4, m((10, "text"), (17, 1))), (4, m((10, "dict"), (11, m((10, "x"), (12, m((4, 1))), (12, m((6, "y"))))))), (4, m((10, "raw"), (9, "{not json")))]
events = [packet((10, 1), (13, 1), (12, names)),
          event(T + 100, (9, BEGIN), (11, 11), (10, 5), (3, 1), (3, 2), (52, 77), (47, ("fixed", 900)), *args), event(T + 200, (9, BEGIN), (11, 11), (23, "inner"), (22, "own")),
          event(T + 300, (9, END), (11, 11)), event(T + 400, (9, INSTANT), (11, 12), (23, "tick"), (47, ("fixed", 900))), event(T + 900, (9, END), (11, 11)),
          event(T + 950, (9, BEGIN), (11, 99), (23, "later"), (48, ("fixed", 900))), event(T + 960, (9, END), (11, 99)),
          *(event(T + t, (9, COUNTER), (11, 13), (30, v)) for t, v in ((10, 4), (20, 3), (30, -2))), *(event(T + t, (9, COUNTER), (11, 14), (44, v)) for t, v in ((20, 2.5), (10, 1.5)))]
want = [(T + 100, 800, "app", "main", "thread", "other", "send", 0), (T + 200, 100, "app", "main", "thread", "other", "inner", 1), (T + 400, 0, "app", "queue", "async", "other", "tick", 0),
        (T + 950, 10, "app", "main", "thread", "other", "later", 0)]
plain = b"".join(tracks + events)
packed = b"".join(packet((50, zlib.compress(b"".join(piece)))) for piece in (tracks, events))
for data in (plain, b"".join(events + tracks), gzip.compress(plain), packed, gzip.compress(packed)):
    code, spans, error = run(data)
    assert code == 0 and error == "rbwp export: ndjson: dropped 2 links, 5 values of counters\n" and flat(spans) == sorted(want), (code, error, flat(spans))

# All that they say, as Chrome JSON has it.
code, trace, error = run(plain, "chrome")
shown = {e["name"]: e for e in trace["traceEvents"] if e["ph"] in "Xi"}
told = dict(shown["send"]["args"])
own = told.pop("rbwp")
assert told == {"bytes": 2**64 - 1, "delta": -5, "ratio": 0.5, "last": True, "note": 'a"b', "text": "told once", "dict": {"x": [1, "y"]}, "raw": "{not json"}, told
assert own["correlation"] == "77" and shown["send"]["cat"] == "net,io" and shown["inner"]["cat"] == "own", shown
values = {}
for e in trace["traceEvents"]:
    if e["ph"] == "C":
        values.setdefault(e["name"], []).append(e["args"]["value"])
assert values == {"memory": [4096, 7168, 5120], "load": [1.5, 2.5]}, values
assert sorted(e["ph"] for e in trace["traceEvents"] if e["ph"] in "stf") == ["f", "f", "s", "s"]

# A run begins with its first event, of whatever type.
code, trace, error = run(b"".join([*tracks, packet((10, 1), (13, 1), (12, names)), event(T + 50, (9, INSTANT), (11, 12), (23, "tick"), (22, "own")), event(T + 90, (9, BEGIN), (11, 11), (10, 5)),
                                   event(T + 95, (9, END), (11, 11))]), "chrome")
assert {e["name"]: e["ts"] for e in trace["traceEvents"] if e["ph"] in "Xi"} == {"tick": 0, "send": 0.04}, trace

# A sequence that clears its state begins anew: names of before are gone, packets that rely on them are left out.
again = [*tracks, packet((10, 3), (13, 1), (12, names)), event(T, (9, INSTANT), (11, 12), (10, 5), seq=3), packet((10, 3), (13, 1)), event(T + 1, (9, INSTANT), (11, 12), (10, 5), seq=3),
         event(T + 2, (9, INSTANT), (11, 12), (23, "no state"), seq=4)]
code, spans, error = run(b"".join(again))
assert code == 3 and [s["name"] for s in spans] == ["send", "unnamed"] and "1 packets rely on others that are missing" in error, (code, spans, error)

# Clocks: the axis is the wall clock where a snapshot knows it; times of others, and of a sequence's own that counts up.
wall = 1_700_000_000_000_000_000
clocks = m((1, m((1, 6), (2, T))), (1, m((1, 3), (2, T - 1000))), (1, m((1, 1), (2, wall))), (1, m((1, 64), (2, 50), (3, 1), (4, 1000))))
timed = [*tracks, packet((10, 1), (13, 1), (6, clocks), (59, m((58, 64), (11, m((11, 12)))))), event(7, (9, INSTANT), (23, "a")), event(2, (9, INSTANT), (23, "b")),
         event(T, (9, INSTANT), (23, "c"), more=[(58, 3)]), event(wall + 5, (9, INSTANT), (23, "d"), more=[(58, 1)]), event(9, (9, INSTANT), (23, "e"), more=[(58, 70)]),
         event(None, (9, INSTANT), (23, "f"))]
code, spans, error = run(b"".join(timed))
assert code == 3 and "2 events have no time" in error, (code, error)
assert sorted((s["name"], s["start_ns"] - wall, s["track"]) for s in spans) == [("a", 7000, "queue"), ("b", 9000, "queue"), ("c", 1000, "queue"), ("d", 5, "queue")], spans

# A wall clock at the end of time, where the trace would not fit behind it, is none.
late = m((1, m((1, 6), (2, T))), (1, m((1, 1), (2, 2**61 - 1000))))
for at, zero in ((T + 900, 2**61 - 1000 - T), (T + 5000, 0)):
    code, spans, error = run(b"".join([*tracks, packet((10, 1), (13, 1), (6, late)), event(at, (9, INSTANT), (11, 11), (23, "a"))]))
    assert code == 0 and [s["start_ns"] - zero for s in spans] == [at], (code, spans, error)

# A snapshot of clocks that nothing ties to the trace's own places none of them.
adrift = m((1, m((1, 3), (2, 500))), (1, m((1, 64), (2, 50), (3, 1))))
code, spans, error = run(b"".join([*tracks, packet((10, 1), (13, 1), (6, adrift), (59, m((58, 64), (11, m((11, 12)))))), event(7, (9, INSTANT), (23, "a")), event(500, (9, INSTANT), (23, "b"), more=[(58, 3)]),
                                   event(T, (9, INSTANT), (23, "c"), more=[(58, 6)])]))
assert code == 3 and [s["name"] for s in spans] == ["c"] and "2 events have no time" in error, (code, spans, error)

# What is of other kinds is listed; ends without a begin, begins without an end.
odd = [*tracks, packet((10, 1), (13, 1)), *(packet((8, 1), (1, b"\x08\x01")) for _ in range(3)), packet((8, 1), (77, b"x")), event(T, (9, END), (11, 11)), event(T + 1, (9, BEGIN), (11, 11), (23, "open")),
       event(T + 5, (9, INSTANT), (11, 11), (23, "x")), packet((133, b"zstd"))]
code, spans, error = run(b"".join(odd))
assert code == 3 and sorted((s["name"], s["duration_ns"], s["finished"]) for s in spans) == [("open", 4, False), ("x", 0, True)], spans
for what in ("by kind: 3 ftrace, 1 of field 77", "1 ends have no begin", "1 begins have no end", "packed in an unknown way"):
    assert what in error, (what, error)

# Fields of an event that nothing knows, and flows beyond 16: as many parts are left out.
odd = (99, 1), (98, "y"), *((47, ("fixed", flow)) for flow in range(19))
code, spans, error = run(b"".join([*tracks, packet((10, 1), (13, 1)), event(T, (9, INSTANT), (11, 11), (23, "x"), *odd)]))
assert [s["name"] for s in spans] == ["x"] and "5 parts of events are of other kinds; left out" in error, error

# A circle of parents, a track that is its own parent, counters and events of tracks that nothing describes.
circle = [packet((60, m((1, 1), (5, 2), (2, "a")))), packet((60, m((1, 2), (5, 1), (2, "b")))), packet((60, m((1, 3), (5, 3), (2, "c")))),
          *(packet((8, T), (11, m((9, INSTANT), (11, t), (23, "x")))) for t in (1, 2, 3, 4))]
code, spans, error = run(b"".join(circle))
assert {s["track"] for s in spans} == {"a", "b", "c", "track 4"} and {s["process"] for s in spans} == {"Perfetto"}, spans

# A track many steps below its process is below all of them.
chain = [packet((60, m((1, 100 + i), (5, 99 + i if i else 10), (2, f"step {i}")))) for i in range(30)]
run(b"".join([*tracks, *chain, packet((8, T), (11, m((9, INSTANT), (11, 129), (23, "x"))))]))
done = subprocess.run([rbwp, "export", "--to=perfetto", "--no-deflate", f"{work}/t"], capture_output=True, check=True)
again = perfetto_decode.Trace(done.stdout)
(track,) = [found.track for found in again.slices if found.name == "x"]
above = []
while track in again.tracks:
    above.append(perfetto_decode.one(again.tracks[track], 2, b"").decode())
    track = perfetto_decode.one(again.tracks[track], 5)
assert above[:30] == [f"step {i}" for i in reversed(range(30))], above

# A time since the start of the machine is no wall clock: nothing is aligned by it.
open(f"{work}/boot", "wb").write(plain)
done = subprocess.run([rbwp, "merge", "--to=csv", f"{golden}/multi_thread.bin", f"{work}/boot"], capture_output=True)
assert done.returncode and b"boot: cannot be brought onto one axis" in done.stderr, done.stderr

# Flows as older producers told them: by phases of an event.
def flow(t, track, phase, *more):
    return event(T + t, (11, track), (23, "old"), (22, "net"), (6, m((2, ord(phase)), (6, 7), *more)))


legacy = [*tracks, packet((10, 1), (13, 1), (12, names)), event(T + 10, (9, BEGIN), (11, 11), (23, "one")), flow(12, 11, "s"), event(T + 20, (9, END), (11, 11)),
          event(T + 30, (9, BEGIN), (11, 12), (23, "two")), flow(35, 12, "f", (12, 1)), event(T + 40, (9, END), (11, 12))]
code, trace, error = run(b"".join(legacy), "chrome")
ends = [(e["ph"], round(1000 * e["ts"])) for e in trace["traceEvents"] if e["ph"] in "sf"]
assert code == 0 and sorted(ends) == [("f", 20), ("s", 2)], (ends, error)

# Our own exports come back, with the same zero time.
def rows(path):
    done = subprocess.run([rbwp, "export", "--to=csv", path], capture_output=True)
    return sorted(tuple(r[k] for k in ("start_ns", "duration_ns", "process", "track", "track_kind", "category", "name", "depth", "lane", "finished", "open"))
                  for r in csv.DictReader(io.StringIO(done.stdout.decode())))


for name in ("level2_all_types_zlib", "multi_thread", "discard", "crash_killed", "gaps"):
    path = f"{golden}/{name}.bin"
    subprocess.run([rbwp, "export", "-f", "-o", f"{work}/own.pftrace", path], capture_output=True)
    assert rows(path) == rows(f"{work}/own.pftrace") and rows(path), name
    done = subprocess.run([rbwp, "merge", "--force-merge", "--to=csv", path, f"{work}/own.pftrace"], capture_output=True)
    assert done.returncode in (0, 3) and b"own.pftrace: Perfetto: aligned by equal zero time, shift +0 ns" in done.stderr, done.stderr

# Of a file with all that a trace can hold: spans, arguments with their types, launches, counters and both ends of
# each link are what they are when the file itself is exported. (Slots stand only where a span has more to tell.)
def told(path):
    trace = json.loads(subprocess.run([rbwp, "export", "--to=chrome", path], capture_output=True).stdout)["traceEvents"]
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in trace if e["name"] == "thread_name"}
    kinds = {e["args"].get("rbwp_track"): e["args"]["name"] for e in trace if e["name"] == "thread_name"}
    found, arrows = [], {}
    for e in trace:
        if e.get("cat") == "link":  # where an arrow leaves whose span is not known
            continue
        place, args = names.get((e["pid"], e.get("tid"))), e.get("args", {})
        args.pop("slot", None), args.pop("item", None)
        if "launch_track" in args.get("rbwp", {}):
            args["rbwp"]["launch_track"] = kinds[args["rbwp"]["launch_track"]]
        if e["ph"] in "sf":
            arrows.setdefault((e["cat"], e["name"], e["id"]), {})[e["ph"]] = (place, e["ts"])
        elif e["ph"] in "XiC" and e["name"] != "rbwp":
            found.append((e["name"], e.get("cat"), e["ts"], e.get("dur"), place, json.dumps(args, sort_keys=True)))
        elif e["name"] == "process_name":
            assert "rbwp_os_id" not in args, args
    return sorted(found, key=str), sorted((*key[:2], ends["s"], ends["f"]) for key, ends in arrows.items())


subprocess.run([os.environ["MAKE_MODEL"], f"{work}/model", "rows"], check=True)
subprocess.run([rbwp, "export", "-f", "-o", f"{work}/own.pftrace", f"{work}/model"], capture_output=True)
was, now = told(f"{work}/model"), told(f"{work}/own.pftrace")
for a, b in zip(was, now):
    assert a == b, [p for p in zip(a, b) if p[0] != p[1]][:2]
assert len(was[0]) > 224 and len(was[1]) == 76 and any("launch_track" in s[5] for s in was[0]), (len(was[0]), len(was[1]))

# Text that is given for JSON is that if it is an object or array; else it is a text.
trees = ["{}", "[]", ' {"a": [1, -2.5e+3, "x\\u00e9\\n", true, null, {}], "b" : {"c":[[]]} } ', "[" * 64 + "]" * 64]
texts = ["", "1", '"x"', "{", "[1,]", "[01]", "[1.]", "[.5]", "[1e]", "[-]", "[tru]", '{"a"}', '{"a":}', '{a:1}', '{"a":1,}', "[1 2]", "[1}", '["\\x"]', '["\\u12g4"]', '["\n"]', '["a]', "[] []",
         "[" * 66 + "]" * 66]
given = [packet((8, T + i), (10, 1), (11, m((9, INSTANT), (11, 11), (23, "j"), (4, m((10, "v"), (9, text)))))) for i, text in enumerate(trees + texts)]
code, trace, error = run(b"".join(tracks + given), "chrome")
values = [e["args"]["v"] for e in sorted((e for e in trace["traceEvents"] if e["name"] == "j"), key=lambda e: e["ts"])]
assert values == [json.loads(text) for text in trees] + texts, [(v, t) for v, t in zip(values, trees + texts) if v != t]

# Cut anywhere: what is whole stays. Wrong bytes anywhere.
for cut in range(1, len(plain), 7):
    code, spans, error = run(plain[:cut])
    assert code in (0, 1, 3) and len(spans) <= 4, (cut, code, error)
random.seed(9)
for _ in range(120):
    hurt = bytearray(random.choice((plain, packed)))
    for _ in range(random.randrange(1, 6)):
        hurt[random.randrange(4, len(hurt))] = random.randrange(256)
    code, spans, error = run(bytes(hurt))
    assert code in (0, 1, 3), (code, error)
if os.environ.get("KEEP"):
    for name, data in (("plain", plain), ("packed", packed), ("clocks", b"".join(timed)), ("odd", b"".join(odd)), ("circle", b"".join(circle)), ("again", b"".join(again))):
        open(f"{os.environ['KEEP']}/{name}", "wb").write(data)
P
finish
