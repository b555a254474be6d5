#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h200_python.py [--cost LIBRARY] [STEP...] - the package on a GPU: device code in Triton and in Gluon, step by step.

Each step says what it found; one that fails prints its traceback, and the next one runs. A step that leaves the GPU
unusable, hangs or kills Python ends that process, and the rest runs in a new one. h200_python.sh runs it."""

import argparse
import ctypes
import inspect
import os
import re
import subprocess
import sys
import time
import traceback
from pathlib import Path

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")  # texts are compared
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]
STEP_LIMIT_S = 240
SPOILED = 70  # exit status: the GPU is of no use to this process any more

STEPS = {}
LANGUAGES = ("triton", "gluon")


def step(*languages):
    """A step of both languages, or of the ones named; it is called with the module of kernels."""

    def add(function):
        for language in languages or LANGUAGES:
            STEPS[f"{language}.{function.__name__}"] = (function, language)
        return function

    return add


def common(function):
    STEPS[function.__name__] = (function, None)
    return function


# ---- helpers ---------------------------------------------------------------------------------------


def torch_module():
    import torch
    return torch


def kernels(language):
    import importlib
    return importlib.import_module(f"{language}_kernels")


def zeros(count, bits=64):
    torch = torch_module()
    return torch.zeros(count, dtype=torch.int64 if bits == 64 else torch.int32, device="cuda")


def sync():
    torch_module().cuda.synchronize()


def tracing_of(max_events=1000, rank=0, ranks=2):
    import rbwp
    tracing = rbwp.Tracing(rank, ranks, [0x1000 * (i + 1) for i in range(ranks)])
    tracing.enable(max_events)
    return tracing


def column(tracing, name, count=None):
    return tracing.columns[name][:count].cpu().tolist()


def same(what, found, wanted):
    assert found == wanted, f"{what}: {found} is not {wanted}"


def figure(what, value, unit, most=None):
    """Prints a number with its target; returns whether it holds."""
    good = most is None or value <= most
    target = "" if most is None else f" (target: at most {most:g}: {'good' if good else 'MISSED'})"
    print(f"    {what}: {value:.4g} {unit}{target}", flush=True)
    return good


def instructions(kernel, part):
    """The compiled text without what tells of its source: comments, places, debug sections."""
    text = kernel.asm[part]
    text = re.split(r"\n\s*\.section\s+\.debug", text)[0]
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith((".loc", ".file", "$L__func", "$L__tmp"))]


def sass(kernel):
    """The machine code as cuobjdump prints it, or None where that is missing."""
    path = HERE / f".sass.{os.getpid()}.cubin"
    path.write_bytes(kernel.asm["cubin"])
    try:
        done = subprocess.run(["cuobjdump", "-sass", str(path)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    finally:
        path.unlink()
    return [line.strip() for line in done.stdout.splitlines() if "/*" in line] if done.returncode == 0 else None


def same_code(traced, plain):
    """The two kernels are one, instruction for instruction."""
    for part in ("ttir", "ttgir", "ptx"):
        if part not in traced.asm:
            continue
        one, other = instructions(traced, part), instructions(plain, part)
        if part == "ptx":
            assert one == other, "PTX differs:\n" + "\n".join(
                f"    {a!r} | {b!r}" for a, b in zip(one, other) if a != b)[:3000]
        print(f"    {part}: {len(one)} and {len(other)} lines, {'equal' if one == other else 'not equal'}")
    codes = sass(traced), sass(plain)
    if codes[0] is None:
        print("    no cuobjdump here; cubins are", "equal" if traced.asm["cubin"] == plain.asm["cubin"] else "not equal")
        return
    assert codes[0], "cuobjdump printed no instruction"
    same("machine code", codes[0], codes[1])
    print(f"    machine code: {len(codes[0])} instructions, equal; cubins byte for byte:",
          traced.asm["cubin"] == plain.asm["cubin"])


# ---- what is here ----------------------------------------------------------------------------------


@common
def environment():
    import numpy
    import torch
    import triton
    print(f"    python {sys.version.split()[0]}, numpy {numpy.__version__}, torch {torch.__version__}, "
          f"triton {triton.__version__}")
    for i in range(torch.cuda.device_count()):
        print(f"    GPU {i}: {torch.cuda.get_device_name(i)}")
    import triton.language.core as core
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    print("    aggregate:", [name for name in ("aggregate", "_aggregate") if hasattr(core, name)],
          "must_use_result:", hasattr(core, "must_use_result"), "gluon:", [n for n in dir(gluon) if n[0] != "_"])
    print("    warp_specialize:", inspect.signature(gl.warp_specialize))
    missing = [name for name in ("cast", "load", "store", "atomic_add", "atomic_cas", "inline_asm_elementwise",
                                 "program_id", "num_programs", "static_range", "sum", "min", "minimum", "maximum",
                                 "where", "static_assert", "constexpr", "pointer_type", "int1", "uint32")
               if not hasattr(gl, name)]
    print("    names that Gluon lacks:", missing or "none")
    assert not missing


@common
def library_is_there():
    import rbwp
    from rbwp.native import command, library
    print("    version", library().rbwp_version().decode(), "command", command())
    same("name", rbwp.event_name(3), "put")
    same("name", rbwp.event_name(99), "unknown_99")


@step()
def imports(language):
    module = kernels(language)
    print("    DeviceTracing:", module.DeviceTracing, "Lanes:", module.Lanes)


# ---- one thing each --------------------------------------------------------------------------------


@step()
def time_and_place(language):
    out = zeros(64 * 6)
    kernels(language).time_and_place[(64, )](out, num_warps=4)
    sync()
    rows = out.view(64, 6).cpu().tolist()
    processors = torch_module().cuda.get_device_properties(0).multi_processor_count
    for row in rows:
        assert 0 < row[0] < row[5], f"time does not go on: {row}"
        assert 0 <= row[1] < processors and row[2] == 0 and 0 <= row[3] < 4, f"no such place: {row}"
    print(f"    {len({row[1] for row in rows})} SMs; between two readings "
          f"{min(row[5] - row[0] for row in rows)} to {max(row[5] - row[0] for row in rows)} ns")


@step()
def operands(language):
    out, values = zeros(7), zeros(5000)
    kernels(language).operands[(1, )](out, values, num_warps=4)
    first = values.data_ptr()
    same("lowest and payloads", out.cpu().tolist(),
         [first + 5 * 8, first + 7 * 8, first + 9 * 8, 0, 10 * 8, 2048 * 8, 8])


# ---- events ------------------------------------------------------------------------------------------


@step()
def events_scalar(language):
    tracing, target = tracing_of(), zeros(64)
    for rank in (0, 1, 5):
        tracing.reset()
        kernels(language).event_scalar[(64, )](tracing.get_device_context(), target, rank, TRACING=True, num_warps=4)
        sync()
        same("counts", tracing.counts(), (64, 0))
        same("event_id", set(column(tracing, "event_id", 64)), {3})
        same("target_rank", set(column(tracing, "target_rank", 64)), {rank})
        same("pid", sorted(column(tracing, "pid", 64)), list(range(64)))
        same("pid_m", column(tracing, "pid_m", 64), column(tracing, "pid", 64))
        same("pid_n", set(column(tracing, "pid_n", 64)), {1})
        same("op_index", sorted(column(tracing, "op_index", 64)), list(range(64)))
        same("payload_size", set(column(tracing, "payload_size", 64)), {0})
        same("address", column(tracing, "address", 64),
             [target.data_ptr() + 8 * pid for pid in column(tracing, "pid", 64)])
        check_times(tracing, 64)


def check_times(tracing, count):
    starts, ends = column(tracing, "timestamp", count), column(tracing, "duration_cycles", count)
    assert all(0 < start <= end for start, end in zip(starts, ends)), "an end before its start, or no time"
    took = sorted(end - start for start, end in zip(starts, ends))
    print(f"    {count} events of {took[0]} to {took[-1]} ns, median {took[count // 2]}")


@step()
def events_contract(language):
    """What the review of the Gluon port asks for, with real data: both ranks put four 64-bit values to the other."""
    same("context before", len(tracing_off().get_device_context()), 21)
    for rank in (0, 1):
        tracing = tracing_of(100, rank)
        context = tracing.get_device_context().cpu().tolist()
        same("length", len(context), 19 + 2)
        same("rank, ranks, flag, max_events", (context[0], context[1], context[4], context[5]), (rank, 2, 1, 100))
        source, target = zeros(32) + 7, zeros(32)
        kernels(language).put[(8, )](tracing.get_device_context(), source, target, 32, (rank + 1) % 2, TRACING=True,
                                     BLOCK=4, num_warps=4)
        sync()
        same("data", target.cpu().tolist(), [7] * 32)
        same("counts", tracing.counts(), (8, 0))
        same("event_id", set(column(tracing, "event_id", 8)), {3})
        same("cur_rank", set(column(tracing, "cur_rank", 8)), {rank})
        same("target_rank", set(column(tracing, "target_rank", 8)), {(rank + 1) % 2})
        same("payload", set(column(tracing, "payload_size", 8)), {32})
        same("address", column(tracing, "address", 8),
             [target.data_ptr() + 32 * pid for pid in column(tracing, "pid", 8)])
        check_times(tracing, 8)


def tracing_off():
    import rbwp
    return rbwp.Tracing(0, 2, [0, 0])


@step()
def events_square(language):
    tracing, target = tracing_of(), zeros(8 * 128)
    for masked, payload in ((True, 15 * 8), (False, 0)):
        tracing.reset()
        kernels(language).put_square[(8, )](tracing.get_device_context(), target, 1, TRACING=True, MASKED=masked,
                                            num_warps=4)
        sync()
        same("payload", set(column(tracing, "payload_size", 8)), {payload})
        same("address", column(tracing, "address", 8),
             [target.data_ptr() + 1024 * pid for pid in column(tracing, "pid", 8)])
        check_times(tracing, 8)


@step()
def events_nested(language):
    tracing, target = tracing_of(), zeros(4)
    kernels(language).nested_events[(4, )](tracing.get_device_context(), target, 10, TRACING=True, num_warps=4)
    sync()
    same("counts", tracing.counts(), (80, 0))
    same("ids", sorted(column(tracing, "event_id", 80)), [2048] * 40 + [3072] * 40)
    same("op_index", sorted(column(tracing, "op_index", 80)), list(range(80)))
    check_times(tracing, 80)


@step()
def events_beyond_the_last_slot(language):
    """The cells behind the last slot are the columns' own: nothing may be written there."""
    import rbwp
    for separate in (False, True):
        tracing = tracing_of(64)
        context = tracing.get_device_context().clone()
        context[5] = 4  # the kernel is told of 4 slots only
        other = zeros(4, 32)
        if separate:
            context[7] = other.data_ptr()
        target = zeros(64)
        kernels(language).event_scalar[(64, )](context, target, 1, TRACING=True, num_warps=4)
        sync()
        same("written", [i for i, t in enumerate(column(tracing, "timestamp")) if t], [0, 1, 2, 3])
        for name in rbwp.native.EVENT_COLUMNS:
            same(f"behind {name}", set(column(tracing, name)[4:]), {0})
        counters = tracing.counters.cpu().tolist()
        same("counters", [counters[0], other[0].item() if separate else counters[1]], [64, 64])


