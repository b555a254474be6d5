#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""h200_record.py [--list] [STEP...] - rbwp record on a GPU: is every kernel in the file, once, inside the process's time and
behind its call; are annotations the union of the kernels; what it costs beside the plain program and PyTorch's profiler, how many
bytes a kernel takes. Figures are printed with their targets; the exit status is 1 if a step failed or a target was missed.
h200_record.sh builds all and runs it. RBWP_COMMAND: the command; OUT: where profiles are left."""
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import annotations  # noqa: E402

RBWP, OUT = os.environ.get("RBWP_COMMAND", "rbwp"), pathlib.Path(os.environ.get("OUT", "."))
PROGRAMS = [sys.executable, str(HERE / "h200_programs.py")]
STEPS, missed = {}, []
SMALL = 20000


def step(function):
    STEPS[function.__name__] = function
    return function


def figure(what, value, unit="", most=None, least=None):
    good = (most is None or value <= most) and (least is None or value >= least)
    if not good:
        missed.append(what)
    wanted = " and ".join(f"at {word} {bound:g}" for word, bound in (("least", least), ("most", most)) if bound is not None)
    print(f"figure {what}: {value:.6g} {unit}{f'  target: {wanted}: ' + ('met' if good else 'MISSED') if wanted else ''}", flush=True)


def right(what, good, text=""):
    if not good:
        missed.append(what)
    print(f"{'right' if good else 'WRONG'}: {what}{': ' if text else ''}{text}", flush=True)


def run(words, code=0, **environment):
    """(facts that the program printed, lines of standard error)"""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=240, env={**os.environ, **environment})
    if done.returncode != code:
        raise RuntimeError(f"{words}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.stderr.splitlines()


def record(name, words, what="gpu,ranges", options=(), code=0, **environment):
    """(file, facts, summary)"""
    path = OUT / f"{name}.bin"
    facts, told = run([RBWP, "record", "--what", what, "-f", "-o", path, *options, "--", *words], code, **environment)
    print("\n".join(f"    {line}" for line in told[:14]), flush=True)
    return path, facts, told


def info_of(path):
    return json.loads(subprocess.run([RBWP, "info", "--json", path], capture_output=True, check=True).stdout)


def lost_in(path):
    return info_of(path)["lost_records"]


def sound(name, path, own=None, events=False):
    """Every row is possible; own: how many kernels there must be; events: they were timed by these. The kernels' rows."""
    subprocess.run([RBWP, "check", path], check=True, stdout=subprocess.DEVNULL)
    found = annotations.tables(path)
    kernels = [row for row in found["gpu_activity"] if row["kind"] == 0]
    if own is not None:
        right(f"{name}: every kernel", len(kernels) == own, f"{len(kernels)} of {own}")
    right(f"{name}: behind their calls", all(row["begin"] <= row["start"] + row["start_bound"] for row in kernels))
    early = sum(row["start"] < row["begin"] if events else row["start_bound"] > 0 for row in kernels)
    figure(f"{name}: kernels that seem to begin before their call", early, "", most=0)
    unknown = sum(row["thread"] == 0 for row in kernels)
    figure(f"{name}: kernels whose call is not known", unknown, "", most=0)
    info = info_of(path)
    session = info.get("session") or {}
    if "start" in session and "stop" in session:
        right(f"{name}: inside the session", all(session["start"] <= row["begin"] and row["stop"] <= session["stop"] for row in kernels))
    right(f"{name}: nothing lost", info["lost_records"] == 0, str(info["lost_records"]))
    return found, kernels


def union(name, path):
    try:
        right(f"{name}: annotations are the kernels' union", True, f"{annotations.check(RBWP, path)} of them")
    except AssertionError as error:
        right(f"{name}: annotations are the kernels' union", False, str(error)[:300])


@step
def first():
    """One short run, so that what is wrong with the machine shows at once; and which numbers calls go by."""
    path, facts, _ = record("first", [*PROGRAMS, "small", 300], "gpu")
    _, kernels = sound("first", path, facts[0]["kernels"])
    names = collections.Counter(row["name"] for row in kernels)
    print("    ", names.most_common(3))


