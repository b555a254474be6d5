# SPDX-License-Identifier: Apache-2.0
"""The device code of the package, run on the host: what it writes, and above all what it does not."""

import ast
import glob
import os
import shutil
import subprocess
import unittest

import emulated_dsl as dsl
import numpy as np

code = dsl.load_code()
COLUMNS = ("event_id", "pid", "pid_m", "pid_n", "cur_rank", "target_rank", "xcc_id", "cu_id", "timestamp", "address",
           "duration_cycles", "op_index", "payload_size")
GUARD = -0x5a5a5a5a


class Events(unittest.TestCase):
    """Where one thread acts for a program: on NVIDIA, but in the other partitions of warp_specialize."""
    one_thread_acts = True
    where_counting_stops = -2**31

    def setUp(self):
        dsl.machine.__init__()
        code.one_thread_acts = lambda: self.one_thread_acts

    def buffers(self, max_events, ranks=2, paired=True):
        """Arrays with a guard cell behind each, their counters, and the context that describes them."""
        self.columns = {
            name: np.full(max_events + 1, GUARD, np.int64 if name in ("timestamp", "address", "duration_cycles")
                          else np.int32) for name in COLUMNS}
        self.counters = np.zeros(4, np.int64).view(np.int32)  # 8-byte aligned
        first = self.counters.ctypes.data
        second = first + 4 if paired else first + 12
        self.context = np.array([1, ranks, *range(0x1000, 0x1000 + ranks), 1, max_events, first, second,
                                 *(array.ctypes.data for array in self.columns.values())], np.int64)
        dsl.machine.see(self.context, self.counters, *self.columns.values())

    def tracing(self, enabled=True):
        return code.DeviceTracing.initialize(dsl.pointer(self.context), enabled)

    def guards_stand(self):
        return all(array[-1] == GUARD for array in self.columns.values())

    def test_an_event_fills_all_13_columns(self):
        self.buffers(4)
        dsl.machine.program, dsl.machine.sm = (7, 0, 0), 5
        addresses = dsl.Value(np.arange(0x7000, 0x7000 + 32, 8)[::-1], dsl.pointer_type(dsl.int64))
        mask = dsl.Value([True] * 4, dsl.int1)
        tracing = self.tracing()
        handle = tracing.record_event_start(3, 0, addresses, 1, 2, mask)
        tracing.record_event_end(handle)
        cells = {name: int(array[0]) for name, array in self.columns.items()}
        self.assertLess(cells.pop("timestamp"), cells.pop("duration_cycles"))
        self.assertEqual(cells, {"event_id": 3, "pid": 7, "pid_m": 1, "pid_n": 2, "cur_rank": 1, "target_rank": 0,
                                 "xcc_id": 0, "cu_id": 5, "address": 0x7000, "op_index": 0, "payload_size": 32})
        self.assertEqual(int(handle.data), 0)

    def test_the_second_event_is_beside_the_first(self):
        self.buffers(3)
        tracing = self.tracing()
        for number in (1, 2):
            tracing.record_event_start(number, 1, 0x7000 + number, 30 + number, 40 + number)
        for name, array in self.columns.items():
            self.assertTrue((array[:2] != GUARD).all() and (array[2:] == GUARD).all(), (name, array))
        for name, wanted in (("event_id", [1, 2]), ("pid_m", [31, 32]), ("pid_n", [41, 42]), ("target_rank", [1, 1]), ("address", [0x7001, 0x7002]),
                             ("duration_cycles", [0, 0]), ("op_index", [0, 1]), ("cur_rank", [1, 1])):
            self.assertEqual(self.columns[name][:2].tolist(), wanted, name)

    def test_more_events_than_slots_are_counted_and_write_nothing(self):
        for paired in (True, False):
            with self.subTest(paired=paired):
                self.buffers(4, paired=paired)
                tracing = self.tracing()
                for _ in range(10):
                    tracing.record_event_end(tracing.record_event_start(1, 0, 0, 0, 0))
                self.assertTrue(self.guards_stand())
                self.assertEqual(self.counters[[0, 1 if paired else 3]].tolist(), [10, 10])
                self.assertEqual(self.columns["op_index"].tolist(), [0, 1, 2, 3, GUARD])

    def test_a_counter_that_would_wrap_gives_no_slot(self):
        for paired in (True, False):
            with self.subTest(paired=paired):
                self.buffers(4, paired=paired)
                self.counters[:] = np.int32(-16)  # 0xfffffff0
                dsl.machine.touched.clear()
                tracing = self.tracing()
                for _ in range(40):
                    tracing.record_event_end(tracing.record_event_start(1, 0, 0, 0, 0))
                counters = {self.counters.ctypes.data + 4 * cell for cell in range(4)}
                self.assertLessEqual(set(dsl.machine.touched), counters)
                self.assertEqual(int(self.counters[0]), self.where_counting_stops)
                self.assertEqual(int(self.counters[1 if paired else 3]), self.where_counting_stops)

    def test_off_on_the_host_touches_nothing(self):
        for context in ([1, 2, 0, 0, 0], [1, 2, 0, 0, 0] + [0] * 16):
            array = np.array(context, np.int64)
            dsl.machine.__init__()
            dsl.machine.see(array)  # a read behind the short context is an error
            tracing = code.DeviceTracing.initialize(dsl.pointer(array), True)
            tracing.record_event_end(tracing.record_event_start(1, 0, 0, 0, 0))
            self.assertEqual(dsl.machine.touched, [])

    def test_off_at_compile_time_has_nothing_of_the_device(self):
        tracing = code.DeviceTracing.initialize(None, False)
        self.assertIsInstance(tracing, code.NoTracing)
        self.assertEqual(vars(tracing), {"enabled": False})
        tracing.record_event_end(tracing.record_event_start(1, 0, None, 0, 0))

    def test_payload_counts_true_elements_of_any_size_and_shape(self):
        self.buffers(8)
        tracing = self.tracing()
        for slot, (element, size) in enumerate(((dsl.int8, 1), (dsl.int16, 2), (dsl.int32, 4), (dsl.int64, 8),
                                                (dsl.int1, 1))):
            addresses = dsl.Value(np.arange(64).reshape(8, 8), dsl.pointer_type(element))
            tracing.record_event_start(1, 0, addresses, 0, 0, dsl.Value(np.eye(8), dsl.int1))
            self.assertEqual(int(self.columns["payload_size"][slot]), 8 * size)
        tracing.record_event_start(1, 0, addresses, 0, 0)
        self.assertEqual(int(self.columns["payload_size"][5]), 0)

    def test_wrong_operands_are_named(self):
        self.buffers(1)
        tracing = self.tracing()
        cube = dsl.Value(np.zeros((2, 2, 2)), dsl.pointer_type(dsl.int64))
        with self.assertRaisesRegex(ValueError, "^address: "):
            tracing.record_event_start(1, 0, cube, 0, 0)
        row = dsl.Value(np.zeros(4), dsl.pointer_type(dsl.int64))
        with self.assertRaisesRegex(ValueError, "^mask: "):
            tracing.record_event_start(1, 0, row, 0, 0, dsl.Value(np.zeros(2), dsl.int1))
        with self.assertRaisesRegex(TypeError, "^context: "):
            code.DeviceTracing.initialize(dsl.pointer(self.counters), True)


    def test_a_thread_that_is_not_the_first_does_nothing(self):
        self.buffers(4)
        dsl.machine.thread = 32
        dsl.machine.touched.clear()
        tracing = self.tracing()
        handle = tracing.record_event_start(1, 0, 0, 0, 0)
        tracing.record_event_end(handle)
        self.assertEqual((dsl.machine.touched, int(handle.data)), ([], -1))

    def test_every_type_of_operand_fits_its_column(self):
        self.buffers(4)
        wide = lambda number: dsl.Value(number, dsl.int64)  # noqa: E731
        self.tracing().record_event_start(wide(3), wide(1), wide(0x7000), wide(5), dsl.Value(6, dsl.uint32))
        cells = [int(self.columns[name][0]) for name in ("event_id", "target_rank", "address", "pid_m", "pid_n")]
        self.assertEqual(cells, [3, 1, 0x7000, 5, 6])


