# SPDX-License-Identifier: Apache-2.0
"""The context that puts probes into kernels: caches that are apart, what was recorded, what is put back."""

import ctypes
import io
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
from unittest import mock

import fake_triton
import numpy as np

import rbwp
from rbwp import native, ptx

THIRTEEN = [[0, 0], [1, 1], [2, 2], [3, 3], [4, 5], [6, 6], [7, 5], [6, 6], [7, 7], [8, 8], [9, 9], [10, 10], [11, 11]]


class Context(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.fake = fake_triton.Fake(folder.name)
        self.cache = self.folder / "users-cache"
        for change in (mock.patch.dict("sys.modules", self.fake.modules),
                       mock.patch.dict(os.environ, {"TRITON_CACHE_DIR": str(self.cache)}),
                       mock.patch.object(ptx, "_collect", lambda launches: str(self.fake.collected))):
            change.start()
            self.addCleanup(change.stop)
        os.environ.pop("TRITON_PTXAS_PATH", None)
        self.kernel = fake_triton.JITFunction(self.fake)

    def probes_in_users_cache(self):
        return sum("rbwp_ptx" in path.read_text() for path in self.cache.iterdir())

    def test_neither_cache_serves_the_other(self):
        plain = self.kernel.run(2)
        with ptx.instrument(t_end=1) as first:
            probed = self.kernel.run(2)
            self.assertEqual(self.kernel.run(2), probed)  # from memory
            late = fake_triton.JITFunction(self.fake)
            self.assertEqual(late.run(2), probed)
        self.assertNotIn("rbwp_ptx", plain)
        self.assertIn("rbwp_ptx_buffer", probed)
        compiled = self.fake.compiled
        self.assertEqual((self.kernel.run(2), late.run(2)), (plain, plain))
        self.assertEqual(self.fake.compiled, compiled + 1)  # what was compiled before is still there
        self.assertEqual(self.probes_in_users_cache(), 0)
        # Again, now that everything is cached: other options give another text, and the same ones records again.
        with ptx.instrument("warp", t_end=0) as second:
            self.assertNotIn(self.kernel.run(2), (plain, probed))
        with ptx.instrument(t_end=1) as third:
            self.assertEqual(self.kernel.run(2), probed)
        self.assertEqual([len(one.launches()) for one in (first, second, third)], [3, 1, 1])
        self.assertEqual(self.probes_in_users_cache(), 0)

    def test_nothing_is_left_behind(self):
        self.fake.knobs.cache.dir = str(self.folder / "by-knob")
        before, knobs = dict(os.environ), dict(self.fake.knobs.cache.__dict__)
        with self.assertRaises(KeyError), ptx.instrument():
            self.assertNotEqual(self.fake.knobs.cache.dir, knobs["dir"])
            self.assertEqual(os.environ["RBWP_PTXAS"], fake_triton.Fake.ptxas)
            self.kernel.run(0)
            raise KeyError
        self.assertEqual((dict(os.environ), self.fake.knobs.cache.__dict__), (before, knobs))
        self.assertNotIn("rbwp_ptx", self.kernel.run(0))
        self.assertEqual([path.name for path in self.folder.iterdir() if "cache" in path.name], [])

    def test_the_records(self):
        with ptx.instrument(t_end=1, n_probes_estimate=16) as inst:
            self.kernel.run(2)
        launch, = inst.launches()
        self.assertEqual((launch.kernel, launch.dropped, launch.map["lanes"]), ("k", 0, 2))
        slots = inst.results()
        self.assertEqual([[int(s.start_idx[1]), int(s.end_idx[1])] for s in slots], THIRTEEN)
        self.assertEqual([s.line for s in slots], [10, 11, 12, 12, 12, 13, 13, 13, 13, 14, 14, 15, 15])
        for s in slots:
            self.assertEqual(s.duration.tolist(), [stop - start for start, stop in zip(s.start_time.tolist(), s.end_time.tolist())])
        self.assertTrue(all((s.duration > 0).all() and s.mean_cycles > 0 for s in slots))
        edge = next(pair for pair in inst.pairs() if (pair.start, pair.end) == (7, 5))
        self.assertEqual((edge.kernel, edge.line, edge.count), ("k", 13, 2))
        self.assertEqual(sum(pair.count for pair in inst.pairs()), 26)
        text = io.StringIO()
        inst.summary(text)
        self.assertIn("Mean Cycles", text.getvalue())
        inst.export_chrome_trace(self.folder / "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        self.assertEqual((len(events), events[0]["name"], events[0]["tid"]), (26, "Line 10", 0))
        self.assertEqual(inst.save(self.folder / "out"), [str(self.folder / "out")])
        self.assertEqual(np.load(self.folder / "out" / "raw.npy").shape, (13, 8))

    def test_several_launches_and_losses(self):
        with ptx.instrument(t_end=0, n_probes_estimate=2) as inst:
            self.kernel.run(2)
            self.kernel.run(0)
            self.fake.say({"skipped": "limit", "kernel": "k", "count": 7})
        self.assertEqual([launch.dropped for launch in inst.launches()], [11, 4])
        self.assertEqual([skipped_launch["count"] for skipped_launch in inst.skipped()], [7])
        inst.export_chrome_trace(self.folder / "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        self.assertEqual([(event["pid"], event["ph"]) for event in events],
                         [(0, "M"), (0, "X"), (0, "X"), (1, "M"), (1, "X"), (1, "X")])
        self.assertEqual([os.path.basename(path) for path in inst.save(self.folder / "out")], ["out", "k-0", "k-1"])
        for name, rows in (("k-0", 2), ("k-1", 2), (".", 2)):
            self.assertEqual(len(np.load(self.folder / "out" / name / "raw.npy")), rows)

    def test_results_inside_the_context(self):
        with ptx.instrument(t_end=1, n_probes_estimate=16, output_dir=self.folder / "out") as inst:
            self.assertEqual((inst.results(), inst.launches(), inst.skipped()), ([], [], []))
            self.kernel.run(0)
            self.assertEqual((len(inst.results()), len(inst.pairs())), (6, 6))
            self.kernel.run(2)
            self.fake.say({"skipped": "limit", "kernel": "k", "count": 7})
            self.assertEqual([len(launch.cells) for launch in inst.launches()], [6, 13])
            self.assertEqual(len(inst.skipped()), 1)
            inst.to_rbwp(self.folder / "inside.bin")
            text = io.StringIO()
            inst.summary(text)
            self.assertEqual(text.getvalue().count("Mean Cycles"), 2)
            self.kernel.run(0)
            lists = inst.active_probes()
        self.assertEqual([len(launch.cells) for launch in inst.launches()], [6, 13, 6])
        self.assertEqual(inst.active_probes(), lists)
        self.assertEqual(np.load(self.folder / "out" / "raw.npy").shape, (6, 8))  # the last one's
        self.assertEqual(np.load(self.folder / "out" / "k-1" / "raw.npy").shape, (13, 8))
        self.assertEqual(json.loads((self.folder / "out" / "active_probes.json").read_text()), lists)

    def test_active_probes_of_several_launches(self):
        with ptx.instrument(t_end=0) as one:
            self.kernel.run(0)
        with ptx.instrument(t_end=0) as both:
            self.kernel.run(0)
            self.kernel.run(2)
        self.assertEqual(one.active_probes()["active_end"]["list"], [0, 1, 9, 11])
        self.assertEqual(both.active_probes()["active_end"]["list"], [0, 1, 5, 7, 9, 11])
        with ptx.instrument(t_end=0, dead=False, merge=False) as all_of_them:
            self.kernel.run(0)
        self.assertEqual(all_of_them.active_probes()["active_start"]["list"], list(range(12)))

    def test_a_launch_without_records(self):
        with ptx.instrument(t_start=100, t_end=101) as inst:
            self.kernel.run(2)
        self.assertEqual((len(inst.launches()), inst.results(), inst.pairs()), (1, [], []))
        inst.export_chrome_trace(self.folder / "trace.json")
        self.assertEqual(json.loads((self.folder / "trace.json").read_text())["traceEvents"], [])

    def test_a_profile_and_what_an_empty_pair_takes(self):
        with ptx.instrument("warp", t_end=0, target_file=1):
            self.kernel.run(2)
        with ptx.instrument("warp", t_end=0, target_file=1) as inst:
            self.kernel.run(0)
        launch, = inst.launches()
        self.assertEqual((launch.map["cells"], launch.pair_cycles), ("wide", 1))
        self.assertEqual({pair.total_cycles for pair in inst.pairs()}, {0})
        # Launches before the context are none of its profile's.
        inst.to_rbwp(self.folder / "profile.bin")
        rows = native.run_command(["tables", "--table", "kernel_block", "--as", "ndjson", str(self.folder / "profile.bin")])
        self.assertEqual(len(rows.splitlines()), 6)

    def test_an_empty_pair_takes_what_the_quickest_lane_measured(self):
        lanes = np.zeros((3, 2, 8), np.uint32)  # a head and a cell each; the last word of a head is what a pair took
        lanes[:, 0, 7], lanes[:, 1, 7] = (0, 9, 4), 1
        raw = self.folder / "x.raw"
        raw.write_bytes(bytes(32) + lanes.tobytes())
        self.assertEqual(ptx._empty_pair({"cells": "wide", "capacity": 1, "lanes": 3}, str(raw)), 4)
        self.assertEqual(ptx._empty_pair({"cells": "wide", "capacity": 1, "lanes": 1}, str(raw)), 0)
        self.assertEqual(ptx._empty_pair({"cells": "compat"}, str(raw)), 0)

    def test_a_second_pass_with_fewer_probes(self):
        with ptx.instrument(t_end=1) as inst:
            self.kernel.run(0)
        active = inst.active_probes()
        self.assertEqual(active, {"active_start": {"list": [0, 1, 2, 10]}, "active_end": {"list": [0, 1, 9, 11]}})
        with ptx.instrument(t_end=1, active_list=active) as again:
            self.kernel.run(0)
        self.assertLess(len(again.launches()[0].map["probes"]), len(inst.launches()[0].map["probes"]))

    def test_a_buffer_of_the_kernels_own(self):
        with ptx.instrument(t_end=1, n_probes_estimate=16, bind="param") as inst:
            buffer = inst.allocate_buffer(device="numpy")
            self.assertEqual((buffer.dtype, len(buffer)), (np.int32, 16 * 2 * 4))
            room = np.concatenate([buffer, np.zeros(16, np.int32)])  # and the kernel's result
            self.kernel.run(2, buffer=room)
            buffer[:] = room[:len(buffer)]
        self.assertEqual([[int(s.start_idx[0]), int(s.end_idx[0])] for s in inst.results()], THIRTEEN)
        with self.assertRaisesRegex(ValueError, "^bind: no buffer"):
            with ptx.instrument(bind="param") as none:
                pass
            none.results()

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for folder in ("o", "a")
                      for path in (self.folder / folder).rglob("*") if path.is_file())

    def test_each_key_of_a_config(self):
        """All 15, twice: the second run obeys what the first one wrote, and the command finds both files."""
        config = self.folder / "config.ini"
        text = (f"[instrument]\nmode=block\ntarget_file=1\nt_start=0\nt_end=1\nn_probes_estimate=16\n"
                f"[output]\noutput_dir={self.folder}/o\nraw_csv=r%%.csv\ntrace_json=t.json\ndump_ptx=True\n"
                f"[analysis]\nanalysis_dir={self.folder}/a\nloc_map=l.json\nactive_list=p.json\n"
                "[sanitizer]\nenable=ON\ndead=True\nmerge=%s\n")
        config.write_text(text % "True")
        probes = []
        for _ in range(2):
            with ptx.from_config(config) as inst:
                self.kernel.run(0)
            probes.append(len(inst.launches()[0].map["probes"]))
        self.assertEqual(probes, [12, 6])
        self.assertEqual(self.files(), ["a/l.json", "a/p.json", "o/instrumented.ptx", "o/original.ptx", "o/r%.csv",
                                        "o/raw.npy", "o/t.json"])
        self.assertEqual((self.folder / "o" / "original.ptx").read_text(), self.kernel.path.read_text())
        self.assertIn("rbwp_ptx_buffer", (self.folder / "o" / "instrumented.ptx").read_text())
        wrote = (self.folder / "a" / "p.json").read_text()
        native.run_command(["ptx", "sanitize", "--config", str(config)])
        self.assertEqual(json.loads((self.folder / "a" / "p.json").read_text()), json.loads(wrote))
        # What is off, and an argument that comes before the file.
        config.write_text((text % "0").replace("dump_ptx=True", "dump_ptx=no").replace("enable=ON", "enable=off"))
        with ptx.from_config(config, analysis_dir=self.folder / "o", active_json="q.json") as inst:
            self.kernel.run(0)
        self.assertEqual(len(inst.launches()[0].map["probes"]), 12)
        self.assertEqual(len(json.loads((self.folder / "o" / "q.json").read_text())["active_start"]["list"]), 6)
        # Without the section nothing is left out, as `rbwp ptx` has it.
        config.write_text((text % "")[:(text % "").index("[sanitizer]")])
        with ptx.from_config(config) as inst:
            self.kernel.run(0)
        self.assertEqual(len(json.loads((self.folder / "a" / "p.json").read_text())["active_start"]["list"]), 12)
        # A launch without records leaves no list, which would be an empty one.
        (self.folder / "a" / "p.json").unlink()
        with ptx.from_config(config, t_start=100, t_end=101):
            self.kernel.run(0)
        self.assertFalse((self.folder / "a" / "p.json").exists())
        for wrong, said in (("[sanitizer]\nenable=perhaps\n", "enable: 'perhaps'"), ("mode=block\n", "no section")):
            config.write_text(wrong)
            with self.assertRaisesRegex(rbwp.RbwpError, said):
                ptx.from_config(config)

    def test_a_file_of_compatible_tools(self):
        config = self.folder / "config.ini"
        config.write_text("[instrument]\nmode = block ; of all\nt_end = 0\nn_probes_estimate = 16\n"
                          f"[output]\noutput_dir = {self.folder}/made\n[analysis]\nanalysis_dir = {self.folder}/made\n")
        with ptx.from_config(config, t_end=1) as inst:
            self.kernel.run(0)
        self.assertEqual((inst.launches()[0].map["lanes"], inst.launches()[0].map["capacity"]), (2, 16))
        self.assertEqual(np.load(self.folder / "made" / "raw.npy").shape, (6, 8))
        config.write_text("[instrument]\nt_end = x\n")
        with self.assertRaisesRegex(rbwp.RbwpError, "config.ini: t_end: 'x' is no number"):
            ptx.from_config(config)

    def test_arguments(self):
        for name, wrong in (("mode", dict(mode="all")), ("target_file", dict(target_file="a b.py")),
                            ("target_file", dict(target_file="-x")), ("kernel", dict(kernel="")),
                            ("t_end", dict(t_start=5, t_end=4)), ("threads", dict(threads="1-x")),
                            ("threads", dict(threads=[])), ("n_probes_estimate", dict(n_probes_estimate=0)),
                            ("bind", dict(bind="append")), ("param", dict(param="x")), ("per", dict(per="block")),
                            ("cells", dict(cells="narrow")), ("launches", dict(launches=0))):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, f"^{name}: "):
                ptx.instrument(**wrong)
        with self.assertRaisesRegex(TypeError, "^t_start: "):
            ptx.instrument(t_start="0")
        for name, least, most in (("target_file", 0, 2**31 - 1), ("t_start", 0, 2**62), ("t_end", 0, 2**62), ("n_probes_estimate", 1, 2**31 - 1), ("launches", 1, 2**31 - 1)):
            for wrong in (least - 1, most + 1):
                with self.subTest(name, wrong=wrong), self.assertRaisesRegex(ValueError, f"^{name}: "):
                    ptx.instrument(**{name: wrong})
        for name, allowed in (("target_file", 0), ("target_file", 2**31 - 1), ("n_probes_estimate", 1), ("n_probes_estimate", 2**31 - 1), ("launches", 1), ("launches", 2**31 - 1)):
            self.assertIsInstance(ptx.instrument(**{name: allowed}), ptx.Instrumentation)
        self.assertEqual(ptx.instrument("warp", kernel="k*", target_file=2, threads="0-6/2,9", n_probes_estimate=3, bind="param", param="p", per="warp", cells="wide")._options,
                         ["--mode", "warp", "--kernel", "k*", "--file", "2", "--threads", "0-6/2,9", "--capacity", "3", "--bind", "param", "--per", "warp", "--cells", "wide", "--param", "p"])
        self.assertEqual([ptx._count(threads) for threads in ("0", "3-5", "0-6/2,9", "0-7/3")], [1, 3, 5, 3])
        inst = ptx.instrument()
        self.assertEqual(inst.results(), [])
        with self.assertRaisesRegex(ValueError, "^folder: "):
            inst.save()
        with inst:
            pass
        with self.assertRaisesRegex(RuntimeError, "once"):
            inst.__enter__()
        self.assertEqual((inst.results(), inst.pairs()), ([], []))


