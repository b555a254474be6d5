# SPDX-License-Identifier: Apache-2.0
"""The package's host side: decoding through the library beside a decoder of its own, contexts, buffers, errors."""

import dataclasses
import io
import os
import pathlib
import random
import tempfile
import types
import unittest
import warnings
from unittest import mock

import emulated_dsl as dsl
import numpy as np

import rbwp
from rbwp import clocks, events, memory, native
from rbwp.events import EVENT_COLUMNS, WIDE_COLUMNS
from rbwp.native import CLanesLayout

GOLDEN_LANES = np.array([
    0x0000000200000002, 0xffffffe000000000, 0xfffffff000001004, 0x0000010000002014, 0x0000011000003ffc,
    0x0000004000000001, 0x0000002000001005, 0x0000018000002015, 0, 0x0000006000000003, 0x000000300000100a,
    0x000001a000002003, 0, 0, 0x0000005000001003, 0, 0], np.uint64)
# id, pid, m, n, rank, target, xcc, cu, start, address, end, op, bytes
GOLDEN_EVENTS = [(3, 7, 1, 2, 0, 1, 2, 5, 5000, 0x7f0010002000, 5600, 0, 32),
                 (1, 8, 1, 3, 0, 1, 2, 5, 5100, 0x7f0010002020, 5900, 1, 0),
                 (99, 9, 0, 0, 0, 0, 0, 0, 5200, 0, 0, 2, 0), (5, 9, 0, 0, 0, 1, 0, 1, 5300, 0x10, 5300, 3, 4)]


def golden_columns():
    return {name: np.array(cells, np.int64 if name in WIDE_COLUMNS else np.int32)
            for name, cells in zip(EVENT_COLUMNS, zip(*GOLDEN_EVENTS))}


