# SPDX-License-Identifier: Apache-2.0
"""What rbwp stats --findings says of files made for it: each sentence where its reason is there, none where it is
not, with the place to look at; --sort and --columns show rows as they were asked for. Guards that slots are
said to be served in turn only where no two workers were in one at once, and that names stay harmless."""
import re
import struct

import pytest
import ranges_make
import rbwp_make as m
from why_make import COMPACTION, RUN, Recording

MS = 10**6
SLOTS = [(1, b"parse"), (2, b"write"), (3, b"scan")]
STOPS = [(1, 1, 10 * i, 5) for i in range(100)] + [(2, 2, 10 * i, 5) for i in range(80)]
TURNS = [(1 + i % 2, 2, 10 * i, 8) for i in range(100)]


def made(path, calls, slots=SLOTS):
    """calls: (thread, slot, start, length), in ms."""
    records = {}
    for thread, slot, start, length in calls:
        records.setdefault(thread, []).extend([(int(1000 + start * MS), "cb", slot), (int(1000 + (start + length) * MS), "ce")])
    path.write_bytes(m.file([m.block(t, i, r) for i, (t, r) in enumerate(records.items())], slots))
    return path


@pytest.fixture
def stats(rbwp):
    return lambda *words: rbwp("stats", *words)


@pytest.fixture
def findings(stats, work):
    """Of calls, or of a file's bytes."""

    def listed(given, *options):
        path = work / "made"
        path.write_bytes(given) if isinstance(given, bytes) else made(path, given)
        return stats("--json", "--findings", *options, path).json["findings"]

    return listed


@pytest.fixture
def found(findings):
    return lambda calls, *options: {f["what"]: f for f in findings(calls, *options)}


@pytest.fixture
def text(stats, work):
    return lambda calls: stats("--findings", made(work / "made", calls)).text


def test_all_busy(stats, found, work):
    """Two workers that are busy throughout and never pass a slot to each other: all busy, nothing else. Beside the tables that were asked for."""
    even = [(w, w, 10 * i, 9.5) for w in (1, 2) for i in range(100)]
    assert set(found(even)) == {"all_busy"}
    both = stats("--json", "--by", "slot", "--findings", made(work / "made", even)).json
    assert {f["what"] for f in both["findings"]} == {"all_busy"} and [row["item"] for row in both["work_items"]] == [1, 2] and "threads" not in both


def test_nothing_stands_out(text):
    assert "nothing stands out" in text([(1, 1, 10 * i, 6) for i in range(100)])


def test_stops_early(found):
    stops = found(STOPS)["idle_at_end"]
    assert stops["thread_id"] == 2 and stops["from"] == 1000 + 795 * MS and stops["to"] == 1000 + 995 * MS
    assert stops["text"] == "thread 0x2 was idle for the last 200 ms (20.1 % of the run)"


def test_begins_late(found):
    late = found([(1, 1, 10 * i, 5) for i in range(100)] + [(2, 2, 10 * i, 5) for i in range(30, 100)])["late_start"]
    assert late["text"] == "thread 0x2 began after 300 ms (30.2 % of the run)" and late["to"] == 1000 + 300 * MS


def test_pauses(found):
    pause = found([(1, 1, 10 * i, 5) for i in range(100)] + [(2, 2, 10 * i, 5) for i in range(100) if not 40 <= i < 60])["idle"]
    assert pause["text"].startswith("thread 0x2 was idle for 205 ms on end") and pause["from"] == 1000 + 395 * MS


def test_range_outlasts_all_work(findings):
    """A range that was open for two seconds after a call of 5 ns, all the work there was: it says how long it outlasted that, and
    weighs no more than the whole run: what was lost comes first."""
    begun = ranges_make.table(1, "range", ranges_make.RANGE, [(1_000, 0, 1, 1, 10, 1, 0, 0, 0, 0)])
    lost = m.table_section(b"LOSS", [m.loss_entry(1, 12, 1, 1000, 1000)])
    work_and_range = m.file([m.block(1, 0, [(1000, "cb", 1), (1005, "ce")]), ranges_make.names(1, b"train"), *begun], SLOTS)
    first = findings(m.with_trailer(work_and_range, m.info(stop=2 * 10**9 + 1000), lost))
    said = [f["text"] for f in first]
    assert [f["weight"] for f in first[:2]] == [4, 3], first
    assert said[0].startswith("12 records were lost") and said[1].endswith("hung for 2.00 s in 'train', until this ended, 2.00 s after the last work")


