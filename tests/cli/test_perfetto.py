# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own traces come in: the tree of tracks, slices, instants, counters, flows, categories and arguments, interned names, clocks
of every kind, packed packets; what is of other kinds is listed. Our own export comes back as what it was. Bytes that are cut or wrong
cost what is behind them, no more."""
import csv
import gzip
import io
import json
import random
import struct
import zlib

import perfetto_decode
import pytest


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


T = 5_000_000_000
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
TRACKS = [packet((10, 1), (60, m((1, 10), (3, m((1, 7), (6, "app")))))), packet((10, 1), (60, m((1, 11), (5, 10), (4, m((1, 7), (2, 8), (5, "main")))))),
          packet((10, 1), (60, m((1, 12), (5, 11), (2, "queue")))),
          packet((10, 1), (60, m((1, 13), (5, 10), (2, "memory"), (8, m((3, 3), (4, 1024), (5, 1)))))),
          packet((10, 1), (60, m((1, 14), (5, 12), (2, "load"), (8, m((6, "W")))))),
          # The same thread, as another producer knows it.
          packet((10, 2), (60, m((1, 99), (4, m((1, 7), (2, 8), (5, "main again"))))))]
NAMES = m((1, m((1, 1), (2, "net"))), (1, m((1, 2), (2, "io"))), (2, m((1, 5), (2, "send"))), (3, m((1, 1), (2, "bytes"))), (29, m((1, 1), (2, "told once"))))


def event(ts, *fields, seq=1, more=()):
    return packet((10, seq), (13, 2), *([(8, ts)] if ts is not None else []), (11, m(*fields)), *more)


ARGS = [(4, m((1, 1), (3, 2**64 - 1))), (4, m((10, "delta"), (4, -5))), (4, m((10, "ratio"), (5, 0.5))), (4, m((10, "last"), (2, 1))),
        (4, m((10, "note"), (6, 'a"b'))), (4, m((10, "text"), (17, 1))),
        (4, m((10, "dict"), (11, m((10, "x"), (12, m((4, 1))), (12, m((6, "y"))))))), (4, m((10, "raw"), (9, "{not json")))]
EVENTS = [packet((10, 1), (13, 1), (12, NAMES)),
          event(T + 100, (9, BEGIN), (11, 11), (10, 5), (3, 1), (3, 2), (52, 77), (47, ("fixed", 900)), *ARGS),
          event(T + 200, (9, BEGIN), (11, 11), (23, "inner"), (22, "own")),
          event(T + 300, (9, END), (11, 11)), event(T + 400, (9, INSTANT), (11, 12), (23, "tick"), (47, ("fixed", 900))), event(T + 900, (9, END), (11, 11)),
          event(T + 950, (9, BEGIN), (11, 99), (23, "later"), (48, ("fixed", 900))), event(T + 960, (9, END), (11, 99)),
          *(event(T + t, (9, COUNTER), (11, 13), (30, v)) for t, v in ((10, 4), (20, 3), (30, -2))),
          *(event(T + t, (9, COUNTER), (11, 14), (44, v)) for t, v in ((20, 2.5), (10, 1.5)))]
SPANS = [(T + 100, 800, "app", "main", "thread", "other", "send", 0), (T + 200, 100, "app", "main", "thread", "other", "inner", 1),
         (T + 400, 0, "app", "queue", "async", "other", "tick", 0), (T + 950, 10, "app", "main", "thread", "other", "later", 0)]
PLAIN = b"".join(TRACKS + EVENTS)
PACKED = b"".join(packet((50, zlib.compress(b"".join(piece)))) for piece in (TRACKS, EVENTS))


@pytest.fixture
def read(rbwp, work):
    """read(data, to="ndjson"): exit status, what the export is, what was reported."""
    def export(data, to="ndjson", code=0):
        data = data if isinstance(data, bytes) else b"".join(data)
        (work / "t").write_bytes(data)
        done = rbwp("export", f"--to={to}", work / "t", code=code)
        return done.json if to == "chrome" else [json.loads(line) for line in done.lines], done.error

    return export


def drawn(trace):
    return [e for e in trace["traceEvents"] if e["ph"] in "Xi"]


@pytest.mark.parametrize("data", [PLAIN, b"".join(EVENTS + TRACKS), gzip.compress(PLAIN), PACKED, gzip.compress(PACKED)],
                         ids=["plain", "tracks last", "gzip", "packed", "packed, gzip"])
def test_spans(read, data):
    spans, error = read(data)
    assert error == "rbwp export: ndjson: dropped 2 links, 5 values of counters\n"
    assert sorted((s["start_ns"], s["duration_ns"], s["process"], s["track"], s["track_kind"], s["category"], s["name"], s["depth"])
                  for s in spans) == sorted(SPANS)


def test_all_that_they_say(read):
    """As Chrome JSON has it."""
    trace, _ = read(PLAIN, "chrome")
    shown = {e["name"]: e for e in drawn(trace)}
    given = dict(shown["send"]["args"])
    own = given.pop("rbwp")
    assert given == {"bytes": 2**64 - 1, "delta": -5, "ratio": 0.5, "last": True, "note": 'a"b', "text": "told once",
                     "dict": {"x": [1, "y"]}, "raw": "{not json"}
    assert own["correlation"] == "77" and shown["send"]["cat"] == "net,io" and shown["inner"]["cat"] == "own", shown
    values = {}
    for e in trace["traceEvents"]:
        if e["ph"] == "C":
            values.setdefault(e["name"], []).append(e["args"]["value"])
    assert values == {"memory": [4096, 7168, 5120], "load": [1.5, 2.5]}, values
    assert sorted(e["ph"] for e in trace["traceEvents"] if e["ph"] in "stf") == ["f", "f", "s", "s"]


def test_run_begins_with_its_first_event(read):
    """Of whatever type."""
    trace, _ = read([*TRACKS, packet((10, 1), (13, 1), (12, NAMES)), event(T + 50, (9, INSTANT), (11, 12), (23, "tick"), (22, "own")),
                     event(T + 90, (9, BEGIN), (11, 11), (10, 5)), event(T + 95, (9, END), (11, 11))], "chrome")
    assert {e["name"]: e["ts"] for e in drawn(trace)} == {"tick": 0, "send": 0.04}


def test_sequence_that_clears_its_state(read):
    """It begins anew: names of before are gone, packets that rely on them are dropped."""
    spans, error = read([*TRACKS, packet((10, 3), (13, 1), (12, NAMES)), event(T, (9, INSTANT), (11, 12), (10, 5), seq=3),
                         packet((10, 3), (13, 1)), event(T + 1, (9, INSTANT), (11, 12), (10, 5), seq=3),
                         event(T + 2, (9, INSTANT), (11, 12), (23, "no state"), seq=4)], code=3)
    assert [s["name"] for s in spans] == ["send", "unnamed"] and "1 packets rely on others that are missing" in error, (spans, error)


def test_clocks(read):
    """The axis is the wall clock where a snapshot knows it; times of others, and of a sequence's own that counts up."""
    wall = 1_700_000_000_000_000_000
    clocks = m((1, m((1, 6), (2, T))), (1, m((1, 3), (2, T - 1000))), (1, m((1, 1), (2, wall))), (1, m((1, 64), (2, 50), (3, 1), (4, 1000))))
    own = packet((10, 1), (13, 1), (6, clocks), (59, m((58, 64), (11, m((11, 12))))))
    spans, error = read([*TRACKS, own, event(7, (9, INSTANT), (23, "a")), event(2, (9, INSTANT), (23, "b")),
                         event(T, (9, INSTANT), (23, "c"), more=[(58, 3)]), event(wall + 5, (9, INSTANT), (23, "d"), more=[(58, 1)]),
                         event(9, (9, INSTANT), (23, "e"), more=[(58, 70)]), event(None, (9, INSTANT), (23, "f"))], code=3)
    assert "2 events have no time" in error
    assert sorted((s["name"], s["start_ns"] - wall, s["track"]) for s in spans) == [
        ("a", 7000, "queue"), ("b", 9000, "queue"), ("c", 1000, "queue"), ("d", 5, "queue")]


