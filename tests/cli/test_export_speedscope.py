# SPDX-License-Identifier: Apache-2.0
"""speedscope's own format holds every span of the dump with its name and its nanoseconds: in each profile opens and closes match and times
never go back, or speedscope refuses the file. Names are UTF-8 whatever they were. What it has no place for is counted and said."""
import collections
import gzip
import json

import export_expect as x
import pytest

LEAST, MOST = -(2**63), 2**63 - 1


def profiles(file):
    """Of each: its name and (frame name, start, stop)."""
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [f["name"] for f in file["shared"]["frames"]]
    assert len(set(names)) == len(names), names
    for p in file["profiles"]:
        assert p["type"] == "evented" and p["unit"] == "nanoseconds"
        at, open_, spans = p["startValue"], [], []
        for e in p["events"]:
            assert at <= e["at"] <= p["endValue"], (p["name"], e)
            at = e["at"]
            if e["type"] == "O":
                open_.append(e)
            else:
                begin = open_.pop()
                assert e["type"] == "C" and e["frame"] == begin["frame"], (p["name"], e)
                spans.append((names[e["frame"]], begin["at"], at))
        assert not open_, p["name"]
        yield p["name"], spans


@pytest.fixture(scope="module")
def check(rbwp):
    """check(path, code=0): the spans by profile, which are those of the dump."""
    def compare(path, code=0):
        data = x.export(rbwp.path, "speedscope", path, "-j", "1", code=code)
        assert x.export(rbwp.path, "speedscope", path, "-j", "3", code=code) == data
        have = collections.defaultdict(list)
        for name, spans in profiles(json.loads(data)):
            assert name not in have
            have[name] += spans
        origin = int(json.loads(x.export(rbwp.path, "chrome", path, code=code))["otherData"]["origin_ns"])
        want = collections.Counter()
        for s, n in x.spans(rbwp.path, path).items():
            start, stop = (None if t is None else min(max(t - origin, LEAST), MOST) for t in (s.start, s.stop))
            want[s.name, start, stop] += n
        unfinished = {(name, start) for name, start, stop in want if stop is None}
        found = collections.Counter((n, b, None if (n, b) in unfinished else e) for spans in have.values() for n, b, e in spans)
        for n, b, e in list(want):
            if (n, b) in unfinished and e is not None:
                want[n, b, None] += want.pop((n, b, e))
        assert found == want, (path, found - want, want - found)
        return have

    return compare


def test_every_file(rbwp, golden, check):
    x.every_file(rbwp.path, "speedscope", str(golden), check)


@pytest.mark.parametrize("make", [x.hostile_names, x.abutting, x.unfinished], ids=lambda make: make.__name__)
def test_hard_files(check, work, make):
    make(f"{work}/hard.bin")
    check(f"{work}/hard.bin")


@pytest.fixture(scope="module")
def overlap(shared):
    x.overlapping_gpu(f"{shared}/overlap.bin")
    return f"{shared}/overlap.bin"


def test_gpu_spans_that_overlap(check, overlap):
    assert list(check(overlap))[1:] == ["node 0, GPU 0.1", "node 0, GPU 0.2", "node 0, GPU 0.2 / 1", "node 0, GPU 0.2 / 2"]


@pytest.fixture(scope="module")
def many(shared):
    x.many_inside(f"{shared}/many.bin")
    return f"{shared}/many.bin"


def test_many_spans_in_a_call(check, many):
    check(many)


def test_suffix(rbwp, overlap, work):
    """Also compressed: the longest one that fits. Arrows have no place in it."""
    path = work / "a.speedscope.json.gz"
    rbwp("export", "-o", path, overlap).says("speedscope: dropped 8 links\n")
    with gzip.open(path) as file:
        assert json.load(file)["profiles"]


def test_full_disk(on_full_disk, golden):
    on_full_disk("export", "--to", "speedscope", golden / "gaps.bin")


def test_no_place_for_a_temporary_file(rbwp, many, work):
    """What comes mixed lies in one meanwhile."""
    done = rbwp("export", "--to", "speedscope", "-o", work / "b.json", many, env={"TMPDIR": f"{work}/none"}, code=3)
    done.says("cannot create a temporary file")
