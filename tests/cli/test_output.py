# SPDX-License-Identifier: Apache-2.0
"""Writing: errors are reported and end in exit 1, a reader that goes away is no error, nothing is overwritten unasked, and no part of a
file stands where a whole one should. Guards against the silent full disk."""
import os
import pty
import resource
import shutil
import stat
import subprocess

import pytest

MODES = ["dump FILE", "dump --ndjson FILE", "dump --spans FILE", "info FILE", "info --json FILE", "--help", "dump --help", "--version"]


@pytest.fixture(scope="module")
def gaps(golden):
    return golden / "gaps.bin"


@pytest.fixture(scope="module")
def want(rbwp_dump, gaps):
    return rbwp_dump(gaps).out


def words_of(mode, path):
    return [path if word == "FILE" else word for word in mode.split()]


@pytest.mark.parametrize("mode", MODES)
def test_full_disk(on_full_disk, gaps, mode):
    on_full_disk(*words_of(mode, gaps)).says("standard output: cannot be written: No space left on device").in_one_line()


def without_output(run, rbwp, *words):
    """Its standard output is closed, as a shell does it."""
    return run("sh", "-c", '"$@" >&-', "sh", rbwp.path, *words, code=1)


@pytest.mark.parametrize("mode", MODES)
def test_no_standard_output(run, rbwp, gaps, mode):
    without_output(run, rbwp, *words_of(mode, gaps))


def test_report_without_standard_output(run, rbwp, gaps):
    without_output(run, rbwp, "report", gaps).says("standard output: cannot be written")


def to_a_closed_pipe(rbwp, *words):
    """Reads ten bytes and goes away: exit status and errors."""
    process = subprocess.Popen([rbwp.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(10)
    process.stdout.close()
    with process.stderr:
        return process.wait(timeout=60), process.stderr.read()


def test_closed_pipe(rbwp, golden):
    """It is quiet, and not a failure."""
    assert to_a_closed_pipe(rbwp, "dump", *[golden / "gpu_work.bin"] * 8) == (0, b"")
    assert to_a_closed_pipe(rbwp, "report", golden / "gpu_work.bin")[0] == 0


@pytest.mark.parametrize("form, options, code", [("perfetto", [], 2), ("parquet", [], 2), ("perfetto", ["-o", "-"], 0), ("csv", [], 0)])
def test_terminal(rbwp, gaps, form, options, code):
    """What is no text does not go there unless asked for."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([rbwp.path, "export", "-t", form, *options, gaps], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the end of a terminal
        pass
    os.close(ours)
    with process.stderr:
        error = process.stderr.read()
    assert process.wait() == code and bool(shown) == (code == 0), (process.returncode, shown[:50])
    assert code == 0 or f"{form} is nothing for a terminal: give -o FILE, or -o -".encode() in error, error


def test_output_option(rbwp_dump, gaps, want, work):
    assert not rbwp_dump("-o", work / "new", gaps).out
    assert (work / "new").read_bytes() == want
    assert rbwp_dump("-o", "-", gaps).out == want


def test_overwrite_only_by_force(rbwp_dump, gaps, want, work):
    old = work / "old"
    old.write_text("precious")
    rbwp_dump("-o", old, gaps, code=1).says(f"{old}: exists; give -f to overwrite it")
    assert old.read_text() == "precious"
    rbwp_dump("-fo", old, gaps)
    assert old.read_bytes() == want


def test_output_that_is_an_input(rbwp_dump, gaps, work):
    """It is refused even with -f, and the input is unharmed."""
    shutil.copy(gaps, work / "in.bin")
    (work / "link.bin").symlink_to("in.bin")
    rbwp_dump("-f", "-o", work / "link.bin", work / "in.bin", code=1).says("is an input too")
    assert (work / "in.bin").read_bytes() == gaps.read_bytes()


def test_file_that_cannot_be_created(rbwp_dump, gaps, work):
    rbwp_dump("-o", work / "no" / "such" / "folder", gaps, code=1).says("cannot be created: No such file or directory")


def test_file_that_cannot_be_written_whole(rbwp_dump, gaps, golden, small_files, work):
    """It is not left behind; a device is."""
    rbwp_dump("-f", "-o", "/dev/full", gaps, code=1)
    assert os.path.exists("/dev/full")
    rbwp_dump("-o", work / "partial", golden / "gpu_work.bin", code=1, **small_files(4096))
    assert not os.listdir(work)


@pytest.fixture
def old(work):
    """A file that is to be replaced."""
    try:
        os.close(os.open(work, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        pytest.skip("the file system has no files without a name")
    path = work / "old"
    path.write_text("precious")
    path.chmod(0o640)
    return path


def killed_by_the_second_block():
    """In the child: of 512 bytes, that it writes to a file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


@pytest.mark.parametrize("form", ["kineto", "perfetto", "csv"])
def test_killed_while_it_writes(rbwp, golden, work, old, form):
    """It leaves no part of a file, nor takes the one that was there."""
    for path in (work / "fresh", old):
        done = rbwp("export", "-f", "--to", form, "--no-deflate", "-o", path, golden / "gpu_work.bin", code=None,
                    preexec_fn=killed_by_the_second_block)
        assert done.code < 0, done.error
    assert old.read_text() == "precious"
    assert os.listdir(work) == ["old"]


def test_successor_has_the_rights_and_is_one_file(rbwp_dump, gaps, golden, want, work, old):
    rbwp_dump("-f", "-o", old, gaps)
    assert old.read_bytes() == want and stat.S_IMODE(old.stat().st_mode) == 0o640
    os.link(old, work / "other")
    rbwp_dump("-f", "-o", old, golden / "empty.bin")
    assert old.read_bytes() == (work / "other").read_bytes()