# Of a dump. The program went on: who was in a call then, though longer than any that ended, is not hung, but for a second.
CALLS = [(0, 1), (10, 40.4509), (60, 20), (100, 41.0)]
RULE = b"call:parse>30ms: 40.451 ms"


def dumped(why, text, calls, opened):
    kept = m.table_section(b"KEPT", [struct.pack("<qQQQQQIIH6x", 0, 0, 0, 0, 0, 0, why, 0, len(text))], text)
    records = [r for start, length in calls for r in ((1000 + start * MS, "cb", 1), (1000 + int((start + length) * MS), "ce"))]
    blocks = [m.block(1, 0, records)] + [m.block(2 + i, 1 + i, [(1000 + start * MS, "cb", slot)]) for i, (start, slot) in enumerate(opened)]
    threads = [m.thread_entry(1 + i, os_id=71 + i, name=b"w%d" % i) for i in range(1 + len(opened))]
    names = m.table_section(b"THRD", threads, b"".join(b"w%d" % i for i in range(len(threads))))
    return m.with_trailer(m.file(blocks, SLOTS), m.info(stop=1000 + 2000 * MS), names, kept)


@pytest.fixture
def dump(findings):
    return lambda why, text, calls, opened, *options: findings(dumped(why, text, calls, opened), *options)


def test_rule_that_wrote_it(stats, dump, work):
    """Which one, and the call that met it, come first."""
    for options in [], ["--cache", work / "sums"], ["--cache", work / "sums"]:
        first, *others = dump(3, RULE, CALLS, [(1958, 1)], *options)
    assert first["what"] == "rule" and first["text"] == "a rule had this written: call:parse>30ms: 40.451 ms, in 'parse' on w0"
    assert first["from"] == 1000 + 10 * MS and first["thread_id"] == 1 and first["name"] == "parse"
    assert "hung" not in [f["what"] for f in others], others
    path = work / "made"
    assert "hung" not in stats("--color", "never", path).text and stats(path).text.startswith("still open for 42.000 ms in  parse  on  w1 ")
    assert stats("--color", "always", path).text.startswith("still open for 42.000 ms")
    assert [f["what"] for f in dump(3, RULE, CALLS, [(900, 1)])][:2] == ["rule", "hung"]  # 1.1 s
    first = dump(3, b"call:parse>30ms: 41.000 ms", CALLS, [])[0]  # the longest of all
    assert (first["from"], first["to"], first["weight"]) == (1000 + 100 * MS, 1000 + 141 * MS, 3.25)


@pytest.mark.parametrize("text", [b"queue:parse>1ms: 3.000 ms", b"call:parse>30ms: 60.000 ms", b"call:nobody>30ms: 40.451 ms", b"call:", b"call:parse", b""])
def test_rule_that_no_call_met(dump, text):
    first = dump(3, text, CALLS, [])[0]
    assert (first["what"], first["text"]) == ("rule", f"a rule had this written{': ' if text else ''}{text.decode()}") and "from" not in first


def test_dump_of_what_hangs(stats, dump, work):
    for why in (0, 2):  # it ended, or somebody asked since it hangs
        assert dump(why, b"", CALLS, [(1958, 1)])[0]["what"] == "hung"
        assert stats("--color", "always", work / "made").text.startswith("\033[31mhung for 42.000 ms")


def test_idle_longest(findings, text):
    """The three that were idle longest, in that order, whichever comes first in the file; each weighs its part of the run and of
    the workers. Of four the fourth is a number."""
    ends = [(1, 1, 0, 1000), (2, 2, 0, 700), (3, 2, 0, 400), (4, 2, 0, 600), (5, 2, 0, 200), (6, 2, 0, 500)]
    first = [f for f in findings(ends) if f["what"] == "idle_at_end"]
    assert [(f.get("thread_id"), f["weight"]) for f in first] == [(5, 0.133333), (3, 0.1), (6, 0.083333), (None, 0.001)], first
    assert first[3]["text"] == "2 more workers did nothing at its end for 10 % of the run or longer"
    more = [f["text"] for f in findings(ends[:5]) if "more worker" in f["text"]]
    assert more == ["1 more worker did nothing at its end for 10 % of the run or longer"]
    more = text([(1, 1, 0, 1000)] + [(w, 2, 0.1 * w * w + 200, 1000) for w in range(2, 7)])
    assert "2 more workers did nothing at its beginning for" in more


