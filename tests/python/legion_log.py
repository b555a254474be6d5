# SPDX-License-Identifier: Apache-2.0
"""A strict reader of Legion Prof logs: whatever makes Legion Prof panic or fail an assertion is an error here.

It was written from a description of the format, not from the writer under test, and holds for logs of both
dialects. It knows the kinds of record that Legion Prof needs for tasks and calls; others are refused, as Legion
Prof refuses what it does not know by name.
"""

import re
import struct
import zlib

NONE = (1 << 64) - 1
TIMES = ["create", "ready", "start", "stop"]
TASK = ["op_id", "task_id", "variant_id", "proc_id"] + TIMES
KNOWN = {  # the fields that each kind must have, in this order
    "MachineDesc": None,
    "ZeroTime": ["zero_time"],
    "ProcDesc": ["proc_id", "kind", "uuid_size", "uuid"],
    "TaskKind": ["task_id", "name", "overwrite"],
    "TaskVariant": ["task_id", "variant_id", "name"],
    "RuntimeCallDesc": ["kind", "name"],
    "TaskInfo": TASK + ["creator", "critical", "fevent"],
    "GPUTaskInfo": TASK + ["gpu_start", "gpu_stop", "creator", "critical", "fevent"],
    "RuntimeCallInfo": ["kind", "start", "stop", "proc_id", "fevent"],
}
SIZES = {"bool": 1, "unsigned": 4, "TaskID": 4, "VariantID": 4, "ProcKind": 4, "RuntimeCallKind": 4, "unsigned long long": 8, "long long": 8,
         "UniqueID": 8, "ProcID": 8, "timestamp_t": 8, "string": -1, "uuid": 1}


def need(condition, *what):
    if not condition:
        raise ValueError(" ".join(str(w) for w in what))


def one_member(data):
    """Only the first gzip member is decoded: there must be no other."""
    if data[:2] != b"\x1f\x8b":
        return data
    unpacker = zlib.decompressobj(31)
    text = unpacker.decompress(data)
    need(unpacker.eof, "the gzip member is not whole")
    need(not unpacker.unused_data, "bytes behind the first gzip member")
    return text


def preamble(data):
    """(dialect, version or None, {number: (name, [(field, size)])}, where records begin)"""
    head, found, rest = data.partition(b"\n\n")
    need(found, "no empty line behind the declarations")
    lines = head.decode("ascii").split("\n")
    match = re.fullmatch(r"FileType: BinaryLegionProf v: (?:(1\.0)|(\d+))", lines[0])
    need(match, "first line", lines[0])
    dialect = "A" if match[1] else "B"
    kinds, names = {}, set()
    for line in lines[1 if dialect == "A" else 2:]:
        match = re.fullmatch(r"([A-Za-z0-9_]+) \{id:(\d+)((?:, [a-z_]+:[A-Za-z_ ]+:-?\d+)+)\}", line)
        need(match, "declaration", line)
        name, fields = match[1], [f.split(":") for f in match[3][2:].split(", ")]
        need(name in KNOWN, "kind that Legion Prof does not know:", name)
        need(name not in names and int(match[2]) not in kinds, "declared twice:", line)
        for field, kind, size in fields:
            need(SIZES.get(kind) == int(size), "type and size", line)
        want = KNOWN[name]
        if name == "MachineDesc":
            want = ["node_id", "num_nodes"] + (["version"] if dialect == "A" else []) + ["hostname", "host_id", "process_id"]
        need([f[0] for f in fields] == want, "fields", line)
        names.add(name)
        kinds[int(match[2])] = (name, [(f[0], int(f[2])) for f in fields])
    return dialect, None if dialect == "A" else int(lines[0].split()[-1]), kinds, len(head) + 2


def records(data, kinds, at):
    while at < len(data):
        need(at + 4 <= len(data), "cut record at", at)
        number, = struct.unpack_from("<I", data, at)
        need(number in kinds, "record kind", number, "at", at)
        at += 4
        name, fields = kinds[number]
        values = {}
        for field, size in fields:
            if size == -1:
                end = data.find(b"\0", at)
                need(end >= 0, "cut text at", at)
                values[field], at = data[at:end], end + 1
                continue
            if field == "uuid":
                size = values["uuid_size"]
            need(at + size <= len(data), "cut record at", at)
            values[field] = int.from_bytes(data[at:at + size], "little")
            at += size
        yield name, values


