# SPDX-License-Identifier: Apache-2.0
"""archive makes small files that every command reads like the file, -d gives the file back, nothing is ever lost on the
way, and damage is reported with its place."""
import gzip
import os
import re
import shutil
import struct

import pytest
import rbwp_archive as archive
import rbwp_make as m
from rbwp_reader import crc32c


@pytest.fixture
def extended_archive(rbwp, extended, work):
    rbwp("archive", extended, "-o", work / "extended.rbwa")
    return work / "extended.rbwa"


@pytest.fixture(scope="module")
def plain(rbwp, golden, shared):
    """A file whose blocks are not compressed, and beside it its archive."""
    path = shared / "plain.bin"
    shutil.copy(golden / "multi_thread.bin", path)
    rbwp("archive", path)
    return path


@pytest.fixture(scope="module")
def packed(plain):
    return plain.with_suffix(".rbwa")


def test_file_with_everything(rbwp, second_reader, extended, extended_archive, work):
    """Tables, private blocks, a trailer. Back from its archive its blocks are as they were."""
    done = rbwp("archive", extended, "-o", work / "once.rbwa")
    assert re.search(r"once\.rbwa: [0-9]* bytes from [0-9]*, [0-9]* records", done.text)
    rbwp("check", extended_archive)
    rbwp("archive", "-d", extended_archive, "-o", work / "back.bin")
    rbwp("check", work / "back.bin")
    second_reader(work / "back.bin", "--good")
    rbwp("archive", work / "back.bin")
    assert (work / "back.rbwa").read_bytes() == extended_archive.read_bytes()


def test_second_reader(second_reader, extended_archive):
    """It was written from SPEC.md alone, and finds in the archive what the command does."""
    second_reader(extended_archive, "--good")


def test_threads_make_no_difference(rbwp, extended, work):
    """The same bytes however many are at it, both ways."""
    for jobs in "13":
        rbwp("archive", "-j", jobs, extended, "-o", work / f"j{jobs}.rbwa")
        rbwp("archive", "-d", "-j", jobs, work / f"j{jobs}.rbwa", "-o", work / f"j{jobs}.bin")
    for kind in "rbwa", "bin":
        assert (work / f"j1.{kind}").read_bytes() == (work / f"j3.{kind}").read_bytes()


def test_same_byte_for_byte(rbwp, golden, plain, packed, work):
    assert "the same, byte for byte" in rbwp("archive", plain, "-o", work / "plain.rbwa").text
    assert plain.read_bytes() == (golden / "multi_thread.bin").read_bytes()
    rbwp("archive", "-d", packed, "-o", work / "back")
    assert (work / "back").read_bytes() == plain.read_bytes()


@pytest.mark.parametrize("command", ["dump", "dump --format text", "info", "stats", "check", "timeline", "stacks", "tables", "processes",
                                     "export --to csv -o -",
                                     "export --to chrome -o -", "export --to folded -o -"])
def test_commands_say_the_same(rbwp, plain, packed, command):
    """But for the name, and that it is an archive."""
    ours = rbwp(*command.split(), plain, code=None)
    theirs = rbwp(*command.split(), packed, code=ours.code)
    assert ours.out or ours.err
    named = lambda text: text.replace("plain.rbwa", "plain.bin")
    assert re.sub(", in an archive of [0-9,]*$", "", named(theirs.text), flags=re.M) == ours.text
    assert named(theirs.error) == ours.error


def test_info(rbwp, plain, packed):
    size, unpacked = packed.stat().st_size, plain.stat().st_size
    assert rbwp("info", packed).lines[0].replace(",", "").endswith(f"plain.rbwa {unpacked} bytes in an archive of {size}")
    assert rbwp("info", "--json", packed).json["archive_size"] == size


def test_other_commands(rbwp, plain, packed, work):
    rbwp("diff", plain, packed)
    rbwp("report", packed, "-o", work / "report.html")
    rbwp("merge", packed, "-o", work / "merged.json")
    rbwp("split", "--by-thread", packed, "-o", work / "part.bin")
    parts = list(work.glob("part.*.bin"))
    assert parts
    for part in parts:
        rbwp("check", part)


