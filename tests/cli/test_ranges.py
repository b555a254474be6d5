# SPDX-License-Identifier: Apache-2.0
"""Named ranges of threads, and when their GPU work ran. Guards: a range is one span below its thread with its id, parent and value,
whether it is in one row or two, in whichever order; one that nobody ended lasts to the end and says so; for each GPU and stream an
annotation spans all work of the range and of those inside, none that was launched elsewhere; it makes no GPU busier; what the file has
annotated itself is shown as it is. Every export has them."""
import json
import struct

import make_rbwp as m
import pytest
import ranges_make
from make_rbwp import table_section, with_trailer
from ranges_make import ACTIVITY, ANNOTATION, RANGE, T0
from test_tables import names

NAMES = [b"train", b"forward", b"mark", b"unseen"]
BIG = (1 << 40) + 5
HALF = struct.unpack("<Q", struct.pack("<d", 0.5))[0]


def row(start, stop, name, number, id, parent=0, kind=0, payload=(0, 0), thread=7):
    return (T0 + start, T0 + stop if stop else 0, thread, name, number, id, parent, kind, *payload)


def kernel(start, stop, stream, number, correlation):
    return (T0 + start, T0 + stop, 5, stream, 7, 0, T0 + start - 50, T0 + start - 20, 0, correlation, number)


RANGES = [
    row(2500, 9000, 1, 10, 1, 0, 16),              # the end of a range whose row comes later
    row(100, 0, 1, 10, 1),
    row(200, 900, 2, 11, BIG, 10, 0, (3, HALF)),
    row(300, 300, 3, 12, 3, 11, 2, (2, (1 << 64) - 7)),
    row(400, 0, 2, 13, 4, 10),                     # never ended
    row(5000, 5500, 2, 14, BIG, 11, 3, thread=8),  # goes on on another thread
    row(950, 990, 4, 15, 6, 0, 17),                # the half that is left of a range
]
WORKS = [kernel(1000, 1500, 7, 11, 1), kernel(1600, 1700, 7, 11, 2), kernel(900, 1200, 9, 11, 3), kernel(6000, 6200, 7, 14, 4),
         kernel(7000, 7100, 7, 0, 5), kernel(3000, 3100, 9, 10, 6), kernel(8000, 8100, 9, 99, 7)]


def write(path, *tables):
    ranges_make.write(str(path), NAMES, *tables)
    return path


@pytest.fixture(scope="module")
def spans(rbwp):
    return lambda path, *options: [json.loads(line) for line in rbwp("export", "--to", "ndjson", *options, path).lines]


def of(made, track):
    return sorted((s["start_ns"] - T0, s["duration_ns"], s["name"]) for s in made if s["track"] == track)


@pytest.fixture(scope="module")
def path(shared):
    return write(shared / "ranges.bin", ("range", RANGE, RANGES), ("gpu_activity", ACTIVITY, WORKS))


@pytest.fixture(scope="module")
def made(spans, path):
    return spans(path)


def test_spans_of_ranges(made):
    assert of(made, "ranges") == [(100, 8900, "train"), (200, 700, "forward"), (300, 0, "mark"), (400, 9600, "forward"), (950, 40, "unseen"),
                                  (5000, 500, "forward")], of(made, "ranges")
    by_id = {s["args"]["range"]: s for s in made if s["track"] == "ranges"}
    assert by_id[11]["args"] == {"id": BIG, "range": 11, "parent": 10, "payload": 0.5}, by_id[11]
    assert by_id[12]["args"]["payload"] == -7 and by_id[10]["args"] == {"id": 1, "range": 10}
    assert [s["args"]["range"] for s in made if s["track"] == "ranges" and not s["finished"]] == [13]
    assert all(s["category"] == ("annotation" if s["track"].startswith("stream") else "range") for s in made if "range" in s.get("args", {}))
    assert len({s["id"] for s in made}) == len(made)


def test_annotations(made):
    """Work of 14 is of 11, which it carries on, and of 10 around that. Range 99 is in no table."""
    assert of(made, "stream 7") == [(1000, 700 + 4500, "forward"), (1000, 5200, "train"), (6000, 200, "forward")], of(made, "stream 7")
    assert of(made, "stream 9") == [(900, 300, "forward"), (900, 2200, "train")], of(made, "stream 9")
    (forward,) = [s for s in made if s["track"] == "stream 9" and s["name"] == "forward"]
    assert forward["args"] == {"id": BIG, "range": 11, "works": 1} and forward["track_kind"] == "stream", forward


def test_two_beginnings_and_two_ends(spans, work):
    """In the order in which they came, the inner ones belong together."""
    twice = [row(100, 0, 1, 20, 1), row(150, 0, 1, 20, 2), row(200, 900, 2, 20, 3, 0, 16), row(300, 950, 2, 20, 4, 0, 16)]
    path = write(work / "twice.bin", ("range", RANGE, twice))
    found = sorted((s["start_ns"] - T0, s["duration_ns"], s["finished"], s["args"]["id"]) for s in spans(path) if s["track"] == "ranges")
    assert found == [(100, 9900, False, 1), (150, 750, True, 2), (300, 650, True, 4)], found


