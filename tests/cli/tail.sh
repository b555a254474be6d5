# SPDX-License-Identifier: Apache-2.0
# tail shows the last lines of a file, and with -f what is added until it is finalised, removed or
# replaced, or its program died; names that come later are used. What a program records is shown as
# soon as its call has ended, each record once, whether it is in FILE.live or in FILE by then.
. "$(dirname "$0")/lib.sh"

# The last lines are the dump's last lines.
for options in "" "--records"; do
    shape=$([ "$options" ] && echo "--ndjson" || echo "--spans --ndjson")
    "$RBWP" dump $shape "$GOLDEN/level2_all_types.bin" | tail -n 25 >"$work/expected"
    expect_exit 0 "$RBWP" tail --ndjson -n 25 $options "$GOLDEN/level2_all_types.bin"
    check "tail $options" cmp "$work/expected" "$work/out"
done
expect_exit 0 "$RBWP" tail "$GOLDEN/multi_thread.bin"
[ "$(wc -l <"$work/out")" -eq 10 ] || fail "ten lines by default"
expect_exit 0 "$RBWP" tail -n 6 "$GOLDEN/level2_all_types.bin"
grep -q 'thread [0-9]*    MemcpyXferDes$' "$work/out" && grep -q 'thread [0-9]*  memcpy channel$' "$work/out" ||
    fail "what is inside a call stands two columns further: $(cat "$work/out")"
expect_exit 0 "$RBWP" tail -n 0 "$GOLDEN/multi_thread.bin"
expect_no_output
expect_exit 0 "$RBWP" tail -n 1000000 "$GOLDEN/straddle.bin"
expect_exit 3 "$RBWP" tail "$GOLDEN/defect_discard_rotate.bin"
expect_exit 0 "$RBWP" tail -f "$GOLDEN/gaps.bin" # finalised: there is nothing to wait for
expect_error "finalised: 1 blocks, 160 records"
for wrong in "-n x" "-n -1" "-n 99999999" "-n"; do
    expect_exit 2 "$RBWP" tail $wrong "$GOLDEN/gaps.bin"
done
expect_exit 2 "$RBWP" tail
expect_exit 2 "$RBWP" tail -f --live "$GOLDEN/gaps.bin"
expect_exit 1 "$RBWP" tail "$work/none"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "following"
import fcntl, os, signal, subprocess, sys, time
rbwp, here, work = sys.argv[1:]
sys.path.insert(0, here)
import live_make as live, rbwp_make as make
Z = live.ZERO
path = f"{work}/growing.bin"
signal.alarm(60)  # what does not come would be waited for


