# SPDX-License-Identifier: Apache-2.0
# tail shows the last lines of a file, and with -f what is added until it is finalised, removed or
# replaced, or its program died; names that come later are used.
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

# Replaced by another file, which is removed in the end; without a live file.
os.unlink(path + ".live")
open(path, "wb").write(header() + call(1))
tail = start("--records")
assert "COARSE_BEGIN" in tail.stdout.readline() and "COARSE_END" in tail.stdout.readline()
os.rename(path, path + ".1")
open(path + ".new", "wb").write(header() + call(9))
os.rename(path + ".new", path)
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
finish
