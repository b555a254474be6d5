# SPDX-License-Identifier: Apache-2.0
"""Programs that record themselves, each in a process of its own: as many calls as the program counts, under their names,
with arguments; whatever ends the process."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM_HEAD = """
import asyncio, os, signal, sys, threading, warnings
import rbwp
from rbwp.recording import item, record_tasks, start, stop
"""


class Recorded(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "own.bin"

    def run_program(self, text: str, status: int = 0, **variables: str) -> str:
        done = subprocess.run([sys.executable, "-c", PROGRAM_HEAD + text, str(self.file)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def command(self, *words: str) -> str:
        return subprocess.run([os.environ["RBWP_COMMAND"], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=True).stdout

    def spans(self) -> "list[dict[str, str]]":
        return list(csv.DictReader(io.StringIO(self.command("export", "--to", "csv", "-o", "-", str(self.file)))))

    def counts(self) -> "dict[str, int]":
        names = [span["name"] for span in self.spans()]
        return {name: names.count(name) for name in names}

    def test_calls_and_sub_items_with_arguments(self) -> None:
        printed = self.run_program("""
start(level=2, logfile=sys.argv[1])
parse = item("parse", tenant=7)
@item("flush")
def flush(times):
    return times
def worker():
    for number in range(300):
        assert flush(number) == number
threads = [threading.Thread(target=worker, name=f"worker {number}") for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with parse(path="a/long/path", ratio=-0.5, shift=-3, large=2**70):
    with item("header"): pass
    with parse: pass
summary = stop()
assert summary.path == sys.argv[1] and summary.misuse_calls == 0 and summary.records == 2 * 1203, summary
print(parse(x=1), summary, stop())
""")
        self.assertEqual(printed, f"rbwp.item('parse', tenant=7, x=1) <rbwp.Summary '{self.file}': 2406 records> None\n")
        self.assertEqual(self.counts(), {"flush": 1200, "parse": 2, "header": 1})
        spans = self.spans()
        self.assertEqual({span["track"] for span in spans}, {"MainThread", *(f"worker {number}" for number in range(4))})
        arguments = [json.loads(span["args"]) for span in spans if span["args"]]
        self.assertEqual(arguments, [{"tenant": 7, "path": "a/long/path", "ratio": -0.5, "shift": -3, "large": str(2**70)}])
        self.assertEqual([span["depth"] for span in spans if span["name"] == "header"], ["1"])

    def test_an_exception_ends_its_call(self) -> None:
        self.run_program("""
start("-bgworkprofile 1", logfile=sys.argv[1])
for number in range(10):
    try:
        with item("tried"): raise ValueError
    except ValueError:
        pass
assert stop().misuse_calls == 0
""")
        self.assertEqual(self.counts(), {"tried": 10})
        self.assertTrue(all(span["finished"] == "1" for span in self.spans()))

    def test_level_1_has_no_sub_items(self) -> None:
        self.run_program("""
start(logfile=sys.argv[1])
with item("outer", tenant=7):
    with item("inner"): pass
stop()
""")
        self.assertEqual(self.counts(), {"outer": 1})

    def test_tasks_of_asyncio_by_their_steps(self) -> None:
        self.run_program("""
start(level=2, logfile=sys.argv[1])
async def hop(times):
    for _ in range(times):
        await asyncio.sleep(0)
    return times
@item("request")
async def request():
    return await asyncio.gather(hop(3), hop(5))
async def main():
    record_tasks()
    assert await request() == [3, 5]
    task = asyncio.get_running_loop().create_task(asyncio.sleep(9), name="stopped")
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")
asyncio.run(main())
assert stop().misuse_calls == 0
""")
        counts = self.counts()
        self.assertEqual((counts["hop"], counts["request"], counts["sleep"]), (4 + 6, 1, 2))
        self.assertEqual([span["category"] for span in self.spans() if span["name"] == "request"], ["range"])

    def test_tasks_that_share_an_item(self) -> None:
        """The one that begins first ends first: each has its own time."""
        self.run_program("""
start(logfile=sys.argv[1])
async def main():
    shared, order = item("shared"), [asyncio.Event() for _ in range(3)]
    async def first():
        async with shared:
            order[0].set()
            await order[1].wait()
        order[2].set()
    async def second():
        await order[0].wait()
        async with shared:
            order[1].set()
            await order[2].wait()
    await asyncio.gather(first(), second())
asyncio.run(main())
stop()
""")
        first, second = sorted((int(span["start_ns"]), int(span["start_ns"]) + int(span["duration_ns"]))
                               for span in self.spans())
        self.assertLess(first[1], second[1])

    def test_without_the_library_the_program_runs(self) -> None:
        printed = self.run_program("""
@item("nobody")
def run(): print("ran")
run()
async def main():
    async with item("nobody", x=1): run()
asyncio.run(main())
try:
    start()
except OSError:
    print("refused")
""", RBWP_LIBRARY="/nowhere/librbwp.so")
        self.assertEqual((printed.count("ran\n"), printed.count("refused"), printed.count("nothing is recorded")), (2, 1, 1))

    def test_without_a_session_the_program_is_what_it_was(self) -> None:
        self.assertEqual(self.run_program("""
assert start() is False and stop() is None
with item("nobody", x=1): print("ran")
"""), "ran\n")
        self.assertFalse(self.file.exists())

    def test_flags_from_the_environment(self) -> None:
        self.run_program("""
assert start()
with item("seen"): pass
""", RBWP_FLAGS=f"-bgworkprofile 1 -bgworkprofile_logfile {self.file}")  # exit stops the session
        self.assertEqual(self.counts(), {"seen": 1})

    def test_what_start_refuses(self) -> None:
        self.run_program("""
for wrong in (dict(level=7), dict(logfile=os.path.join(sys.argv[1], "no", "folder")), dict(nonsense=1)):
    try:
        start(**wrong)
    except rbwp.RbwpError as error:
        assert str(error).startswith("rbwp.start: "), error
    else:
        raise AssertionError(wrong)
""")

    def test_more_names_than_slots(self) -> None:
        self.run_program("""
start(logfile=sys.argv[1])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    items = [item(f"item {number}") for number in range(258)]
assert len(caught) == 2 and "item 256" in str(caught[0].message), caught
for one in items:
    with one: pass
summary = stop()
assert summary.misuse_calls and "not recorded" in summary.problem, summary
""")
        self.assertEqual(len(self.counts()), 256)

    def test_a_kill_leaves_all_calls(self) -> None:
        self.run_program("""
start(logfile=sys.argv[1])
step = item("step")
for number in range(5000):
    with step: pass
os.kill(os.getpid(), signal.SIGKILL)
""", status=-signal.SIGKILL)
        self.command("repair", str(self.file))
        self.file = self.file.with_suffix(".repaired.bin")
        self.assertEqual(self.counts(), {"step": 5000})

    def test_a_forked_child_records_for_itself(self) -> None:
        self.run_program("""
start(logfile=sys.argv[1])
with item("outer"):
    child = os.fork()
    if child == 0:
        with item("not the parent's"): pass
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert stop().misuse_calls == 0
""")
        self.assertEqual(self.counts(), {"outer": 1})


if __name__ == "__main__":
    unittest.main()