def test_bounds(found):
    """What is at a bound is reported, what is short of it is not: a tenth of the run and a millisecond for the idle, half of it and
    twice the others for the uneven one, a quarter for nobody and four fifths for all."""
    for calls, what in [
        ([(1, 1, 0, 1000), (2, 2, 0, 900)], "idle_at_end"), ([(1, 1, 0, 1000), (2, 2, 100, 900)], "late_start"),
        ([(1, 1, 0, 1000), (2, 2, 0, 500), (2, 2, 600, 400)], "idle"), ([(1, 1, 0, 10), (2, 2, 0, 9)], "idle_at_end"),
        ([(1, 1, 0, 500), (2, 2, 750, 250)], "uneven"), ([(1, 1, 0, 375), (2, 2, 625, 375)], "all_idle"),
        ([(1, 1, 0, 2), (2, 2, 3, 1)], "all_idle"), ([(1, 1, 0, 1000), (2, 2, 0, 800)], "all_busy"),
    ]:
        assert what in found(calls)
    for calls, what in [
        ([(1, 1, 0, 1000), (2, 2, 0, 901)], "idle_at_end"), ([(1, 1, 0, 1000), (2, 2, 99, 901)], "late_start"),
        ([(1, 1, 0, 1000), (2, 2, 0, 500), (2, 2, 599, 401)], "idle"), ([(1, 1, 0, 1), (2, 2, 0, 0.5)], "idle_at_end"),
        ([(1, 1, 0, 500), (2, 2, 749, 251)], "uneven"), ([(1, 1, 0, 499), (2, 2, 900, 100)], "uneven"),
        ([(1, 1, 0, 376), (2, 2, 625, 375)], "all_idle"), ([(1, 1, 0, 1), (2, 2, 1.9, 0.1)], "all_idle"),
        ([(1, 1, 0, 1000), (2, 2, 0, 799)], "all_busy"), ([(1, 1, 0, 1000)], "all_busy"), ([(1, 1, 0, 100), (1, 1, 900, 100)], "all_idle"),
    ]:
        assert what not in found(calls)
    weighs = {w: f["weight"] for w, f in found([(1, 1, 0, 800), (2, 2, 900, 100)]).items()}
    assert (weighs["uneven"], weighs["idle_at_end"], weighs["late_start"]) == (0.35, 0.1, 0.45)


def test_idle_gpus(findings):
    """A GPU, of half of the run on, with its longest pause; one that has no work, or is busy longer, is not. Three of them."""

    def gpus(*works):
        cpu = [(1000, "cb", 1), (1000 + 1000 * MS, "ce")]
        gpu = [(1000 + stop * MS, "gpu", number, 3, 1000 + start * MS, 1000 + stop * MS) for number, start, stop in works]
        return [f for f in findings(m.file([m.block(1, 0, cpu), m.block(9, 1, gpu)], SLOTS)) if f["what"] == "gpu_idle"]

    half, = gpus((0, 0, 250), (0, 750, 1000), (1, 0, 251), (1, 750, 1000))
    assert (half["text"], half["weight"], half["thread_id"]) == ("GPU 0x0 was idle for 50.0 % of the run, for 500 ms on end", 0.25, 0)
    assert (half["from"], half["to"]) == (1000 + 250 * MS, 1000 + 750 * MS)
    once, = gpus((5, 0, 10))
    assert once["text"] == "GPU 0x5 was idle for 99.0 % of the run" and "from" not in once
    assert [f["thread_id"] for f in gpus(*[(number, 0, 10 + number) for number in range(5)])] == [0, 1, 2]


def test_polls(findings):
    """Of a thousand polls on that found nothing, a hundred for each call that did something."""

    def polls(count, calls):
        records = [r for i in range(calls) for r in ((1000 + i * MS, "cb", 1), (1000 + i * MS + 900, "ce"))]
        info = m.section(b"INFO", struct.pack("<QIIqqQQQ", 1, 1, 2, 0, 0, 0, 0, count))
        return [f["text"] for f in findings(m.with_trailer(m.file([m.block(1, 0, records)], SLOTS), info)) if f["what"] == "polls"]

    assert polls(1000, 10) == ["1,000 polls found nothing, against 10 calls that did something"]
    assert polls(1000, 1) == ["1,000 polls found nothing, against 1 call that did something"]
    assert polls(999, 1) == polls(1000, 11) == polls(1099, 11) == [] != polls(1100, 11)


