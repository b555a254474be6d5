# SPDX-License-Identifier: Apache-2.0
# What a damaged file lacks is marked where it was: blocks whose bytes two writers interleaved, and one whose
# content is hurt, in every view and export that has a place for it, and said to be left out by the others. Marks of
# our own Chrome JSON and Perfetto traces come back; so does what another's Perfetto trace says that it left out.
# Calls that the recorder refused are as loud, and each view says what to do about them.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "losses"
import json, os, re, sqlite3, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here]
import rbwp_make as m
from report_page import Page

T = 1_700_000_000_000_000_000


def calls(thread, sequence, first, count=40):
    return m.block(thread, sequence, [r for i in range(count) for r in ((T + first + 20 * i, "cb", 0), (T + first + 20 * i + 9, "ce"))])


def interleaved(one, other):
    """Each block is written by many calls: the header by its fields, then the data."""
    cuts = (0, 8, 12, 16, 24, 28, 32, 400)
    pieces = [[block[a:b] for a, b in zip(cuts, (*cuts[1:], len(block)))] for block in (one, other)]
    return b"".join(a + b for a, b in zip(*pieces))


torn = interleaved(calls(1, 1, 1000), calls(2, 1, 1010))
hurt = bytearray(calls(2, 2, 3000))
hurt[32 + 8] = 0x77
open(f"{work}/torn", "wb").write(m.file([calls(1, 0, 0), calls(2, 0, 5), torn, calls(1, 2, 2000), bytes(hurt), calls(1, 3, 4000)], [(0, b"w")], (), T))
# Where: between the last record before and the first one behind.
WANT = [("damaged", 0, len(torn), T + 794, T + 2000), ("damaged", 80, len(hurt), T + 2789, T + 4000)]


def run(*args, code=3):
    done = subprocess.run([rbwp, *args], capture_output=True)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done.stdout, done.stderr.decode()


def losses(path, code=3):
    out = json.loads(run("stats", "--json", path, code=code)[0])
    return [(l["cause"], l["records"], l.get("bytes", 0), l["first"], l["last"]) for l in out["losses"]]


assert losses(f"{work}/torn") == WANT, (losses(f"{work}/torn"), WANT)
text = run("stats", "--color", "never", f"{work}/torn")[0].decode()
assert f"LOST 80 records, and skipped {len(torn):,} bytes of damaged files: all sums" in text.replace("\u00a0", " ").replace("'", ","), text
assert re.search(r"[\d,' ]+ bytes *damaged\n", text), text
text = run("timeline", "--color", "never", "--width", "100", f"{work}/torn")[0].decode()
assert text.startswith(f"LOST 80 records\nSKIPPED {len(torn)} bytes of damaged files\n") and len(re.findall("!", text)) >= 2, text
run("report", "-f", "-o", f"{work}/page.html", f"{work}/torn")
page = Page(f"{work}/page.html").data["losses"]
assert [(l["cause"], int(l["records"]), int(l["bytes"]), "track" in l) for l in page] == [("damaged", 0, len(torn), False), ("damaged", 80, len(hurt), True)], page

# Exports: a mark at the end of the gap, on the thread if that is known.
events = json.loads(run("export", "--to=chrome", f"{work}/torn")[0])["traceEvents"]
marks = [e for e in events if e.get("cat") == "loss"]
assert [(e["name"], e["args"].get("bytes"), e["s"]) for e in marks] == [(f"{len(torn)} bytes of the file skipped: damaged", len(torn), "p"), ("80 records lost: damaged", len(hurt), "t")], marks
for form in "json", "pftrace":
    run("export", "-f", "-o", f"{work}/own.{form}", f"{work}/torn")
    assert losses(f"{work}/own.{form}", 0) == WANT, (form, losses(f"{work}/own.{form}", 0))
if b"sqlite" in run("export", "--help", code=0)[0]:
    try:
        run("export", "-f", "-o", f"{work}/own.sqlite", f"{work}/torn")
    except AssertionError as error:
        assert "built without" in str(error), error
    else:
        rows = sqlite3.connect(f"{work}/own.sqlite").execute("SELECT cause, records, bytes, first_ns, last_ns, track IS NULL, calls FROM loss ORDER BY first_ns").fetchall()
        assert rows == [(c, r, b, f, l, r == 0, None) for c, r, b, f, l in WANT], rows
