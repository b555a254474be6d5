# SPDX-License-Identifier: Apache-2.0
# Three nodes' RBWP files, a Legion Prof log and a PyTorch trace come onto one axis, each by the method
# that fits, to the nanosecond; method and bound are told; what cannot belong together is refused.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "merge"
import json, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
sys.path.insert(0, here + "/../python")
import legion_make as legion
import rbwp_make as m
from rbwp_reader import crc32c

T = 1_700_000_000_000_000_000


def section(tag, payload):
    return struct.pack("<4sIQ", tag, 0, len(payload)) + payload


def rbwp_file(path, node, begins, zero=T, nodes=0, host=b"", samples=(), error=0, stop=0, name=b"work", pid=0, mono=()):
    """samples: (record time, real time); mono: (record time, monotonic time)."""
    samples = mono or samples
    records = [r for b in begins for r in ((b, "cb", 0), (b + 50, "ce"))]
    data = m.file([m.block(1, 0, records)], [(0, name)], (), zero, 0, node)
    if nodes or host or samples or error or stop:
        body = section(b"INFO", struct.pack("<QIIqqQQQ", pid, nodes, 1, zero, stop, 0, 0, 0)) + section(b"HOST", host)
        body += section(b"CLCK", struct.pack("<IIQQ", 1, 0, 10**9, error))
        body += section(b"SAMP", struct.pack("<II", 32, len(samples)) + b"".join(struct.pack("<Qqqq", i + 1, t, r if mono else t, t if mono else r) for i, (t, r) in enumerate(samples)))
        data += body + struct.pack("<QQII8s", len(data), len(body), crc32c(body), 0, b"RBWP.END")
    open(f"{work}/{path}", "wb").write(data)
    return f"{work}/{path}"


def legion_log(path, node, tasks, zero=T, dialect="A", messages=(), nodes=0):
    """messages: (from node, spawn, create), relative to the zero times."""
    proc = legion.proc(node, 1)
    rows = legion.head(dialect, node, nodes or 3, zero) + [("ProcDesc", {"proc_id": proc, "kind": 2})]
    for i, t in enumerate(tasks):
        rows.append(("TaskInfo", {"op_id": i + 1, "proc_id": proc, "start": t, "stop": t + 9, "fevent": legion.event(node, i + 1)}))
    for i, (src, spawn, create) in enumerate(messages):
        rows.append(("MessageInfo", {"op_id": 100 + i, "lg_id": 1, "proc_id": proc, "spawn": spawn, "create": create, "ready": create, "start": create + 5,
                                     "stop": create + 6, "creator": legion.event(src, 7), "fevent": legion.event(node, 50 + i)}))
    open(f"{work}/{path}", "wb").write(legion.log(dialect, rows))
    return f"{work}/{path}"


def chrome(path, ts, base=None, rank=None):
    trace = {"traceEvents": [{"ph": "X", "name": "k", "ts": t, "dur": 1, "pid": 9, "tid": 9} for t in ts]}
    if base is not None:
        trace["baseTimeNanoseconds"] = base
    if rank is not None:
        trace["distributedInfo"] = {"rank": rank, "world_size": 3}
    open(f"{work}/{path}", "w").write(json.dumps(trace))
    return f"{work}/{path}"


def run(*args, code=0, command="merge"):
    done = subprocess.run([rbwp, command, "--to=ndjson", *args], capture_output=True)
    error = done.stderr.decode()
    assert done.returncode == code, (args, done.returncode, error)
    starts = {}
    for line in done.stdout.splitlines():
        s = json.loads(line)
        starts.setdefault(s["process"], []).append(s["start_ns"] - T)
    return starts, error


def told(error, path, what):
    assert any(line.startswith(path + ": ") and what in line for line in error.splitlines()), (path, what, error)


