# SPDX-License-Identifier: Apache-2.0
"""repair makes whole files of crashed, torn and damaged ones, with and without a live file, never
touches its inputs, and its result is what rbwp check, the dump and the strict reader accept."""
import json
import os
import re
import shutil

import live_make as live
import pytest
import rbwp_make as m

Z = live.ZERO


def begun(path, *blocks):
    """A file that was not finalised."""
    data = m.file(blocks, zero_time=Z, finalised=False)
    path.write_bytes(data)
    return len(data)


ONE = m.block(7, 0, [(Z + 10, "cb", 3), (Z + 20, "ce")])
LOG = [live.sample(0), live.slot(3, b"flush"), live.sub_item(9, 1, b"copy"), live.thread(7, b"worker"),
       live.sample(1000), live.thread(8, b"other")]
CHUNKS = [live.chunk(7, 100, 0, [(0, "cb", 3), (5, "fb", 9), (6, "fe", 0), (9, "ce", 0)]),
          live.chunk(7, 10, 1, [(0, "cb", 3), (10, "ce", 0)]),
          live.chunk(8, 2000, 2, [(0, "cb", 3)])]


@pytest.fixture
def pair(work):
    """A file with one block, and FILE.live with the rest; other.live is another file's."""
    committed = begun(work / "pair.bin", ONE)
    live.write(work / "pair.bin.live", LOG, CHUNKS, committed=committed, ticket=1)
    live.write(work / "other.live", LOG, CHUNKS, committed=committed, ticket=1, zero=Z + 1)
    return work / "pair.bin"


@pytest.fixture
def early(work):
    """A file without anything, whose live file has a chunk."""
    (work / "early.bin").write_bytes(b"")
    live.write(work / "early.bin.live", LOG, CHUNKS[:1])
    return work / "early.bin"


@pytest.fixture
def gaps(golden, work):
    shutil.copy(golden / "gaps.bin", work / "noextension")
    return work / "noextension"


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("name", ["crash_killed", "crash_cut_in_data", "crash_header_only", "defect_discard_rotate"])
def test_golden_files(rbwp, second_reader, golden, work, name):
    """Those that a crash or a defect left: all good blocks, strict readers accept it."""
    path, repaired = work / f"{name}.bin", work / f"{name}.repaired.bin"
    shutil.copy(golden / f"{name}.bin", path)
    rbwp("repair", path, code=3)
    assert path.read_bytes() == (golden / f"{name}.bin").read_bytes()
    rbwp("check", repaired)
    second_reader(repaired, "--good")
    got, want = rbwp("dump", repaired).json, json.loads((golden / f"{name}.json").read_text())
    blocks = want["blocks"] if "blocks" in want else want["good_blocks_before"]
    assert len(got["blocks"]) == len(blocks)
    for block, expected in zip(got["blocks"], blocks):
        assert all(block[key] == expected[key] for key in expected), expected
    assert got["finalized"] and got["valid"]
    # Once more: the same bytes, and nothing lost.
    assert "the same bytes" in rbwp("repair", repaired, "-o", work / "again").text
    assert (work / "again").read_bytes() == repaired.read_bytes()
    assert sorted(os.listdir(work)) == sorted(["again", path.name, repaired.name])


def test_where_the_result_goes(rbwp, golden, gaps, work):
    result = work / "noextension.repaired"
    rbwp("repair", gaps)
    assert result.is_file()
    rbwp("repair", gaps, code=1).says(f"{result}: exists; give -f to overwrite it")
    rbwp("repair", "-f", gaps)
    rbwp("repair", "-f", gaps, "-o", gaps, code=1).says("is an input too")
    assert gaps.read_bytes() == (golden / "gaps.bin").read_bytes()
    none = work / "none" / "a.bin"
    rbwp("repair", gaps, "-o", none, code=1).says(f"{none}: cannot be created: No such file or directory")
    (work / "x").touch()
    assert mode(result) == mode(work / "x")
    assert sorted(os.listdir(work)) == ["noextension", "noextension.repaired", "x"]


