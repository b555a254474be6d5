# SPDX-License-Identifier: Apache-2.0
"""A Legion Prof log of either dialect and any version, packed or not, becomes the same spans; what is dropped, and what a version
lacks, is reported by kind; a log that is cut anywhere, or lies about lengths, keeps its whole records and says what is missing."""
import gzip
import json
import os

import legion_make as m
import pytest

PART, PARTS = map(int, os.environ.get("SHARE", "1/1").split("/"))

ZERO = 1_700_000_000_000_000_000
CPU, GPU, UTIL = m.proc(3, 1), m.proc(3, 2), m.proc(3, 5)


def times(start, stop, **more):
    return {"create": start - 20, "ready": start - 10, "start": start, "stop": stop, **more}


def rows(dialect, version=1008):
    b = dialect == "B"
    return m.head(dialect, 3, 4, ZERO, "knot", version) + [
        # Waits and places stand before what they belong to, and far behind it: both must be joined.
        ("TaskWaitInfo", {"op_id": 7, "task_id": 5, "variant_id": 2, "wait_start": 1300, "wait_ready": 1500, "wait_end": 1600, "wait_event": 1}),
        ("CopyInstInfo", {"src": m.mem(3, 0), "dst": m.mem(3, 1), "fevent": m.event(3, 9)}),
        ("ProcDesc", {"proc_id": CPU, "kind": 2}),
        ("ProcDesc", {"proc_id": GPU, "kind": 1}),
        ("ProcDesc", {"proc_id": UTIL, "kind": 3}),
        ("MaxDimDesc", {"max_dim": 2}),
        ("IndexSpacePointDesc", {"unique_id": 1, "dim": 2, "dims": 2}),
        ("NobodyKnows", {"a": 1, "b": "text\nof a line", "some_text": "x", "c": 2}),
        ("PhysicalInstanceUsage", {"inst_uid": 1, "op_id": 7, **({"privilege": 4, "redop": 3} if b else {})}),
        ("PhysicalInstanceUsage", {"inst_uid": 1, "op_id": 7, **({"privilege": 2} if b else {})}),
        ("TaskInfo", {"op_id": 7, "task_id": 5, "variant_id": 2, "proc_id": CPU, "fevent": m.event(3, 1), **times(1000, 2000)}),
        ("RuntimeCallInfo", {"kind": 12, "start": 1100, "stop": 1200, "proc_id": CPU, "fevent": m.event(3, 1)}),
        ("MapperCallInfo", {"kind": 4, "start": 1700, "stop": 1800, "proc_id": CPU, "fevent": m.event(3, 1)}),
        ("ApplicationCallInfo", {"provenance": 33, "start": 1720, "stop": 1750, "proc_id": CPU, "fevent": m.event(3, 1)}),
        ("MemDesc", {"mem_id": m.mem(3, 0), "kind": 2}),
        ("MemDesc", {"mem_id": m.mem(3, 1), "kind": 6}),
        ("CopyInfo", {"op_id": 7, "size": 99, "fevent": m.event(3, 9), **times(4000, 4400)}),
        ("FillInfo", {"op_id": 7, "size": 99, "fevent": m.event(3, 10), **times(4100, 4200)}),
        ("FillInstInfo", {"dst": m.mem(3, 1), "fevent": m.event(3, 10)}),
        ("GPUTaskInfo", {"op_id": 8, "task_id": 6, "variant_id": 1, "proc_id": GPU, "gpu_start": 3050, "gpu_stop": 3900, "fevent": m.event(3, 2),
                         **times(3000, 3010)}),
        ("MetaInfo", {"op_id": 7, "lg_id": 15, "proc_id": UTIL, "fevent": m.event(3, 3), **times(5000, 5500)}),
        ("MetaWaitInfo", {"op_id": 7, "lg_id": 15, "wait_start": 5100, "wait_ready": 5200, "wait_end": 5200, "wait_event": 1}),
        ("MessageInfo", {"op_id": 9, "lg_id": 16, "proc_id": UTIL, "spawn": 5900, "creator": m.event(1, 4), "fevent": m.event(3, 4), **times(6000, 6100)}),
        ("ProfTaskInfo", {"proc_id": UTIL, "op_id": 1, "start": 7000, "stop": 7001, "fevent": m.event(3, 5)}),
        ("PartitionInfo", {"op_id": 3, "part_op": 1, "fevent": m.event(3, 6), **times(8000, 8100)}),
        ("TaskKind", {"task_id": 5, "name": "stencil", "overwrite": 1}),
        ("TaskKind", {"task_id": 6, "name": "axpy", "overwrite": 1}),
        ("TaskVariant", {"task_id": 5, "variant_id": 2, "name": "fast"}),
        ("TaskVariant", {"task_id": 6, "variant_id": 1, "name": "axpy"}),
        ("MetaDesc", {"kind": 15, "name": "Map"}),
        ("MetaDesc", {"kind": 16, "message": 1, "name": "Send"}),
        ("RuntimeCallDesc", {"kind": 12, "name": "Analyse"}),
        ("MapperCallDesc", {"kind": 4, "name": "map_task"}),
        ("Provenance", {"id": 33, "text": "main.py:7"}),
        ("CalibrationErr", {"calibration_err": 250}),
    ]

