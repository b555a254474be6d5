#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h200_ptx.py [--list] [STEP...] - probes in PTX on a GPU: what they change, what they cost, whether what they tell is
true; kernels of Triton under `rbwp record --ptx` and in the Python context.

Each step is a process of its own, so that one which spoils its context spoils no other. Figures are printed with their
targets; the exit status is 1 if a step failed or a target was missed. h200_ptx.sh builds all and runs it.
RBWP_COMMAND, RBWP_PTXAS_STAND_IN: the commands; OUT: where profiles and reports are left."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python"), str(HERE.parents[1] / "cli")]

import corpus  # noqa: E402
import numpy as np  # noqa: E402
import probes  # noqa: E402

OUT = pathlib.Path(os.environ.get("OUT", "."))
STEPS = {}
CALIBRATING = 3  # launches that tell what probes cost, before those that are judged
missed = []


def step(limit_s):

    def add(function):
        STEPS[function.__name__] = (function, limit_s)
        return function

    return add


def figure(what, value, unit="", most=None, least=None):
    """Prints a number with its target, if it has one."""
    good = (most is None or value <= most) and (least is None or value >= least)
    if not good:
        missed.append(what)
    wanted = " and ".join(f"at {word} {bound:g}" for word, bound in (("least", least), ("most", most)) if bound is not None)
    target = f"  target: {wanted}: {'met' if good else 'MISSED'}" if wanted else ""
    print(f"figure {what}: {value:.6g} {unit}{target}", flush=True)


def right(what, good, text=""):
    """Says whether something is as it should be."""
    if not good:
        missed.append(what)
    print(f"{'right' if good else 'WRONG'}: {what}{': ' if text else ''}{text}", flush=True)


def in_parallel(function, jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda job: function(*job), jobs))


def open_cuda():
    import cuda
    return cuda.Cuda()


# ---- corpus ------------------------------------------------------------------------------------------


@step(60)
def assembles():
    """Every kernel in every mode, for both, where the original does."""

    def one(name, arch, mode):
        text = probes.text_of(name, arch)
        try:
            probes.assemble(text, arch)
        except RuntimeError:
            return None  # wgmma on sm_80, say
        try:
            options = ("--mode", mode, "--kernel", "*", "--file", "all", "--threads", "0-1023/32")
            probes.assemble(probes.instrument(text, *options).text, arch)
        except RuntimeError as error:
            print(f"{name} {arch} {mode}: {error}")
            return False
        return True

    names = sorted(path.stem for path in corpus.CORPUS.glob("*.ptx"))
    done = in_parallel(one, [(name, arch, mode) for name in names for arch in ("sm_80", "sm_90a")
                             for mode in probes.MODES])
    figure("texts with probes that assemble", done.count(True), f"of {len(done) - done.count(None)}",
           least=len(done) - done.count(None))
    print(f"originals that are not for that architecture: {done.count(None) // len(probes.MODES)}")


def traced_outputs(cuda, launch, traced, more=()):
    for address, size in launch.outputs:
        cuda.clear(address, size)
    traced.kernel.launch(launch.grid, launch.block, launch.arguments + list(more), launch.shared)
    cuda.sync()
    return [cuda.read(address, size) for address, size in launch.outputs]


def sound(what, made, raw):
    """Records that can be: known probes, time that goes on; and the command reads the same. How many there are."""
    ids = {probe["id"] for probe in made.map["probes"]}
    lanes = probes.lanes(raw, made.map)
    rows = probes.decoded_rows(made, raw)
    for i, lane in enumerate(lanes):
        flat = np.stack([lane.starts, lane.ends], axis=1).ravel()
        good = set(lane.start_ids.tolist()) | set(lane.end_ids.tolist()) <= ids and (np.diff(flat) >= 0).all()
        if not good:
            right(f"{what}: lane {i}", False, f"{lane.pairs()[:20]} {flat[:20].tolist()}")
            break
        if len(rows):
            mine = np.stack([lane.start_ids, lane.end_ids, lane.starts, lane.ends], axis=1)
            theirs = rows[:, 4 * i:4 * i + 4]
            theirs = theirs[theirs[:, 3] != 0]
            if mine.shape != theirs.shape or (mine[:, :2] != theirs[:, :2]).any():
                right(f"{what}: what the command reads of lane {i}", False, f"{theirs[:5].tolist()}")
                break
    return sum(len(lane.starts) for lane in lanes)


