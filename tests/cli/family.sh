# SPDX-License-Identifier: Apache-2.0
# rbwp processes shows a program above its children and these above theirs, each once, with when its
# recording began and ended; who runs still and who was killed, his child being alive. Of two
# processes of one id the one that was there counts, and nobody is his own ancestor. In traces of a
# family begin and end are marks, in stats they are none; a child's first call has its arguments.
. "$(dirname "$0")/lib.sh"
: "${FAMILY:=}"
"$PYTHON" - "$RBWP" "$FAMILY" "$here" "$work" <<'P' || fail "family"
import json, os, struct, subprocess, sys
rbwp, program, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here]
import rbwp_make as m


def run(*words, code=0):
    done = subprocess.run([rbwp, "processes", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    return done


def shown(*words):
    done = run("--json", *words)
    assert not done.stderr, done
    return [json.loads(line) for line in done.stdout.splitlines()]


if program and os.access(program, os.X_OK):
    os.mkdir(f"{work}/all")
    eldest = subprocess.Popen([program, f"{work}/all/run.bin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child, grandchild, younger = map(int, eldest.stdout.readline().split())
        tree = [(eldest.pid, 0), (child, 1), (grandchild, 2), (younger, 1)]

        def family():
            found = shown(f"{work}/all")
            assert [(p["process"], p["depth"]) for p in found] == tree, found
            assert [p["parent"] for p in found][1:] == [eldest.pid, child, eldest.pid], found
            assert all(p["name"] == "rbwp-family" and p["start"] <= p["last"] for p in found), found
            starts = [p["start"] for p in found]
            assert starts == sorted(starts), found
            return found

        assert [p["state"] for p in family()] == ["runs", "runs", "runs", "ended"]
        eldest.stdin.write(b"k")
        eldest.stdin.flush()
        assert eldest.stdout.read(1) == b"k"
        assert [p["state"] for p in family()] == ["runs", "died", "runs", "ended"]
    finally:
        eldest.stdin.close()
    assert eldest.stdout.read() == b"" and eldest.wait() == 0  # the grandchild has the pipe, too
    found = family()
    assert [p["state"] for p in found] == ["ended", "died", "ended", "ended"], found
    assert [p["records"] for p in found] == [14, None, 6, 10], found
    # Views of all files keep to that order; by their names it is another one.
    done = subprocess.run([rbwp, "stats", "--live", "--json", f"{work}/all"], capture_output=True, timeout=60)
    assert [int(p["name"].split()[1]) for p in json.loads(done.stdout)["processes"]] == [pid for pid, _ in tree], done
    assert not json.loads(done.stdout).get("ranges"), done
    csv = subprocess.run([rbwp, "export", "--live", "-t", "csv", f"{work}/all"], capture_output=True, text=True, timeout=60).stdout
    spans = list(__import__("csv").DictReader(csv.splitlines()))
    marks = [(span["process"].split()[1], span["name"]) for span in spans if span["track_kind"] == "life"]
    assert sorted(marks) == sorted((str(pid), mark) for pid, mark in zip([pid for pid, _ in tree] * 2, ["begins"] * 4 + ["ends", "died", "ends", "ends"])), marks
    # What was repaired says that its process died, too.
    dead = [p["files"][0] for p in found if p["state"] == "died"]
    assert subprocess.run([rbwp, "repair", "-o", f"{work}/repaired.bin", *dead], capture_output=True, timeout=60).returncode == 0
    assert [p["state"] for p in shown(f"{work}/repaired.bin")] == ["died"], shown(f"{work}/repaired.bin")
    csv = subprocess.run([rbwp, "export", "-t", "csv", f"{work}/repaired.bin", found[0]["files"][0]], capture_output=True, text=True, timeout=60).stdout
    marks = [(span["process"].split()[1], span["name"]) for span in __import__("csv").DictReader(csv.splitlines()) if span["track_kind"] == "life"]
    assert (str(child), "died") in marks and (str(child), "ends") not in marks and len(marks) == 4, marks
    calls = [span for span in spans if span["name"] == "step"]
    assert len(calls) == 7 + 3 + 3 + 5, calls
    assert all('"number":' in call["args"] for call in calls), calls
    shown_marks = subprocess.run([rbwp, "timeline", "--live", "--width", "100", f"{work}/all"], capture_output=True, text=True, timeout=60).stdout
    assert shown_marks.count("[") == 4 and shown_marks.count("]") == 3 and "x\n" in shown_marks, shown_marks
    one = subprocess.run([rbwp, "timeline", f"{work}/all/run.bin"], capture_output=True, text=True, timeout=60).stdout
    assert "[" not in one, one  # alone it is of no family
    assert subprocess.run([rbwp, "report", "--live", "-o", f"{work}/page.html", f"{work}/all"], capture_output=True, timeout=60).returncode == 0
    page = __import__("report_page").Page(f"{work}/page.html").data
    assert {kind["name"]: int(kind["count"]) for kind in page["kinds"]} == {"begins": 0, "ends": 0, "died": 0, "step": 18}, page["kinds"]
    lines = run(f"{work}/all").stdout.splitlines()
    assert len(lines) == 5 and lines[0].split() == ["process", "start", "end", "threads", "records", "file"], lines
    assert lines[1].split()[:3] == [str(eldest.pid), "rbwp-family", "+0.000000000s"], lines
    assert lines[2].startswith(f"  {child} rbwp-family ") and lines[2].split()[3] == "died", lines
    assert lines[3].startswith(f"    {grandchild} rbwp-family ") and lines[4].startswith(f"  {younger} "), lines

S, ZERO = 10**9, 1_700_000_000_000_000_000


def write(name, pid, parent, born, at, boot=b"1" * 16, ahead=0, title=b"x", part=0, why=0):
    """A session from ZERO + at on, by a clock that is ahead."""
    begin = ZERO + at + ahead
    job = m.table_section(b"JOBM", [struct.pack("<IHHq", 9, 0, 0, parent)]) if parent else b""
    sections = [m.info(pid, begin, begin + S, 1), m.section(b"HOST", b"web"), job, m.table_section(b"THRD", [m.thread_entry(1, 2)]),
                m.table_section(b"SAMP", [struct.pack("<Qqqq", 1, begin, 50 * S + at, ZERO + at)]),
                m.table_section(b"PROC", [struct.pack("<16sqH6x", boot, born, len(title))], title)]
    if part:
        sections.append(m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", 0, 0, 0, 0, 0, 0, why, part, 0)]))
    with open(f"{work}/{name}", "wb") as file:
        file.write(m.with_trailer(m.file([m.block(1, 0, [(begin + 1, "cb", 0), (begin + 2, "ce")])], [(0, b"work")], zero_time=begin), *sections))
    return f"{work}/{name}"


def tree(*files):
    return [(p["process"], p["depth"], os.path.basename(p["files"][0])) for p in shown(*files)]


# The process id was another's before, is another's later, and on another machine.
old, now, then = write("old", 7, 0, 1 * S, 0), write("now", 7, 0, 5 * S, 4 * S), write("then", 7, 0, 9 * S, 8 * S)
other = write("other", 7, 0, 6 * S, 5 * S, boot=b"2" * 16)
child = write("child", 8, 7, 7 * S, 6 * S, ahead=-30 * S)
assert tree(child, then, other, now, old) == [(7, 0, "old"), (7, 0, "now"), (8, 1, "child"), (7, 0, "other"), (7, 0, "then")], tree(child, then, other, now, old)
assert [p["start"] - ZERO for p in shown(old, child)] == [0, 6 * S]
# Nobody is his own ancestor; several files of a process are one line.
assert tree(write("a", 3, 4, S, 0), write("b", 4, 3, S, 1)) == [(3, 0, "a"), (4, 1, "b")]
assert tree(write("self", 3, 3, S, 0)) == [(3, 0, "self")]
# Of a recording that is cut into files the first one begins, and the last one ends.
GOES_ON = 5
for part, why, wanted in (1, GOES_ON, ["begins"]), (2, GOES_ON, []), (3, 0, ["ends"]):
    cut = write("cut", 7, 0, 5 * S, 4 * S, part=part, why=why)
    csv = subprocess.run([rbwp, "export", "-t", "csv", cut, child], capture_output=True, text=True, timeout=60).stdout
    marks = [s["name"] for s in __import__("csv").DictReader(csv.splitlines()) if s["track_kind"] == "life" and s["process"] == "x 7"]
    assert marks == wanted, (part, marks, csv)
# Its parts are read together, in any order, but none of them twice.
parts = [write(f"cut{part}", 7, 0, 5 * S, 4 * S, part=part, why=GOES_ON if part < 3 else 0) for part in (3, 1, 2)]
csv = subprocess.run([rbwp, "export", "-t", "csv", *parts, child], capture_output=True, text=True, timeout=60).stdout
spans = [s for s in __import__("csv").DictReader(csv.splitlines()) if s["process"].startswith("x 7")]
assert sorted(s["name"] for s in spans if s["track_kind"] == "life") == ["begins", "ends"], csv
assert len([s for s in spans if s["track_kind"] != "life"]) == 3, csv
twice = subprocess.run([rbwp, "export", "-t", "csv", *parts, "--", parts[1]], capture_output=True, text=True, timeout=60)
assert twice.returncode != 0 and "given twice" in twice.stderr, twice
again = write("again", 7, 0, 5 * S, 9 * S)
both, = shown(again, now)
assert both["files"] == [now, again] and both["records"] == 4 and both["last"] - both["start"] == 6 * S, both
assert f"{now} and 1 more" in run(now, again).stdout
# A file without a trailer, hostile names, and no file.
with open(f"{work}/bare", "wb") as file:
    file.write(m.file([m.block(1, 0, [(5, "cb", 0), (6, "ce")])], [(0, b"work")]))
assert "(process not known)" in run(f"{work}/bare").stdout
assert "\x1b" not in run(write("evil", 9, 0, S, 0, title=b"\x1b[2J")).stdout
assert "no such" in run(f"{work}/absent", code=1).stderr.lower()
assert "no FILE" in run(code=2).stderr
P
finish
