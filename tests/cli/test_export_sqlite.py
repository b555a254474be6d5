# SPDX-License-Identifier: Apache-2.0
"""SQLite databases hold each span of the dump, are sound, answer what their views promise, and appear under their name only when they
are whole."""
import os
import shutil
import sqlite3

import check_sqlite
import export_check as x
import pytest
import rbwp_make as m


@pytest.fixture(scope="module")
def probe(rbwp, golden, shared):
    return rbwp("export", "--to", "sqlite", "-o", shared / "probe.db", golden / "empty.bin", code=None)


@pytest.fixture(scope="module")
def sqlite(probe):
    """For cases that want a build with SQLite."""
    if probe.code:
        pytest.skip("this build has no SQLite; that it says so was tested")


def test_build_without_sqlite_says_so(probe, shared):
    if probe.code:
        probe.says("built without SQLite", "libsqlite3-dev").in_one_line()
    assert (shared / "probe.db").exists() == (probe.code == 0)


@pytest.fixture(scope="module")
def hard(shared):
    return x.hard_files(str(shared), blocks=10)


def test_spans_of_the_dump(rbwp, sqlite, golden, hard, work):
    for path, code in x.golden_files(str(golden)) + hard:
        check_sqlite.check(rbwp.path, path, code, f"{work}/out.db").close()


@pytest.fixture(scope="module")
def gpu(rbwp, sqlite, shared):
    (shared / "gpu.bin").write_bytes(m.file([m.block(1, 0, [
        (1000, "cb", 3), (1100, "ce"), (1200, "cb", 3), (1300, "ce"),
        (2000, "gpu", 9, 3, 1050, 1150), (2010, "gpu", 9, 3, 1250, 1500), (2020, "gpu", 9, 3, 1400, 1600)])], [(3, b"launch")], zero_time=900))
    return check_sqlite.check(rbwp.path, f"{shared}/gpu.bin", 0, f"{shared}/gpu.db")


def test_busy_time(gpu):
    """That of overlapping GPU work is not counted twice."""
    db = gpu
    assert db.execute("SELECT spans, first_ns, last_ns, busy_ns FROM gpu_busy").fetchall() == [(3, 1050, 1600, 100 + 350)]
    assert db.execute("SELECT spans, busy_ns, busy_share FROM thread_busy").fetchall() == [(2, 200, round(200 / 300, 4))]


def test_work_is_led_back_to_its_launch(gpu):
    db = gpu
    assert db.execute("SELECT launch_ns, work_ns, delay_ns, duration_ns, overlap_ns FROM gpu_launch ORDER BY work_ns").fetchall() == [
        (1000, 1050, 50, 100, 50), (1200, 1250, 50, 250, 50), (1200, 1400, 200, 200, 0)]
    assert db.execute("SELECT count(*) FROM link").fetchone() == (3,)


def test_one_name_one_meaning(gpu):
    """Views have the times of tables, and at_ns counts from the beginning."""
    db = gpu
    assert db.execute("SELECT count(*) FROM span_view v JOIN span s USING (id) WHERE v.start_ns = s.start_ns AND v.at_ns = s.start_ns - 900").fetchone() == (5,)


def test_queries_go_through_an_index(gpu):
    """By time and by name."""
    for query, index in (("SELECT * FROM span WHERE track = 1 AND start_ns BETWEEN 5 AND 9", "span_track_start"),
                         ("SELECT * FROM span WHERE name = 3", "span_name")):
        assert index in str(gpu.execute("EXPLAIN QUERY PLAN " + query).fetchall())


def test_trailer(rbwp, sqlite, extended, work):
    """What it knows: host, command, losses, the system's numbers."""
    rbwp("export", "-o", work / "extended.db", extended)
    db, info = sqlite3.connect(work / "extended.db"), rbwp("info", "--json", extended).json
    session = info["session"]
    row = db.execute("SELECT host, os_id, command FROM process").fetchone()
    assert row == (session["host"], session["process_id"], " ".join(session["command"]))
    assert dict(db.execute("SELECT source_id, os_id FROM track")) == {hex(t["thread_id"]): t["os_id"] for t in info["threads"]}
    assert db.execute("SELECT sum(records) FROM loss").fetchone()[0] == info["lost_records"]


def test_nothing_is_overwritten(rbwp, sqlite, golden, work):
    base = work / "a.db"
    rbwp("export", "-o", base, golden / "multi_thread.bin")
    before = base.read_bytes()
    rbwp("export", "-o", base, golden / "gaps.bin", code=1).says("exists")
    assert base.read_bytes() == before
    rbwp("export", "-f", "-o", base, golden / "gaps.bin")


def test_input_is_no_output(rbwp, sqlite, golden, work):
    shutil.copy(golden / "gaps.bin", work / "in.db")
    rbwp("export", "-f", "-o", work / "in.db", work / "in.db", code=1).says("is an input too")
    assert (work / "in.db").read_bytes() == (golden / "gaps.bin").read_bytes()


def test_file_of_another_is_not_touched(rbwp, sqlite, golden, work):
    (work / "b.db.tmp").write_text("mine")
    rbwp("export", "-o", work / "b.db", golden / "gaps.bin", code=1).says("b.db.tmp: exists")
    assert (work / "b.db.tmp").read_text() == "mine" and not (work / "b.db").exists()


def test_outputs_that_cannot_be(rbwp, sqlite, golden, work):
    (work / "folder.db").mkdir()
    rbwp("export", "-f", "-o", work / "folder.db", golden / "gaps.bin", code=1).says("no regular file")
    rbwp("export", "-o", work / "none" / "a.db", golden / "gaps.bin", code=1).in_one_line()
    for options in (["-o", "-"], []):
        rbwp("export", "--to", "sqlite", *options, golden / "gaps.bin", code=2).says("cannot go to standard output")


def test_nothing_is_made_of_bad_files(rbwp, sqlite, golden, work):
    (work / "no_files").mkdir()
    for bad in (golden / "README.md", "/dev/null", work / "no_files"):
        rbwp("export", "-o", work / "bad.db", bad, code=1).in_one_line()
        assert os.listdir(work) == ["no_files"], bad


def test_full_disk(rbwp, sqlite, hard, small_files, work):
    """It is reported, and nothing is left."""
    many, = (path for path, _ in hard if path.endswith("/many.bin"))
    rbwp("export", "-o", work / "big.db", many, code=1, **small_files(1 << 15)).says("cannot be written")
    assert not os.listdir(work)
