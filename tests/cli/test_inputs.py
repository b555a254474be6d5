# SPDX-License-Identifier: Apache-2.0
"""The ways to name many files mean the same as naming each: patterns, lists with zero bytes, a tar archive on standard input, from a pipe
too; what is wrong with them is reported. Parts of a job (--shard) together are the whole of it, each file in just one, on the axis of
the whole."""
import os
import re
import shutil
import subprocess
import tarfile

import pytest

NAMES = ["run/b_0.bin", "run/b_1.bin", "run/b_2.bin"]
COMMANDS = ["check"], ["dump", "--spans", "--ndjson"]


@pytest.fixture(scope="module")
def here(run, program, golden, shared):
    """A folder, in which all commands run."""
    run(program("MAKE_JOB"), "-r", "40", "-s", "2", "-o", "5000", shared / "run", "3")
    for node in range(3):
        os.rename(shared / f"run/bgwork_{node}.bin", shared / f"run/b_{node}.bin")
    shutil.copy(golden / "gaps.bin", shared / "odd[1]*.bin")
    for name in "c.bin", "notes":
        (shared / "run" / name).write_text("words\n")
    return shared


@pytest.fixture(scope="module")
def there(rbwp, here):
    """there(word, ...): runs rbwp in the folder."""
    return lambda *words, **more: rbwp(*words, cwd=here, **more)


def sums(done):
    """Of what a command read, whatever its files are called."""
    return re.sub('[^ "\n]*b_', "b_", re.sub('"source":"[^"]*",', "", done.text))


@pytest.fixture(scope="module")
def same(there):
    """same(words before, words behind): each command reads NAMES if these are its arguments; gives the last one."""
    expected = [sums(there(*command, *NAMES)) for command in COMMANDS]

    def reads(*words, stdin=lambda: b""):
        for command, want in zip(COMMANDS, expected):
            done = there(*command, *words, stdin=stdin())
            assert sums(done) == want
        return done

    return reads


def test_patterns(there, same):
    same("run/b_*.bin")
    there("check", "odd[1]*.bin")  # a file of that name
    done = there("stats", "run/none_*.bin", code=1).says("run/none_*.bin: there is no such file, and none that it matches")
    assert not done.out


def listed(names):
    return "".join(f"{name}\0" for name in names).encode()


def test_lists(there, same, work):
    (work / "list").write_bytes(listed(NAMES))
    same("--files0-from", work / "list")
    same("--files0-from=-", stdin=lambda: open(work / "list", "rb"))
    there("stats", "--files0-from", work / "list", "run/b_0.bin", code=2).says("'run/b_0.bin' beside --files0-from")


@pytest.mark.parametrize("names, error", [
    (b"run/b_0.bin\nrun/b_2.bin\n", "its names end in new lines; they are to end in zero bytes"), (b"", "there is no name in it"),
    (b"run/b_0.bin\0\0", "a name in it is empty"), (b"-\0", "standard input is no name")])
def test_lists_that_are_wrong(there, work, names, error):
    (work / "list").write_bytes(names)
    assert not there("check", "--files0-from", work / "list", code=1).says(error).out


def test_no_list(there):
    there("check", "--files0-from", "none", code=1).says("none: cannot be opened")


def tar(here, path, *names, options=("--format=ustar",)):
    subprocess.run(["tar", *options, "-cf", path, *names], cwd=here, check=True)
    return path


@pytest.mark.parametrize("form", ["ustar", "pax", "gnu"])
def test_archives(here, same, work, form):
    """Of each kind that writers make, from a pipe and from a file."""
    path = tar(here, work / "run.tar", "run", options=[f"--format={form}"])
    same("-", stdin=path.read_bytes).says("standard input: run/c.bin: skipped: no RBWP file").in_one_line()
    same("-", stdin=lambda: open(path, "rb"))


@pytest.mark.parametrize("form", ["pax", "gnu"])
def test_long_names_in_archives(here, same, work, form):
    """They need entries of their own in each."""
    long = work / "deep" / f"{7:0120}" / f"{8:0130}"
    long.mkdir(parents=True)
    for name in NAMES:
        os.link(here / name, long / os.path.basename(name))
    same("-", stdin=tar(work, work / "run.tar", "deep", options=[f"--format={form}"]).read_bytes)


