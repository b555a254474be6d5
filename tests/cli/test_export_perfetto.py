# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces hold every span of the dump with its times, decoded by a reader of our own: all golden and damaged files with the exit
code of the dump, hostile names, spans that overlap, links, losses, calls that do not fit into memory. The bytes do not depend on the
number of threads."""
import collections

import export_expect as x
import pytest
from perfetto_decode import Trace, one

OWN = {"link", "loss", "fact"}


def clamp(ns):
    return max(ns, 0)


@pytest.fixture(scope="module")
def check(rbwp):
    """check(path, code=0): the trace, and its slices that are spans."""
    def compare(path, code=0):
        want = x.spans(rbwp.path, path)
        data = x.export(rbwp.path, "perfetto", path, "-j", "1", code=code)
        assert x.export(rbwp.path, "perfetto", path, "-j", "3", code=code) == data, "threads change the bytes"
        trace = Trace(data)
        raw = Trace(x.export(rbwp.path, "perfetto", path, "--no-deflate", code=code))
        assert raw.slices == trace.slices
        found = [s for s in trace.slices if s.category not in OWN]
        have = collections.Counter(x.Span(s.category, s.name, s.start, None if s.args.get("unfinished") else s.stop) for s in found)
        clamped = collections.Counter()
        for s, n in want.items():
            clamped[x.Span(s.category, s.name, clamp(s.start), None if s.stop is None else clamp(s.stop))] += n
        assert have == clamped, (path, have - clamped, clamped - have)
        if found:
            assert trace.realtime[0] == trace.realtime[1]
        for process in trace.processes.values():
            assert 0 < one(process, 1) < 2**31
        tids = [one(t, 2) for t in trace.threads.values()]
        assert len(set(tids)) == len(tids) and all(0 < t < 2**31 for t in tids)
        rows = collections.defaultdict(list)
        for s in found:
            rows[s.track].append((s.start, s.stop))
        assert x.nested(rows.values()), path
        return trace, found

    return compare


def test_every_file(rbwp, golden, check):
    x.every_file(rbwp.path, "perfetto", str(golden), check)


def test_hostile_names(check, work):
    path = f"{work}/hostile.bin"
    x.hostile_names(path)
    _, found = check(path)
    assert len(found) == 2 * len(x.HOSTILE) and any(s.name == "\ufffd" * 65535 for s in found)


def test_gpu_spans_that_overlap(check, work):
    """Each is the end of one arrow, which begins inside a call of the slot that launched it."""
    path = f"{work}/overlap.bin"
    x.overlapping_gpu(path)
    trace, found = check(path)
    gpu = [s for s in found if s.category == "gpu"]
    assert len(gpu) == 8 and {trace.track_name(s.track) for s in gpu} == {
        "GPU 0.1", "GPU 0.2", "GPU 0.2 / 1", "GPU 0.2 / 2"}
    assert all(s.args["slot"] == 3 and s.args["launch_inferred"] for s in gpu), gpu
    links = [s for s in trace.slices if s.category == "link"]
    assert sorted(f for s in links for f in s.flows) == sorted(f for s in gpu for f in s.ends)
    assert len({f for s in gpu for f in s.ends}) == 8 and all(len(s.ends) == 1 for s in gpu)
    calls = {s.start for s in found if s.name == "launch"}
    arrows = {s.ends[0]: s.start for s in gpu}
    assert all(s.instant and s.start in calls and s.start <= arrows[s.flows[0]] for s in links)
    # An instant stands behind the begin of the span that it is in.
    order = [(s.category, s.start) for s in trace.slices if s.category in ("link", "bgwork")]
    at = links[0].start
    assert order.index(("bgwork", at)) < order.index(("link", at))


def test_more_arrows_than_a_chunk_holds(check, work):
    """They wait in a file."""
    path = f"{work}/links.bin"
    works = [(1005 + 10 * i, "gpu", 77, 3, 1000 + 10 * i, 1005 + 10 * i) for i in range(8000)]
    with open(path, "wb") as file:
        file.write(x.m.file([x.m.block(1, 0, [(900, "cb", 3), (990, "ce"), *works])], [(3, b"launch")]))
    trace, found = check(path)
    links = [s for s in trace.slices if s.category == "link"]
    assert len(links) == 8000, len(links)
    assert sorted(f for s in links for f in s.flows) == sorted(f for s in found for f in s.ends)


@pytest.fixture(scope="module")
def many(shared):
    x.many_inside(f"{shared}/many.bin")
    return f"{shared}/many.bin"


def test_call_that_does_not_fit_into_memory(check, many):
    assert len(check(many)[1]) == 70003


def test_unfinished(check, work):
    path = f"{work}/unfinished.bin"
    x.unfinished(path)
    _, found = check(path)
    assert sum(s.args.get("unfinished", 0) for s in found) == 3


def test_processes_threads_and_losses(check, extended):
    trace, _ = check(extended)
    assert [one(p, 1) for p in trace.processes.values()] == [4242]
    assert {900, 901} == {one(t, 2) for t in trace.threads.values()}
    losses = [s for s in trace.slices if s.category == "loss"]
    assert losses.pop().args == {"records": 0, "calls": 2}, "the calls that were refused"
    assert losses and trace.dropped == len(losses), trace.dropped
    assert any(s.args["records"] == 1234 and s.start == 2100 for s in losses), losses
    assert [trace.track_name(s.track) for s in losses] == ["cleaner"], losses  # on the row of the thread that lost
    facts = {s.name: s.args[s.name] for s in trace.slices if s.category == "fact"}
    assert facts["process.0.writer"] == b"make_extended" and "rbwp.version" in facts


def test_two_nodes_with_the_same_process_number(rbwp, extended, work):
    """Nothing collides."""
    trace = Trace(rbwp("export", "--to", "perfetto", *x.m.same_run(work, [extended, extended])).out)
    assert len({one(p, 1) for p in trace.processes.values()}) == 2
    assert len({one(t, 2) for t in trace.threads.values()}) == 4


def test_suffix(rbwp, golden, work):
    rbwp("export", "-o", work / "a.pftrace", golden / "gaps.bin")
    assert (work / "a.pftrace").read_bytes() == rbwp("export", "--to", "perfetto", golden / "gaps.bin").out


def test_filters(rbwp, many):
    few = Trace(rbwp("export", "--to", "perfetto", many, "--slot", "1", "--kind", "coarse").out)
    assert {s.name for s in few.slices if s.category not in OWN} == {"big"}


def test_full_disk(on_full_disk, golden):
    on_full_disk("export", "--to", "perfetto", golden / "gaps.bin")


def test_usage(rbwp, golden):
    rbwp("export", "--to", "perfetto", "-j", "0", golden / "gaps.bin", code=2).says("is no number of threads")
