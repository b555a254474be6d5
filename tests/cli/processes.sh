# SPDX-License-Identifier: Apache-2.0
# A process is not a node. Files of several processes of one host, one after the other or at once,
# and of several sessions of one process, come onto one axis by the machine's clock, without any
# option and in every tool; those of several hosts by the wall clock. Each process has its row. Host
# names and process ids may repeat: machine and start tell. The same recording twice is refused.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$here" "$work" <<'P' || fail "processes"
import json, struct, subprocess, sys

rbwp, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here]
import rbwp_make as m

T, S = 1_700_000_000_000_000_000, 10**9
ONE, TWO = b"1" * 16, b"2" * 16
BOOTED = {ONE: 1000 * S, TWO: 5000 * S}  # what the monotonic clocks say at T


def write(name, pid, at, ahead=0, boot=ONE, start=7 * S, host=b"web", title=b"", command=b"", node=0, nodes=1, proc=True, zero=None, wall=0, length=S, more=()):
    """Of a session from T + at on; its record times are ahead of the machine's clock, which the wall clock is ahead of by wall."""
    begin = T + at + ahead
    records = [(begin + 100, "cb", 0), (begin + 200, "ce")]
    samples = [struct.pack("<Qqqq", i + 1, begin + i * length, BOOTED[boot] + at + i * length, T + at + wall + i * length) for i in range(2)]
    sections = [m.info(pid, begin, begin + length, nodes), m.section(b"HOST", host), m.section(b"CMDL", command), m.table_section(b"SAMP", samples),
                m.section(b"CLCK", struct.pack("<IIQQ", 1, 0, 10**9, 10)), *more]
    if proc:
        sections.append(m.table_section(b"PROC", [struct.pack("<16sqH6x", boot, start, len(title))], title))
    path = f"{work}/{name}"
    with open(path, "wb") as file:
        file.write(m.with_trailer(m.file([m.block(1, 0, records)], [(0, b"work")], zero_time=zero or begin, node=node), *sections))
    return path


