# SPDX-License-Identifier: Apache-2.0
"""Files of a job's nodes come onto the axis of rank 0's clock by the comparisons that they hold. Guards: every time is
within the reported bound of the truth, though clocks are off by milliseconds and drift; also where rank 0's file
is not there, and where some comparisons are bad or impossible; --raw-times leaves clocks alone."""
import csv
import json
import re
import struct

import make_rbwp as raw
import pytest
import ranges_make
import rbwp_make as m
from make_rbwp import T0
from test_tables import names


class Job:
    """Four nodes, the files of one job, and what really happened."""

    def __init__(self, folder):
        self.files = [str(folder / f"bgwork_{node}.bin") for node in range(4)]
        with open(folder / "messages.csv") as file:
            self.truth = [{key: value if key == "handler" else int(value) for key, value in row.items()} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def job(run, program, shared):
    run(program("MAKE_JOB"), *"-r 2000 -s 40 -o 2000000 -d 1000000 -T".split(), shared / "job", "4")
    return Job(shared / "job")


@pytest.fixture(scope="module")
def made_job(run, program, shared):
    def make(name, *options):
        run(program("MAKE_JOB"), "-r", "40", "-T", *options, shared / name, "4")
        return shared / name
    return make


@pytest.fixture(scope="module")
def merged(rbwp, job):
    """All four, as they are merged."""
    return rbwp("merge", "--to=ndjson", *job.files)


def bounds(text):
    """{node: bound} that merge reports."""
    return {int(node): int(ns) for node, ns in re.findall(r"node (\d+): aligned by .*, error at most (\d+) ns", text)}


def rows_of(done):
    return [json.loads(line) for line in done.lines]


def starts(spans, node, table):
    return sorted(s["start_ns"] for s in spans if s["process"].endswith(f"node {node}") and s.get("own_category") == table)


def worst_error(rbwp, job, *args, code=0):
    """By how much a time of the merged files is off, over the bound of its node (below 1: within it); and the bounds."""
    done = rbwp("merge", "--to=ndjson", *args, code=code)
    spans, bound = rows_of(done), bounds(done.error)
    errors = []
    for node in bound:
        for table, key, column in (("message_sent", "from", "sent_ns"), ("message_handled", "to", "start_ns")):
            found = starts(spans, node, table)
            wanted = sorted(row[column] for row in job.truth if row[key] == node)
            assert len(found) == len(wanted) == 80, (node, table)
            errors += [abs(a - b) / max(bound[node], 1) for a, b in zip(found, wanted)]
    return max(errors), bound

def with_clocks(copy, path, change):
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
    with open(copy, "wb") as file:
        file.write(m.with_trailer(data[:trailer], *sections))
    return str(copy)


def disturbed(clocks):
    time, offset, bound, reference = clocks[3]
    return clocks[:4] + [(time + 1000, offset + 9000, 9000, reference)] + clocks[4:]


def impossible(clocks):
    time, offset, bound, reference = clocks[3]
    return clocks[:4] + [(time + 1000, offset - 5000, bound, reference)] + clocks[4:]


def lying(clocks):
    return [(time, offset + 200000, bound, reference) for time, offset, bound, reference in clocks]


@pytest.fixture(scope="module")
def lies(job, shared):
    return with_clocks(shared / "lies.bin", job.files[2], lying)


@pytest.fixture(scope="module")
def again(job, shared):
    """Rank 2 as a process of its own, which ran earlier or later."""
    with open(job.files[2], "rb") as file:
        data = file.read()
    trailer, size = struct.unpack_from("<QQ", data, len(data) - 32)
    body = bytearray(data[trailer:trailer + size])
    struct.pack_into("<Q", body, body.index(b"INFO") + 16, 40001)
    copy = shared / "again.bin"
    copy.write_bytes(m.with_trailer(data[:trailer], bytes(body)))
    return str(copy)


@pytest.mark.parametrize("which, code", [(slice(None), 0), (slice(None, None, -1), 0), (slice(1, None), 3)])
def test_times_within_their_bounds(rbwp, job, which, code):
    """Ranks 1 to 3 by their lines, which run through comparisons that are all within 600 ns of the truth."""
    given = job.files[which]
    worst, bound = worst_error(rbwp, job, *given, code=code)
    assert worst <= 1 and all(b <= 600 for b in bound.values())
    assert len(bound) == len(given)


def test_one_file_alone(rbwp, job, merged):
    """By its own comparisons, where that is asked for: as it is among the others."""
    alone = rows_of(rbwp("merge", "--to=ndjson", "--align=clocks", job.files[2]))
    assert starts(alone, 2, "message_sent") == starts(rows_of(merged), 2, "message_sent") != []


def test_disturbed_comparison(rbwp, job, work):
    worst, bound = worst_error(rbwp, job, job.files[0], with_clocks(work / "changed.bin", job.files[2], disturbed), code=3)
    assert worst <= 1 and bound[2] <= 600


def test_impossible_comparison(rbwp, job, work):
    copy = with_clocks(work / "changed.bin", job.files[2], impossible)
    assert worst_error(rbwp, job, job.files[0], copy, code=3)[0] <= 1
    rbwp("merge", "--to=ndjson", job.files[0], copy, code=3).says(f"{copy}: 1 of its 9 comparisons with another node's clock cannot be; dropped")
    rbwp("check", copy)


def test_messages_are_links(rbwp, job):
    """From the call that sent them to their handler, whichever files have the ends."""
    out = json.loads(rbwp("merge", "--to=chrome", *job.files).out, parse_float=str, parse_int=int)["traceEvents"]
    ns = [(e["ph"], e["id"], int(float(e["ts"]) * 1000 + 0.5)) for e in out if e.get("cat") == "message"]
    sent = {id: at for ph, id, at in ns if ph == "s"}
    found = sorted(at - sent[id] for ph, id, at in ns if ph == "f")
    took = sorted(row["start_ns"] - row["sent_ns"] for row in job.truth)
    assert len(found) == len(took) == 320 and all(abs(a - b) <= 1200 for a, b in zip(found, took)), (found[:3], took[:3])
    rbwp("merge", "--to=ndjson", *job.files[1:3], code=3).says("80 messages were sent of whose handling no file tells",
                                                               "80 messages were handled of whose sending")
    assert "of whose" not in rbwp("merge", "--to=ndjson", "--until=+50us", *job.files[1:3], code=3).error


def test_what_messages_took(rbwp, job):
    """By handler: their way and their wait for the handler apart."""
    stats = rbwp("stats", "--json", "--by", "message", *job.files).json["messages"]
    assert [s["handler"] for s in stats] == ["halo east", "halo west"], stats
    for s in stats:
        rows = [row for row in job.truth if row["handler"] == s["handler"]]
        assert (s["count"], s["bytes"], s["early"]) == (160, 160 * 8192, 0)
        for key, begin, end, error in (("network", "sent_ns", "arrived_ns", 1200), ("queue", "arrived_ns", "start_ns", 20),
                                       ("handling", "start_ns", "stop_ns", 20)):
            took = sorted(row[end] - row[begin] for row in rows)
            for what, true in (("p50", took[79]), ("p99", took[158]), ("max", took[159]), ("mean", sum(took) / 160)):
                assert abs(s[key][what] - true) <= error + true / 50, (s["handler"], key, what, s[key][what], true)
    text = rbwp("stats", "--by", "message", *job.files).text
    assert re.search(r"Messages\n +count +bytes +network.*\n.*\n +160 +1,310,720 .* halo east\n", text)


def test_lying_comparisons(rbwp, job, lies):
    """They are found out: no handler begins before its message was sent."""
    files = job.files
    error = rbwp("merge", "--to=ndjson", *files[:2], lies, files[3], code=3).error
    found = re.search(r"(\d+) of 320 messages were handled before they were sent, by the clocks, which are wrong by (\d+) ns at most; "
                      r"the worst: 'halo (?:east|west)' from node 2 to node ([13]), (\d+) ns before", error)
    least = min(row["start_ns"] - row["sent_ns"] for row in job.truth if row["from"] == 2)
    assert found and found[1] == "80" and abs(int(found[4]) - (200000 - least)) <= 1200, (error, least)
    assert int(found[2]) == bounds(error)[2] + bounds(error)[int(found[3])] > 0  # of both clocks
    rbwp("merge", "--to=ndjson", "--raw-times", *files).says("handled before they were sent, by the clocks, of which no bound is known")


def processes(done):
    return sorted({row["process"] for row in rows_of(done)})


def test_files_of_another_job(rbwp, job, merged, made_job):
    """They are named and dropped, the rest is merged."""
    files, other = job.files, Job(made_job("other", "-j", "other")).files
    done = rbwp("merge", "--to=ndjson", other[0], *files, other[3], code=3)
    done.says(*(f"{path}: is of job other, where {files[0]} is of job make_job: dropped" for path in (other[0], other[3])))
    assert processes(done) == [f"make_job 40000, node {node}" for node in range(4)]
    assert done.out == merged.out


def test_missing_nodes(rbwp, job, made_job):
    files = job.files
    rbwp("merge", "--to=ndjson", files[3], files[1], code=3).says("of the job's 4 nodes 2 have no file here: 0, 2; what they did is dropped")
    assert "have no file here" not in rbwp("stats", files[3], files[1]).error
    many = Job(made_job("many", "-c", "0")).files
    rbwp("merge", "--to=ndjson", "--force-merge", *many[1:3], code=3).says("of the job's 4 nodes 2 have no file here: 0, 3;")
    rbwp("merge", "--to=ndjson", many[1])  # who gives one file wants that one


def test_rank_of_another_process(rbwp, job, merged, again):
    done = rbwp("merge", "--to=ndjson", *job.files, again, code=3)
    done.says(f"{again}: is of rank 2 of the job, as {job.files[2]} is, but of another process: dropped")
    assert done.out == merged.out
    assert len(processes(rbwp("merge", "--to=ndjson", "--force-merge", *job.files, again))) == 5


def walk_back(rbwp, job):
    """The critical path back from the end, by looking at all calls and messages for each step."""
    calls, rows = [[] for _ in job.files], job.truth
    for node, path in enumerate(job.files):
        for s in rows_of(rbwp("export", "--to=ndjson", path)):
            if s["category"] == "bgwork" and s["name"] != "messages":
                calls[node].append((s["start_ns"], s["start_ns"] + s["duration_ns"]))
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


@pytest.mark.parametrize("name, options", [("even", []), ("slow", ["-x", "2", "-f", "300"]), ("late", ["-x", "1", "-f", "120"])])
def test_critical_path(rbwp, made_job, name, options):
    job = Job(made_job(name, "-r", "300", "-s", "15", *options))
    expected, first = walk_back(rbwp, job)
    got = rbwp("stats", "--critical-path", "--json", *job.files).json
    assert [hop["key"] for hop in got["hops"]] == expected and got["first_node"] == first, (name, expected, got)
    assert got["network"] + got["queue"] + got["handling"] + got["work"] == got["last"] - got["first"]
    assert sum(p["duration"] for p in got["pieces"]) == got["last"] - got["first"]
    assert sum(line["messages"] for line in got["lines"]) == len(expected) and len(expected) > (name != "slow") * 5
    if name == "slow":
        slow = got["first_work"] + sum(line["work"] for line in got["lines"] if line["node"] == 2)
        assert got["first_node"] == 2 and slow > 0.8 * (got["last"] - got["first"])
    text = rbwp("stats", "--critical-path", *job.files).text
    assert re.match(r"Critical path through \d+ of 120 messages, over a run of .*\nwork [\d.]+ %, handlers .*\n\n +share +messages.*\n"
                    r" +[\d.]+% .* make_job 40000, node \d  \(from the beginning\)\n +[\d.]+% +\d+ .* halo (east|west)\n", text)


def test_no_messages(rbwp, made_job):
    """The path is of one node then."""
    mute = made_job("mute", "-m") / "bgwork_0.bin"
    got = rbwp("stats", "--critical-path", "--json", mute).json
    assert got["hops"] == got["lines"] == [] and sum(p["duration"] for p in got["pieces"]) == got["last"] - got["first"] > 0


SENT = [("time", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("key", 1, 5), ("peer", 1, 0), ("bytes", 1, 0)]
HANDLED = [("arrived", 4, 0), ("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("key", 1, 6), ("peer", 1, 0), ("bytes", 1, 0)]
MESSAGES = [(0, 2, 10, 1), (0, 1, 100, 2), (1, 2, 200, 1)]  # from, to, sent at, name


def test_equal_hops(rbwp, work):
    """Hops that took as long stand in the order of their nodes, whatever their handlers are called, and whichever name came first."""
    paths = []
    for node in range(3):
        sent = [(T0 + at, T0 + at + 1, 7, name, (node << 40) + at, to, 8) for source, to, at, name in MESSAGES if source == node]
        handled = [(T0 + at + 50, T0 + at + 50, T0 + at + 100, 7, name, (source << 40) + at, source, 8) for source, to, at, name in MESSAGES if to == node]
        blocks = [raw.block([raw.begin(raw.ts8(T0)), raw.end(raw.ts8(T0 + 5))], T0), names(1, b"a", b"z")]
        for number, table in enumerate((("message_sent", SENT, sent), ("message_handled", HANDLED, handled)), 1):
            blocks += ranges_make.table(number, *table) if table[2] else []
        paths.append(work / f"equal{node}.bin")
        paths[-1].write_bytes(raw.finalised(blocks, zero=T0, node=node))
    lines = rbwp("stats", "--critical-path", "--json", *paths).json["lines"]
    assert [(line["node"], line["handler"]) for line in lines] == [(1, "z"), (2, "a")], lines
    assert lines[0]["network"] == lines[1]["network"] and lines[0]["handling"] == lines[1]["handling"]


def test_check(rbwp, job, lies, again):
    """It holds the files of a job against each other, too."""
    files = job.files
    rbwp("check", *files).silent()
    for given, wanted in ([*files[:2], lies, files[3]], "80 of 320 messages were handled before they were sent"), (
            files[1:], "of the job's 4 nodes 1 have no file here: 0;"), ([*files, again], "of rank 2 of the job"):
        assert rbwp("check", *given, code=3).says(wanted).text.count(": good: ") == len(given)


def test_clocks_as_they_were(rbwp, job):
    """Each clock shows its own time."""
    done = rbwp("merge", "--to=ndjson", "--raw-times", *job.files)
    alone = rows_of(rbwp("export", "--to=ndjson", job.files[2]))
    assert starts(rows_of(done), 2, "message_sent") == starts(alone, 2, "message_sent") != []
    done.says("node 2: aligned by its own clock, as it was told, shift +0 ns, no bound on the error")


def test_aligned_by_clocks(rbwp, job, merged):
    assert rbwp("merge", "--to=ndjson", "--align", "clocks", *job.files).err == merged.err != b""


def test_info(rbwp, job):
    info = rbwp("info", "--json", job.files[2]).json
    assert {fact["what_name"]: fact["name"] or fact["number"] for fact in info["job"]} == {
        "job": "make_job", "node name": "host0002", "rank": 2, "ranks": 4, "launcher": "make_job"}
    assert len(info["node_clocks"]) == 8 and all(clock["reference"] == 0 for clock in info["node_clocks"])
    text = rbwp("info", job.files[2]).text
    assert "job          job make_job, node name host0002, rank 2, ranks 4, launcher make_job\n" in text
    assert "clock of     rank 0, compared 8 times\n" in text and re.search(r"it was .* (behind|ahead), give or take \d+ ns\n  \.\.\.", text)