def test_wall_clock_at_the_end_of_time(read):
    """Where the trace would not fit behind it, it is none."""
    late = m((1, m((1, 6), (2, T))), (1, m((1, 1), (2, 2**61 - 1000))))
    for at, zero in ((T + 900, 2**61 - 1000 - T), (T + 5000, 0)):
        spans, _ = read([*TRACKS, packet((10, 1), (13, 1), (6, late)), event(at, (9, INSTANT), (11, 11), (23, "a"))])
        assert [s["start_ns"] - zero for s in spans] == [at]


def test_snapshot_that_nothing_ties_to_the_trace(read):
    """It places none of its clocks."""
    adrift = m((1, m((1, 3), (2, 500))), (1, m((1, 64), (2, 50), (3, 1))))
    spans, error = read([*TRACKS, packet((10, 1), (13, 1), (6, adrift), (59, m((58, 64), (11, m((11, 12)))))), event(7, (9, INSTANT), (23, "a")),
                         event(500, (9, INSTANT), (23, "b"), more=[(58, 3)]), event(T, (9, INSTANT), (23, "c"), more=[(58, 6)])], code=3)
    assert [s["name"] for s in spans] == ["c"] and "2 events have no time" in error, (spans, error)


def test_other_kinds_are_listed(read):
    """And ends without a begin, begins without an end."""
    spans, error = read([*TRACKS, packet((10, 1), (13, 1)), *(packet((8, 1), (1, b"\x08\x01")) for _ in range(3)), packet((8, 1), (77, b"x")),
                         event(T, (9, END), (11, 11)), event(T + 1, (9, BEGIN), (11, 11), (23, "open")),
                         event(T + 5, (9, INSTANT), (11, 11), (23, "x")), packet((133, b"zstd"))], code=3)
    assert sorted((s["name"], s["duration_ns"], s["finished"]) for s in spans) == [("open", 4, False), ("x", 0, True)]
    for what in ("by kind: 3 ftrace, 1 of field 77", "1 ends have no begin", "1 begins have no end", "packed in an unknown way"):
        assert what in error


