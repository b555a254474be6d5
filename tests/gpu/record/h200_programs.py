#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h200_programs.py PROGRAM [N] - programs for h200_record.py, which know nothing of rbwp. Each prints a line of JSON: seconds of
its loop, and how many kernels of its own it launched, where it knows."""
import ctypes
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
PAIRS, SETTLING = 15, 200  # loops off and on; kernels behind each switch that are not timed


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


def profiled(count):
    """small under PyTorch's own profiler: what it takes, how large its trace is, what it counts."""
    from torch.profiler import ProfilerActivity, profile
    go, wait = additions(count)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recorded:
        seconds, _ = loops(go, wait)
    path = os.path.join(os.environ.get("OUT", "."), f"torch-{os.getpid()}.json")
    recorded.export_chrome_trace(path)
    with open(path) as file:
        kernels = [event["dur"] for event in json.load(file)["traceEvents"] if event.get("cat") == "kernel"]
    bytes_ = os.path.getsize(path)
    os.remove(path)
    tell(seconds=seconds, kernels=len(kernels), expected=REPEATS * count, bytes=bytes_, mean_us=sum(kernels) / max(1, len(kernels)))


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


def holds(count):
    """PyTorch's profiler inside: only one has CUPTI; both programs must run to their end."""
    profiled(count)


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


def switch_of(how):
    """What switches recording on and off in this process; before its first call it is off."""
    if how == "library":
        return ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).cupti_peer_switch

    def by_signal(on):
        os.kill(os.getpid(), signal.SIGUSR2)
        time.sleep(0.03)  # it is another thread that opens and closes

    return by_signal if how == "signal" else lambda on: None


def alternating(count, how):
    """Loops of count additions, off and on by turns: median seconds of each, of on times the off before it, kernels while on."""
    seconds = {False: [], True: []}
    go, wait = additions(count)
    switch = switch_of(how)
    settle = additions(SETTLING)[0]
    for turn in range(2 * PAIRS):
        on = turn % 2 == 1
        wait()
        if turn:
            switch(on)
        settle()
        wait()
        begin = time.perf_counter()
        go()
        wait()
        seconds[on].append(time.perf_counter() - begin)
    switch(False)
    tell(off=statistics.median(seconds[False]) / count, on=statistics.median(seconds[True]) / count, kernels=PAIRS * (count + SETTLING),
         times=statistics.median(on / off for off, on in zip(seconds[False], seconds[True])))


def forks(count):
    """alternating in forked children, which need not import PyTorch again: one for each line of JSON, with variables of the
    environment and how it is switched."""
    import torch  # noqa: F401
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            told = json.loads(line)
            os.environ.update(told["environment"])
            alternating(count, told["switch"])
            return
        tell(status=os.waitpid(child, 0)[1])


if __name__ == "__main__":
    globals()[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 100)
