# SPDX-License-Identifier: Apache-2.0
"""Three nodes' RBWP files, a Legion Prof log and a PyTorch trace come onto one axis, each by the method
that fits, to the nanosecond; method and bound are reported; what cannot belong together is refused."""
import json
import struct

import legion_make as legion
import pytest
import rbwp_make as m

T = 1_700_000_000_000_000_000

def rbwp_file(path, node, begins, zero=T, nodes=0, host=b"", samples=(), error=0, stop=0, name=b"work", pid=0, mono=()):
    """samples: (record time, real time); mono: (record time, monotonic time)."""
    samples = mono or samples
    records = [r for b in begins for r in ((b, "cb", 0), (b + 50, "ce"))]
    data = m.file([m.block(1, 0, records)], [(0, name)], (), zero, 0, node)
    if nodes or host or samples or error or stop:
        body = m.section(b"INFO", struct.pack("<QIIqqQQQ", pid, nodes, 1, zero, stop, 0, 0, 0)) + m.section(b"HOST", host)
        body += m.section(b"CLCK", struct.pack("<IIQQ", 1, 0, 10**9, error))
        entries = [struct.pack("<Qqqq", i + 1, t, r if mono else t, t if mono else r) for i, (t, r) in enumerate(samples)]
        body += m.section(b"SAMP", struct.pack("<II", 32, len(entries)) + b"".join(entries))
        data = m.with_trailer(data, body)
    path.write_bytes(data)
    return str(path)


def legion_log(path, node, tasks, zero=T, dialect="A", messages=(), nodes=0):
    """messages: (from node, spawn, create), relative to the zero times."""
    proc = legion.proc(node, 1)
    rows = legion.head(dialect, node, nodes or 3, zero) + [("ProcDesc", {"proc_id": proc, "kind": 2})]
    for i, t in enumerate(tasks):
        rows.append(("TaskInfo", {"op_id": i + 1, "proc_id": proc, "start": t, "stop": t + 9, "fevent": legion.event(node, i + 1)}))
    for i, (src, spawn, create) in enumerate(messages):
        rows.append(("MessageInfo", {"op_id": 100 + i, "lg_id": 1, "proc_id": proc, "spawn": spawn, "create": create, "ready": create, "start": create + 5,
                                     "stop": create + 6, "creator": legion.event(src, 7), "fevent": legion.event(node, 50 + i)}))
    path.write_bytes(legion.log(dialect, rows))
    return str(path)


def chrome(path, ts, base=None, rank=None):
    trace = {"traceEvents": [{"ph": "X", "name": "k", "ts": t, "dur": 1, "pid": 9, "tid": 9} for t in ts]}
    if base is not None:
        trace["baseTimeNanoseconds"] = base
    if rank is not None:
        trace["distributedInfo"] = {"rank": rank, "world_size": 3}
    path.write_text(json.dumps(trace))
    return str(path)

def written(path, trace):
    path.write_text(json.dumps(trace))
    return str(path)


@pytest.fixture
def merge(rbwp):
    """{process: starts from T}, and what was reported."""

    def merged(*args, code=0, command="merge"):
        done = rbwp(command, "--to=ndjson", *args, code=code)
        starts = {}
        for s in map(json.loads, done.lines):
            starts.setdefault(s["process"], []).append(s["start_ns"] - T)
        return starts, done.error

    return merged


def reports(error, path, what):
    assert any(line.startswith(path + ": ") and what in line for line in error.splitlines()), (path, what, error)


def refuses(error, path, what):
    reports(error, "rbwp merge: " + path, what)


@pytest.fixture(scope="module")
def n(shared):
    """Three nodes of one run: all zero times are equal. One host has a bound: the sum of the clocks' errors."""
    return [rbwp_file(shared / f"n{i}", i, [T + 1000 * i + 5], nodes=3, host=b"one", error=100 + i) for i in range(3)]


@pytest.fixture(scope="module")
def log(shared):
    return legion_log(shared / "l1", 1, [700])


