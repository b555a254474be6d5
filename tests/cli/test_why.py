# SPDX-License-Identifier: Apache-2.0
"""Why calls are slow. Guards: the slow calls are found by rank and a gap, each cause is named with who and where, shares of
the excess add up, what slow and ordinary calls share is no cause, what no table shows is unknown, and without slow calls no cause is named."""
import pytest
from test_unwind import Stack, build_id
from why_make import COMPACTION, FLUSH, MS, REAP, REQUEST, RUN, T, Recording

SLOW = (100, 300, 500, 700, 750)  # ms; calls there are between ordinary ones


def slow(recording, length=30, thread=2, **more):
    for start in SLOW:
        recording.call(thread, start, length, **more)
    return recording


def why(rbwp, work, recording, *words):
    return rbwp("why", "--json", *words, recording.write(work / "w.bin")).json


def first(found, cause):
    """The first cause is this one; causes and the unknown add up to the excess, which is 29 ms of each of five calls."""
    assert found["causes"][0]["cause"] == cause
    assert found["slow"]["calls"] == 5
    total = sum(c["excess_ns"] for c in found["causes"]) + found["unknown"]["excess_ns"]
    assert abs(total - found["slow"]["excess_ns"]) <= 5
    assert found["causes"][0]["share"] > 0.95
    return found["causes"][0]


def test_nothing_is_slow(rbwp, work):
    found = why(rbwp, work, Recording().ordinary().ordinary(thread=2, length=1.1))
    assert found["causes"] == [] and found["slow"]["calls"] == 0 and found["calls"] == 200
    assert "nothing stands out: 200 calls" in rbwp("why", work / "w.bin").text


def test_own_time(rbwp, work):
    found = why(rbwp, work, slow(Recording().ordinary()))
    cause = first(found, "self")
    assert found["schema"] == "rbwp-why-1" and found["slow"]["name"] == "request"
    assert found["slow"]["excess_ns"] == pytest.approx(5 * 29 * MS, rel=0.01)
    assert cause["where"] == {"name": "request", "thread": "t2"} and cause["calls"] == 5
    assert {e["thread"] for e in cause["evidence"]} == {"t2"} and len(cause["evidence"]) == 3
    assert (cause["evidence"][0]["start_ns"] - T) // MS in SLOW and cause["evidence"][0]["duration_ns"] == 30 * MS
    assert cause["bound_ns"] <= cause["excess_ns"]


def test_slow_by_a_little_is_ordinary(rbwp, work):
    """Calls that are late by what a scheduler does everywhere are no cause; a quarter of slow ones is."""
    little = Recording()
    little.ordinary(length=1, thread=1)
    for i in range(60):
        little.call(2, i * 10, 1 + i % 6 * 0.3)
    assert why(rbwp, work, little)["causes"] == []
    many = Recording().ordinary(80)
    for i in range(24):
        many.call(2, i * 40, 30)
    assert why(rbwp, work, many)["slow"]["calls"] == 24


@pytest.mark.parametrize("more, cause", [({"runnable": 28}, "preempted"), ({"faults": 9000}, "page_faults"), ({"blocked": 29, "major": 40}, "io"),
                                         ({"sub": [(0.5, 29)]}, "sub_item")])
def test_of_the_call_itself(rbwp, work, more, cause):
    found = first(why(rbwp, work, slow(Recording().ordinary(sub=[(0.2, 0.3)]), **{"sub": [(0.2, 0.3)], **more})), cause)
    assert found["where"]["name"] == ("parse" if cause == "sub_item" else "request")
    assert found["where"].get("faults") == (45000 if cause == "page_faults" else None)


def test_what_all_share_is_no_cause(rbwp, work):
    """All are ready to run for as long; the slow ones run longer."""
    found = why(rbwp, work, slow(Recording().ordinary(length=3, runnable=2), length=30, runnable=2))
    assert [c["cause"] for c in found["causes"]] == ["self"]


def test_blocked_is_unknown(rbwp, work):
    found = why(rbwp, work, slow(Recording().ordinary(), blocked=29))
    assert found["causes"] == [] and found["unknown"]["share"] > 0.98
    assert found["unknown"]["blocked_ns"] == pytest.approx(found["slow"]["excess_ns"], rel=0.01)
    assert "blocked" in rbwp("why", work / "w.bin").text


def test_lock_by_a_row(rbwp, work):
    """The waker had waited itself: who held it all the time is the root."""
    made = slow(Recording(4).ordinary(), blocked=29)
    for start in SLOW:
        made.wait(2, start + 0.5, 29, "mutex", 4096, waker=3).wait(3, start - 0.5, 29.9, "mutex", 4096, waker=4).call(4, start - 2, 32, COMPACTION)
    cause = first(why(rbwp, work, made), "lock")
    assert cause["where"]["lock"] == "mutex" and cause["where"]["object"] == 4096
    assert cause["by"] == {"thread": "t4", "name": "compaction"}
    text = rbwp("why", work / "w.bin").text
    assert "1. lock: waited for a lock: mutex 4096" in text and "ended by t4, in compaction" in text


