# SPDX-License-Identifier: Apache-2.0
"""What kernels recorded inside (tables lane_span and device_event), by kernel and group: spans, busy and waiting time by the innermost
span, overlap of groups block by block, all known by construction. A kernel is found by its launch, else by time within the bound; the
GPU is as busy as its kernels; a damaged or hostile file ends well. The page of rbwp report has the same numbers, each span with its
block and launch below GPU, SM and group, and stays small without single spans. What probes recorded is added up by line, with the source
where it may be read: no file but a source's, and no more of it than the lines around those with records."""
import os
import random
import re

import kernels_make as m
import pytest
from report_page import Page


@pytest.fixture(scope="module")
def stats(rbwp):
    return lambda path, *options: rbwp("stats", "--json", *options, path).json


@pytest.fixture
def report(rbwp, work):
    def page(path, *options):
        rbwp("report", "-f", "-o", work / "page.html", *options, path)
        return Page(work / "page.html")

    return page


@pytest.fixture(scope="module")
def path(shared):
    m.known(f"{shared}/kernels.bin")
    return f"{shared}/kernels.bin"


def group(name, spans, lanes, time, busy, waiting, instants=0, unended=0):
    return {"group": name, "spans": spans, "instants": instants, "unended": unended, "lanes": lanes, "time": time,
            "busy": busy, "waiting": waiting, "busy_share": round(busy / time, 6), "waiting_share": round(waiting / time, 6)}


def test_groups_of_kernels(stats, path):
    all_of_it = stats(path)
    assert all_of_it["inside_kernels"] == [
        {"kernel": "gemm", "launches": 2, "blocks": 6, "time": 6000,
         "groups": [group("producer", 12, 6, 6000, 3600, 2400, unended=1), group("consumer", 18, 6, 6000, 3600, 2400, 6)],
         "overlaps": [{"groups": ["producer", "consumer"], "both": 1800, "share": 0.5}]},
        {"kernel": "copy", "launches": 1, "blocks": 3, "time": 1800, "groups": [group("warp", 3, 3, 1800, 1300, 500)], "overlaps": []},
        {"kernel": "scatter", "launches": 1, "blocks": 2, "time": 500, "groups": [group("events", 3, 2, 500, 200, 300)], "overlaps": []},
        {"kernel": "", "launches": 0, "blocks": 1, "time": 100, "groups": [group("warp", 1, 1, 100, 100, 0)], "overlaps": []},
    ], all_of_it["inside_kernels"]
    (gpu,) = all_of_it["gpus"]
    assert (gpu["spans"], gpu["busy"]) == (4, 35000) and not any("lane" in t["name"] for t in all_of_it["other_tracks"])
    assert "gpus" not in stats(path, "--by", "kernel") and "inside_kernels" not in stats(path, "--by", "gpu")


def test_window_of_time(stats, path):
    """Of block 0 of launch 11 what lies in it: from 300 to 600 on."""
    (kernel,) = stats(path, "--by", "kernel", "--from", str(m.T0 + 10300), "--to", str(m.T0 + 10450))["inside_kernels"]
    assert [(g["busy"], g["waiting"]) for g in kernel["groups"]] == [(150, 0), (150, 0)] and kernel["overlaps"][0]["share"] == 1, kernel


def test_text(rbwp, path):
    text = rbwp("stats", "--by", "kernel", path).text
    for line in ("  gemm: 2 launches, 6 blocks, 6.000 us of block time", " +12 +6  3.600 us +60.0%  2.400 us +40.0%  producer \\(1 never ended\\)",
                 " +overlap +1.800 us +50.0% +producer and consumer"):
        assert re.search(f"^{line}$", text, re.M), text


def test_cut_file(rbwp, path, work):
    with open(path, "rb") as whole:
        (work / "cut.bin").write_bytes(whole.read(900))
    rbwp("stats", work / "cut.bin", code=3)


def test_page(stats, report, path, work):
    """The same sums, and the tree that its rows fold by."""
    all_of_it, page = stats(path), report(path)
    data = page.data
    assert data["inside"] == all_of_it["inside_kernels"]
    assert data["inside_launches"] == [[0, 0, 10000, 10000, 11], [0, 0, 30000, 10000, 12], [0, 1, 50000, 10000, 13], [0, 2, 55000, 10000, 14]]
    above = lambda t: [t["name"]] + (above(data["tracks"][t["parent"]]) if "parent" in t else [])
    assert ["consumer", "SM 1", "lanes", "GPU 0x5"] in map(above, data["tracks"]) and ["XCC0_CU1", "events", "GPU 0x5"] in map(above, data["tracks"])
    assert {k["name"] for k in data["kinds"] if k["waits"]} == {"wait_empty", "wait_full", "event_3100", "wait", "barrier"}
    made = m.known(f"{work}/again.bin")
    rows = [(made.texts[r[7] - 1], r[4], r[3], r[0] - m.T0, r[1] - m.T0) for r in made.tables["lane_span"]]
    rows += [(made.texts[r[5] - 1], r[6], r[4], r[0] - m.T0, r[1] - m.T0) for r in made.tables["device_event"]]
    assert sorted(page.places()) == sorted(rows)