@step
def cost():
    """Plain, kernels only, with ranges, all sources, PyTorch's profiler: in turns, medians."""
    ways = {"plain": lambda: run([*PROGRAMS, "small", SMALL])[0][0],
            "gpu": lambda: record("cost-gpu", [*PROGRAMS, "small", SMALL], "gpu")[1][0],
            "gpu,ranges": lambda: record("cost-ranges", [*PROGRAMS, "small", SMALL])[1][0],
            "all": lambda: record("cost-all", [*PROGRAMS, "small", SMALL], "gpu,ranges,threads")[1][0],
            "torch.profiler": lambda: run([*PROGRAMS, "profiled", SMALL])[0][0]}
    took = {way: [] for way in ways}
    for turn in range(5):  # each runs its loop five times and tells the median
        for way, go in ways.items():
            if turn < 2 or way in ("plain", "gpu", "gpu,ranges"):
                took[way].append(go())
    seconds = {way: statistics.median(one["seconds"] for one in each) for way, each in took.items()}
    for way, value in seconds.items():
        figure(f"cost: {way}", value / SMALL * 1e6, "us a kernel")
        print("    turns:", *(f"{one['seconds'] / SMALL * 1e6:.2f}" for one in took[way]))
    figure("cost: kernels only, times plain", seconds["gpu"] / seconds["plain"], "", most=1.25)
    figure("cost: with ranges, times plain", seconds["gpu,ranges"] / seconds["plain"], "", most=1.35)
    figure("cost: with threads, times plain", seconds["all"] / seconds["plain"])
    figure("cost: times PyTorch's profiler", seconds["gpu,ranges"] / seconds["torch.profiler"], "", most=1)
    size = (OUT / "cost-gpu.bin").stat().st_size
    theirs = took["torch.profiler"][-1]
    kernels_own = took["gpu"][-1]["kernels"]
    figure("cost: bytes a kernel", size / kernels_own, "", most=12)
    figure("cost: size, times PyTorch's trace", size / theirs["bytes"], "", most=1)
    _, kernels = sound("cost", OUT / "cost-gpu.bin", kernels_own)
    mean_us = statistics.mean(row["stop"] - row["start"] for row in kernels[200:]) / 1000
    right("cost: PyTorch's profiler counts the same", theirs["kernels"] == theirs["expected"], f"{theirs['kernels']} of {theirs['expected']}")
    figure("cost: mean kernel, times PyTorch's", mean_us / theirs["mean_us"], "", most=1.05, least=0.95)


@step
def ranges():
    path, facts, _ = record("ranges", [*PROGRAMS, "ranged", SMALL])
    found, kernels = sound("ranges", path)
    tens = [row for row in found["range"] if row["name"] == "ten"]
    right("ranges: all of them", len(tens) == facts[0]["ranges"], f"{len(tens)} of {facts[0]['ranges']}")
    inside = collections.Counter(row["range"] for row in kernels if row["range"])
    right("ranges: ten kernels in each", len(inside) == len(tens) and set(inside.values()) == {10}, str(collections.Counter(inside.values())))
    union("ranges", path)


@step
def training():
    path, _, told = record("train", [*PROGRAMS, "train", 20], options=["--report", OUT / "train.html"])
    found, kernels = sound("training", path)
    names = collections.Counter(row["name"] for row in found["range"])
    for name in ("forward", "backward", "optimiser"):
        right(f"training: ranges {name}", names[name] == 20, str(names[name]))
    right("training: operators' numbers are no part of names", not any("op_id" in name for name in names), str(list(names)[:5]))
    right("training: a summary", any("top kernels" in line for line in told))
    union("training", path)
    subprocess.run([RBWP, "export", "-f", "--to", "kineto", "-o", OUT / "train.pt.trace.json", path], check=True)
    one = OUT / "train.one.bin"
    run([RBWP, "record", "--what", "gpu,ranges", "--capture-range", "ProfilerStep#7", "-f", "-o", one, "--", *PROGRAMS, "train", 20])
    steps = {row["name"] for row in annotations.tables(one)["range"] if row["name"].startswith("ProfilerStep")}
    right("training: a window of one step", steps == {"ProfilerStep#7"}, str(steps))


@step
def graphs():
    path, facts, _ = record("graphs", [*PROGRAMS, "graphs", 200])
    _, kernels = sound("graphs", path)
    nodes = [row for row in kernels if row["graph_node"]]
    right("graphs: every node of every replay", len(nodes) == facts[0]["replays"] * facts[0]["nodes"], str(len(nodes)))
    each = collections.Counter(row["correlation"] for row in nodes)
    right("graphs: a launch's nodes have its call", set(each.values()) == {facts[0]["nodes"]} and all(row["range"] for row in nodes),
          str(collections.Counter(each.values())))
    union("graphs", path)


