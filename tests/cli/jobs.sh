# SPDX-License-Identifier: Apache-2.0
# Threads change nothing: output, messages and exit codes of -j N are those of -j 1, for whole and
# damaged files, damage between many blocks, blocks too large to be decoded ahead, several files,
# streams. SHARE: where it is not "1/1" (sanitizers, for which three threads are as good as eight), one number of threads
# is compared and each second of the small files.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "jobs"
import glob, os, random, subprocess, sys

rbwp, golden, here, work = sys.argv[1:]
SQLITE = b"built without" not in subprocess.run([rbwp, "export", "--to", "sqlite", "-o", f"{work}/none", f"{golden}/gaps.bin"], capture_output=True).stderr
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import rbwp_make as m
WHOLE = os.environ.get("SHARE", "1/1") == "1/1"


def run(args, threads, **more):
    done = subprocess.run([rbwp, *args[:1], "-j", str(threads), *args[1:]], capture_output=True, **more)
    return done.returncode, done.stdout, done.stderr


def same(*args, code=None, **more):
    want = run(args, 1, **more)
    assert code is None or want[0] == code, (args, want[0], want[2])
    for threads in (2, 3, 8) if WHOLE else (3,):
        have = run(args, threads, **more)
        assert have == want, (args, threads, have[0], want[0], have[2], want[2])
    return want[1]


def blocks(count, records=50, start=1000):
    t, made = start, []
    for i in range(count):
        inside = []
        for _ in range(records):
            inside += [(t, "cb", i % 5), (t + 3, "fb", 7), (t + 5, "fe"), (t + 9, "ce")]
            t += 10
        made.append(m.block(1 + i % 3, i // 3, inside, compress=i % 2 == 0))
    return made


def write(name, made):
    path = f"{work}/{name}.bin"
    open(path, "wb").write(m.file(made, [(i, b"slot") for i in range(5)], [(7, 1, b"sub")]))
    return path


for path in sorted(glob.glob(f"{golden}/*.bin") + glob.glob(f"{golden}/../bad/*/input.bin"))[:: 1 if WHOLE else 2]:
    same("dump", path)
    same("dump", "--spans", path)

whole = write("whole", blocks(200))
assert len(same("dump", whole, code=0)) > 1 << 20
for shape in (), ("--ndjson",), ("--spans",), ("--slot", "3"), ("--from", "+1us", "--to", "+20us"):
    same("dump", *shape, whole, code=0)
same("dump", whole, f"{golden}/gaps.bin", whole, code=0)
same("dump", "-", input=open(whole, "rb").read(), code=0)

# Every tenth block is damaged in another way.
random.seed(5)
made = blocks(120)
for i in range(0, 120, 10):
    bad = bytearray(made[i])
    if i % 3 == 0:
        bad[random.randrange(len(bad))] ^= 0xFF
    elif i % 3 == 1:
        del bad[random.randrange(33, len(bad)) :]
    else:
        bad[24:32] = b"\xff" * 8
    made[i] = bytes(bad)
damaged = write("damaged", made)
for command in ("dump",), ("dump", "--spans"), ("dump", "--ndjson"):
    assert same(*command, damaged, code=3)

# What is written behind the reader, by another thread: blocks whose spans are many, few and none, with damage between.
def same_file(form, path, **more):
    def made(threads):
        out = f"{work}/made"
        done = subprocess.run([rbwp, "export", "--to", form, "-j", str(threads), "-fo", out, path], capture_output=True)
        return done.returncode, open(out, "rb").read(), done.stderr

    assert made(3) == made(1), (form, path)


long = write("long", blocks(50, records=150))
for path in long, damaged:
    for command in (
        ["stats", "--json"], ["timeline"], ["report", "-o", "-"],
        *(["export", "--to", form] for form in ("chrome", "folded", "csv", "ndjson", "perfetto", "speedscope", "firefox")),
    ):
        want = run([*command, path], 1)
        assert run([*command, path], 3) == want, (command, path)
    for form in ("parquet", "legion") + (("sqlite",) if SQLITE else ()):
        same_file(form, path)

# Large ones among small ones.
large = blocks(12) + [m.block(9, i, [(5 * 10**6 + 1000 * i + k // 100, "fe") for k in range(120000 + i)], compress=i == 1) for i in range(2)] + blocks(12, start=10**7)
same("dump", write("large", large), code=0)
same("dump", "--kind", "coarse", write("large", large), code=0)

# An archive's chunks, of which these blocks make three and the names one, are decoded ahead as a whole; one that is damaged too.
subprocess.run([rbwp, "archive", f"{work}/large.bin"], stdout=subprocess.DEVNULL, check=True)
chunks = open(f"{work}/large.rbwa", "rb").read()
assert chunks.count(b"BLKS") == 3, chunks.count(b"BLKS")
same("dump", "--kind", "coarse", f"{work}/large.rbwa", code=0)
for at in (100, chunks.rindex(b"BLKS") + 3, chunks.index(b"BLKS", 40) + 500):
    open(f"{work}/broken.rbwa", "wb").write(chunks[:at] + bytes([chunks[at] ^ 1]) + chunks[at + 1 :])
    same("dump", "--kind", "coarse", f"{work}/broken.rbwa", code=3)
P
expect_exit 2 "$RBWP" dump -j many "$GOLDEN/gaps.bin"
expect_error "is no number of threads"
expect_exit 2 "$RBWP" dump -j 257 "$GOLDEN/gaps.bin"
expect_exit 0 "$RBWP" dump -j 256 "$GOLDEN/gaps.bin"

# More than 64 files are read side by side, a file on each thread.
check "making a job" "$MAKE_JOB" -r 20 -s 1 "$work/job" 65
expect_exit 0 "$RBWP" stats --no-progress -j 1 "$work/job"
mv "$work/out" "$work/want"
expect_exit 0 "$RBWP" stats --no-progress -j 4 "$work/job"
cmp -s "$work/out" "$work/want" || fail "sums of many files differ with the number of threads"
finish
