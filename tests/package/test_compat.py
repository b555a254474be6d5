# SPDX-License-Identifier: Apache-2.0
"""The package under other systems' names: their scripts, but for the import line, do what they do there."""

import contextlib
import gzip
import io
import json
import os
import pathlib
import socket
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import emulated_dsl as dsl
import fake_triton
import numpy as np
from test_exports import golden_ranks
from test_host import GOLDEN_LANES

import rbwp
from rbwp import native
from rbwp.compat import iris, warpscope
from rbwp.compat.triton_instrumenter import TritonInstrument, builder, instrument_ptx, sanitizer

CORPUS = fake_triton.CORPUS
THIRTEEN = [0, 1, 2, 3, 4, 6, 7, 6, 7, 8, 9, 10, 11]


class Folder(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        before = os.getcwd()
        os.chdir(folder.name)
        self.addCleanup(os.chdir, before)

    def read(self, name):
        return json.loads((self.folder / name).read_text())


class Instrumenter(Folder):

    def setUp(self):
        super().setUp()
        self.fake = fake_triton.Fake(self.folder)
        for change in (mock.patch.dict("sys.modules", self.fake.modules), mock.patch.dict(os.environ, {"TRITON_CACHE_DIR": str(self.folder / "cache")})):
            change.start()
            self.addCleanup(change.stop)
        os.environ.pop("TRITON_PTXAS_PATH", None)

    def run_kernel(self, buffer, count):
        """The kernel's result lies behind the buffer."""
        room = np.concatenate([buffer, np.zeros(16, np.int32)])
        text = fake_triton.JITFunction(self.fake).run(count, buffer=room)
        buffer[:] = room[:len(buffer)]
        return text

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for folder in ("output", "analysis")
                      for path in (self.folder / folder).rglob("*") if path.is_file())

    def test_the_example(self):
        """All that is asked inside of the context, as there, with more room than the context was made for."""
        with TritonInstrument(mode="block", t_start=0, t_end=1, output_dir="output") as inst:
            time_buf = inst.allocate_buffer(n_probes_estimate=512, n_threads=2)
            self.assertIn("rbwp_ptx", self.run_kernel(time_buf, 2))
            results = inst.get_results(export_path="output/raw")
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                inst.print_summary(results)
            inst.export_chrome_trace("output/trace.json", results)
            self.assertEqual(self.files(), ["output/raw.csv", "output/raw.npy", "output/trace.json"])
            trace = self.read("output/trace.json")["traceEvents"]
            active = inst.sanitize("analysis/active_probes.json", results, dead=True, merge=False)
        self.assertEqual(inst._launch().map["capacity"], 512)
        self.assertEqual([slot["probe_site"] for slot in results.values()], THIRTEEN)
        self.assertEqual([slot["loc"] for slot in results.values()], [10, 11, 12, 12, 12, 13, 13, 13, 13, 14, 14, 15, 15])
        self.assertEqual(list(results), list(range(13)))
        first = results[0]
        self.assertEqual(sorted(first), ["duration", "end_idx", "end_time", "loc", "mean_cycles", "probe_site", "start_idx",
                                         "start_time"])
        self.assertEqual((first["duration"] == first["end_time"] - first["start_time"]).all(), True)
        self.assertEqual(first["mean_cycles"], first["duration"].mean())
        self.assertEqual((int(results[4]["start_idx"][0]), int(results[4]["end_idx"][0])), (4, 5))  # a taken branch
        self.assertEqual(len(shown.getvalue().splitlines()), 14)
        self.assertEqual(shown.getvalue().split()[:6], ["Slot", "Site", "Loc", "Mean", "Cycles", "Min"])
        took = first["duration"]
        self.assertEqual(shown.getvalue().splitlines()[1].split(), ["0", "0", "10", f"{took.mean():.1f}", str(took.min()), str(took.max())])
        self.assertEqual((len(trace), trace[0]["name"], trace[0]["dur"]), (26, "Line 10", int(first["duration"][0])))
        self.assertEqual(trace[1]["tid"], 1)
        # Behind the context all files are there, and the list that was asked for is not another.
        self.assertEqual(self.files(), ["analysis/active_probes.json", "analysis/loc_map.json", "output/instrumented.ptx",
                                        "output/original.ptx", "output/raw.csv", "output/raw.npy", "output/trace.json"])
        self.assertEqual(self.read("analysis/active_probes.json"), active)
        self.assertEqual(active["active_start"]["list"], [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11])
        self.assertEqual(np.load("output/raw.npy").shape, (13, 8))
        self.assertEqual(np.loadtxt("output/raw.csv", np.int64, delimiter=",").tolist(), np.load("output/raw.npy").tolist())
        self.assertEqual(self.read("analysis/loc_map.json")["9"], 14)
        self.assertEqual(sanitizer.sanitize("output/raw.csv", "analysis/loc_map.json", "b/active.json", True, False), active)

    def test_a_buffer_that_is_asked_to_be_smaller(self):
        with TritonInstrument(t_end=1, n_probes_estimate=64, output_dir=None) as inst:
            self.assertEqual(len(inst.allocate_buffer(n_probes_estimate=1, n_threads=1)), 64 * 2 * 4)
        self.assertEqual(self.files(), [])

    def test_what_is_not_there(self):
        with TritonInstrument() as inst:
            with self.assertRaisesRegex(RuntimeError, "allocate_buffer"):
                inst.get_results()
            inst.allocate_buffer()
            with self.assertWarnsRegex(UserWarning, "no kernel"):
                self.assertEqual(inst.get_results("none"), {})
            for wrong in (0, 2**31):
                with self.assertRaisesRegex(ValueError, "^n_probes_estimate: "):
                    inst.allocate_buffer(wrong)
        self.assertEqual((inst.loc_map, self.files()), ({}, []))

    def test_each_key_of_a_config(self):
        text = ("[instrument]\nmode=block\ntarget_file=1\nt_start=0\nt_end=1\nn_probes_estimate=16\n"
                "[output]\noutput_dir=output\nraw_csv=r.csv\ntrace_json=t.json\ndump_ptx=%s\n"
                "[analysis]\nanalysis_dir=analysis\nloc_map=l.json\nactive_list=p.json\n"
                "[sanitizer]\nenable=True\ndead=True\nmerge=True\n")
        for dump, probes in (("True", 12), ("False", 6)):  # the second run obeys what the first one wrote
            pathlib.Path("config.ini").write_text(text % dump)
            with TritonInstrument.from_config() as inst:
                buffer = inst.allocate_buffer()
                self.assertEqual(len(buffer), 16 * 2 * 4)
                self.run_kernel(buffer, 0)
            self.assertEqual(len(inst.loc_map), probes)
        self.assertEqual(self.files(), ["analysis/l.json", "analysis/p.json", "output/instrumented.ptx", "output/original.ptx",
                                        "output/r.csv", "output/raw.npy", "output/t.json"])

    def test_each_keyword(self):
        with TritonInstrument(mode="entire", t_start=1, t_end=1, target_file=1, output_dir="output", analysis_dir=None,
                              active_list=None, n_probes_estimate=4, raw_csv="r.csv", trace_json="t.json",
                              loc_map_json="l.json", dump_ptx=False) as inst:
            self.run_kernel(inst.allocate_buffer(), 2)
        self.assertEqual(self.files(), ["output/r.csv", "output/raw.npy", "output/t.json"])
        self.assertEqual((inst.mode, inst.loc_map, len(inst.time_buffer)), ("entire", {0: -1}, 16))

    def test_two_kernels_and_one_buffer(self):
        for kernel, warned in (("*", "2 modules"), ("k", None)):
            context = TritonInstrument(t_end=1, n_probes_estimate=16, kernel=kernel)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                with context as inst:
                    buffer = inst.allocate_buffer()
                    self.run_kernel(buffer, 0)
                    with contextlib.suppress(KeyError):  # another kernel, which has other parameters
                        fake_triton.JITFunction(self.fake, "fixture_b").run(0, buffer=np.concatenate([buffer, np.zeros(16, np.int32)]))
            self.assertEqual([warned in str(one.message) for one in said], [True] if warned else [])

    def test_text(self):
        source = (CORPUS / "fixture_a.ptx").read_text()
        text, loc_map, probes = instrument_ptx(source, "block", 0, 1, 1, None)
        self.assertEqual((probes, list(loc_map.values())), (12, [10, 11, 12, 12, 12, 12, 13, 13, 14, 14, 15, 15]))
        self.assertIn("k_param_2", text.replace(source, ""))
        self.assertEqual(instrument_ptx(source, target_file=2)[1:], ({0: 40}, 1))
        self.assertEqual(instrument_ptx(source, "entire")[1], {0: -1})
        pathlib.Path("a.json").write_text('{"active_start": {"list": [0, 2]}, "active_end": {"list": [1, 2]}}')
        fewer = instrument_ptx(source, active_list="a.json")[0]
        self.assertLess(fewer.count("%clock"), text.count("%clock"))
        with self.assertRaises(rbwp.RbwpError):
            instrument_ptx("no PTX")

    def test_blocks(self):
        lines = (CORPUS / "fixture_a.ptx").read_text().splitlines(keepends=True)
        blocks = builder(lines)
        self.assertEqual(len(blocks), 15)
        self.assertEqual(vars(blocks[2]), {"entry": 19, "exit": 22, "file": 1, "loc": 11, "is_start": False, "is_end": False,
                                           "is_sync": False, "mma_lines": [], "empty_lines": [20, 22]})
        self.assertEqual((blocks[0].is_start, blocks[14].is_end), (True, True))
        self.assertEqual(builder([line.rstrip("\n") for line in lines]), blocks)
        other = builder((CORPUS / "fixture_b.ptx").read_text().splitlines())
        self.assertEqual([(block.is_sync, len(block.mma_lines)) for block in other if block.is_sync or block.mma_lines],
                         [(True, 0), (False, 1)])


