# SPDX-License-Identifier: Apache-2.0
# The page of rbwp report holds exactly the spans of dump --spans: each one in its tiles, all of them in the
# summaries of every level and in the tables; when they do not fit, it says so. Names cannot become
# markup, the page asks for nothing from a network, and bad inputs end with the right message and status.
. "$(dirname "$0")/lib.sh"
"$MAKE_EXTENDED" "$work/extended.bin" || fail "make_extended"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "report"
import collections, json, random, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m
from report_page import Page


def report(paths, *options, code=0):
    out = f"{work}/page.html"
    done = subprocess.run([rbwp, "report", *paths, "-f", "-o", out, *options], capture_output=True)
    assert done.returncode == code, (paths, done.returncode, done.stderr)
    page = Page(out)
    for word in ("http:", "https:", "src=", "@import", "url("):
        assert word not in page.text.replace("http://www.w3.org/2000/svg", ""), word
    assert page.text.count("<script") == len(page.elements) + 1 == page.text.count("</script")
    return page


def dump(paths):
    done = subprocess.run([rbwp, "dump", "--spans", *paths], capture_output=True)
    return [s for s in json.loads(done.stdout) if s["begin"] is not None]


def check(paths, *options, code=0, whole=True):
    page, spans = report(paths, *options, code=code), dump(paths)
    data = page.data
    assert data["spans"] == len(spans), paths
    assert data["detail"]["all"] == whole and (data["detail"]["spans"] == len(spans)) == whole, data["detail"]
    finished = [s for s in spans if s["finished"]]
    kinds = data["kinds"]
    for kind, categories in {"coarse": ["bgwork"], "gpu": ["gpu"], "fine": ["am", "xfer", "deppart", "reap", "sub_item"]}.items():
        ours = [k for k in kinds if k["category"] in categories]
        theirs = [s for s in finished if s["kind"] == kind]
        assert sum(k["count"] for k in ours) == len(theirs), (paths, kind)
        assert sum(k["unfinished"] for k in ours) == sum(not s["finished"] and s["kind"] == kind for s in spans)
        still = sum(s["open_until"] - s["begin"] for s in spans if s.get("open") and s["kind"] == kind)
        assert sum(int(k["total"]) for k in ours) == sum(s["duration"] or 0 for s in theirs) + still, (paths, kind)
    for k in kinds:
        assert sum(map(int, k["histogram"][1:])) == k["count"]
    for level in range(data["levels"]) if spans else ():
        assert page.begun(level) == [row[3] for row in data["rows"]], level
    assert sum(row[3] for row in data["rows"]) == len(spans) - data["hidden"]
    if whole and spans:
        origin = int(data["origin_ns"])
        assert origin == min([s["begin"] for s in spans if s["kind"] != "gpu"] or [s["begin"] for s in spans])
        is_near = lambda start: abs(start) < 2**53  # what lies farther away is rounded
        name = lambda s: s["name"] or (f'sub-item {s["sub_item"]}' if s["kind"] == "fine" else f'slot {s["slot"]}')
        want = collections.Counter((name(s), s["kind"], s["begin"] - origin, s["end"] - origin) for s in finished if s["end"] >= s["begin"] and is_near(s["begin"] - origin))
        kind_of = lambda c: {"bgwork": "coarse", "gpu": "gpu"}.get(c, "fine")
        got = collections.Counter((kinds[k]["name"], kind_of(kinds[k]["category"]), start, stop) for _, k, flags, start, stop in page.spans() if not flags & 1 and is_near(start))
        backwards = sum(s["end"] < s["begin"] for s in finished)
        assert len(got - want) <= backwards and not want - got, (paths, list((want - got).items())[:3], list((got - want).items())[:3])
    return page


for name in ("straddle", "gaps", "multi_thread", "level1_one_thread", "level2_all_types", "level2_all_types_zlib", "gpu_work", "discard", "empty"):
    check([f"{golden}/{name}.bin"])
check(m.same_run(work, [f"{golden}/gaps.bin", f"{golden}/multi_thread.bin"]))
for name in ("crash_killed", "crash_cut_in_data", "crash_header_only", "defect_discard_rotate"):
    path = f"{golden}/{name}.bin"
    code = subprocess.run([rbwp, "dump", "--spans", path], capture_output=True).returncode
    check([path], code=code)

# Lost records are in the page's data, which its script goes through: with cause, count and time.
loss = [(loss["cause"], loss["records"], loss.get("calls")) for loss in report([f"{work}/extended.bin"]).data["losses"]]
assert loss == [("dropped", 1234, None), ("stray end", 0, 2)] and report([f"{golden}/gaps.bin"]).data["losses"] == [], loss

# GPU work is linked to the latest call of its slot that had begun before it.
launches = [r for i in range(5) for r in ((1000 + 100 * i, "cb", 3), (1040 + 100 * i, "ce"), (1090 + 100 * i, "gpu", 9, 3, 1050 + 100 * i, 1080 + 100 * i))]
with open(f"{work}/launches.bin", "wb") as file:
    file.write(m.file([m.block(7, 0, launches)], [(3, b"launcher")]))