WANT = sorted([
    (1000, 1000, "CPU 3.1", "task", "stencil [fast]"), (1300, 200, "CPU 3.1", "wait", "stencil [fast] (waiting)"),
    (1500, 100, "CPU 3.1", "wait", "stencil [fast] (ready)"), (1100, 100, "CPU 3.1", "call", "Analyse"),
    (1700, 100, "CPU 3.1", "call", "map_task"), (1720, 30, "CPU 3.1", "call", "main.py:7"),
    (3000, 10, "GPU 3.2 host", "task", "axpy"), (3050, 850, "GPU 3.2", "gpu", "axpy"),
    (4000, 400, "System 3.0 to Framebuffer 3.1", "copy", "copy"), (4100, 100, "fill Framebuffer 3.1", "copy", "fill"),
    (5000, 500, "Utility 3.5", "task", "Map"), (5100, 100, "Utility 3.5", "wait", "Map (waiting)"),
    (6000, 100, "Utility 3.5", "task", "Send"), (7000, 1, "Utility 3.5", "task", "profiling response"),
    (8000, 100, "partitioning", "other", "partition"),
])


@pytest.fixture
def export(rbwp, work):
    """The exit status, the spans, and what was reported, of a log's bytes."""

    def exported(data, *args):
        (work / "log").write_bytes(data)
        done = rbwp("export", "--to=ndjson", *args, work / "log", code=None)
        return done.code, [json.loads(line) for line in done.lines], done.error.replace(f"{work}/", "")

    return exported


def flat(spans, zero=ZERO):
    return sorted((s["start_ns"] - zero, s["duration_ns"], s["track"], s["category"], s["name"]) for s in spans)

LEFT_OUT = ("rbwp export: log: records dropped, by kind: 1 IndexSpacePointDesc, 2 PhysicalInstanceUsage\n"
            "rbwp export: log: records dropped that nothing is known of, by kind: 1 NobodyKnows\n")


@pytest.mark.parametrize("version", [1006, 1007, 1008, 1009, 1011, 1013])
def test_version(rbwp, export, work, version):
    """Each version that is known, and one that is not yet."""
    dialect = "A" if version <= 1008 else "B"
    code, spans, error = export(m.log(dialect, rows(dialect, version), version=version))
    newer = "rbwp export: log: version 1013 is newer than what is known (1011): it is read by what it declares\n" if version > 1011 else ""
    assert code == 0 and error == newer + LEFT_OUT and flat(spans) == WANT
    assert f'"Legion Prof {version}"' in rbwp("export", "--to=chrome", work / "log").text