class Warpscope(Folder):

    def test_the_example(self):
        prof = warpscope.Profiler(2, 2, 4, device="numpy")
        self.assertEqual((prof.ptr, prof.stride, prof.num_groups, prof.num_blocks, prof.max_records, prof.max_records_per_lane),
                         (prof.buffer.ctypes.data, 4, 2, 2, 4, 4))
        prof.buffer[:] = GOLDEN_LANES.view(np.int64)  # as a kernel would have left it
        trace = prof.decode(event_names=["load", "wait"], group_names=["producer", "consumer"])
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            trace.print_durations()
        rows = [line.split() for line in shown.getvalue().splitlines()]
        self.assertIn(["producer", "load", "1", "0.096"], [row[:4] for row in rows])
        self.assertIn("event_5", [row[1] for row in rows])  # more than there are names
        trace.to_perfetto("trace.json")
        spans = {event["name"]: event for event in self.read("trace.json")["traceEvents"] if event.get("ph") == "X"}
        self.assertEqual({key: spans["load"][key] for key in ("pid", "tid", "ts", "dur")}, {"pid": 0, "tid": 0, "ts": 0, "dur": 0.096})
        self.assertEqual(spans["event_5"]["pid"], 1)
        trace.to_perfetto("trace.pftrace")
        self.assertEqual((self.folder / "trace.pftrace").read_bytes()[:1], b"\n")
        trace.to_perfetto("trace.json.gz")
        self.assertIn("load", [event["name"] for event in json.loads(gzip.decompress((self.folder / "trace.json.gz").read_bytes()))["traceEvents"]])
        trace.to_perfetto("trace.bin")
        self.assertIn("lane_span", native.run_command(["tables", "trace.bin"]))
        # Without names, and the function.
        self.assertEqual({row.event for row in prof.decode().durations()}, {row.event for row in rbwp.decode_lanes(
            GOLDEN_LANES, dialect="v1").durations()})
        warpscope.write_chrome_trace(prof.buffer, len(prof.buffer), ["load", "wait"], ["producer", "consumer"], "again.json")
        self.assertEqual(self.read("again.json")["traceEvents"], self.read("trace.json")["traceEvents"])
        with self.assertRaisesRegex(ValueError, "^count: "):
            warpscope.write_chrome_trace(prof.buffer, len(prof.buffer) + 1, None, None, "x.json")