def test_lock_by_a_look(rbwp, work):
    made = slow(Recording().ordinary(), blocked=29)
    for start in SLOW:
        made.look(2, start, 8192, holder=3, system_call=203).call(3, start - 2, 32, COMPACTION)
    cause = first(why(rbwp, work, made), "lock")
    assert cause["by"] == {"thread": "t3", "name": "compaction"} and cause["where"]["object"] == 8192


@pytest.mark.parametrize("waker, looks", [(3, ()), (0, (3,)), (4, (3,))])
def test_holder_of_a_lock_waits(rbwp, work, waker, looks):
    """The holder is named with the one that it waited for; looks know it where rows do not, or have another one that waited."""
    made = slow(Recording(4).ordinary(), blocked=29)
    for start in SLOW:
        made.wait(2, start + 0.5, 29, "mutex", 4096, waker).wait(3, start, 29.8, "condition variable", 8192, waker=1).call(1, start - 2, 32, COMPACTION)
        for holder in looks:
            made.look(2, start, 4096, holder)
    assert first(why(rbwp, work, made), "lock")["by"] == {"holder": "t3", "thread": "t1", "name": "compaction"}
    assert "ended by t3, which waited for t1, in compaction" in rbwp("why", work / "w.bin").text


def test_system_call(rbwp, work):
    """By its name, where the recording has it; else by its number."""
    for called, shown in ("fdatasync", "for a file or device, in fdatasync;"), (None, "for a file or device, in system call 75;"):
        made = slow(Recording().ordinary(), blocked=29)
        for start in SLOW:
            made.look(2, start, system_call=76, called=called)
        where = first(why(rbwp, work, made), "io")["where"]
        assert where["system_call"] == 76 and where.get("system_call_name") == called
        assert shown in rbwp("why", work / "w.bin").text


PATH = "innermost < middle < outer < main"


@pytest.mark.parametrize("look, path", [({"after": 20}, PATH), ({"after": 20, "system_call": 76}, None), ({"after": 5}, None)],
                         ids=("it runs", "it is blocked", "long before its end"))
def test_code_of_slow_calls(rbwp, work, run, program, look, path):
    """A real stack, for own time at which looks found the call running: where it was, and where that one was who had the lock meanwhile."""
    stack = Stack(run, program("UNWIND_VICTIM_O2"))
    made, waits = slow(Recording().ordinary()), slow(Recording().ordinary(), blocked=29)
    for recording in made, waits:
        for start, end, offset, name in stack.files:
            recording.file(start, end, offset, name, build_id(name) if name.startswith("/") else "")
    for start in SLOW:
        made.look(2, start, words=stack.words, **look)
        waits.wait(2, start + 0.5, 29, "mutex", 4096, waker=3).call(3, start - 2, 32, COMPACTION).look(3, start - 2, words=stack.words, **look)
    assert first(why(rbwp, work, made), "self")["where"].get("stack") == path
    assert (f"\n     at {PATH}\n" in rbwp("why", work / "w.bin").text) == bool(path)
    assert (f"100 % its own CPU time, on t2, at {PATH}\n" in rbwp("stats", "--findings", work / "w.bin").text) == bool(path)
    by = first(why(rbwp, work, waits), "lock")["by"].get("stack")
    assert by == (PATH if look["after"] == 20 else None)
    assert (f"ended by t3, in compaction, at {PATH}\n" in rbwp("why", work / "w.bin").text) == bool(by)


@pytest.mark.parametrize("others, by", [((3,), {"thread": "t3", "name": "compaction"}), ((), None), ((3, 4), None)], ids=("one ends with it", "none does", "two do"))
def test_condition_that_a_call_makes_true(rbwp, work, others, by):
    """Looks find the call in a futex; who ended that is in no table. The one call of another name that lasted as long and ended with it is named."""
    made = slow(Recording(4).ordinary(), blocked=29)
    for start in SLOW:
        made.look(2, start, system_call=203)
        for thread in others:
            made.call(thread, start + 1, 29.01, COMPACTION, blocked=29)
    cause = first(why(rbwp, work, made), "wait")
    assert cause.get("by") == by and cause["where"]["system_call"] == 203


def test_reaping_is_no_slow_call(rbwp, work):
    """Our own work item that asks GPUs what has ended; asked for by name it is one."""
    made = Recording().ordinary()
    for i in range(40):
        made.call(2, i * 20, 15 if i % 10 == 5 else 0.1, REAP)
    assert why(rbwp, work, made)["causes"] == []
    assert why(rbwp, work, made, "--name", "gpu reap*")["slow"]["calls"] == 4


def test_other_waits(rbwp, work):
    made = slow(Recording().ordinary(), blocked=29)
    for start in SLOW:
        made.wait(2, start + 0.5, 28.5, "fsync", 7)
    assert first(why(rbwp, work, made), "io")["where"]["wait"] == "fsync"


