# SPDX-License-Identifier: Apache-2.0
"""Files with calls of which it is known why some are slow: tables call_cpu, thread_cpu, queued, argument, wait, open_call, gpu_activity
(SPEC.md, appendix A)."""
import kernels_make
import ranges_make
import rbwp_make as m
from make_rbwp import HEADER_BYTES, table_range
from on_cpu_make import CALL_CPU, THREAD_CPU
from stalls_make import CODE_FILE, OPEN_CALL, STACK_WORD, WAIT
from test_args import ARGUMENT
from test_queued import QUEUED
from test_tables import names

T = 10**18
MS = 10**6
ITEMS = [(1, b"request"), (2, b"compaction"), (3, b"after sleep"), (4, b"gpu reap cuda:0"), (6, b"after fsync")]
PARSE = 5
MPI_WAIT = [("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("kind", 6, 4), ("peer", 2, 0), ("bytes", 1, 0), ("outcome", 1, 0)]
SENT = [("time", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("key", 1, 5), ("peer", 1, 0), ("bytes", 1, 0)]
HANDLED = [("arrived", 4, 0), ("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("name", 6, 4), ("key", 1, 6), ("peer", 1, 0), ("bytes", 1, 0)]
SUB_ITEMS = [(PARSE, 3, b"parse")]
REQUEST, COMPACTION, RUN, REAP, FLUSH = 1, 2, 3, 4, 6


def at(ms):
    return T + int(round(ms * MS))


def os_id(thread):
    return 4710 + thread


class Recording:
    """Times are in ms. Threads are t1, t2, ..."""

    def __init__(self, threads=3, stop=1000):
        self.threads, self.stop, self.texts, self.calls = range(1, threads + 1), stop, [], []
        self.cpu, self.queued, self.args, self.waits, self.looks, self.works, self.mpi_waits = [], [], [], [], [], [], []
        self.sent, self.handled, self.words, self.files = [], [], [], []
        self.known = [(T, 0, 1)]  # of all calls without a row in call_cpu that they ran

    def name(self, text):
        if text.encode() not in self.texts:
            self.texts.append(text.encode())
        return self.texts.index(text.encode()) + 1

    def call(self, thread, start, length, slot=REQUEST, runnable=0, blocked=0, faults=0, major=0, queued=None, sub=(), **args):
        """sub: (start, length) of sub-items, from the call's start on. Its CPU time is what is left of its length."""
        self.calls.append((thread, start, length, slot, sub))
        if runnable or blocked or faults or major:
            self.cpu.append((at(start), at(start + length), thread, slot, int((length - runnable - blocked) * MS), int(runnable * MS), 1, 1, faults, major, 0, 0))
        if queued is not None:
            self.queued.append((at(queued), at(start), thread, slot, 1))
        self.args += [(at(start), thread, self.name(key), 1, value) for key, value in args.items()]
        return self

    def wait(self, thread, start, length, kind="mutex", object=0, waker=0, delay=0):
        self.waits.append((at(start), at(start + length), thread, self.name(kind), object, waker, int(delay * MS), 0))
        return self

    def mpi(self, thread, start, length, kind="MPI_Allreduce"):
        self.mpi_waits.append((at(start), at(start + length), thread, self.name(kind), 2**64 - 1, 8, 0))
        return self

    def look(self, thread, since, object=0, holder=0, system_call=0, called=None, after=5, words=()):
        self.looks.append((at(since + after), thread, at(since), self.name("call"), object, os_id(holder) if holder else 0, system_call,
                           self.name(called) if called else 0))
        self.words += [(at(since + after), thread, at(since), place, word) for place, word in words]
        return self

    def file(self, start, end, offset, path, build_id):
        self.files.append((start, end, offset, self.name(path) if path else 0, self.name(build_id) if build_id else 0))

    def work(self, thread, launch, launched, start, length, kernel="sum", stream=1):
        """Of the GPU, launched by the thread in a call from launch to launched."""
        self.works.append((at(start), at(start + length), kernels_make.GPU, stream, thread, REQUEST, at(launch), at(launched), self.name(kernel), len(self.works) + 1))
        return self

    def message(self, sender, sent, worker, arrived, start, stop, name="answer"):
        name, key = self.name(name), len(self.sent) + 1
        self.sent.append((at(sent), at(sent + 0.01), sender, name, key, 0, 8))
        self.handled.append((at(arrived), at(start), at(stop), worker, name, key, 0, 8))
        return self

    def ordinary(self, count=100, thread=1, every=8, length=1, slot=REQUEST, **more):
        for i in range(count):
            self.call(thread, i * every, length + i % 7 * 0.01, slot, **{k: v(i) if callable(v) else v for k, v in more.items()})
        return self

    def write(self, path):
        records = {thread: [] for thread in self.threads}
        for thread, start, length, slot, sub in sorted(self.calls):
            records[thread].append((at(start), "cb", slot))
            for begin, lasts in sub:
                records[thread] += [(at(start + begin), "fb", PARSE), (at(start + begin + lasts), "fe")]
            records[thread].append((at(start + length), "ce"))
        blocks = [m.block(thread, 0, rows) for thread, rows in records.items() if rows]
        ranges = []
        if self.texts:
            blocks.append(names(1, *self.texts))
            ranges.append(table_range(HEADER_BYTES + sum(map(len, blocks[:-1])), len(blocks[-1]), 0, 1, 0, 1, len(self.texts)))
        for number, (name, columns, made) in enumerate((("call_cpu", CALL_CPU, self.cpu), ("thread_cpu", THREAD_CPU, self.known), ("queued", QUEUED, self.queued),
                                                        ("argument", ARGUMENT, self.args), ("wait", WAIT, self.waits), ("mpi_wait", MPI_WAIT, self.mpi_waits), ("open_call", OPEN_CALL, self.looks),
                                                        ("gpu_activity", kernels_make.ACTIVITY, self.works),
                                                        ("message_sent", SENT, self.sent), ("message_handled", HANDLED, self.handled),
                                                        ("stack_word", STACK_WORD, self.words), ("code_file", CODE_FILE, self.files)), 1):
            if made:
                place, ours = HEADER_BYTES + sum(map(len, blocks)), ranges_make.table(number, name, columns, sorted(made))
                blocks += ours
                times = [row[0] for row in made] if columns[0][1] == 4 else [0]
                ranges.append(table_range(place, sum(map(len, ours)), number, len(ours), len(made), 1, len(made), (min(times), max(times))))
        table = m.table_section(b"THRD", [m.thread_entry(t, len(records[t]), os_id(t), T, name=b"t%d" % t) for t in self.threads],
                                b"".join(b"t%d" % t for t in self.threads))
        path.write_bytes(m.with_trailer(m.file(blocks, ITEMS, SUB_ITEMS, zero_time=T), m.info(start=T, stop=at(self.stop)), table,
                                        m.table_section(b"TIDX", ranges)))
        return path
