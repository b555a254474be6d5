# SPDX-License-Identifier: Apache-2.0
# The parts of a file are valid RBWP files and hold what the original has: every record but those
# at cuts is in one part, the time of each thread and name adds up, names, threads and losses stay.
# Guards cuts at boundaries, filters as dump's, the refusal to overwrite, and hostile input.
. "$(dirname "$0")/lib.sh"
"$MAKE_EXTENDED" "$work/extended.bin" || fail "make_extended"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "parts"
import collections, csv, glob, io, json, os, shutil, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
sys.path.append(f"{here}/../oracle")
import rbwp_make as m
from json_schema import validate


def run(*args, code=0):
    done = subprocess.run([rbwp, *args], capture_output=True, text=True)
    assert done.returncode == code, (args, done)
    return done


document_schema = json.loads(run("help", "--schema", "split").stdout)


def dump(path):
    return json.loads(run("dump", path).stdout)


def spans(path):
    return [json.loads(l) for l in run("dump", "--spans", "--ndjson", path).stdout.splitlines()]


def split(name, *options, source=None, valid=True):
    """The parts, by number."""
    folder = f"{work}/parts"
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    shutil.copy(source or f"{golden}/{name}.bin", f"{folder}/a.bin")
    document = json.loads(run("split", "--json", *options, f"{folder}/a.bin").stdout)
    assert not list(validate(document_schema, document, "split", set())), document
    rows = list(csv.DictReader(io.StringIO(run("split", "-f", "--csv", "parts", *options, f"{folder}/a.bin").stdout)))
    assert rows == [{key: "" if value is None else str(value) for key, value in part.items()} for part in document["parts"]], rows
    out = run("split", "-f", *options, f"{folder}/a.bin").stdout
    os.unlink(f"{folder}/a.bin")
    parts = sorted(glob.glob(f"{folder}/*"))
    assert out.splitlines()[-1] == f"{len(parts)} files; {document['cuts']} cuts through spans", out
    assert [(part["file"], part["bytes"]) for part in document["parts"]] == [(part, os.path.getsize(part)) for part in parts], document
    for part in parts:
        if valid:
            check = json.loads(run("check", "--json", part).stdout)
            assert not check["breaks"], (part, check)
    return parts


def sums(found):
    """Time by thread, kind and name; only of whole spans."""
    out = collections.Counter()
    for s in found:
        if s["finished"]:
            out[s["thread_id"], s["kind"], s.get("sub_item", s["slot"])] += s["duration"] or 0
    return out


def records(path):
    return collections.Counter((b["thread_id"], json.dumps({k: v for k, v in r.items() if k != "offset" and k != "encoding"}, sort_keys=True))
                               for b in dump(path)["blocks"] for r in b["records"])