def test_behind_and_queue(rbwp, work):
    """What the worker did meanwhile is 'behind'; where it did nothing it is the queue."""
    made = Recording().ordinary(queued=lambda i: i * 8 - 0.1)
    for start in SLOW:
        made.call(2, start, 30, COMPACTION).call(2, start + 30.1, 1, queued=start + 0.5)
    cause = first(why(rbwp, work, made, "--name", "request"), "behind")
    assert cause["by"]["name"] == "compaction" and cause["by"]["thread"] == "t2"
    assert all(((e["start_ns"] - T) / MS - 0.5) in SLOW and e["duration_ns"] == 30.6 * MS for e in cause["evidence"]), "it has the time in the queue"
    made = Recording().ordinary(queued=lambda i: i * 8 - 0.1)
    for start in SLOW:
        made.call(2, start + 30, 1, queued=start)
    first(why(rbwp, work, made), "queue")


def test_argument(rbwp, work):
    """Calls with tenant=7 are slow; that each has an id of its own is none."""
    def tenants(count):
        made = Recording().ordinary(tenant=lambda i: i % 6, id=lambda i: i)
        for i, start in enumerate(SLOW[:count]):
            made.call(2, start, 30, tenant=7, id=1000 + i)
        for i, start in enumerate(SLOW[count:]):
            made.call(2, start, 30, tenant=i, id=2000 + i)
        return made
    assert first(why(rbwp, work, tenants(5)), "argument")["where"]["argument"] == {"key": "tenant", "value": "7"}
    assert first(why(rbwp, work, tenants(2)), "self")["where"].get("argument") is None


def test_all_stand_still(rbwp, work):
    """Three threads work all the time; then none does for 40 ms. Where one runs, they do not stand still."""
    def threads(runs):
        made = Recording(4)
        for thread in (1, 2, 3):
            for i in range(120):
                start = i * 4 + (40 if i >= 60 else 0)
                made.call(thread, start + thread * 0.1, 41 if i == 59 else 1, **({"blocked": 40} if i == 59 else {}))
        if runs:
            made.call(4, 200, 100, COMPACTION)
        return made
    found = why(rbwp, work, threads(False))
    assert found["causes"][0]["cause"] == "everyone" and found["causes"][0]["calls"] == 3 and found["causes"][0]["share"] > 0.9
    assert "everyone" not in [c["cause"] for c in why(rbwp, work, threads(True))["causes"]]


def test_period(rbwp, work):
    made = Recording().ordinary(200, every=5)
    for i in range(8):
        made.call(2, 60 + i * 110, 30)
    found = why(rbwp, work, made)
    assert found["slow"]["period"]["every_ns"] == pytest.approx(110 * MS, rel=0.02) and found["slow"]["period"]["for_ns"] == pytest.approx(30 * MS, rel=0.02)
    assert "every 110 ms, for 30.0 ms" in rbwp("why", work / "w.bin").text
    assert "period" not in why(rbwp, work, slow(Recording().ordinary()))["slow"]


@pytest.mark.parametrize("kind, cause, delay, named", [("mutex", "lock", 25, "preempted"), ("barrier", "wait", 25, "preempted"), ("mutex", "lock", 10, "lock"),
                                                       ("barrier", "wait", 10, "wait")])
def test_waker_that_slept_too_long(rbwp, work, kind, cause, delay, named):
    """Who was to end the wait slept, and then had no CPU: for most of the wait, or for less."""
    made = Recording().ordinary(slot=RUN)
    for i in range(20):
        made.wait(2, 10 + i, 0.1, kind, 4096, waker=3)
    for start in SLOW:
        made.wait(2, start, 30, kind, 4096, waker=3).wait(3, start - 1, 31, "sleep", delay=delay)
    found = why(rbwp, work, made)["causes"][0]
    assert (found["cause"], found["by"]) == (named, {"thread": "t3", "wait": "sleep"}), found
    assert found["text"].startswith("who was to end the wait was ready to run") == (named == "preempted")


@pytest.mark.parametrize("delay, named", [(6, "preempted"), (0, "lock")])
def test_lock_that_goes_from_hand_to_hand(rbwp, work, delay, named):
    """Of those who had it one after the other none had no CPU for half of the wait, but together they had."""
    made = Recording().ordinary(slot=RUN)
    for start in SLOW:
        made.wait(1, start - 1, 10, "sleep", delay=delay).wait(3, start - 2, 17, kind="mutex", object=4096, waker=1, delay=delay)
        made.wait(3, start + 16, 12, "sleep", delay=2 * delay).wait(2, start, 30, "mutex", 4096, waker=3)
    found = why(rbwp, work, made)
    assert (found["causes"][0]["cause"], found["causes"][0]["by"]) == (named, {"thread": "t3"}) and found["slow"]["name"] == "mutex", found


def test_waits_of_which_nobody_knows_the_end(rbwp, work):
    """A scheduler makes them a little longer now and then, too: that is no news. Where they are long it is."""
    for length, named in (8, []), (30, ["wait"]):
        made = Recording().ordinary(every=10)
        for start in SLOW:
            made.call(2, start, length, blocked=length - 1).wait(2, start + 0.5, length - 1, "semaphore")
        assert [cause["cause"] for cause in why(rbwp, work, made)["causes"]] == named


