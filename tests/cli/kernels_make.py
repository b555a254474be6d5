# SPDX-License-Identifier: Apache-2.0
"""kernels_make.py FOLDER: profiles with what kernels noted inside. kernels.bin, whose sums are known (kernels.sh);
many_lanes.bin, a pipeline of producers and consumers with many spans; probes.bin, a kernel with probes in its instructions
and its source, probes.py. Times are ns from make_rbwp.T0."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from make_rbwp import T0, begin, block, end, finalised, ts8
from test_tables import names, rows, schema

TIME, U64, I64, DURATION, NAME = 4, 1, 2, 5, 6
START, STOP, TRACK, LABEL, THREAD = 1, 2, 3, 4, 10
ACTIVITY = [("start", TIME, START), ("stop", TIME, STOP), ("processor", U64, TRACK), ("stream", U64, 0), ("thread", U64, THREAD),
            ("slot", U64, 0), ("begin", TIME, 0), ("end", TIME, 0), ("name", NAME, LABEL), ("correlation", U64, 0)]
LANES = [("start", TIME, START), ("stop", TIME, STOP), ("processor", U64, 0), ("launch", U64, 0), ("block", U64, 0),
         ("group", NAME, 0), ("sm", U64, 0), ("event", NAME, LABEL), ("kind", U64, 0), ("bound", DURATION, 0)]
EVENTS = [("start", TIME, START), ("stop", TIME, STOP), ("rank", U64, 0), ("processor", U64, 0), ("launch", U64, 0),
          ("event", NAME, LABEL), ("program", U64, 0), ("pid_m", I64, 0), ("pid_n", I64, 0), ("target_rank", I64, 0),
          ("xcc", U64, 0), ("cu", U64, 0), ("address", U64, 0), ("op", U64, 0), ("bytes", U64, 0), ("bound", DURATION, 0)]
BLOCKS = [("start", TIME, START), ("stop", TIME, STOP), ("processor", U64, 0), ("launch", U64, 0), ("kernel", NAME, 0),
          ("place", NAME, LABEL), ("file", NAME, 0), ("line", U64, 0), ("first", U64, 0), ("last", U64, 0), ("block", U64, 0),
          ("thread", U64, 0), ("warp", U64, 0), ("sm", U64, 0), ("cycles", U64, 0), ("cost", U64, 0), ("bound", DURATION, 0)]
NO_SM = (1 << 64) - 1
GPU = 5


class Profile:
    def __init__(self):
        self.texts, self.tables = [], {"gpu_activity": [], "lane_span": [], "device_event": [], "kernel_block": []}

    def name(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1

    def kernel(self, text, correlation, start, stop):
        self.tables["gpu_activity"].append((T0 + start, T0 + stop, GPU, 1, 7, 0, T0 + start - 50, T0 + start - 20,
                                            self.name(text), correlation))

    def lane(self, launch, number, sm, group, event, start, stop, kind=0, bound=0):
        self.tables["lane_span"].append((T0 + start, T0 + stop, GPU, launch, number, self.name(group), sm,
                                         self.name(event), kind, bound))

    def event(self, launch, program, event, start, stop, cu=0):
        self.tables["device_event"].append((T0 + start, T0 + stop, 0, GPU, launch, self.name(event), program, 0, 0, 1, 0,
                                            cu, 0, 0, 64, 0))

    def record(self, launch, kernel, path, line, probes, place, start, cycles):
        """place: block, thread, warp, SM. A clock of 2 GHz."""
        self.tables["kernel_block"].append((T0 + start, T0 + start + min(cycles // 2, 1 << 20), GPU, launch, self.name(kernel),
                                            self.name(f"{os.path.basename(path)}:{line}" if path else "ptx:9"),
                                            self.name(path) if path else 0, line, *probes, *place,
                                            cycles, 20, 30))

    def write(self, path, until):
        blocks = [block([begin(ts8(T0)), end(ts8(T0 + until))])]
        for number, (table, columns) in enumerate((("gpu_activity", ACTIVITY), ("lane_span", LANES),
                                                   ("device_event", EVENTS), ("kernel_block", BLOCKS)), 1):
            if not self.tables[table]:
                continue
            blocks.append(schema(number, [(kind, role, 0, text.encode(), b"") for text, kind, role in columns],
                                 table.encode()))
            made = self.tables[table]
            for first in range(0, len(made), 20000):
                part = made[first:first + 20000]
                cells = [(0, struct.pack(f"<{len(part)}Q", *(cell % (1 << 64) for cell in column)))
                         for column in zip(*part)]
                clocks = [row[i] for row in part for i, column in enumerate(columns) if column[1] == TIME]
                blocks.append(rows(first + 1, cells, len(part), number, (min(clocks), max(clocks)), compress=True))
        blocks.insert(1, names(1, *(text.encode() for text in self.texts)))
        with open(path, "wb") as file:
            file.write(finalised(blocks, zero=T0))


def pipeline(profile, launch, number, sm, at, kind=0):
    """A block of 1000 ns: the producer is busy for 600 and waits for 400, so does the consumer; both are busy for 300."""
    profile.lane(launch, number, sm, "producer", "load", at, at + 600, kind)
    profile.lane(launch, number, sm, "producer", "wait_empty", at + 600, at + 1000)
    profile.lane(launch, number, sm, "consumer", "wait_full", at, at + 200)
    profile.lane(launch, number, sm, "consumer", "mma", at + 200, at + 1000)
    profile.lane(launch, number, sm, "consumer", "event_3100", at + 500, at + 700)
    profile.lane(launch, number, sm, "consumer", "mark", at + 300, at + 300, 1)


def known(path):
    profile = Profile()
    profile.kernel("gemm", 11, 10000, 20000)
    profile.kernel("gemm", 12, 30000, 40000)
    profile.kernel("copy", 13, 50000, 60000)
    profile.kernel("scatter", 14, 55000, 65000)
    for number in range(4):  # of the same SM two blocks at a time, one around the other's end
        pipeline(profile, 11, number, number % 2, 10000 + 500 * number)
    pipeline(profile, 12, 0, 0, 30000, 2)
    pipeline(profile, 12, 1, 1, 30100)
    # Found by time: no launch is given, or one that nobody knows; the last one is outside of all.
    profile.lane(0, 0, NO_SM, "warp", "move", 50100, 50900)
    profile.lane(99, 7, NO_SM, "warp", "wait", 51000, 51500)
    profile.lane(0, 1, NO_SM, "warp", "move", 49990, 50490, 0, 20)
    profile.lane(0, 0, NO_SM, "warp", "move", 70000, 70100)
    profile.event(14, 3, "put", 55200, 55300)
    profile.event(14, 3, "barrier", 55300, 55600)
    profile.event(14, 4, "put", 55200, 55300, 1)
    profile.write(path, 80000)
    return profile


def many(path, blocks, tiles, launches=4):
    profile = Profile()
    for launch in range(1, launches + 1):
        start = launch * (tiles * 1000 + 50000)
        profile.kernel("pipeline", launch, start - 500, start + tiles * 1000 + 2000)
        for number in range(blocks):
            for tile in range(tiles):
                pipeline(profile, launch, number, number, start + 1000 * tile + number)
    profile.write(path, (launches + 1) * (tiles * 1000 + 50000))


SOURCE = """# <script>document.title = 'broken'</script>
@triton.jit
def softmax(x, n):
    row = tl.load(x)
    for i in range(n):
        row = row - tl.max(row)
        if row > 0:
            row = tl.exp(row)
    tl.store(x, row)
