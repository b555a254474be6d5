# SPDX-License-Identifier: Apache-2.0
"""Spans equal a pairing done here from the plain dump, and hard cases do what the manual says:
straddling blocks, blocks out of order, unfinished and stray spans, damage in between."""
import json
import random

import pytest
import rbwp_make as m


def spans(rbwp, path, code=0):
    return rbwp("dump", "--spans", path, code=code).json


def pair(full):
    """All spans of a well-formed file as (thread, kind, item, slot, parent's begin, depth, begin, end)."""
    stacks, out = {}, []
    for b in sorted(full["blocks"], key=lambda b: b["sequence"]):
        stack = stacks.setdefault(b["thread_id"], [])
        for r in b["records"]:
            if r["type"].endswith("_BEGIN"):
                item = r.get("slot", r.get("sub_item"))
                stack.append((r["type"][:-6].lower(), item, r["ts"], next((s[1] for s in stack if s[0] == "coarse"), None)))
            elif r["type"].endswith("_END"):
                kind, item, begin, slot = stack.pop()
                assert kind == r["type"][:-4].lower()
                parent = stack[-1][2] if stack else None
                out.append((b["thread_id"], kind, item, item if kind == "coarse" else slot, parent, len(stack), begin, r["ts"]))
            else:
                out.append((b["thread_id"], "gpu", r["proc_id"], r["slot"], None, 0, r["start"], r["stop"]))
    return out, stacks


def flat(found):
    by_id = {s["id"]: s for s in found}
    return [(s["thread_id"], s["kind"], s[{"coarse": "slot", "fine": "sub_item", "gpu": "proc_id"}[s["kind"]]], s["slot"],
             by_id[s["parent"]]["begin"] if s["parent"] else None, s["depth"], s["begin"], s["end"]) for s in found if s["finished"]]


key = lambda t: tuple((x is not None, x) for x in t)


@pytest.mark.parametrize("name", ["straddle", "gaps", "multi_thread", "level1_one_thread", "level2_all_types", "level2_all_types_zlib", "gpu_work", "discard",
                                  "empty"])
def test_same_as_paired_here(rbwp, golden, name):
    path = f"{golden}/{name}.bin"
    dumped = rbwp("dump", path).json
    want, open_stacks = pair(dumped)
    found = spans(rbwp, path)
    assert not any(open_stacks.values()) and all(s["finished"] for s in found)
    assert sorted(flat(found), key=key) == sorted(want, key=key)
    named = {i["slot"] for i in dumped["work_items"]}
    for s in found:
        assert s["duration"] == (s["end"] - s["begin"] if s["end"] >= s["begin"] else None)
        assert (s["name"] is not None) == (s["kind"] == "fine" or s["slot"] in named)
        assert s["file"] == path
    assert [json.loads(l) for l in rbwp("dump", "--spans", "--ndjson", path).lines] == found
    with open(path, "rb") as file:
        piped = rbwp("dump", "--spans", "-", stdin=file.read()).json
    assert [dict(s, file=path) for s in piped] == found


def test_call_that_straddles_two_blocks(rbwp, golden):
    """It is one span."""
    blocks = rbwp("dump", f"{golden}/straddle.bin").json["blocks"]
    first = next(r["ts"] for b in sorted(blocks, key=lambda b: b["sequence"])[1:] for r in b["records"])
    assert any(s["end"] == first and s["begin"] < first for s in spans(rbwp, f"{golden}/straddle.bin"))


def test_two_files(rbwp, golden):
    """One array, each span says whose it is."""
    paths = [f"{golden}/gaps.bin", f"{golden}/straddle.bin"]
    assert rbwp("dump", "--spans", *paths).json == spans(rbwp, paths[0]) + spans(rbwp, paths[1])
    assert spans(rbwp, f"{golden}/empty.bin") == []


@pytest.fixture
def make(work):

    def made(name, blocks):
        path = work / name
        path.write_bytes(m.file(blocks, [(1, b"one"), (2, b"two")], [(5, 1, b"five")]))
        return path

    return made


def calls(start, count):
    return [r for i in range(count) for r in ((start + 20 * i, "cb", 1), (start + 20 * i + 5, "fb", 5), (start + 20 * i + 9, "fe"),
                                              (start + 20 * i + 12, "ce"))]


