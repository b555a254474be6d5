# SPDX-License-Identifier: Apache-2.0
# rbwp diff finds what got slower, by every measure, on files made to differ by known factors, and
# its exit status is 4 exactly where the threshold is passed. Guards matching by name, not by slot.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "comparison"
import json, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m


def make(name, lengths, slots):
    records, at = [], 1000
    for item, ns in lengths:
        records += [(at, "cb", slots[item]), (at + ns, "ce")]
        at += ns + 7
    open(f"{work}/{name}", "wb").write(m.file([m.block(1, 0, records)], [(n, i.encode()) for i, n in slots.items()]))


def diff(*options, code=0, a="a", b="b"):
    done = subprocess.run([rbwp, "diff", *options, f"{work}/{a}", f"{work}/{b}"], capture_output=True, text=True)
    assert done.returncode == code, (options, done)
    return done.stdout


a = [("same", 100)] * 50 + [("slower", 1000)] * 20 + [("faster", 500)] * 10 + [("gone", 5)] + [("tail", 100)] * 98 + [("tail", 200)] * 2
b = [("same", 100)] * 50 + [("slower", 1100)] * 20 + [("faster", 400)] * 10 + [("new", 5)] + [("tail", 100)] * 98 + [("tail", 2000)] * 2
make("a", a, {"same": 1, "slower": 2, "faster": 3, "gone": 4, "tail": 5})
make("b", b, {"slower": 1, "same": 2, "faster": 3, "new": 4, "tail": 5})
rows = {r["name"]: r for r in json.loads(diff("--json"))["rows"]}
assert {n: r["verdict"] for n, r in rows.items()} == {"same": "same", "slower": "slower", "faster": "faster", "new": "new", "gone": "gone", "tail": "slower"}
assert rows["slower"]["ratio"] == 1.1 and rows["new"]["ratio"] is None
assert (rows["slower"]["a"]["total"], rows["slower"]["b"]["total"], rows["slower"]["b"]["count"]) == (20000, 22000, 20)
full = json.loads(diff("--json"))
changes = [r["b"]["total"] - r["a"]["total"] for r in full["rows"]]
assert changes == sorted(changes, reverse=True)
# Exactly at the threshold nothing is slower; below it, it is.
mean = lambda t, **k: json.loads(diff("--json", "--threshold", t, **k))
assert mean("40%")["slower"] == 0
only = mean("9.999%", code=4)
assert only["slower"] == 2 and only["threshold_percent"] == 9.999
assert {r["name"] for r in mean("10%", code=4)["rows"] if r["verdict"] == "slower"} == {"tail"}
# By other measures: the tail shows only in p99 and totals.
by = lambda what, code: {r["name"] for r in json.loads(diff("--json", "--threshold", "15", "--by", what, code=code))["rows"] if r["verdict"] == "slower"}
assert by("p50", 0) == set() and by("p99", 4) == {"tail"} and by("total", 4) == {"tail"} and by("mean", 4) == {"tail"}
# A file against itself.
assert json.loads(diff("--json", "--threshold", "0", b="a"))["slower"] == 0
text = diff()
assert text.splitlines()[2].startswith("slower") and "\033" not in text
# What is the same is counted, not shown, unless asked for; without a threshold that is all within 5 %.
assert text.startswith("1 row is the same within 5 % (--all shows them)\n") and "  same" not in text, text
assert [l.split()[0] for l in diff("--all").splitlines()[1:]].count("same") == 1
assert diff(b="a") == "5 rows are the same within 5 % (--all shows them)\n", diff(b="a")
make("near", [(n, l + l // 25 if n == "slower" else l) for n, l in a], {"same": 1, "slower": 2, "faster": 3, "gone": 4, "tail": 5})
assert diff(b="near") == "5 rows are the same within 5 % (--all shows them)\n"
assert "slower   1.040" in diff("--threshold", "3", b="near", code=4), diff("--threshold", "3", b="near", code=4)
assert "\033[31mslower" in diff("--color", "always")
# Names that others begin with are told apart.
alike = {"p" * n: n for n in range(1, 6)}
make("alike", [(name, 100) for name in alike], alike)
make("alike 2", [(name, 100) for name in alike if name != "p"], alike)
assert diff(a="alike", b="alike 2").startswith("4 rows are the same within 5 % (--all shows them)\n"), diff(a="alike", b="alike 2")
# Several runs of each side: the median counts, and what lies among runs of the other side has not changed; nor has what is
# there too rarely to say so.
for side, lengths in {"a": (100, 102, 140, 101, 99), "b": (120, 121, 119, 122, 160)}.items():
    for i, wild in enumerate((100, 300, 200, 110, 250)):
        make(f"{side}{i}", [("steady", lengths[i])] * 20 + [("wild", wild if side == "a" else wild + 90)] * 20 + [("rare", 10 if side == "a" else 90)] * 2, {"steady": 1, "wild": 2, "rare": 3})
more = lambda count: [w for i in range(1, count) for w in ("--before", f"{work}/a{i}", "--after", f"{work}/b{i}")]
verdicts = lambda *options, **k: {r["name"]: (r["verdict"], r["noisy"], r["few"]) for r in json.loads(diff("--json", *options, a="a0", b="b0", **k))["rows"]}
assert verdicts() == {"steady": ("slower", False, False), "wild": ("slower", False, False), "rare": ("slower", False, False)}
assert verdicts("--min-count", "3") == {"steady": ("slower", False, False), "wild": ("slower", False, False), "rare": ("same", False, True)}
# 140 of a lies above b's 119 to 160, so nothing is said of the first three; without that run there is a gap.
assert verdicts(*more(5)) == {"steady": ("same", True, False), "wild": ("same", True, False), "rare": ("slower", False, False)}
quiet = [w for i in (1, 3, 4) for w in ("--before", f"{work}/a{i}", "--after", f"{work}/b{i}")]
assert verdicts(*quiet, "--threshold", "5", code=4)["steady"] == ("slower", False, False)
row = next(r for r in json.loads(diff("--json", *quiet, a="a0", b="b0"))["rows"] if r["name"] == "steady")
assert row["runs"] == {"a": [100, 102, 101, 99], "b": [120, 121, 122, 160]} and row["ratio"] == round((121 + (122 - 121) // 2) / 100, 6), row
assert row["spread"] == round((160 - 120) / 121, 6) and row["a"]["count"] == 80, row
text = subprocess.run([rbwp, "diff", "--min-count", "11", *more(5)[:4], f"{work}/a0", f"{work}/b0"], capture_output=True, text=True, check=True).stdout
assert "spread" in text and "1 of them has fewer than 11 spans" in text and "slower   1.1" in text, text
text = subprocess.run([rbwp, "diff", *more(5)], capture_output=True, text=True, check=True).stdout
assert "2 of them differ by more, but runs of A and B lie among each other" in text, text
# The page has the same rows, with histograms of all that was counted, and both sides; a file is not overwritten.
from report_page import Page

subprocess.run([rbwp, "diff", "--report", f"{work}/page.html", *quiet, f"{work}/a0", f"{work}/b0", "-o", f"{work}/text"], check=True)
page, rows = Page(f"{work}/page.html"), json.loads(diff("--json", *quiet, a="a0", b="b0"))["rows"]
assert page.text.count("<script") == len(page.elements) + 1 and "http:" not in page.text.replace("http://www.w3.org/2000/svg", "")
assert [side["files"] for side in page.data["sides"]] == [[f"{work}/{s}{i}" for i in (0, 1, 3, 4)] for s in "ab"]
assert [side["spans"] for side in page.data["sides"]] == [42, 42]
for ours, theirs in zip(page.data["rows"], rows, strict=True):
    assert (ours["name"], ours["verdict"], ours["category"]) == (theirs["name"], theirs["verdict"], theirs["category"])
    for side in "ab":
        assert ours[f"{side}_runs"] == theirs["runs"][side] and ours[side]["all"] == theirs[side]["count"] == sum(ours[side]["histogram"][1:])
        assert (ours[side]["p99_ns"], ours[side]["max_ns"]) == (theirs[side]["p99"], theirs[side]["max"])
assert "exists" in subprocess.run([rbwp, "diff", "--report", f"{work}/page.html", f"{work}/a0", f"{work}/b0"], capture_output=True, text=True).stderr
# Only what the filter takes.
assert [r["name"] for r in json.loads(diff("--json", "--min-duration", "900ns", code=0))["rows"]] == ["tail", "slower"]
P

# From launch to start, and counters, where both files have them: one launch in eight is 5 us earlier in one, and
# a counter is higher in the other. More is not slower; what only one has is not compared.
"$MAKE_MODEL" "$work/one" rows 0 1 && "$MAKE_MODEL" "$work/two" rows 1 0 || fail "make_model"
"$PYTHON" - "$RBWP" "$work" "$here" <<'P' || fail "launches and counters"
import json, subprocess, sys

rbwp, work = sys.argv[1:3]


def diff(*options, code=0, a="one", b="two"):
    done = subprocess.run([rbwp, "diff", *options, f"{work}/{a}", f"{work}/{b}"], capture_output=True, text=True)
    assert done.returncode == code, (options, done)
    return done.stdout


subprocess.run([rbwp, "export", "-f", "-o", f"{work}/late.json", f"{work}/one"], check=True, capture_output=True)
late = json.load(open(f"{work}/late.json"))
moved = 0
for event in late["traceEvents"]:
    own = event.get("args", {}).get("rbwp", {})
    if "launch_ns" in own:
        moved += 1
        if moved % 8 == 0:
            own["launch_ns"] = str(int(own["launch_ns"]) - 5000)
assert moved == 73, moved
json.dump(late, open(f"{work}/late.json", "w"))

got = json.loads(diff("--json", b="late.json"))
(row,) = got["launches"]
assert (row["name"], row["verdict"], got["slower"]) == ("GPU 0x5", "slower", 1), row
assert row["a"] == {"count": 73, "mean": 550, "p50": 550, "p99": 550, "max": 550}, row
assert row["b"]["count"] == 73 and row["b"]["mean"] == (550 * 73 + 5000 * 9) // 73 and row["b"]["max"] == 5550, row
assert 545 <= row["b"]["p50"] <= 560 and 5460 <= row["b"]["p99"] <= 5550, row
by = lambda what, code: json.loads(diff("--json", "--threshold", "20", "--by", what, b="late.json", code=code))["launches"][0]["verdict"]
assert (by("p50", 0), by("p99", 4), by("total", 4)) == ("same", "slower", "slower")
assert json.loads(diff("--json", a="late.json", b="one"))["launches"][0]["verdict"] == "faster"
assert {c["verdict"] for c in got["counters"]} == {"same"} and len(got["counters"]) == 4

got = json.loads(diff("--json", "--threshold", "5"))
assert got["slower"] == 0 and [r["verdict"] for r in got["launches"]] == ["same"]
counters = {(c["name"], c["unit"]): c for c in got["counters"]}
assert len(counters) == 4 and {(bool(unit), c["verdict"]) for (name, unit), c in counters.items()} == {(True, "more"), (False, "same")}, counters
for (name, unit), c in counters.items():
    more = 1000 if unit else 0
    assert c["a"]["samples"] == c["b"]["samples"] == 20 and abs(c["b"]["mean"] - c["a"]["mean"] - more) < 1e-6 and c["b"]["max"] - c["a"]["max"] == more, c
    assert abs(c["ratio"] - c["b"]["mean"] / c["a"]["mean"]) < 1e-5
# The mean is that of the times between samples, as in stats.
stats = json.loads(subprocess.run([rbwp, "stats", "--json", "--by", "counter", f"{work}/one"], capture_output=True, check=True).stdout)
assert {key: c["a"]["mean"] for key, c in counters.items()} == {(c["name"], c["unit"]): c["mean"] for c in stats["counters"]}, counters
text = diff()
assert text.count("\nmore ") == 2 and "\nCounters\n" in text and "(items)" in text and "Launch to start" not in text, text
text = diff(b="late.json")
assert "\nLaunch to start\n" in text and "Counters" not in text and "\nslower" in text, text
assert "Counters" in diff("--all", b="late.json") and "Launch to start" in diff("--all")
# Of several runs a side: all of late are later, but where one is not it is noise; the page has both, too.
runs = lambda *words: [w for word in words for w in (word.split("=")[0], f"{work}/" + word.split("=")[1])]
got = json.loads(diff("--json", *runs("--before=one", "--after=late.json", "--report=tracks.html"), b="late.json"))
assert [(r["verdict"], r["noisy"], r["a"]["count"], r["b"]["count"]) for r in got["launches"]] == [("slower", False, 146, 146)], got["launches"]
assert got["slower"] == 1 and {c["verdict"] for c in got["counters"]} == {"same"} and len(got["counters"]) == 4, got
got = json.loads(diff("--json", "--by", "p99", *runs("--before=one", "--after=late.json", "--after=one"), b="late.json"))
assert [(r["verdict"], r["noisy"]) for r in got["launches"]] == [("same", True)], got["launches"]
got = json.loads(diff("--json", *runs("--before=one", "--after=two")))
assert sorted((bool(c["unit"]), c["verdict"]) for c in got["counters"]) == [(False, "same")] * 2 + [(True, "more")] * 2, got["counters"]
sys.dont_write_bytecode = True
sys.path[:0] = [sys.argv[3]]
from report_page import Page
page = Page(f"{work}/tracks.html").data
assert [(r["verdict"], r["name"], r["a"]) for r in page["launches"]] == [("slower", "GPU 0x5", "550")] or page["launches"][0]["a"] == 550, page["launches"]
assert len(page["counters"]) == 4, page["counters"]
# Only one has them.
json.dump([{"ph": "X", "name": "x", "ts": 1, "dur": 1, "pid": 1, "tid": 1}], open(f"{work}/bare.json", "w"))
got = json.loads(diff("--json", b="bare.json"))
assert got["launches"] == got["counters"] == [], got
P

a=$GOLDEN/multi_thread.bin
expect_exit 3 "$RBWP" diff --threshold 1 "$a" "$GOLDEN/crash_cut_in_data.bin"
expect_exit 1 "$RBWP" diff "$a" "$work/none"
expect_no_output
: >"$work/empty"
echo text >"$work/text"
for bad in "$work/empty" "$work/text" "$work/no_files"; do
    expect_exit 1 "$RBWP" diff "$a" "$bad"
    expect_exit 1 "$RBWP" diff "$bad" "$a"
    expect_no_output
    expect_one_line
done
for options in "" "$a" "$a $a $a" "--threshold x $a $a" "--threshold -1 $a $a" "--threshold % $a $a" "--threshold 1e3 $a $a" \
    "--threshold 99999999999999999999 $a $a" "--threshold 1.0001 $a $a" "--threshold 1. $a $a" "--by max $a $a" "--before $a" "--before $a --after $a $a" "--min-count x $a $a"; do
    expect_exit 2 "$RBWP" diff $options
    expect_one_line
    expect_no_output
done
finish
