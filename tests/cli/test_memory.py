# SPDX-License-Identifier: Apache-2.0
"""A tool that gets no memory says so and fails, wherever it happens: each place of each command that allocates is
refused, alone or with all that follow (starve.c). No crash, no leak, no silent success."""
import os
import pathlib
import shutil
import sys

import live_make as live
import pytest
import rbwp_make as m

HERE = pathlib.Path(__file__).resolve().parent
FLOWS = """\
[{"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},
{"ph":"X","name":"a","ts":1.5,"dur":2,"pid":1,"tid":2,"cat":"cuda_runtime","args":{"n":1,"s":"x","l":[1]}},
{"ph":"X","name":"k","ts":3,"dur":4,"pid":0,"tid":7,"cat":"kernel"},{"ph":"s","id":1,"name":"ac2g","cat":"ac2g","ts":1.6,"pid":1,"tid":2},
{"ph":"f","bp":"e","id":1,"name":"ac2g","cat":"ac2g","ts":3,"pid":0,"tid":7},{"ph":"B","name":"b","ts":8,"pid":1,"tid":"t"},{"ph":"E","ts":9,"pid":1,"tid":"t"},
{"ph":"b","cat":"c","id":"0x1","name":"r","ts":1,"pid":1},{"ph":"e","cat":"c","id":"0x1","ts":2,"pid":1},{"ph":"C","ts":1,"pid":1,"args":{"v":1}},
{"ph":"i","name":"i","s":"g","ts":5,"pid":1}]
"""
FORMATS = "chrome kineto perfetto csv folded ndjson legion npz parquet sqlite firefox speedscope".split()
# In the folder of the files; OUT is the file that is written.
COMMANDS = [
    "check {golden}/gpu_work.bin {golden}/multi_thread.bin", "check rows.bin",
    "info {golden}/gpu_work.bin", "info --json {golden}/gpu_work.bin", "info rows.bin",
    "processes {golden}/gpu_work.bin",
    "dump {golden}/multi_thread.bin", "dump rows.bin", "dump --spans gpux.bin",
    "stats {golden}/multi_thread.bin", "stats --json {golden}/gpu_work.bin", "stats --json rows.bin", "stats --by kernel kernels.bin",
    "report -f -o OUT {golden}/gpu_work.bin", "report -f -o OUT kernels.bin", "report -f -o OUT rows.bin",
    "lanes v1.bin", "lanes open.bin", "lanes -f --to warpscope -o OUT v1.npy", "lanes -f --to csv -o OUT v1.bin",
    "events -f --to iris --merge -o OUT r0.evt r1.evt", "events -f --to csv -o OUT r0.npy",
    "diff {golden}/multi_thread.bin {golden}/gpu_work.bin", "diff -f --all --junit OUT -o text runs runs",
    "timeline {golden}/multi_thread.bin", "timeline --json {golden}/multi_thread.bin",
    "why --json {golden}/multi_thread.bin", "why --slower-than 1ns {golden}/multi_thread.bin",
    "split -f -o part.bin --by-thread {golden}/multi_thread.bin",
    "repair -f -o OUT gone.bin", "repair -f -o OUT {golden}/crash_cut_in_data.bin",
    "export -f --to folded --json -o OUT {golden}/gpu_work.bin", *(f"merge -f --to {form} -o OUT rows.bin flows.json" for form in FORMATS),
    "export --to ndjson flows.json", "export --to ndjson own.pftrace", "export --to ndjson {log}",
    "merge -f --to chrome -o OUT {log} {golden}/gpu_work.bin flows.json",
    "ptx print -f -o OUT {ptx}/fixture_b.ptx", "ptx blocks -f -o OUT {ptx}/many.ptx",
    "ptx instrument -f --active active.json --mode cfg -o OUT {ptx}/fixture_b.ptx", "ptx instrument -f --mode single -o OUT {ptx}/fixture_b.ptx",
    "ptx decode -f --map map.json -o OUT buffer.raw", "ptx annotate -f --map map.json -o OUT buffer.raw",
    "ptx sanitize -f --loc-map locs.json -o OUT probes.csv"]


@pytest.fixture(scope="module")
def files(rbwp, run, program, golden, shared):
    """The folder, and what the words stand for."""
    (shared / "flows.json").write_text(FLOWS)
    rbwp("merge", "--to", "legion", "-o", shared / "log_%", golden / "gpu_work.bin")
    run(program("MAKE_MODEL"), shared / "rows.bin", "rows")
    run(program("MAKE_MODEL"), shared / "gpux.bin", "gpux")
    for maker in "kernels_make.py", "lanes_make.py":
        run(sys.executable, "-B", HERE / maker, shared)
    for run in range(5):
        shift = run * 10**9
        data = m.file([m.block(1, 0, [(shift + 10, "cb", 1), (shift + 90, "ce")])], [(1, b"x")], zero_time=shift + 1)
        (shared / "runs").mkdir(exist_ok=True)
        (shared / "runs" / f"{run}.bin").write_bytes(m.with_trailer(data, m.info(pid=run + 1, start=shift + 1, stop=shift + 100)))
    (shared / "gone.bin").write_bytes(m.file([], zero_time=live.ZERO, finalised=False))
    thread = live.entry(4, live.pack("QQq", 300, 77, 0) + b"thread")
    live.write(shared / "gone.bin.live", [live.sample(100), live.slot(9, b"named"), thread], [live.chunk(300, 20000, 1, [(0, "cb", 9), (500, "ce", 0)])])
    rbwp("export", "--to", "perfetto", "-o", shared / "own.pftrace", shared / "flows.json")
    ptx = HERE.parent / "ptx" / "corpus"
    rbwp(*"ptx instrument -t 0-1 --capacity 4 --map map.json --loc-map locs.json -o probed.ptx".split(), ptx / "fixture_a.ptx", cwd=shared)
    (shared / "buffer.raw").write_bytes(bytes(128))
    (shared / "probes.csv").write_text("1,1,5,6\n2,2,7,8\n")
    (shared / "active.json").write_text('{"active_start": {"list": [1]}, "active_end": {"list": [1]}}\n')
    return shared, {"golden": golden, "ptx": ptx, "log": next(shared.glob("log_*")).name}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_memory(run, program, files, command):
    folder, places = files
    before = set(os.listdir(folder))
    done = run(program("STARVED"), "-o", "OUT", *command.format(**places).split(), cwd=folder, timeout=None)
    assert int(done.text.split()[0]) > 0, "no place found"
    for name in set(os.listdir(folder)) - before:
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