@pytest.mark.parametrize("held_back", [False, True])
def test_unmodified_programs(rbwp, work, held_back):
    """Run intervals are no calls of work items; waits for locks are slow, waits for work are not, nor what holds a thread back at first."""
    made = Recording().ordinary(slot=RUN).wait(2, 1, 90 if held_back else 0.1, "mutex", 4096, waker=1)
    for start in SLOW:
        made.wait(2, start, 30, "mutex", 4096, waker=3).wait(3, start - 1, 31, "sleep").wait(1, start + 1, 40, "condition variable", 1, 2)
    found = why(rbwp, work, made)
    assert found["slow"]["name"] == "mutex"
    assert first(found, "lock")["by"] == {"thread": "t3", "wait": "sleep"}


def waits_for_work(kind, home, object=0, waker=0):
    """Of an unmodified program: t2 waits for 1 ms 60 times, and five times for 30 ms; each thread's first and last wait are not looked at."""
    made = Recording(4).ordinary(slot=RUN, thread=1)
    for i in range(60):
        if all(not start - 3 < 15 * i < start + 33 for start in SLOW):
            made.wait(2, 15 * i, 1, kind, home, waker)
    for start in SLOW:
        made.wait(2, start, 30, kind, object or home, waker)
    return made.wait(2, 960, 1, kind, home, waker)


def at_work(made, start):
    made.call(3, start + 1, 28, FLUSH)


def behind_another(made, start):
    made.wait(3, start + 1, 28, "futex", 3, 4).call(4, start - 1, 31.5, FLUSH)


def in_a_file(made, start):
    made.wait(3, start + 1, 28, "fsync")


def idle(made, start):
    made.wait(3, start - 40, 69, "epoll", 7).call(3, start + 29.2, 0.5, RUN)


def asleep(made, start):
    made.wait(3, start + 1, 28, "sleep")


def idle_in_turns(made, start):
    for i in range(14):
        made.wait(3, start + 2 * i, 1.2, "epoll", 7).call(3, start + 2 * i + 1.2, 0.7, RUN)


def idle_beside_a_crowd(made, start):
    idle_in_turns(made, start)
    for i in range(1000):  # more than are kept, and longer
        made.wait(4, start + 0.1 * i, 2, "epoll", 7)


@pytest.mark.parametrize("waker, by", [(at_work, {"thread": "t3", "name": "after fsync"}), (behind_another, {"thread": "t4", "holder": "t3", "name": "after fsync"}),
                                       (in_a_file, {"thread": "t3", "wait": "fsync"}), (idle, None), (asleep, None), (idle_in_turns, None), (idle_beside_a_crowd, None)])
@pytest.mark.parametrize("kind", ["condition variable", "semaphore"])
def test_waits_for_who_is_at_work(rbwp, work, kind, waker, by):
    """A thread that waits for work says nothing by that; one that waits for another one's work does, whatever the object is."""
    made = waits_for_work(kind, 9, 8, waker=3)
    for start in SLOW:
        waker(made, start)
    found = why(rbwp, work, made)
    if by:
        cause = first(found, "wait")
        assert found["slow"]["name"] == kind and cause["by"] == by and cause["where"]["object"] == 8
        assert "\n     ended by " in rbwp("why", work / "w.bin").text
    else:
        assert found["causes"] == [], found
    assert first(why(rbwp, work, made, "--name", kind), "wait"), "what was asked for is shown"


def test_idle_waits_are_no_excess(rbwp, work):
    """Of two names that one comes first on whose slow calls more time hangs; idle waits are none."""
    made = waits_for_work("condition variable", 9, 8, waker=3)
    for start in SLOW:
        made.call(3, start + 1, 28, FLUSH).call(1, start + 8, 45, RUN).wait(4, start, 90, "condition variable", 9)
    made.wait(4, 10, 1, "condition variable", 9).wait(4, 950, 1, "condition variable", 9)
    assert why(rbwp, work, made)["slow"]["name"] == "after sleep"


def test_waits_for_slow_calls(rbwp, work):
    """Calls that are slow themselves come first; that threads wait for them is no cause."""
    made = waits_for_work("condition variable", 9, 8, waker=3)
    for start in SLOW:
        made.call(3, start + 1, 28, RUN)
    assert first(why(rbwp, work, made), "self")["where"] == {"name": "after sleep", "thread": "t3"}


@pytest.mark.parametrize("first_and_last", [False, True])
def test_the_first_and_the_last_wait(rbwp, work, first_and_last):
    """Before its first work a thread waits for the program to start, behind its last for the end."""
    made = Recording(3, stop=3000).ordinary(slot=RUN, thread=1)
    for i in range(60):
        made.wait(2, 1010 + 15 * i, 1, "condition variable", 9, 3)
    for start in (0, 2000):
        made.wait(2, start, 900, "condition variable", 8, 3).call(3, start, 890, FLUSH)
    if not first_and_last:
        made.wait(2, -10, 1, "condition variable", 8, 3).wait(2, 2950, 1, "condition variable", 8, 3)
    made.calls = [call for call in made.calls if call[0] == 3]
    found = why(rbwp, work, made)
    assert [cause["cause"] for cause in found["causes"]] == ([] if first_and_last else ["wait"])