def test_standard_input_and_a_pipe(rbwp, plain, packed):
    with open(plain, "rb") as file:
        dumped = rbwp("dump", "-", stdin=file).out
    with open(packed, "rb") as file:
        assert rbwp("dump", "-", stdin=file).out == dumped
    assert rbwp("dump", "-", stdin=packed.read_bytes()).out == dumped


def test_gzip_around_it(rbwp, packed, work):
    (work / "plain.rbwa.gz").write_bytes(gzip.compress(packed.read_bytes()))
    rbwp("stats", work / "plain.rbwa.gz")


def test_folder(rbwp, packed, work):
    """Folders have archives as they have files."""
    shutil.copy(packed, work)
    rbwp("stats", work)


def test_what_a_crash_left(rbwp, golden, work):
    """It is archived once it is repaired; before, it is refused with what to do."""
    killed = work / "killed.bin"
    shutil.copy(golden / "crash_killed.bin", killed)
    rbwp("archive", killed, code=1).says("killed.bin: it was not finalised: its program still runs, or died; rbwp repair makes a whole file")
    assert not (work / "killed.rbwa").exists()
    rbwp("repair", killed, code=3)
    rbwp("archive", work / "killed.repaired.bin")
    rbwp("archive", "-d", work / "killed.repaired.rbwa", "-o", work / "back")
    dumped = [rbwp("dump", work / name).out.split(b"\n", 1)[1] for name in ("back", "killed.repaired.bin")]
    assert dumped[0] == dumped[1]


@pytest.fixture
def pair(plain, packed, work):
    """A file and its archive for a case alone."""
    for path in plain, packed:
        shutil.copy(path, work)
    return work / "plain.bin", work / "plain.rbwa"


def test_nothing_is_overwritten_unasked(rbwp, golden, pair, work):
    path, _ = pair
    rbwp("archive", path, code=1).says("plain.rbwa: exists; give -f to overwrite it")
    rbwp("archive", "-f", path)
    rbwp("archive", "-f", path, "-o", path, code=1)  # no input is its own result
    assert path.read_bytes() == (golden / "multi_thread.bin").read_bytes()
    assert sorted(os.listdir(work)) == ["plain.bin", "plain.rbwa"]


def test_source_goes_only_when_asked_and_last(rbwp, golden, pair, work):
    path, packed = pair
    rbwp("archive", "--remove", path, "-o", work / "none" / "x", code=1)
    assert path.exists()
    rbwp("archive", "--remove", "-f", path)
    assert not path.exists()
    rbwp("archive", "-d", packed)
    assert path.read_bytes() == (golden / "multi_thread.bin").read_bytes()
    assert sorted(os.listdir(work)) == ["plain.bin", "plain.rbwa"]


def test_archive_that_is_no_smaller(rbwp, golden, work):
    """To save room is what --remove is for: the file stays, and there is no archive."""
    shutil.copy(golden / "empty.bin", work / "small.bin")
    rbwp("archive", "--remove", work / "small.bin").says("stays as it is: its archive would be no smaller")
    assert (work / "small.bin").read_bytes() == (golden / "empty.bin").read_bytes()
    assert os.listdir(work) == ["small.bin"]


def test_wrong_kind_of_file(rbwp, plain, packed, work):
    rbwp("archive", packed, "-o", work / "x", code=1).says("it is an archive already")
    rbwp("archive", "-d", plain, "-o", work / "x", code=1).says("it is no archive")
    rbwp("repair", packed, code=1).says("is an archive; unpack it first: rbwp archive -d")


@pytest.mark.parametrize("words", ["", "a b -o c", "a -o -"])
def test_usage(rbwp, words):
    rbwp("archive", *words.split(), code=2)