plain = lambda p: {k: p[k] for k in ("work_items", "sub_items")}
for name in ("multi_thread", "level2_all_types", "straddle", "gaps", "gpu_work", "discard", "level1_one_thread"):
    path = f"{golden}/{name}.bin"
    whole, all_spans = dump(path), spans(path)
    host = [s for s in all_spans if s["kind"] != "gpu"]
    zero = whole["header"]["zero_time"]
    last = max(r["ts"] for b in whole["blocks"] for r in b["records"])
    first = min(r["ts"] for b in whole["blocks"] for r in b["records"])
    # By time, in three widths.
    for count in (1, 3, 17):
        every = max((last - zero) // count + 1, 1)
        parts = split(name, "--every", str(every))
        found = [spans(p) for p in parts]
        flat = [s for f in found for s in f]
        assert sums(flat) == sums(all_spans), name
        assert all(s["finished"] for s in flat), name
        for p, f in zip(parts, found):
            number = int(p.split(".")[-2])
            low, high = zero + number * every, zero + (number + 1) * every
            assert plain(dump(p)) == plain(whole) and dump(p)["header"]["zero_time"] == zero
            for s in f:
                if s["kind"] != "gpu":
                    assert (low <= s["begin"] or number == 0) and s["end"] <= high, (name, number, s)
        # A span is in as many parts as it touches.
        cut = lambda s: max(0, (s["end"] - 1 - zero) // every) - max(0, (s["begin"] - zero) // every) if s["end"] > s["begin"] else 0
        assert len(flat) == len(all_spans) + sum(cut(s) for s in host), (name, count)
    # By thread: nothing is cut, every record is in one part.
    parts = split(name, "--by-thread")
    assert len(parts) == len({b["thread_id"] for b in whole["blocks"]})
    total = collections.Counter()
    for p in parts:
        assert len({b["thread_id"] for b in dump(p)["blocks"]}) == 1
        total += records(p)
    assert total == records(path), name
    # A window of time: all there is in it, cut at its ends.
    low, high = first + (last - first) // 3, first + (last - first) // 2
    (part,) = split(name, "--from", str(low), "--to", str(high)) or (None,)
    want = collections.Counter()
    for s in host:
        if s["begin"] < high and s["end"] > low:
            want[s["thread_id"], s["kind"], s.get("sub_item", s["slot"])] += min(s["end"], high) - max(s["begin"], low)
    got = sums([s for s in spans(part) if s["kind"] != "gpu"])
    assert +got == +want, name
# Filters of records are dump's.
path = f"{golden}/multi_thread.bin"
for options in (["--kind", "fine"], ["--slot", "2"], ["--thread", str(dump(path)["blocks"][0]["thread_id"])]):
    (part,) = split("multi_thread", *options)
    want = collections.Counter((b["thread_id"], r["ts"], r["type"]) for b in json.loads(run("dump", *options, path).stdout)["blocks"] for r in b["records"])
    got = collections.Counter((b["thread_id"], r["ts"], r["type"]) for b in dump(part)["blocks"] for r in b["records"])
    assert got == want and want, options

# One call over many windows, with a sub-item open and nothing else recorded meanwhile.
long = f"{work}/long.bin"
open(long, "wb").write(m.file([m.block(7, 0, [(1000, "cb", 3), (1010, "fb", 9), (1990, "fe"), (2000, "ce"), (2000, "cb", 3), (2050, "ce")])], [(3, b"three")], [(9, 1, b"nine")]))
parts = split(None, "--every", "100ns", source=long)
assert len(parts) == 11, parts
found = [[(s["kind"], s["begin"] - 1000, s["end"] - 1000) for s in spans(p)] for p in parts]
assert found[0] == [("fine", 10, 100), ("coarse", 0, 100)], found[0]
assert found[5] == [("fine", 500, 600), ("coarse", 500, 600)], found[5]
assert found[9] == [("fine", 900, 990), ("coarse", 900, 1000)], found[9]
assert found[10] == [("coarse", 1000, 1050)], found[10]
# A span that is open for thousands of parts is refused before any file is made for it, on one jump or on several.
for ends in ((1 + 5756,), tuple(range(602, 6000, 600))):
    open(long, "wb").write(m.file([m.block(7, 0, [(1000, "cb", 3), *((1000 + 100 * e, "fb", 9) for e in ends), (1000 + 2000000, "ce")])]))
    done = run("split", "--every", "100ns", "-o", f"{work}/jump.bin", long, code=1)
    assert "more than 1000 parts in which nothing" in done.stderr and not glob.glob(f"{work}/jump*"), done
open(long, "wb").write(m.file([m.block(7, 0, [(1000, "cb", 3), (1000 + 100 * 200, "ce")])]))
assert len(split(None, "--every", "100ns", source=long, valid=False)) == 200
# An unfinished call stays so, in the part where the thread was last seen.
open(long, "wb").write(m.file([m.block(7, 0, [(1000, "cb", 3), (1200, "cb", 4), (1250, "ce"), (1300, "cb", 5)])]))
found = [s for p in split(None, "--every", "100ns", source=long, valid=False) for s in spans(p)]
assert [(s["slot"], s["begin"], s["end"]) for s in found] == [(3, 1000, 1100), (3, 1100, 1200), (3, 1200, None), (4, 1200, 1250), (5, 1300, None)], found

# Trailer: threads, losses where they began, empty calls once.
extended = source = f"{work}/extended.bin"
info = lambda p: json.loads(run("info", "--json", p).stdout)
whole = info(source)
for options in (["--every", "1us"], ["--by-thread"], ["--kind", "coarse"]):
    parts = [info(p) for p in split(None, *options, source=source)]
    assert len(parts) == {"--every": 3, "--by-thread": 2, "--kind": 1}[options[0]], options
    for of in ("lost_records", "refused_calls"):
        assert sum(p[of] for p in parts) == whole[of], (options, of)
    assert sum(p["session"]["discarded"] for p in parts) == 17, options
    for p in parts:
        assert [t["thread"] if "thread" in t else t["name"] for t in p["threads"]] == [t["thread"] if "thread" in t else t["name"] for t in whole["threads"]]
        assert [t["thread_id"] for t in p["threads"]] == [11, 2**64 - 1]
        assert p["unknown_sections"] == whole["unknown_sections"] == [{"tag": "xtst", "length": 9}]
        assert p["session"]["command"] == whole["session"]["command"] and p["slot_uses"] == whole["slot_uses"]
    if options[0] == "--every":
        assert [p["lost_records"] for p in parts] == [1234, 0, 0], options
# Tables: each row is in the one part of its time or thread, with its cells, and what names a row names the same one or
# none; all parts have the schemas and names; other conditions leave rows alone.
sys.path.insert(0, f"{here}/../python")
import rbwp_reader, struct
from make_rbwp import T0, begin, block, end, finalised, opaque, section, ts2, ts8, with_trailer
from test_tables import names, numbers, rows, schema, varint

SPANS = ((4, 0, 0, b"noted", b""), (4, 1, 0, b"start", b""), (1, 10, 0, b"thread", b""), (6, 4, 0, b"what", b""),
         (7, 12, 7, b"in", b""), (8, 0, 0, b"text", b""), (1, 11, 0, b"id", b""))
COUNTS = ((5, 0, 0, b"wait", b""), (7, 5, 7, b"of", b""))  # no time


def plain(*values):
    return 0, struct.pack(f"<{len(values)}Q", *values)


def span_rows(first, count):
    ids = range(first, first + count)
    text = (5, b"".join(varint(i % 3) for i in ids) + b"".join(b"ab"[:i % 3] for i in ids))
    return rows(first, [plain(*(T0 for i in ids)), plain(*(T0 + 100 * i for i in ids)), numbers(*(3 + i % 2 for i in ids)),
                        numbers(*(i % 3 for i in ids)), numbers(*(i // 2 for i in ids)), text, numbers(*(1000 + i for i in ids))],
                count, table=7, times=(T0, T0 + 100 * (first + count - 1)), compress=count % 2)


tabled = [schema(7, SPANS, b"span"), names(1, b"copy", b"flush"), span_rows(1, 10), schema(2, COUNTS, b"wait"), names(5, b"late"),
          block([begin(ts8(T0 + 1000)), end(ts2(900))], base=T0 + 1000, thread=3), span_rows(20, 11), opaque(b"xtst"),
          rows(1, [numbers(5, 6, 7), numbers(1, 30, 8)], 3, table=2), span_rows(40, 5), schema(3, name=b"empty")]
source = f"{work}/tables.bin"
open(source, "wb").write(with_trailer(finalised(tabled), section(b"WRIT", b"t")))
original = rbwp_reader.parse(finalised(tabled))
assert not original["problems"], original["problems"]


def table_rows(result, table, expected=True):
    found = {s["table"]: s for s in result["schemas"]}
    assert sorted(found) == [2, 3, 7] and result["names"] == original["names"] and not result["problems"], result["problems"]
    assert [s["columns"] for s in result["schemas"]] == [s["columns"] for s in original["schemas"]]
    return [r["values"] for r in found[table]["rows"]], [r["row"] for r in found[table]["rows"]]


all_spans, all_numbers = table_rows(original, 7)
old_id = dict(zip(all_numbers, (v[6] for v in all_spans)))
for options, place in ((["--every", "1500ns"], lambda v: v[1] // 1500), (["--by-thread"], lambda v: v[2]),
                       (["--from", str(T0 + 500), "--to", str(T0 + 2300)], lambda v: T0 + 500 <= v[1] < T0 + 2300),
                       (["--thread", "4"], lambda v: v[2] == 4), (["--slot", "0"], lambda v: True)):
    parts = [rbwp_reader.parse(open(p, "rb").read()) for p in split(None, *options, source=source)]
    got, waits = [], []
    for part in parts:
        cells, row_numbers = table_rows(part, 7)
        assert row_numbers == list(range(1, len(cells) + 1))
        assert len({place(v) for v in cells}) <= 1 or options[0] == "--every", options
        mine = {v[6]: number for v, number in zip(cells, row_numbers)}
        for v in cells:
            of = old_id.get(all_spans[[a[6] for a in all_spans].index(v[6])][4])
            assert v[4] == mine.get(of, 0), (options, v)
            got.append([*v[:4], *v[5:]])
        for wait, of in table_rows(part, 2)[0]:
            waits.append(wait)
            assert of == mine.get({5: 1001, 6: 1030, 7: 1008}[wait], 0), (options, wait, of)
        assert part["table_ranges"]
    keep = (lambda v: True) if options[0] in ("--every", "--by-thread", "--slot") else place
    assert sorted(got) == sorted([*v[:4], *v[5:]] for v in all_spans if keep(v)), options
    assert sorted(waits) == ([] if options[0] == "--thread" else [5, 6, 7]), (options, waits)
broken = f"{work}/broken_table.bin"
open(broken, "wb").write(finalised(tabled[:3] + [rows(2, [numbers(1)], 1, table=7)] + tabled[3:]))
done = run("split", "-o", f"{work}/left.bin", "--every", "1s", broken, code=3)
assert "R49" in done.stderr and "26 rows of tables" not in done.stderr and "29 rows of tables" in done.stdout, done

# Losses outside the window are not told of; those of no known time are.
(part,) = split(None, "--from", "3000", source=extended)
assert info(part)["lost_records"] == 0 and info(part)["refused_calls"] == 2
P

gaps=$work/gaps.bin
cp "$GOLDEN/gaps.bin" "$gaps"
expect_exit 0 "$RBWP" split --by-thread "$gaps"
expect_exit 1 "$RBWP" split --by-thread "$gaps"
expect_error "exists; give -f"
expect_exit 0 "$RBWP" split -f --by-thread "$gaps"
expect_exit 1 "$RBWP" split -f --slot 1 -o "$gaps" "$gaps"
expect_error "is the input"
cmp -s "$gaps" "$GOLDEN/gaps.bin" || fail "the input was changed"
expect_exit 1 "$RBWP" split --every 1ns -o "$work/many.bin" "$GOLDEN/multi_thread.bin"
expect_error "more than 10000 parts"
expect_no_output
[ -z "$(ls "$work" | grep many)" ] || fail "parts are left behind"

# From a pipe; damaged files; no RBWP files.
expect_exit 0 sh -c "'$RBWP' split --by-thread -o '$work/piped.bin' - <'$GOLDEN/gaps.bin'"
cmp -s "$work/piped.0000.bin" "$work/gaps.0000.bin" || fail "a pipe gives other parts"
expect_exit 3 "$RBWP" split --by-thread -o "$work/cut.bin" "$GOLDEN/crash_cut_in_data.bin"
expect_exit 0 "$RBWP" check "$work/cut.0000.bin"
expect_exit 0 "$RBWP" split --by-thread -o "$work/killed.bin" "$GOLDEN/crash_header_only.bin"
: >"$work/empty"
echo text >"$work/text"
for bad in "$work/empty" "$work/text" "$work" "$work/none"; do
    expect_exit 1 "$RBWP" split --by-thread "$bad"
    expect_no_output
    expect_one_line
done
for options in "" "--every 0" "--every x" "--every -1" "--every 1s --by-thread" "--min-duration 1 --every 1s" \
    "--kind COARSE_BEGIN" "--every 99999999999999999999s"; do
    expect_exit 2 "$RBWP" split $options "$gaps"
    expect_one_line
done
expect_exit 2 "$RBWP" split --by-thread -
finish
