# SPDX-License-Identifier: Apache-2.0
"""Spans of files as NumPy columns: mapped and not copied, what the command prints, filtered before Python sees them;
groups are what `rbwp stats` counts."""

import dataclasses
import importlib.util
import json
import os
import pickle
import struct
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

import rbwp
from rbwp import columns
from rbwp.native import run_command

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
FILE = os.path.join(GOLDEN, "multi_thread.bin")


def golden(name):
    return os.path.join(GOLDEN, name + ".bin")


def command_counts(*paths, options=()):
    """What rbwp stats counts, by category, item and name."""
    stats = json.loads(run_command(["stats", "--json", *options, *paths], good=(0, 3)))
    fields = ("count", "unfinished", "open", "total", "open_time", "mean", "min", "p50", "p90", "p99", "max")
    return {(row["category"], row["item"], row["name"]): tuple(row[field] for field in fields)
            for table in ("work_items", "sub_items", "gpu_work") for row in stats[table]}


def counted(spans):
    return {key: dataclasses.astuple(group) for key, group in spans.group_by("category", "item", "name").items()}


def named_file(name):
    """A file of one call of a work item of that name."""
    data = struct.pack(">Q", 3 << 62 | 1000) + b"\x01\x05" + struct.pack(">H", 7) + b"\x02"
    block = struct.pack("<QIIqII", 1, 0, 2, 1000, len(data), 0) + data
    tables = struct.pack("<HH", 5, len(name)) + name
    return struct.pack("<4sHHIqIIQ", b"RBWP", 1, 0, 0, 1000, 1, 0, 36 + len(block)) + block + tables