@pytest.fixture(scope="module")
def r0(shared):
    return rbwp_file(shared / "r0", 0, [T + 10], zero=T, host=b"h", stop=T + 9000, error=1, samples=[(T, T + 1900), (T + 5000, T + 7100)])


def test_one_run(merge, n, log, work):
    torch = chrome(work / "c", [2.5], base=T)
    starts, error = merge(*n, log, torch)
    assert starts == {"node 0": [5], "node 1": [1005], "node 2": [2005], "node 1 Legion": [700], "process 9": [2500]}
    reports(error, n[0], "being the reference")
    reports(error, n[1], "equal zero time, shift +0 ns, error at most 201 ns")
    reports(error, log, "equal zero time, shift +0 ns")
    reports(error, torch, "wall clock, shift +0 ns, no bound")
    assert merge(*n, log, torch, command="export")[0] == starts


def test_hosts_that_differ(merge, n, work):
    """Nothing bounds the error. Without hosts, too."""
    far = rbwp_file(work / "far", 1, [T + 5], nodes=3, host=b"two", error=9)
    reports(merge(n[0], far)[1], far, "equal zero time, shift +0 ns, no bound")


def test_wall_clock(merge, r0, work):
    """REALTIME pairs: records of r1 are 7000 ns before the wall clock, those of r0 2000 (give or take 100)."""
    r1 = rbwp_file(work / "r1", 1, [T + 20], zero=T + 3, host=b"h", stop=T + 9000, error=2, samples=[(T, T + 7000)])
    starts, error = merge(r0, r1)
    assert starts == {"node 0": [10], "node 1": [20 + 5000]}
    reports(error, r1, "REALTIME pairs, shift +5000 ns, error at most 103 ns")
    late = rbwp_file(work / "late", 1, [T + 10**12], zero=T + 10**12, host=b"h", stop=T + 10**12 + 1, samples=[(T, T)])
    refuses(merge(r0, late, code=1)[1], late, "shares no time with")


def test_legion_logs_with_messages(merge, work):
    """Both ways. Node 1's clock is 300 ahead; messages take 40 there and 60 back."""
    a = legion_log(work / "a", 0, [100], zero=T, messages=[(1, 1300, 1060), (1, 2300, 2160)])
    b = legion_log(work / "b", 1, [1100], zero=T + 10**6, messages=[(0, 500, 840), (0, 600, 990)], dialect="B")
    starts, error = merge(a, b)
    ahead = (340 - -240) // 2  # 290: within the bound of 50 of the true 300
    assert starts["node 0 Legion"][0] == 100 and starts["node 1 Legion"][-1] == 1100 - ahead
    reports(error, b, f"message latencies, shift {-(10**6) - ahead:+d} ns, error at most 50 ns")
    one_way = legion_log(work / "b1", 1, [1100], zero=T + 10**6)
    refuses(merge(a, one_way, code=1)[1], one_way, "its run began +0.001000000 s from that of")
    starts, error = merge(a, one_way, "--align=start")
    assert starts["node 1 Legion"] == [1100]
    reports(error, one_way, "equal start, shift -1000000 ns, no bound")
    wrong = legion_log(work / "w", 1, [1], zero=T + 5, messages=[(0, 19000, 10000)])
    refuses(merge(a, wrong, code=1)[1], wrong, "take less than no time")


def test_one_zero_time_a_node(merge, n, work):
    """Another one is another run."""
    other = legion_log(work / "o", 1, [700], zero=T + 1)
    starts, error = merge(n[0], n[1], other, code=1)
    refuses(error, other, "but of another run: they began 0.000000001 s apart")
    assert not starts
    known = rbwp_file(work / "known", 1, [T + 5], nodes=3, host=b"one", pid=77)  # one that tells its process is no other node
    refuses(merge(known, other, code=1)[1], other, "but of another run: they began 0.000000001 s apart")
    starts, error = merge(n[0], n[1], other, "--force-merge")
    assert starts["node 1 Legion"] == [701]
    reports(error, other, "aligned by force")