page = check([f"{work}/launches.bin"])
((first, numbers),) = [(first, numbers) for is_link, _, first, _, numbers in page.tiles() if is_link]
assert page.data["links"] == page.data["detail"]["links"] == 5 and len(numbers) == 15
assert [n >> 1 for n in numbers[5:10]] == [50] * 5 and all(page.data["tracks"][t]["kind"] == "thread" for t in numbers[10:])

# Enough spans for many tiles and for several levels; with and without room for them.
def calls(thread, count, rng):
    records, now = [], 1000 + thread
    for i in range(count):
        now += rng.randrange(1, 3000) if i % 5000 else 10**7
        records.append((now, "cb", rng.randrange(4)))
        for _ in range(rng.randrange(3)):
            now += rng.randrange(1, 400)
            records += [(now, "fb", rng.randrange(3)), (now + 50, "fe")]
            now += 60
        now += rng.randrange(0, 5000)
        records.append((now, "ce"))
    return records


rng = random.Random(1)
names = [(i, b"item %d" % i) for i in range(4)], [(i, i, b"sub %d" % i) for i in range(3)]
blocks = []
for thread in range(3):
    records = calls(thread, 12000, rng)
    for start in range(0, len(records), 5000):
        blocks.append(m.block(0x7F0000000000 + thread, len(blocks), records[start : start + 5000], True))
with open(f"{work}/large.bin", "wb") as file:
    file.write(m.file(blocks, *names))
page = check([f"{work}/large.bin"])
assert page.data["levels"] > 2 and len(list(page.tiles())) > 40
assert set(page.data["detail"]["windows"]) == {"1"}
page = check([f"{work}/large.bin"], "--detail", "0", whole=False)
assert page.data["detail"]["spans"] == 0 and set(page.data["detail"]["windows"]) == {"0"}

