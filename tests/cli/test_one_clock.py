# SPDX-License-Identifier: Apache-2.0
"""A time that people read is "+4.535612345s" since the run's zero, in every tool, and every filter reads it as it was printed; also in
files of several processes, whose times count from one zero."""
import re

import pytest
import rbwp_make as make
from report_page import Page

Z = 1_700_000_000_000_000_000


def write(path, node, start, slots):
    records = []
    for number, slot in enumerate(slots):
        begin = Z + start + 100_000_000 * number
        records += [(begin, "cb", slot), (begin + 1_234_567 * (number + 1), "ce")]
    data = make.file([make.block(7, 1, records)], [(slot, b"item %d" % slot) for slot in slots], zero_time=Z, node=node)
    path.write_bytes(data)


@pytest.fixture(scope="module")
def there(rbwp, shared):
    """there(word, ...): what rbwp prints in a folder with a.bin, b.bin of another node, and early.bin, which begins before the zero."""
    write(shared / "a.bin", 0, 4_535_612_345, [1, 2, 3])
    write(shared / "b.bin", 1, 5_000_000_001, [4, 5, 6])
    write(shared / "early.bin", 0, -1_500_000_000, [1, 2, 3])
    return lambda *words: rbwp(*words, cwd=shared).text


@pytest.mark.parametrize("call", [
    "stats a.bin", "stats a.bin b.bin", "timeline a.bin", "info a.bin", "tail a.bin", "tail --records a.bin", "split --every 100ms a.bin"])
def test_no_time_since_1970_is_shown(there, call):
    text = there(*call.split())
    assert not re.search("[0-9]{18}", text)
    assert re.search("\\+4\\.[56][0-9]*s", text)


def test_timeline_begins_with_its_time(there):
    assert there("timeline", "a.bin").startswith("from +4.53")


def test_time_in_tail(there):
    assert re.fullmatch(" *\\+4\\.739316046s +3\\.703 ms  thread 7  item 3\n", there("tail", "-n", "1", "a.bin"))


def behind(time):
    """One nanosecond behind it."""
    ns = int(time[:-1].replace(".", "")) + 1
    return f"{'-' if ns < 0 else '+'}{abs(ns) // 10**9}.{abs(ns) % 10**9:09}s"


def starts(there, files):
    """As stats prints them."""
    return re.findall("[+-][0-9]+\\.[0-9]{9}s", there("stats", "--by", "slot", "--top", "10", *files))


@pytest.mark.parametrize("files", [["a.bin", "b.bin"], ["early.bin"]], ids=["two", "early"])
def test_filters_read_what_stats_prints(there, files):
    """Just that call is there, by every tool."""
    times = starts(there, files)
    assert len(times) >= 3
    for time in times:
        window = ["--from", time, "--until", behind(time), *files]
        assert '"spans":1,' in there("stats", "--json", *window), time
        assert there("export", "--to", "csv", *window).count("\n") == 2, time
        assert f"from {time}, " in there("timeline", "--width", "60", *window)


def test_time_before_the_zero(there):
    assert "-1.500000000s" in starts(there, ["early.bin"])


def test_filters_of_dump(there):
    assert there("dump", "--spans", "--ndjson", "--from", "+4.535612345s", "--to", "+4.535612346s", "a.bin").count("\n") == 1


def test_page_counts_alike(there, work):
    there("report", "-o", work / "page.html", "a.bin")
    data = Page(work / "page.html").data
    assert int(data["since_zero_ns"]) == 4_535_612_345
    assert int(data["origin_ns"]) - int(data["since_zero_ns"]) == Z