def run(*arguments, code=0):
    done = subprocess.run([rbwp, *arguments], capture_output=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stdout, done.stderr.decode()


def merged(*files, code=0, options=()):
    output, error = run("merge", "--to", "ndjson", *options, *files, code=code)
    return [(s["process"], s["start_ns"] - T) for s in map(json.loads, output.splitlines())], error


# Children of one server, at once and one after the other, by the machine's clock.
first = write("first", 4711, 0, title=b"redis-server *:7777")
beside = write("beside", 4712, 5000, ahead=30, title=b"worker")
later = write("later", 4713, 90 * S, ahead=-40, title=b"worker", wall=77)
rows, error = merged(first, beside, later)
assert rows == [("redis-server *:7777 4711", 100), ("worker 4712", 5100), ("worker 4713", 90 * S + 100)], rows
assert f"{beside}: RBWP, process 4712: aligned by MONOTONIC pairs, shift -30 ns, error at most 20 ns" in error, error
assert f"{later}: RBWP, process 4713: aligned by MONOTONIC pairs, shift +40 ns" in error, error

# Ranks that compared their clocks: on one machine that is worse than the clock that they share, which counts; on two it does.
def rank(number, bound):
    facts = [struct.pack("<IHHq", 1, 2, 0, 0), struct.pack("<IHHq", 4, 0, 0, number), struct.pack("<IHHq", 5, 0, 0, 2)]
    clock = [m.table_section(b"NCLK", [struct.pack("<qqQI4x", T + 100, -25, bound, 0)])] if number else []
    return [m.table_section(b"JOBM", facts, b"17"), *clock]


zero = write("rank0", 4801, 0, node=0, nodes=2, more=rank(0, 0))
for boot, bound, method in ((ONE, 3838, "MONOTONIC pairs, shift -30 ns, error at most 20 ns"), (ONE, 0, "comparing clocks, shift -25 ns"),
                            (TWO, 3838, "comparing clocks, shift -25 ns")):
    other = write("rank1", 4802, 5000, ahead=30, boot=boot, node=1, nodes=2, more=rank(1, bound))
    error = merged(zero, other)[1]
    assert f"{other}: RBWP, process 4802, node 1: aligned by {method}" in error, error

# Of many files one line a method.
crowd = [write(f"crowd{i}", 4900 + i, i * 5000) for i in range(9)]
error = run("stats", *crowd)[1]
assert error.count("aligned by") == 2 and "8 files: aligned by MONOTONIC pairs" in error, error
out, error = run("stats", "--quiet", *crowd)
assert not error and out == run("stats", *crowd)[0], error

# In every tool that reads several.
for tool in (["stats"], ["stats", "--json"], ["timeline"], ["report", "-f", "-o", f"{work}/page.html"], ["export", "--to=csv"],
             ["export", "--to=perfetto"], ["export", "--to=legion", "-f", "-o", f"{work}/legion"], ["merge", "--to=folded"]):
    run(*tool, first, beside, later)
stats = json.loads(run("stats", "--json", first, beside, later)[0])
assert [(p["name"], p["node"]) for p in stats["processes"]] == [("redis-server *:7777 4711", 0), ("worker 4712", 0), ("worker 4713", 0)]
run("diff", first, later)

# The same process id, or two sessions of one process: not the same file. A zero time that children inherit is no contradiction.
again = write("again", 4711, 20 * S, start=19 * S, title=b"other")
session = write("session", 4711, 3 * S, ahead=5, title=b"redis-server *:7777")
assert merged(first, again)[0] == [("redis-server *:7777 4711", 100), ("other 4711", 20 * S + 100)]
assert merged(first, session)[0] == [("redis-server *:7777 4711", 100), ("redis-server *:7777 4711 (2)", 3 * S + 100)]
inherited = write("inherited", 4714, 500, ahead=2, zero=T)
assert merged(first, inherited)[0] == [("redis-server *:7777 4711", 100), ("process 4714", 600)]

# Twice is refused, by any name.
copy = write("copy", 4711, 0, title=b"redis-server *:7777")
assert f"{copy}: is of the same process and session as {first}; is it given twice?" in merged(first, copy, code=1)[1]
assert len(merged(first, copy, options=["--force-merge"])[0]) == 2

# Two machines: by the wall clock where they ran at the same time, whatever their names are. Nothing bounds that.
far = write("far", 4711, 400, boot=TWO, title=b"there", wall=90)
rows, error = merged(first, far)
assert rows == [("redis-server *:7777 4711", 100), ("there 4711", 400 + 90 + 100)], rows
assert "REALTIME pairs, shift +90 ns, no bound" in error, error
assert "shares no time" in merged(first, write("days", 4711, 9000 * S, boot=TWO), code=1)[1]
assert len(merged(first, later, write("then", 9, 90 * S, boot=TWO))[0]) == 3

# Older files tell host and process id. Then the wall clock, at the same time or of the same process.
old = write("old", 4711, 0, proc=False, command=b"/usr/bin/redis-server\0--port\0001")
old2 = write("old2", 4712, 400, proc=False, command=b"./bin/bench")
old3 = write("old3", 4711, 30 * S, proc=False, command=b"/usr/bin/redis-server")
assert merged(old, old2)[0] == [("redis-server 4711", 100), ("bench 4712", 500)]
assert merged(old, old3)[0] == [("redis-server 4711", 100), ("redis-server 4711 (2)", 30 * S + 100)]
assert "given twice" in merged(old, write("old4", 4711, 0, proc=False), code=1)[1]

# Nodes of a job are named, too.
ranks = [write(f"rank{i}", 50 + i, 10 * i, node=i, nodes=2, title=b"solve") for i in range(2)]
assert merged(*ranks)[0] == [("solve 50, node 0", 100), ("solve 51, node 1", 110)]

# What is advised is not refused again: equal starts of two runs of a node.
runs = []
for i in range(2):
    runs.append(f"{work}/run{i}")
    with open(runs[-1], "wb") as file:
        file.write(m.file([m.block(1, 0, [(T + i * S + 5, "cb", 0), (T + i * S + 6, "ce")])], zero_time=T + i * S))
rows, error = merged(*runs, code=1)
assert "of another run" in error and "--align start" in error and "rbwp stats" not in error, error
assert merged(*runs, options=["--align", "start"])[0] == [("node 0", 5), ("node 0 (2)", 5)]
advice = run("stats", *runs, code=1)[1].splitlines()[-1]
assert advice == "rbwp merge can be told where it belongs: --shift FILE=TIME, --offsets FILE, --align start, or --force-merge", advice
with open(f"{work}/no_time", "w") as file:
    json.dump({"traceEvents": [{"ph": "X", "name": "k", "ts": 1, "dur": 1, "pid": 9, "tid": 9}]}, file)
error = merged(first, f"{work}/no_time", code=1)[1]
assert "--force-merge" in error and "--align start" not in error, error

# What info says; the arguments that a title leaves empty are none.
titled = write("titled", 4711, 0, title=b"redis-server *:7777", command=b"./redis-server *:7777\0\0")
text = run("info", titled)[0].decode()
assert "process 4711 redis-server *:7777\n" in text and "command      './redis-server *:7777'\n" in text, text
assert "boot id 31313131313131313131313131313131, up for 7.000 s when the process began" in text, text
assert json.loads(run("info", "--json", titled)[0])["session"]["command"] == ["./redis-server *:7777"]
assert json.loads(run("info", "--json", titled)[0])["processes"] == [{"boot_id": "31" * 16, "start_since_boot": 7 * S, "name": "redis-server *:7777"}]
run("check", titled)

# Copies of what kernels noted tell no process: the host's time of their anchor places them, and they are called by their files.
def words(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def dumped(name, data, *options, tool="lanes"):
    dump, profile = f"{work}/{name}", f"{work}/{name}.bin"
    with open(dump, "wb") as file:
        file.write(data)
    run(tool, "--to", "rbwp", "-o", profile, *options, dump)
    run("check", profile)
    return profile


D, HOST = 77 * S, BOOTED[ONE]  # what the device's timer says at HOST + 500
long_head = (int.from_bytes(b"RBWPLAN2", "little"), 2, 1 << 32 | 1, 4 << 32 | 1, 10**9, D, HOST + 500, 1)
lanes = dumped("a.lanes", words(*long_head, D + 40, 4, D + 90, 5, 0, 0, D + 95, 3))
# Short of the anchor by 10 ticks of 100 MHz, in 32 bits.
short = dumped("b.lanes", words(1 << 32 | 1, ((D - 10) & 0xFFFFFFFF) << 32 | 4, ((D + 7) & 0xFFFFFFFF) << 32 | 5), "--clock", "100MHz", "--anchor", f"{D}={HOST + 500}")
event = [(3, "i")] + [(0, "i")] * 7 + [(D + 700, "q"), (0, "q"), (D + 800, "q"), (0, "i"), (0, "i")]
events = dumped("c.evt", struct.pack("<8sIIIIQIIQQqQqq", b"RBWPEVT1", 1, 128, 0, 1, 1, 1, 1, 1, 10**9, D - HOST - 500, 70, 0, 0).ljust(128, b"\0")
                + b"".join(struct.pack("<" + kind, value) for value, kind in event), tool="events")
unknown = dumped("d.lanes", words(1 << 32 | 1, 5 << 32 | 4, 9 << 32 | 5))
rows, error = merged(first, lanes, short, events)
assert sorted(rows) == [("a.lanes", 540), ("b.lanes", 400), ("c.evt", 1200), ("redis-server *:7777 4711", 100)], rows
assert f"{lanes}: RBWP: aligned by MONOTONIC clock, if it is the same machine's, shift {T + 540:+d} ns, no bound" in error, error
run("report", "-f", "-o", f"{work}/page.html", first, lanes)
rows, error = merged(later, lanes, code=1)
assert "it shares no time with" in error, error
rows, error = merged(first, unknown, code=1)
assert "nothing in it tells when it was" in error, error
both = f"{work}/both.bin"
run("lanes", "--to", "rbwp", "-o", both, f"{work}/a.lanes", f"{work}/a.lanes")
assert merged(first, both)[0][1:] == [("a.lanes, a.lanes", 540)] * 2
run("lanes", "--anchor", "5=", f"{work}/b.lanes", code=2)
P
finish
