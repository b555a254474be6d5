# SPDX-License-Identifier: Apache-2.0
"""inputs.py BUILD RECORDED: writes inputs.tar.xz, the files on which the oracle runs the commands.

They are stored, not made anew, so that a change of a writer of files does not look like one of a reader. Here is where they come
from: the makers of tests/cli and tests/job in BUILD, the writers of tests/cli and tests/python, and RECORDED, a folder with files
that a program recorded, once (an ordinary recording, plain.bin; one that was cut, rot_1.bin and rot_2.bin; a flight
recorder's, keep.bin and ring.bin, with their dumps).
"""
import os
import pathlib
import struct
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "python"), str(TESTS / "cli"), str(TESTS.parent / "python" / "rbwp")]
import kernels_make  # noqa: E402
import live_make  # noqa: E402
import make_rbwp as r  # noqa: E402
import rbwp_make as m  # noqa: E402
from tables import TABLES  # noqa: E402
from test_tables import names, rows, schema, varint  # noqa: E402

T, S = r.T0, 10**9
BUILD, RECORDED = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
HOSTILE = b"<b>&\"'\\,;\n\x1b[31m\xff=1+2"
TYPES = {"u64": 1, "i64": 2, "f64": 3, "time": 4, "duration": 5, "name": 6}
ROLES = ["", "start", "stop", "track", "label", "link from", "link to", "counter", "start bound", "stop bound", "thread", "id", "parent",
         "category", "link kind", "item", "argument"]


def known_tables():
    """Name, version and columns of each known table."""
    for name, columns in TABLES.items():
        yield name, max(one.since for one in columns), [
            (TYPES[one.type], ROLES.index(one.role), 0, one.name.encode(), one.unit.encode()) for one in columns]


def table(number, name, version, columns, made, first=1):
    """Schema and rows; a row is a dictionary by column, others are 0."""
    cells = []
    for kind, _, _, column, _ in columns:
        values = [row.get(column.decode(), 0) for row in made]
        cells.append((0, struct.pack(f"<{len(made)}d", *values)) if kind == 3 else (0, struct.pack(f"<{len(made)}Q", *(v % (1 << 64) for v in values))))
    times = [row.get(column.decode(), 0) for row in made for kind, _, _, column, _ in columns if kind == 4]
    return [schema(number, columns, name.encode(), version), rows(first, cells, len(made), number, (min(times, default=0), max(times, default=0)))]


TEXTS = [b"gemm", b"copy", HOSTILE, b"producer", b"softmax", b"softmax.py:42", b"softmax.py", b"level", b"mutex", b"futex", b"bytes", b"file",
         b"queue depth", b"items", b"epoch", b"mark", b"ping", b"cuStreamSynchronize", b"cudaLaunchKernel", b"H200", b"wait_full", b"load", b"least",
         b"flush"]
NAME = {text: number for number, text in enumerate(TEXTS, 1)}


def number(text):
    return NAME[text.encode()]


