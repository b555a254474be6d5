# SPDX-License-Identifier: Apache-2.0
"""Writes Legion Prof logs for tests, byte by byte, in both dialects.

A log is a list of (kind, values by field name); fields that are not given are 0 or "". KINDS has the fields
as they are written; DECLARED what a dialect says instead, where that is not true.
"""
import gzip
import struct

U4, U8, TEXT, FLAG = ("unsigned", 4), ("unsigned long long", 8), ("string", -1), ("bool", 1)
TIME = ("timestamp_t", 8)
POINT, UUID = ("point", 8), ("uuid", 1)


def fields(text):
    """"op_id8 name" -> [("op_id", type, size)]: a digit at the end is the size, none is a string."""
    out = []
    for word in text.split():
        if word == "uuid*":
            out.append(("uuid", *UUID))
        elif word == "rem*":
            out.append(("rem", *POINT))
        elif word[-1] in "148":
            out.append((word[:-1], *{"1": FLAG, "4": U4, "8": U8}[word[-1]]))
        else:
            out.append((word, *TEXT))
    return out


TIMES = "create8 ready8 start8 stop8 creator8 critical8 fevent8"
TASK = "op_id8 task_id4 variant_id4 proc_id8 "
A = {
    "MapperName": (1, "mapper_id4 mapper_proc8 name"),
    "MapperCallDesc": (2, "kind4 name"),
    "RuntimeCallDesc": (3, "kind4 name"),
    "MetaDesc": (4, "kind4 message1 ordered_vc1 name"),
    "OpDesc": (5, "kind4 name"),
    "ProcDesc": (6, "proc_id8 kind4 uuid_size4 uuid*"),
    "MemDesc": (7, "mem_id8 kind4 capacity8"),
    "MaxDimDesc": (8, "max_dim4"),
    "MachineDesc": (10, "node_id4 num_nodes4 version4 hostname host_id8 process_id4"),
    "TaskKind": (11, "task_id4 name overwrite1"),
    "TaskVariant": (12, "task_id4 variant_id4 name"),
    "TaskWaitInfo": (16, "op_id8 task_id4 variant_id4 wait_start8 wait_ready8 wait_end8 wait_event8"),
    "MetaWaitInfo": (17, "op_id8 lg_id4 wait_start8 wait_ready8 wait_end8 wait_event8"),
    "TaskInfo": (18, TASK + TIMES),
    "ImplicitTaskInfo": (28, TASK + TIMES),
    "GPUTaskInfo": (29, TASK + TIMES.replace("creator8", "gpu_start8 gpu_stop8 creator8")),
    "MetaInfo": (19, "op_id8 lg_id4 proc_id8 " + TIMES),
    "MessageInfo": (24, "op_id8 lg_id4 proc_id8 spawn8 " + TIMES),
    "CopyInfo": (20, "op_id8 size8 " + TIMES + " collective4"),
    "CopyInstInfo": (47, "src8 dst8 src_fid4 dst_fid4 src_inst8 dst_inst8 fevent8 num_hops4 indirect1"),
    "FillInfo": (21, "op_id8 size8 " + TIMES),
    "FillInstInfo": (48, "dst8 fid4 dst_inst8 fevent8"),
    "PartitionInfo": (23, "op_id8 part_op4 " + TIMES),
    "MapperCallInfo": (25, "mapper_id4 mapper_proc8 kind4 op_id8 start8 stop8 proc_id8 fevent8"),
    "RuntimeCallInfo": (26, "kind4 start8 stop8 proc_id8 fevent8"),
    "ApplicationCallInfo": (27, "provenance8 start8 stop8 proc_id8 fevent8"),
    "IndexSpacePointDesc": (31, "unique_id8 dim4 rem*"),
    "PhysicalInstanceUsage": (44, "inst_uid8 op_id8 index_id4 field_id4"),
    "ProfTaskInfo": (59, "proc_id8 op_id8 start8 stop8 creator8 fevent8 completion1"),
    "ZeroTime": (60, "zero_time8"),
    "CalibrationErr": (61, "calibration_err8"),
    "Provenance": (62, "id8 text"),
    "NobodyKnows": (77, "a1 b some_text c8 d4"),
}
B = dict(A)
B.update({
    "MachineDesc": (10, "node_id4 num_nodes4 hostname host_id8 process_id4"),
    "CopyInfo": (20, "op_id8 size8 " + TIMES + " collective4 redop4 copy_expr8"),
    "CopyInstInfo": (47, "src8 dst8 src_fid4 dst_fid4 src_inst8 dst_inst8 src_expr8 dst_expr8 fevent8 num_hops4 indirect1"),
    "FillInfo": (21, "op_id8 size8 " + TIMES + " collective4 fill_expr8"),
    "PhysicalInstanceUsage": (44, "inst_uid8 op_id8 index_expr8 field4 index4 privilege4 redop4"),
    "AsyncEffectInfo": (80, "provenance8 start8 stop8 proc_id8 creator8 fevent8"),
})
# Before events were logged: no creator, no fevent, no spawn, no uuid.
O = dict(A)
O.update({name: (number, " ".join(w for w in text.split() if w not in ("creator8", "critical8", "fevent8", "spawn8", "uuid_size4", "uuid*")))
          for name, (number, text) in A.items() if name != "NobodyKnows"})