# One run: all zero times are equal. One host has a bound: the sum of the clocks' errors.
n = [rbwp_file(f"n{i}", i, [T + 1000 * i + 5], nodes=3, host=b"one", error=100 + i) for i in range(3)]
log = legion_log("l1", 1, [700])
torch = chrome("c", [2.5], base=T)
starts, error = run(*n, log, torch)
assert starts == {"node 0": [5], "node 1": [1005], "node 2": [2005], "node 1 Legion": [700], "process 9": [2500]}, starts
told(error, n[0], "being the reference")
told(error, n[1], "equal zero time, shift +0 ns, error at most 201 ns")
told(error, log, "equal zero time, shift +0 ns")
told(error, torch, "wall clock, shift +0 ns, no bound")
assert run(*n, log, torch, command="export")[0] == starts

# Different hosts: nothing bounds the error. Without hosts, too.
far = rbwp_file("far", 1, [T + 5], nodes=3, host=b"two", error=9)
told(run(n[0], far)[1], far, "equal zero time, shift +0 ns, no bound")

# REALTIME pairs: records of r1 are 7000 ns before the wall clock, those of r0 2000 (give or take 100).
r0 = rbwp_file("r0", 0, [T + 10], zero=T, host=b"h", stop=T + 9000, error=1, samples=[(T, T + 1900), (T + 5000, T + 7100)])
r1 = rbwp_file("r1", 1, [T + 20], zero=T + 3, host=b"h", stop=T + 9000, error=2, samples=[(T, T + 7000)])
starts, error = run(r0, r1)
assert starts == {"node 0": [10], "node 1": [20 + 5000]}, starts
told(error, r1, "REALTIME pairs, shift +5000 ns, error at most 103 ns")
late = rbwp_file("late", 1, [T + 10**12], zero=T + 10**12, host=b"h", stop=T + 10**12 + 1, samples=[(T, T)])
told(run(r0, late, code=1)[1], "rbwp merge: " + late, "shares no time with")

# Legion logs with messages both ways. Node 1's clock is 300 ahead; messages take 40 there and 60 back.
a = legion_log("a", 0, [100], zero=T, messages=[(1, 1300, 1060), (1, 2300, 2160)])
b = legion_log("b", 1, [1100], zero=T + 10**6, messages=[(0, 500, 840), (0, 600, 990)], dialect="B")
starts, error = run(a, b)
ahead = (340 - -240) // 2  # 290: within the bound of 50 of the true 300
assert starts["node 0 Legion"][0] == 100 and starts["node 1 Legion"][-1] == 1100 - ahead, starts
told(error, b, f"message latencies, shift {-(10**6) - ahead:+d} ns, error at most 50 ns")
one_way = legion_log("b1", 1, [1100], zero=T + 10**6)
told(run(a, one_way, code=1)[1], "rbwp merge: " + one_way, "its run began +0.001000000 s from that of")
starts, error = run(a, one_way, "--align=start")
assert starts["node 1 Legion"] == [1100], starts
told(error, one_way, "equal start, shift -1000000 ns, no bound")
wrong = legion_log("w", 1, [1], zero=T + 5, messages=[(0, 19000, 10000)])
told(run(a, wrong, code=1)[1], "rbwp merge: " + wrong, "take less than no time")

# A node has one zero time: another one is another run. Not the same file twice, not two sizes of a job.
other = legion_log("o", 1, [700], zero=T + 1)
starts, error = run(n[0], n[1], other, code=1)
told(error, "rbwp merge: " + other, "but of another run: they began 0.000000001 s apart")
assert not starts
known = rbwp_file("known", 1, [T + 5], nodes=3, host=b"one", pid=77)  # one that tells its process is no other node
told(run(known, other, code=1)[1], "rbwp merge: " + other, "but of another run: they began 0.000000001 s apart")
starts, error = run(n[0], n[1], other, "--force-merge")
assert starts["node 1 Legion"] == [701], starts
told(error, other, "aligned by force")
assert "is it given twice" in run(n[0], n[0], code=1)[1]
two = rbwp_file("two", 1, [T + 5], nodes=2)
assert "is of a job of 2 nodes" in run(n[0], two, code=1)[1]
assert run(n[0], two, "--force-merge")[0]["node 1"] == [5]

