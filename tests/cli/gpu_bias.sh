# SPDX-License-Identifier: Apache-2.0
# What the file says of GPUs is shown; --gpu-bias moves the end of GPU work of known bias, not before
# its start, in all shapes and from a stream, by the bias of busy or idle streams, and leaves everything else;
# spans tell between what the duration lies; broken facts are R43.
. "$(dirname "$0")/lib.sh"

"$MAKE_GPU" "$work/gpu.bin" || fail "make_gpu"
"$MAKE_GPU" "$work/broken.bin" broken || fail "make_gpu"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "gpu bias"
import json, subprocess, sys

rbwp, here, work = sys.argv[1:]
T = 1700000000000000000
STORED = [(1000, 2000), (2900, 3000), (3000, 4000), (900, 800), (6000, 9000)]
CORRECTED = [(1000, 1750), (2900, 2900), (3000, 4000), (900, 800), (6000, 7600)]


def run(*args, code=0, **keys):
    done = subprocess.run([rbwp, *args], capture_output=True, **keys)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done


def times(pairs, first, last):
    return [(pair[first] - T, pair[last] - T) for pair in pairs]


def check(expected, *more):
    path = work + "/gpu.bin"
    for document in (run("dump", *more, path).stdout,
                     run("dump", *more, "-", input=open(path, "rb").read()).stdout):
        assert times(json.loads(document)["blocks"][0]["records"], "start", "stop") == expected
    lines = [json.loads(line) for line in run("dump", "--ndjson", *more, path).stdout.splitlines()]
    assert times(lines, "start", "stop") == expected, lines
    spans = json.loads(run("dump", "--spans", *more, path).stdout)
    assert times(spans, "begin", "end") == expected, spans
    done = run("dump", *more, path)
    assert not done.stderr, done.stderr  # one GPU of known bias is enough
    return done


full = json.loads(check(STORED).stdout)
check(CORRECTED, "--gpu-bias")
assert full["gpus"] == [
    {"proc_id": 5, "name": "first", "api": 0, "bias_rounds": 101, "bias": 250, "bias_spread": 30,
     "idle_rounds": 99, "idle_bias": 1400, "idle_spread": 60},
    {"proc_id": 6, "name": "second", "api": 2, "bias_rounds": 0, "bias": 0, "bias_spread": 0,
     "idle_rounds": 0, "idle_bias": 0, "idle_spread": 0}], full["gpus"]
facts = full["blocks"][1]
assert (facts["tag"], facts["gpu"]["proc_id"]) == ("gpux", 5)
assert facts["gpu"]["entries"] == [
    {"start": T + 1000, "stop": T + 2000, "launch": T + 950, "thread_id": 78, "start_gap": 40, "stop_gap": 2**32 - 1,
     "launched": T + 960, "launching": 0, "idle": False},
    {"start": T + 2900, "stop": T + 3000, "launch": T + 2000, "thread_id": 0, "start_gap": 0, "stop_gap": 1,
     "launched": T + 2100, "launching": 0, "idle": False},
    {"start": T + 6000, "stop": T + 9000, "launch": T + 5200, "thread_id": 78, "start_gap": 70, "stop_gap": 80,
     "launched": T + 6000, "launching": 500, "idle": True}]

vague = next(s for s in json.loads(run("dump", "--spans", work + "/gpu.bin").stdout) if s["begin"] == T + 1000)
assert (vague["duration"], vague["duration_least"]) == (1000, 0), vague  # nobody had looked for longer than that
span = json.loads(run("dump", "--spans", "--gpu-bias", work + "/gpu.bin").stdout)[4]
assert (span["launch"], span["launched"], span["launching"], span["idle"]) == (T + 5200, T + 6000, 500, True), span
assert (span["duration_least"], span["duration"], span["duration_most"]) == (1450, 1600, 2250), span
spans = json.loads(run("dump", "--spans", work + "/gpu.bin").stdout)
assert spans[0]["duration_least"] == 0  # its stop may be wrong by more than it took
assert "launch" not in spans[2]  # has no facts

info = run("info", work + "/gpu.bin").stdout.decode()
assert "first (5), bias of busy streams 250 ns (spread 30 ns, 101 rounds), bias of idle streams 1400 ns" in info, info
assert "second (6), bias of busy streams not measured, bias of idle streams not measured" in info, info

# Nothing is known of the bias: said so, times as stored.
bare = f"{here}/../golden/gpu_work.bin"
told = run("dump", "--gpu-bias", bare)
assert b"no bias" in told.stderr and told.stdout == run("dump", bare).stdout, told.stderr
run("check", work + "/gpu.bin")
broken = run("check", work + "/broken.bin", code=3)
assert b"R43" in broken.stdout + broken.stderr, broken
P

"$PYTHON" -B "$here/../python/compare.py" "$dump" "$work/gpu.bin" >"$work/out" || fail "the second reader differs"
finish