@step
def triton():
    path, facts, _ = record("triton", [*PROGRAMS, "triton", 500])
    _, kernels = sound("triton", path)
    right("triton: results", facts[0]["right"])
    own = sum(row["name"] == "double" for row in kernels)
    right("triton: every kernel", own == 500, str(own))


@step
def jax():
    try:
        subprocess.run([sys.executable, "-c", "import jax; assert jax.devices('gpu')"], check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError):
        print("not here: JAX with a GPU")
        return
    path, _, _ = record("jax", [*PROGRAMS, "jax", 300])
    _, kernels = sound("jax", path)
    right("jax: kernels", len(kernels) >= 300, str(len(kernels)))


@step
def streams():
    nvcc = shutil.which("nvcc")
    program = OUT / "streams"
    include = next((path for path in ("/usr/local/cuda/include", "/usr/local/cuda-13.0/include") if os.path.exists(f"{path}/nvtx3")), None)
    if not nvcc or not include:
        print("not here: nvcc, or NVTX's headers")
        return
    subprocess.run([nvcc, "-O2", "-arch=native", "-o", program, HERE / "streams.cu", "-ldl"], check=True)
    path, facts, _ = record("streams", [program, 2000], "gpu,ranges,threads")
    found, kernels = sound("streams", path, 4000)
    right("streams: one of each thread", len({row["stream"] for row in kernels}) == 2 and len({row["thread"] for row in kernels}) == 2)
    shortest, longest = min(one["shortest_ns"] for one in facts), max(one["longest_ns"] for one in facts)
    took = [row["stop"] - row["start"] for row in kernels]
    figure("streams: shortest kernel less its own time", min(took) - shortest, "ns", least=-100)
    figure("streams: median kernel", statistics.median(took), "ns", least=shortest, most=longest + 5000)
    right("streams: copies and sets", collections.Counter(row["kind"] for row in found["gpu_activity"])[1] == 2)
    right("streams: what threads did", len(found["wait"]) > 0)
    union("streams", path)


@step
def processes():
    for old in OUT.glob("several*.bin"):
        old.unlink()
    facts, _ = run([RBWP, "record", "--what", "gpu,ranges", "-f", "-o", OUT / "several-%p.bin", "--", *PROGRAMS, "children", 2000])
    files = sorted(OUT.glob("several-*.bin"))
    right("processes: a file each", len(files) == 2, str(files))
    kernels = sum(sum(row["kind"] == 0 for row in annotations.tables(path)["gpu_activity"]) for path in files)
    right("processes: every kernel", kernels == facts[-1]["kernels"], f"{kernels} of {facts[-1]['kernels']}")
    right("processes: they ended as without", facts[-1]["codes"] == [0, 0], str(facts[-1]))


@step
def ends():
    path, facts, _ = record("killed", [*PROGRAMS, "killed", 3000], code=-signal.SIGTERM)
    kernels = [row for row in annotations.tables(path)["gpu_activity"] if row["kind"] == 0 and "add" in row["name"].lower()]
    right("ends: SIGTERM loses nothing", len(kernels) >= facts[0]["kernels"], f"{len(kernels)} of {facts[0]['kernels']}")


@step
def together():
    """A program that has PyTorch's profiler on: both go on, and whoever has not CUPTI says so."""
    path, facts, told = record("together", [*PROGRAMS, "holds", 2000])
    kernels = sum(row["kind"] == 0 for row in annotations.tables(path)["gpu_activity"]) if path.exists() else 0
    print(f"    ours {kernels}, PyTorch's {facts[0]['kernels']}; {[line for line in told if 'CUPTI' in line]}")
    right("together: somebody has all kernels", kernels >= facts[0]["expected"] or facts[0]["kernels"] >= facts[0]["expected"])


EVENTS = {"missing": {"RBWP_CUPTI": "/nowhere"}, "another's": {"CUDA_INJECTION64_PATH": "/nowhere/theirs.so"}}


