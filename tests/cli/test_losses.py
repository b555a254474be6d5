# SPDX-License-Identifier: Apache-2.0
"""What a damaged file lacks is marked where it was: blocks whose bytes two writers interleaved, and one whose
content is hurt, in every view and export that has a place for it, and reported as dropped by the others. Marks of
our own Chrome JSON and Perfetto traces come back; so does what another's Perfetto trace says that it dropped.
Calls that the recorder refused are as loud, and each view says what to do about them."""
import json
import re
import sqlite3
import struct

import pytest
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
# Where: between the last record before and the first one behind.
DAMAGED = [("damaged", 0, len(torn), T + 794, T + 2000), ("damaged", 80, len(hurt), T + 2789, T + 4000)]
NOT_ATTACHED = "20 calls not recorded: the thread was not attached; call rbwp_thread_attach in each thread that records"
STRAY_END = "1 call not recorded: an end without its begin"
REFUSED = [("not attached", 15, T + 10, T + 600), ("not attached", 5, 0, 0), ("stray end", 1, T + 300, T + 310)]
REFUSED_SECTION = m.table_section(b"LOSS", [m.loss_entry(0, 15, 5, T + 10, T + 600), m.loss_entry(0, 5, 5), m.loss_entry(1, 1, 7, T + 300, T + 310)])


def with_info(*sections, **more):
    return m.with_trailer(m.file([calls(1, 0, 0)], [(0, b"w")], (), T, **more), m.info(stop=T + 5000), *sections)


@pytest.fixture(scope="module")
def torn_file(shared):
    path = shared / "torn"
    path.write_bytes(m.file([calls(1, 0, 0), calls(2, 0, 5), torn, calls(1, 2, 2000), bytes(hurt), calls(1, 3, 4000)], [(0, b"w")], (), T))
    return path


@pytest.fixture(scope="module")
def refused(shared):
    (shared / "refused").write_bytes(with_info(REFUSED_SECTION))
    return shared / "refused"


@pytest.fixture(scope="module")
def part(shared):
    """Its trailer says of the whole file: which part of a recording it is, what its tables leave out, its job, losses of a cause
    of a later version, and a kind of a work item."""
    kept = m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", T + 10, 607968, 12, 1, 0, 0, 2, 0, 3)], b"USR")
    left = m.table_section(b"LEFT", [struct.pack("<I4xQQ", 1, 7, 0)])
    job = m.table_section(b"JOBM", [struct.pack("<IH2xq", 4, 0, 3), struct.pack("<IH2xq", 1, 4, 0)], b"4711")
    kind = m.table_section(b"KIND", [struct.pack("<HHI8x", 0, 10, 2)], b"compaction")
    (shared / "part").write_bytes(with_info(kept, left, job, kind, m.table_section(b"LOSS", [m.loss_entry(0, 5, 77)])))
    return shared / "part"


def losses(rbwp, path, code=0):
    out = rbwp("stats", "--json", path, code=code).json
    return [(l["cause"], l["records"], l.get("bytes", 0), l["first"], l["last"]) for l in out["losses"]]


def page_of(rbwp, path, work, code=0):
    rbwp("report", "-o", work / "page.html", path, code=code)
    return Page(work / "page.html").data


def test_damage_in_stats(rbwp, torn_file):
    assert losses(rbwp, torn_file, 3) == DAMAGED
    text = rbwp("stats", "--color", "never", torn_file, code=3).text
    assert f"LOST 80 records, and skipped {len(torn):,} bytes of damaged files: all sums" in text.replace("\u00a0", " ").replace("'", ",")
    assert re.search(r"[\d,' ]+ bytes *damaged\n", text)


def test_damage_in_the_timeline(rbwp, torn_file):
    text = rbwp("timeline", "--color", "never", "--width", "100", torn_file, code=3).text
    assert text.startswith(f"LOST 80 records\nSKIPPED {len(torn)} bytes of damaged files\n") and len(re.findall("!", text)) >= 2


def test_damage_on_the_page(rbwp, torn_file, work):
    found = [(l["cause"], int(l["records"]), int(l["bytes"]), "track" in l) for l in page_of(rbwp, torn_file, work, 3)["losses"]]
    assert found == [("damaged", 0, len(torn), False), ("damaged", 80, len(hurt), True)]


def test_marks_in_chrome(rbwp, torn_file):
    """A mark at the end of the gap, on the thread if that is known."""
    marks = [e for e in rbwp("export", "--to=chrome", torn_file, code=3).json["traceEvents"] if e.get("cat") == "loss"]
    assert [(e["name"], e["args"].get("bytes"), e["s"]) for e in marks] == [
        (f"{len(torn)} bytes of the file skipped: damaged", len(torn), "p"), ("80 records lost: damaged", len(hurt), "t")]


@pytest.mark.parametrize("form", ["json", "pftrace"])
def test_marks_come_back(rbwp, torn_file, work, form):
    rbwp("export", "-o", work / f"own.{form}", torn_file, code=3)
    assert losses(rbwp, work / f"own.{form}") == DAMAGED


def test_marks_in_sqlite(rbwp, torn_file, work):
    done = rbwp("export", "-o", work / "own.sqlite", torn_file, code=None)
    if "built without" in done.error:
        pytest.skip("this build is without SQLite")
    assert done.code == 3
    base = sqlite3.connect(work / "own.sqlite")
    rows = base.execute("SELECT cause, records, bytes, first_ns, last_ns, track IS NULL, calls FROM loss ORDER BY first_ns").fetchall()
    assert rows == [(c, r, b, f, l, r == 0, None) for c, r, b, f, l in DAMAGED]