def test_unknown_parts_of_an_event(read):
    """Fields that nothing knows, and flows beyond 16: as many parts are dropped."""
    odd = (99, 1), (98, "y"), *((47, ("fixed", flow)) for flow in range(19))
    spans, error = read([*TRACKS, packet((10, 1), (13, 1)), event(T, (9, INSTANT), (11, 11), (23, "x"), *odd)], code=None)
    assert [s["name"] for s in spans] == ["x"] and "5 parts of events are of other kinds; dropped" in error, error


def test_circle_of_parents(read):
    """And a track that is its own parent, counters and events of tracks that nothing describes."""
    spans, _ = read([packet((60, m((1, 1), (5, 2), (2, "a")))), packet((60, m((1, 2), (5, 1), (2, "b")))), packet((60, m((1, 3), (5, 3), (2, "c")))),
                     *(packet((8, T), (11, m((9, INSTANT), (11, t), (23, "x")))) for t in (1, 2, 3, 4))], code=None)
    assert {s["track"] for s in spans} == {"a", "b", "c", "track 4"} and {s["process"] for s in spans} == {"Perfetto"}, spans


def test_track_many_steps_below_its_process(rbwp, work):
    """It is below all of them."""
    chain = [packet((60, m((1, 100 + i), (5, 99 + i if i else 10), (2, f"step {i}")))) for i in range(30)]
    (work / "t").write_bytes(b"".join([*TRACKS, *chain, packet((8, T), (11, m((9, INSTANT), (11, 129), (23, "x"))))]))
    again = perfetto_decode.Trace(rbwp("export", "--to=perfetto", "--no-deflate", work / "t").out)
    (track,) = [found.track for found in again.slices if found.name == "x"]
    above = []
    while track in again.tracks:
        above.append(perfetto_decode.one(again.tracks[track], 2, b"").decode())
        track = perfetto_decode.one(again.tracks[track], 5)
    assert above[:30] == [f"step {i}" for i in reversed(range(30))], above


def test_boot_time_is_no_wall_clock(rbwp, golden, work):
    """Nothing is aligned by a time since the start of the machine."""
    (work / "boot").write_bytes(PLAIN)
    done = rbwp("merge", "--to=csv", golden / "multi_thread.bin", work / "boot", code=None).says("boot: cannot be brought onto one axis")
    assert done.code


