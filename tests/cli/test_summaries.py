# SPDX-License-Identifier: Apache-2.0
"""Sums of many files, each added up for itself, are those of one pass over all of them, whatever
number of threads is at work; sums that were kept are those of the very same file, else they are made
again; what is to be said of a file is said each time, in the order of files. Guards who adds up jobs
of thousands of nodes from answers that are quick and wrong."""
import os
import random
import re
import shutil
import struct

import pytest
from rbwp_reader import crc32c


@pytest.fixture(scope="module")
def job(run, program, shared):
    """Node 5 is slow."""
    run(program("MAKE_JOB"), *"-c 5 -o 1000000 -d 20000 -r 300 -x 5 -f 300".split(), shared / "job", "70")
    return shared / "job"


@pytest.fixture(scope="module")
def stats(rbwp, shared):
    """In the folder of the job, by its name there."""
    return lambda *words, code=0, cwd=shared: rbwp("stats", "--no-progress", *words, code=code, cwd=cwd)


@pytest.fixture(scope="module")
def many(stats, job):
    """The sums of all files, each for itself."""
    return stats("--json", "-j", "4", "job")


@pytest.fixture(scope="module")
def kept(stats, job, shared):
    """Sums of all files that were kept."""
    stats("--json", "--cache", "kept", "job")
    return shared / "kept"


@pytest.fixture
def own(stats, job, work):
    """A folder of a case with files and sums of its own."""
    shutil.copytree(job, work / "job")
    stats("--json", "--cache", "kept", "job", cwd=work)
    return work


def test_sums_are_those_of_one_pass(stats, job, many):
    """Equal but for what stats_files.h says."""
    a = stats("--json", "--min-duration", "0", "job").json  # one pass, because of the filter
    assert stats("--json", "-j", "1", "job").out == many.out
    b = many.json
    levels = b["concurrency"].pop("busy_workers_of_a_node")
    assert sum(levels) == 70 * b["extent"]
    assert sum(i * ns for i, ns in enumerate(levels)) == b["worker_busy"]
    assert sum(i * ns for i, ns in enumerate(a["concurrency"].pop("busy_workers"))) == a["worker_busy"]
    for left, right in zip(a["concurrency"].pop("busy"), b["concurrency"].pop("busy")):
        assert abs(left - right) < 0.05 * a["worker_busy"]
    a.pop("links"), b.pop("links"), a.pop("messages"), a.pop("inside_kernels"), a.pop("kernel_lines")  # of all files, and of single spans
    assert a == b, [key for key in a if a[key] != b.get(key)]
    assert len(b["nodes"]["list"]) == 70 and b["work_items"][0]["count"] > 1000


def test_clocks_are_one_line(many):
    """How files came onto one axis is not reported of each."""
    assert re.search(r"^69 files: aligned by comparing clocks, shift -[0-9]* to \+[0-9]* ns, error at most [0-9]* ns$", many.error, re.M)
    assert many.error.count("\n") < 5


def test_slow_node_first(stats, job):
    """Who holds the others up stands first, and threads are too many to be shown."""
    lines = stats("job").lines
    nodes = next(i for i, line in enumerate(lines) if line.startswith("Nodes: 70"))
    assert any("share" in line for line in lines[nodes:nodes + 3]) and lines[nodes + 2].endswith("node 5")
    assert not any(line.startswith("Threads") for line in lines)
    assert re.search("worker 2.*node 69", stats("--by", "thread", "job").text)


def test_kept_sums(stats, job, many, kept):
    assert len(list(kept.glob("*.summary"))) == 70
    assert stats("--json", "--cache", "kept", "job").out == many.out


def test_kept_sums_are_of_the_same_file(stats, run, program, many, own):
    """Blocks of the file are not looked at any more. (What is 0 there now would be reported.) Of one that was changed, or of another
    file, nothing is used."""
    path = own / "job" / "bgwork_7.bin"
    times, whole = path.stat(), bytearray(path.read_bytes())
    whole[500:1500] = bytes(1000)
    path.write_bytes(whole)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert stats("--json", "--cache", "kept", "job", cwd=own).out == many.out
    path.touch()
    for _ in range(2):
        done = stats("--json", "--cache", "kept", "job", cwd=own, code=3).says("job/bgwork_7.bin: ", "partly read")
        assert done.out != many.out
    run(program("MAKE_JOB"), *"-c 5 -o 1000000 -d 20000 -r 300 -x 5 -f 300".split(), own / "job", "70")
    assert stats("--json", "--cache", "kept", "job", cwd=own).out == many.out


