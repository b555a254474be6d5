# SPDX-License-Identifier: Apache-2.0
"""The page of rbwp report holds exactly the spans of dump --spans: each one in its tiles, all of them in the summaries of every level
and in the tables; when they do not fit, it says so. Names cannot become markup, the page asks for nothing from a network, and bad
inputs end with the right message and status."""
import collections
import os
import random
import re

import pytest
import rbwp_make as m
from report_page import Page

NAMES = [(i, b"item %d" % i) for i in range(4)], [(i, i, b"sub %d" % i) for i in range(3)]


@pytest.fixture
def report(rbwp, work):
    """report([file, ...], option, ..., code=0): the page."""
    def make(paths, *options, code=0):
        rbwp("report", *paths, "-f", "-o", work / "page.html", *options, code=code)
        page = Page(work / "page.html")
        for word in ("http:", "https:", "src=", "@import", "url("):
            assert word not in page.text.replace("http://www.w3.org/2000/svg", ""), word
        assert page.text.count("<script") == len(page.elements) + 1 == page.text.count("</script")
        return page

    return make


@pytest.fixture
def dump(rbwp):
    def spans(paths, code=0):
        return [s for s in rbwp("dump", "--spans", *paths, code=code).json if s["begin"] is not None]

    return spans


def check_kinds(data, spans):
    finished = [s for s in spans if s["finished"]]
    kinds = data["kinds"]
    for kind, categories in {"coarse": ["bgwork"], "gpu": ["gpu"], "fine": ["am", "xfer", "deppart", "reap", "sub_item"]}.items():
        ours = [k for k in kinds if k["category"] in categories]
        theirs = [s for s in finished if s["kind"] == kind]
        assert sum(k["count"] for k in ours) == len(theirs), kind
        assert sum(k["unfinished"] for k in ours) == sum(not s["finished"] and s["kind"] == kind for s in spans)
        still = sum(s["open_until"] - s["begin"] for s in spans if s.get("open") and s["kind"] == kind)
        assert sum(int(k["total"]) for k in ours) == sum(s["duration"] or 0 for s in theirs) + still, kind
    for k in kinds:
        assert sum(map(int, k["histogram"][1:])) == k["count"]


def check_spans(page, spans):
    """Each one is in a tile."""
    kinds, origin = page.data["kinds"], int(page.data["origin_ns"])
    finished = [s for s in spans if s["finished"]]
    assert origin == min([s["begin"] for s in spans if s["kind"] != "gpu"] or [s["begin"] for s in spans])
    is_near = lambda start: abs(start) < 2**53  # what lies farther away is rounded
    name = lambda s: s["name"] or (f'sub-item {s["sub_item"]}' if s["kind"] == "fine" else f'slot {s["slot"]}')
    want = collections.Counter((name(s), s["kind"], s["begin"] - origin, s["end"] - origin)
                               for s in finished if s["end"] >= s["begin"] and is_near(s["begin"] - origin))
    kind_of = lambda c: {"bgwork": "coarse", "gpu": "gpu"}.get(c, "fine")
    got = collections.Counter((kinds[k]["name"], kind_of(kinds[k]["category"]), start, stop)
                              for _, k, flags, start, stop in page.spans() if not flags & 1 and is_near(start))
    backwards = sum(s["end"] < s["begin"] for s in finished)
    assert len(got - want) <= backwards and not want - got, (list((want - got).items())[:3], list((got - want).items())[:3])


@pytest.fixture
def check(report, dump):
    """check([file, ...], option, ...): the page, compared with the spans of the files."""
    def compare(paths, *options, code=0, whole=True):
        page, spans = report(paths, *options, code=code), dump(paths, code=code)
        data = page.data
        assert data["spans"] == len(spans)
        assert data["detail"]["all"] == whole and (data["detail"]["spans"] == len(spans)) == whole, data["detail"]
        check_kinds(data, spans)
        for level in range(data["levels"]) if spans else ():
            assert page.begun(level) == [row[3] for row in data["rows"]], level
        assert sum(row[3] for row in data["rows"]) == len(spans) - data["hidden"]
        if whole and spans:
            check_spans(page, spans)
        return page

    return compare


@pytest.mark.parametrize("name", [
    "straddle", "gaps", "multi_thread", "level1_one_thread", "level2_all_types", "level2_all_types_zlib", "gpu_work", "discard", "empty",
    "crash_killed", "crash_header_only"])
def test_good_files(check, golden, name):
    check([golden / f"{name}.bin"])


@pytest.mark.parametrize("name", ["crash_cut_in_data", "defect_discard_rotate"])
def test_damaged_files(check, golden, name):
    check([golden / f"{name}.bin"], code=3)


