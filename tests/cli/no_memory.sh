# SPDX-License-Identifier: Apache-2.0
# Whichever allocation of a tool fails, it does not crash, and never gives less without saying so: the
# output is as it would have been, or a line tells of memory and the exit status is 1 or 3. SHARE: where
# it is not 1/1 each fourth one fails, or as few as it says.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$NO_MEMORY" "$here" "$work" <<'P' || fail "no memory"
import json, os, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here]
import legion_make as legion
import rbwp_make as m

PARTS = int(os.environ.get("SHARE", "1/1").split("/")[1])
STEP = 1 if PARTS == 1 else max(4, PARTS)
TOLD = "memory", "too many", "be held"
T = 1_700_000_000_000_000_000
records = [(T + 5, "cb", 1), (T + 10, "fb", 2), (T + 20, "fe"), (T + 30, "ce"), (T + 35, "gpu", 77, 1, T + 12, T + 25)]
with open(f"{work}/a.bin", "wb") as file:
    file.write(m.file([m.block(7, 0, records)], [(1, b"item")], [(2, 1, b"sub")], zero_time=T))
proc = legion.proc(1, 1)
rows = legion.head("A", 1, 3, T) + [("ProcDesc", {"proc_id": proc, "kind": 2})]
rows += [("TaskInfo", {"op_id": i, "proc_id": proc, "start": 50 * i, "stop": 50 * i + 9, "fevent": legion.event(1, i)}) for i in (1, 2)]
rows.append(("MessageInfo", {"op_id": 9, "lg_id": 1, "proc_id": proc, "spawn": 5, "create": 6, "ready": 6, "start": 200, "stop": 300,
                             "creator": legion.event(0, 7), "fevent": legion.event(1, 50)}))
with open(f"{work}/log", "wb") as file:
    file.write(legion.log("A", rows))
events = [{"ph": "X", "name": "k", "ts": t, "dur": 5, "pid": 9, "tid": 9} for t in (1, 20)]
events += [{"ph": "s", "name": "f", "id": 1, "ts": 2, "pid": 9, "tid": 9}, {"ph": "f", "name": "f", "id": 1, "ts": 21, "pid": 9, "tid": 9, "bp": "e"}]
with open(f"{work}/chrome", "w") as file:
    json.dump({"traceEvents": events, "baseTimeNanoseconds": T}, file)


def run(arguments, failing=0):
    environment = {**os.environ, "RBWP_FAIL_ALLOCATION": str(failing), "RBWP_ALLOCATIONS": f"{work}/count"}
    done = subprocess.run([rbwp, *arguments], capture_output=True, env=environment, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


def rows(path):
    """Of the tables that a profile is about: without memory it may lack its index."""
    return [run(["tables", "--table", table, path])[1] for table in ("gpu_activity", "kernel_block")]


def check(*arguments, output=None, read=lambda path: open(path, "rb").read()):
    def made(done):
        return read(output) if output and os.path.exists(output) else done[1]

    good = run(arguments)
    allocations = int(open(f"{work}/count").read())
    want = made(good)
    assert good[0] == 0, (arguments, good)
    for failing in range(1, allocations + 1, STEP):
        if output and os.path.exists(output):
            os.remove(output)
        code, _, error = done = run(arguments, failing)
        if code == 0:
            assert made(done) == want, (arguments, failing, "less, and nothing said", error)
        else:
            assert code in (1, 3) and any(word in error for word in TOLD), (arguments, failing, code, error)


check("merge", "--to=csv", "-j", "1", f"{work}/log")
check("merge", "--to=csv", "-j", "1", f"{work}/chrome")
check("export", "--to=legion", "-f", "-j", "1", "-o", f"{work}/out.log", f"{work}/a.bin", output=f"{work}/out.log")
for form in "speedscope", "firefox":
    check("export", "--to", form, "-f", "-j", "1", "-o", f"{work}/out.{form}", f"{work}/a.bin", output=f"{work}/out.{form}")
check("stats", "--json", "--findings", "-j", "1", f"{work}/a.bin")
check("diff", "--all", "-j", "1", "-f", "--report", f"{work}/out.html", f"{work}/a.bin", f"{work}/a.bin", output=f"{work}/out.html")
check("report", "-f", "-o", f"{work}/out.html", f"{work}/a.bin", output=f"{work}/out.html")
# What launches with probes left, and the profile that is made of it.
left = open(f"{here}/../fuzz/corpus/ptx/launch_wide.bin", "rb").read()
at, (lines, text) = 5, struct.unpack_from("<HH", left, 1)
os.mkdir(f"{work}/folder")
for name, end in (("launches-1.ndjson", at + lines), ("m.map.json", at + lines + text), ("r.raw", len(left))):
    with open(f"{work}/folder/{name}", "wb") as file:
        file.write(left[at:end])
    at = end
check("ptx", "decode", "-f", "--rbwp", f"{work}/made.bin", f"{work}/folder", output=f"{work}/made.bin", read=rows)
check("ptx", "sanitize", "--dir", f"{work}/active", f"{work}/folder", output=f"{work}/active/{json.loads(open(f'{work}/folder/m.map.json').read())['hash']}.active.json")
run(["ptx", "decode", "-f", "--rbwp", f"{work}/made.bin", f"{work}/folder"])
check("stats", "--json", "--by=kernel", "-j", "1", f"{work}/made.bin")
check("split", "--every=1s", "-f", "-o", f"{work}/part.bin", f"{work}/a.bin", output=f"{work}/part.0000.bin")
check("tail", f"{work}/a.bin")
P
finish