@step()
def events_counter_that_would_wrap(language):
    for separate in (False, True):
        tracing = tracing_of(64)
        context = tracing.get_device_context().clone()
        other = zeros(4, 32) - 16
        if separate:
            context[7] = other.data_ptr()
        tracing.counters.fill_(-16)  # 0xfffffff0
        kernels(language).event_scalar[(8, )](context, zeros(64), 1, TRACING=True, num_warps=4)
        sync()
        same("written", {value for name in tracing.columns for value in column(tracing, name)}, {0})
        print("    counters", tracing.counters.cpu().tolist(), "separate" if separate else "neighbours")


@step()
def events_off_on_the_host(language):
    """Compiled in and off on the host: a short context, a full one; the heap's words behind them stand."""
    torch = torch_module()
    short = torch.full((64, ), 0x7777777777777777, dtype=torch.int64, device="cuda")
    short[:5] = torch.tensor([0, 2, 0x1000, 0x2000, 0])
    for context in (short, tracing_off().get_device_context()):
        before = context.cpu().tolist()
        target = zeros(64)
        kernels(language).event_scalar[(64, )](context, target, 1, TRACING=True, num_warps=4)
        sync()
        same("context", context.cpu().tolist(), before)
        same("work", target.cpu().tolist(), list(range(64)))