def test_no_archive(here, there):
    with open(here / "run/b_0.bin", "rb") as file:
        there("check", "-", stdin=file)


def pax(here, path, size):
    """An archive whose record says the size of its entry so."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive, open(here / "run/b_0.bin", "rb") as file:
        entry = tarfile.TarInfo("run/b_0.bin")
        entry.size, entry.pax_headers = os.path.getsize(file.name), {"size": size.format(os.path.getsize(file.name))}
        archive.addfile(entry, file)
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("size, sized", [("{}", True), ("{}x", False), ("/7", False)])
def test_size_in_a_record(here, there, work, size, sized):
    """That counts, not the header's; what is no number is none."""
    data = pax(here, work / "some.tar", size)
    if sized:
        at = 1024  # of the entry behind its records: a size of 0, and the sum of the header that fits
        data[at + 124:at + 136] = b"0" * 11 + b"\0"
        data[at + 148:at + 156] = b" " * 8
        data[at + 148:at + 156] = b"%06o\0 " % sum(data[at:at + 512])
    assert re.search('"spans":[1-9]', there("stats", "--json", "-", stdin=bytes(data)).text)


def test_archives_that_are_wrong(here, there, work):
    def wrong(data, error):
        assert not there("stats", "-", stdin=bytes(data), code=1).says(error).out

    whole = bytearray(tar(here, work / "run.tar", "run").read_bytes())
    wrong(whole[:3000], "the tar archive cannot be read: it is cut")
    whole[512 + 124] ^= 1  # of the first file's header, behind the folder's
    wrong(whole, "a header in it is damaged")
    wrong(tar(here, work / "bad.tar", "run/c.bin", "run/notes", options=[]).read_bytes(), "is a tar archive without RBWP files")
    twice = tar(here, work / "bad.tar", "run/b_0.bin", "run/b_0.bin", options=["--hard-dereference"])
    wrong(twice.read_bytes(), "run/b_0.bin is twice in the tar archive")


@pytest.mark.parametrize("how", [["--force-merge"], ["--align", "start"]])
def test_parts_are_the_whole(there, how):
    def spans(*options):
        """Without ids, which are a part's own."""
        return [line.split(",")[:8] for line in there("merge", *how, "--to", "csv", *options, *NAMES).lines[1:]]

    whole, parts = spans(), [spans("--shard", f"{part}/2") for part in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(whole) and len(parts[1]) < len(whole)


def test_part_with_one_file(there):
    line, = (line for line in there("check", "--shard", "2/3", *NAMES).lines if line)
    assert "b_2" in line


def test_part_without_files(there):
    assert not there("stats", "--shard", "3/4", *NAMES).says("part 3 of 4 has none of the 3 files").out


@pytest.fixture
def alone(run, rbwp, here):
    """alone(variable, ..., code=0): --shard auto with these variables and no others."""
    return lambda *variables, code=0: run("env", "-i", *variables, rbwp.path, "check", "--shard", "auto", *NAMES, cwd=here, code=code)


def test_part_by_the_launcher(alone):
    for variables in ("RBWP_SHARD=1/3", "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3", "PMI_RANK=1 PMI_SIZE=3", "SLURM_PROCID=1 SLURM_NTASKS=3",
                      "PMI_RANK=1 PMI_SIZE=3 SLURM_PROCID=0 SLURM_NTASKS=1"):
        assert "b_1" in alone(*variables.split()).text, variables


def test_parts_that_are_wrong(there, alone):
    for wrong in ("3/3", "1", "/3", "1/", "1/0", "-1/3", "x"):
        there("check", f"--shard={wrong}", *NAMES, code=2).says(f"--shard '{wrong}'")
    alone(code=2).says("finds no launcher")
    alone("SLURM_PROCID=3", "SLURM_NTASKS=3", code=2).says("SLURM_PROCID and SLURM_NTASKS, which are '3' and '3'")