def one_kernel(entry):
    cuda = open_cuda()
    text = probes.text_of(entry.file)
    original = probes.assemble(text)
    jobs = [(mode, bind) for mode in probes.MODES for bind in (("variable", "append") if mode == "block"
                                                               else ("variable", ))]

    def make(mode, bind):
        lanes = "0-31" if mode == "warp" else "0-1023/32"
        made = probes.instrument(text, "--mode", mode, "--kernel", entry.kernel, "--file", "all", "--threads", lanes,
                                 "--capacity", 512, "--bind", bind)
        return made, probes.assemble(made.text)

    launch = entry.prepare(cuda)
    plain = cuda.module(original.cubin).kernel(entry.kernel)
    plain.launch(launch.grid, launch.block, launch.arguments, launch.shared)
    cuda.sync()
    wanted = [cuda.read(address, size) for address, size in launch.outputs]
    right(f"{entry.kernel}: the original writes something", all(map(any, wanted)))
    equal, told = 0, []
    for (mode, bind), (made, assembled) in zip(jobs, in_parallel(make, jobs)):
        what = f"{entry.kernel} {mode}{' appended' if bind == 'append' else ''}"
        if made.map is None:
            equal += 1
            continue
        traced = probes.Traced(cuda, made, assembled, entry.kernel)
        more = [("u64", traced.buffer)] if bind == "append" else []
        if not more:
            off = traced_outputs(cuda, launch, traced)
            right(f"{what}, no buffer: nothing is written", not any(traced.raw()) and (launch.times or off == wanted))
            traced.on()
        found = traced_outputs(cuda, launch, traced, more)
        same = found == wanted or launch.times and all(map(any, found))
        equal += same
        if not same:
            right(f"{what}: results", False)
        raw = traced.raw()
        if mode == "config":
            numbers = np.frombuffer(raw, "<u8").tolist()
            right(f"{what}: the launch's shape", numbers == [*launch.block, *launch.grid, launch.threads()], f"{numbers}")
        else:
            count = sound(what, made, raw)
            told.append(f"{mode} {count}")
            right(f"{what}: records", count > 0 or entry.kernel == "empty")
        traced.free()
    figure(f"{entry.kernel}: results bit by bit those of the original", equal, f"of {len(jobs)}", least=len(jobs))
    print(f"{entry.kernel}: records: {', '.join(told)}")


def kernel_step(entry):

    def run():
        one_kernel(entry)

    run.__doc__ = "Its results are the original's, in every mode."
    STEPS[f"same_{entry.kernel}"] = (run, 80)


for one in corpus.ENTRIES:
    kernel_step(one)


@step(30)
def records():
    """13 and 6 records of the fixture, in either kind of cells."""
    cuda = open_cuda()
    thirteen = [(0, 0), (1, 1), (2, 2), (3, 3), (4, 5), (6, 6), (7, 5), (6, 6), (7, 7), (8, 8), (9, 9), (10, 10), (11, 11)]
    six = [(0, 0), (1, 1), (2, 2), (3, 9), (10, 10), (11, 11)]
    text = probes.text_of("fixture_a")
    for cells in ("compat", "wide"):
        for capacity in (32, 2):
            made = probes.instrument(text, "--threads", "0-127", "--capacity", capacity, "--cells", cells)
            traced = probes.Traced(cuda, made, probes.assemble(made.text), "k")
            for count, wanted in ((2, thirteen), (0, six)):
                traced.on()
                traced.run(corpus.fixture(count)(cuda))
                lanes = probes.lanes(traced.raw(), made.map)
                right(f"{cells}, {capacity} cells, {count} rounds: the {len(wanted)} records of all lanes",
                      all(lane.pairs() == wanted[:capacity] for lane in lanes), f"{lanes[0].pairs()}")
                dropped = traced.dropped() if cells == "compat" else sum(lane.dropped for lane in lanes)
                if cells == "compat":
                    traced.module.set_variable("rbwp_ptx_dropped", 0)
                right(f"{cells}, {capacity} cells, {count} rounds: what found no room",
                      dropped == 128 * max(0, len(wanted) - capacity), f"{dropped}")