@step()
def events_many(language):
    """Numbers of operations are 0 to n-1, each once; slots likewise."""
    tracing, target = tracing_of(200_000), zeros(100_000)
    kernels(language).event_scalar[(100_000, )](tracing.get_device_context(), target, 1, TRACING=True, num_warps=1)
    sync()
    same("counts", tracing.counts(), (100_000, 0))
    for name in ("op_index", "pid"):
        assert sorted(column(tracing, name, 100_000)) == list(range(100_000)), f"{name}: not each number once"
    check_times(tracing, 100_000)


@step()
def events_compiled_out(language):
    module, context, source, target = kernels(language), zeros(64), zeros(4096), zeros(4096)
    arguments = (context, source, target, 4000, 1)
    off = module.put[(4, )](*arguments, TRACING=False, BLOCK=1024, num_warps=4)
    plain = module.plain_put[(4, )](*arguments, TRACING=False, BLOCK=1024, num_warps=4)
    on = module.put[(4, )](tracing_of().get_device_context(), *arguments[1:], TRACING=True, BLOCK=1024, num_warps=4)
    sync()
    print(f"    PTX: {len(instructions(on, 'ptx'))} lines with tracing")
    same_code(off, plain)


@step()
def events_errors(language):
    """Wrong operands: an error that names them, and nothing runs."""
    module, target, tracing = kernels(language), zeros(64), tracing_of()
    for name, launch in (
        ("mask", lambda: module.wrong_mask[(1, )](tracing.get_device_context(), target, TRACING=True, num_warps=4)),
        ("context", lambda: module.event_scalar[(1, )](zeros(64, 32), target, 1, TRACING=True, num_warps=4)),
        ("event", lambda: module.wrong_lane_event[(1, )](zeros(64), TRACING=True, num_warps=4)),
    ):
        try:
            launch()
        except Exception as error:  # the compiler's, with ours as its cause
            texts = []
            while error is not None:
                texts.append(str(error))
                error = error.__cause__ or error.__context__
            assert any(f"{name}: " in text for text in texts), f"{name} is not named: {texts}"
            print(f"    {name}:", next(line for text in texts for line in text.splitlines() if f"{name}: " in line))
        else:
            raise AssertionError(f"a wrong {name} was taken")
    same("counts", tracing.counts(), (0, 0))


