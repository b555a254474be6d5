# SPDX-License-Identifier: Apache-2.0
"""Parquet files, read back by a strict reader of our own that was written from the specification,
hold each span of the dump: times, names, parents; bounds and sums of every page are right. Arrays for NumPy
(.npz), read back by another, hold what the Parquet file does: each column, the facts."""
import csv

import check_parquet
import export_check as x
import npz_reader
import pytest
import ranges_make
from parquet_reader import File


def check_arrays(rbwp, work, file, path, code):
    x.export(rbwp.path, path, f"{work}/out.npz", "-f", code=code)
    arrays = npz_reader.File(f"{work}/out.npz")
    for column in check_parquet.COLUMNS:
        want = file.column(column)
        found = arrays.columns.get(column)
        if found is None:  # no span has it
            assert not file.rows or set(want) == {None}, (path, column)
            continue
        found = [x.repaired(value) if isinstance(value, bytes) else value for value in found]
        assert found == want, (path, column, next(pair for pair in enumerate(zip(found, want)) if pair[1][0] != pair[1][1]))
    assert {key.decode(): x.repaired(value) for key, value in arrays.facts.items()} == file.facts
    return arrays


@pytest.fixture(scope="module")
def model(run, program, shared):
    """A file with facts that some spans have, arguments, what tracks know."""
    run(program("MAKE_MODEL"), shared / "model.bin", "rows")
    return f"{shared}/model.bin"


@pytest.fixture(scope="module")
def model_arrays(rbwp, model, shared):
    x.export(rbwp.path, model, f"{shared}/model.parquet")
    return check_arrays(rbwp, shared, File(f"{shared}/model.parquet"), model, 0)


@pytest.fixture(scope="module")
def nodes(golden, shared):
    return x.m.same_run(shared, [f"{golden}/{n}.bin" for n in ("gaps", "straddle")])


def test_golden_files(rbwp, golden, work):
    for path, code in x.golden_files(golden):
        check_arrays(rbwp, work, check_parquet.check(rbwp.path, path, code, f"{work}/out.parquet"), path, code)


def test_hard_files(rbwp, work):
    for path, code in x.hard_files(work):
        file = check_parquet.check(rbwp.path, path, code, f"{work}/out.parquet")
        check_arrays(rbwp, work, file, path, code)
        if path.endswith("many.bin"):
            assert len(file.groups) == 2 and file.rows == 136000
            assert file.columns[0].bound and min(file.groups[1]["start"]) > min(file.groups[0]["start"])
    assert path.endswith("many.bin")


def test_two_nodes(rbwp, golden, nodes, work):
    """They are two processes."""
    x.export(rbwp.path, nodes[0], f"{work}/two.parquet", nodes[1])
    two = File(f"{work}/two.parquet")
    assert two.rows == sum(len(x.expected(rbwp.path, f"{golden}/{n}.bin")) for n in ("gaps", "straddle"))
    assert len(set(two.column("process"))) == 2 and len(set(two.column("id"))) == two.rows


def test_columns_of_tracks(rbwp, golden, nodes, work):
    """Columns that are the same in all rows of a track are not made row by row: they hold what csv does."""
    for path in nodes, [f"{golden}/gpu_work.bin"], [f"{golden}/multi_thread.bin"]:
        for kind in "parquet", "csv":
            x.export(rbwp.path, path[0], f"{work}/same.{kind}", "-f", *path[1:], kind=kind)
        file = File(f"{work}/same.parquet")
        with open(f"{work}/same.csv") as text:
            rows = {int(row["id"]): row for row in csv.DictReader(text)}
        for name in "thread_id", "proc_id", "finished", "open", "item", "lane":
            for id, value in zip(file.column("id"), file.column(name)):
                assert rows[id][name] == ("" if value is None else str(int(value))), (path, name, id, value, rows[id])


def test_facts_of_some_spans(model_arrays):
    assert {"launch", "correlation", "certain_ns", "args", "own_category", "stream"} <= set(model_arrays.columns)


def test_some_columns(rbwp, model, model_arrays, work):
    """The same ones; an unknown one, and formats that have none, are refused."""
    x.export(rbwp.path, model, f"{work}/some.npz", "--columns=name,start,args")
    some = npz_reader.File(f"{work}/some.npz")
    assert list(some.columns) == ["start", "name", "args"] and all(some.columns[c] == model_arrays.columns[c] for c in some.columns)
    x.export(rbwp.path, model, f"{work}/some.parquet", "--columns=name,start")
    some = File(f"{work}/some.parquet")
    assert [c.name for c in some.columns] == ["start", "name"] and some.column("start") == model_arrays.columns["start"]
    for words, reason in ((("-tnpz", "--columns=start,nam"), "'nam', which is no column"), (("-tnpz", "--columns="), "'', which is"),
                          (("-tcsv", "--columns=start"), "not for csv")):
        rbwp("export", *words, "-o", "-", model, code=2).says(reason)


def test_tables_of_their_own(rbwp, work):
    """A table that says not how to show it has a file of its own; of its name only what any file system takes."""
    ranges_make.write(work / "own.bin", [b"x"], ("a/b.c\u00e9-1", [("n", 1, 0)], [(5,), (7,)]), ("plain", [("n", 1, 0)], [(9,)]))
    rbwp("export", "-o", work / "own.parquet", work / "own.bin")
    own = {path.name: File(f"{path}").column("n") for path in work.glob("own.*.parquet")}
    assert own == {"own.a_b_c__-1.parquet": [5, 7], "own.plain.parquet": [9]}


def test_window_without_spans(rbwp, golden, work):
    """It is no mistake of who asked for arrays: they are empty, and all there."""
    x.export(rbwp.path, f"{golden}/gaps.bin", f"{work}/none.npz", "--until=1")
    none = npz_reader.File(f"{work}/none.npz")
    assert none.rows == 0 and {c for c in check_parquet.COLUMNS[:16] if c != "parent"} == set(none.columns)


@pytest.mark.parametrize("form", ["parquet", "npz"])
def test_pipe(rbwp, golden, work, form):
    """Through it goes the same file; what exists is left alone."""
    path = work / f"a.{form}"
    rbwp("export", "-o", path, golden / "multi_thread.bin")
    assert rbwp("export", "--to", form, golden / "multi_thread.bin").out == path.read_bytes()
    rbwp("export", "-o", path, golden / "multi_thread.bin", code=1).says("exists")


def test_no_trace_no_file(rbwp, golden, work):
    (work / "no_files").mkdir()
    for bad in (golden / "README.md", "/dev/null", work / "no_files", work / "nothing"):
        rbwp("export", "-o", work / "none.parquet", bad, code=1).in_one_line()
        assert not (work / "none.parquet").exists()


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_full_disk(rbwp, golden, form):
    rbwp("export", "--to", form, "-f", "-o", "/dev/full", golden / "multi_thread.bin", code=1).says("cannot be written")
