# SPDX-License-Identifier: Apache-2.0
# Filtered figures are true: spans are cut to the window, workers and the run are those that the
# filter leaves, and what is of the whole run says so. Filters that leave nothing are told in one line
# that says why, with exit 1 and no output, by every command that has filters.
. "$(dirname "$0")/lib.sh"
"$MAKE_EXTENDED" "$work/extended.bin" || fail "make_extended"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "filtered"
import json, os, re, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m

# Thread 1 works from 0 to 1 s and is then idle to 4 s, thread 2 works from 0 to 4 s with one call.
T, MS = 10**18, 10**6
one = [r for i in range(10) for r in ((T + i * 100 * MS, "cb", 1), (T + i * 100 * MS + 100 * MS - 1, "ce"))]
two = [(T, "cb", 2), (T + 1000 * MS, "fb", 3), (T + 1500 * MS, "fe"), (T + 4000 * MS, "ce")]
path = f"{work}/run.bin"
open(path, "wb").write(m.file([m.block(1, 0, one), m.block(2, 0, two)], [(1, b"short"), (2, b"long")], [(3, 0, b"inner")], zero_time=T))


def run(*args, code=0):
    done = subprocess.run([rbwp, *args], capture_output=True, text=True)
    assert done.returncode == code, (args, done)
    return done


def stats(*args):
    return json.loads(run("stats", "--json", *args, path).stdout)


# A window of 1 ms is 1 ms, though one call lasts 4 s.
found = stats("--from", "+500ms", "--to", "+501ms")
assert (found["extent"], found["workers"], found["spans"], found["cut"], found["worker_busy"]) == (MS, 2, 2, 2, 2 * MS), found
assert [(r["name"], r["total"], r["share"]) for r in found["work_items"]] == [("long", MS, 0.5), ("short", MS, 0.5)]
text = run("stats", "--from", "+500ms", "--to", "+501ms", path).stdout
assert text.startswith("2 spans in 1.000 ms, 2 workers busy 100.0 % of it\n2 of them reach out of the window: what lies inside counts\n"), text
# Where one worker idles, it is there and idle; a nested span is cut inside its call.
found = stats("--from", "+1200ms", "--to", "+1300ms")
assert (found["extent"], found["workers"], found["worker_busy"]) == (100 * MS, 2, 100 * MS), found
assert [(t["id"], t["busy"]) for t in found["threads"]] == [(1, 0), (2, 100 * MS)] or [(t["id"], t["busy"]) for t in found["threads"]] == [(2, 100 * MS), (1, 0)]
assert (found["work_items"][0]["self"], found["sub_items"][0]["total"]) == (0, 100 * MS)
# A window that goes beyond the run is the run.
assert stats("--from", "+3s", "--to", "+9s")["extent"] == 1000 * MS
# One thread is one worker, of the same run; its share is what it was.
whole, mine = stats(), stats("--thread", "1")
assert (mine["workers"], mine["extent"]) == (1, whole["extent"]), mine
assert [t["busy_share"] for t in mine["threads"]] == [t["busy_share"] for t in whole["threads"] if t["id"] == 1]
assert mine["worker_share"] == mine["threads"][0]["busy_share"]
# One item keeps its share of all workers' time.
assert stats("--slot", "short")["work_items"][0]["share"] == next(r["share"] for r in whole["work_items"] if r["name"] == "short")
# Diff and exports have the spans whole.
assert json.loads(run("diff", "--json", "--from", "+500ms", "--to", "+501ms", path, path).stdout)["rows"][0]["a"]["total"] == 4000 * MS
assert f"{T},{4000 * MS}," in run("export", "-t", "csv", "--from", "+500ms", "--until", "+501ms", path).stdout
# Timeline and report are cut, too: a column of the window, not of the call.
line = run("timeline", "--width", "68", "--from", "+3s", "--to", "+5s", path).stdout.splitlines()
assert line[0].count("1.000 s") or "2.000 s" in line[0], line
# What is not of the window says so.
text = run("stats", "--slot", "3", f"{work}/extended.bin").stdout
assert "LOST 1,234 records in the whole run" in text and "17 empty polls left no trace in the whole run" in text, text
assert "whole run" not in run("stats", f"{work}/extended.bin").stdout

# ---- nothing left
WHY = {("--thread", "nobody"): "no thread is called 'nobody'", ("--thread", "77"): "no thread has the number '77'",
       ("--slot", "no*"): "no work item is called 'no*'", ("--slot", "99"): "no work item has the number '99'",
       ("--from", "+2s", "--until", "+1s"): "which is not after it", ("--from", "+5s"): "records are from +0.000000000s to +4.000000000s",
       ("--until", "5"): "records are from +0.000000000s to +4.000000000s", ("--kind", "gpu"): "nothing fits the filters",
       ("--thread", "1", "--slot", "2"): "nothing fits the filters"}
for command in ("stats", "stats --json", "timeline", "report -o OUT", "export -t csv", "export -t csv -o OUT", "export -t perfetto -o OUT", "export -t chrome -o OUT",
                "export -t parquet -o OUT", "export -t sqlite -o OUT", "export -t legion -o OUT", "export -t folded", "merge -t csv", "dump", "dump --ndjson", "dump --spans --ndjson", "split -o OUT", "diff"):
    for options, why in WHY.items():
        files = [path, path] if command == "diff" else [path]
        out = f"{work}/made"
        done = subprocess.run([rbwp, *command.replace("OUT", out).split(), *options, *files], capture_output=True, text=True)
        if "built without SQLite" in done.stderr:
            continue
        assert done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == len(files), (command, options, done)
        assert not done.stdout or command in ("dump", "diff"), (command, done.stdout)
        assert not os.path.exists(out), command
# Of several patterns one may fit nothing; several files are one question.
assert run("stats", "--thread", "1", "--thread", "nobody", path).stderr == ""
other = f"{work}/other.bin"
open(other, "wb").write(m.file([m.block(9, 0, [(T + 5, "cb", 9), (T + 9, "ce")])], [(9, b"else")], zero_time=T, node=1))
assert "else" in run("export", "-t", "csv", "--slot", "else", path, other).stdout
assert "in all files: no work item is called 'nothing'" in run("export", "-t", "csv", "--slot", "nothing", path, other, code=1).stderr
# A time that lacks its sign or its unit is a mistake, and the message has the remedy.
for command in ("stats", "timeline", "dump", "split"):
    assert "--from '2s' is in 1970: write +2s for a time since the start" in run(command, "--from", "2s", path, code=2).stderr
    assert "--min-duration '1.5' lacks a unit: s, ms, us or ns" in run(command, "--min-duration", "1.5", path, code=2).stderr
assert run("stats", "--from", "999999999s", path).stderr == ""
P
finish