def test_blocks_out_of_order(rbwp, make):
    """Inside the window: as if in order; the split is inside calls."""
    r = random.Random(3)
    shuffled, ordered = [], []
    for thread in (7, 8, 9):
        records = calls(10000 * thread, 60)
        ordered += [m.block(thread, 100 * i + thread, records[7 * i:7 * i + 7], compress=i % 2 == 0) for i in range(len(records) // 7 + 1)
                    if records[7 * i:7 * i + 7]]
    want = sorted(flat(spans(rbwp, make("ordered", ordered))), key=key)
    assert len(want) == 3 * 120
    for i in range(0, len(ordered), 30):
        part = ordered[i:i + 30]
        r.shuffle(part)
        shuffled += part
    assert shuffled != ordered
    assert sorted(flat(spans(rbwp, make("shuffled", shuffled))), key=key) == want


def test_numbers_wrap_around(rbwp, make):
    """At 2^32."""
    records = calls(1000, 8)
    wrapped = [m.block(1, (2**32 - 2 + i) % 2**32, records[5 * i:5 * i + 5]) for i in range(7)]
    wrapped[1], wrapped[2] = wrapped[2], wrapped[1]
    assert len(flat(spans(rbwp, make("wrapped", wrapped)))) == 16


def test_block_later_than_the_window(rbwp, make):
    """It is reported, exit 3, JSON valid, nothing lost but the pairing."""
    late = [m.block(1, i, [(1000 + i, "fb", 5), (1000 + i, "fe")]) for i in range(1, 100)]
    late.append(m.block(1, 0, [(500, "cb", 1), (600, "ce")]))
    done = rbwp("dump", "--spans", make("late", late), code=3).says("out of order by more than 64 blocks")
    assert len(done.json) == 100


def test_unfinished_and_stray(rbwp, make):
    path = make("broken", [m.block(1, 0, [
        (100, "ce"),                                                          # stray
        (110, "cb", 1), (120, "fb", 5), (130, "ce"),                          # the sub-item is unfinished
        (140, "cb", 1), (150, "fb", 5), (160, "cb", 2), (170, "ce"),          # the first call and its sub-item are
        (180, "cb", 1), (190, "fe"), (200, "ce"),                             # stray, inside a call
        (210, "fb", 5), (220, "cb", 2), (230, "fe"), (240, "ce"), (250, "fe"),  # a fine end does not leave its call
        (260, "gpu", 77, 2, 900, 800),                                        # ends before it begins
        (270, "cb", 2)])])                                                    # open at the end
    done = rbwp("dump", "--spans", path).says("1 span was still open when it ended", "3 unfinished spans, 3 ends without a begin")
    found = [(s["kind"], s["begin"], s["end"], s["finished"], s.get("stray", False), s["depth"]) for s in done.json]
    assert found == [
        ("coarse", None, 100, False, True, 0),
        ("fine", 120, None, False, False, 1), ("coarse", 110, 130, True, False, 0),
        ("fine", 150, None, False, False, 1), ("coarse", 140, None, False, False, 0), ("coarse", 160, 170, True, False, 0),
        ("fine", None, 190, False, True, 1), ("coarse", 180, 200, True, False, 0),
        ("fine", None, 230, False, True, 2), ("coarse", 220, 240, True, False, 1), ("fine", 210, 250, True, False, 0),
        ("gpu", 900, 800, True, False, 0),
        ("coarse", 270, None, False, False, 0)]
    assert [s["open_until"] for s in done.json if s.get("open")] == [270]
    assert next(s for s in done.json if s["kind"] == "gpu")["duration"] is None


def specified(records):
    """(kind, begin, end) of all spans; None: it has none."""
    call, subs, out = None, [], []  # subs: [begin, whether in the open call]

    def end_call(end):
        out.extend(("fine", begin, None) for begin, inside in subs if inside)
        subs[:] = [sub for sub in subs if not sub[1]]
        out.append(("coarse", call, end))

    for time, kind, *_ in records:
        if kind == "cb":
            if call is not None:
                end_call(None)
            call = time
        elif kind == "ce":
            end_call(time)
            call = None
        elif kind == "fb":
            subs.append((time, call is not None))
        else:
            out.append(("fine", subs.pop()[0] if subs and (call is None or subs[-1][1]) else None, time))
    end_call(None)
    return sorted((str(span) for span in out + [("fine", begin, None) for begin, _ in subs] if span[1:] != (None, None)))


def test_any_order(rbwp, make):
    """Begins and ends in any order are paired as SPEC.md says (section 5.2, "Pairing"), which specified() was written from."""
    for seed in range(40):
        r = random.Random(seed)
        records = [(1000 + 7 * i, *r.choice((("cb", 1), ("ce",), ("fb", 5), ("fe",)))) for i in range(r.randrange(1, 200))]
        cut = r.randrange(len(records))
        path = make("crossed", [m.block(1, i, part) for i, part in enumerate((records[:cut], records[cut:])) if part])
        assert sorted(str((s["kind"], s["begin"], s["end"])) for s in spans(rbwp, path)) == specified(records), (seed, records)


def test_damage_between_begin_and_end(rbwp, make):
    """Never a span across the gap."""
    good = [m.block(1, 0, [(100, "cb", 1)]), m.block(1, 1, [(110, "ce"), (120, "cb", 2)]), m.block(1, 2, [(130, "ce")])]
    bad = bytearray(good[1])
    bad[32 + 8] = 0x55
    found = spans(rbwp, make("gap", [good[0], bytes(bad), good[2]]), code=3)
    assert [(s["begin"], s["end"], s["finished"]) for s in found] == [(100, None, False), (None, 130, False)], found


def test_deep_nesting(rbwp, make):
    """It stays linear and its ends are found."""
    deep = [(i, "fb", 5) for i in range(20000)] + [(30000 + i, "fe") for i in range(20000)]
    found = spans(rbwp, make("deep", [m.block(1, 0, deep)]))
    assert len(found) == 20000 and found[0]["depth"] == 19999 and all(s["finished"] for s in found)
