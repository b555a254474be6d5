# SPDX-License-Identifier: Apache-2.0
"""A process is not a node. Files of several processes of one host, one after the other or at once, and of several sessions of one
process, come onto one axis by the machine's clock, without any option and in every tool; those of several hosts by the wall clock. Each
process has its row. Host names and process ids may repeat: machine and start distinguish them. The same recording twice is refused."""
import json
import struct

import pytest
import rbwp_make as m

T, S = 1_700_000_000_000_000_000, 10**9
ONE, TWO = b"1" * 16, b"2" * 16
BOOTED = {ONE: 1000 * S, TWO: 5000 * S}  # what the monotonic clocks say at T
SERVER = b"redis-server *:7777"


def write(path, pid, at, ahead=0, boot=ONE, start=7 * S, host=b"web", title=b"", command=b"", node=0, nodes=1, proc=True, zero=None, wall=0, length=S, more=()):
    """Of a session from T + at on; its record times are ahead of the machine's clock, which the wall clock is ahead of by wall."""
    begin = T + at + ahead
    records = [(begin + 100, "cb", 0), (begin + 200, "ce")]
    samples = [struct.pack("<Qqqq", i + 1, begin + i * length, BOOTED[boot] + at + i * length, T + at + wall + i * length) for i in range(2)]
    sections = [m.info(pid, begin, begin + length, nodes), m.section(b"HOST", host), m.section(b"CMDL", command), m.table_section(b"SAMP", samples),
                m.section(b"CLCK", struct.pack("<IIQQ", 1, 0, 10**9, 10)), *more]
    if proc:
        sections.append(m.table_section(b"PROC", [struct.pack("<16sqH6x", boot, start, len(title))], title))
    data = m.with_trailer(m.file([m.block(1, 0, records)], [(0, b"work")], zero_time=zero or begin, node=node), *sections)
    with open(path, "wb") as file:
        file.write(data)
    return path


@pytest.fixture(scope="module")
def merged(rbwp):
    """merged(file, ...): process and start of each span, what was reported."""
    def rows(*files, code=0, options=()):
        done = rbwp("merge", "--to", "ndjson", *options, *files, code=code)
        return [(s["process"], s["start_ns"] - T) for s in map(json.loads, done.lines)], done.error

    return rows


@pytest.fixture(scope="module")
def first(shared):
    return write(f"{shared}/first", 4711, 0, title=SERVER)


@pytest.fixture(scope="module")
def beside(shared):
    return write(f"{shared}/beside", 4712, 5000, ahead=30, title=b"worker")


@pytest.fixture(scope="module")
def later(shared):
    return write(f"{shared}/later", 4713, 90 * S, ahead=-40, title=b"worker", wall=77)


def test_children_of_one_server(merged, first, beside, later):
    """At once and one after the other, by the machine's clock."""
    rows, error = merged(first, beside, later)
    assert rows == [("redis-server *:7777 4711", 100), ("worker 4712", 5100), ("worker 4713", 90 * S + 100)], rows
    assert f"{beside}: RBWP, process 4712: aligned by MONOTONIC pairs, shift -30 ns, error at most 20 ns" in error, error
    assert f"{later}: RBWP, process 4713: aligned by MONOTONIC pairs, shift +40 ns" in error, error


def rank(number, bound):
    facts = [struct.pack("<IHHq", 1, 2, 0, 0), struct.pack("<IHHq", 4, 0, 0, number), struct.pack("<IHHq", 5, 0, 0, 2)]
    clock = [m.table_section(b"NCLK", [struct.pack("<qqQI4x", T + 100, -25, bound, 0)])] if number else []
    return [m.table_section(b"JOBM", facts, b"17"), *clock]


@pytest.mark.parametrize("boot, bound, method", [
    (ONE, 3838, "MONOTONIC pairs, shift -30 ns, error at most 20 ns"), (ONE, 0, "comparing clocks, shift -25 ns"),
    (TWO, 3838, "comparing clocks, shift -25 ns")])
def test_ranks_that_compared_their_clocks(merged, work, boot, bound, method):
    """On one machine that is worse than the clock that they share, which counts; on two it does."""
    zero = write(f"{work}/rank0", 4801, 0, node=0, nodes=2, more=rank(0, 0))
    other = write(f"{work}/rank1", 4802, 5000, ahead=30, boot=boot, node=1, nodes=2, more=rank(1, bound))
    assert f"{other}: RBWP, process 4802, node 1: aligned by {method}" in merged(zero, other)[1]


