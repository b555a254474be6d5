# SPDX-License-Identifier: Apache-2.0
# Files of a job's nodes come onto the axis of rank 0's clock by the comparisons that they hold. Guards: every time is
# within the bound that is told of the truth, though clocks are off by milliseconds and drift; also where rank 0's file
# is not there, and where some comparisons are bad or impossible; --raw-times leaves clocks alone.
. "$(dirname "$0")/lib.sh"

check "making a job" "$MAKE_JOB" -r 2000 -s 40 -o 2000000 -d 1000000 -T "$work/job" 4
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - "$RBWP" "$here" "$work" "$MAKE_JOB" <<'P' || fail "nodes"
import csv, json, re, struct, subprocess, sys

rbwp, here, work, make_job = sys.argv[1:]
sys.path[:0] = [here, here + "/../python"]
import make_rbwp as raw
import ranges_make
import rbwp_make as m
from make_rbwp import T0
from test_tables import names

files = [f"{work}/job/bgwork_{node}.bin" for node in range(4)]
truth = list(csv.DictReader(open(f"{work}/job/messages.csv")))


def run(*args, code=0):
    done = subprocess.run([rbwp, *args], capture_output=True)
    assert done.returncode == code, (args, done.returncode, done.stderr.decode())
    return done.stdout, done.stderr.decode()


def bounds(told):
    """{node: bound} of what merge tells."""
    return {int(node): int(ns) for node, ns in re.findall(r"node (\d+): aligned by .*, error at most (\d+) ns", told)}


def starts(spans, node, table):
    return sorted(s["start_ns"] for s in spans if s["process"].endswith(f"node {node}") and s.get("own_category") == table)


def worst_error(*args, code=0):
    """By how much a time of the merged files is off, over the bound of its node (below 1: within it); and the bounds."""
    out, told = run("merge", "--to=ndjson", *args, code=code)
    spans, bound = [json.loads(line) for line in out.splitlines()], bounds(told)
    errors = []
    for node in bound:
        for table, key, column in (("message_sent", "from", "sent_ns"), ("message_handled", "to", "start_ns")):
            found = starts(spans, node, table)
            wanted = sorted(int(row[column]) for row in truth if row[key] == str(node))
            assert len(found) == len(wanted) == 80, (node, table)
            errors += [abs(a - b) / max(bound[node], 1) for a, b in zip(found, wanted)]
    return max(errors), bound


# Ranks 1 to 3 by their lines, which run through comparisons that are all within 600 ns of the truth.
for given, code in (files, 0), (files[::-1], 0), (files[1:], 3):
    worst, bound = worst_error(*given, code=code)
    assert worst <= 1 and bound == {n: b for n, b in bound.items() if b <= 600}, (given, worst, bound)
    assert len(bound) == len(given), bound


# One file alone by its own comparisons, where that is asked for: as it is among the others.
spans = [json.loads(line) for line in run("merge", "--to=ndjson", *files)[0].splitlines()]
alone = [json.loads(line) for line in run("merge", "--to=ndjson", "--align=clocks", files[2])[0].splitlines()]
assert starts(alone, 2, "message_sent") == starts(spans, 2, "message_sent")