class Assembly(unittest.TestCase):

    def test_only_where_a_thread_runs_is_always_the_same(self):
        """What reads a clock, orders memory or stores is not left out by the compiler, nor done once for twice."""
        tree = ast.parse((dsl.PACKAGE / "rbwp" / "_kernel_code.py").read_text(encoding="utf-8"))
        pure = [ast.unparse(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "inline_asm_elementwise"
                for word in call.keywords if word.arg == "is_pure" and ast.unparse(word.value) != "False"]
        self.assertEqual(pure, ["'mov.u32 $0, %smid;'", "'mov.u32 $0, %tid.x;\\nshr.u32 $0, $0, 5;'"])


class Ptx(unittest.TestCase):
    """The assembler, where it is, takes what is interpreted elsewhere: twice in a kernel, with a start in each."""

    def test_the_assembler_takes_an_event(self):
        ptxas = shutil.which("ptxas") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/ptxas"))), None)
        if not ptxas:
            self.skipTest("no ptxas here")
        lines = [".version 7.8", ".target sm_90", ".address_size 64", ".visible .entry event() {", ".reg .b32 r<64>;",
                 ".reg .b64 l<64>;"]
        for text, kinds in ((code.START, "rrrlllrrrrrrlr"), (code.END, "rrrl")) * 2:
            for number, kind in reversed(list(enumerate(kinds))):
                text = text.replace(f"${number}", f"{kind}{number}")
            lines += [f"mov.b{32 if kind == 'r' else 64} {kind}{number}, 4096;" for number, kind in enumerate(kinds)]
            lines.append(text)
        done = subprocess.run([ptxas, "-arch=sm_90", "-o", os.devnull, "-"], input="\n".join([*lines, "ret;", "}"]),
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class EventsOfAWarp(Events):
    """A whole warp plays: 13 of its threads store a column each."""
    test_a_thread_that_is_not_the_first_does_nothing = None

    def setUp(self):
        super().setUp()
        dsl.machine.warp = range(32)


class EventsOfHalfAWarp(EventsOfAWarp):
    """Not all threads of the warp are there: the first stores alone."""

    def setUp(self):
        super().setUp()
        dsl.machine.warp = range(16)


class EventsOfAllThreads(Events):
    """Where the compiler chooses the thread that stores."""
    one_thread_acts = False
    where_counting_stops = -16  # given back each time: it stands still
    test_a_thread_that_is_not_the_first_does_nothing = None


class Lanes(unittest.TestCase):

    def setUp(self):
        dsl.machine.__init__()

    def lane(self, buffer, group, max_records, **options):
        return code.Lanes.init(dsl.pointer(buffer), 4, group, 2, 2, max_records, **options)

    def test_the_golden_records_of_version_1(self):
        """Two blocks x two groups, four records each: each word as written elsewhere."""
        buffer = np.zeros(17, np.uint64)
        dsl.machine.see(buffer)
        steps = {
            (0, 0): [("begin", 0, 0xffffffe0), ("end", 0, 0x40), ("finalize", 0, 0x60)],
            (0, 1): [("begin", 1, 0xfffffff0), ("end", 1, 0x20), ("instant", 2, 0x30), ("finalize", 0, 0x50)],
            (1, 0): [("begin", 5, 0x100), ("end", 5, 0x180), ("finalize", 0, 0x1a0)],
            (1, 1): [("begin", 1023, 0x110)],
        }
        for (block, group), calls in steps.items():
            dsl.machine.program, dsl.machine.grid = (block, 0, 0), (2, 1, 1)
            dsl.machine.times = iter([0] + [time for *_, time in calls])
            lane = self.lane(buffer, group, 4)
            for call, event, _ in calls:
                lane = getattr(lane, call)(*([event] if call != "finalize" else []))
        self.assertEqual([f"{word:#018x}" for word in buffer.tolist()], [
            "0x0000000200000002", "0xffffffe000000000", "0xfffffff000001004", "0x0000010000002014",
            "0x0000011000003ffc", "0x0000004000000001", "0x0000002000001005", "0x0000018000002015",
            "0x0000000000000000", "0x0000006000000003", "0x000000300000100a", "0x000001a000002003",
            "0x0000000000000000", "0x0000000000000000", "0x0000005000001003", "0x0000000000000000",
            "0x0000000000000000"])

    def test_a_full_lane_drops_and_keeps_a_slot_for_its_end(self):
        for version, header, words in ((1, 1, 1), (2, 8, 2)):
            with self.subTest(version=version):
                buffer, drops = np.zeros(header + 4 * 3 * words, np.int64), np.zeros(4, np.int32)
                dsl.machine.__init__()
                dsl.machine.see(buffer, drops)  # what lies behind is an error
                lane = self.lane(buffer, 1, 3, drops=dsl.pointer(drops), version=version)
                for _ in range(5):
                    lane = lane.begin(1).end(1)
                self.assertEqual(int(buffer[header + words * (1 + 4 * 2)]), 0)
                lane.finalize()
                tags = [int(buffer[header + words * (1 + 4 * record) + words - 1]) & 0xffffffff for record in range(3)]
                self.assertEqual([tag & 3 for tag in tags][-1], 3)
                self.assertEqual(int(drops[1]), 8)
                if version == 2:
                    self.assertEqual(int(buffer[header + 2 * (1 + 8) + 1]) >> 32, 8)

    def test_a_lane_of_one_record_keeps_it_for_its_end(self):
        for version, header, words in ((1, 1, 1), (2, 8, 2)):
            buffer = np.zeros(header + 4 * words, np.int64)
            dsl.machine.__init__()
            dsl.machine.see(buffer)
            lane = self.lane(buffer, 1, 1, version=version).begin(1)
            self.assertEqual(int(buffer[header + words + words - 1]), 0)
            lane.finalize()
            self.assertEqual(int(buffer[header + words + words - 1]) & 3, 3)

    def test_version_2_tells_time_place_and_the_first_time(self):
        buffer = np.zeros(8 + 2 * 4 * 2, np.int64)
        dsl.machine.see(buffer)
        dsl.machine.sm, dsl.machine.thread, dsl.machine.grid = 131, 96, (2, 1, 1)
        dsl.machine.times = iter([5 << 32, (5 << 32) + 1, (5 << 32) + 2, (5 << 32) + 3])
        lane = self.lane(buffer, 0, 2, version=2)
        lane = lane.instant(9)
        self.assertEqual(int(buffer[5]), 5 << 32)
        self.assertEqual(int(buffer[8]), (5 << 32) + 2)
        self.assertEqual(int(buffer[9]), 3 << 48 | 131 << 32 | 9 << 2 | 2)

    def test_nothing_is_written_where_the_host_has_no_room(self):
        buffer = np.zeros(17, np.int64)
        dsl.machine.see(buffer)
        for program, records, group in (((0, 0, 0), 0, 0), ((2, 0, 0), 4, 0), ((0, 0, 0), 4, 2), ((0, 0, 0), 4, -1)):
            dsl.machine.program, dsl.machine.grid = program, (3, 1, 1)
            lane = self.lane(buffer, group, records)
            lane = lane.begin(1)
            lane.finalize()
        self.assertEqual(dsl.machine.touched, [])

    def test_a_heartbeat_is_written_after_two_seconds(self):
        buffer = np.zeros(17, np.int64)
        dsl.machine.see(buffer)
        dsl.machine.times = iter([0, 10, 2 * 10**9, 2 * 10**9 + 11, 2 * 10**9 + 12])
        lane = self.lane(buffer, 0, 4)
        lane = lane.begin(1).heartbeat()
        self.assertEqual(int(buffer[5]), 0)
        lane = lane.heartbeat()
        self.assertEqual(int(buffer[5]) & 0xffffffff, 1023 << 2 | 2)

    def test_off_at_compile_time_has_nothing_of_the_device(self):
        for options in ({"enabled": False}, {"enabled": True}):
            lane = code.Lanes.init(None, 4, 0, 2, 2, 4, **options)
            self.assertEqual(vars(lane), {"enabled": False})
            lane = lane.begin(1).end(1).instant(2).heartbeat()
            lane.finalize()

    def test_an_event_that_no_record_holds_is_named(self):
        lane = self.lane_anywhere()
        for call in (lane.begin, lane.end, lane.instant):
            with self.assertRaisesRegex(ValueError, "^event: "):
                call(1024)

    def lane_anywhere(self):
        buffer = np.zeros(17, np.int64)
        dsl.machine.see(buffer)
        self.addCleanup(buffer.fill, 0)
        return self.lane(buffer, 0, 4)


if __name__ == "__main__":
    unittest.main()