def test_old_version(export):
    """What it does not declare is reported; what it has is shown. Copies of which no event is known have no memories."""
    old = [(name, {k: v for k, v in values.items() if k not in ("creator", "fevent", "spawn")}) for name, values in rows("O", 1003)
           if name not in ("NobodyKnows", "CopyInstInfo", "FillInstInfo")] + [("CopyInstInfo", {"src": m.mem(3, 0), "dst": m.mem(3, 1)})]
    code, spans, error = export(m.log("O", old))
    places = {"System 3.0 to Framebuffer 3.1": "copies", "fill Framebuffer 3.1": "copies"}
    assert code == 0 and flat(spans) == sorted((*s[:2], places.get(s[2], s[2]), *s[3:]) for s in WANT), set(flat(spans)) ^ set(WANT)
    for text in ("1 CopyInstInfo are dropped: they are declared without fevent", "1 MessageInfo are declared without spawn, creator",
                 "1 CopyInfo are declared without fevent", "1 FillInfo are declared without fevent"):
        assert error.count(text) == 1


@pytest.fixture(scope="module", params="AB")
def dialect(request):
    return request.param


@pytest.fixture(scope="module")
def whole(dialect):
    return m.log(dialect, rows(dialect), pack=False)


def test_packed_or_not(export, whole):
    half = len(whole) // 2
    for data in (whole, gzip.compress(whole), gzip.compress(whole[:half]) + gzip.compress(whole[half:])):
        code, spans, error = export(data)
        assert code == 0 and error == LEFT_OUT
        assert flat(spans) == WANT, (dialect, set(flat(spans)) ^ set(WANT))
        assert {s["process"] for s in spans} == {"node 3 Legion"}
        task = next(s for s in spans if s["name"] == "stencil [fast]")
        assert all(s["parent"] == task["id"] and s["depth"] == 1 for s in spans if s["name"].startswith("stencil [fast] ("))


def test_cut_at_every_byte(export, dialect):
    """Of a small log (SHARE: at every third, where fuzz_legion looks as well, and those of records): what is whole stays,
    exit 3 unless the cut is between two records."""
    few = [rows(dialect)[i] for i in (0, 1, 4, 7, 8, 9, 10, 12, 13)]
    head = m.preamble(dialect)
    small, ends = head, [len(head)]
    for name, values in few:
        small += m.record(dialect, name, **values)
        ends.append(len(small))
    for cut in sorted({*range(0, len(head), 97), *range(len(head) + PART - 1, len(small) + 1, PARTS), *ends}):
        code, spans, error = export(small[:cut])
        if cut < len(head):
            assert code == 1 and error and not spans, (cut, code, error)
            continue
        assert code == (0 if cut in ends else 3), (cut, code, error)
        assert cut in ends or f"the last {cut - max(e for e in ends if e <= cut)} bytes are no whole record" in error
        assert len(spans) == (cut >= ends[8]) + (cut >= ends[9])


def test_packed_cut_or_damaged(export, whole):
    packed = gzip.compress(whole)
    code, spans, error = export(packed[:-9])
    assert code == 3 and "the compressed data are cut" in error
    code, spans, error = export(packed + b"tail")
    assert code == 3 and len(spans) == len(WANT) and "not gzip" in error


def test_lies(export, dialect):
    """A uuid of 4 GiB, a kind that is not declared, times that cannot be, times that run backwards."""
    base = m.log(dialect, m.head(dialect, 0, 1, ZERO), pack=False)
    lie = bytearray(m.record(dialect, "ProcDesc", proc_id=CPU, kind=2))
    lie[16:20] = b"\xff\xff\xff\xff"
    code, spans, error = export(base + bytes(lie))
    assert code == 3 and "no whole record" in error
    code, spans, error = export(base + b"\xe7\x03\0\0" + b"junk")
    assert code == 3 and "record kind 999 at byte" in error
    bad = m.record(dialect, "TaskInfo", op_id=1, proc_id=CPU, start=(1 << 64) - 1, stop=5)
    back = m.record(dialect, "TaskInfo", op_id=1, proc_id=CPU, start=9, stop=5)
    code, spans, error = export(base + bad + back)
    assert code == 3 and flat(spans) == [(9, 0, "Processor 3.1", "task", "task 0")]
    assert "1 rows have impossible times" in error and "1 rows end before they start" in error