# A comparison that was disturbed, and one that cannot be, change nothing.
def with_clocks(path, change):
    """A copy whose comparisons are changed: (time, offset, bound, reference) each."""
    data = open(path, "rb").read()
    trailer, size = struct.unpack_from("<QQ", data, len(data) - 32)
    sections, at = [], trailer
    while at < trailer + size:
        tag, flags, length = struct.unpack_from("<4sIQ", data, at)
        payload = data[at + 16:at + 16 + length]
        if tag == b"NCLK":
            clocks = change([struct.unpack_from("<qqQI4x", payload, 8 + 32 * i) for i in range((length - 8) // 32)])
            sections.append(m.table_section(tag, [struct.pack("<qqQI4x", *clock) for clock in clocks]))
        else:
            sections.append(m.section(tag, payload))
        at += 16 + length
    copy = f"{work}/changed.bin"
    with open(copy, "wb") as file:
        file.write(m.with_trailer(data[:trailer], *sections))
    return copy


def disturbed(clocks):
    time, offset, bound, reference = clocks[3]
    return clocks[:4] + [(time + 1000, offset + 9000, 9000, reference)] + clocks[4:]


def impossible(clocks):
    time, offset, bound, reference = clocks[3]
    return clocks[:4] + [(time + 1000, offset - 5000, bound, reference)] + clocks[4:]


worst, bound = worst_error(files[0], with_clocks(files[2], disturbed), code=3)
assert worst <= 1 and bound[2] <= 600, (worst, bound)
copy = with_clocks(files[2], impossible)
assert worst_error(files[0], copy, code=3)[0] <= 1
assert f"{copy}: 1 of its 9 comparisons with another node's clock cannot be; left out" in run("merge", "--to=ndjson", files[0], copy, code=3)[1]
run("check", copy)

# Messages are links from the call that sent them to their handler, whichever files have the ends.
def flows(*args):
    out = json.loads(run("merge", "--to=chrome", *args)[0], parse_float=str, parse_int=int)["traceEvents"]
    ns = [(e["ph"], e["id"], int(float(e["ts"]) * 1000 + 0.5)) for e in out if e.get("cat") == "message"]
    sent = {id: at for ph, id, at in ns if ph == "s"}
    return sorted(at - sent[id] for ph, id, at in ns if ph == "f")


took = sorted(int(row["start_ns"]) - int(row["sent_ns"]) for row in truth)
found = flows(*files)
assert len(found) == len(took) == 320 and all(abs(a - b) <= 1200 for a, b in zip(found, took)), (found[:3], took[:3])
error = run("merge", "--to=ndjson", *files[1:3], code=3)[1]
assert "80 messages were sent of whose handling no file tells" in error and "80 messages were handled of whose sending" in error, error
assert "of whose" not in run("merge", "--to=ndjson", "--until=+50us", *files[1:3], code=3)[1]


# What messages took, by handler: their way and their wait for the handler apart.
stats = json.loads(run("stats", "--json", "--by", "message", *files)[0])["messages"]
assert [s["handler"] for s in stats] == ["halo east", "halo west"], stats
for s in stats:
    rows = [{key: int(value) for key, value in row.items() if key != "handler"} for row in truth if row["handler"] == s["handler"]]
    assert (s["count"], s["bytes"], s["early"]) == (160, 160 * 8192, 0), s
    for key, begin, end, error in (("network", "sent_ns", "arrived_ns", 1200), ("queue", "arrived_ns", "start_ns", 20),
                                   ("handling", "start_ns", "stop_ns", 20)):
        took = sorted(row[end] - row[begin] for row in rows)
        for what, true in (("p50", took[79]), ("p99", took[158]), ("max", took[159]), ("mean", sum(took) / 160)):
            assert abs(s[key][what] - true) <= error + true / 50, (s["handler"], key, what, s[key][what], true)
text = run("stats", "--by", "message", *files)[0].decode()
assert re.search(r"Messages\n +count +bytes +network.*\n.*\n +160 +1,310,720 .* halo east\n", text), text


# Comparisons that lie are found out: no handler begins before its message was sent.
def lying(clocks):
    return [(time, offset + 200000, bound, reference) for time, offset, bound, reference in clocks]


copy = with_clocks(files[2], lying)
error = run("merge", "--to=ndjson", *files[:2], copy, files[3], code=3)[1]
found = re.search(r"(\d+) of 320 messages were handled before they were sent, by the clocks, which are wrong by (\d+) ns at most; "
                  r"the worst: 'halo (?:east|west)' from node 2 to node ([13]), (\d+) ns before", error)
least = min(int(row["start_ns"]) - int(row["sent_ns"]) for row in truth if row["from"] == "2")
assert found and found[1] == "80" and abs(int(found[4]) - (200000 - least)) <= 1200, (error, least)
assert int(found[2]) == bounds(error)[2] + bounds(error)[int(found[3])] > 0, error  # of both clocks
assert "handled before they were sent, by the clocks, of which no bound is known" in run("merge", "--to=ndjson", "--raw-times", *files)[1]

# What cannot be of one job is named and left out, the rest is merged; what is missing is named.
def of_job(name, *options):
    subprocess.run([make_job, "-r", "40", *options, f"{work}/{name}", "4"], check=True)
    return [f"{work}/{name}/bgwork_{node}.bin" for node in range(4)]


def processes(out):
    return sorted({json.loads(line)["process"] for line in out.splitlines()})


other = of_job("other", "-j", "other")
out, error = run("merge", "--to=ndjson", other[0], *files, other[3], code=3)
for path in other[0], other[3]:
    assert f"{path}: is of job other, where {files[0]} is of job make_job: left out" in error, error
assert processes(out) == [f"make_job 40000, node {node}" for node in range(4)]
assert out == run("merge", "--to=ndjson", *files)[0]
out, error = run("merge", "--to=ndjson", files[3], files[1], code=3)
assert "of the job's 4 nodes 2 have no file here: 0, 2; what they did is left out" in error, error
assert "have no file here" not in run("stats", files[3], files[1])[1]


def of_process(path, process):
    """A copy of another process, which ran earlier or later."""
    data = open(path, "rb").read()
    trailer, size = struct.unpack_from("<QQ", data, len(data) - 32)
    body = bytearray(data[trailer:trailer + size])
    struct.pack_into("<Q", body, body.index(b"INFO") + 16, process)
    copy = f"{work}/again{process}.bin"
    with open(copy, "wb") as file:
        file.write(m.with_trailer(data[:trailer], bytes(body)))
    return copy


again = of_process(files[2], 40001)
out, error = run("merge", "--to=ndjson", *files, again, code=3)
assert f"{again}: is of rank 2 of the job, as {files[2]} is, but of another process: left out" in error, error
assert out == run("merge", "--to=ndjson", *files)[0]
assert len(processes(run("merge", "--to=ndjson", "--force-merge", *files, again)[0])) == 5
many = of_job("many", "-c", "0")
error = run("merge", "--to=ndjson", "--force-merge", *many[1:3], code=3)[1]
assert "of the job's 4 nodes 2 have no file here: 0, 3;" in error, error
run("merge", "--to=ndjson", many[1])  # who gives one file wants that one

# The critical path is that of a walk back from the end, which looks at all calls and messages for each step.
def walk_back(name, paths):
    calls = [[] for _ in paths]
    for node, path in enumerate(paths):
        for line in run("export", "--to=ndjson", path)[0].splitlines():
            s = json.loads(line)
            if s["category"] == "bgwork" and s["name"] != "messages":
                calls[node].append((s["start_ns"], s["start_ns"] + s["duration_ns"]))
    rows = [{key: int(value) for key, value in row.items() if key != "handler"} for row in csv.DictReader(open(f"{work}/{name}/messages.csv"))]
    waited = [row for row in rows if not any(start <= row["start_ns"] and stop > row["arrived_ns"] for start, stop in calls[row["to"]])]
    ends = [(stop, node) for node, some in enumerate(calls) for _, stop in some] + [(row["stop_ns"], row["to"]) for row in rows]
    at, node = max(ends)
    keys = [row["key"] for row in rows if row["stop_ns"] == at and row["to"] == node][:1]
    found = next((row for row in rows if row["key"] in keys), None)
    path = []
    while True:
        before = [row for row in waited if row["to"] == node and row["start_ns"] <= at]
        found = found or (max(before, key=lambda row: row["start_ns"]) if before else None)
        if not found:
            return path, node
        path.insert(0, found["key"])
        at, node, found = found["sent_ns"], found["from"], None


for name, options in ("even", []), ("slow", ["-x", "2", "-f", "300"]), ("late", ["-x", "1", "-f", "120"]):
    paths = of_job(name, "-r", "300", "-s", "15", "-T", *options)
    expected, first = walk_back(name, paths)
    got = json.loads(run("stats", "--critical-path", "--json", *paths)[0])
    assert [hop["key"] for hop in got["hops"]] == expected and got["first_node"] == first, (name, expected, got)
    assert got["network"] + got["queue"] + got["handling"] + got["work"] == got["last"] - got["first"], got
    assert sum(line["messages"] for line in got["lines"]) == len(expected) and len(expected) > (name != "slow") * 5, name
    if name == "slow":
        slow = got["first_work"] + sum(line["work"] for line in got["lines"] if line["node"] == 2)
        assert got["first_node"] == 2 and slow > 0.8 * (got["last"] - got["first"]), got
text = run("stats", "--critical-path", *paths)[0].decode()
assert re.match(r"Critical path through \d+ of 120 messages, over a run of .*\nwork [\d.]+ %, handlers .*\n\n +share +messages.*\n"
                r" +[\d.]+% .* make_job 40000, node \d  \(from the beginning\)\n +[\d.]+% +\d+ .* halo (east|west)\n", text), text
error = run("stats", "--critical-path", of_job("mute", "-m")[0], code=1)[1]

# Hops that took as long stand in the order of their nodes, whatever their handlers are called, and whichever name came first.
SENT = [("time", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("key", 1, 5), ("peer", 1, 0), ("bytes", 1, 0)]
HANDLED = [("arrived", 4, 0), ("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("key", 1, 6), ("peer", 1, 0), ("bytes", 1, 0)]
MESSAGES = [(0, 2, 10, 1), (0, 1, 100, 2), (1, 2, 200, 1)]  # from, to, sent at, name
paths = []
for node in range(3):
    sent = [(T0 + at, T0 + at + 1, 7, name, (node << 40) + at, to, 8) for source, to, at, name in MESSAGES if source == node]
    handled = [(T0 + at + 50, T0 + at + 50, T0 + at + 100, 7, name, (source << 40) + at, source, 8) for source, to, at, name in MESSAGES if to == node]
    blocks = [raw.block([raw.begin(raw.ts8(T0)), raw.end(raw.ts8(T0 + 5))], T0), names(1, b"a", b"z")]
    for number, table in enumerate((("message_sent", SENT, sent), ("message_handled", HANDLED, handled)), 1):
        blocks += ranges_make.table(number, *table) if table[2] else []
    paths.append(f"{work}/equal{node}.bin")
    with open(paths[-1], "wb") as file:
        file.write(raw.finalised(blocks, zero=T0, node=node))
lines = json.loads(run("stats", "--critical-path", "--json", *paths)[0])["lines"]
assert [(line["node"], line["handler"]) for line in lines] == [(1, "z"), (2, "a")], lines
assert lines[0]["network"] == lines[1]["network"] and lines[0]["handling"] == lines[1]["handling"], lines
assert "no message has both of its ends in these files" in error, error

# check holds the files of a job against each other, too.
assert run("check", *files)[1] == ""
for given, wanted in ([*files[:2], with_clocks(files[2], lying), files[3]], "80 of 320 messages were handled before they were sent"), (
        files[1:], "of the job's 4 nodes 1 have no file here: 0;"), ([*files, again], "of rank 2 of the job"):
    out, error = run("check", *given, code=3)
    assert wanted in error and out.count(b": good: ") == len(given), (out, error)

# As they were: each clock shows its own time.
out, told = run("merge", "--to=ndjson", "--raw-times", *files)
spans = [json.loads(line) for line in out.splitlines()]
alone = [json.loads(line) for line in run("export", "--to=ndjson", files[2])[0].splitlines()]
assert starts(spans, 2, "message_sent") == starts(alone, 2, "message_sent")
assert "node 2: aligned by its own clock, as it was told, shift +0 ns, no bound on the error" in told, told
assert run("merge", "--to=ndjson", "--align", "clocks", *files)[1] == run("merge", "--to=ndjson", *files)[1]

# info tells of both.
info = json.loads(run("info", "--json", files[2])[0])
assert {fact["what_name"]: fact["name"] or fact["number"] for fact in info["job"]} == {
    "job": "make_job", "node name": "host0002", "rank": 2, "ranks": 4, "launcher": "make_job"}
assert len(info["node_clocks"]) == 8 and all(clock["reference"] == 0 for clock in info["node_clocks"])
text = run("info", files[2])[0].decode()
assert "job          job make_job, node name host0002, rank 2, ranks 4, launcher make_job\n" in text, text
assert "clock of     rank 0, compared 8 times\n" in text and re.search(r"it was .* (behind|ahead), give or take \d+ ns\n  \.\.\.", text), text
P
finish
