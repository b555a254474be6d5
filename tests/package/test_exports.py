# SPDX-License-Identifier: Apache-2.0
"""What the package exports through the command: files that others read, under the names that were promised."""

import json
import os
import tempfile
import unittest

import numpy as np
from test_host import GOLDEN_LANES, golden_columns

import rbwp
from rbwp.native import run_command


def tracing_with(rank, columns, counter):
    """A Tracing of NumPy whose buffers hold these events, as kernels would have left them."""
    tracing = rbwp.Tracing(rank, 2, [0, 0], device="numpy", clock_hz=10**8)
    tracing.enable(4)
    for name, array in columns.items():
        tracing.columns[name][:len(array)] = array
    tracing.counters[:] = counter
    return tracing


def golden_ranks():
    other = {name: np.zeros(1, array.dtype) for name, array in golden_columns().items()}
    for name, value in (("event_id", 3), ("cur_rank", 1), ("timestamp", 4000), ("duration_cycles", 4010)):
        other[name][0] = value
    return tracing_with(0, golden_columns(), 6), tracing_with(1, other, 1)


class Exports(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def spans(self, name):
        return [event for event in self.read(name)["traceEvents"] if event.get("ph") == "X"]

    def test_lanes_in_every_form(self):
        trace = rbwp.decode_lanes(GOLDEN_LANES, dialect="v1", events={0: "load", 5: "mma = wgmma"}, groups=["a", "b"])
        trace.to_chrome(self.path("lanes.json"))
        found = {event["name"]: round(event["dur"] * 1000) for event in self.spans("lanes.json")}
        self.assertEqual({name: found[name] for name in ("load", "event_1", "mma = wgmma")},
                         {"load": 96, "event_1": 48, "mma = wgmma": 128})
        trace.to_perfetto(self.path("lanes.pftrace"))
        self.assertGreater(os.path.getsize(self.path("lanes.pftrace")), 100)
        trace.to_rbwp(self.path("lanes.bin"))
        self.assertIn("lane_span", run_command(["tables", self.path("lanes.bin")]))
        trace.to_rbwp(self.path("lanes.bin"))  # again: what is there is overwritten
        anchored = rbwp.decode_lanes(GOLDEN_LANES, anchor_device=0x500000000, anchor_host_ns=10**15)
        anchored.to_rbwp(self.path("anchored.bin"))  # its first record is 32 ns before the anchor
        shown = json.loads(run_command(["info", "--json", self.path("anchored.bin")]))
        self.assertIn(10**15 - 32, [sample["monotonic"] for sample in shown["clock"]["samples"]])
        trace.save(self.path("raw.bin"))
        self.assertEqual(np.fromfile(self.path("raw.bin"), "<u8").tolist(), GOLDEN_LANES.tolist())

    def test_each_rank_and_all_in_one(self):
        ranks = golden_ranks()
        self.assertEqual(ranks[1].export(self.path("trace.json"), merge=True), [self.path("trace_rank1.json")])
        self.assertEqual(ranks[0].export(self.path("trace.json"), merge=True),
                         [self.path("trace_rank0.json"), self.path("trace.json")])
        self.assertEqual(sorted(os.listdir(self.folder)), ["trace.json", "trace_rank0.json", "trace_rank1.json"])
        self.assertEqual(sorted(round(event["dur"], 3) for event in self.spans("trace_rank0.json")), [6, 8])
        self.assertEqual(sorted(round(event["dur"], 3) for event in self.spans("trace.json")), [0.1, 6, 8])

    def test_a_rank_that_has_not_exported_is_named(self):
        with self.assertRaisesRegex(ValueError, "^merge: rank 1 has not exported"):
            golden_ranks()[0].export(self.path("trace.json"), merge=True)

    def test_one_rank_alone_leaves_one_file(self):
        for name, made in (("trace.json", "trace_rank0.json"), ("trace.pftrace", "trace_rank0.pftrace"),
                           ("trace.bin", "trace_rank0.bin"), ("trace", "trace_rank0")):
            self.assertEqual(golden_ranks()[0].export(self.path(name)), [self.path(made)])
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["trace_rank0", "trace_rank0.bin", "trace_rank0.json", "trace_rank0.pftrace"])
        self.assertIn("device_event", run_command(["tables", self.path("trace_rank0.bin")]))

    def test_the_json_of_iris(self):
        ranks = golden_ranks()
        ranks[0].export(self.path("alone.json"), raw_cycles=True)
        self.assertEqual(os.listdir(self.folder), ["alone_rank0.json"])
        os.unlink(self.path("alone_rank0.json"))
        for tracing in reversed(ranks):
            tracing.export(self.path("trace.json"), merge=True, raw_cycles=True)
        self.assertEqual(sorted(os.listdir(self.folder)), ["trace.json", "trace_rank0.json", "trace_rank1.json"])
        first = self.read("trace_rank0.json")["traceEvents"][0]
        self.assertEqual(list(first), ["name", "cat", "ts", "pid", "tid", "args", "ph", "dur"])
        self.assertEqual((first["ts"], first["dur"], first["tid"]), (5000, 600, "XCC2_CU5"))
        merged = self.read("trace.json")
        self.assertEqual((merged["metadata"]["total_events"], merged["metadata"]["timestamp_offset"]), (7, 4000))

    def test_what_the_command_says_is_raised(self):
        with self.assertRaisesRegex(rbwp.RbwpError, "nowhere"):
            rbwp.decode_lanes(GOLDEN_LANES).to_chrome(self.path("nowhere/lanes.json"))


if __name__ == "__main__":
    unittest.main()
