# SPDX-License-Identifier: Apache-2.0
# Sums of many files, each added up for itself, are those of one pass over all of them, whatever
# number of threads is at work; sums that were kept are those of the very same file, else they are made
# again; what is to be said of a file is said each time, in the order of files. Guards who adds up jobs
# of thousands of nodes from answers that are quick and wrong.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
check "making a job" "$MAKE_JOB" -c 5 -o 1000000 -d 20000 -r 300 -x 5 -f 300 job 70
stats() { expect_exit 0 "$RBWP" stats --no-progress "$@"; }

# Two JSON documents: equal but for what stats_files.h says.
cat >same.py <<'P'
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:3])
levels = b["concurrency"].pop("busy_workers_of_a_node")
assert sum(levels) == 70 * b["extent"], (sum(levels), b["extent"])
assert sum(i * ns for i, ns in enumerate(levels)) == b["worker_busy"]
assert sum(i * ns for i, ns in enumerate(a["concurrency"].pop("busy_workers"))) == a["worker_busy"]
for left, right in zip(a["concurrency"].pop("busy"), b["concurrency"].pop("busy")):
    assert abs(left - right) < 0.05 * a["worker_busy"], (left, right)
a.pop("links"), b.pop("links"), a.pop("messages"), a.pop("inside_kernels"), a.pop("kernel_lines")  # of all files, and of single spans
assert a == b, [key for key in a if a[key] != b.get(key)]
assert len(b["nodes"]["list"]) == 70 and b["work_items"][0]["count"] > 1000
P
stats --json --min-duration 0 job # one pass, because of the filter
mv out one_pass.json
for jobs in 1 4; do
    stats --json -j $jobs job
    mv out many.json
    check "-j $jobs: the sums are not those of one pass" "$PYTHON" same.py one_pass.json many.json
done

# How they came onto one axis is not told of each.
grep -q '^69 files: aligned by comparing clocks, shift -[0-9]* to +[0-9]* ns, error at most [0-9]* ns$' err ||
    fail "no line of all clocks: $(head -3 err)"
[ "$(wc -l <err)" -lt 5 ] || fail "$(wc -l <err) lines of 70 files"

# Who holds the others up stands first, and threads are too many to be shown.
stats job
grep -A2 '^Nodes: 70' out | grep -q 'share' || fail "no table of nodes"
grep -A2 '^Nodes: 70' out | tail -1 | grep -q 'node 5$' || fail "the slow node is not the first"
grep -q '^Threads' out && fail "210 threads are shown"
stats --by thread job
grep -q 'worker 2.*node 69' out || fail "--by thread has no threads"

# Sums that were kept: blocks of the file are not looked at any more. (What is 0 there now would be told.)
stats --json --cache kept job
cmp -s out many.json || fail "--cache changes the sums"
[ "$(ls kept/*.summary | wc -l)" -eq 70 ] || fail "not 70 files of sums"
"$PYTHON" - <<'P'
import os
name = "job/bgwork_7.bin"
times = os.stat(name)
whole = bytearray(open(name, "rb").read())
whole[500:1500] = bytes(1000)
open(name, "wb").write(whole)
os.utime(name, ns=(times.st_atime_ns, times.st_mtime_ns))
P
stats --json --cache kept job
cmp -s out many.json || fail "what was kept is not used"
touch job/bgwork_7.bin
for time in first second; do
    expect_exit 3 "$RBWP" stats --no-progress --json --cache kept job
    cmp -s out many.json && fail "a file that was changed counts as before"
    expect_error "job/bgwork_7.bin: "
    expect_error "partly read"
done
check "making it again" "$MAKE_JOB" -c 5 -o 1000000 -d 20000 -r 300 -x 5 -f 300 job 70
stats --json --cache kept job
cmp -s out many.json || fail "what was kept of another file is used"

# Sums of strangers are none.
for name in kept/*_1.bin-*; do printf 'RBWPSUM\001and so on, for a while' >"$name"; done
for name in kept/*_2.bin-*; do "$PYTHON" -c "
import sys
whole = bytearray(open(sys.argv[1], 'rb').read())
whole[len(whole) // 2] ^= 4
open(sys.argv[1], 'wb').write(whole)" "$name"; done
for name in kept/*_3.bin-*; do : >"$name"; done
for name in kept/*_4.bin-*; do cp kept/*_5.bin-* "$name"; done
stats --json --cache kept job
cmp -s out many.json || fail "damaged sums change the answer"

# Nor is anything believed whose sum is right: sums or a refusal, and no crash.
mkdir one && cp job/bgwork_3.bin one
cat >mutate.py <<'P'
import glob, os, random, struct, subprocess, sys
forged = None
rbwp, here = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, f"{here}/../python")
from rbwp_reader import crc32c
run = lambda: subprocess.run([rbwp, "stats", "--no-progress", "--json", "--cache", "strange", "one"], capture_output=True, timeout=60)
want = run()
(name,) = glob.glob("strange/*.summary")
whole = open(name, "rb").read()
assert want.returncode == 0 and struct.unpack("<I", whole[16:20])[0] == crc32c(whole[20:])
rng, other = random.Random(5), 0
for number in range(60):
    data = bytearray(whole)
    for _ in range(rng.randint(1, 4)):
        at, how = rng.randrange(20, len(data)), rng.random()
        if how < 0.5:
            data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif how < 0.75:
            del data[at : at + rng.randint(1, 5)]
        else:
            data[at:at] = rng.choice([b"\xff" * 9 + b"\x01", b"\x80", b"\xff\xff\xff\xff\x0f"])
    data[16:20] = struct.pack("<I", crc32c(bytes(data[20:])))
    open(name, "wb").write(data)
    done = run()
    assert done.returncode in (0, 3) and b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, (number, done)
    other += done.stdout != want.stdout
    forged = data if done.stdout != want.stdout else forged
# Nor what others could have written: a file that everybody may write, or of somebody else (which root can try).
for change in [lambda: os.chmod(name, 0o666)] + ([lambda: os.chown(name, 12345, -1)] if os.geteuid() == 0 else []):
    open(name, "wb").write(forged)
    os.chmod(name, 0o644)
    assert run().stdout != want.stdout
    open(name, "wb").write(forged)
    change()
    assert run().stdout == want.stdout
assert 0 < other < 30, other  # some are sums, if wrong ones; most are refused
P
check "sums that were changed" "$PYTHON" mutate.py "$RBWP" "$here"

# Beside the files, which a few files may have, too; in no folder at all; with filters, which need the files.
cp -r job few && rm few/bgwork_[1-9]?.bin
stats --cache=beside few
[ -s few/bgwork_3.bin.summary ] || fail "no sums beside the file"
stats --top 250 --cache=beside few
sed -n '/^Longest calls/,$p' out | wc -l | grep -qx 252 || fail "--top is that of the sums that were kept"
echo >a_file
expect_exit 1 "$RBWP" stats --cache a_file few
expect_error "a_file: no folder for sums can be made: there is a file of that name"
expect_no_output
stats --json --cache kept --slot stencil job
grep -q '"name":"copy"' out && fail "filters are not obeyed"

# Messages of threads keep the order of the files.
for node in 11 22 33 44; do printf '%040d' 7 | dd of=job/bgwork_$node.bin bs=1 seek=700 conv=notrunc 2>dd.err; done
expect_exit 3 "$RBWP" stats --no-progress -j 4 job
grep -o 'bgwork_.*bin: partly' err >order
LC_ALL=C sort order | cmp -s - order && [ "$(wc -l <order)" -eq 4 ] || fail "messages out of order: $(cat order)"
finish
