# SPDX-License-Identifier: Apache-2.0
"""Threads change nothing: output, messages and exit codes of -j N are those of -j 1, for whole and
damaged files, damage between many blocks, blocks too large to be decoded ahead, several files,
streams. SHARE: where it is not "1/1" (sanitizers, for which three threads are as good as eight), one number of threads
is compared and each second of the small files."""
import os
import random

import pytest
import rbwp_make as m

WHOLE = os.environ.get("SHARE", "1/1") == "1/1"
STREAMED = (["stats", "--json"], ["timeline"], ["report", "-o", "-"],
            *(["export", "--to", form] for form in ("chrome", "folded", "csv", "ndjson", "perfetto", "speedscope", "firefox")))


def printed(rbwp, args, threads, **more):
    done = rbwp(*args[:1], "-j", str(threads), *args[1:], **{"code": None, **more})
    return done.code, done.out, done.err


@pytest.fixture(scope="module")
def same(rbwp):
    """What one thread prints, once several print the same."""

    def output(*args, **more):
        want = printed(rbwp, args, 1, **more)
        for threads in (2, 3, 8) if WHOLE else (3,):
            assert printed(rbwp, args, threads, **more) == want
        return want[1]

    return output


def blocks(count, records=50, start=1000):
    t, made = start, []
    for i in range(count):
        inside = []
        for _ in range(records):
            inside += [(t, "cb", i % 5), (t + 3, "fb", 7), (t + 5, "fe"), (t + 9, "ce")]
            t += 10
        made.append(m.block(1 + i % 3, i // 3, inside, compress=i % 2 == 0))
    return made


def written(path, made):
    path.write_bytes(m.file(made, [(i, b"slot") for i in range(5)], [(7, 1, b"sub")]))
    return path


@pytest.fixture(scope="module")
def whole(shared):
    return written(shared / "whole.bin", blocks(200))


@pytest.fixture(scope="module")
def long(shared):
    return written(shared / "long.bin", blocks(50, records=150))


@pytest.fixture(scope="module")
def damaged(shared):
    """Every tenth block is damaged in another way."""
    random.seed(5)
    made = blocks(120)
    for i in range(0, 120, 10):
        bad = bytearray(made[i])
        if i % 3 == 0:
            bad[random.randrange(len(bad))] ^= 0xFF
        elif i % 3 == 1:
            del bad[random.randrange(33, len(bad)) :]
        else:
            bad[24:32] = b"\xff" * 8
        made[i] = bytes(bad)
    return written(shared / "damaged.bin", made)


@pytest.fixture(scope="module")
def large(shared):
    """Large blocks among small ones."""
    made = [m.block(9, i, [(5 * 10**6 + 1000 * i + k // 100, "fe") for k in range(120000 + i)], compress=i == 1) for i in range(2)]
    return written(shared / "large.bin", blocks(12) + made + blocks(12, start=10**7))


def test_small_files(same, golden):
    paths = sorted([*golden.glob("*.bin"), *golden.parent.glob("bad/*/input.bin")])[:: 1 if WHOLE else 2]
    printed = [bool(same("dump", path)) + bool(same("dump", "--spans", path)) for path in paths]
    assert printed.count(2) > len(paths) // 3


def test_whole_file(same, whole):
    assert len(same("dump", whole, code=0)) > 1 << 20
    for shape in (), ("--ndjson",), ("--spans",), ("--slot", "3"), ("--from", "+1us", "--to", "+20us"):
        assert same("dump", *shape, whole, code=0)


def test_several_files(same, golden, whole):
    assert same("dump", whole, golden / "gaps.bin", whole, code=0)


def test_stream(same, whole):
    assert same("dump", "-", stdin=whole.read_bytes(), code=0)


@pytest.mark.parametrize("command", ["dump", "dump --spans", "dump --ndjson"])
def test_damage(same, damaged, command):
    assert same(*command.split(), damaged, code=3)


# What is written behind the reader, by another thread: blocks whose spans are many, few and none, with damage between.
@pytest.mark.parametrize("command", STREAMED, ids=" ".join)
def test_written_behind_the_reader(rbwp, long, damaged, command):
    for path in long, damaged:
        want = printed(rbwp, [*command, path], 1)
        assert want[1] and printed(rbwp, [*command, path], 3) == want


@pytest.mark.parametrize("form", ["parquet", "legion", "sqlite"])
def test_file_written_behind_the_reader(rbwp, long, damaged, work, form):
    out = work / "made"

    def made(path, threads):
        done = rbwp("export", "--to", form, "-j", str(threads), "-fo", out, path, code=None)
        if "built without" in done.error:
            pytest.skip("this build is without SQLite")
        return done.code, out.read_bytes(), done.err

    for path in long, damaged:
        assert made(path, 3) == made(path, 1)


@pytest.mark.parametrize("options", [[], ["--kind", "coarse"]])
def test_large_blocks(same, large, options):
    assert same("dump", *options, large, code=0)


def test_archive(rbwp, same, large, work):
    """Its chunks, of which these blocks make three and the names one, are decoded ahead as a whole; one that is damaged too."""
    path = work / "large.rbwa"
    rbwp("archive", large, "-o", path)
    chunks = path.read_bytes()
    assert chunks.count(b"BLKS") == 3
    assert same("dump", "--kind", "coarse", path, code=0)
    for at in (100, chunks.rindex(b"BLKS") + 3, chunks.index(b"BLKS", 40) + 500):
        path.write_bytes(chunks[:at] + bytes([chunks[at] ^ 1]) + chunks[at + 1 :])
        same("dump", "--kind", "coarse", path, code=3)


def test_number_of_threads(rbwp, golden):
    gaps = golden / "gaps.bin"
    rbwp("dump", "-j", "many", gaps, code=2).says("is no number of threads")
    rbwp("dump", "-j", "257", gaps, code=2)
    rbwp("dump", "-j", "256", gaps)


def test_more_files_than_are_read_at_once(rbwp, run, program, work):
    """More than 64 are read side by side, a file on each thread."""
    run(program("MAKE_JOB"), "-r", "20", "-s", "1", work / "job", "65")
    one, four = (rbwp("stats", "--no-progress", "-j", threads, work / "job").out for threads in "14")
    assert one == four != b""