def test_queued(stats, work):
    """Work that waited longer than it ran, twenty times, and once in a hundred a millisecond."""

    def queued(rows, ran):
        QUEUED = [("enqueued", 4, 1), ("begun", 4, 2), ("thread", 1, 10), ("slot", 1, 0), ("from", 1, 0)]
        T0 = ranges_make.T0
        table = [(T0 + 10 * i, T0 + 10 * i + wait, 7, 0, 8) for i, wait in enumerate(rows)]
        ranges_make.write(work / "queued", [b"x"], ("queued", QUEUED, table), stop=ran)
        return [f["text"] for f in stats("--json", "--findings", work / "queued").json["findings"] if f["what"] == "queued"]

    assert queued([2 * MS] * 20, MS) == ["'slot 0' waited for 2.00 ms on average (p99 2.00 ms) before it ran for 1.00 ms"]
    assert queued([2 * MS] * 19, MS) == queued([MS] * 20, MS) == queued([MS // 2] * 20, 1000) == []


def few_of(slow, length, count=1000, run=2000):
    """So many calls of that length, in ms, among ones of 0.1; another worker is busy for the run."""
    return [(1, 1, length * min(i, slow) + 0.2 * max(0, i - slow), length if i < slow else 0.1) for i in range(count)] + [(2, 2, 0, run)]


def test_few_slow_calls_of_many(found):
    """They are far from the others, and worth a hundredth of the run; with why, and the place of the slowest."""
    one = found(few_of(5, 8))["slow"]
    assert re.fullmatch(r"5 of 1,000 'parse', 0\.5 %, took (39|40)\.\d ms longer than the others, (28|29) % of the time of all: no record says why", one["text"]), one
    assert one["name"] == "parse" and one["from"] == 1000 and one["thread_id"] == 1 and "cause" not in one and 0.019 < one["weight"] < 0.021
    assert found(few_of(1, 40))["slow"]["text"].startswith("1 of 1,000 'parse', 0.1 %, took 39.")
    for calls in (few_of(5, 0.9), few_of(5, 4, 20), few_of(5, 8, run=5000), [(1, 1, 100 * i, 15 if i % 50 == 49 else 8) for i in range(100)]):
        assert "slow" not in found(calls), calls[:6]
    assert found([(1, 1, 100 * i, 40 if i % 10 == 9 else 3) for i in range(100)])["slow"]["text"].startswith("10 of 100 'parse', 10 %, took 370 ms")


def test_cause_of_slow_calls(stats, rbwp, work):
    """They begin with the answer of rbwp why: each cause that is worth a tenth, with its slowest call; who is idle comes last."""
    recording = Recording().ordinary(sub=[(0.2, 0.3)])
    for start in (100, 300, 500, 700, 750):
        recording.call(2, start, 30, runnable=18, sub=[(0.5, 11)])
    file = recording.write(work / "slow")
    first, second, *others = stats("--json", "--findings", file).json["findings"]
    causes = rbwp("why", "--json", file).json["causes"]
    assert [c["text"] for c in causes[:2]] == ["was ready to run and had no CPU", "sub-item parse"] and [first["cause"], second["cause"]] == ["preempted", "sub_item"]
    assert re.fullmatch(r"5 of 105 'request', 4\.8 %, took 145 ms longer than the others, 59 % of the time of all: 62 % was ready to run and had no CPU, on t2", first["text"]), first
    assert re.fullmatch(r"'request': 3\d % of it sub-item parse, on t2", second["text"]), second
    for finding, cause in zip((first, second), causes):
        slowest = cause["evidence"][0]
        assert (finding["what"], finding["name"], finding["from"]) == ("slow", "request", slowest["start_ns"])
        assert finding["to"] - finding["from"] == slowest["duration_ns"] == 30 * MS
    assert all("idle" in f["what"] or f["what"] == "late_start" for f in others), others


def test_two_slow_names(stats, rbwp, work):
    """Each with its cause, that one first on which more hangs; text of rbwp why has the first, and a line on the other."""
    recording = Recording().ordinary().ordinary(thread=3, slot=COMPACTION)
    for start in (100, 300, 500, 700, 750):
        recording.call(2, start, 30).call(2, start + 35, 25, COMPACTION, runnable=24)
    file = recording.write(work / "two")
    first, second = [f for f in stats("--json", "--findings", file).json["findings"] if f["what"] == "slow"]
    assert (first["name"], first["cause"], second["name"], second["cause"]) == ("request", "self", "compaction", "preempted")
    assert rbwp("why", "--json", file).json["slow"]["name"] == "request"
    assert re.search(r"\nalso compaction: 5 of 105 slow, 1[12]\d ms too long \(--name\)\n", rbwp("why", file).text)


@pytest.mark.parametrize("length, shown", [(12, True), (8, False)])
def test_slow_waits_beside_slow_runs(stats, work, length, shown):
    """Waits for a lock have a line where more hangs on what threads did between waits; but not what a scheduler makes of them."""
    recording = Recording(stop=2000).ordinary(slot=RUN, runnable=0.01).wait(3, 1, 0.1, "mutex", 4096, waker=1)
    for start in (100, 300, 500, 700, 750):
        recording.call(2, start, 30, RUN, runnable=0.01).wait(3, start, length, "mutex", 4096, waker=1)
    texts = [f["text"] for f in stats("--json", "--findings", recording.write(work / "waits")).json["findings"] if f["what"] == "slow"]
    assert "'after sleep'" in texts[0] and len(texts) == 1 + shown, texts
    assert texts[1:] == [text for text in texts if text.startswith("5 of 5 'mutex' waits, 100 %, took 60.0 ms longer than the others")], texts


def test_sums_alone(stats, rbwp, work):
    """Where the files cannot be read again, the sums say which calls are slow, and the command that has the cause."""
    file = made(work / "made", few_of(5, 40))
    for _ in range(2):
        slow, = [f for f in stats("--json", "--findings", "--cache", work / "sums", file).json["findings"] if f["what"] == "slow"]
        assert re.fullmatch(r"5 of 1,000 'parse', 0\.5 %, took 201 ms longer than the others, 67 % of the time of all \(rbwp why\)", slow["text"]), slow
        assert slow["from"] == 1000 and "cause" not in slow
    assert "(rbwp why)" in rbwp("stats", "--findings", "-", stdin=file.read_bytes()).silent().text


def test_hung(dump):
    """Those that hung are reported three times, the longest first, each with its place."""
    hung = [f for f in dump(0, b"", CALLS, [(1000 + 100 * i, 1) for i in range(4)]) if f["what"] == "hung"]
    assert [(f["text"], f["thread_id"], f["weight"]) for f in hung] == [
        ("w1 hung for 1.00 s in 'parse', until this ended", 2, 2.5), ("w2 hung for 900 ms in 'parse', until this ended", 3, 2.45),
        ("w3 hung for 800 ms in 'parse', until this ended", 4, 2.4)], hung
    assert [(f["from"], f["to"]) for f in hung] == [(1000 + (1000 + 100 * i) * MS, 1000 + 2000 * MS) for i in range(3)], hung


def test_node_of_each_worker(stats, work):
    """It is reported where there are several processes, and only there."""
    two = [made(work / "left", [(1, 1, 0, 1000), (2, 2, 0, 800)]), made(work / "right", [(1, 1, 0, 1000), (2, 2, 0, 700)])]
    both = stats("--findings", *m.same_run(work, two)).text
    assert "thread 0x2 of node 1 was idle for the last 300 ms" in both and "thread 0x2 of node 0 was idle for the last 200 ms" in both


def test_choice_of_slots(found):
    """Of it nobody can say who was idle."""
    assert not {"idle", "idle_at_end", "all_idle"} & set(found(STOPS, "--slot", "2"))


def test_many_idle(text):
    """They are three sentences and a number."""
    many = text([(1, 1, 10 * i, 5) for i in range(100)] + [(w, 2, 10 * i, 5) for w in range(2, 12) for i in range(50)])
    assert many.count("idle for the last") == 3 and "7 more workers did nothing at its end" in many


def test_seven_at_most(findings):
    """A row each that stands out."""
    assert len(findings([(1 + i % 3, 1 + i % 3, 10 * (i // 3), 9 if i < 6 else 0.05) for i in range(900)])) <= 7


def test_in_turn(found):
    """By two workers, never at once. One moment together, or one worker alone for most of it, and nothing is said."""
    said = found(TURNS)["in_turn"]
    assert said["text"].startswith("2 workers serve 'write' in turn, never two at once: 80.") and said["name"] == "write"
    assert "in_turn" not in found(TURNS[:-1] + [(2, 2, 980, 8), (1, 2, 985, 8)])  # two were in it at once
    assert "in_turn" not in found([(1, 2, 10 * i, 8) for i in range(95)] + [(2, 2, 950 + 10 * i, 8) for i in range(5)])
    assert "in_turn" not in found([(t, s, a, l / 4) for t, s, a, l in TURNS] + [(3, 1, 10 * i, 8) for i in range(100)])  # less than a quarter of the run


def test_more_calls_than_are_kept(found):
    """When one worker's are cut off, nothing is said of what others do later, while it is there."""
    crowd = [(1, 2, i / 50, 1 / 60) for i in range(6000)]
    assert "in_turn" not in found(crowd + [(2 + i % 2, 2, 60 + i / 50 + 0.01, 1 / 60) for i in range(2000)])


def test_uneven(found):
    uneven = found([(1, 1, 10 * i, 9) for i in range(100)] + [(2, 2, 10 * i, 1) for i in range(100)])["uneven"]
    assert uneven["text"] == "thread 0x1 was busy for 90.1 % of the run, the other for 10.0 %"


def test_idle_threads_of_a_pool_are_not_uneven(stats, work):
    """Who is there and not needed has no share of the work; where another one works, too, it is compared with that one alone."""
    def uneven(made):
        listed = stats("--json", "--findings", made.write(work / "pool.bin")).json["findings"]
        return [f["text"] for f in listed if f["what"] == "uneven"]

    pool = Recording(4).ordinary(100, every=10, length=9).call(2, 0, 900, blocked=899).call(3, 0, 900, blocked=899)
    assert uneven(pool) == []
    assert uneven(pool.ordinary(100, thread=4, every=10)) == ["t1 was busy for 90.4 % of the run, the other for 10.3 %"]


def test_nobody_busy(found):
    assert found([(w, w, 10 * i, 2) for w in (1, 2)
                  for i in range(100)])["all_idle"]["text"].startswith("nobody was busy for 79.8 % of the run (792 ms in all)")


def test_order_by_weight(findings):
    """Of each kind: who was idle stands behind all else."""
    found = [(f["what"], f["weight"]) for f in findings([(1, 1, 0, 800), (2, 2, 900, 100)])]
    assert [what for what, _ in found] == ["uneven", "late_start", "idle_at_end", "all_idle"][:len(found)] and found[1:] == sorted(found[1:], key=lambda f: -f[1])


def test_names_cannot_move_a_cursor(stats, work):
    slots = [SLOTS[0], (2, b"\x1b[2J" + "\u2713".encode() * 50), SLOTS[2]]  # three bytes each: the name is cut inside of one
    evil = stats("--findings", made(work / "evil", TURNS, slots)).text
    assert "\033" not in evil and "workers serve" in evil and "[2J" + "\u2713" * 18 + ".." in evil


def test_order_and_columns(stats, work):
    """They are those that were asked for."""
    path = made(work / "rows", [(1, 1, 10 * i, 1) for i in range(10)] + [(1, 2, 500 + 10 * i, 5) for i in range(4)] + [(1, 3, 900, 3)])
    names = lambda *options: [r["name"][:4] for r in stats("--json", "--by", "slot", *options, path).json["work_items"]]
    assert names() == names("--sort", "total") == names("--sort", "share") == [names()[0], "pars", "scan"]
    assert names("--sort", "count")[0] == "pars" and names("--sort", "id")[0] == "pars" and names("--sort", "p99")[1:] == ["scan", "pars"]
    assert names("--sort", "name") == sorted(names("--sort", "name"))
    head, *rows = stats("--by", "slot", "--sort", "count", "--columns", "p99,count,kind,name", path).text.split("Work items\n")[1].splitlines()
    assert head.split() == ["p99", "count", "kind", "name"]
    assert rows[0].split() == ["1.00", "ms", "10", "bgwork", "parse"]


@pytest.mark.parametrize("options", ["--sort thing", "--columns p99,p99", "--columns p99,,count", "--columns="])
def test_refused_options(stats, rbwp, golden, options):
    assert rbwp("stats", *options.split(), golden / "gaps.bin", code=2).in_one_line().out == b""