def start(*options):
    return subprocess.Popen([rbwp, "tail", "-f", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def call(number, slot=3):
    return make.block(7, number, [(Z + 1000 * number, "cb", slot), (Z + 1000 * number + 500, "ce")])


def header(size=0):
    return make.file([], zero_time=Z, finalised=False)


def append(data):
    with open(path, "ab") as file:
        file.write(data)


# It grows, in pieces; a new slot gets its name; then it is finalised.
open(path, "wb").write(header() + call(1))
log = [live.sample(0), live.thread(7, b"worker"), live.slot(3, b"flush")]
live.write(path + ".live", log, [])
held = open(path + ".live", "rb+")
fcntl.flock(held, fcntl.LOCK_EX)  # as its program does
tail = start("-n", "5")
line = tail.stdout.readline()
assert line.split() == ["+0.000001500s", "500", "ns", "worker", "flush"], line
append(call(2)[:40])
append(call(2)[40:])
assert tail.stdout.readline().split()[0] == "+0.000002500s"
with open(path + ".live", "rb+") as file:
    file.seek(live.HEAD_BYTES)
    file.write(b"".join(log + [live.slot(4, b"compact")]))
append(call(3, 4))
assert tail.stdout.readline().split()[-1] == "compact"
whole = make.file([call(1), call(2), call(3, 4)], [(3, b"flush"), (4, b"compact")], zero_time=Z)
append(whole[os.path.getsize(path):])
with open(path, "rb+") as file:
    file.write(whole[:36])
out, err = tail.communicate(timeout=20)
assert tail.returncode == 0 and out == "" and "finalised: 3 blocks, 6 records" in err, (out, err)
assert "being written" not in err, err

# Names never vanish: the last blocks, the tables and the end of FILE.live come at once.
full = work + "/full.bin"
blocks = b"".join(call(number, 3 + number % 2) for number in range(1, 101))
open(full, "wb").write(header() + blocks)
live.write(full + ".live", log + [live.slot(4, b"compact")], [], committed=36 + len(blocks))
subprocess.run([rbwp, "repair", full, "-o", full + ".whole"], check=True, capture_output=True)
whole = open(full + ".whole", "rb").read()
for options in [], ["--records"]:
    open(path, "wb").write(header() + call(1, 4))
    live.write(path + ".live", log, [])
    held = open(path + ".live", "rb+")
    fcntl.flock(held, fcntl.LOCK_EX)
    tail = start("-n", "1", *options)
    tail.stdout.readline()
    tail.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, tail.pid, os.WSTOPPED | os.WNOWAIT)
    append(whole[os.path.getsize(path):])
    with open(path, "rb+") as file:
        file.write(whole[:36])
    os.unlink(path + ".live")
    tail.send_signal(signal.SIGCONT)
    out, err = tail.communicate(timeout=20)
    assert tail.returncode == 0 and "finalised: 100 blocks" in err and "being written" not in err, err
    assert out.count("worker") >= 99 and out.count("compact") == 49 and out.count("flush") == 50, out
    assert "slot" not in out and "thread" not in out, out
live.write(path + ".live", log, [])
held = open(path + ".live", "rb+")
fcntl.flock(held, fcntl.LOCK_EX)

# The program dies.
open(path, "wb").write(header() + call(1))
tail = start("--ndjson")
assert '"name":"flush"' in tail.stdout.readline()
fcntl.flock(held, fcntl.LOCK_UN)
out, err = tail.communicate(timeout=20)
assert tail.returncode == 0 and "its program died" in err and "rbwp repair makes a whole file" in err, err

# What FILE had no room for counts for neither file: what comes behind it is shown, and nothing
# twice. (Call 1 is in FILE.live; 1.5 comes, which begins when 1 ends; then 1 is given up, and 3 comes.)
open(path, "wb").write(header())
fcntl.flock(held, fcntl.LOCK_EX)


def live_calls(*numbers, **lost):
    chunks = [live.chunk(7, int(1000 * n), 0, [(0, "cb", 3), (500, "ce", 0)]) for n in numbers]
    live.write(path + ".live", log, chunks, **lost)


def change_live(*numbers, **lost):
    tail.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, tail.pid, os.WSTOPPED | os.WNOWAIT)
    live_calls(*numbers, **lost)
    tail.send_signal(signal.SIGCONT)


live_calls(1)
tail = start()
assert tail.stdout.readline().split()[:2] == ["+0.000001500s", "500"]
change_live(1, 1.5)
assert tail.stdout.readline().split()[:2] == ["+0.000002000s", "500"]
change_live(1.5, 3, unwritten_records=2)
assert tail.stdout.readline().split()[:2] == ["+0.000003500s", "500"]
fcntl.flock(held, fcntl.LOCK_UN)
out, err = tail.communicate(timeout=20)
assert tail.returncode == 0 and out == "" and "its program died" in err, (out, err)

# A program that died with a block in FILE that was not committed: FILE.live has that call, too.
open(path, "wb").write(header() + call(1))
live_calls(1, 2)
tail = start()
out, err = tail.communicate(timeout=20)
assert [line.split()[0] for line in out.splitlines()] == ["+0.000001500s", "+0.000002500s"], out

# Replaced by another file, which is removed in the end; without a live file.
os.unlink(path + ".live")
open(path, "wb").write(header() + call(1))
tail = start("--records")
assert "COARSE_BEGIN" in tail.stdout.readline() and "COARSE_END" in tail.stdout.readline()
open(path + ".new", "wb").write(header() + call(9))
os.rename(path + ".new", path)  # at once: while there is none, the file has been removed
assert tail.stdout.readline().split()[0] == "+0.000009000s"
assert tail.stdout.readline().split()[1] == "COARSE_END"
os.unlink(path)
out, err = tail.communicate(timeout=20)
assert tail.returncode == 0 and "was replaced" in err and "was removed" in err, err

# Ctrl-C, and a reader of the output that goes away.
open(path, "wb").write(header() + call(1))
tail = start()
tail.stdout.readline()
tail.send_signal(signal.SIGINT)
assert tail.wait(timeout=20) == 0, tail.returncode
tail = start()
tail.stdout.readline()
tail.stdout.close()
for number in range(2, 200):
    append(call(number))
    time.sleep(0.02)
    if tail.poll() is not None:
        break
assert tail.wait(timeout=20) == 0
P