# Chrome JSON that does not say when it was; --shift says, from the run's zero time. Signs and units.
plain = chrome("p", [2.5])
told(run(n[0], plain, code=1)[1], "rbwp merge: " + plain, "nothing in it tells when it was")
for shift, ns in (("+1us", 1000), ("-1us", -1000), ("0", 0), ("1.5ms", 1500000)):
    starts, error = run(n[0], plain, "--shift", f"{plain}={shift}")
    assert starts["process 9"] == [2500 + ns], (shift, starts)
    told(error, plain, "aligned by --shift")
starts, error = run(n[0], n[1], "--shift", f"{n[1]}=-5ns")
assert starts == {"node 0": [5], "node 1": [1000]}, starts
assert run(n[0], "--shift", f"{n[0]}=5ns")[0] == {"node 0": [10]}
hour = chrome("h", [2.5], base=T + 3600 * 10**9)
r2 = rbwp_file("r2", 0, [T + 10], stop=T + 9000)
told(run(r2, hour, code=1)[1], "rbwp merge: " + hour, "shares no time with")

# Measured offsets, for all files of a node; comments; errors are told with the line.
open(f"{work}/off", "w").write("# node time error\n\n1 +30us 10ns # ahead\n2 -1.5us\n")
starts, error = run(*n, log, "--offsets", f"{work}/off")
assert starts == {"node 0": [5], "node 1": [1005 - 30000], "node 2": [2005 + 1500], "node 1 Legion": [700 - 30000]}, starts
told(error, n[1], "measured offsets, shift -30000 ns, error at most 111 ns")
told(error, n[2], "measured offsets, shift +1500 ns, no bound")
for text in ("x 1us\n", "1\n", "1 2 3 4\n", "1 2 x\n", "1 99999999999999999999\n"):
    open(f"{work}/bad", "w").write("0 0\n" + text)
    assert "line 2 is" in run(n[0], n[1], "--offsets", f"{work}/bad", code=2)[1], text

# Our own export comes back: to its file, and to another of the run; by the wall clock to one of another run.
def exported(path):
    subprocess.run([rbwp, "export", "-f", "-o", f"{work}/own.json", path], check=True, capture_output=True)
    return f"{work}/own.json"


own = exported(n[0])
starts, error = run(n[1], own)
assert starts["node 1"] == [1005] and [v for k, v in starts.items() if k != "node 1"] == [[5]], starts
told(error, own, "equal zero time, shift +0 ns")
starts, error = run(r0, exported(rbwp_file("r3", 1, [T + 5000], zero=T + 3)))
assert sorted(starts.values()) == [[10], [5000 - 2000]], starts
told(error, own, "wall clock, shift -2000 ns")
open(f"{work}/theirs.json", "w").write(open(own).read().replace("rbwp.version", "their.version"))
told(run(n[0], f"{work}/theirs.json", code=1)[1], "rbwp merge: " + f"{work}/theirs.json", "nothing in it tells when it was")

# Clocks that Chrome JSON names: since the machine was started (Chromium, Node), held against MONOTONIC pairs
# while both have time in common; a beginning in the wall clock's microseconds (clang).
def written(name, trace):
    open(f"{work}/{name}", "w").write(json.dumps(trace))
    return f"{work}/{name}"


