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
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python"), str(HERE.parents[2] / "bench")]

import annotations  # noqa: E402
from figure import line  # noqa: E402

RBWP, OUT = os.environ.get("RBWP_COMMAND", "rbwp"), pathlib.Path(os.environ.get("OUT", "."))
PROGRAMS = [sys.executable, str(HERE / "h200_programs.py")]
STEPS, missed = {}, []
SMALL = 20000


def step(function):
    STEPS[function.__name__] = function
    return function


def figure(what, value, unit="", most=None, least=None):
    what = what.replace(":", ",")  # behind which its value begins
    wanted = [(side, bound) for side, bound in (("at least", least), ("at most", most)) if bound is not None]
    for one in wanted or [()]:
        said = line(what, value, unit, *one)
        print(said, flush=True)
        if one and not said.endswith(": met"):
            missed.append(what)


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
    right(f"{name}: none seems to begin before its call", early == 0, str(early))
    unknown = sum(row["thread"] == 0 for row in kernels)
    right(f"{name}: of each the call is known", unknown == 0, str(unknown))
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


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * values
    return f"{middle:.3f} ({low:.3f} {high:.3f})"


class Turns:
    """Programs that run the same loop by turns, all of them started before the first: {way: (command, environment, how it is run)}."""

    def __init__(self, ways, count):
        processor = str(max(os.sched_getaffinity(0)))
        self.told = {way: open(OUT / f"turns-{way.replace(' ', '-')}.txt", "w") for way in ways}
        self.programs = {}
        for way, (before, environment, how) in ways.items():
            environment = {**os.environ, "TURNS_CPU": processor, **environment}
            self.programs[way] = subprocess.Popen([*map(str, before), *PROGRAMS, how, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                  stderr=self.told[way], text=True, env=environment)
        for way in ways:
            if not self.fact(way).get("ready"):
                raise RuntimeError(f"{way} did not start")

    def fact(self, way):
        told = self.programs[way].stdout.readline()
        if not told:
            raise RuntimeError(f"{way} ended: {pathlib.Path(self.told[way].name).read_text()[-2000:]}")
        return json.loads(told) if told.startswith("{") else self.fact(way)

    def one(self, way):
        self.programs[way].stdin.write("\n")
        self.programs[way].stdin.flush()
        return self.fact(way)["seconds"]

    def run(self, rounds):
        """{way: seconds of each round}; in each round another order."""
        chance = random.Random(1)
        took = {way: [] for way in self.programs}
        for _ in range(rounds):
            for way in chance.sample(list(took), len(took)):
                took[way].append(self.one(way))
        return took

    def end(self):
        """{way: what each told last}"""
        last = {}
        for way, program in self.programs.items():
            program.stdin.close()
            last[way] = self.fact(way)
            program.wait(60)
            self.told[way].close()
        return last


def times(took, way, *others):
    """Of each round what it took, times the mean of the others; without these, of the plain ones: two that are alike may differ by 2 %
    in all of the rounds."""
    others = others or [other for other in took if other.startswith("plain")]
    return [took[way][i] / statistics.mean(took[other][i] for other in others) for i in range(len(took[way]))]


PLAIN = ([], {}, "turns_plain")
TWO_PLAIN = {"plain": PLAIN, "plain again": PLAIN}
ROUNDS, FEW = 25, 6


def recorded(name, what="gpu", **environment):
    return [RBWP, "record", "--what", what, "-f", "-o", OUT / f"{name}.bin", "--"], environment, "turns_plain"


@step
def cost():
    """Plain, kernels only, with ranges, all sources: loops by turns, and the median of what each is times the mean of its round's two plain ones."""
    whats = {"gpu": "cost-gpu", "gpu,ranges": "cost-ranges", "gpu,ranges,threads": "cost-all"}
    ways = {**TWO_PLAIN, **{what: recorded(name, what) for what, name in whats.items()}}
    turns = Turns(ways, SMALL)
    took = turns.run(ROUNDS)
    last = turns.end()
    for way, each in took.items():
        figure(f"cost, {way}", statistics.median(each) / SMALL * 1e6, "us a kernel")
        print(f"    times plain, quartiles: {quartiles(times(took, way))}")
    middle = {way: statistics.median(times(took, way)) for way in ways}
    figure("cost, a second plain one, times the first", statistics.median(times(took, "plain again", "plain")))
    figure("cost, kernels only, times plain", middle["gpu"], "", most=1.25)
    figure("cost, with ranges, times plain", middle["gpu,ranges"], "", most=1.35)
    figure("cost, with threads, times plain", middle["gpu,ranges,threads"])
    size, own = (OUT / "cost-gpu.bin").stat().st_size, last["gpu"]["kernels"]
    figure("cost, bytes a kernel", size / own, "", most=12)
    sound("cost", OUT / "cost-gpu.bin", own)


@step
def profiler():
    """PyTorch's own, which keeps all of it in memory until its end: fewer turns."""
    turns = Turns({**TWO_PLAIN, "ours": recorded("profiler", "gpu,ranges"), "torch.profiler": ([], {}, "turns_profiled")}, SMALL)
    took = turns.run(FEW)
    last = turns.end()
    theirs, own = last["torch.profiler"], last["ours"]["kernels"]
    figure("profiler, ours, times plain", statistics.median(times(took, "ours")))
    figure("profiler, PyTorch's, times plain", statistics.median(times(took, "torch.profiler")))
    figure("profiler, ours, times PyTorch's", statistics.median(times(took, "ours", "torch.profiler")), "", most=1)
    size = (OUT / "profiler.bin").stat().st_size
    figure("profiler, bytes a kernel, times those of PyTorch's trace", size / own / (theirs["bytes"] / theirs["kernels"]), "", most=1)
    _, kernels = sound("profiler", OUT / "profiler.bin", own)
    right("profiler: PyTorch's counts the same", theirs["kernels"] == theirs["expected"], f"{theirs['kernels']} of {theirs['expected']}")
    mean_us = statistics.mean(row["stop"] - row["start"] for row in kernels[-theirs["expected"]:]) / 1000
    figure("profiler, mean kernel, times PyTorch's", mean_us / theirs["mean_us"], "", most=1.05, least=0.95)


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
    figure("streams, shortest kernel less its own time", min(took) - shortest, "ns", least=-100)
    figure("streams, median kernel", statistics.median(took), "ns", least=shortest, most=longest + 5000)
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
        figure(f"events, {who}, median kernel, less CUPTI's", median(kernels) - median(by_cupti), "ns", least=-500, most=6000)
        figure(f"events, {who}, bound, median", statistics.median(row["stop_bound"] for row in kernels), "ns", most=12000)


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
    """Plain, by events, by CUPTI."""
    turns = Turns({**TWO_PLAIN, "events": recorded("events-cost", **EVENTS["missing"]), "CUPTI": recorded("events-cost-cupti")}, SMALL)
    took = turns.run(FEW)
    last = turns.end()
    figure("events, cost, times plain", statistics.median(times(took, "events")))
    figure("events, cost, times CUPTI's", statistics.median(times(took, "events", "CUPTI")))
    sound("events: cost", OUT / "events-cost.bin", last["events"]["kernels"], events=True)


@step
def variants():
    """What of the cost is CUPTI's own: a library that has it write records of kernels and looks at none, and calls back for
    launches, too; beside ours, by turns. INJECT_VARIANTS: "name=library ...", of ours in other states; CUPTI_VARIANTS: "words ...",
    of cupti_peer.c."""
    peer = OUT / "cupti_peer.so"
    subprocess.run(["gcc", "-O2", "-std=gnu11", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{HERE.parents[2] / 'gpu/inject'}", f"-I{HERE.parents[2] / 'gpu/backend/include'}", "-o", peer,
                    HERE / "cupti_peer.c", "-ldl", "-pthread"], check=True)
    counts = OUT / "variants-count"
    loads = lambda library, **environment: ([], {"CUDA_INJECTION64_PATH": str(library), **environment}, "turns_plain")
    asks = lambda words: loads(peer, CUPTI_PEER=words, CUPTI_PEER_COUNT=f"{counts}-{words}")
    records = lambda name, library: loads(library, RBWP_INJECT_FILE=str(OUT / f"variants-{name}.bin"), RBWP_INJECT_WHAT="gpu")
    ways = {**TWO_PLAIN, "CUPTI alone": asks("parsed"), "CUPTI and calls": asks("calls"),
            "ours": records("ours", os.environ["INJECT_LIBRARY"])}
    for words in os.environ.get("CUPTI_VARIANTS", "").split():
        ways[f"CUPTI {words}"] = asks(words)
    for name, library in (pair.split("=", 1) for pair in os.environ.get("INJECT_VARIANTS", "").split()):
        ways[f"ours {name}"] = records(name, library)
    for old in OUT.glob("variants-*.bin"):
        old.unlink()
    turns = Turns(ways, SMALL // 5)
    took = turns.run(3 * ROUNDS)
    last = turns.end()
    counted = int(pathlib.Path(f"{counts}-parsed").read_text().split()[1])
    right("variants: the peer's CUPTI has every kernel", counted == last["CUPTI alone"]["kernels"], f"{counted} of {last['CUPTI alone']['kernels']}")
    sound("variants", OUT / "variants-ours.bin", last["ours"]["kernels"])
    print(f"    {'':20} {'us a kernel':24} times plain: medians (quartiles)")
    for way, each in took.items():
        print(f"    {way:20} {quartiles([one / SMALL * 5e6 for one in each]):24} {quartiles(times(took, way))}")
    for way in "CUPTI alone", "CUPTI and calls", "ours":
        figure(f"variants, {way}, times plain", statistics.median(times(took, way)))


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
