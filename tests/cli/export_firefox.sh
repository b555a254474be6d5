# SPDX-License-Identifier: Apache-2.0
# A profile for the Firefox Profiler is what its format says, and holds every span of the dump twice:
# as a marker with its nanoseconds, and in samples whose weights are exactly what its thread spent in
# it. What it has no place for is counted and said.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "firefox"
import collections, gzip, json, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import export_expect as x
from firefox_profile import Profile

LEAST, MOST = -(2**63), 2**63 - 1
EXACT = 2**52  # nanoseconds that milliseconds in JSON can have


def check(path, code=0):
    data = x.export(rbwp, "firefox", path, "-j", "1", code=code)
    assert x.export(rbwp, "firefox", path, "-j", "3", code=code) == data
    profile = Profile(data)
    assert profile.threads
    origin = int(profile.extra["Trace"]["origin_ns"])
    want, have, exact = collections.Counter(), collections.Counter(), True
    for s, n in x.spans(rbwp, path).items():
        start, stop = (None if t is None else min(max(t - origin, LEAST), MOST) for t in (s.start, s.stop))
        want[s.category, s.name, start, stop] += n
        exact &= all(t is None or abs(t) < EXACT for t in (start, stop))
    assert sum(want.values()) == sum(len(t.markers) for t in profile.threads), path
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


x.every_file(rbwp, "firefox", golden, check)
for name, make in ("hostile", x.hostile_names), ("overlap", x.overlapping_gpu), ("abutting", x.abutting), ("many", x.many_inside), ("unfinished", x.unfinished):
    make(f"{work}/{name}.bin")
    profile = check(f"{work}/{name}.bin")
    if name == "overlap":
        assert [t.name for t in profile.threads][1:] == ["GPU 0.1", "GPU 0.2", "GPU 0.2 / 1", "GPU 0.2 / 2"], profile.threads

# By suffix, also compressed. Launches are told by what was launched.
done = subprocess.run([rbwp, "export", "-o", f"{work}/a.firefox.json.gz", f"{work}/overlap.bin"], check=True, stderr=subprocess.PIPE)
assert done.stderr == b"", done.stderr
assert Profile(gzip.open(f"{work}/a.firefox.json.gz").read()).threads
P

"$RBWP" export --to firefox "$GOLDEN/gaps.bin" >/dev/full 2>"$work/err"
[ $? -eq 1 ] || fail "a full disk does not exit 1"
expect_error "cannot be written"
# What comes mixed lies in a temporary file meanwhile.
TMPDIR=$work/none expect_exit 3 "$RBWP" export --to firefox -o "$work/b.json" "$work/many.bin"
expect_error "cannot create a temporary file"
# A viewer's profile is no trace to read.
expect_exit 1 "$RBWP" merge -o "$work/c.json" "$work/a.firefox.json.gz"
expect_error "Firefox Profiler"
finish