def decoded_by_hand(words, lanes, stride):
    """Spans of a sound buffer of version 1, as the format's description says, without the library."""
    spans = []
    for lane in range(lanes):
        stack, at, before = {}, None, None
        for record in range((len(words) - 1) // stride):
            word = int(words[1 + lane + record * stride])
            low, event, kind = word >> 32, word >> 2 & 1023, word & 3
            if not word or kind == 3:
                break
            at = (low if at is None else at + (low - before) % 2**32)
            before = low
            if kind == 0:
                stack.setdefault(event, []).append(at)
            elif kind == 1:
                start = stack[event].pop()
                spans.append((lane, event, at - start))
            else:
                spans.append((lane, event, 0))
    return sorted(spans)


class Lanes(unittest.TestCase):

    def test_the_golden_buffer(self):
        trace = rbwp.decode_lanes(GOLDEN_LANES, dialect="v1", events={0: "load"}, groups=["producer", "consumer"])
        spans = {(int(s["block"]), int(s["group"]), int(s["event"])): s for s in trace.spans}
        self.assertEqual({key: int(s["stop_ns"] - s["start_ns"]) for key, s in spans.items() if s["kind"] == 0},
                         {(0, 0, 0): 96, (0, 1, 1): 48, (1, 0, 5): 128})
        self.assertEqual({key: int(s["start_ns"]) for key, s in spans.items()},
                         {(0, 0, 0): 0, (0, 1, 1): 16, (1, 0, 5): 288, (1, 1, 1023): 304, (0, 1, 2): 80})
        self.assertEqual({name: trace.stats[name] for name in ("finalized", "unended", "instants", "lanes")},
                         {"finalized": 3, "unended": 1, "instants": 1, "lanes": 4})
        self.assertEqual(trace.damage, 0)
        rows = {(row.group, row.event): row for row in trace.durations()}
        self.assertEqual(rows["producer", "load"].total_ns, 96)
        self.assertEqual(rows["consumer", "event_1023"].unmatched, 1)

    def test_random_sound_buffers_decode_as_by_hand(self):
        for seed in range(20):
            random.seed(seed)
            lanes, records = random.randint(1, 9), random.randint(2, 40)
            stride = lanes + random.randint(0, 3)
            words = np.zeros(1 + stride * records, np.uint64)
            words[0] = 1 << 32 | lanes
            for lane in range(lanes):
                time, still_open = random.choice([1000, 2**32 - 500]), []
                for record in range(records - 1):
                    time += random.randint(1, 100)
                    kind = random.choice([0, 1, 2]) if still_open else random.choice([0, 2])
                    event = still_open.pop() if kind == 1 else random.randint(1, 5)
                    still_open += [event] * (kind == 0)
                    words[1 + lane + record * stride] = time % 2**32 << 32 | lane << 12 | event << 2 | kind
            trace = rbwp.decode_lanes(words, dialect="v1", stride=stride)
            found = sorted((int(s["block"]), int(s["event"]), int(s["stop_ns"] - s["start_ns"]))
                           for s in trace.spans if s["kind"] in (0, 1))
            self.assertEqual(found, decoded_by_hand(words, lanes, stride), f"seed {seed}")

    def test_noise_is_counted_and_never_a_crash(self):
        for seed in range(50):
            noise = np.random.default_rng(seed).integers(0, 2**64, 400, np.uint64)
            noise[0] = (seed % 5) << 32 | seed % 7
            try:
                trace = rbwp.decode_lanes(noise[:random.randint(1, 400)], dialect=["v1", "flashinfer", "mirage"][seed % 3])
                self.assertEqual(len(trace.spans) <= 400, True)
            except rbwp.RbwpError as error:
                self.assertIn("buffer: ", str(error))

    def test_what_device_code_wrote_comes_back(self):
        """The package's device code on the stand-in, through a LaneBuffer of NumPy, into the decoder."""
        code = dsl.load_code()
        for version in (1, 2):
            dsl.machine.__init__()
            lanes = rbwp.LaneBuffer(3, 2, 8, version=version, device="numpy", events={4: "mma"})
            dsl.machine.see(lanes.buffer, lanes.drops)
            words, stride, groups, blocks, records = lanes.arguments()
            for block in range(3):
                for group in range(2):
                    dsl.machine.program, dsl.machine.grid, dsl.machine.sm = (block, 0, 0), (3, 1, 1), block + 7
                    lane = code.Lanes.init(dsl.pointer(words), stride, group, groups, blocks, records,
                                           dsl.pointer(lanes.drops), version=version)
                    for _ in range(5):
                        lane = lane.begin(4).end(4)
                    lane.finalize()
            trace = lanes.decode()
            self.assertEqual(trace.damage, 0)
            self.assertEqual((trace.stats["finalized"], trace.stats["spans"], trace.stats["unended"]), (6, 18, 6))
            self.assertEqual(lanes.dropped(), 6 * 3)
            if version == 2:
                self.assertEqual(trace.stats["dropped"], 6 * 3)
                self.assertEqual(set(trace.spans["sm"][trace.spans["kind"] == 0].tolist()), {7, 8, 9})
            self.assertEqual({row.event for row in trace.durations()}, {"mma"})
            shown = io.StringIO()
            trace.print_durations(shown)
            self.assertIn("mma", shown.getvalue())
            lanes.reset()
            self.assertEqual((len(lanes.decode().spans), lanes.dropped()), (0, 0))

    def test_the_smallest_buffer(self):
        lanes = rbwp.LaneBuffer(1, 1, 1, device="numpy")
        self.assertEqual((lanes.arguments()[1:], len(lanes.decode().spans)), ((1, 1, 1, 1), 0))

    def test_wrong_arguments_are_named(self):
        good = {"num_blocks": 2, "num_groups": 2, "max_records": 4, "device": "numpy"}
        for name, value, error in (("num_blocks", 0, ValueError), ("num_blocks", "2", TypeError),
                                   ("num_groups", 2**20, ValueError), ("max_records", 0, ValueError),
                                   ("version", 3, ValueError), ("events", "load", TypeError),
                                   ("groups", {0: 1}, TypeError), ("max_records", True, TypeError)):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(error, f"^{name}: |^num_blocks: with"):
                rbwp.LaneBuffer(**{**good, name: value})
        for name, arguments, error in (("buffer", ([1, 2],), TypeError), ("buffer", (np.zeros((2, 2), np.int64),), ValueError),
                                       ("buffer", (np.zeros(4, np.float64),), TypeError), ("buffer", (b"1234567",), ValueError),
                                       ("buffer", (np.zeros(0, np.int64),), ValueError)):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(error, f"^{name}: "):
                rbwp.decode_lanes(*arguments)
        with self.assertRaisesRegex(ValueError, "^dialect: "):
            rbwp.decode_lanes(GOLDEN_LANES, dialect="v3")
        with self.assertRaisesRegex(ValueError, "^stride: "):
            rbwp.decode_lanes(GOLDEN_LANES, stride=-1)


class Events(unittest.TestCase):

    def test_the_golden_events(self):
        trace = rbwp.decode_events(golden_columns(), 6, clock_hz=10**8)
        self.assertEqual([trace.event_name(int(e["id"])) for e in trace.events], ["put", "store", "unknown_99", "atomic_add"])
        self.assertEqual((trace.events["stop_ns"] - trace.events["start_ns"]).tolist(), [6000, 8000, 0, 0])
        self.assertEqual((trace.stats["counted"], trace.dropped, trace.stats["unended"], trace.damage), (6, 2, 1, 0))
        for field, column in (("program", "pid"), ("target_rank", "target_rank"), ("address", "address"),
                              ("op", "op_index"), ("bytes", "payload_size"), ("cu", "cu_id"), ("xcc", "xcc_id")):
            self.assertEqual(trace.events[field].tolist(), golden_columns()[column].tolist())
        out = io.StringIO()
        trace.print_durations(out)
        self.assertRegex(out.getvalue(), r"(?m)^rank 0 +put +1 +6\.000 +6\.000 ")

    def test_a_clock_that_is_ahead_is_put_back(self):
        columns = {name: np.array([1 if name == "cur_rank" else 0], array.dtype) for name, array in golden_columns().items()}
        columns["timestamp"][0], columns["duration_cycles"][0] = 4000, 4010
        trace = rbwp.decode_events(columns, 1, rank=1, clock_hz=10**8, offset_ns=9000)
        self.assertEqual(trace.events["start_ns"].tolist(), [31000])

    def test_limits(self):
        """What is beyond is refused by its name; what is at it is not."""
        with self.assertRaisesRegex(ValueError, "^heap_bases: "):
            rbwp.Tracing(0, 2**20, [0], device="numpy")
        with self.assertRaisesRegex(ValueError, "^num_ranks: "):
            rbwp.Tracing(0, 2**20 + 1, [0], device="numpy")
        with self.assertRaisesRegex(ValueError, "^num_ranks: "):
            rbwp.Tracing(0, 0, [], device="numpy")

    def test_a_context_that_was_taken_apart_is_made_again(self):
        on = events.Context(1, (0x10, 0x20), True, 4, 0x100, 0x200, tuple(range(0x1000, 0x100d)))
        words = on.encode()
        self.assertEqual((len(words), words[:6].tolist(), words[-1]), (21, [1, 2, 0x10, 0x20, 1, 4], 0x100c))
        self.assertEqual(rbwp.decode_context(words), on)
        off = dataclasses.replace(on, enabled=False)
        self.assertEqual((len(off.encode()), off.encode()[4:].any()), (21, False))
        self.assertFalse(events.Context(0, (), True).encode()[3:].any())  # nothing is said of its buffers

    def test_contexts_of_both_lengths(self):
        for ranks in (1, 2, 8):
            heaps = [0x1000 * (rank + 1) for rank in range(ranks)]
            tracing = rbwp.Tracing(ranks - 1, ranks, heaps, device="numpy")
            off = tracing.get_device_context()
            self.assertEqual((len(off), off[2 + ranks]), (19 + ranks, 0))
            self.assertEqual(set(off[2 + ranks:].tolist()), {0})
            for words in (off, off[:3 + ranks]):
                found = rbwp.decode_context(words)
                self.assertEqual((found.rank, found.heaps, found.enabled), (ranks - 1, tuple(heaps), False))
            tracing.enable(10)
            on = tracing.get_device_context()
            self.assertEqual(on[:5 + ranks - 1].tolist(), [ranks - 1, ranks, *heaps, 1, 10])
            found = rbwp.decode_context(on)
            self.assertEqual((found.enabled, found.max_events), (True, 10))
            self.assertEqual(found.op_counter, found.counter + 4)
            self.assertEqual(found.counter % 8, 0)
            self.assertEqual(found.columns, tuple(array.ctypes.data for array in tracing.columns.values()))
            self.assertEqual(off[2 + ranks], 0)  # what was handed out stays as it was
            with self.assertRaisesRegex(rbwp.RbwpError, "^context: "):
                rbwp.decode_context(on[:-1])

    def test_what_device_code_wrote_comes_back(self):
        code = dsl.load_code()
        dsl.machine.__init__()
        tracing = rbwp.Tracing(1, 2, [0, 0], device="numpy", names={2048: "multiply"})
        tracing.enable(3)
        context = tracing.get_device_context()
        dsl.machine.see(context, tracing.counters, *tracing.columns.values())

        def record(count):
            device = code.DeviceTracing.initialize(dsl.pointer(context), True)
            for turn in range(count):
                device.record_event_end(device.record_event_start(2048, 0, 64, turn, 0))

        record(5)
        self.assertEqual(tracing.counts(), (5, 2))
        trace = tracing.decode()
        self.assertEqual((len(trace.events), trace.dropped, trace.damage), (3, 2, 0))
        self.assertEqual({row.event for row in trace.durations()}, {"multiply"})
        tracing.reset()
        self.assertEqual((tracing.counts(), len(tracing.decode().events)), ((0, 0), 0))
        record(1)
        self.assertEqual(tracing.decode().events["pid_m"].tolist(), [0])

    def test_the_slowest_clock(self):
        self.assertEqual(rbwp.Tracing(0, 1, [0], device="numpy", clock_hz=1).clock_hz, 1)

    def test_before_enable_everything_is_harmless(self):
        tracing = rbwp.Tracing(0, 1, [0], device="numpy")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            tracing.reset()
            self.assertEqual(tracing.export("nowhere.json"), [])
        self.assertEqual([str(one.message).split(":")[0] for one in seen], ["reset", "export"])
        self.assertEqual((tracing.counts(), len(tracing.decode().events), tracing.enabled), ((0, 0), 0, False))

    def test_wrong_arguments_are_named(self):
        good = {"rank": 0, "num_ranks": 2, "heap_bases": [0, 0], "device": "numpy"}
        for name, value, error in (("rank", 2, ValueError), ("rank", -1, ValueError), ("num_ranks", 0, ValueError),
                                   ("heap_bases", [0], ValueError), ("heap_bases", [0, "x"], TypeError),
                                   ("rank", 0.5, TypeError), ("clock_hz", 0, ValueError), ("names", 5, TypeError),
                                   ("heap_bases", 7, TypeError)):
            with self.subTest(name=name), self.assertRaisesRegex(error, f"^{name}: "):
                rbwp.Tracing(**{**good, name: value})
        for count in (0, -1, 2**31):
            with self.assertRaisesRegex(ValueError, "^max_events: "):
                rbwp.Tracing(**good).enable(count)
        columns = golden_columns()
        for name, array in (("pid", columns["pid"][:2]), ("timestamp", columns["pid"]), ("op_index", columns["address"])):
            with self.subTest(name=name), self.assertRaisesRegex((TypeError, ValueError), f"^{name}: "):
                rbwp.decode_events({**columns, name: array}, 4)
        with self.assertRaisesRegex(ValueError, "^columns: address is missing"):
            rbwp.decode_events({name: array for name, array in columns.items() if name != "address"}, 4)
        with self.assertRaisesRegex(ValueError, "^counter: "):
            rbwp.decode_events(columns, -1)


class Limits(unittest.TestCase):

    def test_numbers_of_a_layout_fit_into_it(self):
        for name, most in (("num_blocks", 2**20), ("stride", 2**32 - 1), ("max_records", 2**32 - 1), ("clock_hz", 2**63 - 1)):
            for wrong in (most + 1, -1):
                with self.subTest(name), self.assertRaisesRegex(ValueError, f"^{name}: "):
                    rbwp.decode_lanes(GOLDEN_LANES, **{name: wrong})


    def test_numbers_of_events_fit_into_theirs(self):
        for name, least, most in (("counter", 0, 2**32 - 1), ("rank", -1, 2**20 - 1), ("clock_hz", 1, 10**12), ("offset_ns", -2**62, 2**62),
                                  ("drift_ppb", -2**62, 2**62), ("drift_from_ticks", -2**62, 2**62)):
            for wrong in (least - 1, most + 1):
                with self.subTest(name, wrong=wrong), self.assertRaisesRegex(ValueError, f"^{name}: "):
                    rbwp.decode_events(golden_columns(), **{"counter": 4, name: wrong})
        for name, allowed in (("counter", 2**32 - 1), ("rank", -1), ("rank", 2**20 - 1)):
            with self.subTest(name, allowed=allowed):
                self.assertEqual(len(rbwp.decode_events(golden_columns(), **{"counter": 4, name: allowed}).events), 4)
        for wrong in (2**64, -2**63 - 1):
            with self.assertRaisesRegex(ValueError, "^heap_bases: "):
                rbwp.Tracing(0, 1, [wrong], device="numpy")
        self.assertEqual(rbwp.Tracing(0, 2, [2**64 - 1, -2**63], device="numpy").heap_bases, (-1, -2**63))
        with self.assertRaisesRegex(ValueError, "^clock_hz: "):
            rbwp.Tracing(0, 1, [0], device="numpy", clock_hz=10**12 + 1)

    def test_a_clock_that_nothing_compared_is_the_common_one(self):
        tracing = rbwp.Tracing(0, 1, [0], device="numpy")
        self.assertEqual((tracing.offset_ns, tracing.offset_bound_ns, tracing.clock_hz, tracing.max_events), (0, 0, 10**9, 0))

    def test_durations_of_every_second_span(self):
        trace = rbwp.decode_lanes(GOLDEN_LANES, dialect="v1")
        some = dataclasses.replace(trace, spans=trace.spans[::2])
        whole = dataclasses.replace(trace, spans=trace.spans[::2].copy())
        self.assertEqual(some.durations(), whole.durations())


class FakeTensor:
    """As much of PyTorch's as the package calls."""
    __module__ = "torch._tensor"

    def __init__(self, values, device):
        self.values, self.device = values, device

    def data_ptr(self):
        return self.values.ctypes.data

    def detach(self):
        return self

    cpu = contiguous = detach

    def numpy(self):
        return self.values

    def zero_(self):
        self.values[:] = 0


class MemoryOfDevices(unittest.TestCase):

    def setUp(self):
        self.waited = []
        self.cuda = types.SimpleNamespace(synchronize=self.waited.append, is_available=lambda: True, current_device=lambda: 3)
        torch = types.SimpleNamespace(int32=np.int32, int64=np.int64, cuda=self.cuda, version=types.SimpleNamespace(hip=None),
                                      zeros=lambda count, dtype, device: FakeTensor(np.zeros(count, dtype), device),
                                      tensor=lambda values, dtype, device: FakeTensor(np.array(values, dtype), device))
        change = mock.patch.dict("sys.modules", {"torch": torch})
        change.start()
        self.addCleanup(change.stop)
        self.torch = torch

    def test_arrays_are_made_where_they_are_wanted(self):
        for device, kind in (("numpy", np.ndarray), ("cuda:3", FakeTensor)):
            for bits in (32, 64):
                made = memory.zeros(5, bits, device)
                self.assertIsInstance(made, kind)
                host = memory.to_host(made)
                self.assertEqual((host.dtype.itemsize * 8, host.tolist(), memory.address(made)), (bits, [0] * 5, host.ctypes.data))
            copy = memory.from_host(np.array([1, -2**63]), device)
            self.assertEqual((memory.to_host(copy).tolist(), memory.is_torch(copy)), ([1, -2**63], device != "numpy"))
            memory.clear(copy)
            self.assertEqual(memory.to_host(copy).tolist(), [0, 0])
            memory.wait(device)
        self.assertEqual(self.waited, ["cuda:3"])
        self.assertEqual(memory.checked_array("x", FakeTensor(np.arange(3), "cuda:3"), (32, 64), 3).tolist(), [0, 1, 2])

    def test_the_present_gpu_is_the_default(self):
        self.assertEqual(memory.default_device(), "cuda:3")
        self.cuda.is_available = lambda: False
        self.assertEqual(memory.default_device(), "numpy")

    def test_ticks_of_a_gpu_are_its_makers(self):
        for hip, ticks in ((None, 10**9), ("6.0", 10**8)):
            self.torch.version.hip = hip
            self.assertEqual(rbwp.Tracing(0, 1, [0], device="cuda:3").clock_hz, ticks)

    def test_where_there_is_none(self):
        with mock.patch.dict("sys.modules", {"torch": None}):
            self.assertEqual(memory.default_device(), "numpy")
            with self.assertRaisesRegex(ImportError, "device='numpy' is memory of the host"):
                memory.zeros(1, 32, "cuda:0")


class Commands(unittest.TestCase):

    def test_what_a_command_said_last_is_the_error(self):
        for script, said in (("echo out; echo err >&2", "err"), ("echo out", "out"), ("true", "no message")):
            with mock.patch.object(native, "command", lambda: "/bin/sh"):
                with self.assertRaisesRegex(rbwp.RbwpError, f"^rbwp -c ended with 5: {said}$"):
                    native.run_command(["-c", f"{script}; exit 5"])


    def test_the_command_is_looked_for_in_the_tree(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"RBWP_COMMAND": "", "PATH": "/nowhere"}), \
                mock.patch.object(native, "_trees", lambda: iter([pathlib.Path("/nowhere"), pathlib.Path(folder)])):
            with self.assertRaisesRegex(FileNotFoundError, "RBWP_COMMAND=/path/rbwp"):
                native.command()
            for place in ("build/tools", "bin"):  # what is installed comes first
                path = pathlib.Path(folder, place, "rbwp")
                path.parent.mkdir(parents=True)
                path.touch()
                self.assertNotEqual(self.found(), str(path))
                path.chmod(0o755)
                self.assertEqual(self.found(), str(path))
            os.environ["RBWP_COMMAND"] = "/named/rbwp"
            self.assertEqual(native.command(), "/named/rbwp")

    @staticmethod
    def found():
        try:
            return native.command()
        except FileNotFoundError:
            return None