@unittest.skipUnless(os.environ.get("RBWP_TEST_FAKE_CUDA"), "needs the collector and the fake driver")
class Collector(unittest.TestCase):
    """librbwp-inject.so, loaded by the context, on the fake driver, whose kernels store one record of 1000 cycles."""

    @staticmethod
    def launch(driver, kernel, count):
        """As a program does that Triton compiled: its module says which map it has."""
        text = fake_triton.CORPUS / "fixture_a.ptx"
        subprocess.run([os.environ["TRITON_PTXAS_PATH"], text], check=True,
                       env={**os.environ, "RBWP_PTXAS": "/bin/true", "RBWP_PTX_KEEP": "1"})
        kept = next(pathlib.Path(os.environ["RBWP_PTX_DIR"]).glob("*.probes.ptx"))
        words = re.search(r"rbwp_ptx_shape\[8\] = {([^}]*)}", kept.read_text())
        driver.fake_shape((ctypes.c_uint64 * 8)(*(int(word, 16) for word in words[1].split(", "))))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        driver.cuModuleLoadData(ctypes.byref(module), b"rbwp_probed k")
        driver.cuModuleGetFunction(ctypes.byref(function), module, kernel)
        for _ in range(count):
            driver.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, None, None)

    def test_each_context_records_anew(self):
        fake = os.environ["RBWP_TEST_FAKE_CUDA"]
        with mock.patch.dict(os.environ, {"RBWP_CUDA": fake, "RBWP_CUPTI": fake}), mock.patch.object(ptx, "_folder", None):
            driver = ctypes.CDLL(fake)
            driver.cuCtxPushCurrent_v2(ctypes.c_void_p(1))
            found = []
            for launches in (2, 3):
                with ptx.instrument("warp", t_end=0, n_probes_estimate=1, launches=launches) as inst:
                    self.launch(driver, b"k", 5)
                    self.assertEqual(len(inst.launches()), launches)  # inside, too
                found.append([(launch.kernel, launch.pair_cycles, launch.cells.tolist()) for launch in inst.launches()])
            self.assertFalse(list(pathlib.Path(ptx._folder).glob("*.raw")))  # a context has its buffers for itself
        record = ("k", 20, [[[0, 0, 1000, 2000]]])
        self.assertEqual(found, [[record] * 2, [record] * 3])


class Places(unittest.TestCase):

    def test_the_stand_in_is_beside_the_command(self):
        self.assertEqual(os.path.basename(native.stand_in()), "rbwp-ptxas")
        with mock.patch.dict(os.environ, {"RBWP_COMMAND": "/nowhere/rbwp", "PATH": "/nowhere", "RBWP_INJECT": ""}):
            with self.assertRaisesRegex(FileNotFoundError, "RBWP_PTXAS_STAND_IN"):
                native.stand_in()
            with self.assertRaisesRegex(FileNotFoundError, "RBWP_INJECT"):
                native.inject_library()


if __name__ == "__main__":
    unittest.main()