# ---- costs -------------------------------------------------------------------------------------------


@step(60)
def costs():
    """What probes cost, one warp of each block recording; and what they spill."""
    cuda = open_cuda()
    variants = [("block", "warp"), ("block", "thread"), ("single", "warp"), ("entire", "warp"), ("cfg", "warp"),
                ("mma", "warp"), ("warp", "warp")]
    for entry in (one for one in corpus.ENTRIES if one.long):
        text, launch = probes.text_of(entry.file), entry.prepare(cuda)
        original = probes.assemble(text)
        plain = cuda.module(original.cubin).kernel(entry.kernel)
        plain_us = cuda.time_us(lambda: plain.launch(launch.grid, launch.block, launch.arguments, launch.shared))
        plain_us = cuda.time_us(lambda: plain.launch(launch.grid, launch.block, launch.arguments, launch.shared))
        print(f"{entry.kernel}: {plain_us:.1f} us, {original.registers} registers, {original.spill_bytes} bytes spilled")
        blocks = int(np.prod(launch.grid))
        of_block = {"thread": launch.threads_of_block(), "warp": launch.threads_of_block() // 32}

        def make(mode, lane):
            lanes = f"0-{blocks * of_block[lane] - 1}/{of_block[lane]}"
            made = probes.instrument(text, "--mode", mode, "--per", lane, "--file", "all", "--threads", lanes,
                                     "--capacity", 1024)
            return made, probes.assemble(made.text)

        for (mode, lane), (made, assembled) in zip(variants, in_parallel(make, variants)):
            if made.map is None:
                continue
            traced = probes.Traced(cuda, made, assembled, entry.kernel)
            again = lambda: traced.kernel.launch(launch.grid, launch.block, launch.arguments, launch.shared)  # noqa: E731
            off_us = cuda.time_us(again)
            traced.on()
            on_us = cuda.time_us(again)
            lanes = probes.lanes(traced.raw(), made.map)
            found = sum(len(one.starts) for one in lanes)
            traced.free()
            print(f"cost {entry.kernel} {mode} {lane}: on {on_us / plain_us:.3f}x, off {off_us / plain_us:.3f}x, "
                  f"{found} records of {len(lanes)} lanes, {assembled.registers} registers, "
                  f"{assembled.spill_bytes} bytes spilled")
            if (entry.kernel, mode, lane) == ("matmul_kernel", "block", "warp"):
                figure("matmul, block mode, a warp of each block records: run time", on_us / plain_us, "x", most=1.5)
            if mode == "warp":
                figure(f"{entry.kernel}, warp mode: bytes spilled", assembled.spill_bytes, "",
                       most=1.1 * original.spill_bytes)


def between(lanes):
    """Cycles from each END to the next START of its lane. Nothing but the probe is there (gaps_of_code), so that is what
    a probe costs outside of records."""
    return np.concatenate([lane.starts[1:] - lane.ends[:-1] for lane in lanes])


def tiled(lane, outside):
    """How far the blocks of a lane, summed up, are from all the time between its first START and its last END, each
    less what probes take: inside of each record what an empty pair was measured to take, and between two records what
    that took in the mean of other launches. In percent."""
    records = len(lane.starts)
    left = lane.whole() - records * lane.pair_cycles - (records - 1) * outside
    return 100 * ((lane.ends - lane.starts - lane.pair_cycles).sum() / left - 1)


@step(60)
def sums():
    """What blocks take, summed up, beside the whole by the same clock, in one thread, less what probes take: inside of
    records by the lanes' empty pair, between them by the launches before those that are judged. And beside the whole of
    a run that has one pair around all of it, which does not wait for what goes on behind probes."""
    cuda = open_cuda()
    for entry in (one for one in corpus.ENTRIES if one.long):
        text, launch = probes.text_of(entry.file), entry.prepare(cuda)
        lanes = f"0-{8 * launch.threads_of_block() - 1}/{launch.threads_of_block()}"
        modes = ("entire", "block", "cfg", "warp")

        def make(mode):
            made = probes.instrument(text, "--mode", mode, "--per", "thread", "--cells", "compat" if mode == "block"
                                     else "wide", "--file", "all", "--threads", lanes, "--capacity", 2048)
            return made, probes.assemble(made.text)

        whole = 0
        for mode, (made, assembled) in zip(modes, in_parallel(make, [(mode, ) for mode in modes])):
            traced = probes.Traced(cuda, made, assembled, entry.kernel)
            found = []
            for _ in range(2 + CALIBRATING + 5):  # of which two warm the caches
                traced.on()
                traced.run(launch)
                found.append([lane for lane in probes.lanes(traced.raw(), made.map) if len(lane.starts)])
            traced.free()
            calibrating = sum(found[2:2 + CALIBRATING], [])
            judged = sum(found[2 + CALIBRATING:], [])
            cycles = float(np.median([lane.cycles().sum() for lane in judged]))
            print(f"sums {entry.kernel} {mode}: {cycles:.0f} cycles in {len(judged[0].starts)} records of a lane, "
                  f"{np.median([lane.whole() for lane in judged]):.0f} from the first START to the last END, empty pair "
                  f"{judged[0].pair_cycles}, dropped {sum(lane.dropped for lane in judged)}")
            if mode == "entire":
                whole = cycles
                continue
            gaps = between(calibrating)
            code = probes.gaps_of_code(assembled.cubin, entry.kernel)
            print(f"sums {entry.kernel} {mode}: END to START: mean {gaps.mean():.1f}, p1 p50 p90 p99 "
                  f"{np.percentile(gaps, (1, 50, 90, 99)).astype(int).tolist()}; in code: {code[0]} gaps, {code[1]} to {code[2]} "
                  f"instructions, {code[3]} gaps with a load, a barrier or tensor work")
            if mode == "block":
                figure(f"{entry.kernel}, mode block: gaps of code with more than probes", code[3], "", most=0)
            figure(f"{entry.kernel}: blocks of mode {mode} against the whole of the thread",
                   float(np.median([tiled(lane, gaps.mean()) for lane in judged])), "%", 5, -5)
            figure(f"{entry.kernel}: the same, the worst of {len(judged)} lanes",
                   max((tiled(lane, gaps.mean()) for lane in judged), key=abs), "%")
            figure(f"{entry.kernel}: blocks of mode {mode} against another run's whole", 100 * (cycles / whole - 1), "%")


@step(20)
def long_text():
    """30 000 lines are instrumented in under 100 ms."""
    body = "".join(f"\t.loc\t1 {line} 0\n\tadd.s32 %r1, %r1, {line};\n\tmul.lo.s32 %r2, %r1, 3;\n"
                   for line in range(1, 10_001))
    text = (".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry long()\n{\n\t.reg .b32 %r<4>;\n" + body +
            "\tret;\n}\n")
    reduce = text_between(probes.text_of("nvcc_k"), ".visible .entry reduce(", ".visible .entry transpose(")
    head = ".version 9.0\n.target sm_90\n.address_size 64\n"
    count = 30_000 // reduce.count("\n") + 1
    many = head + "".join(reduce.replace("reduce", f"reduce{i}") for i in range(count))
    for name, given in (("one kernel", text), (f"{count} kernels", many)):
        path = probes.new_path(".ptx")
        path.write_text(given)
        for mode in ("block", "warp"):
            command = [probes.RBWP, "ptx", "instrument", "-f", "-o", "/dev/null", "--mode", mode, "--kernel", "*",
                       "--file", "all", str(path)]
            times = []
            for _ in range(5):
                begin = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                times.append(time.perf_counter() - begin)
            figure(f"{given.count(chr(10))} lines, {name}, mode {mode}", 1000 * min(times), "ms", most=100)


def text_between(text, begin, end):
    return text[text.index(begin):text.index(end)]


# ---- times that are known ----------------------------------------------------------------------------


def stated_ns():
    """Of sleep.cu: what each line sleeps."""
    lines = (HERE / "sleep.cu").read_text().splitlines()
    return {number: int(found[1]) for number, line in enumerate(lines, 1) if (found := re.match(r"\s+SLEEP\((\d+)\)", line))}


def sleep_ptx():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    path = probes.new_path(".ptx")
    subprocess.run([nvcc, "-arch=sm_90a", "-lineinfo", "-ptx", "-o", path, HERE / "sleep.cu"], check=True)
    return path


@step(30)
def sleeps():
    """Branches that sleep for stated times, by the cells' own clock and timer."""
    cuda = open_cuda()
    text = sleep_ptx().read_text()
    for mode in ("warp", "block"):
        made = probes.instrument(text, "--mode", mode, "--per", "warp", "--cells", "wide", "--file", "all",
                                 "--threads", "0-2", "--capacity", 4096)
        traced = probes.Traced(cuda, made, probes.assemble(made.text), "branches")
        out = cuda.zeros(8 * 96)
        for _ in range(2):
            traced.on()
            traced.kernel.launch((1, 1, 1), (96, 1, 1), [("u64", out)])
            cuda.sync()
        own = np.frombuffer(cuda.read(out, 8 * 96), "<i8")[::32].tolist()
        line_of = {probe["id"]: probe["loc"] for probe in made.map["probes"]}
        for lane, (line, stated), spent in zip(probes.lanes(traced.raw(), made.map), stated_ns().items(), own):
            timer, clock = lane.head
            rate = (int(lane.ends[-1]) - (clock & (1 << 44) - 1)) / (int(lane.timer_ns[-1]) - timer)
            of_line = [line_of[one] == line for one in lane.start_ids.tolist()]
            told = lane.cycles()[of_line].sum() / rate
            print(f"sleeps, mode {mode}, line {line}: the kernel's own timer {spent} ns, {sum(of_line)} records, "
                  f"{rate:.4f} cycles a ns, dropped {lane.dropped}")
            figure(f"a branch of {stated} ns, mode {mode}: off by", 100 * (told / stated - 1), "%", 5, -5)


def launch_sleep():
    """What `rbwp record --ptx` is given: the assembler that the environment names, a launch, nothing of probes."""
    cubin = probes.new_path(".cubin")
    assembler = os.environ.get("TRITON_PTXAS_PATH", probes.PTXAS)
    subprocess.run([assembler, "-lineinfo", "-v", "--gpu-name=sm_90a", os.environ["SLEEP_PTX"], "-o", cubin], check=True)
    cuda = open_cuda()
    kernel = cuda.module(cubin.read_bytes()).kernel("branches")
    out = cuda.zeros(8 * 96)
    for _ in range(2):
        kernel.launch((1, 1, 1), (96, 1, 1), [("u64", out)])
        cuda.sync()
    print("own timer:", np.frombuffer(cuda.read(out, 8 * 96), "<i8")[::32].tolist())


# ---- rbwp record --ptx -------------------------------------------------------------------------------


def run(command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    shown = (done.stdout + done.stderr).strip()
    print(f"$ {' '.join(str(word) for word in command)[-200:]}\n{shown[-4000:]}", flush=True)
    return done.returncode


def record(profile, report, options, command, **environment):
    status = run([probes.RBWP, "record", "--ptx", *options, "-o", profile, "--report", report, "--", *command],
                 **environment)
    right(f"{profile.name}: the command's exit status", status == 0, f"{status}")
    if not profile.exists():
        right(f"{profile.name} was written", False)
        return []
    right(f"{profile.name}: rbwp check", run([probes.RBWP, "check", profile]) == 0)
    rows = rows_of(profile)
    figure(f"{profile.name}: rows of kernel_block", len(rows), "", least=1)
    if rows:
        print(f"first row: {rows[0]}")
    return rows


def rows_of(profile):
    done = subprocess.run([probes.RBWP, "tables", "--table", "kernel_block", "--as", "ndjson", profile],
                          capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


@step(40)
def record_sleeps():
    """The same through the collector: rows of the profile, in nanoseconds."""
    profile, report = OUT / "sleeps.bin", OUT / "sleeps.html"
    rows = record(profile, report, ["--mode", "warp"], [sys.executable, HERE / "h200_ptx.py", "--launch-sleep"],
                  SLEEP_PTX=str(sleep_ptx()))
    launches = sorted({row["launch"] for row in rows})
    for line, stated in stated_ns().items() if rows else ():
        of_line = [row for row in rows if int(row["line"]) == line and row["launch"] == launches[-1]]
        told = sum(int(row["stop"]) - int(row["start"]) for row in of_line)
        less = sum(int(row.get("cycles", 0)) for row in of_line)
        print(f"line {line}: {len(of_line)} rows, {told} ns, {less} cycles")
        figure(f"recorded branch of {stated} ns: off by", 100 * (told / stated - 1), "%", 5, -5)


KERNELS = ("add_kernel", "softmax_kernel", "matmul_kernel", "layernorm_kernel", "branches_kernel", "gelu_kernel")


def lines_of_kernels():
    """{line: kernel} of triton_script.py."""
    lines, name = {}, None
    for number, line in enumerate((HERE / "triton_script.py").read_text().splitlines(), 1):
        found = re.match(r"def (\w+)", line)
        name = found[1] if found else name
        if name in KERNELS:
            lines[number] = name
    return lines


def cubins(folder):
    """{path: bytes} of a cache of Triton's."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(pathlib.Path(folder).rglob("*.cubin"))}


def with_probes(found):
    return sum(b"rbwp_ptx_buffer" in data for data in found.values())


def same_results(what, one, other):
    with np.load(one) as a, np.load(other) as b:
        for name in a.files:
            right(f"{what}: {name} bit by bit", a[name].tobytes() == b[name].tobytes())


@step(150)
def record_triton():
    """An unchanged script of Triton: the same results, lines named by its source, caches apart both ways."""
    cache = probes.FOLDER / "cache"
    script = HERE / "triton_script.py"
    files = [probes.FOLDER / f"{name}.npz" for name in ("plain", "recorded", "second")]
    seconds = []

    def plain(path):
        begin = time.perf_counter()
        status = run([sys.executable, script, path], TRITON_CACHE_DIR=str(cache))
        seconds.append(time.perf_counter() - begin)
        right(f"{path.name}: exit status", status == 0)

    plain(files[0])
    before = cubins(cache)
    right("the plain cache has no probes", before and not with_probes(before), f"{len(before)} cubins")
    begin = time.perf_counter()
    rows = record(OUT / "triton.bin", OUT / "triton.html", ["--mode", "warp"], [sys.executable, script, files[1]],
                  TRITON_CACHE_DIR=str(cache))
    recorded_s = time.perf_counter() - begin
    right("the plain cache is as it was", cubins(cache) == before)
    print(f"seconds: plain {seconds[0]:.1f}, recorded {recorded_s:.1f}")
    same_results("recorded", files[0], files[1])
    lines, strange = lines_of_kernels(), set()
    for kernel in KERNELS:
        of_kernel = [row for row in rows if kernel in str(row["kernel"])]
        named = {int(row["line"]) for row in of_kernel if str(row["file"]).endswith(script.name)}
        right(f"{kernel}: its lines have times", bool(named), f"{len(of_kernel)} rows, lines {sorted(named)}")
        strange |= {(kernel, line) for line in named if line and lines.get(line) != kernel}
    right("lines are their kernel's", not strange, f"{sorted(strange)[:10]}")
    named_in_report(OUT / "triton.html", [*KERNELS, f"{script.name}:"])
    passes = OUT / "second.bin"
    run([probes.RBWP, "record", "--ptx", "--passes", "2", "--capacity", "2048", "-o", passes, "--", sys.executable, script,
         files[2]])
    same_results("second pass", files[0], files[2])
    first, second = (len({(row["kernel"], row["first"], row["last"]) for row in rows_of(path)})
                     for path in (OUT / "triton.bin", passes))
    right("a second pass has fewer pairs", 0 < second < first, f"{second}, not {first}")


def named_in_report(path, words):
    """What the page shows, as its own code reads it."""
    from report_page import Page
    if not path.exists():
        right(f"{path.name} was written", False)
        return
    data = Page(path).data
    text = json.dumps(data)
    missing = [word for word in words if word not in text]
    right(f"{path.name} names kernels and lines", not missing, f"{path.stat().st_size} bytes, "
          f"{len(data.get('kernel_lines') or [])} kernels with lines; not in it: {missing}")


@step(60)
def context():
    """The context of the Python package, in one process with launches before and after it."""
    sys.path.insert(0, str(HERE))
    import torch
    import triton_script

    import rbwp.ptx

    def outputs():
        torch.manual_seed(5)
        return [make().cpu().numpy().tobytes() for make in (triton_script.add, triton_script.branches)]

    before = outputs()
    with rbwp.ptx.instrument(mode="warp", target_file="triton_script.py", t_start=0, t_end=31) as inst:
        inside = outputs()
        torch.cuda.synchronize()
        asked = [len(inst.launches()), len(inst.results()), len(inst.pairs())]
        right("context: results inside", all(asked) and [len(inst.launches()), len(inst.results()), len(inst.pairs())] == asked,
              f"{asked}")
    right("context: the same results behind it", [len(inst.launches()), len(inst.results()), len(inst.pairs())] == asked)
    saved = inst.save(OUT / "context")
    right("context: files", bool(saved) and all({"raw.npy", "raw.csv", "original.ptx", "instrumented.ptx"} <= {
        path.name for path in pathlib.Path(folder).iterdir()} for folder in saved), f"{saved}")
    after = outputs()
    right("context: the same results before, in and after", before == inside == after)
    launches = inst.launches()
    right("context: launches", sorted({launch.kernel for launch in launches}) == ["add_kernel", "branches_kernel"],
          f"{[(launch.kernel, launch.dropped) for launch in launches]}")
    pairs = inst.pairs()
    own = lines_of_kernels()
    right("context: lines", bool(pairs) and all(own.get(pair.line) == pair.kernel for pair in pairs if pair.line > 0),
          f"{sorted({(pair.kernel, pair.line) for pair in pairs})[:40]}")
    inst.summary()
    inst.export_chrome_trace(OUT / "context.json")
    with open(OUT / "context.json", encoding="utf-8") as file:
        figure("context: events of the trace", len(json.load(file)["traceEvents"]), "", least=1)
    with rbwp.ptx.instrument(mode="block", target_file="triton_script.py", t_start=0, t_end=0) as other:
        outputs()
    right("context: another mode in the same process", bool(other.results()) and
          all(launch.map["mode"] == "block" for launch in other.launches()), f"{len(other.results())} results")


@step(40)
def captured():
    """Launches in a graph are not recorded, and run as ever."""
    import torch
    import triton_script

    import rbwp.ptx

    n = 1 << 16
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    outs = [torch.zeros_like(x) for _ in range(2)]
    with rbwp.ptx.instrument(mode="warp", t_start=0, t_end=3) as inst:
        launch = lambda out: triton_script.add_kernel[(n // 1024, )](x, y, out, n, BLOCK=1024)  # noqa: E731
        launch(outs[0])
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch(outs[1])
        graph.replay()
        torch.cuda.synchronize()
    right("captured: the same result", torch.equal(outs[0], outs[1]) and bool(outs[1].any()))
    right("captured: one launch is recorded", len(inst.launches()) == 1, f"{inst.skipped()}")
    right("captured: it is told", any(told["skipped"] == "capture" for told in inst.skipped()))


@step(40)
def parameter():
    """A buffer that the kernel has as its last argument, in cells of compatible tools."""
    import param_kernel
    import torch

    import rbwp.ptx

    n = 1 << 16
    x, out = torch.randn(n, device="cuda"), torch.zeros(n, device="cuda")
    with rbwp.ptx.instrument(mode="block", t_start=0, t_end=127, n_probes_estimate=64, bind="param") as inst:
        buffer = inst.allocate_buffer()
        param_kernel.scale_kernel[(n // 1024, )](x, out, n, buffer, BLOCK=1024)
    right("parameter: the result", torch.equal(out, 2 * x))
    slots = inst.results()
    lines = {slot.line for slot in slots}
    right("parameter: slots of all 128 threads", bool(slots) and all((slot.duration > 0).all() for slot in slots),
          f"{len(slots)} slots, lines {sorted(lines)}")
    inst.summary()


# ---- running -----------------------------------------------------------------------------------------


def run_one(name):
    function, _ = STEPS[name]
    try:
        function()
    except Exception:  # the other steps are worth their time on the device
        traceback.print_exc()
        return 1
    if missed:
        print(f"missed: {'; '.join(missed)}")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", help="this step, in this process")
    parser.add_argument("--launch-sleep", action="store_true")
    parser.add_argument("steps", nargs="*")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{name}: {function.__doc__.splitlines()[0]}" for name, (function, _) in STEPS.items()))
        return 0
    if given.launch_sleep:
        launch_sleep()
        return 0
    if given.one:
        return run_one(given.one)
    names = [name for name in STEPS if not given.steps or any(word in name for word in given.steps)]
    together = [name for name in names if name.startswith("same_") or name == "assembles"]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:  # nothing in these is timed
        statuses = dict(zip(together, pool.map(lambda name: run_process(name, True), together)))
    for name in names:
        if name not in statuses:
            statuses[name] = run_process(name, False)
    table = [f"{name:28} {seconds:5.1f} s  {'passed' if status == 0 else f'FAILED ({status})'}"
             for name, (status, seconds) in statuses.items()]
    print("\n".join(["== steps", *table]))
    return 1 if any(status != 0 for status, _ in statuses.values()) else 0


def run_process(name, at_once):
    """A step in a process of its own, its output when it is over or as it comes: (exit status or why there is none,
    seconds)."""
    begin = time.monotonic()
    if not at_once:
        print(f"== {name}", flush=True)
    process = subprocess.Popen([sys.executable, "-u", __file__, "--one", name], text=True, errors="replace",
                               stdout=subprocess.PIPE if at_once else None, stderr=subprocess.STDOUT if at_once else None)
    try:
        said, status = process.communicate(timeout=STEPS[name][1])[0], process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        said, status = process.communicate()[0], "not done in time"
    if at_once:
        print(f"== {name}\n{said}", end="", flush=True)
    return status, time.monotonic() - begin


if __name__ == "__main__":
    sys.exit(main())