class WhereTheLibraryIs(unittest.TestCase):

    def setUp(self):
        native.library.cache_clear()
        self.addCleanup(native.library.cache_clear)

    def found(self, *candidates):
        with mock.patch.dict(os.environ), mock.patch.object(native, "_library_candidates", lambda: iter(candidates)):
            os.environ.pop("RBWP_LIBRARY")
            native.library.cache_clear()
            return native.library()

    def test_the_one_that_is_named_is_taken(self):
        with mock.patch.dict(os.environ, {"RBWP_LIBRARY": "/named/librbwp.so"}), mock.patch.object(native, "_load", side_effect=lambda path: path) as load:
            self.assertEqual(native.library(), "/named/librbwp.so")
            self.assertEqual(load.call_count, 1)

    def test_it_is_looked_for(self):
        real = os.environ["RBWP_LIBRARY"]
        for before in ("/nowhere/librbwp.so", "librbwp-of-nobody.so"):
            self.assertEqual(self.found(before, real)._name, real)
        with mock.patch.object(native, "_load", side_effect=lambda path: path) as load:
            self.assertEqual(self.found("/nowhere/librbwp.so", "librbwp.so.0.2"), "librbwp.so.0.2")  # the loader looks for it
            self.assertEqual([call.args for call in load.call_args_list], [("librbwp.so.0.2", )])  # what is not there is not tried
        with self.assertRaisesRegex(OSError, "RBWP_LIBRARY=/path"):
            self.found("/nowhere/librbwp.so")
        with self.assertRaisesRegex(rbwp.RbwpError, "is version .*, and this package is for 0.x"):
            with mock.patch.object(native, "ABI", "0.x"):
                self.found(real)


class Clocks(unittest.TestCase):
    def test_the_tightest_comparison_counts(self):
        """Three kernels, on a device whose clock is 100 us ahead: the second is the quickest."""
        host = iter([1000, 9000, 20000, 20400, 30000, 35000])
        cell, device_ns = mock.MagicMock(), iter([0, 105000, 120201, 132000])
        torch = mock.MagicMock()
        torch.zeros.return_value = cell
        cell.item.side_effect = lambda: self.written

        def launch(*_, **__):
            self.written = next(device_ns)

        kernels = types.SimpleNamespace(store_time={(1, ): launch})
        with mock.patch.dict("sys.modules", {"torch": torch, "rbwp.triton": kernels}), \
                mock.patch("time.monotonic_ns", lambda: next(host)):
            self.assertEqual(clocks.clock_offset("cuda:0", rounds=3), (100001, 200))


if __name__ == "__main__":
    unittest.main()