# ---- lanes -------------------------------------------------------------------------------------------


def run_lanes(language, buffer, rounds, **options):
    out = zeros(buffer.num_blocks)
    options = {"ENABLED": True, "VERSION": buffer.version, "FENCE": True, **options}
    words, stride, groups, blocks, records = buffer.arguments()
    kernel = kernels(language).lanes[(blocks, )](words, stride, groups, blocks, records, buffer.drops, rounds, out,
                                                 num_warps=4, **options)
    sync()
    return kernel


@step()
def lanes(language):
    import rbwp
    for version in (1, 2):
        for fence in (True, False):
            buffer = rbwp.LaneBuffer(16, 1, 64, version=version, events={1: "work", 2: "mark"})
            run_lanes(language, buffer, 5, FENCE=fence)
            trace = buffer.decode()
            same("damage", trace.damage, 0)
            same("spans", trace.stats["spans"], 16 * 5)
            same("instants", trace.stats["instants"], 16 * 5)
            same("finalized", trace.stats["finalized"], 16)
            same("blocks", sorted(set(trace.spans["block"].tolist())), list(range(16)))
            same("events", sorted(set(trace.spans["event"].tolist())), [1, 2])
            same("dropped", (buffer.dropped(), trace.stats["full"]), (0, 0))
            if version == 2:
                print("    SMs:", len(set(trace.spans["sm"].tolist())), "warps:", set(trace.spans["warp"].tolist()))
    trace.print_durations()


@step()
def lanes_raw_words(language):
    """Version 1, word by word."""
    import rbwp
    buffer = rbwp.LaneBuffer(2, 1, 8)
    run_lanes(language, buffer, 2)
    words = [word & (2**64 - 1) for word in buffer.buffer.cpu().tolist()]
    same("header", words[0], 1 << 32 | 2)
    for block in (0, 1):
        tags = [words[1 + block + record * 2] & 0xffffffff for record in range(8)]
        base = block << 12
        same(f"tags of block {block}", tags,
             [base | 4, base | 5, base | 10, base | 4, base | 5, base | 10, base | 3, 0])


@step()
def lanes_that_are_full(language):
    import rbwp
    for version in (1, 2):
        buffer = rbwp.LaneBuffer(8, 1, 6, version=version)
        guard = zeros(1024) + 0x55
        run_lanes(language, buffer, 7)
        same("dropped", buffer.dropped(), 8 * (21 - 5))
        trace = buffer.decode()
        same("finalized", trace.stats["finalized"], 8)
        same("records", trace.stats["records"], 8 * 6)
        same("guard", set(guard.cpu().tolist()), {0x55})
        if version == 2:
            same("drops in the records", trace.stats["dropped"], 8 * (21 - 5))


