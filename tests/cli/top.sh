# SPDX-License-Identifier: Apache-2.0
# rbwp top tells of each item of running programs how many ended, how long they took and what is open, by file, folder,
# process and all of the user's, once or again and again, in its order; who is gone is told of in one line.
. "$(dirname "$0")/lib.sh"
: "${LIVE_VICTIM:=}"
"$PYTHON" - "$RBWP" "$LIVE_VICTIM" "$GOLDEN" "$work" "$here/../oracle" <<'P' || fail "top"
import csv, fcntl, io, json, mmap, os, pty, struct, subprocess, sys, termios
rbwp, victim, golden, work, oracle = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.append(oracle)
from json_schema import validate


def top(*words, code=0):
    done = subprocess.run([rbwp, "top", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    return done


def items(*words):
    done = subprocess.run([rbwp, "top", "--once", "--json", "-d", "3600s", *words], capture_output=True, text=True, timeout=60)
    # Of all programs of the user some may be others' that end just now.
    assert not words or (done.returncode == 0 and not done.stderr), (words, done)
    return [json.loads(line) for line in done.stdout.splitlines()]


def one_line(text, *words, code=1):
    done = top(*words, code=code)
    assert text in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done


if victim and os.access(victim, os.X_OK):
    os.mkdir(f"{work}/programs")
    path = f"{work}/programs/run.bin"
    with open(f"{golden}/level2_all_types.bin", "rb") as old, open(f"{work}/programs/old.bin", "wb") as finished:
        finished.write(old.read())
    program = subprocess.Popen([victim, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdin.write(b"ttfb")
    program.stdin.flush()
    assert program.stdout.read(4) == b"ttfb"
    pid = str(program.pid)
    found = {item["name"]: item for item in items(pid)}
    tick, flush, step = found["tick"], found["flush"], found["step"]
    assert (tick["ended"], tick["open"], flush["ended"], flush["open"], step["ended"]) == (2, 1, 0, 1, 2), found
    assert tick["call"] and not step["call"] and 0 < tick["max"] <= tick["total"] <= 2 * tick["max"], found
    assert 0 < flush["busy"] <= flush["open_for"] and flush["max"] == 0 and flush["file"] == path, found
    for words in ([path], [f"{work}/programs"], []):
        seen = {item["name"]: item for item in items(*words) if item["file"] == path}
        assert seen.keys() == found.keys(), (words, seen)
        # The clock is known better as time goes by, so that a duration may be another by little.
        assert seen["flush"]["open_for"] > flush["open_for"] and abs(seen["tick"]["total"] - tick["total"]) <= 2 + tick["total"] // 100, (seen, tick)
    assert [item["name"] for item in items("--sort", "calls", "-l", "2", path)] == ["step", "tick"]
    names = [item["name"] for item in items("--sort", "name", path)]
    assert names == sorted(names) and len(names) == len(found), names
    assert items("-s", "open", path)[0]["name"] == "flush"
    # JSON is what its schema says, and CSV has its cells; keys stand above the first look alone.
    schema = json.loads(subprocess.run([rbwp, "help", "--schema", "top"], capture_output=True, check=True).stdout)
    wrong = [text for item in found.values() for text in validate(schema, item, "top", set())]
    assert not wrong, wrong
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(top("--once", "--csv", "items", "-d", "3600s", path).stdout))}
    assert rows.keys() == found.keys() and all(row.keys() == tick.keys() for row in rows.values()), rows
    assert all(rows[name][key] == str(found[name][key]) for name in found for key in ("ended", "open", "file", "program")) and rows["tick"]["call"] == "true", rows
    lines = top("--once", "-d", "3600s", path).stdout.splitlines()
    assert lines[0].startswith("1 program, 2 threads with calls") and len(lines) == 2 + len(found), lines
    twice = top("-n", "2", "-d", "100ms", "--csv", "items", path).stdout.splitlines()
    assert twice.count(",".join(tick)) == 1 and len({line.split(",")[0] for line in twice}) == 3, twice
    blocks = top("-n", "2", "-d", "100ms", path).stdout.split("\n\n")
    assert len(blocks) == 3 and blocks[2] == "" and blocks[0].splitlines()[1] == blocks[1].splitlines()[1], blocks
    # On a terminal as many as it has room for, each time from its first line.
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 5, 80, 0, 0))
    process = subprocess.Popen([rbwp, "top", "-n", "1", "-d", "100ms", path], stdout=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    assert process.wait(60) == 0
    screen = os.read(ours, 65536).decode()
    assert screen.startswith("\033[H\033[2J") and len(screen.splitlines()) == 2 + 2 < 2 + len(found), screen
    os.close(ours)
    # A program that did nothing meanwhile is one, too.
    lines = top("--once", "-d", "100ms", f"{work}/programs/old.bin").stdout.splitlines()
    assert lines[0].startswith("1 program, 0 threads with calls, 0.00 busy") and len(lines) == 2, lines
    program.stdin.close()
    assert program.wait(60) == 0
    one_line("no such process", "--once", pid)
one_line("no such process", "--once", "999999999")

# A process may say that it records to what has no end: neither top nor stacks read that.
for number, make in enumerate((os.mkfifo, lambda path: os.symlink("/dev/zero", path))):
    path = f"{work}/endless{number}"
    make(path)
    with open(f"{path}.live", "w+b") as live:
        live.truncate(1 << 20)
        mapped = mmap.mmap(live.fileno(), 1 << 20)
        one_line("which is no regular file", "--once", str(os.getpid()))
        done = subprocess.run([rbwp, "stacks", str(os.getpid())], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "which is no regular file" in done.stderr, done
        mapped.close()
one_line("cannot be opened", "--once", f"{work}/none.bin")
one_line("unit", "-d", "5", code=2)
one_line("'nothing' is no table that --json has", "--csv", "nothing", code=2)
one_line("--csv does not go with --json", "--csv", "items", "--json", code=2)
P
finish