"""


def probes(path, source, launches=2, sms=3, warps=4, loops=6):
    """Line 4 once, 5 to 8 in a loop (8 in every second step), 9 once. Warp w is slower by w tenths. Branches that
    are taken end at the labels 5 and 1."""
    with open(source, "w") as file:
        file.write(SOURCE)
    profile = Profile()
    for launch in range(1, launches + 1):
        begin = 100000 * launch
        ends = []
        for sm in range(sms):
            for warp in range(warps):
                place, at = (sm, 32 * warp, warp, sm), begin + 10 * warp
                def one(line, first, last, cycles):
                    nonlocal at
                    cycles = cycles * (10 + warp) // 10 * 2
                    profile.record(launch, "softmax", source, line, (first, last), place, at, cycles)
                    at += cycles // 2 + 10
                one(4, 0, 0, 400)
                for step in range(loops):
                    one(6, 2, 2, 900)
                    one(7, 3, 3 if step % 2 else 5, 50)
                    if step % 2:
                        one(8, 4, 4, 300)
                    one(5, 6, 6 if step + 1 == loops else 1, 40)
                one(9, 7, 7, 200)
                ends.append(at)
        profile.kernel("softmax", launch, begin - 300, max(ends) + 300)
    # A kernel without source lines.
    profile.kernel("plain", launches + 1, 90000, 90500)
    profile.record(launches + 1, "plain", "", 0, (3, 3), (0, 0, 0, 0), 90100, 80)
    profile.write(path, 100000 * (launches + 1))
    return profile


if __name__ == "__main__":
    known(f"{sys.argv[1]}/kernels.bin")
    many(f"{sys.argv[1]}/many_lanes.bin", 24, *([int(sys.argv[2])] if len(sys.argv) > 2 else [40]))
    probes(f"{sys.argv[1]}/probes.bin", f"{sys.argv[1]}/probes.py")