def test_sums_of_strangers(stats, many, own):
    """They are none."""
    summary = lambda node: next((own / "kept").glob(f"*_{node}.bin-*"))
    summary(1).write_bytes(b"RBWPSUM\001and so on, for a while")
    whole = bytearray(summary(2).read_bytes())
    whole[len(whole) // 2] ^= 4
    summary(2).write_bytes(whole)
    summary(3).write_bytes(b"")
    summary(4).write_bytes(summary(5).read_bytes())
    assert stats("--json", "--cache", "kept", "job", cwd=own).out == many.out


def test_sums_that_were_changed(stats, job, work):
    """Nothing is believed because its checksum is right: sums or a refusal, and no crash. Nor what others could have written: a file
    that everybody may write, or of somebody else (which root can try)."""
    (work / "one").mkdir()
    shutil.copy(job / "bgwork_3.bin", work / "one")
    add_up = lambda code=(0, 3): stats("--json", "--cache", "strange", "one", cwd=work, code=code).out
    want = add_up(0)
    name, = (work / "strange").glob("*.summary")
    whole = name.read_bytes()
    assert struct.unpack("<I", whole[16:20])[0] == crc32c(whole[20:])
    rng, other, forged = random.Random(5), 0, None
    for number in range(60):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at, how = rng.randrange(20, len(data)), rng.random()
            if how < 0.5:
                data[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            elif how < 0.75:
                del data[at : at + rng.randint(1, 5)]
            else:
                data[at:at] = rng.choice([b"\xff" * 9 + b"\x01", b"\x80", b"\xff\xff\xff\xff\x0f"])
        data[16:20] = struct.pack("<I", crc32c(bytes(data[20:])))
        name.write_bytes(data)
        if add_up() != want:
            other, forged = other + 1, data
    assert 0 < other < 30  # some are sums, if wrong ones; most are refused
    for change in [lambda: name.chmod(0o666)] + ([lambda: os.chown(name, 12345, -1)] if os.geteuid() == 0 else []):
        name.write_bytes(forged)
        name.chmod(0o644)
        assert add_up() != want
        name.write_bytes(forged)
        change()
        assert add_up() == want


def test_sums_beside_the_files(stats, job, work):
    """A few files may have them, too."""
    (work / "few").mkdir()
    for node in range(10):
        shutil.copy2(job / f"bgwork_{node}.bin", work / "few")
    stats("--cache=beside", "few", cwd=work)
    assert (work / "few" / "bgwork_3.bin.summary").stat().st_size > 0
    lines = stats("--top", "250", "--cache=beside", "few", cwd=work).lines
    assert len(lines) - lines.index(next(line for line in lines if line.startswith("Longest calls"))) == 252  # not those of the sums that were kept


def test_no_folder_for_sums(stats, job, work):
    (work / "a_file").write_bytes(b"\n")
    done = stats("--cache", "a_file", job, cwd=work, code=1).says("a_file: no folder for sums can be made: there is a file of that name")
    assert done.out == b""


def test_filters_need_the_files(stats, job, kept):
    assert '"name":"copy"' in stats("--json", "--cache", "kept", "job").text
    assert '"name":"copy"' not in stats("--json", "--cache", "kept", "--slot", "stencil", "job").text


def test_messages_in_the_order_of_files(stats, own):
    for node in (11, 22, 33, 44):
        with open(own / "job" / f"bgwork_{node}.bin", "r+b") as file:
            file.seek(700)
            file.write(b"%040d" % 7)
    order = re.findall("bgwork_.*bin: partly", stats("-j", "4", "job", cwd=own, code=3).error)
    assert order == sorted(order) and len(order) == 4