def test_page_without_spans_stays_small(report, work):
    sizes = []
    for tiles in 10, 40:
        m.many(f"{work}/many.bin", 24, tiles)
        page = report(f"{work}/many.bin", "--detail", "0")
        assert (page.data["spans"], page.data["hidden"]) == (24 * 6 * 4 * tiles + 5, 0) and page.data["inside"][0]["overlaps"][0]["share"] == 0.5
        assert page.begun(0) == [row[3] for row in page.data["rows"]]
        sizes.append(len(page.text))
    assert sizes[1] < 1.5 * sizes[0], sizes


def random_block(rng, profile, number):
    """Spans of a block, nested or not, in the order of no clock: for each group and nanosecond with a span, whether it is busy."""
    lanes, state = {}, {}
    for _ in range(rng.randrange(1, 30)):
        name, start = rng.choice(["a", "b", "c"]), rng.randrange(300)
        lanes.setdefault(name, []).append((start, start + rng.randrange(1, 40), rng.choice(["wait", "waits", "work", "awaited"])))
    for name, spans in lanes.items():
        nested = []
        for start, stop, event in sorted(spans, key=lambda s: (s[0], -s[1])):  # what sticks out is cut off
            around = [s for s in nested if s[0] <= start < s[1]]
            nested.append((start, min([stop] + [s[1] for s in around]), event))
        for start, stop, event in nested:
            profile.lane(1, number, number % 3, name, event, 100 + start, 100 + stop)
        for now in range(400):
            inside = [s for s in nested if s[0] <= now < s[1]]
            if inside:
                state[name, now] = not inside[-1][2].startswith("wait")
    low = min(s[0] for spans in lanes.values() for s in spans)
    return lanes, state, max(now for _, now in state) + 1 - low


def test_any_spans(stats, work):
    """Against a sweep nanosecond by nanosecond."""
    rng = random.Random(5)
    profile = m.Profile()
    profile.kernel("any", 1, 0, 10000)
    want = {}
    for number in range(12):
        lanes, state, time = random_block(rng, profile, number)
        for name in lanes:
            sums = want.setdefault(name, [0, 0, 0])
            sums[0] += sum(state.get((name, now)) is True for now in range(400))
            sums[1] += sum(state.get((name, now)) is False for now in range(400))
            sums[2] += time
            for other in lanes:
                if name < other:
                    both = sum(state.get((name, now), 0) and state.get((other, now), 0) for now in range(400))
                    want[name, other] = want.get((name, other), 0) + both
    profile.write(f"{work}/any.bin", 20000)
    (kernel,) = stats(f"{work}/any.bin", "--by", "kernel")["inside_kernels"]
    got = {g["group"]: [g["busy"], g["waiting"], g["time"]] for g in kernel["groups"]}
    got |= {tuple(sorted(o["groups"])): o["both"] for o in kernel["overlaps"]}
    assert kernel["blocks"] == 12 and got == {k: v for k, v in want.items()}, (got, want)


def test_more_groups_than_are_kept_apart(stats, report, work):
    """Times at both ends of what there is, deep nesting. Nothing of it has a kernel, so all of it is one."""
    profile = m.Profile()
    for number in range(40):
        profile.lane(0, 0, 0, f"group {number}", "work", 100 + number, 1000)
        profile.lane(0, 1, 0, "deep", "wait" if number % 2 else "work", 100 + number, 1000 - number)
        profile.lane(3, 1, 0, "far", "work", -m.T0 - (1 << 63), (1 << 63) - 1 - m.T0)
    profile.write(f"{work}/odd.bin", 2000)
    (kernel,) = stats(f"{work}/odd.bin", "--by", "kernel")["inside_kernels"]
    assert [g["group"] for g in report(f"{work}/odd.bin").data["inside"][0]["groups"]] == [g["group"] for g in kernel["groups"]]
    names = [g["group"] for g in kernel["groups"]]
    assert len(names) == 16 and names[15] == "(others)" and sum(g["spans"] for g in kernel["groups"]) == 120, names