def test_one_line_a_method_of_many_files(rbwp, work):
    crowd = [write(f"{work}/crowd{i}", 4900 + i, i * 5000) for i in range(9)]
    done = rbwp("stats", *crowd)
    assert done.error.count("aligned by") == 2 and "8 files: aligned by MONOTONIC pairs" in done.error
    assert rbwp("stats", "--quiet", *crowd).silent().out == done.out


def test_every_tool_that_reads_several(rbwp, first, beside, later, work):
    for tool in (["stats"], ["timeline"], ["report", "-f", "-o", f"{work}/page.html"], ["export", "--to=csv"], ["export", "--to=perfetto"],
                 ["export", "--to=legion", "-f", "-o", f"{work}/legion"], ["merge", "--to=folded"]):
        rbwp(*tool, first, beside, later)
    stats = rbwp("stats", "--json", first, beside, later).json
    assert [(p["name"], p["node"]) for p in stats["processes"]] == [("redis-server *:7777 4711", 0), ("worker 4712", 0), ("worker 4713", 0)]
    rbwp("diff", first, later)


def test_same_process_id(merged, first, work):
    again = write(f"{work}/again", 4711, 20 * S, start=19 * S, title=b"other")
    assert merged(first, again)[0] == [("redis-server *:7777 4711", 100), ("other 4711", 20 * S + 100)]


def test_two_sessions_of_one_process(merged, first, work):
    session = write(f"{work}/session", 4711, 3 * S, ahead=5, title=SERVER)
    assert merged(first, session)[0] == [("redis-server *:7777 4711", 100), ("redis-server *:7777 4711 (2)", 3 * S + 100)]


def test_zero_time_that_children_inherit(merged, first, work):
    """It is no contradiction."""
    inherited = write(f"{work}/inherited", 4714, 500, ahead=2, zero=T)
    assert merged(first, inherited)[0] == [("redis-server *:7777 4711", 100), ("process 4714", 600)]


def test_twice_is_refused(merged, first, work):
    """By any name."""
    copy = write(f"{work}/copy", 4711, 0, title=SERVER)
    assert f"{copy}: is of the same process and session as {first}; is it given twice?" in merged(first, copy, code=1)[1]
    assert len(merged(first, copy, options=["--force-merge"])[0]) == 2


def test_two_machines(merged, first, later, work):
    """By the wall clock where they ran at the same time, whatever their names are. Nothing bounds that."""
    far = write(f"{work}/far", 4711, 400, boot=TWO, title=b"there", wall=90)
    rows, error = merged(first, far)
    assert rows == [("redis-server *:7777 4711", 100), ("there 4711", 400 + 90 + 100)], rows
    assert "REALTIME pairs, shift +90 ns, no bound" in error, error
    assert "shares no time" in merged(first, write(f"{work}/days", 4711, 9000 * S, boot=TWO), code=1)[1]
    assert len(merged(first, later, write(f"{work}/then", 9, 90 * S, boot=TWO))[0]) == 3


def test_older_files(merged, work):
    """They have host and process id. Then the wall clock counts, at the same time or of the same process."""
    old = write(f"{work}/old", 4711, 0, proc=False, command=b"/usr/bin/redis-server\0--port\0001")
    old2 = write(f"{work}/old2", 4712, 400, proc=False, command=b"./bin/bench")
    old3 = write(f"{work}/old3", 4711, 30 * S, proc=False, command=b"/usr/bin/redis-server")
    assert merged(old, old2)[0] == [("redis-server 4711", 100), ("bench 4712", 500)]
    assert merged(old, old3)[0] == [("redis-server 4711", 100), ("redis-server 4711 (2)", 30 * S + 100)]
    assert "given twice" in merged(old, write(f"{work}/old4", 4711, 0, proc=False), code=1)[1]


def test_nodes_of_a_job_are_named(merged, work):
    ranks = [write(f"{work}/rank{i}", 50 + i, 10 * i, node=i, nodes=2, title=b"solve") for i in range(2)]
    assert merged(*ranks)[0] == [("solve 50, node 0", 100), ("solve 51, node 1", 110)]


def test_what_is_advised_is_not_refused_again(rbwp, merged, work):
    """Equal starts of two runs of a node."""
    runs = []
    for i in range(2):
        runs.append(f"{work}/run{i}")
        with open(runs[-1], "wb") as file:
            file.write(m.file([m.block(1, 0, [(T + i * S + 5, "cb", 0), (T + i * S + 6, "ce")])], zero_time=T + i * S))
    _, error = merged(*runs, code=1)
    assert "of another run" in error and "--align start" in error and "rbwp stats" not in error, error
    assert merged(*runs, options=["--align", "start"])[0] == [("node 0", 5), ("node 0 (2)", 5)]
    advice = rbwp("stats", *runs, code=1).error.splitlines()[-1]
    assert advice == "rbwp merge can be told where it belongs: --shift FILE=TIME, --offsets FILE, --align start, or --force-merge", advice


