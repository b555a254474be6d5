# SPDX-License-Identifier: Apache-2.0
"""A folder stands for the RBWP files *.bin in it, in the order of their names, in every tool that reads several: the output is that of the
files. Others of that name are reported and dropped; none at all is an error. More files than may be open at first are no trouble."""
import resource
import shutil

import pytest
import rbwp_make as m

FILES = ["run/a.bin", "run/b_gaps.bin", "run/b_multi_thread.bin", "run/b_straddle.bin"]


@pytest.fixture(scope="module")
def here(golden, extended, shared):
    """A folder, in which all commands run."""
    for name in ("run/below", "run/folder.bin", "text", "no_files", "nodes", "first"):
        (shared / name).mkdir(parents=True)
    shutil.copy(extended, shared / "run/a.bin")
    for name in ("gaps", "multi_thread", "straddle"):
        shutil.copy(golden / f"{name}.bin", shared / f"run/b_{name}.bin")
    for name in (".hidden.bin", "below/gpu_work.bin", "gpu_work.trace"):
        shutil.copy(golden / "gpu_work.bin", shared / "run" / name)
    for name in ("run/c.bin", "text/z.bin"):
        (shared / name).write_text("words\n")
    m.same_run(shared / "nodes", [golden / "gaps.bin", golden / "multi_thread.bin"] + [golden / "straddle.bin"] * 98)
    (shared / "nodes/node0.bin").rename(shared / "first/node0.bin")
    return shared


@pytest.fixture(scope="module")
def there(rbwp, here):
    """there(word, ...): runs rbwp in the folder."""
    return lambda *words, **more: rbwp(*words, cwd=here, **more)


@pytest.mark.parametrize("command", ["check", "dump", "dump --spans --ndjson", "info", "info --json"])
def test_folder_is_its_files(there, command):
    want = there(*command.split(), *FILES).out
    for folder in ("run", "run/"):
        done = there(*command.split(), folder).says("run/c.bin: skipped: no RBWP file", "run/folder.bin: skipped")
        assert done.out == want


@pytest.mark.parametrize("command", [
    "stats --no-progress", "stats --json", "timeline", "export --no-progress --to=csv", "merge --no-progress --to=ndjson", "report --no-progress -o -"])
def test_nodes_of_one_run(here, there, command):
    """On one axis."""
    files = ["first/node0.bin", *sorted(f"nodes/{path.name}" for path in (here / "nodes").iterdir())]
    assert there(*command.split(), "first", "nodes").out == there(*command.split(), *files).out


def test_diff_of_folders(there):
    there("diff", "first", "nodes")


@pytest.mark.parametrize("hard", [False, True], ids=["soft limit", "hard limit"])
def test_few_open_files(there, hard):
    """So many are not open at the same time."""
    most = 40 if hard else resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    there("stats", "first", "nodes", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, most)))


@pytest.mark.parametrize("command", ["check", "dump", "info", "stats", "timeline", "export --to=csv", "merge --to=csv", "diff GAPS", "report -o PAGE"])
def test_folders_without_files(there, golden, work, command):
    """Nothing is there, or it cannot be looked at."""
    words = command.replace("GAPS", str(golden / "gaps.bin")).replace("PAGE", str(work / "page.html")).split()
    for bad in ("no_files", "text"):
        assert not there(*words, bad, code=1).says(f"{bad}: is a folder without RBWP files named *.bin").out


def test_input_is_no_output(there):
    there("export", "-f", "--to", "csv", "-o", "nodes/node7.bin", "nodes", code=1).says("is an input too")