@pytest.mark.parametrize("object, causes", [(8, ["wait"]), (4, [])])
@pytest.mark.parametrize("kind", ["epoll", "condition variable"])
def test_waits_elsewhere(rbwp, work, kind, object, causes):
    """Who is idle at one object, and waits at another one now and then, waits for something there."""
    made = waits_for_work(kind, 4, object, 3)
    for start in SLOW:
        at_work(made, start)
    found = why(rbwp, work, made)
    assert [cause["cause"] for cause in found["causes"]] == causes
    assert not causes or first(found, "wait")["where"]["object"] == 8
    assert not causes or kind != "epoll" or "1. wait: waited: epoll 8, in which it seldom waits; " in rbwp("why", work / "w.bin").text


@pytest.mark.parametrize("count, runs, slow", [(12, 150, "after sleep"), (12, 100, None), (8, 60, "after sleep")])
def test_work_of_a_program(rbwp, work, count, runs, slow):
    """Of run intervals more than a tenth take long, of CPU time: that is what the program does; who asks sees it."""
    made = Recording(3, stop=1000).ordinary(runs, every=4, slot=RUN)
    for i in range(count):
        made.call(2, 20 + 80 * i, 30, RUN)
    assert why(rbwp, work, made)["slow"].get("name") == slow
    assert why(rbwp, work, made, "--name", "after*")["slow"]["name"] == "after sleep"


@pytest.mark.parametrize("count, first_name", [(12, "mutex"), (4, "after sleep")])
def test_work_that_is_no_exception(rbwp, work, count, first_name):
    """Own CPU time of many run intervals may be what the program is for: waits for others come first, that of a few does not."""
    made = Recording(3, stop=1200).ordinary(150, every=5, slot=RUN)
    for i in range(count):
        made.call(3 if i == 1 else 2, 20 + 80 * i, 240 / count, RUN)
    for start in SLOW:
        made.wait(1, start, 30, "mutex", 4096, waker=2)
    assert why(rbwp, work, made)["slow"]["name"] == first_name
    names = [f["name"] for f in rbwp("stats", "--json", "--findings", work / "w.bin").json["findings"] if f["what"] == "slow"]
    assert names[0] == first_name and set(names) == {"mutex", "after sleep"}, names


@pytest.mark.parametrize("others, on", [(0, " on t2"), (1, " mostly on t2"), (4, "")])
def test_thread_of_a_cause(rbwp, work, others, on):
    made = Recording().ordinary()
    for i in range(10):
        made.call(3 if i < others else 2, 4 + 80 * i, 30)
    where = why(rbwp, work, made)["causes"][0]["where"]
    assert where.get("thread") == (None if others else "t2")
    assert f"of 10 calls{on}; without it" in rbwp("why", work / "w.bin").text
    assert bool(on) == (f": 100 % its own CPU time,{on}\n" in rbwp("stats", "--findings", work / "w.bin").text)


def test_threads_that_wait_once(rbwp, work):
    """A thread for each request, say: the lock that it waits for first is one all the same."""
    made = Recording(7).ordinary(slot=RUN)
    for thread, start in enumerate(SLOW, 2):
        made.wait(thread, start, 30, "mutex", 4096, waker=7).wait(thread, start + 40, 0.1, "mutex", 8192)
    found = why(rbwp, work, made)
    assert found["slow"]["name"] == "mutex" and first(found, "lock")["where"]["object"] == 4096


@pytest.mark.parametrize("threads, late", [((1, 2), "t3"), ((1,), None), ((1, 2, 3), None)], ids=("one is late", "two are", "nobody is"))
def test_late_rank(rbwp, work, threads, late):
    """Who calls MPI and was not in it while others were has come late, if it is one alone."""
    made = Recording(3, stop=2000).ordinary(slot=RUN)
    for thread in 1, 2, 3:
        made.mpi(thread, 1, 1)
        for i in range(50):
            made.mpi(thread, 800 + i * 20, 1).wait(thread, 802 + i * 20, 1, "sleep")
    for start in (105, 305, 505, 705, 755):
        for thread in threads:
            made.mpi(thread, start, 30 if thread < 3 else 28)
        made.mpi(3, start + 29.9, 0.1)
    found = why(rbwp, work, made)
    assert found["slow"]["name"] == "MPI_Allreduce" and found["causes"][0]["cause"] == "wait"
    by = found["causes"][0].get("by") or {}
    assert by.get("thread") == late and (late is None or "MPI_Allreduce, late: t3" in found["causes"][0]["text"]), found["causes"]


