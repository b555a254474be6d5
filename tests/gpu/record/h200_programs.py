#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h200_programs.py PROGRAM [N] - programs for h200_record.py, which know nothing of rbwp. Each prints a line of JSON: seconds of
its loop, and how many kernels of its own it launched, where it knows."""
import contextlib
import json
import os
import signal
import statistics
import sys
import time


def tell(**facts):
    print(json.dumps(facts), flush=True)


REPEATS = 5  # of a loop; the median counts
BEFORE = 2 + 200  # kernels that fill two tensors, and those before the loop
SETTLING = 200  # kernels before each loop that are not timed


def loops(go, wait):
    """Median seconds of a loop, and of its calls alone."""
    seconds, calls = [], []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        go()
        calls.append(time.perf_counter() - begin)
        wait()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), statistics.median(calls)


def additions(count):
    import torch
    a, b = torch.ones(1024, device="cuda"), torch.ones(1024, device="cuda")
    for _ in range(BEFORE - 2):
        torch.add(a, b, out=a)
    torch.cuda.synchronize()

    def go():
        for _ in range(count):
            torch.add(a, b, out=a)

    return go, torch.cuda.synchronize


def small(count):
    """The loop of the targets: many small kernels, nothing else."""
    seconds, calls = loops(*additions(count))
    tell(seconds=seconds, launch_us=calls / count * 1e6, kernels=REPEATS * count + BEFORE)


def ranged(count):
    """The same inside NVTX ranges, one for each ten."""
    import torch
    a, b = torch.ones(1024, device="cuda"), torch.ones(1024, device="cuda")
    torch.cuda.synchronize()

    def go():
        for _ in range(count // 10):
            torch.cuda.nvtx.range_push("ten")
            for _ in range(10):
                torch.add(a, b, out=a)
            torch.cuda.nvtx.range_pop()

    seconds, _ = loops(go, torch.cuda.synchronize)
    tell(seconds=seconds, kernels=REPEATS * count // 10 * 10, ranges=REPEATS * count // 10)


def trace(recorded):
    """How large PyTorch's trace is, and what it counts."""
    path = os.path.join(os.environ.get("OUT", "."), f"torch-{os.getpid()}.json")
    recorded.export_chrome_trace(path)
    with open(path) as file:
        kernels = [event["dur"] for event in json.load(file)["traceEvents"] if event.get("cat") == "kernel"]
    bytes_ = os.path.getsize(path)
    os.remove(path)
    return {"kernels": len(kernels), "bytes": bytes_, "mean_us": sum(kernels) / max(1, len(kernels))}


def profiler():
    from torch.profiler import ProfilerActivity, profile
    return profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU])


def holds(count):
    """PyTorch's profiler inside: only one has CUPTI; both programs must run to their end."""
    go, wait = additions(count)
    with profiler() as recorded:
        loops(go, wait)
    tell(expected=REPEATS * count, **trace(recorded))


def model():
    import torch
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)).cuda()
    return net, torch.optim.AdamW(net.parameters()), torch.randn(256, 512, device="cuda")


def train(count):
    """Forward, backward, optimiser; record_function's ranges become NVTX's."""
    import torch
    from torch.profiler import record_function
    net, optimiser, batch = model()
    with torch.autograd.profiler.emit_nvtx():
        begin = time.perf_counter()
        for step in range(count):
            with record_function(f"ProfilerStep#{step}"):
                with record_function("forward"):
                    loss = net(batch).square().mean()
                with record_function("backward"):
                    loss.backward()
                with record_function("optimiser"):
                    optimiser.step()
                    optimiser.zero_grad()
        torch.cuda.synchronize()
    tell(seconds=time.perf_counter() - begin, loss=float(loss))


def graphs(count):
    """A captured graph of ten additions, replayed on a stream of its own."""
    import torch
    a = torch.ones(4096, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        a.add_(1)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            for _ in range(10):
                a.add_(1)
        torch.cuda.nvtx.range_push("replays")
        for _ in range(count):
            graph.replay()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    tell(replays=count, nodes=10)


def triton(count):
    import torch
    import triton_kernel
    x, out = torch.ones(1 << 16, device="cuda"), torch.empty(1 << 16, device="cuda")
    for _ in range(count):
        triton_kernel.double[(64, )](x, out, 1 << 16, BLOCK=1024)
    torch.cuda.synchronize()
    tell(kernels=count, right=bool((out == 2).all()))


def jax(count):
    import jax.numpy as jnp
    from jax import jit
    step = jit(lambda x: jnp.tanh(x @ x) * 0.5)
    x = jnp.ones((512, 512))
    for _ in range(count):
        x = step(x)
    x.block_until_ready()
    tell(steps=count)


def children(count):
    """Worker processes, started afresh, each on a GPU; they end as multiprocessing's do, by os._exit."""
    import torch
    torch.multiprocessing.set_start_method("spawn")
    workers = [torch.multiprocessing.Process(target=small, args=(count, )) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tell(processes=2, kernels=2 * (REPEATS * count + BEFORE), codes=[worker.exitcode for worker in workers])


def killed(count):
    """Ends by SIGTERM in the middle."""
    import torch
    a = torch.ones(1024, device="cuda")
    for _ in range(count):
        a.add_(1)
    torch.cuda.synchronize()
    tell(kernels=count)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def subscribed(count):
    """Has CUPTI before it starts the driver, as other tools do; the one that PyTorch brings, or the toolkit's."""
    import ctypes
    import glob
    import torch
    near = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia", "*", "lib", "libcupti.so.1*")
    found = [*glob.glob(near), *glob.glob("/usr/local/cuda/lib64/libcupti.so"), *glob.glob("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so")]
    cupti = ctypes.CDLL(found[0]) if found else None
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(lambda *_: None)
    handle = ctypes.c_void_p()
    has = cupti is not None and cupti.cuptiSubscribe(ctypes.byref(handle), callback, None) == 0
    seconds, _ = loops(*additions(count))
    tell(seconds=seconds, kernels=REPEATS * count + BEFORE, subscribed=has)


def take_turns(go, settle, wait):
    """How many."""
    count = 0
    tell(ready=True)
    for _ in sys.stdin:
        settle()
        wait()
        begin = time.perf_counter()
        go()
        wait()
        tell(seconds=time.perf_counter() - begin)
        count += 1
    return count


def turns(count, inside=contextlib.nullcontext):
    """small for who runs several of it by turns: one loop for each line that is read, all on one processor (TURNS_CPU), as how fast
    the machine is changes from one to the other and from second to second. (kernels inside, what inside made)"""
    go, wait = additions(count)
    settle = additions(SETTLING)[0]
    os.sched_setaffinity(0, {int(os.environ["TURNS_CPU"])})  # this thread only
    with inside() as made:
        loops_run = take_turns(go, settle, wait)
    return loops_run * (count + SETTLING), made


def turns_plain(count):
    kernels, _ = turns(count)
    tell(kernels=2 * BEFORE + kernels)


def turns_profiled(count):
    """The same under PyTorch's own profiler."""
    kernels, recorded = turns(count, profiler)
    tell(expected=kernels, **trace(recorded))


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 100)
