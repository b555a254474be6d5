# SPDX-License-Identifier: Apache-2.0
"""Collapsed stacks: the time that each span spent itself, computed here from the dump; every line is
a stack and a number whatever the names are."""
import collections
import re

import export_expect as x
import pytest


def clean(span):
    """A name as text forms show it, but for the semicolon."""
    key = "name_hex" if span.get("name_hex") else "name"
    name = bytes.fromhex(span[key]) if key == "name_hex" else x.name_of(span).encode()
    show = lambda t: "".join("\\\\" if c == "\\" else "".join("\\x%02x" % b for b in c.encode("utf-8", "surrogateescape"))
                             if ord(c) < 32 or 127 <= ord(c) < 160 or ord(c) == 0x2028 or 0xdc80 <= ord(c) <= 0xdcff else c for c in t)
    return show(name.decode("utf-8", "surrogateescape")).replace(";", ",")


def want(rbwp, path):
    """Self times of all stacks of thread spans, by names alone."""
    found = rbwp("dump", "--spans", path).json
    by_id = {s["id"]: s for s in found if s["kind"] != "gpu"}
    own = collections.Counter()

    def stack(s):
        return (stack(by_id[s["parent"]]) if s["parent"] else ()) + (s["thread_id"], clean(s))[0 if not s["parent"] else 1:]

    for s in by_id.values():
        own[stack(s)] += s["duration"]
        if s["parent"]:
            own[stack(by_id[s["parent"]])] -= s["duration"]
    return collections.Counter({k[1:]: 0 for k in own}) + sum((collections.Counter({k[1:]: v}) for k, v in own.items()), collections.Counter())


def have(rbwp, path):
    lines = rbwp("export", "--to", "folded", path).out.decode().split("\n")
    assert lines.pop() == ""
    own = collections.Counter()
    for line in lines:
        frames, number = line.rsplit(" ", 1)
        frames = frames.split(";")
        assert int(number) > 0 and len(frames) >= 3
        if not frames[1].startswith("GPU "):
            own[tuple(frames[2:])] += int(number)
    return own


@pytest.fixture
def output(work):
    return work / "summed.folded"


@pytest.fixture
def summary(rbwp, output):
    """What is reported with --json of a file that was exported, and the messages."""

    def reported(path):
        done = rbwp("export", "--to", "folded", "--json", "-o", output, path)
        file, = done.json["files"]
        return file, done

    return reported


def test_what_was_written(rbwp, summary, golden, output):
    """With --json it says what it wrote, and what it dropped; the export goes elsewhere."""
    file, done = summary(golden / "gpu_work.bin")
    spans = rbwp("dump", "--spans", golden / "gpu_work.bin").json
    assert (file["file"], file["bytes"], file["spans"]) == (str(output), output.stat().st_size, len(spans))
    assert file["first"] == min(s["begin"] for s in spans if s.get("begin") is not None) and not any(file["dropped"].values())
    done.silent()
    rows = rbwp("merge", "--to", "folded", "--csv", "files", "-f", "-o", output, golden / "gpu_work.bin").lines
    assert len(rows) == 2 and rows[0].startswith("file,bytes,spans,links,") and rows[1].startswith(f"{output},{file['bytes']},{len(spans)},")


def test_what_was_dropped(run, program, summary, work):
    """What the sentence says, kind by kind."""
    run(program("MAKE_MODEL"), work / "model.bin", "rows")
    file, done = summary(work / "model.bin")
    dropped, said = file["dropped"], [int(n) for n in re.findall(r"(\d+) ", done.error.partition("folded: dropped ")[2])]
    assert said == [n for n in dropped.values() if n] and (dropped["links"], dropped["counter_values"], dropped["points"]) == (76, 80, 4)


def test_no_span_no_first_one(summary, golden):
    nothing, _ = summary(golden / "empty.bin")
    assert (nothing["spans"], nothing["first"], nothing["last"]) == (0, None, None)


def test_json_needs_a_file(rbwp, golden):
    assert rbwp("export", "--to", "folded", "--json", golden / "gpu_work.bin", code=2).says("--json and --csv need -o FILE").out == b""


@pytest.mark.parametrize("name", ["straddle", "gaps", "multi_thread", "level1_one_thread", "level2_all_types", "gpu_work", "discard", "empty"])
def test_golden_files(rbwp, golden, name):
    path = golden / f"{name}.bin"
    assert have(rbwp, path) == want(rbwp, path)


def test_hostile_names(rbwp, work):
    x.hostile_names(work / "hostile.bin")
    assert have(rbwp, work / "hostile.bin") == want(rbwp, work / "hostile.bin")


def test_many_inside(rbwp, work):
    """The big call comes behind what is in it: then its time holds theirs, too."""
    x.many_inside(work / "many.bin")
    assert rbwp("export", "--to", "folded", work / "many.bin").text == "node 0;thread 0x9;big 700040\nnode 0;thread 0x9;small 350000\n"


def test_gpu_work(rbwp, work):
    x.overlapping_gpu(work / "overlap.bin")
    gpu = re.findall(r"^node 0;GPU 0.(\d);(.*)$", rbwp("export", "--to", "folded", work / "overlap.bin").text, re.M)
    assert sorted(gpu) == [("1", "launch 250"), ("1", "launch;launch 30"), ("2", "launch 470")]


def test_exit_codes_of_damaged_files(rbwp, golden):
    paths = [*golden.parent.glob("bad/*/input.bin"), *golden.glob("crash*.bin")]
    codes = [x.code_of(rbwp.path, path) for path in paths]
    assert {1, 3} <= set(codes)
    for path, code in zip(paths, codes):
        rbwp("export", "--to", "folded", path, code=code)