def test_more_kernels_than_are_kept_apart(stats, work):
    """The last one is all of the others."""
    profile = m.Profile()
    for number in range(4100):
        profile.kernel(f"kernel {number}", number + 1, 10 * number, 10 * number + 9)
        profile.lane(number + 1, 0, 0, "warp", "work", 10 * number, 10 * number + 5)
    profile.write(f"{work}/kernels_many.bin", 50000)
    kernels = {k["kernel"]: k["blocks"] for k in stats(f"{work}/kernels_many.bin", "--by", "kernel", "--top", "0")["inside_kernels"]}
    assert len(kernels) == 4096 and kernels["(others)"] == 5 and kernels["kernel 4094"] == 1


@pytest.fixture(scope="module")
def probed(shared):
    """A file with the records of probes, what was recorded, and the source."""
    source = f"{shared}/probes.py"
    return f"{shared}/probes.bin", m.probes(f"{shared}/probes.bin", source), source


def test_lines_of_a_kernel_with_probes(rbwp, stats, report, probed, work):
    """The page has what stats has."""
    path, made, source = probed
    sums, plain = stats(path, "--by", "kernel")["kernel_lines"]
    assert (sums["launches"], sums["lanes"], sums["records"]) == (2, 24, len(made.tables["kernel_block"]) - 1), sums
    assert [[line[n] for n in ("place", "file", "line", "cycles")] for line in plain["lines"]] == [["ptx:9", "", 0, 80]], plain
    data = report(path).data
    kernel, _ = data["kernel_lines"]
    assert kernel == sums and len(kernel["edges"]) == 9
    assert data["sources"] == [{"path": source, "first": 1, "lines": m.SOURCE.splitlines()}]
    assert "<script>document" not in (work / "page.html").read_text()
    text = rbwp("stats", "--by", "kernel", path).text
    for line in ("  softmax: 2 launches, 24 lanes, 410688 cycles, 2\\.5% of the time between records",
                 " +72.6% +144 +298,080 +1,967 +2,335 +23.1%  probes.py:6"):
        assert re.search(f"^{line}$", text, re.M), text


def test_source_elsewhere(report, work):
    made = f"{work}/probes.py"
    m.probes(f"{work}/probes.bin", made)
    sources = lambda *options: report(f"{work}/probes.bin", *options).data["sources"]
    whole, none = ([{"path": made, "first": 1, "lines": lines}] for lines in (m.SOURCE.splitlines(), []))
    assert sources("--no-source") == none
    (work / "sources").mkdir()
    os.rename(made, work / "sources" / "probes.py")
    assert sources() == none
    for path in (work / "sources", work / "sources" / "probes.py"):
        assert sources("--source", path) == whole
    assert sources("--source", f"{work}/probes.bin") == none


def test_what_is_no_source(report, work):
    """Nor a plain file, or too large: it is dropped."""
    os.mkfifo(work / "pipe.py")
    (work / "folder.py").mkdir()
    (work / "secret").write_text("secret\n" * 9)
    for path in ("/etc/passwd", f"{work}/secret", f"{work}/pipe.py", f"{work}/folder.py", "", "/nowhere/" + "x" * 5000 + ".py"):
        profile = m.Profile()
        profile.kernel("k", 1, 1000, 2000)
        profile.record(1, "k", path, 3, (0, 0), (0, 0, 0, 0), 1100, 40)
        profile.write(f"{work}/other.bin", 3000)
        assert all(source["lines"] == [] for source in report(f"{work}/other.bin").data["sources"]), path


def test_long_source(report, work):
    """There are the lines around those with records."""
    with open(f"{work}/long.py", "w") as file:
        file.writelines(f"line {i}\r\n" for i in range(1, 5001))
    profile = m.Profile()
    profile.record(1, "k", f"{work}/long.py", 4000, (0, 0), (0, 0, 0, 0), 1100, 40)
    profile.record(1, "k", f"{work}/long.py", 0, (7, 7), (0, 0, 0, 0), 1200, 40)
    profile.record(1, "k", f"{work}/long.py", (1 << 64) - 1, (1 << 63, 2), ((1 << 64) - 1,) * 4, 1300, (1 << 64) - 1)
    profile.write(f"{work}/long.bin", 3000)
    got = report(f"{work}/long.bin").data
    assert got["sources"][0]["first"] == 3997 and got["sources"][0]["lines"][3] == "line 4000", got["sources"]
    assert len(got["kernel_lines"][0]["lines"]) == 3