def test_window(spans, path):
    """Works that touch it."""
    part = spans(path, "--from", str(T0 + 1100), "--until", str(T0 + 1650))
    assert of(part, "stream 9") == [(900, 300, "forward"), (900, 300, "train")], of(part, "stream 9")


def test_flame_graphs_are_of_work(rbwp, path):
    """What ran, not what it was called or waited for."""
    folded = rbwp("export", "--to", "folded", path).says("ranges and waits in queues")
    assert "train" not in folded.text and "slot 0 10000\n" in folded.text


@pytest.fixture
def apis(work):
    """Two APIs number their GPUs apart."""
    apis = [kernel(10, 20, 7, 0, 1)[:2] + (api << 32,) + kernel(10, 20, 7, 0, 1)[3:] for api in (1, 3)]
    return write(work / "apis.bin", ("gpu_activity", ACTIVITY, apis))


def test_gpus_of_two_apis(spans, apis):
    """Each has a name of its own."""
    assert {s["track"] for s in spans(apis) if s["track_kind"] == "gpu"} == {"GPU 0", "GPU 0 (OpenCL)"}


def test_gpu_that_only_the_trailer_has(rbwp, apis, work):
    """It is a fact of the process."""
    entry = struct.pack("<QIIqqH6x", 3 << 32, 3, 0, 0, 0, len(b"TITAN"))
    (work / "named.bin").write_bytes(with_trailer(apis.read_bytes(), table_section(b"GPUD", [entry], len(entry), b"TITAN")))
    assert rbwp("export", "--to", "chrome", work / "named.bin").json["otherData"]["process.0.gpu.opencl_0.name"] == "TITAN"


def test_open_range_is_on_its_thread(rbwp, work):
    path = f"{work}/open.bin"
    ranges_make.write(path, [b"train"], ("range", RANGE, [row(100, 0, 1, 10, 1)]), stop=3 * 10**6)
    assert rbwp("stats", path).text.startswith("still open for 2.999 ms in  train  on  thread 0x7  ")
    still, = rbwp("stats", "--json", path).json["open"]
    assert (still["name"], still["thread"], still["thread_id"]) == ("train", "thread 0x7", 7)


def test_many_threads_of_few_bytes(rbwp, work):
    """A row costs a few bits where each names a thread of its own. What 5 KB make of threads is bounded, and memory is not blamed for
    what is dropped."""
    many = [row(i, i + 1, 1, i, i, thread=100 + i) for i in range(1, 5001)]
    done = rbwp("stats", "--json", write(work / "many.bin", ("range", RANGE, many)), code=3)
    assert len(done.json["threads"]) == 2 + 4096
    assert done.error.count("more than 4096 threads in rows of tables alone: the others are dropped") == 1


def test_sums(rbwp, path):
    """They make no GPU busier."""
    stats = rbwp("stats", "--json", path).json
    (gpu,) = stats["gpus"]
    assert (gpu["spans"], gpu["busy"]) == (7, 1200), gpu
    counted = lambda what: sorted((r["name"], r["count"], r["total"]) for r in stats[what])
    assert counted("ranges") == [("forward", 2, 10800), ("mark", 1, 0), ("train", 1, 8900), ("unseen", 1, 40)], counted("ranges")
    assert counted("gpu_ranges") == [("forward", 3, 5700), ("train", 2, 7400)], counted("gpu_ranges")


def test_text(rbwp, path):
    text = rbwp("stats", "--by", "range", path).text
    assert text.index("Ranges on GPUs") > text.index("Ranges"), text


def test_own_annotations_are_shown_as_they_are(spans, work):
    own = spans(write(work / "own.bin", ("range", RANGE, RANGES), ("gpu_activity", ACTIVITY, WORKS),
                      ("annotation", ANNOTATION, [(T0 + 1, T0 + 2, 5, 7, 1, 10, 1)])))
    assert not any(s["track"].startswith("stream") for s in own)
    assert of(own, "annotation 5") == [(1, 1, "train")], {s["track"] for s in own}


def test_exports(rbwp, path, work):
    for form in ("chrome", "csv", "firefox", "folded", "legion", "parquet", "perfetto", "speedscope", "sqlite"):
        done = rbwp("export", "-f", "--to", form, "-o", work / f"out.{form}", path, code=None)
        assert done.code == 0 or "without SQLite" in done.error or form == "legion", (form, done.error)
    events = json.loads((work / "out.chrome").read_text())["traceEvents"]
    assert sum(e.get("name") == "forward" and e["ph"] in "XBb" for e in events) == 6


def test_report(rbwp, path, work):
    rbwp("report", "-f", "-o", work / "page.html", path)


def test_names_of_too_large_numbers(spans, work):
    """They are none."""
    far, path = 2**32 - 1, work / "far.bin"
    blocks = [m.block([m.begin(m.ts8(T0)), m.end(m.ts8(T0 + 999))], T0, 7), names(far, b"far", b"farther")]
    path.write_bytes(m.finalised(blocks + ranges_make.table(1, "range", RANGE, [row(100, 200, far, 10, 1), row(300, 400, far + 1, 11, 1)]), zero=T0))
    assert of(spans(path), "ranges") == [(100, 100, "unnamed"), (300, 100, "unnamed")]