TABLES = {"A": A, "B": B, "O": O}
# What dialect B says of these is not what it writes.
DECLARED_B = {
    "FillInfo": "op_id8 size8 " + TIMES + " fill_expr8",
    "PhysicalInstanceUsage": "inst_uid8 op_id8 field4 index_expr8 index4 redop4 privilege4",
}


def preamble(dialect, kinds=None, version=1011):
    table = TABLES[dialect]
    out = f"FileType: BinaryLegionProf v: {version}\nlegion abcdef\n" if dialect == "B" else "FileType: BinaryLegionProf v: 1.0\n"
    for name, (number, text) in table.items():
        if kinds is not None and name not in kinds:
            continue
        declared = DECLARED_B.get(name, text) if dialect == "B" else text
        out += f"{name} {{id:{number}" + "".join(f", {f}:{t}:{s}" for f, t, s in fields(declared)) + "}\n"
    return (out + "\n").encode()


def record(dialect, record_kind, /, dims=3, **values):
    number, text = TABLES[dialect][record_kind]
    out = struct.pack("<I", number)
    for field, shape, size in fields(text):
        value = values.pop(field, "" if size == -1 else 0)
        if size == -1:
            out += (value if isinstance(value, bytes) else value.encode()) + b"\0"
        elif shape == "uuid":
            out += b"\x55" * 16
        elif shape == "point":
            out += b"\x11" * 8 * dims
        elif field == "uuid_size":
            out += struct.pack("<I", 16)
        elif field == "redop" and record_kind == "PhysicalInstanceUsage" and last_privilege != 4:
            continue
        else:
            out += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        if field == "privilege":
            last_privilege = value
    assert not values, (record_kind, values)
    return out


def log(dialect, records, pack=True, version=1011):
    """version: what dialect B says in its preamble; the others say it in MachineDesc."""
    data = preamble(dialect, version=version) + b"".join(record(dialect, name, **values) for name, values in records)
    return gzip.compress(data, mtime=0) if pack else data


def proc(node, index):
    return 0x1D << 56 | node << 40 | index


def mem(node, index):
    return 0x1E << 56 | node << 40 | index


def event(node, index):
    return 1 << 63 | node << 47 | index << 20 | 1


def head(dialect, node=0, nodes=1, zero=0, host="host", version=1008):
    """What stands at the beginning of any log: the machine and its zero time."""
    machine = {"node_id": node, "num_nodes": nodes, "hostname": host, "process_id": 4000 + node}
    if dialect != "B":
        machine["version"] = version
    return [("MachineDesc", machine)] + ([("ZeroTime", {"zero_time": zero})] if zero else [])
