# SPDX-License-Identifier: Apache-2.0
# --live shows what a program has recorded so far, in every tool: its calls are counted as soon as
# they have returned, with their names, also of a program that records hardly anything, so that
# nothing of it is in its file for minutes; what it is in now is open until now. After kill -9 the
# same is shown up to there. The file and the live file stay as they are.
. "$(dirname "$0")/lib.sh"
: "${LIVE_VICTIM:=}"
[ -x "$LIVE_VICTIM" ] || {
    echo "no program to look at"
    exit 77
}
"$PYTHON" - "$RBWP" "$LIVE_VICTIM" "$work" <<'P' || fail "looking at a program"
import csv, io, json, os, shutil, signal, subprocess, sys
rbwp, victim, work = sys.argv[1:]
path = f"{work}/run.bin"
program = subprocess.Popen([victim, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def record(commands):
    """Lets the program record, a command a byte, and waits until it has."""
    program.stdin.write(commands)
    program.stdin.flush()
    assert program.stdout.read(len(commands)) == commands


def tool(*words, code=0):
    done = subprocess.run([rbwp, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    assert "repair" not in done.stderr, done.stderr
    return done.stdout


def rows(document):
    return {r["name"]: r["count"] for r in document["work_items"]}


def everywhere(ticks, state):
    """Every tool sees so many ticks; and one flush that is open."""
    before = {name: open(name, "rb").read(4096) for name in (path, path + ".live")}
    stats = json.loads(tool("stats", "--live", "--json", path))
    calls = {r["name"]: (r["count"], r["unfinished"]) for r in stats["work_items"]}
    assert calls["tick"] == (ticks, 0) and calls["flush"][1] == 1, (state, calls)
    assert {t["name"] for t in stats["threads"]} == {"main worker", "flusher"}, stats["threads"]
    text = tool("stats", "--live", path)
    assert "flush" in text.splitlines()[0] or "flush" in text.split("\n\n")[0], (state, text)
    assert "tick" in tool("timeline", "--live", "--width", "80", path), state
    assert "main worker" in tool("timeline", "--live", path), state
    table = list(csv.DictReader(io.StringIO(tool("export", "--live", "--to", "csv", path))))
    assert sum(r["name"] == "tick" for r in table) == ticks, (state, table)
    tool("report", "--live", "--force", "-o", f"{work}/page.html", path)
    diff = json.loads(tool("diff", "--live", "--json", path, path))
    assert {r["name"]: r["a"]["count"] for r in diff["rows"]}["tick"] == ticks, (state, diff)
    shown = tool("tail", "--live", "-n", "1000", path)
    assert shown.count("tick") == ticks and "main worker" in shown, (state, shown)
    spans = [json.loads(l) for l in tool("dump", "--live", "--spans", "--ndjson", path).splitlines()]
    assert sum(s["name"] == "tick" for s in spans) == ticks, state
    assert json.loads(tool("info", "--live", "--json", path))["work_items"], state
    tool("split", "--live", "--by-thread", "--force", "-o", f"{work}/part.bin", path)
    parts = [json.loads(tool("stats", "--json", f"{work}/{p}")) for p in os.listdir(work) if p.startswith("part")]
    assert sum(rows(p).get("tick", 0) for p in parts) == ticks, state
    assert before == {name: open(name, "rb").read(4096) for name in before}, state
    return stats


record(b"tttf")
first = everywhere(3, "runs")
record(b"tt")
everywhere(5, "runs on")
for command in ("stats", "timeline", "info", "tail", "dump"):
    done = subprocess.run([rbwp, command, path], capture_output=True, text=True)
    assert "is being written" in done.stderr and "--live shows them" in done.stderr, done
    assert "--live" in subprocess.run([rbwp, command, "--help"], capture_output=True, text=True).stdout, command
program.kill()
program.wait()
everywhere(5, "died")

# A live file that may not be read: what needs it says so and shows nothing, what does not says that it was ignored.
nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
shutil.copy(rbwp, f"{work}/rbwp")
os.mkdir(f"{work}/theirs")
os.mkdir(f"{work}/counts")  # of a build for coverage, which says it where nobody may write them
nobody["env"] = {**os.environ, "GCOV_PREFIX": f"{work}/counts"}
for name, mode in ((work, 0o755), (f"{work}/theirs", 0o777), (f"{work}/counts", 0o777), (path, 0o644), (path + ".live", 0)):
    os.chmod(name, mode)
for command, code in ((["stats", "--live"], 1), (["export", "--live", "--to", "csv"], 1), (["tail", "--live"], 1), (["stats"], 0), (["info"], 0),
                      (["repair", "-o", f"{work}/theirs/whole.bin"], 1)):
    done = subprocess.run([f"{work}/rbwp", *command, path], capture_output=True, text=True, **nobody)
    assert done.returncode == code and done.stderr.count("\n") == 1, (command, done)
    assert path + ".live: " in done.stderr and "cannot open the live file: Permission denied" in done.stderr, (command, done)
    assert code == 0 or not done.stdout, (command, done)
assert not os.listdir(f"{work}/theirs")

# One that is none: one line, and nothing is shown.
os.rename(path + ".live", path + ".kept")
open(path + ".live", "wb").write(b"no live file" * 1000)
for command in (["stats"], ["timeline"], ["report", "-o", f"{work}/no.html"], ["export", "--to", "csv"], ["tail"], ["dump"]):
    done = subprocess.run([rbwp, *command, "--live", path], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and path + ".live: " in done.stderr, done
os.unlink(path + ".live")
P
finish