timed = [{"ph": "X", "name": "k", "ts": 5_000_000.5, "dur": 1, "pid": 9, "tid": 9}]
node_js = [{"ph": "M", "cat": "__metadata", "name": "node", "pid": 9, "tid": 9, "ts": 1, "args": {"process": {"versions": {"v8": "1"}}}}]
chromium = written("chromium", {"traceEvents": timed, "metadata": {"os": "Linux", "clock-domain": "LINUX_CLOCK_MONOTONIC"}})
node = written("node", {"traceEvents": node_js + timed})
clang = written("clang", {"traceEvents": [dict(timed[0], ts=2.5)], "beginningOfTime": T // 1000})
mono = rbwp_file("mono", 0, [T + 30], stop=T + 9000, mono=[(T, 5 * 10**9)])
for path in chromium, node:
    starts, error = run(mono, path)
    assert starts == {"node 0": [30], "process 9": [500]}, (path, starts)
    told(error, path, f"MONOTONIC clock, if it is the same machine's, shift {T - 5 * 10**9:+d} ns, no bound")
    assert run(mono, path, "--align=monotonic")[0] == starts
    late = rbwp_file("late_mono", 0, [T + 30], stop=T + 9000, mono=[(T, 15 * 10**9)])
    told(run(late, path, code=1)[1], f"rbwp merge: {path}", "shares no time with")
    told(run(n[0], path, code=1)[1], f"rbwp merge: {path}", "nothing in it tells when it was")
assert run(chromium, node)[0] == {"process 9": [5 * 10**9 + 500 - T], "process 9 (2)": [5 * 10**9 + 500 - T]}
assert run(r0, clang)[0]["process 9"] == [2500 - 2000]

# One file of a node has no zero time: that is no other run. Two without one have no zero time in common.
zeroless = rbwp_file("zeroless", 0, [T + 30], zero=0, stop=T + 9000, samples=[(T, T + 1000)])
with_zero = rbwp_file("with_zero", 0, [T + 10], zero=T, stop=T + 9000, samples=[(T, T + 3000)])
for pair in (zeroless, with_zero), (with_zero, zeroless):
    starts, error = run(*pair)
    assert sorted(starts.values()) == [[30 - 2000], [10]], starts
    told(error, zeroless, "REALTIME pairs, shift -2000 ns")
starts, error = run(zeroless, rbwp_file("zeroless2", 1, [T + 30], zero=0, stop=T + 9000, samples=[(T, T + 1500)]))
assert sorted(starts.values()) == [[30], [30 + 500]], starts

# A unit that stands behind the events counts for all their times, the last one too.
cycles = {"baseTimeNanoseconds": T, "traceEvents": [{"ph": "X", "name": "k", "ts": t, "dur": 1, "pid": 9, "tid": 9} for t in (0, 10**9)],
          "metadata": {"time_unit": "raw cycles (s_memrealtime @ 100MHz)"}}
open(f"{work}/cycles", "w").write(json.dumps(cycles))
in_time = rbwp_file("in_time", 0, [T + 5 * 10**9], stop=T + 20 * 10**9)
after = rbwp_file("after", 0, [T + 100 * 10**9], zero=T + 90 * 10**9, stop=T + 110 * 10**9)
assert run(in_time, f"{work}/cycles")[0]["process 9"] == [0, 10 * 10**9]
told(run(after, f"{work}/cycles", code=1)[1], f"rbwp merge: {work}/cycles", "shares no time with")

# Filters are on the axis. Usage.
assert run(n[0], n[1], "--shift", f"{n[1]}=+1us", "--from", str(T + 1500))[0] == {"node 1": [2005]}
for args in (["--shift", "nobody=1us"], ["--shift", n[0]], ["--shift", "=1us"], ["--shift", f"{n[0]}=soon"], ["--align=sun"], ["--offsets", "/no/such"]):
    run(n[0], n[1], *args, code=2)
run(code=2)

# One file needs none of it and says nothing; times that cannot be are refused when there are several.
assert run(n[0]) == ({"node 0": [5]}, "")
wild = rbwp_file("wild", 4, [T], zero=-(1 << 63))
assert "its times are impossible" in run(n[0], wild, code=1)[1]
assert "its times are impossible" in run(n[0], wild, "--force-merge", code=1)[1]
P
finish