class OfRank:
    """What iris knows of a rank."""

    def __init__(self, rank):
        self.rank = rank

    def get_rank(self):
        return self.rank

    def get_num_ranks(self):
        return 2

    def get_heap_bases(self):
        return np.array([4096, 8192])


class Iris(Folder):

    def ranks(self):
        """Two ranks with the golden events."""
        made = []
        for rank, golden in enumerate(golden_ranks()):
            tracing = iris.Tracing(OfRank(rank), device="numpy", clock_hz=10**8)
            tracing.enable(max_events=4)
            for name, column in golden.columns.items():
                tracing.columns[name][:] = column
            tracing.counters[:] = golden.counters
            made.append(tracing)
        return made

    def test_the_schema_in_cycles(self):
        one, other = self.ranks()
        self.assertEqual(other.export("trace.json", merge=True), {})
        merged = one.export("trace.json", merge=True)
        self.assertEqual(merged, self.read("trace.json"))
        self.assertEqual(sorted(os.listdir()), ["trace.json", "trace_rank0.json", "trace_rank1.json"])
        for name in ("trace.json", "trace_rank0.json", "trace_rank1.json"):
            metadata = self.read(name)["metadata"]
            self.assertEqual((metadata["schema_version"], metadata["hostname"], metadata["command_line"]),
                             ("1.1", socket.gethostname(), " ".join(sys.argv)))
            self.assertEqual(metadata["process_name"], os.path.basename(sys.argv[0]))
        alone = self.read("trace_rank0.json")
        self.assertEqual(list(alone), ["traceEvents", "displayTimeUnit", "metadata"])
        self.assertEqual(json.dumps(alone["traceEvents"][0]), json.dumps(
            {"name": "put", "cat": "iris", "ts": 5000, "pid": 0, "tid": "XCC2_CU5",
             "args": {"program_id": 7, "pid_m": 1, "pid_n": 2, "target_rank": 1, "address": "0x7f0010002000", "xcc_id": 2,
                      "cu_id": 5, "op_index": 0, "payload_size": 32}, "ph": "X", "dur": 600}))
        self.assertEqual((alone["metadata"]["num_events"], alone["metadata"]["time_unit"]),
                         (4, "raw cycles (s_memrealtime @ 100MHz)"))
        self.assertEqual((merged["metadata"]["timestamp_offset"], merged["metadata"]["total_events"]), (4000, 7))
        self.assertEqual([event["ts"] for event in merged["traceEvents"] if event["ph"] != "M"], [1000, 1100, 1200, 1300, 0])
        self.assertEqual(one.export("own.json"), self.read("own_rank0.json"))
        self.assertEqual((one.trace_counter.item(), one.trace_buffers["event_id"].tolist()), (6, [3, 1, 99, 5]))

    def test_the_schema_in_microseconds(self):
        one, other = self.ranks()
        other.export("trace.json", merge=True, raw_cycles=False)
        merged = one.export("trace.json", merge=True, raw_cycles=False)
        self.assertEqual(merged["metadata"]["time_unit"], "microseconds")
        self.assertEqual([event["ts"] for event in merged["traceEvents"] if event["ph"] != "M"], [10, 11, 12, 13, 0])
        self.assertEqual(merged["traceEvents"][0]["dur"], 6)
        self.assertEqual(merged["traceEvents"][1]["tid"], "XCC2_CU5 / 1")  # it overlaps

    def test_the_machine(self):
        class Properties:
            name, total_memory, major, minor, multi_processor_count, gcnArchName = "G", 3 * 2**29, 9, 0, 132, "gfx942"

        torch = mock.Mock()
        torch.cuda.get_device_properties.return_value, torch.version.hip = Properties, None
        with mock.patch.dict(sys.modules, torch=torch):
            found = iris._system("cuda:0")
            self.assertEqual([found[key] for key in ("gpu_device_name", "gpu_total_memory_gb", "gpu_arch", "gpu_cu_count")],
                             ["G", "1.50", "sm_90", 132])
            torch.version.hip = "6.2.41133-1"
            found = iris._system("cuda:0")
        self.assertEqual((found["gpu_arch"], found["rocm_version"]), ("gfx942", [6, 2]))

    def test_off(self):
        self.assertIsNone(iris.Tracing(device="numpy").trace_counter)
        tracing = iris.Tracing(OfRank(1), device="numpy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tracing.reset()
            self.assertEqual((tracing.export("x.json"), os.listdir()), ({}, []))
        self.assertEqual(tracing.get_device_context()[:5].tolist(), [1, 2, 4096, 8192, 0])
        alone = iris.Tracing(device="numpy")
        self.assertEqual((alone.rank, alone.num_ranks, alone.enabled, alone.max_events), (0, 1, False, 0))

    def test_names(self):
        self.assertEqual((len(iris.EVENT_NAMES), iris.EVENT_NAMES[3], iris.EVENT_NAMES[13]), (14, "put", "atomic_max"))
        with self.assertRaises(AttributeError):
            iris.nothing

    def test_kernels(self):
        """The calls of their kernels on the stand-in for Triton."""
        code = dsl.load_code(pathlib.Path(iris.__file__).with_name("_iris_code.py"))
        tracing = iris.Tracing(OfRank(0), device="numpy")
        tracing.enable(8)
        target = np.zeros(4, np.int64)
        dsl.machine.__init__()
        dsl.machine.see(target, tracing.counters, *tracing.columns.values())
        context_tensor = tracing.get_device_context()
        dsl.machine.see(context_tensor)
        for tracing_on in (True, False):
            for ctx in (code.DeviceContext.initialize(dsl.pointer(context_tensor), 0, 2, tracing=tracing_on),
                        code.IrisDeviceCtx.initialize(dsl.pointer(context_tensor), tracing=tracing_on)):
                handle = ctx.tracing.record_event_start(event_id=code.TraceEvent().put, target_rank=1,
                                                        address=dsl.pointer(target), pid_m=dsl.program_id(0), pid_n=0)
                ctx.tracing.record_event_end(handle)
            self.assertEqual(code.DeviceContext.initialize(dsl.pointer(context_tensor), 0, 2).tracing.enabled, False)
        plain = code.DeviceTracing.initialize(dsl.pointer(context_tensor), 0, 2, tracing=True)
        plain.record_event_end(plain.record_event_start(code.TraceEvent().barrier, 0, dsl.pointer(target), 0, 0))
        self.assertEqual(code.DeviceTracing.initialize(dsl.pointer(context_tensor)).enabled, False)
        trace = tracing.decode()
        self.assertEqual(trace.events["id"].tolist(), [3, 3, 3073])
        self.assertEqual({name: getattr(code.TraceEvent(), name) for name in iris.EVENT_NAMES.values()},
                         {name: number for number, name in iris.EVENT_NAMES.items()})


if __name__ == "__main__":
    unittest.main()