class Log:
    """All files of a run together."""

    def __init__(self):
        self.files, self.procs, self.kinds, self.variants, self.calls = [], {}, {}, {}, {}
        self.tasks, self.rows, self.ops, self.call_rows = {}, [], set(), []
        self.versions = set()

    def load(self, data, beside=False):
        """beside: another file of a node may be loaded already, made at another time."""
        data = one_member(data)
        dialect, version, kinds, at = preamble(data)
        machine = zero = None
        for i, (name, v) in enumerate(records(data, kinds, at)):
            if name == "MachineDesc":
                need(i == 0, "MachineDesc is not the first record")
                machine = v
                self.versions.add(v["version"] if dialect == "A" else version)
            elif name == "ZeroTime":
                zero = v["zero_time"]
            elif name == "ProcDesc":
                need(v["proc_id"] >> 56 == 0x1D and v["kind"] in (1, 2, 3, 4, 7, 8), "processor", v)
                need(v["proc_id"] not in self.procs or beside and self.procs[v["proc_id"]] == v["kind"], "processor twice", v)
                self.procs[v["proc_id"]] = v["kind"]
            elif name == "TaskKind":
                self.kinds[v["task_id"]] = v["name"]
            elif name == "TaskVariant":
                self.variants[v["task_id"], v["variant_id"]] = v["name"]
            elif name == "RuntimeCallDesc":
                need(v["kind"] >= 0x1000, "a call kind of Legion's own", v)
                self.calls[v["kind"]] = v["name"]
            elif name == "RuntimeCallInfo":
                self.call_rows.append(v)
            else:
                self.add_task(name, v)
        need(machine is not None, "no MachineDesc")
        need(machine["node_id"] < machine["num_nodes"], "node", machine)
        need(beside or machine["node_id"] not in [f[0] for f in self.files], "two files of a node")
        self.files.append((machine["node_id"], machine["num_nodes"], machine["hostname"], machine["process_id"], zero, dialect))
        return self

    def add_task(self, name, v):
        event = v["fevent"]
        need(event not in self.tasks, "event twice", hex(event))
        need(event >> 63 == 1, "event", hex(event))
        need(v["op_id"] not in self.ops, "operation twice", v)
        times = [v[t] for t in TIMES]
        need(times == sorted(times) and times[-1] != NONE, "times", v)
        if name == "GPUTaskInfo":
            need(v["gpu_start"] <= v["gpu_stop"] != NONE, "times", v)
        self.ops.add(v["op_id"])
        self.tasks[event] = v

    def check(self):
        """What can be judged when all is loaded."""
        need(len(self.versions) == 1, "versions", self.versions)
        for v in self.tasks.values():
            need(v["proc_id"] in self.procs, "processor without a description", v)
            need(v["task_id"] in self.kinds, "task without a description", v)
            need((v["task_id"], v["variant_id"]) in self.variants, "variant without a description", v)
        inside = {}
        for v in self.call_rows:
            task = self.tasks.get(v["fevent"])
            need(v["kind"] in self.calls, "call without a description", v)
            need(task is not None, "call of no task", v)
            need(task["proc_id"] == v["proc_id"], "call on another processor than its task", v)
            need(task["start"] <= v["start"] <= v["stop"] <= task["stop"], "call outside its task", v)
            inside.setdefault(v["fevent"], []).append((v["start"], -v["stop"]))
        for calls in inside.values():
            open_stops = []
            for start, stop in sorted(calls):
                while open_stops and open_stops[-1] <= start:
                    open_stops.pop()
                need(not open_stops or -stop <= open_stops[-1], "calls that partly overlap", calls[:10])
                open_stops.append(-stop)
        return self

    def spans(self):
        """(processor, kind of row, name, start, stop), sorted."""
        out = [(v["proc_id"], "gpu" if "gpu_start" in v else "task", self.kinds[v["task_id"]].decode(), v.get("gpu_start", v["start"]), v.get("gpu_stop", v["stop"]))
               for v in self.tasks.values()]
        return sorted(out + [(v["proc_id"], "call", self.calls[v["kind"]].decode(), v["start"], v["stop"]) for v in self.call_rows])