@pytest.mark.parametrize("words", ["", "-", "a b", "--live a --no-live b"])
def test_usage(rbwp, words):
    rbwp("repair", *words.split(), code=2)


def test_what_cannot_be_repaired(rbwp, work):
    for bad in ("/dev/null", work, work / "none"):
        rbwp("repair", bad, "-o", work / "bad", code=1).in_one_line()
        assert not os.listdir(work)


def test_pair(rbwp, second_reader, pair, work):
    report = rbwp("repair", "--json", pair).json
    assert not report["lost"] and report["live"] == f"{pair}.live" and not report["running"]
    assert (report["kept_records"], report["live_records"], report["result_records"]) == (2, 5, 7)
    repaired = work / "pair.repaired.bin"
    lines = [json.loads(l) for l in rbwp("dump", "--ndjson", repaired).lines]
    assert [(l["thread"], l["ts"] - Z, l["type"], l.get("name")) for l in lines] == [
        ("worker", 10, "COARSE_BEGIN", "flush"), ("worker", 20, "COARSE_END", None),
        ("worker", 100, "COARSE_BEGIN", "flush"), ("worker", 105, "FINE_BEGIN", "copy"),
        ("worker", 106, "FINE_END", None), ("worker", 109, "COARSE_END", None),
        ("other", 2000, "COARSE_BEGIN", "flush")], lines
    rbwp("check", repaired)
    second_reader(repaired, "--good")


def test_live_file_with_all_of_it(rbwp, early, work):
    rbwp("repair", early)
    rbwp("check", work / "early.repaired.bin")


def test_live_file_of_another(rbwp, pair, work):
    other = work / "other.live"
    done = rbwp("repair", pair, "-o", work / "bad", "--live", other, code=1)
    done.says(f"{other}: belongs to another file", "--no-live repairs without it").in_one_line()


def test_without_the_live_file(rbwp, pair, work):
    assert re.search("LOST  *all names", rbwp("repair", pair, "-o", work / "without", "--no-live", code=3).text)


def test_mode(rbwp, golden, work):
    """The result is for nobody that the input is not for."""
    for given in (0o600, 0o640, 0o644):
        path = work / "mode.bin"
        shutil.copy(golden / "crash_killed.bin", path)
        path.chmod(given)
        rbwp("repair", "-f", path, "-o", work / "mode.out", code=3, umask=0o022)
        assert mode(work / "mode.out") == given


def test_mode_of_a_live_file_alone(rbwp, early, work):
    alone = work / "alone.bin.live"
    os.rename(f"{early}.live", alone)
    alone.chmod(0o600)
    rbwp("repair", work / "alone.bin", "-o", work / "alone.out")
    assert mode(work / "alone.out") == 0o600


@pytest.mark.parametrize("command", ["dump --live", "dump", "check"])
def test_output_never_replaces_a_live_file(rbwp, pair, work, command):
    path = work / "pair.bin.live"
    kept = path.read_bytes()
    rbwp(*command.split(), "-f", "-o", path, pair, code=1).says("is an input too")
    assert path.read_bytes() == kept


@pytest.mark.parametrize("name", live.LOST)
def test_counted_as_in_neither_file(rbwp, work, name):
    """What the program counted so: reported, in the losses, and never "nothing lost"."""
    path, repaired = work / f"{name}.bin", work / f"{name}.repaired.bin"
    committed = begun(path, ONE)
    log = [live.sample(0), live.slot(3, b"flush"), live.thread(7, b"worker"), live.sample(1000)]
    live.write(f"{path}.live", log, [], committed=committed, ticket=1, **{name: 3})
    text = rbwp("repair", path, code=3).text
    assert "LOST" in text and "nothing lost" not in text
    rbwp("check", repaired)
    shown = {"unwritten_blocks": "", "unlogged_slot": "^left out  *3 ", "unlogged_thread": "^left out  *3 ",
             "unprotected_chunks": "LOST .*up to 1,512 more died with the program"}.get(name, "^LOST  *3 records")
    for file in path, repaired:
        assert re.search(shown, rbwp("info", file).text, re.M)