@step()
def lanes_without_room(language):
    """A buffer of fewer blocks than the grid, and none: nothing is written where nothing belongs."""
    module = kernels(language)
    buffer, drops, out = zeros(100), zeros(16, 32), zeros(8)
    module.lanes[(8, )](buffer, 4, 1, 4, 8, drops, 2, out, ENABLED=True, VERSION=1, FENCE=True, num_warps=4)
    sync()
    words = buffer.cpu().tolist()
    same("lanes", {(word & 0xffffffff) >> 12 for word in words[1:] if word}, {0, 1, 2, 3})
    same("behind", set(words[1 + 4 * 8:]), {0})
    buffer.zero_()
    module.lanes[(8, )](buffer, 4, 1, 4, 0, drops, 2, out, ENABLED=True, VERSION=1, FENCE=True, num_warps=4)
    sync()
    same("max_records 0", set(buffer.cpu().tolist()), {0})


@step()
def lanes_compiled_out(language):
    module, buffer, drops, out = kernels(language), zeros(4096), zeros(16, 32), zeros(8)
    arguments = (buffer, 4, 1, 4, 8, drops, 12, out)
    options = {"VERSION": 1, "FENCE": True, "num_warps": 4}
    off = module.lanes[(4, )](*arguments, ENABLED=False, **options)
    plain = module.plain_lanes[(4, )](*arguments, ENABLED=False, **options)
    sync()
    same("buffer", set(buffer.cpu().tolist()), {0})
    same_code(off, plain)


def pairs():
    from triton.experimental.gluon import language as gl
    return "functions_and_args" in inspect.signature(gl.warp_specialize).parameters


@step("gluon")
def lanes_in_partitions(language):
    """warp_specialize with partitions of 4, 4 and 1 warps, a lane in each; off, it is the kernel without."""
    import rbwp
    module = kernels(language)
    for version in (1, 2):
        buffer = rbwp.LaneBuffer(8, 3, 32, version=version, events={1: "first", 2: "second", 3: "third"})
        words, stride, _, blocks, records = buffer.arguments()
        module.specialized_lanes[(8, )](words, stride, blocks, records, 10, zeros(64), ENABLED=True, VERSION=version,
                                        PAIRS=pairs(), num_warps=4, maxnreg=128)
        sync()
        trace = buffer.decode()
        same("damage", trace.damage, 0)
        same("finalized", trace.stats["finalized"], 24)
        same("spans", trace.stats["spans"], 8 * 3 * 10)
        same("each group its event", {(int(s["group"]), int(s["event"])) for s in trace.spans}, {(0, 1), (1, 2), (2, 3)})
        if version == 2:
            print("    warps of the groups:",
                  {int(g): sorted({int(s["warp"]) for s in trace.spans if s["group"] == g}) for g in range(3)})
    trace.print_durations()
    begins = {(int(s["block"]), int(s["group"])): int(s["start_ns"]) for s in trace.spans[::-1]}
    ends = {(int(s["block"]), int(s["group"])): int(s["stop_ns"]) for s in trace.spans}
    overlapping = sum(max(begins[b, g] for g in range(3)) < min(ends[b, g] for g in range(3)) for b in range(8))
    print(f"    groups that ran at the same time: in {overlapping} of 8 blocks")


@step("gluon")
def events_in_partitions(language):
    tracing, target = tracing_of(), zeros(4)
    kernels(language).specialized_events[(8, )](tracing.get_device_context(), target, 10, TRACING=True, PAIRS=pairs(),
                                                num_warps=4, maxnreg=128)
    sync()
    same("counts", tracing.counts(), (160, 0))
    same("groups", sorted(column(tracing, "pid_m", 160)), [0] * 80 + [1] * 80)
    check_times(tracing, 160)


# ---- exports -----------------------------------------------------------------------------------------