def test_what_is_no_job(merge, n, work):
    """Not the same file twice, not two sizes of a job."""
    assert "is it given twice" in merge(n[0], n[0], code=1)[1]
    two = rbwp_file(work / "two", 1, [T + 5], nodes=2)
    assert "is of a job of 2 nodes" in merge(n[0], two, code=1)[1]
    assert merge(n[0], two, "--force-merge")[0]["node 1"] == [5]


def test_shift(merge, n, work):
    """Chrome JSON that does not say when it was; --shift says, from the run's zero time. Signs and units."""
    plain = chrome(work / "p", [2.5])
    refuses(merge(n[0], plain, code=1)[1], plain, "nothing in it tells when it was")
    for shift, ns in (("+1us", 1000), ("-1us", -1000), ("0", 0), ("1.5ms", 1500000)):
        starts, error = merge(n[0], plain, "--shift", f"{plain}={shift}")
        assert starts["process 9"] == [2500 + ns], (shift, starts)
        reports(error, plain, "aligned by --shift")
    starts, error = merge(n[0], n[1], "--shift", f"{n[1]}=-5ns")
    assert starts == {"node 0": [5], "node 1": [1000]}
    assert merge(n[0], "--shift", f"{n[0]}=5ns")[0] == {"node 0": [10]}


def test_no_time_in_common(merge, work):
    hour = chrome(work / "h", [2.5], base=T + 3600 * 10**9)
    r2 = rbwp_file(work / "r2", 0, [T + 10], stop=T + 9000)
    refuses(merge(r2, hour, code=1)[1], hour, "shares no time with")


def test_measured_offsets(merge, n, log, work):
    """For all files of a node; comments; errors are reported with the line."""
    offsets = work / "offsets"
    offsets.write_text("# node time error\n\n1 +30us 10ns # ahead\n2 -1.5us\n")
    starts, error = merge(*n, log, "--offsets", offsets)
    assert starts == {"node 0": [5], "node 1": [1005 - 30000], "node 2": [2005 + 1500], "node 1 Legion": [700 - 30000]}
    reports(error, n[1], "measured offsets, shift -30000 ns, error at most 111 ns")
    reports(error, n[2], "measured offsets, shift +1500 ns, no bound")
    for text in ("x 1us\n", "1\n", "1 2 3 4\n", "1 2 x\n", "1 99999999999999999999\n"):
        offsets.write_text("0 0\n" + text)
        assert "line 2 is" in merge(n[0], n[1], "--offsets", offsets, code=2)[1], text


def test_own_export_comes_back(rbwp, merge, n, r0, work):
    """To its file, and to another of the run; by the wall clock to one of another run."""

    def exported(path):
        rbwp("export", "-f", "-o", work / "own.json", path)
        return str(work / "own.json")

    own = exported(n[0])
    starts, error = merge(n[1], own)
    assert starts["node 1"] == [1005] and [v for k, v in starts.items() if k != "node 1"] == [[5]]
    reports(error, own, "equal zero time, shift +0 ns")
    starts, error = merge(r0, exported(rbwp_file(work / "r3", 1, [T + 5000], zero=T + 3)))
    assert sorted(starts.values()) == [[10], [5000 - 2000]]
    reports(error, own, "wall clock, shift -2000 ns")
    theirs = work / "theirs.json"
    theirs.write_text((work / "own.json").read_text().replace("rbwp.version", "their.version"))
    refuses(merge(n[0], theirs, code=1)[1], str(theirs), "nothing in it tells when it was")