run("export", "-f", "-o", f"{work}/own.parquet", f"{work}/torn")
assert f"{len(torn)} bytes of the file, process 0, damaged".encode() in open(f"{work}/own.parquet", "rb").read()
for form in "csv", "tsv", "ndjson", "folded", "speedscope", "legion":
    error = run("export", f"--to={form}", "-f", "-o", f"{work}/own_%.{form}", f"{work}/torn")[1]
    assert "dropped " in error and "2 marks of losses" in error, (form, error)

# Calls that were refused, by cause: loud in every view, never among the records that were lost.
NOT_ATTACHED = "20 calls not recorded: the thread was not attached; call rbwp_thread_attach in each thread that records"
STRAY_END = "1 call not recorded: an end without its begin"
refused = m.table_section(b"LOSS", [m.loss_entry(0, 15, 5, T + 10, T + 600), m.loss_entry(0, 5, 5), m.loss_entry(1, 1, 7, T + 300, T + 310)])
open(f"{work}/refused", "wb").write(m.with_trailer(m.file([calls(1, 0, 0)], [(0, b"w")], (), T), m.info(stop=T + 5000), refused))
WANT = [("not attached", 15, T + 10, T + 600), ("not attached", 5, 0, 0), ("stray end", 1, T + 300, T + 310)]
for form in "bin", "json", "pftrace":
    path = f"{work}/refused" if form == "bin" else f"{work}/refused.{form}"
    if form != "bin":
        run("export", "-f", "-o", path, f"{work}/refused", code=0)
    out = json.loads(run("stats", "--json", "--findings", path, code=0)[0])
    assert [(l["cause"], l.get("calls"), l["first"], l["last"]) for l in out["losses"]] == WANT and out["lost_records"] == 0, (form, out["losses"])
    said = [(f["what"], f["text"]) for f in out["findings"][:2]]
    assert ("refused", NOT_ATTACHED) in said and any(t.startswith(STRAY_END) for _, t in said), (form, out["findings"])
    text, error = run("stats", "--color", "never", path, code=0)
    assert text.decode().startswith(f"REFUSED {NOT_ATTACHED}\nREFUSED {STRAY_END}") and b"LOST" not in text, (form, text)
assert f"refused: {NOT_ATTACHED}\n" in run("dump", f"{work}/refused", code=0)[1], "the line on standard error"
text = run("check", f"{work}/refused", code=0)[0].decode()
assert f"{NOT_ATTACHED}\n" in text and STRAY_END in text and ": good" in text and "as missing" not in text, text
assert json.loads(run("check", "--json", f"{work}/refused", code=0)[0])["refused_calls"] == 21
assert run("timeline", "--color", "never", f"{work}/refused", code=0)[0].startswith(b"REFUSED 21 calls\n")
whole = m.with_trailer(m.file([calls(1, 0, 0)], [(0, b"w")], (), T, node=1), m.info(stop=T + 5000), refused)
open(f"{work}/refused.1", "wb").write(whole)
merged = lambda: json.loads(run("stats", "--json", "--findings", "--cache", f"{work}/sums", f"{work}/refused", f"{work}/refused.1", code=0)[0])
both = [merged() for _ in range(2)]  # the second time by what the first one kept
assert both[0] == both[1] and NOT_ATTACHED.replace("20", "40") in [f["text"] for f in both[0]["findings"]], both[0]["findings"]
run("report", "-f", "-o", f"{work}/page.html", f"{work}/refused", code=0)
data = Page(f"{work}/page.html").data
assert NOT_ATTACHED in [f[1] for f in data["findings"] if f[0] == "refused"] and int(data["lost"]) == 0, data["findings"]
assert [(l["records"], int(l["calls"])) for l in data["losses"]] == [(0, 15), (0, 5), (0, 1)], data["losses"]
run("export", "-f", "-o", f"{work}/own.parquet", f"{work}/refused", code=0)
assert b"15 calls refused, process 0, not attached" in open(f"{work}/own.parquet", "rb").read()