def known_rows(node):
    """Rows of each known table, around the calls of everything()."""
    peer, key = 1 - node, (node << 40) + 1
    half = struct.unpack("<Q", struct.pack("<d", 0.5))[0]
    return {
        "gpu_activity": [
            dict(start=T + 2000 + 500 * i, stop=T + 2400 + 500 * i, processor=5, stream=1 + i % 2, thread=7, slot=1, begin=T + 1100 + 10 * i, end=T + 1105 + 10 * i,
                 start_bound=30, stop_bound=20, name=(number("gemm"), number("copy"), NAME[HOSTILE], 0)[i], correlation=10 + i, launching=5 * i, idle=i % 2, range=1 + i % 2,
                 kind=(0, 1, 0, 2)[i], bytes=4096 * (i % 2), graph_node=i // 3, shape=1 if i in (0, 2) else 0, call=number("cudaLaunchKernel")) for i in range(4)],
        "gpu_shape": [dict(shape=1, grid_x=8, grid_y=4, grid_z=1, block_x=128, block_y=2, block_z=1, registers=64, shared=49152)],
        "gpu_call": [dict(start=T + 1300, stop=T + 2950, thread=7, name=number("cuStreamSynchronize"), correlation=90, range=1)],
        "gpu_device": [dict(processor=5, name=number("H200"), api=0, rounds=101, bias=100, bias_spread=9, idle_rounds=99, idle_bias=140, idle_bias_spread=12, multiprocessors=132, memory=141 << 30)],
        "lane_span": [dict(start=T + 2000 + 40 * i, stop=T + 2030 + 40 * i, processor=5, launch=10, block=i // 4, group=number("producer"), sm=(i // 4) if i < 8 else -1,
                           event=number(("load", "wait_full")[i % 2]), kind=(0, 0, 0, 1, 2)[i % 5], bound=3) for i in range(10)],
        "device_event": [dict(start=T + 2500 + 10 * i, stop=T + 2508 + 10 * i, rank=node, processor=5, launch=11, event=number("load"), program=i, pid_m=i, pid_n=-i, target_rank=peer,
                              xcc=1, cu=i % 2, address=0x7f0000000000 + 64 * i, op=i, bytes=64, bound=4) for i in range(6)],
        "kernel_block": [dict(start=T + 3000 + 20 * i, stop=T + 3015 + 20 * i, processor=5, launch=12, kernel=number("softmax"), place=number("softmax.py:42"), file=number("softmax.py"),
                              line=42 + i % 3, first=i % 3, last=i % 3, block=i // 3, thread=0, warp=i // 3, sm=i // 3, cycles=30, cost=4, bound=5) for i in range(9)],
        "control": [dict(time=T + 50, what=number("level"), value=2), dict(time=T + 60, what=number("least"), slot=1, name=number("flush"), value=100)],
        "wait": [dict(start=T + 300 + 700 * i, stop=T + 600 + 700 * i, thread=8, kind=number(("mutex", "futex")[i % 2]), object=0x1000 + i % 2, waker=7 * (i % 2), delay=15 * (i % 2), outcome=i % 3)
                 for i in range(6)],
        "queued": [dict(enqueued=T + 100 + 1000 * i, begun=T + 1000 + 1000 * i, thread=7, slot=1, **{"from": 8}) for i in range(4)],
        "argument": [
            dict(begun=T + 1000, thread=7, key=number("bytes"), type=1, value=4096), dict(begun=T + 1000, thread=7, key=number("file"), type=5, value=int.from_bytes(b"a<b>/log", "little")),
            dict(begun=T + 1000, thread=7, key=number("file"), type=6, value=int.from_bytes(b"-1", "little")), dict(begun=T + 2000, thread=7, key=number("bytes"), type=2, value=-5),
            dict(begun=T + 3000, thread=7, key=number("bytes"), type=3, value=half), dict(begun=T + 4000, thread=7, key=number("file"), type=4, value=number("copy")),
            dict(begun=T + 99000, thread=7, key=number("bytes"), type=1, value=1)],
        "counter": [dict(time=T + 100 * i, counter=number("queue depth"), value=(3, 9, -2, 2**62)[i % 4], unit=number("items")) for i in range(12)],
        "range": [
            dict(start=T + 900, stop=T + 3500, thread=7, name=number("epoch"), range=1, id=77, kind=0, payload_type=1, payload=3),
            dict(start=T + 1050, stop=T + 1200, thread=7, name=NAME[HOSTILE], range=2, parent=1, kind=1, payload_type=3, payload=half),
            dict(start=T + 1500, stop=T + 1500, thread=8, name=number("mark"), range=3, kind=2, payload_type=4, payload=number("copy")),
            dict(start=T + 2000, stop=0, thread=7, name=number("copy"), range=4, kind=1), dict(start=T + 2000, stop=T + 4100, thread=8, name=number("copy"), range=4, kind=17),
            dict(start=T + 4000, stop=0, thread=8, name=number("epoch"), range=5, parent=4, kind=3, payload_type=2, payload=-1)],
        "message_sent": [dict(time=T + 1400 + 300 * i, stop=T + 1420 + 300 * i, thread=7, name=number("ping"), key=key + i, peer=peer, bytes=64 << i) for i in range(4)],
        "message_handled": [dict(arrived=T + 1700 + 300 * i, start=T + 1800 + 300 * i, stop=T + 1900 + 300 * i, thread=8, name=number("ping"), key=(peer << 40) + 1 + i, peer=peer, bytes=64 << i)
                            for i in range(4)],
        "annotation": [dict(start=T + 2000, stop=T + 3900, processor=5, stream=1, name=number("epoch"), range=1, id=77)],
    }


def sections(node, first, second):
    """One of each that describes a recording whose threads have so many records."""
    process = struct.pack("<16sqH6x", bytes(range(16)), 7 * S + node, 6)
    job = [struct.pack("<IH2xq", what, size, value) for what, size, value in ((1, 2, 0), (3, 5, 0), (4, 0, node), (5, 0, 2), (6, 5, 0), (8, 0, T - S), (9, 0, 4200))]
    samples = [struct.pack("<Qqqq", 1 + i * S, T + i * S, 900 * S + i * S + i * 10, T + 5 + i * S) for i in range(3)]
    return [
        m.section(b"WRIT", b"an oracle 1"), m.info(4242 + node, T - 100, T + 2 * S, 2), m.section(b"HOST", b"host \xc3\xa9"), m.section(b"CMDL", b"serve\0--all\0a b\0"),
        m.table_section(b"THRD", [m.thread_entry(7, first, 900, T - 50, 0, b"worker"), m.thread_entry(8, second, 901, T - 40, T + S, HOSTILE)], b"worker" + HOSTILE),
        m.table_section(b"LOSS", [m.loss_entry(7, 12, 1, T + 4500, T + 4600), m.loss_entry(0, 3, 6), m.loss_entry(8, 1, 18), m.loss_entry(0, 2, 16)]),
        m.section(b"CLCK", struct.pack("<I4xQQ", 1, 10**9, 25)), m.table_section(b"SAMP", samples),
        m.table_section(b"SLOT", [struct.pack("<qqHH4x", T - 100, T + 2500, 1, 5), struct.pack("<qqHH4x", T + 2500, 0, 1, 8)], b"flushcompact."),
        m.table_section(b"GPUD", [struct.pack("<QIIqqH6xI4xqq", 6, 1, 101, 4500, 30, 5, 99, 4600, 40)], b"MI300"),
        m.table_section(b"LEFT", [struct.pack("<I4xQQ", 1, 5, 1000), struct.pack("<I4xQQ", 3, 2, 0)]),
        m.table_section(b"PROC", [process], b"server"), m.table_section(b"JOBM", job, b"17node5Slurm"),
        m.table_section(b"NCLK", [struct.pack("<qqQI4x", T + i * 2000, 40 * node + i, 8, 1 - node) for i in range(3)]),
        m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", T + 1000 * node, 6 * node, 7 * node, 8 * node, 64 << 20, 9 * S, 3, 0, 4)], b"slow"),
        m.table_section(b"KIND", [struct.pack("<HHI8x", 2, 4, 1), struct.pack("<HHI8x", 3, 0, 2)], b"wait"), m.section(b"xtst", b"some\0data")]


def everything(path, node):
    """All known tables, every kind of record and section; ends unfinished, nested and open calls."""
    first = [record for i in range(4) for record in (
        r.begin(r.ts8(T + 1000 + 1000 * i), 1), r.fine_begin(r.ts8(T + 1010 + 1000 * i), 1 + i % 2), r.fine_begin(r.ts8(T + 1020 + 1000 * i), 3), r.fine_end(r.ts8(T + 1030 + 1000 * i)),
        r.fine_end(r.ts8(T + 1200 + 900 * i)))]
    first = [record for i in range(4) for record in first[5 * i:5 * i + 5] + [r.end(r.ts8(T + 1900 + 1000 * i))]] + [r.begin(r.ts8(T + 6000), 3)]
    second = [r.end(r.ts8(T + 10)), r.begin(r.ts8(T + 200), 2), r.end(r.ts8(T + 250)), r.begin(r.ts8(T + 260), 4), r.end(r.ts8(T + 5000)), r.begin(r.ts8(T + 5100), 2)]
    gpu = [r.gpu_work(r.ts8(T + 2450 + 500 * i), 5, 1, T + 2000 + 500 * i, T + 2400 + 500 * i) for i in range(2)] + [r.gpu_work(r.ts8(T + 5000), 6, 2, T + 4100, T + 4900)]
    blocks = [r.block(first, T + 1000), r.block(second, T + 10, 8), r.block(gpu, T + 2450, 9), r.opaque(b"xtst data of its own"), names(1, *TEXTS)]
    made = known_rows(node)
    for place, (name, version, columns) in enumerate(known_tables(), 1):
        blocks += table(place, name, version, columns, made.pop(name))
    assert not made, made
    items = [r.work_item(1, b"flush"), r.work_item(2, b"cleaner"), r.work_item(3, b""), r.work_item(4, HOSTILE)]
    subs = [r.sub_item(1, 0, b"write"), r.sub_item(2, 0, b"wait for room"), r.sub_item(3, 1, b"inner")]
    data = r.finalised(blocks, items, subs, zero=T, node=node)
    path.write_bytes(m.with_trailer(data, *sections(node, len(first), len(second))))


def strangers(path):
    """Tables that no reader knows: spans, points in time and counters, linked by keys; of every type; one that refers to itself."""
    copies = [(4, 1, 0, b"start", b""), (4, 2, 0, b"stop", b""), (1, 3, 0, b"engine", b""), (6, 4, 0, b"name", b""), (1, 10, 0, b"thread", b""), (1, 0, 0, b"bytes", b"bytes"), (1, 6, 0, b"key", b"dma")]
    submits = [(4, 1, 0, b"start", b""), (5, 2, 0, b"for", b""), (1, 10, 0, b"thread", b""), (1, 5, 0, b"key", b"dma")]
    marks = [(4, 1, 0, b"when", b""), (6, 3, 0, b"where", b""), (6, 4, 0, b"what", b"")]
    depths = [(4, 1, 0, b"at", b""), (6, 3, 0, b"queue", b""), (1, 7, 0, b"depth", b"items"), (3, 7, 0, b"load", b"")]
    tree = [(4, 1, 0, b"start", b""), (5, 2, 0, b"length", b""), (8, 9, 0, b"bound", b""), (1, 11, 0, b"number", b""), (1, 12, 0, b"under", b""), (6, 4, 0, b"name", b""), (2, 0, 0, b"signed", b"K")]
    settings = [(6, 0, 0, b"name", b""), (8, 0, 0, b"text", b""), (7, 0, 6, b"same as", b""), (3, 99, 0, HOSTILE, b"")]
    tree[2] = (5, 8, 0, b"bound", b"")
    texts = [b"copy in", b"in", b"out", b"arrived", b"root", b"leaf", b"limit", HOSTILE]
    blocks = [r.block([r.begin(r.ts8(T + 1000 * i), 1) if k == 0 else r.end(r.ts8(T + 1000 * i + 300)) for i in range(6) for k in range(2)], T), names(1, *texts)]
    blocks += table(1, "dma_job", 1, copies, [dict(start=T + 1000 * i + 200, stop=T + 1000 * i + 900, engine=i % 2, name=1, thread=7, bytes=4096 * i, key=i + 1) for i in range(6)])
    blocks += table(2, "dma_submit", 1, submits, [dict(start=T + 1000 * i + 100, thread=7, key=i + 1, **{"for": 50}) for i in range(6)])
    blocks += table(3, "mark", 2, marks, [dict(when=T + 700 * i, where=2 + i % 2, what=(4, 8)[i % 2]) for i in range(5)])
    blocks += table(4, "depth", 1, depths, [dict(at=T + 100 * i, queue=2 + i % 2, depth=i * i, load=i / 4) for i in range(20)])
    blocks += table(5, "tree", 1, tree, [dict(start=T + 100 + 400 * i, length=2000 - 300 * i, bound=7, number=i + 1, under=i, name=5 if i == 0 else 6, signed=-i) for i in range(4)])
    blocks.append(schema(6, settings, b"settings"))
    bits = b"".join(struct.pack("<d", value) for value in (0.5, float("inf"), float("nan")))
    blocks.append(rows(1, [(1, b"\7\0\7"), (5, varint(3) + varint(0) + varint(len(HOSTILE)) + b"a,b" + HOSTILE), (1, b"\0\1\1"), (0, bits)], 3, 6))
    blocks += table(7, "empty", 1, marks, [])[:1]
    path.write_bytes(r.finalised(blocks, [r.work_item(1, b"submitter")], zero=T))


def process(path, pid, parent, at, title, node=0):
    """A process of a family on one machine."""
    begin = T + at
    samples = [struct.pack("<Qqqq", i + 1, begin + i * S, 1000 * S + at + i * S, T + at + i * S) for i in range(2)]
    job = [struct.pack("<IH2xq", 9, 0, parent)]
    told = [m.info(pid, begin, begin + S), m.section(b"HOST", b"web"), m.section(b"CMDL", title + b"\0--port\0" + b"80"), m.table_section(b"SAMP", samples), m.table_section(b"JOBM", job),
            m.section(b"CLCK", struct.pack("<IIQQ", 1, 0, 10**9, 10)), m.table_section(b"PROC", [struct.pack("<16sqH6x", b"1" * 16, 7 * S + pid, len(title))], title)]
    records = [record for i in range(3) for record in ((begin + 1000 * i, "cb", 1), (begin + 1000 * i + 100 * (pid % 7 + 1), "ce"))]
    path.write_bytes(m.with_trailer(m.file([m.block(pid, 0, records)], [(1, b"request")], zero_time=begin, node=node), *told))


def crashed(folder):
    """What a program left that was killed: a file, and beside it what it had in memory."""
    log = [live_make.slot(1, b"flush"), live_make.slot(2, b"cleaner"), live_make.sub_item(1, 0, b"write"), live_make.thread(7, b"worker"), live_make.thread(8, b""), live_make.sample(0), live_make.sample(9000)]
    nobody = 1 << 30  # more than any process id
    chunks = [live_make.chunk(7, 100, 0, [(0, "cb", 1), (10, "fb", 1), (20, "fe", 0), (300, "ce", 0), (400, "cb", 1)]),
              live_make.chunk(8, 200, 0, [(0, "cb", 2), (1000, "ce", 0), (1100, "cb", 2), (1200, "fb", 1)])]
    block = m.block(7, 0, [(T + 10, "cb", 1), (T + 60, "ce")])
    (folder / "killed.bin").write_bytes(m.file([block], zero_time=T, finalised=False, flags=0))
    live_make.write(str(folder / "killed.bin.live"), log, chunks, committed=36 + len(block), lost_dropped=3)
    with open(folder / "killed.bin.live", "r+b") as file:
        file.seek(24)
        file.write(struct.pack("<Q", nobody))


def add(tar, path, name):
    """Nobody's, and of no time."""
    info = tarfile.TarInfo(name)
    info.size = path.stat().st_size
    with open(path, "rb") as file:
        tar.addfile(info, file)


def write_all(folder):
    cli = BUILD / "tests/cli"
    for program, *words in (("extended", "extended.bin"), ("gpu", "gpu.bin"), ("gpu", "gpu_broken.bin", "broken"), ("model", "gpux.bin", "gpux"), ("model", "rows.bin", "rows"),
                            ("model", "rows_0.bin", "rows", "0", "1"), ("model", "rows_1.bin", "rows", "1", "0")):
        subprocess.run([cli / f"rbwp-make-{program}", *words], cwd=folder, check=True)
    subprocess.run([BUILD / "tests/job/rbwp-make-job", "-r", "60", "-s", "6", "-x", "1", "-o", "2000000", "-d", "1000000", "job", "3"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    kernels_make.known(f"{folder}/kernels.bin")
    kernels_make.many(f"{folder}/lanes.bin", 4, 5, 2)
    here = os.getcwd()
    os.chdir(folder)
    kernels_make.probes("probes.bin", "probes.py")
    os.chdir(here)
    subprocess.run([sys.executable, "-B", TESTS / "cli/lanes_make.py", folder], check=True)
    for node in range(2):
        everything(folder / f"everything_{node}.bin", node)
    strangers(folder / "strangers.bin")
    (folder / "family").mkdir()
    for pid, parent, at, title in ((100, 1, 0, b"server"), (101, 100, 5000, b"worker"), (102, 100, 7000, b"worker"), (103, 101, 9000, HOSTILE)):
        process(folder / "family" / f"{pid}.bin", pid, parent, at, title)
    crashed(folder)
    corpus = TESTS / "fuzz/corpus"
    for name, path in (("kineto.json", "chrome/kineto"), ("own_kineto.json", "chrome/own_kineto"), ("times.json", "chrome/times"), ("iris.json", "chrome/iris"), ("plain.perfetto", "perfetto/plain"),
                       ("packed.perfetto", "perfetto/packed"), ("clocks.perfetto", "perfetto/clocks"), ("a.legion", "legion/small_a"), ("b.legion", "legion/small_b"),
                       ("tables.rbwa", "archive/tables"), ("job.rbwa", "archive/short_job"), ("zlib.rbwa", "archive/level2_all_types_zlib")):
        (folder / name).write_bytes((corpus / path).read_bytes())
    for form, name in (("legion", "ours.legion.gz"), ("kineto", "ours_kineto.json"), ("chrome", "ours_chrome.json"), ("perfetto", "ours.perfetto")):
        subprocess.run([BUILD / "tools/rbwp", "export", "--to", form, "-o", name, "everything_0.bin"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    with tarfile.open(folder / "job.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted((folder / "job").iterdir()):
            add(tar, path, path.name)
    for path in RECORDED.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())


def main():
    with tempfile.TemporaryDirectory() as name, tarfile.open(HERE / "inputs.tar.xz", "w:xz", preset=9) as tar:
        folder = pathlib.Path(name)
        write_all(folder)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            add(tar, path, str(path.relative_to(folder)))
    print(f"inputs.tar.xz: {(HERE / 'inputs.tar.xz').stat().st_size} bytes")


main()