def test_clocks_that_chrome_json_names(merge, n, r0, work):
    """Since the machine was started (Chromium, Node), held against MONOTONIC pairs while both have time in common; a beginning in the
    wall clock's microseconds (clang)."""
    timed = [{"ph": "X", "name": "k", "ts": 5_000_000.5, "dur": 1, "pid": 9, "tid": 9}]
    node_js = [{"ph": "M", "cat": "__metadata", "name": "node", "pid": 9, "tid": 9, "ts": 1, "args": {"process": {"versions": {"v8": "1"}}}}]
    chromium = written(work / "chromium", {"traceEvents": timed, "metadata": {"os": "Linux", "clock-domain": "LINUX_CLOCK_MONOTONIC"}})
    node = written(work / "node", {"traceEvents": node_js + timed})
    clang = written(work / "clang", {"traceEvents": [dict(timed[0], ts=2.5)], "beginningOfTime": T // 1000})
    mono = rbwp_file(work / "mono", 0, [T + 30], stop=T + 9000, mono=[(T, 5 * 10**9)])
    for path in chromium, node:
        starts, error = merge(mono, path)
        assert starts == {"node 0": [30], "process 9": [500]}, (path, starts)
        reports(error, path, f"MONOTONIC clock, if it is the same machine's, shift {T - 5 * 10**9:+d} ns, no bound")
        assert merge(mono, path, "--align=monotonic")[0] == starts
        late = rbwp_file(work / "late_mono", 0, [T + 30], stop=T + 9000, mono=[(T, 15 * 10**9)])
        refuses(merge(late, path, code=1)[1], path, "shares no time with")
        refuses(merge(n[0], path, code=1)[1], path, "nothing in it tells when it was")
    assert merge(chromium, node)[0] == {"process 9": [5 * 10**9 + 500 - T], "process 9 (2)": [5 * 10**9 + 500 - T]}
    assert merge(r0, clang)[0]["process 9"] == [2500 - 2000]


def test_node_without_zero_time(merge, work):
    """One file of a node has none: that is no other run. Two without one have no zero time in common."""
    zeroless = rbwp_file(work / "zeroless", 0, [T + 30], zero=0, stop=T + 9000, samples=[(T, T + 1000)])
    with_zero = rbwp_file(work / "with_zero", 0, [T + 10], zero=T, stop=T + 9000, samples=[(T, T + 3000)])
    for pair in (zeroless, with_zero), (with_zero, zeroless):
        starts, error = merge(*pair)
        assert sorted(starts.values()) == [[30 - 2000], [10]]
        reports(error, zeroless, "REALTIME pairs, shift -2000 ns")
    starts, error = merge(zeroless, rbwp_file(work / "zeroless2", 1, [T + 30], zero=0, stop=T + 9000, samples=[(T, T + 1500)]))
    assert sorted(starts.values()) == [[30], [30 + 500]]


def test_unit_behind_the_events(merge, work):
    """It counts for all their times, the last one too."""
    cycles = {"baseTimeNanoseconds": T, "traceEvents": [{"ph": "X", "name": "k", "ts": t, "dur": 1, "pid": 9, "tid": 9} for t in (0, 10**9)],
              "metadata": {"time_unit": "raw cycles (s_memrealtime @ 100MHz)"}}
    path = written(work / "cycles", cycles)
    in_time = rbwp_file(work / "in_time", 0, [T + 5 * 10**9], stop=T + 20 * 10**9)
    after = rbwp_file(work / "after", 0, [T + 100 * 10**9], zero=T + 90 * 10**9, stop=T + 110 * 10**9)
    assert merge(in_time, path)[0]["process 9"] == [0, 10 * 10**9]
    refuses(merge(after, path, code=1)[1], path, "shares no time with")


def test_filters_are_on_the_axis(merge, n):
    assert merge(n[0], n[1], "--shift", f"{n[1]}=+1us", "--from", str(T + 1500))[0] == {"node 1": [2005]}


def test_usage(merge, n):
    for args in (["--shift", "nobody=1us"], ["--shift", n[0]], ["--shift", "=1us"], ["--shift", f"{n[0]}=soon"], ["--align=sun"], ["--offsets", "/no/such"]):
        merge(n[0], n[1], *args, code=2)
    merge(code=2)


def test_one_file_says_nothing(merge, n):
    assert merge(n[0]) == ({"node 0": [5]}, "")


def test_impossible_times(merge, n, work):
    """They are refused when there are several files."""
    wild = rbwp_file(work / "wild", 4, [T], zero=-(1 << 63))
    assert "its times are impossible" in merge(n[0], wild, code=1)[1]
    assert "its times are impossible" in merge(n[0], wild, "--force-merge", code=1)[1]