def test_a_file_called_memory(rbwp, golden, work):
    """Its name in a line is no word of memory that ran out."""
    (work / "memory.bin").write_bytes((golden / "crash_cut_in_data.bin").read_bytes())
    done = rbwp("report", "-o", work / "page.html", work / "memory.bin", code=3)
    assert "partly read" in done.error and "out of memory" not in done.error


def test_two_nodes(check, golden, work):
    check(m.same_run(work, [golden / "gaps.bin", golden / "multi_thread.bin"]))


def test_losses(report, golden, extended):
    """Lost records are in the page's data, which its script goes through: with cause, count and time."""
    losses = report([extended]).data["losses"]
    assert [(loss["cause"], loss["records"], loss.get("calls")) for loss in losses] == [("dropped", 1234, None), ("stray end", 0, 2)]
    assert report([golden / "gaps.bin"]).data["losses"] == []


def test_launches(check, work):
    """GPU work is linked to the latest call of its slot that had begun before it."""
    launches = [r for i in range(5) for r in ((1000 + 100 * i, "cb", 3), (1040 + 100 * i, "ce"), (1090 + 100 * i, "gpu", 9, 3, 1050 + 100 * i, 1080 + 100 * i))]
    with open(f"{work}/launches.bin", "wb") as file:
        file.write(m.file([m.block(7, 0, launches)], [(3, b"launcher")]))
    page = check([f"{work}/launches.bin"])
    ((first, numbers),) = [(first, numbers) for is_link, _, first, _, numbers in page.tiles() if is_link]
    assert page.data["links"] == page.data["detail"]["links"] == 5 and len(numbers) == 15
    assert [n >> 1 for n in numbers[5:10]] == [50] * 5 and all(page.data["tracks"][t]["kind"] == "thread" for t in numbers[10:])


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


@pytest.fixture(scope="module")
def large(shared):
    """Enough spans for many tiles and for several levels."""
    rng = random.Random(1)
    blocks = []
    for thread in range(3):
        records = calls(thread, 12000, rng)
        for start in range(0, len(records), 5000):
            blocks.append(m.block(0x7F0000000000 + thread, len(blocks), records[start : start + 5000], True))
    path = shared / "large.bin"
    path.write_bytes(m.file(blocks, *NAMES))
    return path


def test_many_tiles_and_levels(check, large):
    page = check([large])
    assert page.data["levels"] > 2 and len(list(page.tiles())) > 40
    assert set(page.data["detail"]["windows"]) == {"1"}


def test_no_room_for_spans(check, large):
    page = check([large], "--detail", "0", whole=False)
    assert page.data["detail"]["spans"] == 0 and set(page.data["detail"]["windows"]) == {"0"}


