#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h200_torch.py LIBRARY RBWP SCRATCH - brackets around what PyTorch launches, on idle streams.

LIBRARY is h200_torch.c over librbwp.so. Three questions, a line each, and exit status 1 if one is answered badly:
is a torch.cuda.graph capture left alone by reaping and brackets beside and inside it; how far are the durations of a
kernel that times itself by %globaltimer from what `rbwp dump --spans --gpu-bias` says, and does the bound hold (asked
in several sessions with other work between them: their median is judged); the same of matrix products beside CUPTI's
times of them in another run (torch.profiler). h200.sh runs it."""

import ctypes
import json
import subprocess
import sys
import time

import torch

ROUNDS = 300
# What lies between the launch inside PyTorch and the bracket's end is nobody's to see, and a host has slow phases: the
# medians of seven sessions in a row were 0.3 to 1.0 us. So several sessions, seconds apart, and their median.
SESSIONS = 7
PAUSE_S = 1
MEDIAN_NS, HOLD_SHARE = 2000, 0.99
# Between the launch inside torch.mm and the bracket's end lies PyTorch's way back into Python: the product is under
# way by then, for as long as that takes: the median of nine runs was 2.5 to 6.5 us. The bound covers it.
PRODUCTS_MEDIAN_NS = 8000

library, rbwp, scratch = sys.argv[1:]
lib = ctypes.PyDLL(library)  # keeps the interpreter lock: no call here waits for another Python thread
lib.torch_stream.restype = ctypes.c_void_p
lib.torch_stream.argtypes = [ctypes.c_void_p]
lib.torch_begin.argtypes = [ctypes.c_void_p, ctypes.c_uint]
lib.torch_stop.restype = ctypes.c_longlong
lib.torch_start.argtypes = [ctypes.c_char_p]
failed = False


def answer(good, text):
    global failed
    failed |= not good
    print(f"pytorch, {text}: {'good' if good else 'WRONG'}", flush=True)


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def record(name, launches):
    """Runs the launches in a session, each in a bracket on an idle stream; the spans in order."""
    path = f"{scratch}/{name}.bin"
    native = torch.cuda.current_stream().cuda_stream
    stream = lib.torch_stream(native)
    assert stream and lib.torch_start(path.encode()) == 0
    begin, end = lib.torch_begin, lib.torch_end
    for launch in launches:
        torch.cuda.synchronize()
        begin(stream, 1)
        launch()
        end()
    torch.cuda.synchronize()
    lib.torch_drain()
    lost = lib.torch_stop()
    assert lost == 0, f"{lost} lost"
    text = subprocess.run([rbwp, "dump", "--spans", "--gpu-bias", "--ndjson", path], check=True,
                          capture_output=True, text=True).stdout
    spans = [json.loads(line) for line in text.splitlines()]
    gpu = sorted((span for span in spans if span["kind"] == "gpu"), key=lambda span: span["end"])
    assert len(gpu) == len(launches), (len(gpu), len(launches))
    rows = subprocess.run([rbwp, "tables", "--table", "gpu_device", "--as", "ndjson", path], check=True,
                          capture_output=True, text=True).stdout
    return gpu, json.loads(rows.splitlines()[-1])


def compare(name, spans, gpu, own_ns, slack_ns=0):
    """Durations beside the true ones: (median of |error|, share of brackets whose bound holds, text). slack_ns: how
    far the true ones may be off themselves."""
    errors = [span["duration"] - own for span, own in zip(spans, own_ns)]
    absolute = quantile([abs(error) for error in errors], 0.5)
    held = 0
    for span, own in zip(spans, own_ns):
        spread = gpu["idle_bias_spread"] if span["idle"] else gpu["bias_spread"]
        held += span["duration_least"] - spread - slack_ns <= own <= span["duration_most"] + spread + slack_ns
    idle = sum(span["idle"] for span in spans)
    shown = " ".join(f"p{int(100 * q)} {quantile(errors, q):.0f}" for q in (0.01, 0.5, 0.9, 0.99))
    launching = quantile([span["launching"] for span in spans], 0.5)
    text = (f"{name}: {len(spans)} brackets, {idle} idle, launching p50 {launching} ns; error in ns {shown}; "
            f"|error| p50 {absolute:.0f}; bound holds for {100 * held / len(spans):.1f} %")
    return absolute, held / len(spans), text


# --- a capture ---------------------------------------------------------------------------------------------


def graph_capture():
    a = torch.randn(512, 512, device="cuda")
    side, inside = torch.cuda.Stream(), torch.cuda.Stream()
    streams = lib.torch_stream(side.cuda_stream), lib.torch_stream(inside.cuda_stream)
    assert lib.torch_start(f"{scratch}/graph.bin".encode()) == 0
    with torch.cuda.stream(side):
        torch.mm(a, a)
    torch.cuda.synchronize()
    done = 0
    for mode in ("global", "thread_local", "relaxed"):
        for _ in range(10):
            lib.torch_begin(streams[0], 1)  # work that the reaper asks for all the while
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
            lib.torch_end()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=inside, capture_error_mode=mode):
                lib.torch_begin(streams[1], 2)
                b = torch.mm(a, a)
                lib.torch_end()
            lib.torch_begin(streams[1], 3)
            with torch.cuda.stream(inside):
                graph.replay()
            lib.torch_end()
            torch.cuda.synchronize()
            done += torch.allclose(b, a @ a, rtol=1e-3, atol=1e-2)
    lib.torch_drain()
    lost = lib.torch_stop()
    answer(done == 30 and lost == 30, f"graph captures beside a reaper: {done} of 30 whole; lost {lost}, expected 30")


# --- a kernel that times itself ------------------------------------------------------------------------------

SOURCE = """
extern "C" __global__ void spin(long long *out, long long duration)
{
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < duration);
    out[0] = begin;
    out[1] = now;
}
"""


def globaltimer():
    """One session: (median of |error|, share of bounds that hold)."""
    spin = torch.cuda._compile_kernel(SOURCE, "spin")
    times = torch.zeros(ROUNDS, 2, dtype=torch.int64, device="cuda")
    lengths = [5_000, 10_000, 20_000, 50_000, 100_000, 500_000]
    launches = []
    for i in range(ROUNDS):
        row, length = times[i], lengths[i % len(lengths)]
        launches.append(lambda row=row, length=length: spin(grid=(1, 1, 1), block=(1, 1, 1), args=[row, length]))
    launches[0]()
    torch.cuda.synchronize()
    spans, gpu = record("globaltimer", launches)
    own = (times[:, 1] - times[:, 0]).tolist()
    absolute, held, text = compare("a kernel's own %globaltimer", spans, gpu, own)
    print(f"pytorch, {text}", flush=True)
    return absolute, held


def globaltimer_sessions():
    found = []
    for _ in range(SESSIONS):
        found.append(globaltimer())
        time.sleep(PAUSE_S)
    middle, held = quantile([absolute for absolute, _ in found], 0.5), sum(share for _, share in found) / SESSIONS
    answer(middle <= MEDIAN_NS and held >= HOLD_SHARE,
           f"idle streams, median of {SESSIONS} sessions: |error| p50 {middle:.0f} ns (at most {MEDIAN_NS}); "
           f"bound holds for {100 * held:.1f} % (at least {100 * HOLD_SHARE:.0f})")


# --- matrix products beside CUPTI ------------------------------------------------------------------------------


def matrix_products():
    matrices = [torch.randn(n, n, device="cuda") for n in (256, 512, 1024, 2048, 4096)]
    launches = [lambda a=matrices[i % len(matrices)]: torch.mm(a, a) for i in range(ROUNDS)]
    for launch in launches[:20]:
        launch()
    torch.cuda.synchronize()
    spans, gpu = record("products", launches)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for launch in launches:
            torch.cuda.synchronize()
            launch()
        torch.cuda.synchronize()
    path = f"{scratch}/cupti.json"
    profile.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kernels = sorted((e["ts"], e["dur"]) for e in events if e.get("cat") == "kernel")
    # A product may take two kernels; the host waits between products, so those are the long gaps.
    gaps = [(kernels[i][0] - sum(kernels[i - 1]), i) for i in range(1, len(kernels))]
    firsts = [0] + sorted(i for _, i in sorted(gaps, reverse=True)[:ROUNDS - 1])
    lasts = [i - 1 for i in firsts[1:]] + [len(kernels) - 1]
    own = [1000 * (sum(kernels[last]) - kernels[first][0]) for first, last in zip(firsts, lasts)]
    # Another run: a product's time differs by some per cent; the median of its size stands for it. So the share of
    # brackets whose bound holds says less here, and is judged where a kernel times itself.
    sizes = len(matrices)
    median = [quantile(own[i::sizes], 0.5) for i in range(sizes)]
    absolute, held, text = compare("matrix products beside CUPTI", spans, gpu,
                                   [median[i % sizes] for i in range(ROUNDS)], slack_ns=2000)
    answer(absolute <= PRODUCTS_MEDIAN_NS and held >= 0.95, f"{text} (at most {PRODUCTS_MEDIAN_NS} ns, 95 %)")


assert lib.torch_open() == 0
torch.zeros(1, device="cuda")
for part in (graph_capture, globaltimer_sessions, matrix_products):
    try:
        part()
    except Exception as error:  # the other parts are worth their time on the device
        answer(False, f"{part.__name__}: {type(error).__name__}: {error}"[:600])
sys.exit(failed)
