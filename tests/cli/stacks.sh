# SPDX-License-Identifier: Apache-2.0
# rbwp stacks tells of each thread what it is in and since when, of a program that runs, by its file
# and by its process, of one that died, and of a finished file; and says why where it cannot.
. "$(dirname "$0")/lib.sh"
: "${LIVE_VICTIM:=}"
"$PYTHON" - "$RBWP" "$LIVE_VICTIM" "$GOLDEN" "$work" <<'P' || fail "stacks"
import csv, io, json, os, subprocess, sys
rbwp, victim, golden, work = sys.argv[1:]
path = f"{work}/run.bin"


def stacks(*words, code=0):
    done = subprocess.run([rbwp, "stacks", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done)
    return done


def tracks(*words):
    done = stacks("--json", *words)
    assert not done.stderr, done
    return {t["track"]: t for t in map(json.loads, done.stdout.splitlines())}


if victim and os.access(victim, os.X_OK):
    program = subprocess.Popen([victim, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def record(commands):
        program.stdin.write(commands)
        program.stdin.flush()
        assert program.stdout.read(len(commands)) == commands

    def is_in(found, thread, name):
        call, = found[thread]["stack"]
        assert call["name"] == name and call["begin"] + call["for_ns"] == found[thread]["now"], found
        assert 0 <= call["for_ns"] < 600e9, found

    record(b"ttf")
    found = tracks(path)
    is_in(found, "flusher", "flush")
    main = found["main worker"]
    assert main["stack"] == [] and main["last"] == "tick" and main["idle_ns"] >= 0, found
    record(b"b")
    first, then = tracks(path), tracks(str(program.pid))
    is_in(then, "main worker", "tick")
    is_in(then, "flusher", "flush")
    assert then["flusher"]["stack"][0]["begin"] == first["flusher"]["stack"][0]["begin"]
    assert then["flusher"]["now"] > first["flusher"]["now"], "the clock stands"
    # As CSV a thread a line, and a call a line behind its thread.
    rows = list(csv.DictReader(io.StringIO(stacks("--csv", "tracks", path).stdout)))
    assert {row["track"] for row in rows} == first.keys() and not any(row["idle_ns"] for row in rows), rows
    rows = list(csv.DictReader(io.StringIO(stacks("--csv", "stack", path).stdout)))
    assert {(row["track"], row["stack_name"]) for row in rows} == {("main worker", "tick"), ("flusher", "flush")}, rows
    assert all(int(row["stack_begin"]) + int(row["stack_for_ns"]) == int(row["now"]) for row in rows), rows
    lines = stacks(str(program.pid)).stdout.splitlines()
    assert f"process {program.pid}, at +" in lines[0] and len(lines) == 3, lines
    assert lines[1].split()[0] == "flusher" and "flush  for " in lines[1], lines
    record(b"e")
    assert "idle for" in stacks(path).stdout and "last: tick" in stacks(path).stdout
    os.link(f"{path}.live", f"{path}.kept")
    os.unlink(f"{path}.live")  # as who removes the folder does
    done = stacks(str(program.pid), code=1)
    assert "somebody removed" in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done
    os.rename(f"{path}.kept", f"{path}.live")
    program.kill()
    program.wait()
    is_in(tracks(path), "flusher", "flush")
    done = stacks(str(program.pid), code=1)
    assert "no such process" in done.stderr and not done.stdout, done

finished = tracks(f"{golden}/level2_all_types.bin")
assert finished and all(t["stack"] == [] and t["idle_ns"] >= 0 for t in finished.values()), finished
assert min(t["idle_ns"] for t in finished.values()) == 0
assert stacks(f"{golden}/empty.bin").stdout == "no spans\n"
done = stacks(str(os.getpid()), code=1)
assert "records nothing now" in done.stderr, done
assert "is no table" in stacks("--csv", "tasks", path, code=2).stderr
assert "no FILE or PID" in stacks(code=2).stderr
P
finish