@step()
def exports(language):
    """What kernels wrote, through the decoder, the table and the exporters."""
    import json
    import tempfile

    import rbwp
    with tempfile.TemporaryDirectory() as folder:
        ranks = [tracing_of(100, rank) for rank in (0, 1)]
        for tracing in reversed(ranks):
            kernels(language).put[(8, )](tracing.get_device_context(), zeros(32), zeros(32), 32,
                                         (tracing.rank + 1) % 2, TRACING=True, BLOCK=4, num_warps=4)
        traces = [tracing.decode() for tracing in ranks]
        for trace in traces:
            same("damage", trace.damage, 0)
            trace.print_durations()
        ranks[1].export(f"{folder}/trace.json", merge=True)
        written = ranks[0].export(f"{folder}/trace.json", merge=True)
        same("files", [Path(path).name for path in written], ["trace_rank0.json", "trace.json"])
        for path in written:
            found = json.loads(Path(path).read_text())
            spans = [event for event in found["traceEvents"] if event.get("ph") in ("X", "i")]
            print(f"    {Path(path).name}: {len(spans)} events")
            assert spans # a copy of some words may be shorter than the clock's step: then it is a point
        buffer = rbwp.LaneBuffer(4, 1, 32, events={1: "work", 2: "mark"})
        run_lanes(language, buffer, 3)
        trace = buffer.decode()
        trace.to_chrome(f"{folder}/lanes.json")
        trace.to_perfetto(f"{folder}/lanes.pftrace")
        json.loads(Path(f"{folder}/lanes.json").read_text())
        print("    lanes.json", Path(f"{folder}/lanes.json").stat().st_size, "bytes; lanes.pftrace",
              Path(f"{folder}/lanes.pftrace").stat().st_size)


# ---- cost ----------------------------------------------------------------------------------------------

COST = {"library": None}
ROUNDS = 512


def header_cost():
    """The C header's cost, as device_cost.cu measures it, or None where it was not built."""
    if not COST["library"]:
        print("    no C header to compare with: device_cost.cu was not built")
        return None
    library = ctypes.CDLL(COST["library"])
    for name in ("cost_event_pairs", "cost_lane_records"):
        getattr(library, name).restype = ctypes.c_int
    return library


