# SPDX-License-Identifier: Apache-2.0
"""A folder of Parquet files, one a node, holds what one file of all nodes does: the same spans, at the same times,
each in the file of its node; several processes that make a part each make the whole."""
import os

import pytest
from parquet_reader import File


@pytest.fixture(scope="module")
def job(run, program, shared):
    run(program("MAKE_JOB"), *"-c 3 -o 100000 -d 20000 -r 60 -s 2".split(), shared / "job", "5")
    return shared / "job"


@pytest.fixture(scope="module")
def export(rbwp, job):
    return lambda *words, code=0: rbwp("export", "--no-progress", "--to", "parquet", *words, job, code=code)


def rows(path):
    file = File(str(path))
    return list(zip(*(file.column(name) for name in ("process", "track", "name", "start", "duration_ns", "depth"))))


@pytest.fixture(scope="module")
def whole(export, shared):
    export("-o", shared / "whole.parquet")
    return sorted(rows(shared / "whole.parquet"))


def check(folder, whole):
    """It is the whole."""
    parts = sorted(folder.glob("node=*/*.parquet"))
    assert [str(part.relative_to(folder)) for part in parts] == [f"node={node}/part.parquet" for node in range(5)]
    assert "node" not in File(str(parts[0])).groups[0]
    found = []
    for node, part in enumerate(parts):
        assert rows(part) and all(row[0].endswith(f"node {node}") for row in rows(part))
        found += rows(part)
    assert sorted(found) == whole


def test_folder(export, whole, work):
    """Its files are not written over unless that is said; a folder that is there is one."""
    files = export("--json", "-o", f"{work}/all/").json["files"]
    assert len(files) == 5 and all(file["bytes"] == os.path.getsize(file["file"]) and file["spans"] for file in files)
    check(work / "all", whole)
    export("-o", work / "all", code=1).says("all/node=0/part.parquet: exists; give -f to overwrite it")
    export("-f", "-o", work / "all")
    check(work / "all", whole)


def test_shards(export, whole, work):
    for part in range(3):
        export("-o", f"{work}/shards/", "--shard", f"{part}/3")
    check(work / "shards", whole)


def test_two_files_of_a_node(rbwp, golden, work):
    rbwp("merge", "--no-progress", "--align", "start", "--to", "parquet", "-o", f"{work}/two/", golden / "gaps.bin", golden / "straddle.bin")
    assert sorted(str(path.relative_to(work)) for path in work.glob("two/*/*")) == ["two/node=0/part-1.parquet", "two/node=0/part.parquet"]


def test_no_folder_can_be_made(export, work):
    export("-o", f"{work}/a/b/c/", code=1).says("a/b/c/: cannot be made: No such file or directory")


def test_filters(export, work):
    """What they leave out of a node is no error: its file has no rows."""
    export("-o", f"{work}/window/", "--slot", "messages", "--from", "+0", "--until", "+30us")
    assert len(list(work.glob("window/node=*/part.parquet"))) == 5