class SpansOfFiles(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, data=None):
        path = os.path.join(self.folder, name)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        return path

    def test_columns_are_what_the_command_tells(self):
        spans = rbwp.spans(FILE)
        rows = [json.loads(line) for line in run_command(["export", "--to", "ndjson", FILE]).splitlines()]
        self.assertEqual(len(spans), len(rows))
        for name, key in (("start", "start_ns"), ("duration_ns", "duration_ns"), ("id", "id"), ("depth", "depth")):
            self.assertEqual(spans[name].tolist(), [row[key] for row in rows], name)
        for name in ("name", "track", "category"):
            self.assertEqual(spans.text(name).tolist(), [row[name] for row in rows], name)
        parents = [parent if known else None for parent, known in zip(spans["parent"].tolist(), spans.known("parent"))]
        self.assertEqual(parents, [row.get("parent") or None for row in rows])
        self.assertEqual(spans.facts["process.0.file"], FILE)
        self.assertFalse(spans.known("args").any())
        self.assertEqual(set(spans.text("args")), {None})
        self.assertEqual({name: spans[name].dtype.str for name in spans.columns}, columns.COLUMNS)

    def test_columns_are_mapped_not_copied(self):
        for spans in rbwp.spans(FILE), rbwp.spans(FILE, columns=["start"]):
            base = spans["start"]
            while isinstance(base, np.ndarray):
                self.assertFalse(base.flags.owndata)
                base = base.base
            self.assertIn(type(base.obj if isinstance(base, memoryview) else base).__name__, ("mmap", ))
            self.assertTrue(spans["start"].flags.aligned)
            with self.assertRaises(ValueError):
                spans["start"][0] = 1
        part = spans[100:200]
        self.assertTrue(np.shares_memory(part["start"], spans["start"]))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_of_columns_is_mapped_as_it_is(self):
        path = self.path("run.npz")
        run_command(["export", "-o", path, FILE])
        spans = rbwp.spans(path, columns=["name", "duration_ns", "args"])
        self.assertEqual(spans.columns, ("duration_ns", "name", "args"))
        self.assertEqual(spans.text("name").tolist(), rbwp.spans(FILE).text("name").tolist())
        with np.load(path) as arrays:
            self.assertEqual(arrays["duration_ns"].tolist(), spans["duration_ns"].tolist())
        with self.assertRaisesRegex(ValueError, "filter when it is made"):
            rbwp.spans(path, since="+1s")

    def test_what_is_no_file_of_columns_is_refused(self):
        whole = self.path("whole.npz")
        run_command(["export", "-o", whole, FILE])
        with open(whole, "rb") as file:
            data = file.read()
        np.savez(self.path("other.npz"), start=np.arange(3))
        np.savez_compressed(self.path("packed.npz"), start=np.arange(3))
        self.path("text.npz", b"no archive")
        self.path("empty.npz", b"")
        self.path("cut.npz", data[:len(data) // 2])
        self.path("long.npz", data.replace(b"'shape': (820,)", b"'shape': (920,)"))
        for name in ("other", "packed", "text", "empty", "cut", "long"):
            with self.assertRaises(rbwp.RbwpError, msg=name):
                rbwp.spans(self.path(name + ".npz"))

    def test_groups_are_those_of_stats(self):
        for name in ("multi_thread", "level2_all_types", "gaps", "crash_killed"):
            self.assertEqual(counted(rbwp.spans(golden(name))), command_counts(golden(name)), name)
        with open(FILE, "rb") as file:
            data = file.read()
        paths = [FILE, self.path("node4.bin", data[:8] + struct.pack("<I", 4) + data[12:])]
        together = command_counts(*paths)
        self.assertEqual(counted(rbwp.spans(paths)), together)
        merged = rbwp.Groups(("category", "item", "name"))
        for path in paths:
            whole = rbwp.spans(path)
            for part in whole[:100], whole[100:]:  # in parts, too
                merged.add(part.group_by("category", "item", "name"))
        self.assertEqual({key: dataclasses.astuple(group) for key, group in merged.items()}, together)
        with self.assertRaisesRegex(ValueError, "cannot be merged"):
            merged.add(rbwp.Groups(("name", )))

    def chrome(self, name, *events):
        """A file of spans (category, name, start and length in us, arguments) as our own exports have them."""
        rows = [{"ph": "X", "cat": category, "name": span, "pid": 1, "tid": 2, "ts": at, "dur": length, "args": args}
                for category, span, at, length, args in events]
        return self.path(name, json.dumps({"otherData": {"rbwp.version": "0", "origin_ns": "1700000000000000000"}, "traceEvents": rows}).encode())

    def test_waits_in_queues_are_no_calls(self):
        path = self.chrome("queue.json", ("call", "get", 0, 10, {}), ("call", "put", 20, 4, {}), ("queued", "get", 30, 500, {}))
        spans = rbwp.spans(path)
        self.assertEqual({key: (g.count, g.total_ns) for key, g in spans.group_by("name").items()},
                         {("get", ): (1, 10_000), ("put", ): (1, 4_000)})
        self.assertEqual(spans.group_by("category", "name")["queued", "get"].total_ns, 500_000)
        with self.assertRaisesRegex(KeyError, "category: no column"):
            rbwp.spans(path, columns=["name", "duration_ns", "finished", "open"]).group_by("name")

    def test_arguments_are_columns(self):
        path = self.chrome("args.json", ("call", "f", 0, 1, {"verb": "scan", "keys": 7}), ("call", "f", 10, 3, {"verb": "get"}),
                           ("call", "f", 20, 5, {"verb": "scan", "list": [1, 2]}), ("call", "f", 30, 7, {}))
        spans = rbwp.spans(path)
        self.assertEqual(spans.arg("verb").tolist(), ["scan", "get", "scan", None])
        self.assertEqual(spans[1:].arg("keys").tolist(), [None, None, None])
        self.assertEqual(spans.arg("keys").tolist(), [7, None, None, None])
        groups = spans.group_by("name", "args.verb")
        self.assertEqual({key: group.total_ns for key, group in groups.items()},
                         {("f", "scan"): 6000, ("f", "get"): 3000, ("f", None): 7000})
        self.assertEqual(spans.group_by("args.list").keys(), [(None, ), ("[1, 2]", )])
        self.assertEqual(rbwp.spans(FILE).arg("verb").tolist(), [None] * 820)

    def test_arguments_by_name(self):
        path = self.chrome("args.json", ("call", "f", 0, 1, {"verb": "scan", "keys": 7, "hit": True, "ratio": 0.5, "big": 2**63 + 1}),
                           ("call", "f", 10, 3, {"keys": 2**40, "ratio": 2, "big": -1}), ("call", "f", 20, 5, {"list": [1]}),
                           ("call", "f", 30, 7, {}))
        spans = rbwp.spans(path)
        self.assertEqual(spans.args, ("verb", "keys", "hit", "ratio", "big", "list"))
        self.assertEqual((spans[1:].args, spans[3:].args, rbwp.spans(FILE).args), (("keys", "ratio", "big", "list"), (), ()))
        self.assertEqual([name in spans for name in ("args", "args.keys", "args.nope", "keys")], [True, True, False, False])
        for name, kind, values in (("keys", "<i8", [7, 2**40, 0, 0]), ("hit", "|b1", [True, False, False, False]),
                                   ("ratio", "<f8", [0.5, 2, 0, 0]), ("verb", "|O", ["scan", None, None, None]),
                                   ("big", "|O", [2**63 + 1, -1, None, None]), ("list", "|O", [None, None, [1], None]),
                                   ("nope", "|O", [None] * 4)):  # a double would not hold "big"
            column = spans[f"args.{name}"]
            self.assertEqual((column.dtype.str, column.tolist()), (kind, values), name)
        self.assertEqual(spans.known("args.keys").tolist(), [True, True, False, False])
        self.assertEqual(spans[spans["args.keys"] > 7]["start"].tolist(), [spans["start"][1]])

    def test_a_repr_says_what_it_is(self):
        spans = rbwp.spans(FILE)
        self.assertEqual(repr(spans), f"<rbwp.Spans: 820 spans of {FILE}, 0.000102257 s from 2026-11-20T17:54:20.010241759, "
                         f"{len(columns.COLUMNS)} columns>")
        self.assertEqual(repr(spans[:0]), f"<rbwp.Spans: 0 spans of {FILE}, {len(columns.COLUMNS)} columns>")
        self.assertEqual(repr(rbwp.spans(FILE, columns="name")), f"<rbwp.Spans: 820 spans of {FILE}, 1 columns>")
        self.assertEqual((columns._of_files(["a", "b", "c"]), columns._of_files([])), (" of a and 2 more", ""))
        lanes = rbwp.LaneBuffer(2, 3, 16, version=2, device="numpy")
        self.assertEqual(repr(lanes), "<rbwp.LaneBuffer: 2 x 3 lanes of 16 records, version 2, on numpy>")
        self.assertEqual(repr(lanes.decode()), "<rbwp.LaneTrace: 0 spans in 0 lanes, 0 s, 0 damaged>")
        tracing = rbwp.Tracing(1, 4, range(4), device="numpy")
        self.assertEqual(repr(tracing), "<rbwp.Tracing: rank 1 of 4, not enabled>")
        tracing.enable(10)
        self.assertEqual(repr(tracing), "<rbwp.Tracing: rank 1 of 4, 10 slots on numpy>")
        self.assertEqual(repr(tracing.decode()), "<rbwp.EventTrace: rank 1, 0 events, 0 s, 0 dropped, 0 damaged>")

    def test_bars_of_a_plot(self):
        path = self.chrome("plot.json", ("call", "outer", 0, 9, {}), ("call", "inner", 2, 3, {}), ("call", "inner", 6, 1, {}),
                           *(("call", f"n{i}", 20 + i, 0.5, {}) for i in range(12)))
        spans, axes = rbwp.spans(path), mock.Mock()
        self.assertIs(spans.plot(axes), axes)
        drawn = [(np.round(call.args[0] * 1e6, 3).tolist(), call.args[1], call.kwargs["color"])
                 for call in axes.broken_barh.call_args_list]
        self.assertEqual(drawn[:2], [([[0, 9]], (-0.45, 0.9), "C0"), ([[2, 3], [6, 1]], (0.55, 0.9), "C1")])
        self.assertEqual((len(drawn), drawn[-1][2]), (10, "0.7"))  # nine have a colour, all others grey
        self.assertEqual(sum(len(bars) for bars, *_ in drawn), len(spans))
        labels = [call.kwargs["label"] for call in axes.plot.call_args_list]
        self.assertEqual(labels, ["outer", "inner", *(f"n{i}" for i in range(7)), "others"])
        self.assertEqual([part.tolist() if hasattr(part, "tolist") else part for part in axes.set_yticks.call_args.args],
                         [[0], [spans.text("track")[0]]])
        self.assertEqual(spans[:0].plot(mock.Mock()).broken_barh.call_count, 0)
        with mock.patch.dict("sys.modules", {"matplotlib": None}), self.assertRaisesRegex(ImportError, "python3-matplotlib"):
            spans.plot()

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib here (Debian: python3-matplotlib)")
    def test_a_plot_by_matplotlib(self):
        with mock.patch.dict(os.environ, {"MPLBACKEND": "Agg", "MPLCONFIGDIR": self.folder}):
            axes = rbwp.spans(FILE).plot(color="category")
            axes.figure.savefig(self.path("plot.png"))
        self.assertEqual(sum(len(bars.get_paths()) for bars in axes.collections), 820)
        self.assertEqual(len(axes.get_yticks()), 4)

    def test_groups_are_printed_as_a_table(self):
        path = self.chrome("table.json", ("call", "short", 0, 1, {}), ("call", "longest", 10, 1234, {}))
        self.assertEqual(repr(rbwp.spans(path).group_by("name", "args.x")).splitlines(), [
            "name     args.x  count   total_ns    mean_ns     p50_ns     p99_ns     max_ns",
            "longest  -           1  1,234,000  1,234,000  1,234,000  1,234,000  1,234,000",
            "short    -           1      1,000      1,000      1,000      1,000      1,000"])
        many = self.chrome("many.json", *(("call", f"n{i}", 10 * i, 1, {}) for i in range(25)))
        self.assertEqual(repr(rbwp.spans(many).group_by("name")).splitlines()[-1], "... and 5 more")

    def test_a_name_that_nothing_has_is_said(self):
        for wrong in {"slot": "nope"}, {"thread": "nobody", "slot": "memcpy*"}:
            with self.assertWarnsRegex(rbwp.RbwpWarning, "no span is of .*'(nope|nobody)'"):
                self.assertEqual(len(rbwp.spans(FILE, **wrong)), 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rbwp.spans(FILE, slot="memcpy*")
            rbwp.spans(FILE, until="1")  # a window may be empty

    @unittest.skipUnless(importlib.util.find_spec("dask"), "no Dask here (Debian: python3-dask)")
    def test_a_file_and_its_repaired_copy(self):
        import rbwp.dask as rbwp_dask
        with open(golden("crash_killed"), "rb") as file:
            self.path("srv.bin", file.read())
        run_command(["repair", "-o", self.path("srv-repaired.bin"), self.path("srv.bin")], good=(0, 3))
        with self.assertRaisesRegex(rbwp.RbwpError, "is it given twice"):
            rbwp_dask.spans(self.path("srv*.bin"))
        # Files of different runs are none, though they are on no common axis.
        spans = rbwp_dask.spans([self.path("srv.bin"), FILE])
        self.assertEqual(spans.npartitions, 2)
        one, other = (rbwp.spans(path).group_by("name", "args.x") for path in (self.path("srv.bin"), FILE))
        self.assertEqual(spans.group_by("name", "args.x").compute(scheduler="synchronous").items(), one.add(other).items())

    @unittest.skipUnless(importlib.util.find_spec("dask"), "no Dask here (Debian: python3-dask)")
    def test_a_span_is_of_the_window_that_it_begins_in(self):
        import rbwp.dask as rbwp_dask
        starts = np.sort(rbwp.spans(FILE)["start"])
        first, second = int(starts[300]), int(starts[500])
        for bounds in ((None, first), (first, second), (second, None), (None, None)):
            for chosen in (("start", ), ("duration_ns", )):
                part = rbwp_dask.read_part(rbwp_dask.Part(FILE, *bounds), [], chosen)
                wanted = (starts >= (bounds[0] or 0)) & (starts < (bounds[1] or 2**63 - 1))
                self.assertEqual((len(part), part.columns), (int(wanted.sum()), chosen))
        part = rbwp_dask.Part(FILE, first, second)
        self.assertEqual(rbwp_dask._window(part, []), [f"--from={first - 1000}", f"--until={second + 1000}"])
        self.assertEqual(rbwp_dask._window(part, ["--from=+1s"]), [f"--until={second + 1000}"])
        with self.assertRaisesRegex(ValueError, "partition_records: at least 1"):
            rbwp_dask.spans(FILE, partition_records=0)
        index = [{"index": [{"records": 5, "first": first} for first in (10, 20, 30, 30)]}]
        with mock.patch.object(rbwp_dask, "_told", lambda *_: index):  # a window ends as soon as it has so many
            self.assertEqual([part[1:3] for part in rbwp_dask._ranges([FILE], 5)], [(None, 10 + 10), (20, 30), (30, None)])
        spans = rbwp_dask.spans(FILE)
        for wrong, error in ((lambda: spans.group_by(), TypeError), (lambda: spans.group_by("name", split_every=1), ValueError)):
            self.assertRaises(error, wrong)
        self.assertEqual(repr(spans), f"<rbwp.dask.DaskSpans: 1 partitions of {FILE}, {len(columns.COLUMNS)} columns>")

    @unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("dask", "pandas")), "no Dask or pandas here")
    def test_frames_over_dask_have_the_types_of_frames(self):
        import rbwp.dask as rbwp_dask
        real, described = rbwp.spans(FILE).to_pandas(), rbwp_dask.spans(FILE)._meta()
        self.assertEqual({name: str(kind) for name, kind in described.dtypes.items()}, {
            name: str(kind) for name, kind in real.dtypes.items()} | {name: "category" for name in columns.TEXT_COLUMNS})

    def test_lengths_of_any_size_have_the_bucket_of_stats(self):
        from rbwp.groups import _bucket, _low, _middle
        values = sorted({value for power in range(63) for value in (2**power - 1, 2**power, 2**power + 2**power // 3)})
        buckets = _bucket(np.array(values, np.int64)).tolist()
        for value, bucket in zip(values, buckets):
            self.assertTrue(_low(bucket) <= value < _low(bucket + 1), (value, bucket))
            self.assertLessEqual(abs(_middle(bucket) - value), value / 64)

    def test_a_group_of_ended_and_open_spans(self):
        from rbwp.groups import Groups, _bucket
        short, long = _bucket(np.array([10, 1000], np.int64)).tolist()
        groups = Groups(["name"])
        groups._add(("f", ), (1000, 1, 1, 990 * 10 + 10 * 1000 + 70, 70, 10, 1000), {short: 990, long: 10})
        groups._add(("open", ), (0, 1, 1, 70, 70, 2**63 - 1, 0), {})
        self.assertEqual([dataclasses.astuple(group) for _, group in groups.items()],
                         [(1000, 1, 1, 19970, 70, 19, 10, 10, 10, 10, 1000), (0, 1, 1, 70, 70, 0, 0, 0, 0, 0, 0)])

    def test_filters_are_the_commands(self):
        whole = rbwp.spans(FILE)
        middle = int(np.median(whole["start"]))
        late = rbwp.spans(FILE, since=np.datetime64(middle, "ns"))
        self.assertEqual(len(late), int((whole["start"] + whole["duration_ns"] >= middle).sum()))
        both = rbwp.spans(FILE, since=middle, until=middle + 20000, kind=["coarse"], columns=["start", "category"])
        starts = whole["start"][whole.text("category") == "bgwork"]
        ends = starts + whole["duration_ns"][whole.text("category") == "bgwork"]
        self.assertEqual(len(both), int(((starts < middle + 20000) & (ends >= middle)).sum()))
        self.assertEqual(set(both.text("category")), {"bgwork"})
        thread = int(whole["thread_id"][0])
        self.assertEqual(set(rbwp.spans(FILE, thread=thread)["thread_id"].tolist()), {thread})
        self.assertEqual(set(rbwp.spans(FILE, slot="memcpy*", kind="coarse").text("name")), {"memcpy channel"})
        self.assertTrue((rbwp.spans(FILE, min_duration="1us")["duration_ns"] >= 1000).all())
        none = rbwp.spans(FILE, until="1")
        self.assertEqual((len(none), none.text("name").tolist(), len(none.group_by("name"))), (0, [], 0))

    def test_names_of_any_bytes(self):
        path = self.path("odd.bin", named_file(b"a\xff\nb"))
        self.assertEqual(rbwp.spans(path).text("name").tolist(), ["a\\xff\nb"])

    def test_pickled_and_indexed(self):
        spans = rbwp.spans(golden("gpu_work"))
        mask = spans.text("category") == "gpu"
        some = pickle.loads(pickle.dumps(spans[mask]))
        self.assertEqual(some["id"].tolist(), spans["id"][mask].tolist())
        self.assertEqual(some.text("name").tolist(), spans.text("name")[mask].tolist())
        self.assertEqual((len(some), some.facts), (int(mask.sum()), spans.facts))

    def test_a_command_that_fails_gives_no_spans(self):
        for script, said in (("echo half; exit 1", "export ended with 1"), ("exit 0", "export ended with 0"), ("echo half; echo no room >&2; exit 2", "no room")):
            path = self.path("command", f"#!/bin/sh\n{script}\n".encode())
            os.chmod(path, 0o755)
            with mock.patch.object(columns, "command", lambda path=path: path), self.assertRaisesRegex(rbwp.RbwpError, said):
                rbwp.spans(FILE)

    def test_what_is_wrong_is_said(self):
        for wrong, error, words in (({"columns": ["strat"]}, ValueError, "'strat' is none of start"),
                                    ({"columns": []}, ValueError, "one at least"),
                                    ({"since": 1.5}, TypeError, "since: a time"),
                                    ({"since": "soon"}, rbwp.RbwpError, "soon"),
                                    ({"kind": "call"}, rbwp.RbwpError, "call")):
            with self.assertRaisesRegex(error, words):
                rbwp.spans(FILE, **wrong)
        with self.assertRaisesRegex(rbwp.RbwpError, "nothing.bin"):
            rbwp.spans(self.path("nothing.bin"))
        with self.assertRaisesRegex(KeyError, "no column that was asked for"):
            rbwp.spans(FILE, columns="start")["name"]
        with self.assertRaisesRegex(KeyError, "not a column of texts"):
            rbwp.spans(FILE).texts("start")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(len(rbwp.spans(golden("crash_cut_in_data"))), 606)
        self.assertEqual([(one.category, one.filename) for one in caught], [(rbwp.RbwpWarning, __file__)])
        self.assertIn("partly read", str(caught[0].message))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas here (Debian: python3-pandas)")
    def test_pandas(self):
        spans = rbwp.spans(FILE)
        frame = spans.to_pandas()
        self.assertEqual(frame.name.tolist(), spans.text("name").tolist())
        self.assertEqual(frame.start.astype("int64").tolist(), spans["start"].tolist())
        self.assertEqual(frame.parent.isna().tolist(), (~spans.known("parent")).tolist())
        self.assertTrue(np.shares_memory(frame.duration_ns.to_numpy(), spans["duration_ns"]))
        totals = frame[frame.finished].groupby("name", observed=True).duration_ns.sum().to_dict()
        groups = spans.group_by("name")
        self.assertEqual(totals, {key[0]: group.total_ns for key, group in groups.items()})
        self.assertEqual(groups.to_pandas().total_ns.to_dict(), {key: g.total_ns for key, g in groups.items()})
        spans = rbwp.spans(self.chrome("args.json", ("call", "f", 0, 1, {"keys": 7, "verb": "get"}), ("call", "f", 9, 1, {})))
        frame = spans.to_pandas(args=spans.args)
        self.assertEqual([str(frame[name].dtype) for name in ("args.keys", "args.verb")], ["Int64", "object"])
        self.assertEqual((frame["args.keys"].sum(), frame["args.verb"].tolist()), (7, ["get", None]))