def pair_cycles(launch, blocks):
    """Median over the blocks of the last of three launches."""
    out = zeros(blocks)
    for _ in range(3):
        launch(out)
        sync()
    return sorted(out.cpu().tolist())[blocks // 2] / ROUNDS


def barriers(kernel):
    """How often a block's threads wait for each other; what the kernel's code is made of is printed."""
    text, code = kernel.asm["ptx"], sass(kernel) or []
    count = lambda lines, *words: sum(any(word in line for word in words) for line in lines)  # noqa: E731
    print(f"    {len(instructions(kernel, 'ptx'))} lines of PTX; SASS: {len(code)} instructions, {count(code, 'BAR.')} BAR, "
          f"{count(code, 'ATOM')} ATOM, {count(code, ' STG', '.STG')} STG, {getattr(kernel, 'n_regs', None)} registers, "
          f"{getattr(kernel, 'n_spills', None)} spilled")
    return count(text.splitlines(), "bar.sync", "barrier.sync", "barrier.cta")


@step()
def event_cost(language):
    module, library = kernels(language), header_cost()
    torch_module().zeros(1, device="cuda")
    good = True
    for blocks in (1, 132, 528):
        for warps in (1, 4):
            tracing = tracing_of(4 * blocks * ROUNDS)
            context = tracing.get_device_context()

            def launch(out):
                tracing.reset()
                return module.event_cost[(blocks, )](context, out, ROUNDS, TRACING=True, num_warps=warps)

            own = pair_cycles(launch, blocks)
            if blocks == 1:
                good &= figure(f"barriers in PTX, {warps} warps", barriers(launch(zeros(1))), "", 0)
            header = None
            if library:

                def launch_header(out):
                    tracing.reset()
                    sync()
                    status = library.cost_event_pairs(ctypes.c_void_p(context.data_ptr()),
                                                      ctypes.c_void_p(out.data_ptr()), ROUNDS, blocks, 32 * warps)
                    assert status == 0, f"CUDA error {status}"

                header = pair_cycles(launch_header, blocks)
                print(f"    header, {blocks} blocks of {warps} warps: {header:.4g} cycles a pair")
            good &= figure(f"event pair, {blocks} blocks of {warps} warps", own, "cycles",
                           None if header is None else 1.2 * header)
    assert good, "more than 1.2 times the header's"


@step()
def lane_cost(language):
    import rbwp
    module, library = kernels(language), header_cost()
    good = True
    # A buffer of one lane has a stride of 1, which the compiler takes for a constant: it is told, and has no target.
    places = ((1, 1, 1), (1, 1, 132), (1, 4, 132), (132, 4, 132))
    for version, fence in ((1, True), (1, False), (2, True)):
        for blocks, warps, lanes in places:
            buffer = rbwp.LaneBuffer(lanes, 1, 2 * ROUNDS + 4, version=version)

            def launch(out):
                words, stride, _, count, records = buffer.arguments()
                module.lane_cost[(blocks, )](words, stride, count, records, out, ROUNDS, ENABLED=True,
                                             VERSION=version, FENCE=fence, num_warps=warps)

            own = pair_cycles(launch, blocks) / 2
            what = f"{blocks} blocks of {warps} warps, buffer of {lanes} lanes"
            header = None
            if library and version == 1 and fence:

                def launch_header(out):
                    sync()
                    status = library.cost_lane_records(ctypes.c_void_p(buffer.buffer.data_ptr()), buffer.stride,
                                                       buffer.max_records, ctypes.c_void_p(out.data_ptr()), ROUNDS,
                                                       blocks, 32 * warps)
                    assert status == 0, f"CUDA error {status}"

                header = pair_cycles(launch_header, blocks) / 2
                print(f"    header, {what}: {header:.4g} cycles a record")
            good &= figure(f"lane record, version {version}, {'with' if fence else 'without'} fence, {what}", own,
                           "cycles", None if header is None or lanes == 1 else 1.2 * header)
    assert good, "more than 1.2 times the header's"


@step("gluon")
def bandwidth(language):
    """The copy of 1 GiB whose port lost 5.4 % with tracing off; with an event per tile it may lose some."""
    import torch
    module = kernels(language)
    source = torch.zeros(1 << 27, dtype=torch.int64, device="cuda")
    target = torch.empty_like(source)
    tiles = 16
    programs = len(source) // 1024 // tiles
    launches = 8  # between two readings of the time: the first one's way to the GPU is not the kernel's
    tracing = tracing_of(launches * programs * tiles)
    context = tracing.get_device_context()

    def seconds(kernel, traced):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        tracing.reset()
        sync()
        begin.record()
        for _ in range(launches):
            kernel[(programs, )](context, source, target, TRACING=traced, TILES=tiles, num_warps=4)
        end.record()
        sync()
        return begin.elapsed_time(end) / 1e3 / launches

    # In turns, so that the clock's changes meet all alike; the first turn compiles.
    turns = [(seconds(module.plain_copy, False), seconds(module.copy, False), seconds(module.copy, True))
             for _ in range(32)][1:]
    middle = lambda values: sorted(values)[len(turns) // 2]
    for i, name in enumerate(("plain", "off", "on")):
        print(f"    {name}: {2 * source.nbytes / middle(turn[i] for turn in turns) / 1e9:.0f} GB/s")
    same("counts", tracing.counts(), (launches * programs * tiles, 0))
    assert figure("lost with tracing off", middle(100 * (off / plain - 1) for plain, off, _ in turns), "%", 1.0)
    figure("lost with an event a tile of 8 KiB", middle(100 * (on / plain - 1) for plain, _, on in turns), "%")


# ---- two ranks ------------------------------------------------------------------------------------------


def puts_of_two_ranks(language, devices):
    """Each rank puts into the other's heap; the contract's data again."""
    import torch

    import rbwp
    heaps = [torch.zeros(4096, dtype=torch.int64, device=device) for device in devices]
    sources = [torch.full((4096, ), rank + 1, dtype=torch.int64, device=device) for rank, device in enumerate(devices)]
    for one, other in ((0, 1), (1, 0)):  # lets PyTorch open the way between two GPUs
        heaps[one].copy_(torch.zeros_like(heaps[other]))
    ranks = [rbwp.Tracing(rank, 2, [heap.data_ptr() for heap in heaps], device=device)
             for rank, device in enumerate(devices)]
    for rank, tracing in enumerate(ranks):
        tracing.enable(1000)
        with torch.cuda.device(devices[rank]):
            kernels(language).put_remote[(1024, )](tracing.get_device_context(), sources[rank], 4096, 1 - rank,
                                                   TRACING=True, BLOCK=4, num_warps=4)
    for device in devices:
        torch.cuda.synchronize(device)
    for rank, tracing in enumerate(ranks):
        same("data", set(heaps[1 - rank].cpu().tolist()), {rank + 1})
        same("counts", tracing.counts(), (1024, 24))
        trace = tracing.decode()
        same("damage", trace.damage, 0)
        same("ranks", (set(trace.events["rank"].tolist()), set(trace.events["target_rank"].tolist())),
             ({rank}, {1 - rank}))
        same("bytes", set(trace.events["bytes"].tolist()), {32})
        assert (trace.events["stop_ns"] >= trace.events["start_ns"]).all()
        trace.print_durations()


@step()
def two_ranks_on_one_gpu(language):
    puts_of_two_ranks(language, ["cuda:0", "cuda:0"])


@step()
def two_gpus(language):
    import torch
    if torch.cuda.device_count() < 2:
        print("    one GPU here: skipped")
        return
    assert torch.cuda.can_device_access_peer(0, 1), "the GPUs do not see each other's memory"
    puts_of_two_ranks(language, ["cuda:0", "cuda:1"])


@common
def clock_offsets():
    """Each GPU's clock beside the host's: twice, and the two agree within what they say of themselves."""
    import torch

    from rbwp.clocks import clock_offset
    for i in range(torch.cuda.device_count()):
        (first, first_bound), (second, second_bound) = clock_offset(f"cuda:{i}"), clock_offset(f"cuda:{i}")
        print(f"    GPU {i}: {first} ns ahead of CLOCK_MONOTONIC, at most {first_bound} ns wrong; again: "
              f"{second - first:+d} ns, {second_bound} ns")
        assert abs(second - first) <= first_bound + second_bound + 1000, "two alignments disagree"


# ---- running -------------------------------------------------------------------------------------------


def run_steps(names):
    """In this process; a line for each. Ends the process where the GPU is spoiled."""
    failed = []
    for name in names:
        function, language = STEPS[name]
        print(f"== {name}", flush=True)
        begin = time.monotonic()
        try:
            function(language) if language else function()
            print(f"-- {name}: good, {time.monotonic() - begin:.1f} s", flush=True)
        except Exception:
            failed.append(name)
            print(traceback.format_exc().rstrip(), flush=True)
            print(f"-- {name}: FAILED, {time.monotonic() - begin:.1f} s", flush=True)
            if not usable():
                print("-- the GPU is of no use to this process any more", flush=True)
                os._exit(SPOILED)
    return 1 if failed else 0


def usable():
    try:
        torch = torch_module()
        torch.cuda.synchronize()
        return int(torch.ones(2, device="cuda").sum()) == 2
    except Exception:
        return "torch" not in sys.modules


def run_apart(names, arguments):
    """In processes of their own: another one after each that came to grief. The steps' ends, by name."""
    ends, left = {}, list(names)
    while left:
        command = [sys.executable, "-u", __file__, "--here", *arguments, *left]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace") as child:
            current, deadline = None, Deadline(child)
            for line in child.stdout:
                print(line, end="", flush=True)
                if line.startswith("== "):
                    current = line[3:].strip()
                    deadline.begin()
                found = re.match(r"-- (\S+): (good|FAILED)", line)
                if found:
                    ends[found[1]], current = found[2], None
            deadline.stop()
            child.wait()
        if current is not None:
            ends[current] = f"FAILED: Python ended with {child.returncode}" + (" (hung)" if deadline.passed else "")
            print(f"-- {current}: {ends[current]}", flush=True)
        elif not any(name in ends for name in left):
            ends[left[0]] = f"FAILED: Python ended with {child.returncode} before it"
        left = [name for name in left if name not in ends]
    return ends


class Deadline:
    """Ends a child whose step takes too long."""

    def __init__(self, child):
        import threading
        self.child, self.passed, self.timer, self.threading = child, False, None, threading

    def begin(self):
        self.stop()
        self.timer = self.threading.Timer(STEP_LIMIT_S, self._end)
        self.timer.daemon = True
        self.timer.start()

    def stop(self):
        if self.timer:
            self.timer.cancel()

    def _end(self):
        self.passed = True
        self.child.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cost", help="library of device_cost.cu")
    parser.add_argument("--here", action="store_true", help="run the steps in this process")
    parser.add_argument("--list", action="store_true", help="print the steps")
    parser.add_argument("steps", nargs="*", help="default: all; a word also means the steps that contain it")
    options = parser.parse_args()
    COST["library"] = options.cost
    wanted = [name for name in STEPS
              if not options.steps or any(word == name or (not options.here and word in name)
                                          for word in options.steps)]
    if options.list:
        print("\n".join(wanted))
        return 0
    if options.here:
        return run_steps(wanted)
    ends = run_apart(wanted, ["--cost", options.cost] if options.cost else [])
    print("\n== steps")
    for name in wanted:
        print(f"{name:<40} {ends[name]}")
    return 0 if all(end == "good" for end in ends.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
