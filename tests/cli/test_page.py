# SPDX-License-Identifier: Apache-2.0
"""The pages of rbwp report and rbwp diff --report, run by node alone in as much of a browser as they need (page_dom.mjs): what is
drawn and written is what the commands print of the same files. What a real browser makes of them is tests/viewers' business."""
import os
import pathlib
import shutil
import struct
import sys

import pytest
import rbwp_make as m
import stalls_make

HERE = pathlib.Path(__file__).resolve().parent
INPUTS = "busy.bin queued.bin many_lanes.bin probes.bin dump.bin counted.bin killed.bin gaps.bin gpu_work.bin slow.bin job merged".split()


@pytest.fixture(scope="module")
def files(run, program, golden, shared):
    """What the pages are of."""
    run(sys.executable, "-B", HERE.parent / "viewers" / "report_page_make.py", HERE, shared)
    (shared / "job").mkdir()
    run(program("MAKE_JOB"), *"-r 400 -s 8 -o 900000 -d 9000".split(), shared / "job", "12")
    run(program("MAKE_JOB"), *"-r 20 -s 2".split(), shared / "merged", "66")
    kept = m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", 1010, 607968, 0, 1, 0, 0, 2, 0, 0)])
    (shared / "dump.bin").write_bytes(m.with_trailer(m.file([m.block(7, 0, [(1020, "cb", 3), (1050, "ce")])]), m.info(stop=2000), kept))
    stalls_make.stacked().write(shared / "slow.bin")
    for name in "gaps.bin", "gpu_work.bin":
        shutil.copy(golden / name, shared)
    shutil.copy(golden / "crash_killed.bin", shared / "killed.bin")
    return shared


@pytest.fixture(scope="module")
def pages(rbwp, files):
    """The folder of the pages, and of what the commands print."""
    here = lambda words: rbwp(*words.split(), cwd=files)  # names without the folder, as pages show long ones in another way
    for name in INPUTS:
        here(f"report {name} -o {name.removesuffix('.bin')}.html")
    here("report busy.bin --detail 0 -o busy0.html")
    for name, words in {"busy.json": "dump --spans busy.bin", "busy.folded": "export --to folded busy.bin", "job.json": "stats --json --by node job",
                        "stats.json": "stats --json busy.bin", "lanes.json": "stats --json --by kernel many_lanes.bin",
                        "queued.ndjson": "export --to ndjson queued.bin"}.items():
        (files / name).write_bytes(here(words).out)
    (files / "diff.json").write_bytes(here("diff --all --json --report diff.html busy.bin other.bin").out)
    return files


def node(run, *words):
    """PAGE_UNREAD: a sanitizer finds nothing in what node does. PAGE_CHANGE: see tests/long/mutants_scripts."""
    if not shutil.which("node"):
        pytest.skip("no node here (Debian: nodejs)")
    if not os.environ.get("PAGE_UNREAD"):
        change = os.environ.get("PAGE_CHANGE")
        done = run("node", *words, *[change] * bool(change), code=None)
        assert done.code == 0, done.text + done.error


def test_pages(run, pages):
    node(run, HERE / "page.mjs", pages)


def test_tour(run, pages):
    node(run, HERE / "page_tour.mjs", pages, HERE / "page.frozen")
