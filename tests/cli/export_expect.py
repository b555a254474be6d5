# SPDX-License-Identifier: Apache-2.0
"""What an export of RBWP files has to contain, from rbwp dump --spans, and files that are hard to export."""
import codecs
import collections
import glob
import json
import random
import subprocess

import rbwp_make as m

codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))
CATEGORIES = {
    "AM_HANDLER": "am",
    "XFER_CHANNEL": "xfer",
    "DEPPART_OP": "deppart",
    "GPU_REAP": "reap",
}

# category, name, start and stop in ns since 1970; stop is None when it is not known
Span = collections.namedtuple("Span", "category name start stop")


def text(span, key):
    """A name as a viewer shows it: every byte that is no UTF-8 is one U+FFFD."""
    if span.get(key + "_hex"):
        return bytes.fromhex(span[key + "_hex"]).decode("utf-8", "each")
    return span[key]


def name_of(span):
    if span["kind"] == "fine":
        return text(span, "name") or f"sub-item {span['sub_item']}"
    return text(span, "name") or f"slot {span['slot']}"


def category_of(span):
    kind = {"coarse": "bgwork", "gpu": "gpu"}.get(span["kind"])
    return kind or CATEGORIES.get(span.get("sub_item_type"), "sub_item")


def spans(rbwp, path):
    """All spans that began, as a Counter."""
    done = subprocess.run([rbwp, "dump", "--spans", path], capture_output=True)
    found = collections.Counter()
    for s in json.loads(done.stdout or "[]"):
        if s["begin"] is not None:
            stop = max(s["begin"], s["end"]) if s["finished"] else None
            found[Span(category_of(s), name_of(s), s["begin"], stop)] += 1
    return found


def export(rbwp, to, path, *more, code=0):
    done = subprocess.run([rbwp, "export", "--to", to, "-o", "-", *more, path], capture_output=True)
    assert done.returncode == code, (to, path, done.returncode, done.stderr)
    return done.stdout


def code_of(rbwp, path):
    """The exit code that reading the file gives."""
    return subprocess.run([rbwp, "dump", "--spans", path], capture_output=True).returncode


def every_file(rbwp, to, golden, check):
    """Calls check(path, code) for all golden and bad files; those of which nothing can be read are refused."""
    checked = 0
    for path in sorted(glob.glob(f"{golden}/*.bin") + glob.glob(f"{golden}/../bad/*/input.bin")):
        code = code_of(rbwp, path)
        if code == 1 and not spans(rbwp, path):
            done = subprocess.run([rbwp, "export", "--to", to, path], capture_output=True)
            assert done.returncode == 1 and done.stderr, path
        else:
            check(path, code)
            checked += 1
    assert checked > 20, checked


def nested(rows):
    """True when the (start, stop) of each row are disjoint or inside each other."""
    for row in rows:
        stack = []
        for start, stop in sorted(row, key=lambda r: (r[0], -r[1])):
            while stack and stack[-1] <= start:
                stack.pop()
            if stack and stack[-1] < stop:
                return False
            stack.append(stop)
    return True


HOSTILE = [
    b'quote " backslash \\ slash /',
    b"line\nfeed\ttab\r\0nul\x1f\x7f",
    b"bad \xff\xfe utf8 \xc3",
    b"\xed\xa0\x80 surrogate \xf5\x80\x80\x80",
    "ümlaut \u2028 \U0001f680".encode(),
    b"</script><b>&amp;",
    b"a;semi;colon 12",
    b"n" * 65535,
    b"\xff" * 65535,
]


def hostile_names(path):
    """A call and a sub-item for each name."""
    records = []
    for i in range(len(HOSTILE)):
        t = 10**18 + 1000 * i
        records += [(t, "cb", i), (t + 100, "fb", i), (t + 300, "fe"), (t + 500, "ce")]
    items = [(i, n) for i, n in enumerate(HOSTILE)]
    subs = [(i, i % 5, n[:60000]) for i, n in enumerate(HOSTILE)]
    open(path, "wb").write(m.file([m.block(1, 0, records)], items, subs, zero_time=10**18))


def overlapping_gpu(path):
    """Launches whose GPU work overlaps partly, nests, abuts and is empty, on two GPUs."""
    t = 10**18
    gpu = 0x1D00000000000001
    work = [(0, 100), (50, 150), (60, 90), (100, 200), (120, 300), (130, 310), (300, 300), (310, 400)]
    records = []
    for i, (start, stop) in enumerate(work):
        records += [(t + 10 * i, "cb", 3), (t + 10 * i + 5, "ce")]
    for i, (start, stop) in enumerate(work):
        at = t + 1000 + 10 * i
        records += [(at, "cb", 4), (at + 5, "gpu", gpu + i % 2, 3, t + 100 + start, t + 100 + stop), (at + 9, "ce")]
    blocks = [m.block(7, 0, records)]
    open(path, "wb").write(m.file(blocks, [(3, b"launch"), (4, b"reap")], zero_time=t))


def many_inside(path, count=70000):
    """A call with more spans inside than are held back for it, among ordinary ones."""
    t = 10**18
    records = [(t, "cb", 1), (t + 10, "ce"), (t + 20, "cb", 1)]
    for i in range(count):
        records += [(t + 30 + 10 * i, "fb", 2), (t + 35 + 10 * i, "fe")]
    records += [(t + 40 + 10 * count, "ce"), (t + 50 + 10 * count, "cb", 1), (t + 60 + 10 * count, "ce")]
    blocks = [m.block(9, i, records[5000 * i : 5000 * i + 5000], compress=True) for i in range(len(records) // 5000 + 1)]
    open(path, "wb").write(m.file(blocks, [(1, b"big")], [(2, 1, b"small")], zero_time=t))


def abutting(path, after=0):
    """Calls that begin where the one before ends, after ns from the zero time, with up to three sub-items that end with them."""
    chance, t, records = random.Random(5), 10**18 + after, []
    for i in range(600):
        stop, inside = t + chance.randrange(3, 200_000), i % 4
        begins = sorted(chance.randrange(t, stop) for _ in range(inside))
        records += [(t, "cb", i % 3)] + [(b, "fb", 1) for b in begins] + [(stop, "fe")] * inside + [(stop, "ce")]
        t = stop
    blocks = [m.block(7, i, records[500 * i : 500 * i + 500]) for i in range((len(records) + 499) // 500)]
    open(path, "wb").write(m.file(blocks, [(i, b"item %d" % i) for i in range(3)], [(1, 0, b"handler")], zero_time=10**18))


def unfinished(path):
    t = 10**18
    records = [(t, "ce"), (t + 10, "cb", 1), (t + 20, "fb", 2), (t + 30, "ce"), (t + 40, "cb", 1), (t + 50, "fb", 2)]
    open(path, "wb").write(m.file([m.block(5, 0, records)], [(1, b"call")], [(2, 1, b"sub")], zero_time=t))