def test_room_for_a_part_of_the_spans(report, dump, large):
    """What is in the page is complete in each of the windows that it names."""
    spans = dump([large])
    origin = min(s["begin"] for s in spans)
    extent = max(s["end"] for s in spans) - origin
    page = report([large], "--detail", "1")
    windows = page.data["detail"]["windows"]
    width = extent // len(windows) + 1
    in_page = collections.Counter((start, stop) for _, _, _, start, stop in page.spans())
    for s in spans:
        start, stop = s["begin"] - origin, s["end"] - origin
        if "1" in windows[start // width : stop // width + 1]:
            assert in_page[start, stop] > 0, (start, stop)


@pytest.fixture(scope="module")
def stands(shared):
    """A file in which something stands out."""
    made = [(1, r) for i in range(100) for r in ((1000 + 10**7 * i, "cb", 1), (1100 + 10**7 * i, "fb", 1), (2000 + 10**7 * i, "fe"),
                                                 (5 * 10**6 + 10**7 * i, "ce"))]
    made += [(2, r) for i in range(50) for r in ((1000 + 10**7 * i, "cb", 2), (3 * 10**6 + 10**7 * i, "ce"))]
    path = shared / "stands.bin"
    path.write_bytes(m.file([m.block(t, t, [r for thread, r in made if thread == t]) for t in (1, 2)], *NAMES))
    return path


@pytest.mark.parametrize("options", [[], ["--slot", "2"]])
def test_what_stands_out_is_what_stats_says(rbwp, report, stands, options):
    page = report([stands], *options).data
    said = rbwp("stats", "--json", "--findings", *options, stands).json["findings"]
    assert [(f["what"], f["text"]) for f in page["findings"]] == [(f["what"], f["text"]) for f in said], page["findings"]
    assert [[f[at] for at in ("from", "to") if at in f] for f in page["findings"]] == [[f[at] - int(page["origin_ns"]) for at in ("from", "to") if at in f] for f in said]
    assert bool(said) != bool(options)


def test_stacks_are_those_of_the_export(rbwp, report, stands):
    """Of all threads together."""
    page = report([stands]).data
    paths = [()]
    for parent, kind, count, self_ns in page["stacks"]:
        paths.append(paths[parent] + (page["kinds"][kind]["name"],))
    ours = {";".join(path): int(node[3]) for path, node in zip(paths[1:], page["stacks"])}
    folded = collections.Counter()
    for line in rbwp("export", "--to", "folded", stands).lines:
        stack, self_ns = line.rsplit(" ", 1)
        folded[stack.split(";", 2)[2]] += int(self_ns)
    assert ours == folded and len(ours) == 3, (ours, folded)
    assert sorted(node[2] for node in page["stacks"]) == [50, 100, 100]


def test_hostile_names(check, work):
    """Markup, control bytes, what is not UTF-8."""
    evil = [b"</script><script>alert(1)</script>", b"<!--<script>", b"\x00\x01\x1b[2J\x7f", b"\xff\xfe\xc3(", b'"\\\n&amp;', b"'-alert(1)-'"]
    blocks = [m.block(7, 0, [r for i in range(6) for r in ((1000 + 100 * i, "cb", i), (1010 + 100 * i, "fb", i), (1020 + 100 * i, "fe"),
                                                           (1050 + 100 * i, "ce"))])]
    with open(f"{work}/evil.bin", "wb") as file:
        file.write(m.file(blocks, list(enumerate(evil)), [(i, 0, n) for i, n in enumerate(evil)]))
    page = check([f"{work}/evil.bin"])
    assert "alert(1)" not in page.text and "\x1b" not in page.text
    found = {k["name"] for k in page.data["kinds"]}
    assert evil[0].decode() in found and any("\u00ff" in n for n in found), found


def test_same_run_twice_gives_the_same_page(report, golden):
    first = report([f"{golden}/multi_thread.bin"]).text
    assert report([f"{golden}/multi_thread.bin"]).text == first


@pytest.fixture(scope="module")
def job(run, program, shared):
    run(program("MAKE_JOB"), "-r", "200", "-x", "5", shared / "job", "66")
    return shared / "job"


@pytest.fixture(scope="module")
def few(job):
    (job.parent / "few").mkdir()
    for path in job.glob("bgwork_?.bin"):
        os.link(path, job.parent / "few" / path.name)
    return job.parent / "few"


def check_nodes(page, stats):
    """Each node is as busy as rbwp stats says, in all and over time."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    nodes = {each["node"]: each for each in stats["nodes"]["list"]}
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

def test_nodes(rbwp, report, few):
    check_nodes(report([few], "--no-progress").data, rbwp("stats", "--no-progress", "--json", few).json)


def test_nodes_of_many_files(rbwp, report, job, work):
    """The page has their sums, whether they were kept or not, and no spans."""
    stats = rbwp("stats", "--no-progress", "--json", job).json
    check_nodes(report([job], "--no-progress").data, stats)
    for kept in "written", "read":
        check_nodes(report([job], "--no-progress", f"--cache={work}/kept").data, stats)


@pytest.mark.parametrize("columns", [80, 100, 130])
def test_messages_fit_the_width(rbwp, few, columns):
    """By leaving out the longest times, and then bytes."""
    text = rbwp("stats", "--no-progress", "--by", "message", few, env={"COLUMNS": str(columns)}).text
    table = re.search("^Messages.*", text, re.M | re.S)[0].splitlines()
    assert table[1].count("max") == (2 if columns > 115 else 0)
    assert max(map(len, table)) <= columns


def test_filters_are_those_of_dump(report, golden):
    report([golden / "multi_thread.bin"], "--slot", "0")


def test_inputs_that_cannot_be_read(rbwp, work):
    (work / "text").write_text("just text\n")
    (work / "nothing").touch()
    (work / "no_files").mkdir()
    for name in ("text", "nothing", "no_files", "absent"):
        rbwp("report", work / name, "-f", "-o", work / "bad.html", code=1).in_one_line()


def test_usage(rbwp, golden, work):
    gaps, page = golden / "gaps.bin", work / "page.html"
    rbwp("report", code=2).says("no FILE given")
    rbwp("report", "--detail", "many", gaps, "-o", work / "x.html", code=2).says("is not a number of megabytes")
    page.touch()
    rbwp("report", gaps, "-o", page, code=1).says("exists; give -f to overwrite it")
    rbwp("report", gaps, "-o", "/dev/full", "-f", code=1)
    rbwp("report", golden / "multi_thread.bin", "-f", "-o", page, env={"TMPDIR": f"{work}/absent"}, code=3)


def test_page_on_standard_output(rbwp, golden):
    assert "</html>" in rbwp("report", golden / "gaps.bin", "-o", "-").text