def test_doubled_block(rbwp, work):
    """It is kept, as all good blocks; the result is then not called whole."""
    committed = begun(work / "doubled.bin", ONE, ONE)
    live.write(work / "doubled.bin.live", [live.sample(0), live.thread(7, b"worker")], [], committed=committed, ticket=1)
    done = rbwp("repair", work / "doubled.bin", code=3)
    assert "doubled.repaired.bin: repaired, but not whole" in done.text and re.search("NOTE  *1 breaks of rules", done.text)
    assert re.search("kept as it is stored: .*R20", done.error)
    rbwp("check", work / "doubled.repaired.bin", code=3)


def test_full_disk(rbwp, golden, small_files, work):
    """The report says so, and nothing is left."""
    rbwp("repair", golden / "crash_killed.bin", "-o", work / "full.bin", code=1, **small_files(512)).says("the result cannot be written: File too large")
    assert not os.listdir(work)


def test_damaged_bytes(rbwp, golden, work):
    """Each byte behind the header is kept or reported as damaged."""
    r = rbwp("repair", "--json", "-o", work / "torn", golden.parent / "bad" / "torn_blocks" / "input.bin", code=3).json
    assert r["damaged_places"] == 2 and 36 + r["kept_bytes"] + r["damaged_bytes"] == r["file_size"]


def test_trailer_is_kept(rbwp, extended, work):
    """What it holds, sections of other programs included."""
    path, repaired = work / "extended.bin", work / "extended.repaired.bin"
    data = bytearray(extended.read_bytes())
    data[52] = 0xFF
    path.write_bytes(data)
    rbwp("repair", path, code=3)
    assert "section 'xtst': 9 bytes" in rbwp("info", repaired).text
    assert b"xtst\0\0\0\0\t\0\0\0\0\0\0\0some\0data" in repaired.read_bytes()


def test_dump_of_the_pair(rbwp, pair):
    """As it is: names from the live file, the newest records only with --live."""
    dumped = rbwp("dump", "--ndjson", pair).says("its program died: its newest records are in")
    assert sum('"name":"flush"' in line for line in dumped.lines) == 1
    assert len(rbwp("dump", "--ndjson", "--live", pair).silent().lines) == 7


def test_info_of_the_pair(rbwp, pair):
    i = rbwp("info", "--json", pair).json
    assert [w['name'] for w in i['work_items']] == ['flush'] and not i['finalized'] and i['record_count'] == 2
    assert [t["name"] for t in i["threads"]] == ["worker", "other"]
    text = rbwp("info", pair).text
    assert "NEVER FINALISED: the writer did not stop; names from its live file" in text and re.search("^records  *2:", text, re.M)
    text = rbwp("info", "--live", pair).text
    assert "shown with what its live file has" in text and re.search("^records  *7:", text, re.M)


def test_live_file_beside_another(rbwp, pair, work):
    rbwp("repair", pair, "-o", work / "without", "--no-live", code=3)
    shutil.copy(work / "other.live", work / "without.live")
    rbwp("info", work / "without")
    shutil.copy(pair, work / "strange.bin")
    shutil.copy(work / "other.live", work / "strange.bin.live")
    rbwp("dump", work / "strange.bin").says(f"{work}/strange.bin.live: ignored: it was written beside another file")


def test_damaged_tails(rbwp, golden, work):
    """Whether tables or trailer could not be read, of every broken file that can be repaired."""
    tails = []
    for path in sorted((golden.parent / "bad").glob("*/input.bin")):
        if '"tail_damaged":true' in rbwp("repair", "--json", "-f", path, "-o", work / "mended", code=None).text:
            tails.append(path.parent.name)
    assert tails == ["bytes_behind_tables", "end_missing", "tables_cut", "tables_without_end", "trailer_sum"]