: "${LIVE_VICTIM:=}"
[ -x "$LIVE_VICTIM" ] || finish
"$PYTHON" - "$RBWP" "$LIVE_VICTIM" "$work" <<'P' || fail "following a program"
import collections, json, os, signal, subprocess, sys
rbwp, victim, work = sys.argv[1:]
path = f"{work}/run.bin"
signal.alarm(60)  # what does not come would be waited for


class Program:
    def __init__(self):
        self.process = subprocess.Popen([victim, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.do(b"t")

    def do(self, commands):
        """Lets it do them, a command a byte, and waits until it has."""
        self.process.stdin.write(commands)
        self.process.stdin.flush()
        assert self.process.stdout.read(len(commands)) == commands


class Tail:
    def __init__(self, *options):
        self.process = subprocess.Popen([rbwp, "tail", "-f", "--ndjson", "-n", "1000000", *options, path],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []

    def read(self, count):
        """So many lines more: what they are, by thread."""
        return self.take([self.process.stdout.readline() for _ in range(count)])

    def finish(self):
        out, self.err = self.process.communicate()
        return self.take(out.splitlines())

    def take(self, lines):
        self.lines += map(json.loads, lines)
        return by_thread(self.lines[len(self.lines) - len(lines):])


def by_thread(lines):
    seen = collections.defaultdict(list)
    for line in lines:
        seen[line["thread_id"], line["thread"]].append((line.get("type") or line["kind"], line.get("name")))
    return seen


def dump(*options):
    out = subprocess.run([rbwp, "dump", "--ndjson", *options, path], check=True, capture_output=True, text=True).stdout
    return by_thread(map(json.loads, out.splitlines()))


def names(seen):
    return sorted((thread, len(lines)) for (_, thread), lines in seen.items())


# Ten calls of a program that goes on but does nothing more, which FILE has none of; then more.
program = Program()
records, spans = Tail("--records"), Tail()
program.do(b"t" * 9)
assert names(records.read(40)) == [("main worker", 40)]
assert names(spans.read(20)) == [("main worker", 20)]
assert os.path.getsize(path) < 100, "they are in FILE"
program.do(b"tx")
assert names(records.read(8)) == [("main worker", 4), ("visitor", 4)]
assert names(spans.read(4)) == [("main worker", 2), ("visitor", 2)]

# What an open call recorded is shown when it has ended, and never if it did nothing. (The visitor
# is shown by a look that was behind the call's begin.)
for end in b"d", b"e":
    program.do(b"bx")
    assert names(records.read(4)) == [("visitor", 4)]
    assert names(spans.read(2)) == [("visitor", 2)]
    program.do(end + b"t")
    more = [kind for kinds in records.read(7 if end == b"e" else 4).values() for kind in kinds]
    assert more.count(("GPU_WORK", "tick")) == (end == b"e"), more
    spans.read(4 if end == b"e" else 2)

# Its records move into FILE: full chunks, threads that have gone, and in the end all of it.
for _ in range(3):
    program.do(b"mtx")
    records.read(20008)
    spans.read(10004)
assert os.path.getsize(path) > 1000, "none is in FILE"
program.do(b"bxtms")
records.finish()
spans.finish()
for tail, whole in (records, dump()), (spans, dump("--spans")):
    shown = by_thread(tail.lines)
    assert shown == whole, [(key, len(shown[key]), len(whole[key])) for key in shown | whole]
    assert "finalised" in tail.err and "5001 calls not recorded" in tail.err and tail.err.count("\n") == 2, tail.err
program.process.communicate()

# kill -9: the rest is shown, also of the call in which it died.
program = Program()
records, spans = Tail("--records"), Tail()
program.do(b"t")
records.read(8)
spans.read(4)
program.do(b"b")
program.process.kill()
program.process.wait()
assert list(records.finish().values()) == [[("COARSE_BEGIN", "tick"), ("GPU_WORK", "tick")]]
assert names(spans.finish()) == [("main worker", 2)]
for tail in records, spans:
    assert "its program died; rbwp repair" in tail.err and tail.err.count("\n") == 1, tail.err

# Without a live file, or with one that is none, FILE is followed alone, and that is said once.
for live in None, b"no live file" * 1000:
    program = Program()
    os.unlink(path + ".live")
    if live:
        open(path + ".live", "wb").write(live)
    tail = Tail("--records")
    for _ in range(2):
        program.do(b"x")
        assert names(tail.read(4)) == [(None, 4)]
    program.do(b"s")
    tail.finish()
    assert len(tail.lines) == 12, len(tail.lines)
    assert tail.err.count("come to the file in blocks") == 1, tail.err
    program.process.communicate()
P
finish
