# SPDX-License-Identifier: Apache-2.0
# speedscope's own format holds every span of the dump with its name and its nanoseconds: in each
# profile opens and closes match and times never go back, or speedscope refuses the file. Names are
# UTF-8 whatever they were. What it has no place for is counted and said.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "speedscope"
import collections, gzip, json, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import export_expect as x

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


def check(path, code=0):
    data = x.export(rbwp, "speedscope", path, "-j", "1", code=code)
    assert x.export(rbwp, "speedscope", path, "-j", "3", code=code) == data
    have = collections.defaultdict(list)
    for name, spans in profiles(json.loads(data)):
        assert name not in have
        have[name] += spans
    origin = int(json.loads(x.export(rbwp, "chrome", path, code=code))["otherData"]["origin_ns"])
    want = collections.Counter()
    for s, n in x.spans(rbwp, path).items():
        start, stop = (None if t is None else min(max(t - origin, LEAST), MOST) for t in (s.start, s.stop))
        want[s.name, start, stop] += n
    unfinished = {(name, start) for name, start, stop in want if stop is None}
    found = collections.Counter((n, b, None if (n, b) in unfinished else e) for spans in have.values() for n, b, e in spans)
    for n, b, e in list(want):
        if (n, b) in unfinished and e is not None:
            want[n, b, None] += want.pop((n, b, e))
    assert found == want, (path, found - want, want - found)
    return have


x.every_file(rbwp, "speedscope", golden, check)
for name, make in ("hostile", x.hostile_names), ("overlap", x.overlapping_gpu), ("abutting", x.abutting), ("many", x.many_inside), ("unfinished", x.unfinished):
    make(f"{work}/{name}.bin")
    have = check(f"{work}/{name}.bin")
    if name == "overlap":
        assert list(have)[1:] == ["node 0, GPU 0.1", "node 0, GPU 0.2", "node 0, GPU 0.2 / 1", "node 0, GPU 0.2 / 2"], list(have)

# By suffix, also compressed: the longest one that fits. Arrows have no place in it.
done = subprocess.run([rbwp, "export", "-o", f"{work}/a.speedscope.json.gz", f"{work}/overlap.bin"], check=True, stderr=subprocess.PIPE)
assert b"speedscope: dropped 8 links\n" in done.stderr, done.stderr
assert json.load(gzip.open(f"{work}/a.speedscope.json.gz"))["profiles"]
P

"$RBWP" export --to speedscope "$GOLDEN/gaps.bin" >/dev/full 2>"$work/err"
[ $? -eq 1 ] || fail "a full disk does not exit 1"
expect_error "cannot be written"
# What comes mixed lies in a temporary file meanwhile.
TMPDIR=$work/none expect_exit 3 "$RBWP" export --to speedscope -o "$work/b.json" "$work/many.bin"
expect_error "cannot create a temporary file"
finish
