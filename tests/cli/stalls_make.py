# SPDX-License-Identifier: Apache-2.0
"""Files with long calls and waits: tables open_call, stack_word, code_file, python_frame and wait (SPEC.md, appendix A)."""
import ranges_make
import rbwp_make as m
from make_rbwp import HEADER_BYTES, table_range
from test_tables import names

T = 10**18
MS = 10**6
OPEN_CALL = [("time", 4, 1), ("thread", 1, 10), ("since", 4, 0), ("kind", 6, 4), ("object", 1, 0), ("holder", 1, 0), ("system_call", 1, 0), ("system_call_name", 6, 0)]
STACK_WORD = [("time", 4, 0), ("thread", 1, 10), ("since", 4, 0), ("place", 1, 0), ("word", 1, 0)]
CODE_FILE = [("start", 1, 0), ("end", 1, 0), ("offset", 1, 0), ("path", 6, 0), ("build_id", 6, 0)]
PYTHON_FRAME = [("time", 4, 0), ("thread", 1, 10), ("since", 4, 0), ("depth", 1, 0), ("function", 6, 0), ("file", 6, 0), ("line", 1, 0), ("entry", 1, 0)]
WAIT = [("start", 4, 1), ("stop", 4, 2), ("thread", 1, 10), ("kind", 6, 4), ("object", 1, 0), ("waker", 1, 0), ("delay", 5, 0), ("outcome", 1, 0)]
ITEMS = [(1, b"serve"), (2, b"flush")]


def at(ms):
    return T + int(ms * MS)


def os_id(thread):
    return 4710 + thread


class Recording:
    """Times are in ms. Threads are t1, t2, ...; holders are threads, or other numbers of the operating system."""

    def __init__(self, threads=3, stop=1000):
        self.threads, self.stop = range(1, threads + 1), stop
        self.names = {thread: b"t%d" % thread for thread in self.threads}
        self.texts, self.calls, self.looks, self.words, self.files, self.waits, self.frames = [], [], [], [], [], [], []

    def name(self, text):
        text = text.encode() if isinstance(text, str) else text
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1

    def call(self, thread, start, length=None, slot=1):
        self.calls.append((thread, start, length, slot))
        return self

    def look(self, thread, time, since, kind="call", object=0, holder=0, system_call=0, words=(), called=None):
        self.looks.append((at(time), thread, at(since), self.name(kind), object, os_id(holder) if holder in self.threads else holder, system_call,
                           *([self.name(called)] if called else [])))
        self.words += [(at(time), thread, at(since), place, word) for place, word in words]
        return self

    def python(self, thread, time, since, *frames):
        """Of (function, file, line, entry), the innermost first."""
        self.frames += [(at(time), thread, at(since), depth, *(self.name(text) if text else 0 for text in frame[:2]), *frame[2:]) for depth, frame in enumerate(frames)]
        return self

    def mutex(self, thread, since, object, holder, time=900):
        return self.look(thread, time, since, "mutex", object, holder, 203)

    def wait(self, thread, start, stop, kind="mutex", outcome=0):
        self.waits.append((at(start), at(stop), thread, self.name(kind), 0, 0, 0, outcome))
        return self

    def file(self, start, end, offset=0, path="", build_id=""):
        self.files.append((start, end, offset, self.name(path) if path else 0, self.name(build_id) if build_id else 0))
        return self

    def bytes(self):
        records = {thread: [] for thread in self.threads}
        for thread, start, length, slot in self.calls:
            records[thread].append((at(start), "cb", slot))
            records[thread] += [(at(start + length), "ce")] if length is not None else []
        blocks = [m.block(thread, 0, rows) for thread, rows in records.items() if rows] + ([names(1, *self.texts)] if self.texts else [])
        ranges = []
        for number, (name, columns, made) in enumerate((("code_file", CODE_FILE, self.files), ("open_call", OPEN_CALL[:len(self.looks[0])] if self.looks else OPEN_CALL, self.looks),
                                                        ("stack_word", STACK_WORD, self.words), ("python_frame", PYTHON_FRAME, self.frames), ("wait", WAIT, self.waits)), 1):
            if made:
                place, ours = HEADER_BYTES + sum(map(len, blocks)), ranges_make.table(number, name, columns, made)
                blocks += ours
                times = [row[0] for row in made] if columns[0][1] == 4 else [0]
                ranges.append(table_range(place, sum(map(len, ours)), number, len(ours), len(made), 1, len(made), (min(times), max(times))))
        table = m.table_section(b"THRD", [m.thread_entry(t, len(records[t]), os_id(t), T, name=self.names[t]) for t in self.threads],
                                b"".join(self.names.values()))
        if self.texts:  # where the names are
            place = HEADER_BYTES + sum(len(b) for b in blocks[:len([r for r in records.values() if r])])
            ranges.insert(0, table_range(place, len(names(1, *self.texts)), 0, 1, 0, 1, len(self.texts)))
        return m.with_trailer(m.file(blocks, ITEMS, zero_time=T), m.info(start=T, stop=at(self.stop)), table,
                              *([m.table_section(b"TIDX", ranges)] if ranges else []))

    def write(self, path):
        path.write_bytes(self.bytes())
        return path


def two():
    """t1 and t2 have each other's mutex; t3 waits for that of t1."""
    return Recording().call(1, 0).call(2, 1, slot=2).mutex(1, 100, 0xa0, 2).mutex(2, 200, 0xb0, 1).mutex(3, 300, 0xb0, 1)


def stacked():
    """t1 serves and was looked at twice in one place, t2 waits; frames are places in a file."""
    recording = Recording().call(1, 0).call(3, 0, 400).file(0x1000, 0x2000, 0x500, "/lib/libx.so")
    for time, place in ((200, 0x1010), (400, 0x1010), (800, 0x1020)):
        recording.look(1, time, 0, words=[(0, place)])
    return recording.look(3, 300, 0, words=[(0, 0x1010)]).look(2, 900, 100, "mutex", 0xa0, 3, words=[(0, 0x1010), (1, 8)])
