# SPDX-License-Identifier: Apache-2.0
# The files of one recording are one process's, however it came to several: cut while it was made
# (rotation), dumped again and again (flight recorder), split. Counts, arguments, samples and open
# spans are those of a recording in one file; a part that is missing between others is reported.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$MAKE_WINDOWS" "$work" <<'P' || fail "parts"
import collections, glob, json, os, shutil, subprocess, sys

rbwp, make, work = sys.argv[1:]
os.chdir(work)
ROUNDS = "600"


def run(*args, code=0):
    done = subprocess.run([rbwp, *args], capture_output=True, text=True)
    assert done.returncode == code, (args, done.returncode, done.stderr[-2000:])
    return done


def stats(*files, code=0):
    return json.loads(run("stats", "--json", *files, code=code).stdout)


def counts(sums):
    """What does not depend on how long anything took."""
    rows = {
        (part, row["category"], row["name"]): (row["count"], row["unfinished"], row["open"])
        for part in ("work_items", "queued", "sub_items", "gpu_work", "ranges")
        for row in sums[part]
    }
    threads = sorted((t["spans"], t["unfinished"]) for t in sums["threads"])
    counters = [(c["name"], c["samples"], c["last"]) for c in sums["counters"]]
    return rows, threads, counters, sums["workers"], sums["processes"][0]["empty_polls"], len(sums["processes"])


def arguments(*files):
    lines = run("merge", "--to", "ndjson", "--slot", "quick", "--min-duration", "0", *files).stdout.splitlines()
    return collections.Counter(json.loads(line)["args"]["round"] for line in lines if '"round":' in line)


subprocess.run([make, "plain.bin", ROUNDS], check=True, stdout=subprocess.DEVNULL)
whole = counts(stats("plain.bin"))
called = arguments("plain.bin")

# Rotation: spans, ranges and sub-items are open at each cut.
subprocess.run([make, "rot_%t.bin", ROUNDS, "0", "-bgworkprofile_rotate", "2M"], check=True, stdout=subprocess.DEVNULL)
rotated = sorted(glob.glob("rot_*.bin"))
assert len(rotated) >= 3, rotated
assert counts(stats(*rotated)) == whole, (counts(stats(*rotated)), whole)
assert counts(stats(*reversed(rotated))) == whole
assert arguments(*rotated) == called, (arguments(*rotated) - called, called - arguments(*rotated))
assert counts(stats("--cache", "sums", *rotated)) == whole
assert counts(stats("--cache", "sums", *rotated)) == whole
assert len(stats(rotated[0])["threads"]) <= 6

# One between is missing: what both sides have is joined, and that is said.
done = run("stats", rotated[0], rotated[-1], code=3)
assert f"{rotated[-1]}: goes on with part {len(rotated)} of a recording, after part 1 in {rotated[0]}" in done.stderr, done.stderr
# So is a beginning that is missing; nobody can say then who began late.
done = run("stats", "--json", "--findings", *rotated[1:])
assert done.stderr.count(f"{rotated[1]}: begins with part 2 of a recording: what is in the parts before is left out") == 1, done.stderr
late = run("stats", "--json", "--findings", "--cache", "sums", *rotated[1:])
assert "late_start" not in [f["what"] for one in (done, late) for f in json.loads(one.stdout)["findings"]], done.stdout
# Of a recording in parts and an export of one of them all would count twice that is in this one; of the other part it would not.
run("export", "-f", "-o", "part.json", rotated[0])
for pair in [(*rotated, "part.json"), ("part.json", *rotated)]:
    assert "it would count twice" in run("merge", "-f", "-o", "both.json", *pair, code=1).stderr
run("merge", "-f", "-o", "both.json", "part.json", rotated[1])
shutil.copy(rotated[0], "copy.bin")
done = run("stats", rotated[0], rotated[1], "copy.bin", code=1)
assert "is it given twice?" in done.stderr, done.stderr

# A flight recorder: each dump has some of what the one before has, none of them all.
subprocess.run(
    [make, "keep.bin", ROUNDS, "30", "-bgworkprofile_keep", "2M"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
dumps = sorted(glob.glob("keep.bin.dump-*")) + ["keep.bin"]
kept = stats("keep.bin")
assert kept["threads"] and counts(kept)[0] != whole[0], "nothing was dropped"
facts = json.loads(run("info", "--json", "keep.bin").stdout)
complete = facts["kept"][0]["from"]
assert complete and kept["first"] >= complete, (kept["first"], complete)
assert counts(stats(*dumps)) == whole, (counts(stats(*dumps)), whole)
assert not arguments(*dumps) - called, arguments(*dumps) - called

# Between two that have nothing in common nobody can say who was idle.
done = run("stats", "--json", "--findings", dumps[0], "keep.bin")
assert "nothing is known of" in done.stderr, done.stderr
assert not [f for f in json.loads(done.stdout)["findings"] if "idle" in f["what"] and "gpu" not in f["what"] or f["what"] == "late_start"], done.stdout

# Parts by time and by thread; those by time are cut through spans.
for option in (["--every", "20ms"], ["--by-thread"]):
    shutil.rmtree("parts", ignore_errors=True)
    os.mkdir("parts")
    run("split", *option, "-o", "parts/p.bin", "plain.bin")
    parts = sorted(glob.glob("parts/*"))
    assert len(parts) > 3, parts
    assert counts(stats(*parts)) == whole, (option, counts(stats(*parts)), whole)
    assert arguments(*parts) == called, option
    for part in parts:
        run("check", part)
    done = run("stats", parts[0], parts[-1], code=3)
    assert "what is in the parts between is left out" in done.stderr, done.stderr
P
finish