@pytest.mark.parametrize("name, code", [("cut", 1), ("flipped", 3)])  # of the one nothing is left, of the other the names
def test_damage(rbwp, packed, work, name, code):
    """What is whole is read, with the place and what to do; -d writes nothing."""
    data, damaged = bytearray(packed.read_bytes()), work / f"{name}.rbwa"
    if name == "cut":
        data = data[:len(data) // 2]
    else:
        data[100] ^= 1
    damaged.write_bytes(data)
    rbwp("stats", damaged, code=code).says("take another copy", "at file offset")
    rbwp("archive", "-d", damaged, "-o", work / "damaged.bin", code=1).says("nothing is written")
    assert not (work / "damaged.bin").exists()


@pytest.fixture(scope="module")
def gpu(rbwp, shared):
    path = shared / "gpu.bin"
    path.write_bytes(m.file([m.block(7, 0, [(10**18, "gpu", 5, 1, 10**18 - 20, 10**18 - 10)])], [(1, b"item")]))
    rbwp("archive", path)
    return (shared / "gpu.rbwa").read_bytes()


def changed(packed, change):
    """The archive with the streams of its blocks as change makes them, none compressed; places and sums are right."""
    out, at, data_bytes, places = bytearray(packed[:36]), 36, 36, b""
    tag = b""
    while tag != b"INDX":
        tag, place, gives, payload = archive.take_chunk(packed, at, crc32c)
        at += archive.CHUNK.size + len(payload)
        if tag == b"BLKS":
            cursor = archive.Cursor(payload)
            streams = [bytearray(archive.take_stream(cursor)) for _ in range(21)]
            change(streams)
            payload = b"".join(b"\0" + bytes([len(stream)]) + stream for stream in streams)
        payload = places if tag == b"INDX" else payload
        head, offset = struct.pack("<4sIQIII", tag, len(payload), place, gives, 0, crc32c(payload)), len(out)
        out += head + struct.pack("<I", crc32c(head)) + payload
        if tag != b"INDX":
            places += struct.pack("<QQ", offset, place)
            data_bytes += gives
    footer = struct.pack("<QQI", offset, data_bytes, len(places) // 16)
    return bytes(out + footer + struct.pack("<I8s", crc32c(footer), b"RBWA.END"))


@pytest.fixture
def answers(rbwp, gpu, work):
    """The rule that the second reader finds broken, and the exit status of the command."""

    def found(change):
        data = changed(gpu, change)
        (work / "changed.rbwa").write_bytes(data)
        try:
            archive.plain(data, crc32c)
            mine = None
        except archive.Broken as broken:
            mine = broken.rule
        return mine, rbwp("archive", "-d", "-f", "-o", work / "changed.bin", work / "changed.rbwa", code=None).code

    return found


def symbol(number, bits):
    def change(streams):
        assert not streams[12] and max(streams[18] + streams[19] + streams[20]) < 64
        streams[18][0], streams[12] = number, bytearray(bits)
    return change


def kinds(streams):
    assert streams[3] == b"\4"
    streams[3][0] += 125


def filled(streams):  # a record's kind, and two that are none; 17 bits of a number, and 7 that are none
    streams[3][0] += 5 * 3 + 25 * 2
    symbol(160, b"\xff\xff\xff")(streams)

# Symbols 252-254 (and 255, but for times) and kinds above 124 are refused by the command and by the second reader, also where all else
# of the chunk would fit: numbers are taken mod 2^64, there are bits for them or none are needed, and what fills the last byte of kinds
# is no kind of a record. What fills last bytes is not looked at.
@pytest.mark.parametrize("change", [lambda streams: None, symbol(251, 8), filled])
def test_streams_that_are_read(answers, change):
    assert answers(change) == (None, 0)


@pytest.mark.parametrize("number", [252, 253, 254, 255])
@pytest.mark.parametrize("bits", [8, 0])
def test_symbols_that_are_refused(answers, number, bits):
    assert answers(symbol(number, bits)) == ("R83", 1)


def test_kinds_that_are_refused(answers):
    assert answers(kinds) == ("R83", 1)
