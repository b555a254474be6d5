# SPDX-License-Identifier: Apache-2.0
"""Frames of a stack out of the words that were kept of it. Guards: the functions of a real program, innermost first, up to where it
began, with lines; a frame that had to be guessed says so; a program that was built again since is not taken for the one that ran."""
import json
import os
import shutil
import struct

import pytest
from stalls_make import Recording


def build_id(path):
    with open(path, "rb") as file:
        data = file.read()
    at = data.find(struct.pack("<III", 4, 20, 3) + b"GNU\0")
    return data[at + 16:at + 36].hex() if at >= 0 else ""


class Stack:
    """What the victim printed: words, and mappings."""

    def __init__(self, run, path):
        self.words, self.files = [], []
        for line in run(path).lines:
            words = line.split()
            if words[0] == "map":
                start, end = (int(word, 16) for word in words[1].split("-"))
                self.files.append((start, end, int(words[3], 16), words[6] if len(words) > 6 else ""))
            else:
                self.words.append((int(words[0]), int(words[1])))
        self.stack, last = self.words[1][1], self.words[-1][0]
        code = lambda word: any(start <= word < end for start, end, *_ in self.files)
        self.words = [(place, word) for place, word in self.words if place < 3 or code(word) or self.stack <= word <= last]

    def recording(self, keep=lambda place: True, path=lambda path: path, id_of=build_id):
        made = Recording().look(1, 900, 0, "mutex", words=[word for word in self.words if keep(word[0])])
        for start, end, offset, name in self.files:
            made.file(start, end, offset, path(name), id_of(name) if name.startswith("/") else "")
        return made


@pytest.fixture(scope="module", params=["UNWIND_VICTIM_O2", "UNWIND_VICTIM_O0"])
def stack(request, run, program):
    return Stack(run, program(request.param))


@pytest.fixture
def frames(rbwp, work):
    def of(recording):
        track, = map(json.loads, rbwp("stacks", "--json", recording.write(work / "a.bin")).silent().lines)
        return track["stack_frames"], track["whole"]
    return of


OURS = ["innermost", "middle", "outer", "main"]


def test_functions(frames, stack):
    found, whole = frames(stack.recording())
    assert [frame.get("function") for frame in found][:4] == OURS and whole and not any(frame["guessed"] for frame in found), found
    assert all(frame["source"].endswith("unwind_victim.c") and frame["line"] > 30 for frame in found[:4]), found


def test_without_frame_pointer(frames, stack):
    """What uses it is found by a guess, and marked; the rest is as before."""
    found, whole = frames(stack.recording(keep=lambda place: place != 2))
    assert [frame.get("function") for frame in found][:4] == OURS and whole, found
    assert sum(frame["guessed"] for frame in found) <= 1


def test_text(rbwp, work, stack):
    lines = rbwp("stacks", stack.recording().write(work / "a.bin")).silent().lines
    assert lines[2].split()[0] == "innermost" and lines[2].split()[1].startswith("unwind_victim.c:"), lines


def test_cut(frames, stack):
    """Only the beginning of a stack was kept."""
    found, whole = frames(stack.recording(keep=lambda place: place < stack.stack + 64))
    assert found[0]["function"] == "innermost" and not whole and len(found) < 4


@pytest.mark.parametrize("id_of", [lambda path: "00" * 20, lambda path: build_id(path)[:-2], lambda path: ""])
def test_another_build(frames, stack, id_of):
    found, whole = frames(stack.recording(id_of=id_of))
    assert len(found) == 1 and not whole and "function" not in found[0] and found[0]["file"]


def test_cut_elf(frames, stack, work):
    """Of the files only a part is there."""
    def cut(path):
        if not path.startswith("/"):
            return path
        copy = work / os.path.basename(path)
        with open(path, "rb") as file:
            copy.write_bytes(file.read()[:os.path.getsize(path) * 2 // 3])
        return str(copy)
    found, _ = frames(stack.recording(path=cut))
    assert found and found[0]["address"] == stack.words[0][1]


def test_moved(frames, stack, work):
    """A file counts wherever it is named."""
    def move(path):
        return shutil.copy(path, work / os.path.basename(path)) if path.startswith("/") else path
    found, whole = frames(stack.recording(path=lambda path: str(move(path))))
    assert [frame.get("function") for frame in found][:4] == OURS and whole


def named(path, names):
    """A recording whose threads have these names."""
    made = Recording(threads=len(names))
    made.names = {thread: os.fsencode(name) for thread, name in enumerate(names, 1)}
    for thread in made.threads:
        made.call(thread, thread, 1)
    return made.write(path)


def test_threads_by_start(run, rbwp, program, work):
    """A thread is named by the function that it was started with, if that is in the file which ran, and by how far in it; hostile names
    name nothing."""
    victim = program("UNWIND_VICTIM_O2")
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in run("nm", victim).lines if len(line.split()) == 3}
    file, main = os.path.basename(victim), symbols["main"]
    start, other = f"{victim}+{main:#x}", f"{file}+{main:#x}"
    id = f" (BuildId: {build_id(victim)})"
    os.mkfifo(work / "fifo")
    names = {start + id: "main", start + " (BuildId: 00ff)": other, start: other, f"{victim}+{main + 1:#x}" + id: "main+0x1",
             f"{work}/fifo+0x10": "fifo+0x10", "/dev/zero+0x10": "zero+0x10", "/gone+0x1+0x20": "gone+0x1+0x20", start + id + " ": start + id + " ",
             "/a+0x": "/a+0x", "/a+0x" + "f" * 17: "/a+0x" + "f" * 17, "/a+0x1 (BuildId: )": "/a+0x1 (BuildId: )", "a+0x10": "a+0x10", "+0x10": "+0x10"}
    recording = named(work / "named.bin", names)
    shown = [thread["name"] for thread in rbwp("stats", "--json", recording).json["threads"]]
    assert sorted(shown) == sorted(names.values()), shown
    assert "  main\n" in rbwp("info", "--quick", recording).text