# Part of it: what is in the page is complete in each of the windows that it names.
small, spans = None, dump([f"{work}/large.bin"])
origin = min(s["begin"] for s in spans)
extent = max(s["end"] for s in spans) - origin
page = Page((report([f"{work}/large.bin"], "--detail", "1"), f"{work}/page.html")[1])
windows = page.data["detail"]["windows"]
width = extent // len(windows) + 1
in_page = collections.Counter((start, stop) for _, _, _, start, stop in page.spans())
for s in spans:
    start, stop = s["begin"] - origin, s["end"] - origin
    if "1" in windows[start // width : stop // width + 1]:
        assert in_page[start, stop] > 0, (start, stop)

# What stands out is what stats says; stacks are those of the export, of all threads together.
made = [(1, r) for i in range(100) for r in ((1000 + 10**7 * i, "cb", 1), (1100 + 10**7 * i, "fb", 1), (2000 + 10**7 * i, "fe"), (5 * 10**6 + 10**7 * i, "ce"))]
made += [(2, r) for i in range(50) for r in ((1000 + 10**7 * i, "cb", 2), (3 * 10**6 + 10**7 * i, "ce"))]
with open(f"{work}/stands.bin", "wb") as file:
    file.write(m.file([m.block(t, t, [r for thread, r in made if thread == t]) for t in (1, 2)], *names))
for options in ([], ["--slot", "2"]):
    page = report([f"{work}/stands.bin"], *options).data
    said = json.loads(subprocess.run([rbwp, "stats", "--json", "--findings", *options, f"{work}/stands.bin"], capture_output=True, check=True).stdout)["findings"]
    assert [(f[0], f[1]) for f in page["findings"]] == [(f["what"], f["text"]) for f in said], page["findings"]
    assert [f[4:] for f in page["findings"]] == [[f["from"] - int(page["origin_ns"]), f["to"] - f["from"]] if "from" in f else [] for f in said]
    assert bool(said) != bool(options)
page = report([f"{work}/stands.bin"]).data
paths = [()]
for parent, kind, count, self_ns in page["stacks"]:
    paths.append(paths[parent] + (page["kinds"][kind]["name"],))
ours = {";".join(path): int(node[3]) for path, node in zip(paths[1:], page["stacks"])}
folded = collections.Counter()
for line in subprocess.run([rbwp, "export", "--to", "folded", f"{work}/stands.bin"], capture_output=True, check=True, text=True).stdout.splitlines():
    stack, self_ns = line.rsplit(" ", 1)
    folded[stack.split(";", 2)[2]] += int(self_ns)
assert ours == folded and len(ours) == 3, (ours, folded)
assert sorted(node[2] for node in page["stacks"]) == [50, 100, 100]

# Hostile names: markup, control bytes, what is not UTF-8.
evil = [b"</script><script>alert(1)</script>", b"<!--<script>", b"\x00\x01\x1b[2J\x7f", b"\xff\xfe\xc3(", b'"\\\n&amp;', b"'-alert(1)-'"]
blocks = [m.block(7, 0, [r for i in range(6) for r in ((1000 + 100 * i, "cb", i), (1010 + 100 * i, "fb", i), (1020 + 100 * i, "fe"), (1050 + 100 * i, "ce"))])]
with open(f"{work}/evil.bin", "wb") as file:
    file.write(m.file(blocks, list(enumerate(evil)), [(i, 0, n) for i, n in enumerate(evil)]))
page = check([f"{work}/evil.bin"])
assert "alert(1)" not in page.text and "\x1b" not in page.text
found = {k["name"] for k in page.data["kinds"]}
assert evil[0].decode() in found and any("\u00ff" in n for n in found), found

# The same run twice gives the same page.
first = report([f"{golden}/multi_thread.bin"]).text
assert report([f"{golden}/multi_thread.bin"]).text == first
P

# Nodes: each is as busy as rbwp stats says, in all and over time; of many files the page has their sums, whether they were
# kept or not, and no spans.
check "making a job" "$MAKE_JOB" -r 200 -x 5 "$work/job" 66
mkdir "$work/few"
cp "$work"/job/bgwork_?.bin "$work/few"
cat >"$work/nodes.py" <<'P'
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from report_page import Page
page, stats = Page(sys.argv[2]).data, json.load(open(sys.argv[3]))
letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
nodes = {stats_node["node"]: stats_node for stats_node in stats["nodes"]["list"]}
assert len(page["nodes"]) == len(nodes) == len(page["processes"]) > 9
for node_shown in page["nodes"]:
    process, workers, busy, lost, shares = (node_shown[key] for key in ("owner", "workers", "busy", "lost_records", "shares"))
    node = nodes[page["processes"][process]["node"]]
    assert (workers, busy, lost) == (node["workers"], node["busy"], 0)
    for part, share in enumerate(node["shares"]):
        mean = sum(letters.index(letter) for letter in shares[2 * part : 2 * part + 2]) / 126
        assert abs(mean - share) < 0.01, (mean, share)
assert max(page["nodes"], key=lambda node: node["busy"])["owner"] == [p["node"] for p in page["processes"]].index(5)
assert page["merged"] == (len(nodes) > 64) == (not page["rows"])
kinds = {(kind["name"], kind["category"]): kind["count"] for kind in page["kinds"]}
rows = {(row["name"], row["category"]): row["count"] for what in ("work_items", "sub_items", "ranges") for row in stats[what]}
assert kinds == rows, (kinds, rows)
P
for files in few job job; do
    expect_exit 0 "$RBWP" stats --no-progress --json "$work/$files"
    mv "$work/out" "$work/stats.json"
    expect_exit 0 "$RBWP" report --no-progress ${kept:-} -f -o "$work/page.html" "$work/$files"
    check "nodes of $files" "$PYTHON" "$work/nodes.py" "$here" "$work/page.html" "$work/stats.json"
    [ $files = few ] || kept="--cache=$work/kept"
done

# Messages fit the width, too: by leaving out the longest times, and then bytes.
for columns in 80 100 130; do
    COLUMNS=$columns "$RBWP" stats --no-progress --by message "$work/few" | sed -n '/^Messages/,$p' >"$work/wide"
    [ "$(head -2 "$work/wide" | tail -1 | grep -o max | wc -l)" = $((columns > 115 ? 2 : 0)) ] || fail "longest of messages in $columns columns"
    [ -s "$work/wide" ] && [ "$(awk '{ print length }' "$work/wide" | sort -n | tail -1)" -le $columns ] || fail "messages in $columns columns"
done
# Filters are those of dump.
expect_exit 0 "$RBWP" report "$GOLDEN/multi_thread.bin" -f -o "$work/page.html" --slot 0
# Inputs that cannot be read, and what is wrongly asked for.
printf 'just text\n' >"$work/text"
: >"$work/nothing"
for input in "$work/text" "$work/nothing" "$work/no_files" "$work/absent"; do
    expect_exit 1 "$RBWP" report "$input" -f -o "$work/bad.html"
    expect_one_line
done
expect_exit 2 "$RBWP" report
expect_error "no FILE given"
expect_exit 2 "$RBWP" report --detail many "$GOLDEN/gaps.bin" -o "$work/x.html"
expect_error "is not a number of megabytes"
expect_exit 1 "$RBWP" report "$GOLDEN/gaps.bin" -o "$work/page.html"
expect_error "exists; give -f to overwrite it"
expect_exit 0 "$RBWP" report "$GOLDEN/gaps.bin" -o -
grep -q '</html>' "$work/out" || fail "no page on standard output"
expect_exit 1 "$RBWP" report "$GOLDEN/gaps.bin" -o /dev/full -f
expect_exit 3 env TMPDIR="$work/absent" "$RBWP" report "$GOLDEN/multi_thread.bin" -f -o "$work/page.html"
finish
