# SPDX-License-Identifier: Apache-2.0
"""rbwp diff finds what got slower, by every measure, on files made to differ by known factors, and its exit status is 4 exactly where the
threshold is passed and chance cannot be the reason. Guards matching by name, not by slot."""
import json
import random

import pytest
import rbwp_make as m
from report_page import Page

SLOTS = {"same": 1, "slower": 2, "faster": 3, "gone": 4, "tail": 5}
BEFORE = [("same", 100)] * 50 + [("slower", 1000)] * 20 + [("faster", 500)] * 10 + [("gone", 5)] + [("tail", 100)] * 98 + [("tail", 200)] * 2
AFTER = [("same", 100)] * 50 + [("slower", 1100)] * 20 + [("faster", 400)] * 10 + [("new", 5)] + [("tail", 100)] * 98 + [("tail", 2000)] * 2
WHY_MEAN = "By mean, not by net: when calls ran is not known in all files (-bgworkprofile_cpu)\n"


def make(path, lengths, slots):
    records, at = [], 1000
    for item, ns in lengths:
        records += [(at, "cb", slots[item]), (at + ns, "ce")]
        at += ns + 7
    path.write_bytes(m.file([m.block(1, 0, records)], [(n, i.encode()) for i, n in slots.items()]))


@pytest.fixture(scope="module")
def made(shared):
    """A folder with files: a and b, by known factors; near, within 4 % of a; runs of either side, a0 to a4 and b0 to b4."""
    make(shared / "a", BEFORE, SLOTS)
    make(shared / "b", AFTER, {"slower": 1, "same": 2, "faster": 3, "new": 4, "tail": 5})
    make(shared / "near", [(n, l + l // 25 if n == "slower" else l) for n, l in BEFORE], SLOTS)
    for side, lengths in {"a": (100, 102, 140, 101, 99), "b": (120, 121, 119, 122, 160)}.items():
        for i, wild in enumerate((100, 300, 200, 110, 250)):
            lengths_of = [("steady", lengths[i])] * 20 + [("wild", wild if side == "a" else wild + 90)] * 20 + [("rare", 10 if side == "a" else 90)] * 2
            make(shared / f"{side}{i}", lengths_of, {"steady": 1, "wild": 2, "rare": 3})
    return shared


@pytest.fixture(scope="module")
def text(rbwp, made):
    """text(option, ..., a="a", b="b"): what diff prints."""
    return lambda *options, code=0, a="a", b="b": rbwp("diff", *options, made / a, made / b, code=code).text


@pytest.fixture(scope="module")
def diff(text):
    return lambda *options, **more: json.loads(text("--json", *options, **more))


def test_verdicts(diff):
    full = diff()
    rows = {r["name"]: r for r in full["rows"]}
    assert {n: r["verdict"] for n, r in rows.items()} == {"same": "same", "slower": "slower", "faster": "faster", "new": "new", "gone": "gone",
                                                          "tail": "slower"}
    assert rows["slower"]["ratio"] == 1.1 and rows["new"]["ratio"] is None
    assert (rows["slower"]["a"]["total"], rows["slower"]["b"]["total"], rows["slower"]["b"]["count"]) == (20000, 22000, 20)
    changes = [r["b"]["total"] - r["a"]["total"] for r in full["rows"]]
    assert changes == sorted(changes, reverse=True)


def test_threshold(diff):
    """Exactly at it nothing is slower; below it, it is."""
    assert diff("--threshold", "40%")["slower"] == 0
    only = diff("--threshold", "9.999%")
    assert only["slower"] == 2 and only["threshold_percent"] == 9.999
    assert {r["name"] for r in diff("--threshold", "10%")["rows"] if r["verdict"] == "slower"} == {"tail"}
    assert diff("--threshold", "0", b="a")["slower"] == 0


@pytest.mark.parametrize("what, slower", [("p50", set()), ("p99", {"tail"}), ("total", {"tail"}), ("mean", {"tail"})])
def test_other_measures(diff, what, slower):
    """The tail shows only in p99 and totals."""
    rows = diff("--threshold", "15", "--by", what)["rows"]
    assert {r["name"] for r in rows if r["verdict"] == "slower"} == slower


def test_text(text):
    """What is the same is counted, not shown, unless asked for; without a threshold that is all within 5 %."""
    shown = text()
    assert shown.splitlines()[2].startswith("slower") and "\033" not in shown
    assert shown.startswith("1 row is the same within 5 % (--all shows them)\n") and "  same" not in shown
    assert [line.split()[0] for line in text("--all").splitlines()[1:]].count("same") == 1
    assert text(b="a") == text(b="near") == "5 rows are the same within 5 % (--all shows them)\n" + WHY_MEAN
    assert "slower   1.040" in text("--threshold", "3", b="near")
    assert "\033[31mslower" in text("--color", "always")


def test_names_that_others_begin_with(rbwp, work):
    """They are kept apart."""
    alike = {"p" * n: n for n in range(1, 6)}
    make(work / "one", [(name, 100) for name in alike], alike)
    make(work / "two", [(name, 100) for name in alike if name != "p"], alike)
    assert rbwp("diff", work / "one", work / "two").text.startswith("4 rows are the same within 5 % (--all shows them)\n")


@pytest.fixture(scope="module")
def runs(made):
    """runs(number, ...): options that add these runs of either side."""
    return lambda *numbers: [w for i in numbers for w in ("--before", made / f"a{i}", "--after", made / f"b{i}")]


def test_verdicts_of_several_runs(diff, runs):
    """The median counts, and what lies among runs of the other side has not changed; nor has what is there too rarely to say so."""
    verdicts = lambda *options, **k: {r["name"]: (r["verdict"], r["noisy"], r["few"]) for r in diff(*options, a="a0", b="b0", **k)["rows"]}
    assert verdicts() == {"steady": ("slower", False, False), "wild": ("slower", False, False), "rare": ("slower", False, False)}
    assert verdicts("--min-count", "3") == {"steady": ("slower", False, False), "wild": ("slower", False, False), "rare": ("same", False, True)}
    # 140 of a lies above b's 119 to 160, so nothing is said of the first three; without that run there is a gap.
    assert verdicts(*runs(1, 2, 3, 4)) == {"steady": ("same", True, False), "wild": ("same", True, False), "rare": ("slower", False, False)}
    assert verdicts(*runs(1, 3, 4), "--threshold", "5")["steady"] == ("slower", False, False)


def test_numbers_of_several_runs(diff, runs):
    row = next(r for r in diff(*runs(1, 3, 4), a="a0", b="b0")["rows"] if r["name"] == "steady")
    assert row["runs"] == {"a": [100, 102, 101, 99], "b": [120, 121, 122, 160]} and row["ratio"] == round((121 + (122 - 121) // 2) / 100, 6), row
    assert row["spread"] == round((160 - 120) / 121, 6) and row["a"]["count"] == 80, row


def test_text_of_several_runs(rbwp, text, runs):
    shown = text("--min-count", "11", *runs(1), a="a0", b="b0")
    assert "spread" in shown and "1 of them has fewer than 11 spans" in shown and "slower   1.1" in shown
    assert "2 of them differ by more, but runs of A and B lie among each other" in rbwp("diff", *runs(1, 2, 3, 4)).text
    assert text(a="a0", b="b0").endswith("What is slower here may be so by chance: that takes 6 runs a side (--before, --after)\n")
    assert "A change of 5 % would have been seen in half of them, one of 5 % in all (error rate of all together: 1 %)" in rbwp("diff", *runs(*[0] * 6)).text


def test_rows_of_one_side(rbwp, text, diff, made):
    """What the other side would have is not 0, and there is no spread of both."""
    cells = lambda line: line.split()[1:-2]
    shown = {line.split()[-1]: cells(line) for line in text("--before", made / "a").splitlines() if line.split()[-1] in ("new", "gone")}
    assert shown == {"new": "- - 5 ns - 0 1 - 5 ns".split(), "gone": "- 5 ns - - 1 0 5 ns -".split()}
    assert {r["name"]: r["spread"] for r in diff("--before", made / "a")["rows"] if r["name"] in ("new", "gone", "same")} == {"new": None, "gone": None, "same": 0}


@pytest.fixture
def gate(rbwp, work):
    """gate(a, b): what diff --threshold 3 says of runs with these lengths of calls, a list of names and lengths for each."""

    def judged(a, b, code):
        options = []
        for side, runs in ("before", a), ("after", b):
            for i, lengths in enumerate(runs):
                path = work / f"{side}{i}"
                make(path, [call for call in lengths.items() for _ in range(3)], {name: slot for slot, name in enumerate(lengths, 1)})
                options += [f"--{side}", path]
        done = rbwp("diff", "--json", "--threshold", "3", *options, code=code)
        return done.json, done.error

    return judged


def test_too_few_runs_for_a_verdict(gate):
    """However large the change is. With so many as it asks for there is one."""
    for count in 1, 3:
        got, error = gate([{"x": 1000}] * count, [{"x": 2000}] * count, 0)
        assert (got["judged"], got["runs_needed"], got["slower"]) == (False, 5, 1), got
        assert f"no verdict: {count} and {count} runs cannot tell a change from chance in 1 comparisons; 5 a side can" in error
    got, error = gate([{"x": 1000}] * 5, [{"x": 2000}] * 5, 4)
    assert got["judged"] and got["rows"][0]["verdict"] == "slower" and not error


def test_error_rate_is_that_of_all_rows(gate):
    """252 ways to choose five runs of ten: enough for one row, not for three."""
    rows = lambda ns: {name: ns for name in "xyz"}
    got, error = gate([rows(1000)] * 5, [rows(2000)] * 5, 0)
    assert (got["comparisons"], got["judged"], got["runs_needed"]) == (3, False, 6) and "6 a side can" in error


def test_equal_runs_are_no_change(gate):
    """Of ten runs a side, with much noise in many rows; a true change in one of them is found."""
    noise = random.Random(1)
    runs = lambda factor: [{f"r{i}": int(100000 * noise.uniform(0.8, 1.2) * (factor if i == 3 else 1)) for i in range(12)} for _ in range(10)]
    for _ in range(10):
        got, _ = gate(runs(1), runs(1), 0)
        assert got["judged"] and all(row["verdict"] == "same" for row in got["rows"])
    got, _ = gate(runs(1), runs(1.6), 4)
    assert [row["name"] for row in got["rows"] if row["verdict"] == "slower"] == ["r3"]


def test_smallest_change_that_would_be_seen(gate):
    """It grows with the noise; just below it there is no verdict, just above there is."""
    a = [{"even": 100000 + i, "wild": 100000 + 4000 * i} for i in range(10)]
    seen = {row["name"]: row["seen_from"] for row in gate(a, a, 0)[0]["rows"]}
    assert seen["even"] == 0.03 and 0.1 < seen["wild"] < 0.4, seen
    for growth, code in (seen["wild"] - 0.01, 0), (seen["wild"] + 0.01, 4):
        gate(a, [{**run, "wild": int(run["wild"] * (1 + growth))} for run in a], code)


def test_page(rbwp, diff, text, made, runs, work):
    """It has the same rows, with histograms of all that was counted, and both sides; a file is not overwritten."""
    report = work / "page.html"
    text("--report", report, *runs(1, 3, 4), "-o", work / "text", a="a0", b="b0")
    page, rows = Page(report), diff(*runs(1, 3, 4), a="a0", b="b0")["rows"]
    assert page.text.count("<script") == len(page.elements) + 1 and "http:" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert [side["files"] for side in page.data["sides"]] == [[f"{made}/{s}{i}" for i in (0, 1, 3, 4)] for s in "ab"]
    assert [side["spans"] for side in page.data["sides"]] == [42, 42]
    for ours, theirs in zip(page.data["rows"], rows, strict=True):
        assert (ours["name"], ours["verdict"], ours["category"]) == (theirs["name"], theirs["verdict"], theirs["category"])
        for side in "ab":
            assert ours["runs"] == theirs["runs"] and ours[side]["count"] == theirs[side]["count"] == sum(ours[side]["histogram"][1:])
            assert (ours[side]["p99"], ours[side]["max"]) == (theirs[side]["p99"], theirs[side]["max"])
    assert rbwp("diff", "--report", report, made / "a0", made / "b0", code=None).says("exists").code


def test_filter(diff):
    assert [r["name"] for r in diff("--min-duration", "900ns")["rows"]] == ["tail", "slower"]


@pytest.fixture(scope="module")
def launched(run, rbwp, program, shared):
    """A folder with files of launches and counters: in late.json one launch in eight is 5 us earlier than in one, in two a counter is
    higher; bare.json has neither."""
    run(program("MAKE_MODEL"), shared / "one", "rows", "0", "1")
    run(program("MAKE_MODEL"), shared / "two", "rows", "1", "0")
    late = rbwp("export", "--to=chrome", shared / "one").json
    moved = 0
    for event in late["traceEvents"]:
        own = event.get("args", {}).get("rbwp", {})
        if "launch_ns" in own:
            moved += 1
            if moved % 8 == 0:
                own["launch_ns"] = str(int(own["launch_ns"]) - 5000)
    assert moved == 73, moved
    (shared / "late.json").write_text(json.dumps(late))
    (shared / "bare.json").write_text(json.dumps([{"ph": "X", "name": "x", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]))
    return shared


@pytest.fixture(scope="module")
def diff_launched(rbwp, launched):
    return lambda *options, code=0, a="one", b="two": rbwp("diff", *options, launched / a, launched / b, code=code)


def test_launch_to_start(diff_launched):
    got = diff_launched("--json", b="late.json").json
    row, = got["launches"]
    assert (row["name"], row["verdict"], got["slower"]) == ("GPU 0x5", "slower", 1), row
    assert row["a"] == {"count": 73, "mean": 550, "p50": 550, "p99": 550, "max": 550}, row
    assert row["b"]["count"] == 73 and row["b"]["mean"] == (550 * 73 + 5000 * 9) // 73 and row["b"]["max"] == 5550, row
    assert 545 <= row["b"]["p50"] <= 560 and 5460 <= row["b"]["p99"] <= 5550, row
    assert {c["verdict"] for c in got["counters"]} == {"same"} and len(got["counters"]) == 4
    assert diff_launched("--json", a="late.json", b="one").json["launches"][0]["verdict"] == "faster"


@pytest.mark.parametrize("what, verdict, code", [("p50", "same", 0), ("p99", "slower", 4), ("total", "slower", 4)])
def test_launch_to_start_by_other_measures(launched, diff_launched, what, verdict, code):
    again = ["--before", launched / "one", "--after", launched / "late.json"] * 7
    got = diff_launched("--json", "--threshold", "20", "--by", what, *again, b="late.json", code=code).json
    assert got["launches"][0]["verdict"] == verdict


def test_counters(rbwp, launched, diff_launched):
    """More is not slower. The mean is that of the times between samples, as in stats."""
    got = diff_launched("--json", "--threshold", "5").json
    assert got["slower"] == 0 and [r["verdict"] for r in got["launches"]] == ["same"]
    counters = {(c["name"], c["unit"]): c for c in got["counters"]}
    assert len(counters) == 4 and {(bool(unit), c["verdict"]) for (name, unit), c in counters.items()} == {(True, "more"), (False, "same")}, counters
    for (name, unit), c in counters.items():
        more = 1000 if unit else 0
        assert c["a"]["samples"] == c["b"]["samples"] == 20 and abs(c["b"]["mean"] - c["a"]["mean"] - more) < 1e-6 and c["b"]["max"] - c["a"]["max"] == more, c
        assert abs(c["ratio"] - c["b"]["mean"] / c["a"]["mean"]) < 1e-5
    stats = rbwp("stats", "--json", "--by", "counter", launched / "one").json
    assert {key: c["a"]["mean"] for key, c in counters.items()} == {(c["name"], c["unit"]): c["mean"] for c in stats["counters"]}, counters


def test_ratio_that_is_no_number(rbwp, work):
    """Beyond all doubles: there is none, in the document and on the page."""
    for side, value in ("a", 1e-300), ("b", 1e300):
        (work / side).write_text(json.dumps([{"ph": "C", "name": "x", "ts": at, "pid": 1, "args": {"x": value}} for at in (1, 2)]))
    counter, = rbwp("diff", "--json", "--report", work / "page.html", work / "a", work / "b").json["counters"]
    assert counter["ratio"] is None and counter["verdict"] == "more" and "ratio" not in Page(work / "page.html").data["counters"][0]


def test_text_of_launches_and_counters(diff_launched):
    text = diff_launched().text
    assert text.count("\nmore ") == 2 and "\nCounters\n" in text and "(items)" in text and "Launch to start" not in text, text
    text = diff_launched(b="late.json").text
    assert "\nLaunch to start\n" in text and "Counters" not in text and "\nslower" in text, text
    assert "Counters" in diff_launched("--all", b="late.json").text and "Launch to start" in diff_launched("--all").text


def test_launches_of_several_runs(launched, diff_launched, work):
    """All of late are later, but where one is not it is noise; the page has both, too."""
    one, late = ["--before", launched / "one"], ["--after", launched / "late.json"]
    got = diff_launched("--json", *one, *late, "--report", work / "tracks.html", b="late.json").json
    assert [(r["verdict"], r["noisy"], r["a"]["count"], r["b"]["count"]) for r in got["launches"]] == [("slower", False, 146, 146)], got["launches"]
    assert got["slower"] == 1 and {c["verdict"] for c in got["counters"]} == {"same"} and len(got["counters"]) == 4, got
    page = Page(work / "tracks.html").data
    assert [(r["verdict"], r["name"], r["of A"]) for r in page["launches"]] == [("slower", "GPU 0x5", 550)]
    assert len(page["counters"]) == 4
    got = diff_launched("--json", "--by", "p99", *one, *late, "--after", launched / "one", b="late.json").json
    assert [(r["verdict"], r["noisy"]) for r in got["launches"]] == [("same", True)], got["launches"]


def test_counters_of_several_runs(launched, diff_launched):
    got = diff_launched("--json", "--before", launched / "one", "--after", launched / "two").json
    assert sorted((bool(c["unit"]), c["verdict"]) for c in got["counters"]) == [(False, "same")] * 2 + [(True, "more")] * 2, got["counters"]


def test_only_one_has_launches(diff_launched):
    """What only one has is not compared."""
    got = diff_launched("--json", b="bare.json").json
    assert got["launches"] == got["counters"] == []


def test_files_that_are_none(rbwp, golden, work):
    good = golden / "multi_thread.bin"
    rbwp("diff", "--threshold", "1", good, golden / "crash_cut_in_data.bin", code=3)
    assert not rbwp("diff", good, work / "none", code=1).out
    (work / "empty").touch()
    (work / "text").write_text("text\n")
    (work / "no_files").mkdir()
    for bad in ("empty", "text", "no_files"):
        rbwp("diff", good, work / bad, code=1)
        assert not rbwp("diff", work / bad, good, code=1).in_one_line().out


def test_usage(rbwp, golden):
    for words in ("", "A", "A A A", "--threshold x A A", "--threshold -1 A A", "--threshold % A A", "--threshold 1e3 A A",
                  "--threshold 99999999999999999999 A A", "--threshold 1.0001 A A", "--threshold 1. A A", "--by max A A", "--before A",
                  "--before A --after A A", "--min-count x A A"):
        words = [golden / "multi_thread.bin" if word == "A" else word for word in words.split()]
        assert not rbwp("diff", *words, code=2).in_one_line().out