@pytest.mark.parametrize("last, named", [(1900, []), (700, ["self"])], ids=["most of the run lies between", "little does"])
def test_start_and_end_of_a_job(rbwp, work, last, named):
    """Run intervals before a process's first call of MPI and behind its last are not compared with those in between."""
    made = Recording(2, stop=2000).ordinary(150, every=10, slot=RUN, runnable=0.001)
    for start in (10, 40, 70, 1910, 1950):
        made.call(2, start, 20, RUN, runnable=0.001)
    for start in (100, last):
        made.mpi(2, start, 1)
    assert [cause["cause"] for cause in why(rbwp, work, made)["causes"]] == named
    made.call(2, 300, 40, RUN, runnable=0.001)
    assert [cause["calls"] for cause in why(rbwp, work, made)["causes"]] == ([1] if not named else [6])


def test_waits_for_work_in_mpi(rbwp, work):
    """Who probes asks for work."""
    made = Recording(2, stop=2000).ordinary(slot=RUN)
    for i in range(100):
        made.mpi(2, i * 10, 8 if i % 20 == 10 else 0.1, "MPI_Probe")
    assert why(rbwp, work, made)["causes"] == []


def test_a_pool_that_waits_for_work_by_system_calls(rbwp, work):
    """A run interval in which its thread waited, which no row shows, is no slow call; asked for by name it is."""
    for looked_at in True, False:
        made = Recording().ordinary(slot=RUN)
        for start in SLOW:
            made.call(2, start, 30, RUN, blocked=29)
            if looked_at:
                made.look(2, start, 4096, system_call=203)
        assert why(rbwp, work, made)["causes"] == [] and "nothing stands out" in rbwp("why", work / "w.bin").text
        asked = rbwp("why", "--json", "--name", "after*", work / "w.bin").json
        assert asked["slow"]["calls"] == 5 and (asked["causes"] or asked["unknown"]["excess_ns"])


def test_threshold_of_ones_own(rbwp, work):
    made = Recording().ordinary()
    assert why(rbwp, work, made, "--slower-than", "1050us")["slow"]["calls"] == 14
    assert why(rbwp, work, made, "--slower-than", "1s")["slow"]["calls"] == 0
    assert why(rbwp, work, made, "--name", "req*", "--slower-than", "1050us")["slow"]["name"] == "request"


def test_other_names_have_a_line(rbwp, work):
    made = slow(Recording().ordinary())
    made.ordinary(thread=3, slot=COMPACTION)
    made.call(3, 900, 40, COMPACTION)
    text = rbwp("why", made.write(work / "w.bin")).text
    assert text.startswith("request: 5 of 105 calls") and "also compaction: 1 of 101 slow" in text


def test_names_are_escaped_once(rbwp, work):
    """In the text of why and of findings, and in JSON; a zero byte ends no text."""
    made = slow(Recording(4).ordinary(), blocked=29)
    for start in SLOW:
        made.wait(2, start + 0.5, 29, "a\\b\x1b\0c", 4096, waker=3)
    cause = first(why(rbwp, work, made), "wait")
    assert cause["text"] == "waited: a\\b\x1b\0c 4096, ended by t3"
    shown = r"waited: a\\b\x1b\x00c 4096"
    assert f"1. wait: {shown}; " in rbwp("why", work / "w.bin").text
    assert f"100 % {shown}, ended by t3\n" in rbwp("stats", "--findings", work / "w.bin").text


def test_forms(rbwp, work):
    path = slow(Recording().ordinary()).write(work / "w.bin")
    text = rbwp("why", path).text
    assert f"rbwp timeline --from +0.{SLOW[0]}" in text or "rbwp timeline --from +0." in text
    assert len(rbwp("why", "--max-bytes", "200", path).out) <= 200
    assert rbwp("why", "--csv", "causes", path).lines[0].startswith("cause,excess_ns,share,calls,where_name")
    assert "read twice" in rbwp("why", "-", code=2).error
    assert "no FILE given" in rbwp("why", code=2).error
    assert "no call is called 'nosuch'" in rbwp("why", "--name", "nosuch", path, code=1).error
    assert "no time" in rbwp("why", "--slower-than", "0", path, code=2).error
    assert "no table" in rbwp("why", "--csv", "rows", path, code=2).error


def test_too_few(rbwp, work):
    """Of few calls nobody knows what is usual."""
    assert why(rbwp, work, slow(Recording().ordinary(2)))["causes"] == []


def on_gpu(start, launch=0.1, queued=0.05, length=0.3, kernel="sum", **more):
    """Calls that launch a kernel and wait for it, spinning; each a little longer than its GPU work."""
    def add(made, thread):
        made.call(thread, start, launch + queued + length + 0.1, **more)
        return made.work(thread, start + launch / 2, start + launch, start + launch + queued, length, kernel)
    return add


def gpu_calls(made, slow=(), **other):
    for i in range(100):
        on_gpu(i * 8)(made, 1)
    for start in slow:
        on_gpu(start, **other)(made, 2)
    return made