def test_flows_of_older_producers(read):
    """By phases of an event."""
    def flow(t, track, phase, *more):
        return event(T + t, (11, track), (23, "old"), (22, "net"), (6, m((2, ord(phase)), (6, 7), *more)))

    trace, _ = read([*TRACKS, packet((10, 1), (13, 1), (12, NAMES)), event(T + 10, (9, BEGIN), (11, 11), (23, "one")), flow(12, 11, "s"),
                     event(T + 20, (9, END), (11, 11)), event(T + 30, (9, BEGIN), (11, 12), (23, "two")), flow(35, 12, "f", (12, 1)),
                     event(T + 40, (9, END), (11, 12))], "chrome")
    ends = [(e["ph"], round(1000 * e["ts"])) for e in trace["traceEvents"] if e["ph"] in "sf"]
    assert sorted(ends) == [("f", 20), ("s", 2)]


COLUMNS = ("start_ns", "duration_ns", "process", "track", "track_kind", "category", "name", "depth", "lane", "finished", "open")


@pytest.mark.parametrize("name", ["level2_all_types_zlib", "multi_thread", "discard", "crash_killed", "gaps"])
def test_own_exports_come_back(rbwp, golden, work, name):
    """With the same zero time."""
    def rows(path):
        table = csv.DictReader(io.StringIO(rbwp("export", "--to=csv", path, code=None).text))
        return sorted(tuple(row[column] for column in COLUMNS) for row in table)

    path, own = golden / f"{name}.bin", work / "own.pftrace"
    rbwp("export", "-f", "-o", own, path, code=None)
    assert rows(path) == rows(own) and rows(path)
    rbwp("merge", "--force-merge", "--to=csv", path, own, code=(0, 3)).says("own.pftrace: Perfetto: aligned by equal zero time, shift +0 ns")


def content(trace):
    """Of a Chrome JSON trace: spans and arrows with what they say; tracks by name, as their numbers may differ."""
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


def test_all_that_a_trace_can_hold(run, rbwp, program, work):
    """Spans, arguments with their types, launches, counters and both ends of each link are what they are when the file itself is
    exported. (Slots stand only where a span has more.)"""
    model, own = work / "model", work / "own.pftrace"
    run(program("MAKE_MODEL"), model, "rows")
    rbwp("export", "-f", "-o", own, model)
    was, now = (content(rbwp("export", "--to=chrome", path).json["traceEvents"]) for path in (model, own))
    assert was == now
    assert len(was[0]) > 224 and len(was[1]) == 76 and any("launch_track" in s[5] for s in was[0]), (len(was[0]), len(was[1]))


TREES = ["{}", "[]", ' {"a": [1, -2.5e+3, "x\\u00e9\\n", true, null, {}], "b" : {"c":[[]]} } ', "[" * 64 + "]" * 64]
TEXTS = ["", "1", '"x"', "{", "[1,]", "[01]", "[1.]", "[.5]", "[1e]", "[-]", "[tru]", '{"a"}', '{"a":}', '{a:1}', '{"a":1,}', "[1 2]", "[1}", '["\\x"]',
         '["\\u12g4"]', '["\n"]', '["a]', "[] []", "[" * 66 + "]" * 66]


def test_text_that_is_given_for_json(read):
    """It is that if it is an object or array; else it is a text."""
    given = [packet((8, T + i), (10, 1), (11, m((9, INSTANT), (11, 11), (23, "j"), (4, m((10, "v"), (9, text)))))) for i, text in enumerate(TREES + TEXTS)]
    trace, _ = read(TRACKS + given, "chrome", code=None)
    values = [e["args"]["v"] for e in sorted((e for e in trace["traceEvents"] if e["name"] == "j"), key=lambda e: e["ts"])]
    assert values == [json.loads(text) for text in TREES] + TEXTS


def test_cut_anywhere(read):
    """What is whole stays."""
    for cut in range(1, len(PLAIN), 7):
        assert len(read(PLAIN[:cut], code=(0, 1, 3))[0]) <= 4, cut


def test_wrong_bytes_anywhere(read):
    random.seed(9)
    for _ in range(120):
        hurt = bytearray(random.choice((PLAIN, PACKED)))
        for _ in range(random.randrange(1, 6)):
            hurt[random.randrange(4, len(hurt))] = random.randrange(256)
        read(bytes(hurt), code=(0, 1, 3))