def test_marks_in_parquet(rbwp, torn_file, refused, work):
    rbwp("export", "-o", work / "torn.parquet", torn_file, code=3)
    assert f"{len(torn)} bytes of the file, process 0, damaged".encode() in (work / "torn.parquet").read_bytes()
    rbwp("export", "-o", work / "refused.parquet", refused)
    assert b"15 calls refused, process 0, not attached" in (work / "refused.parquet").read_bytes()


@pytest.mark.parametrize("form", ["csv", "tsv", "ndjson", "folded", "speedscope", "legion"])
def test_dropped_marks_are_reported(rbwp, torn_file, work, form):
    rbwp("export", f"--to={form}", "-o", work / f"own_%.{form}", torn_file, code=3).says("dropped ", "2 marks of losses")


@pytest.mark.parametrize("form", ["bin", "json", "pftrace"])
def test_refused_calls(rbwp, refused, work, form):
    """By cause: loud in every view, never among the records that were lost."""
    path = refused if form == "bin" else work / f"refused.{form}"
    if form != "bin":
        rbwp("export", "-o", path, refused)
    out = rbwp("stats", "--json", "--findings", path).json
    assert [(l["cause"], l.get("calls"), l["first"], l["last"]) for l in out["losses"]] == REFUSED and out["lost_records"] == 0
    said = [(f["what"], f["text"]) for f in out["findings"][:2]]
    assert ("refused", NOT_ATTACHED) in said and any(t.startswith(STRAY_END) for _, t in said)
    text = rbwp("stats", "--color", "never", path).text
    assert text.startswith(f"REFUSED {NOT_ATTACHED}\nREFUSED {STRAY_END}") and "LOST" not in text


def test_refused_calls_in_other_views(rbwp, refused, work):
    rbwp("dump", refused).says(f"refused: {NOT_ATTACHED}\n")
    text = rbwp("check", refused).text
    assert f"{NOT_ATTACHED}\n" in text and STRAY_END in text and ": good" in text and "as missing" not in text
    assert rbwp("check", "--json", refused).json["refused_calls"] == 21
    assert rbwp("timeline", "--color", "never", refused).text.startswith("REFUSED 21 calls\n")
    data = page_of(rbwp, refused, work)
    assert NOT_ATTACHED in [f["text"] for f in data["findings"] if f["what"] == "refused"] and int(data["lost"]) == 0
    assert [(l["records"], int(l["calls"])) for l in data["losses"]] == [(0, 15), (0, 5), (0, 1)]


def test_refused_calls_of_two_files(rbwp, refused, work):
    (work / "other").write_bytes(with_info(REFUSED_SECTION, node=1))
    both = [rbwp("stats", "--json", "--findings", "--cache", work / "sums", refused, work / "other").json for _ in range(2)]
    assert both[0] == both[1]  # the second time by what the first one kept
    assert NOT_ATTACHED.replace("20", "40") in [f["text"] for f in both[0]["findings"]]


# In every export with facts; no loss is taken for a call.
FACTS = {"kept.from_ns": str(T + 10), "kept.dropped_records": "607968", "kept.dropped_rows": "12", "kept.why": "signal", "kept.text": "USR",
         "left_out.threads": "7", "job.rank": "3", "job.job": "4711", "lost.cause_77": "5"}


def test_facts_in_chrome(rbwp, part, work):
    facts = rbwp("export", "--to", "chrome", part).json["otherData"]
    assert {k: facts.get("process.0." + k) for k in FACTS} == FACTS


def test_facts_on_the_page(rbwp, part, work):
    data = page_of(rbwp, part, work)
    assert set(("process.0." + k, v) for k, v in FACTS.items()) <= set(map(tuple, data["facts"]))
    assert [k["kind"] for k in data["kinds"]] == ["compaction"]


@pytest.mark.parametrize("form", ["csv", "ndjson", "folded", "speedscope", "legion"])
def test_exports_without_a_place_for_facts(rbwp, part, work, form):
    rbwp("export", "--to", form, "-o", work / f"own.{form}", part).says(f"{form}: dropped ", f"{len(FACTS)} facts about the recording")


def test_no_facts_no_line(rbwp, refused):
    assert "facts about" not in rbwp("export", "--to", "csv", refused).error


def test_kind_of_a_work_item(rbwp, part):
    spans = [json.loads(line) for line in rbwp("export", "--to", "ndjson", part).lines]
    assert {s.get("own_category") for s in spans} == {"compaction"}
    assert rbwp("stats", "--json", part).json["work_items"][0]["kind"] == "compaction"
    assert " w [compaction]" in rbwp("stats", "--color", "never", part).text


def test_losses_of_unknown_causes(rbwp, part):
    text = rbwp("info", part).text
    assert "0 records; 0 calls refused; 5 of unknown causes" in text and "5 of cause 77, which this version does not know" in text
    assert rbwp("info", "--json", part).json["unknown_losses"] == 5
    rbwp("stats", part).says("5 losses of causes that this version does not know")


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def pb(*fields):
    return b"".join(varint(f << 3) + varint(v) if isinstance(v, int) else varint(f << 3 | 2) + varint(len(v)) + v for f, v in fields)


def test_foreign_packets_missing(rbwp, work):
    """A packet that says that packets before it are missing."""
    packets = [(0, pb((60, pb((1, 5), (2, b"row")))))]
    packets += [(t, pb((8, t), (11, pb((9, 3), (11, 5), (23, b"x"))), *more)) for t, more in ((100, ()), (900, ((42, 1),)))]
    (work / "foreign").write_bytes(b"".join(pb((1, body)) for _, body in packets))
    assert losses(rbwp, work / "foreign") == [("its writer dropped packets", 0, 0, 100, 900)]
