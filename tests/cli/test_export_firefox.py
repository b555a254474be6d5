# SPDX-License-Identifier: Apache-2.0
"""A profile for the Firefox Profiler is what its format says, and holds every span of the dump twice:
as a marker with its nanoseconds, and in samples whose weights are exactly what its thread spent in
it. What it has no place for is counted and reported."""
import collections
import gzip

import export_expect as x
import pytest
from firefox_profile import Profile

LEAST, MOST = -(2**63), 2**63 - 1
EXACT = 2**52  # nanoseconds that milliseconds in JSON can have


def check(rbwp, path, code=0):
    data = x.export(rbwp.path, "firefox", path, "-j", "1", code=code)
    assert x.export(rbwp.path, "firefox", path, "-j", "3", code=code) == data
    profile = Profile(data)
    assert profile.threads
    origin = int(profile.extra["Trace"]["origin_ns"])
    want, have, exact = collections.Counter(), collections.Counter(), True
    for s, n in x.spans(rbwp.path, path).items():
        start, stop = (None if t is None else min(max(t - origin, LEAST), MOST) for t in (s.start, s.stop))
        want[s.category, s.name, start, stop] += n
        exact &= all(t is None or abs(t) < EXACT for t in (start, stop))
    assert sum(want.values()) == sum(len(t.markers) for t in profile.threads)
    if not exact:
        return profile
    for t in profile.threads:
        lane = collections.Counter()
        for m in t.markers:
            assert m.stop is not None and m.start <= m.stop
            have[m.category, m.name, m.start, None if "end" in m.data else m.stop] += 1
            lane[m.name] += m.stop - m.start
        for names, start, stop in t.stacks:
            for name in names:
                lane[name] -= stop - start
        assert not any(lane.values()), (path, t.name, lane)
    assert have == want, (path, have - want, want - have)
    return profile


@pytest.fixture(scope="module")
def overlap(shared):
    x.overlapping_gpu(shared / "overlap.bin")
    return shared / "overlap.bin"


@pytest.fixture(scope="module")
def many(shared):
    x.many_inside(shared / "many.bin")
    return shared / "many.bin"


@pytest.fixture(scope="module")
def compressed(rbwp, overlap, shared):
    """By suffix. Launches show what was launched."""
    rbwp("export", "-o", shared / "a.firefox.json.gz", overlap).silent()
    return shared / "a.firefox.json.gz"


def test_every_file(rbwp, golden):
    x.every_file(rbwp.path, "firefox", golden, lambda path, code: check(rbwp, path, code))


@pytest.mark.parametrize("make", [x.hostile_names, x.abutting, x.unfinished])
def test_hard_files(rbwp, work, make):
    make(work / "made.bin")
    check(rbwp, work / "made.bin")


def test_many_inside(rbwp, many):
    check(rbwp, many)


def test_gpu_work_that_overlaps(rbwp, overlap):
    assert [t.name for t in check(rbwp, overlap).threads][1:] == ["GPU 0.1", "GPU 0.2", "GPU 0.2 / 1", "GPU 0.2 / 2"]


def test_compressed(compressed):
    assert Profile(gzip.open(compressed).read()).threads


def test_full_disk(on_full_disk, golden):
    on_full_disk("export", "--to", "firefox", golden / "gaps.bin")


def test_no_temporary_file(rbwp, many, work):
    """What comes mixed lies in one meanwhile."""
    rbwp("export", "--to", "firefox", "-o", work / "b.json", many, code=3, env={"TMPDIR": str(work / "none")}).says("cannot create a temporary file")


def test_no_trace_to_read(rbwp, compressed, work):
    """A viewer's profile is none."""
    rbwp("merge", "-o", work / "c.json", compressed, code=1).says("Firefox Profiler")
