# SPDX-License-Identifier: Apache-2.0
"""The files of one recording are one process's, however it came to several: cut while it was made (rotation), dumped again and again
(flight recorder), split. Counts, arguments, samples and open spans are those of a recording in one file; a part that is missing between
others is reported."""
import collections
import json
import shutil

import pytest

ROUNDS = "600"


@pytest.fixture(scope="module")
def there(rbwp, shared):
    """there(word, ...): runs rbwp in the module's folder."""
    return lambda *words, **more: rbwp(*words, cwd=shared, **more)


@pytest.fixture(scope="module")
def record(run, program, shared):
    """record(file, option, ...): the files that it became."""
    def files(name, *options):
        run(program("MAKE_WINDOWS"), name, ROUNDS, *options, cwd=shared)
        return sorted(path.name for path in shared.glob(name.replace("%t", "*") + "*"))

    return files


@pytest.fixture(scope="module")
def counts(there):
    def of(*files, options=()):
        return sums_of(there("stats", "--json", *options, *files).json)

    return of


def sums_of(sums):
    """What does not depend on how long anything took."""
    rows = {
        (part, row["category"], row["name"]): (row["count"], row["unfinished"], row["open"])
        for part in ("work_items", "queued", "sub_items", "gpu_work", "ranges")
        for row in sums[part]
    }
    threads = sorted((t["spans"], t["unfinished"]) for t in sums["threads"])
    counters = [(c["name"], c["samples"], c["last"]) for c in sums["counters"]]
    return rows, threads, counters, sums["workers"], sums["processes"][0]["empty_polls"], len(sums["processes"])


@pytest.fixture(scope="module")
def arguments(there):
    def of(*files):
        lines = there("merge", "--to", "ndjson", "--slot", "quick", "--min-duration", "0", *files).lines
        return collections.Counter(json.loads(line)["args"]["round"] for line in lines if '"round":' in line)

    return of


@pytest.fixture(scope="module")
def plain(record):
    return record("plain.bin")[0]


@pytest.fixture(scope="module")
def whole(counts, plain):
    """What the sums of all parts are to be."""
    return counts(plain)


@pytest.fixture(scope="module")
def called(arguments, plain):
    return arguments(plain)


@pytest.fixture(scope="module")
def rotated(record):
    files = record("rot_%t.bin", "0", "-bgworkprofile_rotate", "2M")
    assert len(files) >= 3
    return files


def test_rotation(counts, arguments, rotated, whole, called):
    """Spans, ranges and sub-items are open at each cut."""
    assert counts(*rotated) == whole
    assert counts(*reversed(rotated)) == whole
    assert arguments(*rotated) == called


def test_cached_sums_of_parts(counts, rotated, whole, work):
    for _ in "written", "read":
        assert counts(*rotated, options=["--cache", work / "sums"]) == whole


def test_threads_of_one_part(there, rotated):
    assert len(there("stats", "--json", rotated[0]).json["threads"]) <= 6


def test_part_between_is_missing(there, rotated):
    """What both sides have is joined, and that is said."""
    done = there("stats", rotated[0], rotated[-1], code=3)
    done.says(f"{rotated[-1]}: goes on with part {len(rotated)} of a recording, after part 1 in {rotated[0]}")


def test_beginning_is_missing(there, rotated, work):
    """Nobody can say then who began late."""
    done = there("stats", "--json", "--findings", *rotated[1:])
    assert done.error.count(f"{rotated[1]}: begins with part 2 of a recording: what is in the parts before is dropped") == 1
    late = there("stats", "--json", "--findings", "--cache", work / "sums", *rotated[1:])
    assert "late_start" not in [f["what"] for one in (done, late) for f in one.json["findings"]]


def test_export_of_a_part(there, rotated, work):
    """Beside all parts what is in it would count twice; beside the other one it would not."""
    part, both = work / "part.json", work / "both.json"
    there("export", "-o", part, rotated[0])
    for files in (*rotated, part), (part, *rotated):
        there("merge", "-f", "-o", both, *files, code=1).says("it would count twice")
    there("merge", "-f", "-o", both, part, rotated[1])


def test_part_given_twice(there, rotated, shared, work):
    shutil.copy(shared / rotated[0], work / "copy.bin")
    there("stats", rotated[0], rotated[1], work / "copy.bin", code=1).says("is it given twice?")


@pytest.fixture(scope="module")
def dumps(record):
    """Of a flight recorder: each has some of what the one before has, none of them all."""
    names = record("keep.bin", "30", "-bgworkprofile_keep", "2M")
    return names[1:] + names[:1]


def test_flight_recorder(there, counts, arguments, dumps, whole, called):
    kept = there("stats", "--json", dumps[-1]).json
    assert kept["threads"] and sums_of(kept)[0] != whole[0], "nothing was dropped"
    complete = there("info", "--json", dumps[-1]).json["kept"][0]["from"]
    assert complete and kept["first"] >= complete
    assert counts(*dumps) == whole
    assert not arguments(*dumps) - called


def test_dumps_with_nothing_in_common(there, dumps):
    """Between two nobody can say who was idle."""
    done = there("stats", "--json", "--findings", dumps[0], dumps[-1]).says("nothing is known of")
    assert not [f for f in done.json["findings"] if "idle" in f["what"] and "gpu" not in f["what"] or f["what"] == "late_start"]


@pytest.mark.parametrize("options", [["--every", "20ms"], ["--by-thread"]], ids=["time", "thread"])
def test_split(there, counts, arguments, plain, whole, called, work, options):
    """Parts by time are cut through spans."""
    there("split", *options, "-o", work / "p.bin", plain)
    parts = sorted(work.iterdir())
    assert len(parts) > 3
    assert counts(*parts) == whole
    assert arguments(*parts) == called
    for part in parts:
        there("check", part)
    there("stats", parts[0], parts[-1], code=3).says("what is in the parts between is dropped")