# What the trailer says of the whole file: which part of a recording it is, what its tables leave out, its job, losses of a cause
# of a later version, and a kind of a work item. It is on the page and in every export with facts; no loss is taken for a call.
kept = m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", T + 10, 607968, 12, 1, 0, 0, 2, 0, 3)], b"USR")
left = m.table_section(b"LEFT", [struct.pack("<I4xQQ", 1, 7, 0)])
job = m.table_section(b"JOBM", [struct.pack("<IH2xq", 4, 0, 3), struct.pack("<IH2xq", 1, 4, 0)], b"4711")
kind = m.table_section(b"KIND", [struct.pack("<HHI8x", 0, 10, 2)], b"compaction")
part = m.with_trailer(m.file([calls(1, 0, 0)], [(0, b"w")], (), T), m.info(stop=T + 5000), kept, left, job, kind,
                      m.table_section(b"LOSS", [m.loss_entry(0, 5, 77)]))
open(f"{work}/part", "wb").write(part)
run("export", "-f", "-o", f"{work}/own.json", f"{work}/part", code=0)
facts = json.load(open(f"{work}/own.json"))["otherData"]
FACTS = {"kept.from_ns": str(T + 10), "kept.dropped_records": "607968", "kept.dropped_rows": "12", "kept.why": "signal", "kept.text": "USR",
         "left_out.threads": "7", "job.rank": "3", "job.job": "4711", "lost.cause_77": "5"}
assert {k: facts.get("process.0." + k) for k in FACTS} == FACTS, facts
spans = [json.loads(line) for line in run("export", "--to", "ndjson", f"{work}/part", code=0)[0].splitlines()]
assert {s.get("own_category") for s in spans} == {"compaction"}, spans[0]
for form in "csv", "ndjson", "folded", "speedscope", "legion":  # they have no place for it
    error = run("export", "-f", "--to", form, "-o", f"{work}/own.{form}", f"{work}/part", code=0)[1]
    assert f"{form}: dropped " in error and f"{len(FACTS)} facts about the recording" in error, (form, error)
assert "facts about" not in run("export", "-f", "--to", "csv", f"{work}/refused", code=0)[1]
run("report", "-f", "-o", f"{work}/page.html", f"{work}/part", code=0)
data = Page(f"{work}/page.html").data
assert set(("process.0." + k, v) for k, v in FACTS.items()) <= set(map(tuple, data["facts"])), data["facts"]
text, error = (t if isinstance(t, str) else t.decode() for t in run("info", f"{work}/part", code=0))
assert "0 records; 0 calls refused; 5 of unknown causes" in text and "5 of cause 77, which this version does not know" in text, text
assert json.loads(run("info", "--json", f"{work}/part", code=0)[0])["unknown_losses"] == 5
assert "5 losses of causes that this version does not know" in run("stats", f"{work}/part", code=0)[1]
stats = json.loads(run("stats", "--json", f"{work}/part", code=0)[0])
assert stats["work_items"][0]["kind"] == "compaction", stats["work_items"]
assert [k["kind"] for k in data["kinds"]] == ["compaction"], data["kinds"]
assert b" w [compaction]" in run("stats", "--color", "never", f"{work}/part", code=0)[0]

# A packet that says that packets before it are missing.
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def pb(*fields):
    return b"".join(varint(f << 3) + varint(v) if isinstance(v, int) else varint(f << 3 | 2) + varint(len(v)) + v for f, v in fields)


packets = [(0, pb((60, pb((1, 5), (2, b"row")))))] + [(t, pb((8, t), (11, pb((9, 3), (11, 5), (23, b"x"))), *more)) for t, more in ((100, ()), (900, ((42, 1),)))]
open(f"{work}/foreign", "wb").write(b"".join(pb((1, body)) for _, body in packets))
assert losses(f"{work}/foreign", 0) == [("its writer left out packets", 0, 0, 100, 900)], losses(f"{work}/foreign", 0)
P
finish