def test_gpu_work_takes_longer(rbwp, work):
    """Its kernel runs for 30 ms, and its argument is shown beside."""
    cause = first(why(rbwp, work, gpu_calls(Recording(), SLOW, length=30 - 0.7, kernel="solve")), "gpu")
    assert cause["where"] == {"name": "solve", "thread": "t2"}
    assert "gpu: its GPU work took longer: solve" in rbwp("why", work / "w.bin").text


def test_gpu_work_waits_behind_another_thread(rbwp, work):
    made = Recording()
    for start in SLOW:
        made.call(3, start - 0.2, 1, COMPACTION).work(3, start - 0.2, start - 0.1, start, 29.5, "train", stream=2)
    cause = first(why(rbwp, work, gpu_calls(made, SLOW, queued=29.4)), "gpu_queue")
    assert cause["by"] == {"thread": "t3", "name": "train"}
    assert "gpu_queue: its GPU work waited to begin, behind train of t3" in rbwp("why", work / "w.bin").text


def test_gpu_work_that_the_call_did_not_wait_for(rbwp, work):
    """It ran while the call did something else on the CPU; and most of it when the call was over."""
    made = gpu_calls(Recording())
    for start in SLOW:
        made.call(2, start, 30).work(2, start + 0.1, start + 0.2, start + 0.3, 10)
    assert first(why(rbwp, work, made), "self")
    made = gpu_calls(Recording())
    for start in SLOW:
        made.call(2, start, 30, sub=[(0.5, 29)]).work(2, start + 29.8, start + 29.9, start + 29.9, 25)
    assert first(why(rbwp, work, made), "sub_item")


def test_gpu_work_in_a_sub_item_and_blocked(rbwp, work):
    """What the thread did meanwhile is no cause beside it: a step that waits for the GPU, blocked or not."""
    for more in {"sub": [(0.3, 29.5)]}, {"blocked": 29.3}, {"sub": [(0.3, 29.5)], "blocked": 29.3}:
        found = why(rbwp, work, gpu_calls(Recording(), SLOW, length=30 - 0.7, kernel="solve", **more))
        assert first(found, "gpu") and len(found["causes"]) == 1, found


def test_gpu_work_beside_own_time(rbwp, work):
    """15 ms in a step that waits for the GPU, then as long on the CPU: each is handed out once."""
    made = gpu_calls(Recording())
    for start in SLOW:
        made.call(2, start, 30, blocked=15, sub=[(0.3, 15)]).work(2, start + 0.1, start + 0.2, start + 0.3, 15, "solve")
    causes = {c["cause"]: c["share"] for c in why(rbwp, work, made)["causes"]}
    assert [causes[cause] for cause in ("gpu", "self")] == pytest.approx([0.5, 0.49], abs=0.03), causes


def test_call_that_launches_too_slowly(rbwp, work):
    """100 kernels of 20 us each, a launch of which takes 0.3 ms; the ordinary ones launch three."""
    def launches(made, thread, start, count):
        made.call(thread, start, count * 0.3 + 0.1)
        for i in range(count):
            made.work(thread, start + i * 0.3, start + (i + 1) * 0.3, start + (i + 1) * 0.3, 0.02)
    made = Recording()
    for i in range(100):
        launches(made, 1, i * 8, 3)
    for start in SLOW:
        launches(made, 2, start, 97 + 3)
    found = why(rbwp, work, made, "--name", "request")
    assert found["causes"][0]["cause"] == "launch" and found["causes"][0]["share"] > 0.9, found


@pytest.mark.parametrize("sent, ended, by, says", [(25, 29.5, {"thread": "t4", "name": "compaction"}, "sent late"), (0.6, 29.5, {"thread": "t4"}, "under way"),
                                                   (5, 20, {"thread": "t3"}, None)], ids=["late", "under way", "ended before"])
def test_message(rbwp, work, sent, ended, by, says):
    """The wait ended with the handler of one message; who sent it was in another call until then."""
    made = slow(Recording(4).ordinary(), blocked=29)
    for start in SLOW:
        made.wait(2, start + 0.5, 29, "condition variable", 4096, waker=3).call(4, start + 0.5, 26, COMPACTION).call(3, start - 4, 1, COMPACTION)
        made.message(4, start + sent, 3, start + ended - 0.2, start + ended - 0.1, start + ended)
    cause = first(why(rbwp, work, made), "message" if says else "wait")
    assert cause["by"] == by and cause["where"]["wait"] == "condition variable", cause
    text = rbwp("why", work / "w.bin").text
    assert f"message: waited for a message that was {says}: condition variable" in text and "sent by t4" in text if says else "message" not in text, text


@pytest.mark.parametrize("handled, by", [(1, "ask"), (25, "compaction")], ids=["its handler takes long", "it waits for its turn"])
def test_answer_of_the_same_process(rbwp, work, handled, by):
    """Both handlers end with the wait: the one in which the other message was sent did not end it. What took so long is named."""
    made = slow(Recording(4).ordinary(), blocked=29)
    for start in SLOW:
        made.wait(2, start + 0.5, 29, "condition variable", 4096, waker=3).call(4, start + 0.5, 24, COMPACTION)
        made.message(4, start + 29.1, 3, start + 29.2, start + 29.3, start + 29.4, "answer").message(2, start + 0.1, 4, start + 0.2, start + handled, start + 29.2, "ask")
    cause = first(why(rbwp, work, made), "message")
    assert cause["by"] == {"thread": "t4", "name": by}, cause


