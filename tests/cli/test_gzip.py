# SPDX-License-Identifier: Apache-2.0
"""A file that is gzip is read by every command as the file itself, whatever its name, and a cut one as far as it goes, with exit 3; an
output whose name ends in .gz is gzip, in every text form."""
import gzip

import pytest

COMMANDS = ["dump", "dump --spans --ndjson", "info", "info --json", "check", "check --json", "stats", "stats --json", "timeline", "tail -n 5",
            "export -t csv", "export -t perfetto", "report"]


@pytest.fixture(scope="module")
def packed(golden, shared):
    """The plain file has the same name in another folder."""
    data = (golden / "multi_thread.bin").read_bytes()
    for folder, bytes_of in (("plain", data), ("packed", gzip.compress(data))):
        (shared / folder).mkdir()
        (shared / folder / "in.bin").write_bytes(bytes_of)
    return shared / "packed/in.bin"


@pytest.fixture(scope="module")
def plain(packed):
    return packed.parent.parent / "plain/in.bin"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command(rbwp, plain, packed, command):
    want, got = (rbwp(*command.split(), "in.bin", cwd=path.parent) for path in (plain, packed))
    assert (got.out, got.err) == (want.out, want.err)


def test_diff(rbwp, plain, packed):
    rbwp("diff", "--threshold", "0", plain, packed)


def test_standard_input_and_pipe(rbwp, packed):
    with open(packed, "rb") as file:
        done = rbwp("stats", "--json", "-", stdin=file)
    piped = rbwp("stats", "--json", "-", stdin=packed.read_bytes())
    assert (piped.out, piped.err) == (done.out, done.err)


def test_where_it_is_unpacked(run, rbwp, packed, work):
    """/tmp without TMPDIR; a folder that is not there is named."""
    run("env", "-u", "TMPDIR", rbwp.path, "info", packed)
    rbwp("info", packed, env={"TMPDIR": f"{work}/none"}, code=1).says(f"{work}/none").in_one_line()


def test_split_writes_plain_files(rbwp, packed, work):
    rbwp("split", "-o", work / "part.bin", "--slot", "*", packed)
    rbwp("check", work / "part.bin")


def test_repair_wants_the_file_itself(rbwp, packed):
    rbwp("repair", packed, code=1).says("is gzip; unpack it first: gunzip").in_one_line()


def test_cut(rbwp, packed, work):
    cut = work / "cut.bin"
    cut.write_bytes(packed.read_bytes()[:1000])
    for command in ("dump", "info", "stats", "timeline", "export -t csv"):
        rbwp(*command.split(), cut, code=3).says("the compressed data are cut")
    rbwp("check", cut, code=3)


@pytest.mark.parametrize("command, suffix", [
    *(("export", form) for form in ("csv", "tsv", "ndjson", "json", "folded", "pftrace")), ("stats", "txt")])
def test_outputs(rbwp, plain, work, command, suffix):
    for name in (f"out.{suffix}", f"out.{suffix}.gz"):
        rbwp(command, "-o", work / name, plain)
    with gzip.open(work / f"out.{suffix}.gz") as file:
        assert file.read() == (work / f"out.{suffix}").read_bytes()


def test_output_of_no_form(rbwp, plain, work):
    rbwp("export", "-o", work / "out.nothing.gz", plain, code=2)