@step
def events():
    """CUPTI is missing, or another tool has it: every kernel all the same, by its name, about as long as CUPTI says."""
    _, by_cupti = sound("events: beside", record("events-cupti", [*PROGRAMS, "small", 2000], "gpu")[0])
    median = lambda rows: statistics.median(row["stop"] - row["start"] for row in rows if "elementwise" in row["name"])
    for who, how in EVENTS.items():
        path, facts, told = record(f"events-{who[:7]}", [*PROGRAMS, "small", 2000], "gpu", **how)
        right(f"events: {who}: one line says so", sum("timed by events" in line for line in told) == 1, str(told[:2]))
        _, kernels = sound(f"events: {who}", path, facts[0]["kernels"], events=True)
        named = sum(bool(row["name"]) for row in kernels)
        right(f"events: {who}: all have names", named == len(kernels), f"{named} of {len(kernels)}")
        right(f"events: {who}: as CUPTI names them", {row["name"] for row in kernels} <= {row["name"] for row in by_cupti},
              str({row["name"] for row in kernels})[:200])
        figure(f"events: {who}: median kernel, less CUPTI's", median(kernels) - median(by_cupti), "ns", least=-500, most=6000)
        figure(f"events: {who}: bound, median", statistics.median(row["stop_bound"] for row in kernels), "ns")


@step
def events_held():
    """A program that subscribed to CUPTI before it started the driver: nobody takes that from it."""
    path, facts, told = record("events-held", [*PROGRAMS, "subscribed", 2000])
    if not facts[0]["subscribed"]:
        print("not here: CUPTI for the program")
        return
    right("events held: one line says so", any("another tool has CUPTI" in line and "timed by events" in line for line in told), str(told[:2]))
    sound("events held", path, facts[0]["kernels"], events=True)


@step
def events_profiled():
    """PyTorch's profiler works meanwhile, and both count the same."""
    path, facts, told = record("events-profiled", [*PROGRAMS, "holds", 2000], RBWP_INJECT_EVENTS="1")
    _, kernels = sound("events profiled", path, events=True)
    right("events profiled: PyTorch's profiler has all", facts[0]["kernels"] >= facts[0]["expected"], str(facts[0]))
    right("events profiled: and so have we", len(kernels) >= facts[0]["expected"], str(len(kernels)))


@step
def events_more():
    """Training, graphs, streams and threads, workers, Triton: by events."""
    how = EVENTS["missing"]
    path, _, _ = record("events-train", [*PROGRAMS, "train", 20], **how)
    sound("events: training", path, events=True)
    union("events: training", path)
    path, facts, _ = record("events-graphs", [*PROGRAMS, "graphs", 200], **how)
    _, kernels = sound("events: graphs", path, events=True)
    launches = sum(row["name"] == "cuGraphLaunch" for row in kernels)
    right("events: each replay of a graph, which was captured", launches == facts[0]["replays"], str(launches))
    path, facts, _ = record("events-triton", [*PROGRAMS, "triton", 500], **how)
    own = sum(row["name"] == "double" for row in sound("events: triton", path, events=True)[1])
    right("events: triton: results, every kernel", facts[0]["right"] and own == 500, str(own))
    program = OUT / "streams"
    if program.exists():
        path, _, _ = record("events-streams", [program, 2000], "gpu,ranges,threads", **how)
        _, kernels = sound("events: streams", path, 4000, events=True)
        right("events: one stream of each thread", len({row["stream"] for row in kernels}) == 2)
        lost = [lost_in(record("events-ends", [program, 50], "gpu,ranges,threads", **how)[0]) for _ in range(8)]
        right("events: nothing lost at the end of eight short runs", lost == [0] * 8, str(lost))
    for old in OUT.glob("events-several*.bin"):
        old.unlink()
    facts, _ = run([RBWP, "record", "--what", "gpu", "-f", "-o", OUT / "events-several-%p.bin", "--", *PROGRAMS, "children", 1000], **how)
    count = sum(len(annotations.tables(path)["gpu_activity"]) for path in OUT.glob("events-several-*.bin"))
    right("events: processes: every kernel", count >= facts[-1]["kernels"], f"{count} of {facts[-1]['kernels']}")


@step
def events_cost():
    """Plain, by events, by CUPTI: in turns."""
    ways = {"plain": lambda: run([*PROGRAMS, "small", SMALL])[0][0],
            "events": lambda: record("events-cost", [*PROGRAMS, "small", SMALL], "gpu", **EVENTS["missing"])[1][0],
            "CUPTI": lambda: record("events-cost-cupti", [*PROGRAMS, "small", SMALL], "gpu")[1][0]}
    took = {way: [] for way in ways}
    for _ in range(2):
        for way, go in ways.items():
            took[way].append(go())
    seconds = {way: statistics.median(one["seconds"] for one in each) for way, each in took.items()}
    figure("events: cost, times plain", seconds["events"] / seconds["plain"])
    figure("events: cost, times CUPTI's", seconds["events"] / seconds["CUPTI"])
    sound("events: cost", OUT / "events-cost.bin", took["events"][-1]["kernels"], events=True)