def test_message_and_no_cpu(rbwp, work):
    """The handler ended before the wait did, by no more than the call was ready to run."""
    made = slow(Recording(4).ordinary(), blocked=22, runnable=7)
    for start in SLOW:
        made.wait(2, start + 0.5, 29, "condition variable", 4096, waker=3).call(4, start + 0.5, 20, COMPACTION)
        made.message(4, start + 20, 3, start + 21.8, start + 21.9, start + 22.5)
    assert why(rbwp, work, made)["causes"][0]["cause"] == "message"


def decoding(pace, length, launch=0.004, count=20000, thread_waits=False, **more):
    """A thread of an unmodified program launches small kernels, one every so many ms."""
    made = Recording(2, **more)
    made.call(1, 0, count * pace, RUN, runnable=0.001)
    end = 0
    for i in range(count):
        start = max(end, i * pace + launch)
        made.work(1, i * pace, i * pace + launch, start, length)
        end = start + length
        if thread_waits:
            made.wait(1, i * pace + length + launch, pace - length - launch, "read")
    return made


def test_launch_bound(rbwp, work):
    """The GPU has nothing to do in 60 % of the time, while the thread is on the CPU."""
    found = why(rbwp, work, decoding(0.02, 0.008))
    cause, gpu = found["causes"][0], found["gpus"][0]
    assert cause["cause"] == "launch" and cause["where"] == {"thread": "t1"} and cause["share"] == 1 and cause["calls"] == 20000
    assert cause["excess_ns"] == pytest.approx(20000 * 0.012 * MS, rel=0.02) and cause["bound_ns"] == cause["excess_ns"] == found["slow"]["excess_ns"]
    assert gpu["launch_bound"] and gpu["name"] == "GPU 0x5" and gpu["launch_ns"] == 20000 and gpu["launching_ns"] == pytest.approx(20000 * 4000, rel=0.01)
    assert gpu["busy_ns"] == 20000 * 8000 and gpu["used_ns"] == pytest.approx(20000 * 20000, rel=0.01)
    text = rbwp("why", work / "w.bin").text
    assert text.startswith("launch-bound: GPU 0x5 was busy for 40 % of the 400 ms in which it was used, and idle for 240 ms because t1 had not"), text
    first = rbwp("stats", "--findings", "--json", work / "w.bin").json["findings"][0]
    assert first["what"] == "slow" and first["cause"] == "launch" and first["text"].startswith("launch-bound: "), first
    assert "(20,000 launches, one every 20.0 us)" in text and "  1. launch: the CPU launched GPU work too slowly; 240 ms, 100 %" in text, text


def test_launch_bound_beside_an_idle_pool(rbwp, work):
    """Run intervals of threads that waited inside, by system calls of their own, have no line."""
    made = decoding(0.02, 0.008).ordinary(100, thread=2, slot=RUN)
    for start in SLOW:
        made.call(2, start, 40, RUN, blocked=39)
    assert why(rbwp, work, made)["gpus"][0]["launch_bound"]
    text = rbwp("why", work / "w.bin").text
    assert "also" not in text and "of 20,000 calls on t1" in text, text


@pytest.mark.parametrize("made", [decoding(0.02, 0.021), decoding(0.02, 0.018), decoding(0.02, 0.008, 0.003, thread_waits=True), decoding(0.02, 0.008, count=90)],
                         ids=["busy all the time", "nearly so", "its thread waits for a file", "few launches"])
def test_not_launch_bound(rbwp, work, made):
    found = why(rbwp, work, made)
    assert found["causes"] == [] and not found["gpus"][0]["launch_bound"], found
    text = rbwp("why", work / "w.bin").text
    assert text.startswith("nothing stands out") and "\nGPU 0x5 was busy for " in text and "launch-bound" not in text, text


def test_not_known_whether_the_thread_ran(rbwp, work):
    """Without a word of it the calls that launch count alone: 4 us of 20 are too few, 12 are enough."""
    for launch, bound in (0.003, False), (0.012, True):
        made = decoding(0.02, 0.008, launch)
        made.cpu.clear()
        made.known.clear()
        assert why(rbwp, work, made)["gpus"][0]["launch_bound"] is bound


def test_slow_calls_before_gaps(rbwp, work):
    """A program with calls of its own: what more time hangs on comes first."""
    made = decoding(0.02, 0.008, count=1000)
    slow(made.ordinary(), length=50)
    found = why(rbwp, work, made)
    assert found["slow"]["name"] == "request" and found["gpus"][0]["launch_bound"], found
    assert "launch-bound: GPU 0x5" in rbwp("why", work / "w.bin").text