def test_advice_where_a_file_has_no_time(merged, first, work):
    (work / "no_time").write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "k", "ts": 1, "dur": 1, "pid": 9, "tid": 9}]}))
    error = merged(first, work / "no_time", code=1)[1]
    assert "--force-merge" in error and "--align start" not in error, error


def test_info(rbwp, work):
    """The arguments that a title leaves empty are none."""
    titled = write(f"{work}/titled", 4711, 0, title=SERVER, command=b"./redis-server *:7777\0\0")
    text, found = rbwp("info", titled).text, rbwp("info", "--json", titled).json
    assert "process 4711 redis-server *:7777\n" in text and "command      './redis-server *:7777'\n" in text, text
    assert "boot id 31313131313131313131313131313131, up for 7.000 s when the process began" in text, text
    assert found["session"]["command"] == ["./redis-server *:7777"]
    assert found["processes"] == [{"boot_id": "31" * 16, "start_since_boot": 7 * S, "name": "redis-server *:7777"}]
    rbwp("check", titled)


def words(*values):
    return struct.pack(f"<{len(values)}Q", *values)


D, HOST = 77 * S, BOOTED[ONE]  # what the device's timer says at HOST + 500
HEAD = (int.from_bytes(b"RBWPLAN2", "little"), 2, 1 << 32 | 1, 4 << 32 | 1, 10**9, D, HOST + 500, 1)
LANES = words(*HEAD, D + 40, 4, D + 90, 5, 0, 0, D + 95, 3)
SHORT = words(1 << 32 | 1, ((D - 10) & 0xFFFFFFFF) << 32 | 4, ((D + 7) & 0xFFFFFFFF) << 32 | 5)  # 10 ticks of 100 MHz before the anchor
EVENT = [(3, "i")] + [(0, "i")] * 7 + [(D + 700, "q"), (0, "q"), (D + 800, "q"), (0, "i"), (0, "i")]
EVENTS = (struct.pack("<8sIIIIQIIQQqQqq", b"RBWPEVT1", 1, 128, 0, 1, 1, 1, 1, 1, 10**9, D - HOST - 500, 70, 0, 0).ljust(128, b"\0")
          + b"".join(struct.pack("<" + kind, value) for value, kind in EVENT))


@pytest.fixture
def dumped(rbwp, work):
    """dumped(name, data, option, ...): the profile of a copy of what kernels recorded."""
    def profile(name, data, *options, tool="lanes"):
        made = f"{work}/{name}.bin"
        (work / name).write_bytes(data)
        rbwp(tool, "--to", "rbwp", "-o", made, *options, work / name)
        rbwp("check", made)
        return made

    return profile


def test_copies_of_what_kernels_recorded(rbwp, merged, dumped, first, work):
    """They have no process: the host's time of their anchor places them, and they are called by their files."""
    lanes = dumped("a.lanes", LANES)
    short = dumped("b.lanes", SHORT, "--clock", "100MHz", "--anchor", f"{D}={HOST + 500}")
    events = dumped("c.evt", EVENTS, tool="events")
    rows, error = merged(first, lanes, short, events)
    assert sorted(rows) == [("a.lanes", 540), ("b.lanes", 400), ("c.evt", 1200), ("redis-server *:7777 4711", 100)], rows
    assert f"{lanes}: RBWP: aligned by MONOTONIC clock, if it is the same machine's, shift {T + 540:+d} ns, no bound" in error, error
    rbwp("report", "-f", "-o", f"{work}/page.html", first, lanes)
    rbwp("lanes", "--anchor", "5=", work / "b.lanes", code=2)


def test_copies_that_cannot_be_placed(merged, dumped, first, later):
    assert "it shares no time with" in merged(later, dumped("a.lanes", LANES), code=1)[1]
    assert "nothing in it tells when it was" in merged(first, dumped("d.lanes", words(1 << 32 | 1, 5 << 32 | 4, 9 << 32 | 5)), code=1)[1]


def test_two_copies_in_one_profile(rbwp, merged, first, work):
    (work / "a.lanes").write_bytes(LANES)
    both = f"{work}/both.bin"
    rbwp("lanes", "--to", "rbwp", "-o", both, work / "a.lanes", work / "a.lanes")
    assert merged(first, both)[0][1:] == [("a.lanes, a.lanes", 540)] * 2
