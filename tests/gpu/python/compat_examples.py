#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compat_examples.py OUT [LIBRARY] - scripts as users of other systems have them, but for the import lines, on a GPU:
the Triton PTX instrumenter, iris in Triton and Gluon, and with LIBRARY (of compat_warpscope.cu) warpscope."""

import ctypes
import json
import os
import sys

import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from rbwp.compat.iris import DeviceContext, DeviceTracing, TraceEvent, Tracing
from rbwp.compat.iris_gluon import IrisDeviceCtx
from rbwp.compat.iris_gluon import TraceEvent as GluonEvent
from rbwp.compat.triton_instrumenter import TritonInstrument
from rbwp.compat.warpscope import Profiler

OUT = sys.argv[1]
BLOCKS, BLOCK = 64, 128
ROW = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))


@triton.jit
def scale(x_ptr, result_ptr, n, time_buffer_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + at, mask=at < n)
    for _ in range(n // BLOCK):
        total = total * 0.5 + 1.0
    tl.store(result_ptr + at, total, mask=at < n)


def instrumenter():
    x = torch.randn(BLOCKS * BLOCK, device="cuda")
    plain, probed = torch.empty_like(x), torch.empty_like(x)
    none = torch.zeros(4, dtype=torch.int32, device="cuda")
    scale[(BLOCKS, )](x, plain, len(x), none, BLOCK=BLOCK)
    with TritonInstrument(mode="block", t_start=0, t_end=127, output_dir=f"{OUT}/output", analysis_dir=f"{OUT}/analysis") as inst:
        time_buf = inst.allocate_buffer(n_probes_estimate=1024, n_threads=128)
        scale[(BLOCKS, )](x, probed, len(x), time_buf, BLOCK=BLOCK)
        torch.cuda.synchronize()
        results = inst.get_results(export_path=f"{OUT}/output/raw")
        inst.print_summary(dict(list(results.items())[:5]))
        inst.export_chrome_trace(f"{OUT}/output/trace.json", results)
        active = inst.sanitize(f"{OUT}/analysis/active_probes.json", results, True, True)
    assert torch.equal(plain, probed)
    assert len(results) > 4 and results[0]["duration"].shape == (128, ) and results[0]["mean_cycles"] > 0
    assert {"original.ptx", "instrumented.ptx", "raw.csv", "raw.npy", "trace.json"} <= set(os.listdir(f"{OUT}/output"))
    with TritonInstrument(active_list=f"{OUT}/analysis/active_probes.json", output_dir=None) as again:
        time_buf = again.allocate_buffer(n_probes_estimate=1024)
        scale[(BLOCKS, )](x, probed, len(x), time_buf, BLOCK=BLOCK)
        fewer = again.get_results()
    assert 0 < len(fewer) <= len(results), (len(fewer), len(results))
    print(f"instrumenter: {len(results)} slots, then {len(fewer)} with {len(active['active_start']['list'])} probes")


@triton.jit
def put(context_tensor, source, target, cur_rank: tl.constexpr, num_ranks: tl.constexpr, TRACING: tl.constexpr,
        BLOCK: tl.constexpr):
    ctx = DeviceContext.initialize(context_tensor, cur_rank, num_ranks, tracing=TRACING)
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    mask = at >= 0
    handle = ctx.tracing.record_event_start(event_id=TraceEvent().put, target_rank=(cur_rank + 1) % num_ranks,
                                            address=target + at, pid_m=pid, pid_n=0, mask=mask)
    tl.store(target + at, tl.load(source + at), mask=mask)
    ctx.tracing.record_event_end(handle)


@triton.jit
def wait_only(context_tensor, target, TRACING: tl.constexpr):
    tracing = DeviceTracing.initialize(context_tensor, tracing=TRACING)
    handle = tracing.record_event_start(TraceEvent().wait, 0, target, 1, 2)
    tracing.record_event_end(handle)


@gluon.jit
def put_gluon(context_tensor, source, target, TRACING: gl.constexpr, BLOCK: gl.constexpr):
    ctx = IrisDeviceCtx.initialize(context_tensor, tracing=TRACING)
    pid = gl.program_id(0)
    at = pid * BLOCK + gl.arange(0, BLOCK, layout=ROW)
    mask = at >= 0
    handle = ctx.tracing.record_event_start(event_id=GluonEvent().put, target_rank=1, address=target + at, pid_m=pid,
                                            pid_n=0, mask=mask)
    gl.store(target + at, gl.load(source + at), mask=mask)
    ctx.tracing.record_event_end(handle)


class Heaps:
    """What a communication library knows."""

    def __init__(self, bases):
        self.bases = bases

    def get_rank(self):
        return 0

    def get_num_ranks(self):
        return len(self.bases)

    def get_heap_bases(self):
        return self.bases


def iris():
    source = torch.randn(BLOCKS * BLOCK, device="cuda")
    target = torch.zeros_like(source)
    tracing = Tracing(Heaps([source.data_ptr(), target.data_ptr()]))
    launches = (lambda on: put[(BLOCKS, )](tracing.get_device_context(), source, target, 0, 2, TRACING=on, BLOCK=BLOCK),
                lambda on: put_gluon[(BLOCKS, )](tracing.get_device_context(), source, target, TRACING=on, BLOCK=BLOCK))
    for launch in launches:
        launch(True)  # tracing is off on the host
    tracing.enable(max_events=1_000)
    for launch in launches:
        for on in (False, True):
            tracing.reset()
            launch(on)
            torch.cuda.synchronize()
            found = tracing.export(f"{OUT}/iris.json", merge=False)
            events = [event for event in found["traceEvents"] if event["ph"] == "X"]
            assert len(events) == BLOCKS * on, (len(events), on)
        assert {(event["name"], event["args"]["target_rank"], event["args"]["payload_size"]) for event in events} == {("put", 1, BLOCK * 4)}
        assert torch.equal(source, target)
    tracing.reset()
    wait_only[(1, )](tracing.get_device_context(), target, TRACING=True)
    in_us = tracing.export(f"{OUT}/iris_us.json", raw_cycles=False)
    assert [event["name"] for event in in_us["traceEvents"] if event["ph"] == "X"] == ["wait"]
    machine = in_us["metadata"]
    print(f"iris: {BLOCKS} events in Triton and in Gluon; {machine['gpu_device_name']}, {machine['gpu_total_memory_gb']} GB, "
          f"{machine['gpu_arch']}, {machine['gpu_cu_count']} units, {machine['time_unit']}")
    assert torch.cuda.get_device_name() == machine["gpu_device_name"]


def warpscope(path):
    library = ctypes.CDLL(path)
    x = torch.zeros(BLOCKS * 64, device="cuda")
    for on in (1, 0):
        prof = Profiler(num_blocks=BLOCKS, num_groups=2, max_records_per_lane=16)
        failed = library.run(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(prof.ptr), prof.stride, prof.num_groups, prof.num_blocks,
                             prof.max_records, on)
        assert not failed, failed
        trace = prof.decode(event_names=["wait", "work", "done"], group_names=["even", "odd"])
        assert trace.damage == 0 and len(trace.spans) == BLOCKS * 2 * 7 * on, (trace.stats, on)
        if on:
            trace.print_durations()
            trace.to_perfetto(f"{OUT}/warpscope.json")
            trace.to_perfetto(f"{OUT}/warpscope.pftrace")
            with open(f"{OUT}/warpscope.json", encoding="utf-8") as file:
                spans = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
            assert len(spans) == BLOCKS * 2 * 6, len(spans)
    assert (x == 6).all()
    print(f"warpscope: {BLOCKS * 2} lanes, {len(spans)} spans; none when off")


os.makedirs(OUT, exist_ok=True)
instrumenter()
iris()
if len(sys.argv) > 2:
    warpscope(sys.argv[2])