def test_waits_outside_of_their_task(export):
    """Those before, behind and across its ends, or of no task, are dropped; one that fills it stays."""

    def wait(op, start, stop):
        return ("TaskWaitInfo", {"op_id": op, "wait_start": start, "wait_ready": stop, "wait_end": stop})

    task = ("TaskInfo", {"op_id": 1, "proc_id": CPU, "start": 50, "stop": 80})
    code, spans, error = export(m.log("A", [*m.head("A"), wait(1, 40, 60), wait(1, 70, 90), wait(1, 85, 86), wait(2, 55, 56), task, wait(1, 50, 80)]))
    assert code == 3 and flat(spans, 0) == [(50, 30, "Processor 3.1", "task", "task 0"),
                                            (50, 30, "Processor 3.1", "wait", "task 0 (waiting)")], (flat(spans, 0), error)
    assert "4 waits are outside of their task" in error and next(s for s in spans if s["category"] == "wait")["depth"] == 1


def test_order_of_processors(export):
    """By kind, then by index: Python before what serves it."""
    procs = [(UTIL, 3), (m.proc(3, 6), 8), (m.proc(3, 7), 2)]
    mixed = [("ProcDesc", {"proc_id": proc, "kind": kind}) for proc, kind in procs] + [("TaskInfo", {"op_id": 1, "proc_id": proc, "start": 5, "stop": 9})
                                                                                       for proc, _ in procs]
    assert [s["track"] for s in export(m.log("A", [*m.head("A"), *mixed]))[1]] == ["CPU 3.7", "Python 3.6", "Utility 3.5"]


def test_no_zero_time(export):
    """The log's own times count."""
    code, spans, error = export(m.log("A", m.head("A") + [("TaskInfo", {"op_id": 1, "proc_id": CPU, "start": 5, "stop": 8})]))
    assert code == 0 and flat(spans, 0) == [(5, 3, "Processor 3.1", "task", "task 0")], (code, spans, error)


@pytest.mark.parametrize("text, reason", [
    (b"FileType: BinaryLegionProf v: x\nfoo\n\n", "its version is no number"),
    (b"FileType: BinaryLegionProf v: 1.0\nTaskInfo\n\n", "no record kind"),
    (b"FileType: BinaryLegionProf v: 1.0\nTaskInfo {id:1, a:b}\n\n", "name:type:size"),
    (b"FileType: BinaryLegionProf v: 1.0\nA {id:1, a:b:4}\nB {id:1, a:b:4}\n\n", "the same number"),
    (b"FileType: BinaryLegionProf v: 1.0\nA {id:1" + b", a:b:4" * 65 + b"}\n\n", "too many fields"),
    (b"FileType: BinaryLegionProf v: 1.0\n" + b"A" * 20000, "does not end"),
])
def test_declarations_that_cannot_be(export, text, reason):
    code, _, error = export(text)
    assert code == 1 and reason in error


def test_declared_without_what_is_needed(export):
    code, spans, error = export(b"FileType: BinaryLegionProf v: 1.0\nTaskInfo {id:18, op_id:x:8}\n\n" + b"\x12\0\0\0" + bytes(8))
    assert code == 0 and error.count("1 TaskInfo are dropped: they are declared without task_id, variant_id, proc_id, start, stop\n") == 1 and not spans


def test_filters(export):
    data = m.log("A", rows("A"))
    assert len(export(data, "--from=+4us")[1]) == 7
    assert len(export(data, "--min-duration=800ns")[1]) == 2
    assert {s["name"] for s in export(data, "--slot=Map*")[1]} == {"Map", "Map (waiting)"}