class Forks:
    """A process that has PyTorch and forks: a child for each run."""

    def __init__(self, count):
        self.server = subprocess.Popen([*PROGRAMS, "forks", str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, switch, **environment):
        self.server.stdin.write(json.dumps({"switch": switch, "environment": environment}) + "\n")
        self.server.stdin.flush()
        facts = {}
        while "status" not in facts:
            facts.update(json.loads(self.server.stdout.readline()))
        if facts["status"] or "times" not in facts:
            raise RuntimeError(f"a child failed: {environment}: {facts}")
        return facts

    def close(self):
        self.server.stdin.close()
        self.server.wait()


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values
    return f"{middle:.3f} ({low:.3f} {high:.3f})"


VARIANTS_S = 75


@step
def variants():
    """What of the cost is CUPTI's own: a library that has it write records of kernels and looks at none, and calls back for
    launches, too; beside ours. Each is switched off and on in one process, loop by loop, so that how fast the machine is just now is
    in both; several processes in turns of random order. INJECT_VARIANTS: "name=library ...", of ours in other states."""
    peer = OUT / "cupti_peer.so"
    subprocess.run(["gcc", "-O2", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{HERE.parents[2] / 'gpu/inject'}", "-o", peer,
                    HERE / "cupti_peer.c", "-ldl", "-pthread"], check=True)
    count_file, ours = OUT / "variants-count", OUT / "variants.bin"
    asks = lambda words: ("library", {"CUDA_INJECTION64_PATH": str(peer), "CUPTI_PEER": words, "CUPTI_PEER_COUNT": str(count_file)})
    records = lambda library: ("signal", {"CUDA_INJECTION64_PATH": library, "RBWP_INJECT_FILE": str(ours), "RBWP_INJECT_WHAT": "gpu",
                                          "RBWP_INJECT_SIGNAL": str(int(signal.SIGUSR2))})
    ways = {"plain": ("", {}), "CUPTI alone": asks(""), "CUPTI, calls": asks("calls"), "ours": records(os.environ["INJECT_LIBRARY"])}
    for name, library in (pair.split("=", 1) for pair in os.environ.get("INJECT_VARIANTS", "").split()):
        ways[f"ours, {name}"] = records(library)
    forks, chance, begin = Forks(4000), random.Random(1), time.monotonic()
    took = {way: [] for way in ways}
    how, environment = asks("parsed")
    expected = forks.run(how, **environment)["kernels"]  # the first one starts the GPU
    counted = int(count_file.read_text().split()[1])
    right("variants: the peer's CUPTI has every kernel", counted == expected, f"{counted} of {expected}")
    while not took["plain"] or (time.monotonic() - begin) * (1 + 1 / len(took["plain"])) < VARIANTS_S:  # as long as a turn has time
        for way in chance.sample(list(ways), len(ways)):
            ours.unlink(missing_ok=True)
            how, environment = ways[way]
            facts = forks.run(how, **environment)
            took[way].append(facts)
            if len(took[way]) == 1 and way == "ours":
                sound("variants", ours, facts["kernels"])
    forks.close()
    print(f"    {len(took['plain'])} turns in {time.monotonic() - begin:.0f} s; medians (quartiles)")
    print(f"    {'':20} {'us a kernel, off':24} {'on':24} on, times off")
    for way, each in took.items():
        off, on = ([one[what] * 1e6 for one in each] for what in ("off", "on"))
        print(f"    {way:20} {quartiles(off):24} {quartiles(on):24} {quartiles([one['times'] for one in each])}")
    for way in "CUPTI alone", "CUPTI, calls", "ours":
        figure(f"variants: {way}, times off", statistics.median(one["times"] for one in took[way]))


if __name__ == "__main__":
    wanted = [name for name in STEPS if not sys.argv[1:] or any(word in name for word in sys.argv[1:])]
    if sys.argv[1:] == ["--list"]:
        print("\n".join(STEPS))
        sys.exit(0)
    for name in wanted:
        print(f"== {name}", flush=True)
        try:
            STEPS[name]()
        except Exception:  # one step spoils no other
            traceback.print_exc()
            missed.append(name)
    print(f"== missed: {missed}" if missed else "== all met")
    sys.exit(bool(missed))
