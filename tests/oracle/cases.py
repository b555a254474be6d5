# SPDX-License-Identifier: Apache-2.0
"""groups(): {group: cases}, what the oracle runs. A group is what is asked of one input, or of several together."""
import pathlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
EXPORTS = ("chrome", "csv", "firefox", "folded", "kineto", "legion", "ndjson", "npz", "parquet", "perfetto", "speedscope", "sqlite", "tsv")
BY = ("slot", "sub-item", "thread", "node", "gpu", "kernel", "range", "counter", "message", "arg:bytes", "arg:file", "arg:round")
VIEWS = ("info", "info --json", "check", "check --json", "dump", "dump --spans --ndjson", "tables", "tables --json", "processes", "processes --json", "stacks", "stacks --json")
SUMS = ("stats", "stats --json", "timeline --ascii --width 100")

# What is read through the trace model alone: other systems' formats, too.
TRACES = {
    "extended": "extended.bin", "gpu": "gpu.bin", "gpux": "gpux.bin", "rows": "rows.bin", "rows_of_two_nodes": "rows_0.bin rows_1.bin", "kernels": "kernels.bin", "lanes_of_kernels": "lanes.bin",
    "probes": "probes.bin", "everything": "everything_0.bin", "everything_of_two_nodes": "everything_0.bin everything_1.bin", "strangers": "strangers.bin", "job": "job", "family": "family",
    "recorded": "plain.bin", "parts": "rot_1.bin rot_2.bin", "dumps": "keep.bin.dump-1 keep.bin.dump-2 keep.bin.dump-3 keep.bin", "ring": "ring.bin", "crashed": "killed.bin",
    "crashed_live": "--live killed.bin", "archive_of_tables": "tables.rbwa", "archive_of_job": "job.rbwa", "archive_zlib": "zlib.rbwa",
}
FOREIGN = {"kineto": "kineto.json", "own_kineto": "own_kineto.json", "iris": "iris.json", "times": "times.json", "perfetto": "plain.perfetto", "perfetto_packed": "packed.perfetto",
           "perfetto_clocks": "clocks.perfetto", "legion_a": "a.legion", "legion_b": "b.legion", "tar": "- < job.tar",
           "ours_legion": "ours.legion.gz", "ours_kineto": "ours_kineto.json", "ours_chrome": "ours_chrome.json", "ours_perfetto": "ours.perfetto"}
DIFFS = ("rows.bin gpux.bin", "everything_0.bin everything_1.bin", "job/bgwork_0.bin job/bgwork_1.bin", "rot_1.bin rot_2.bin", "plain.bin plain.bin", "kernels.bin probes.bin", "gpu.bin strangers.bin",
         "kineto.json own_kineto.json", "golden/crash_killed.bin golden/multi_thread.bin")
RICH = ("everything_0.bin", "everything_0.bin everything_1.bin", "rows.bin", "plain.bin", "kernels.bin", "job", "strangers.bin", "own_kineto.json")


def exports(files):
    return [f"rbwp export --to {form} -o out/{'x_%' if form == 'legion' else 'x'}.{form} {files}" for form in EXPORTS]


def traced(files):
    return [f"rbwp {view} {files}" for view in SUMS] + [f"rbwp report -o out/page.html {files}"] + exports(files)


def whole(files):
    """A command that does not know --live is not asked for it."""
    known = [view for view in VIEWS if "--live" not in files or view.startswith(("info", "dump"))]
    return [f"rbwp {view} {files}" for view in known] + traced(files)


def stats():
    for files in RICH:
        for by in BY:
            yield from (f"rbwp stats --by {by} {files}", f"rbwp stats --json --by {by} {files}")
        for words in ("--findings", "--findings --json", "--critical-path", "--critical-path --json", "--top 3", "--sort count", "--sort name", "--columns count,mean,p90,share", "--raw-times",
                      "--fold-literals --by arg:file", "--from +1us --to +4us", "--thread worker", "--slot flush", "--kind fine", "--min-duration 500ns", "-j 1"):
            if words in ("--thread worker", "--slot flush", "--kind fine") and "everything" not in files:
                continue
            yield f"rbwp stats {words} {files}"
        yield f"rbwp stats --cache out {files} && rbwp stats --cache out {files} && rbwp stats --cache out --json {files}"
    for files in ("extended.bin", "gpux.bin", "gpu.bin", "ring.bin", "strangers.bin", "extended.bin gpux.bin kernels.bin"):
        yield f"rbwp stats --cache out {files} && rbwp stats --cache out --json {files}"
        yield f"rbwp stats --findings --json {files}"
    for files in ("everything_0.bin", "plain.bin", "job"):
        yield from (f"rbwp stats --top 0 --by slot --by sub-item --by gpu --sort {column} {files}" for column in ("self", "mean", "p50", "p90", "p99", "max", "kind", "id"))
        yield f"rbwp stats --sort p90 --columns id,kind,self,p50,p90,max {files}"
        yield f"rbwp stats --findings --by thread --top 2 {files}"
    yield from ("rbwp stats --by kernel probes.bin", "rbwp stats --json --by kernel probes.bin")
    for part in ("0/2", "1/2"):
        yield from (f"rbwp stats --shard {part} --json job", f"rbwp stats --shard {part} family", f"rbwp report --shard {part} -o out/page.html job")
    yield "rbwp stats --columns nothing rows.bin"
    yield "rbwp stats missing.bin rows.bin"


def diffs():
    for pair in DIFFS:
        for words in ("", "--json", "--all", "--by p99 --json", "--by total --threshold 5 --min-count 2", "--report out/page.html"):
            yield f"rbwp diff {words} {pair}".replace("  ", " ")
    yield "rbwp diff --json --before gpux.bin --after rows_1.bin rows.bin rows_0.bin"


def tables():
    for table in ("gpu_activity", "lane_span", "device_event", "kernel_block", "wait", "queued", "argument", "counter", "range", "message_sent", "annotation", "none"):
        yield f"rbwp tables --table {table} everything_0.bin"
    for words in ("--table tree --as tsv", "--table settings --as ndjson", "--table settings", "--table depth --limit 3 --from +500ns", "--table dma_job --thread 7 --name copy*"):
        yield f"rbwp tables {words} strangers.bin"


def merges():
    for files in ("rows_0.bin rows_1.bin", "job", "family", "everything_0.bin everything_1.bin", "rot_1.bin rot_2.bin", "own_kineto.json plain.bin", "own_kineto.json rows.bin", "plain.perfetto a.legion", "kineto.json iris.json",
                  "rows.bin rows.bin", "golden/multi_thread.bin golden/gaps.bin gpu.bin"):
        yield from (f"rbwp merge --to {form} -o out/x.{form} {files}" for form in ("chrome", "ndjson", "perfetto"))
    yield "rbwp merge --align clocks --to ndjson job/bgwork_2.bin"
    yield "rbwp merge --align zero --to ndjson job"
    yield "rbwp merge --to csv --from +1us --until +3us everything_0.bin everything_1.bin"


def lanes():
    for file in ("v1.bin", "v1.npy", "rows.npy", "v2.bin", "bad.bin", "brim.bin", "whole.bin", "wait.bin", "cut.npy", "float.npy", "r0.evt"):
        yield from (f"rbwp lanes {file}", f"rbwp lanes --json {file}")
    for form in ("warpscope", "chrome", "csv", "perfetto", "rbwp"):
        yield from (f"rbwp lanes --to {form} -o out/x.{form} {file}" for file in ("v1.bin", "v2.bin"))
    yield "rbwp lanes --events wait,load,7=store --groups a,b --by-block v1.bin"
    yield "rbwp lanes --clock 100MHz --anchor 1000=5000 wait.bin"
    for files in ("r0.evt", "r0.evt r1.evt", "r0.evt r1_ahead.evt", "nvidia.evt", "far.evt", "cut.evt", "r0.npy", "r0.arrays", "v1.bin"):
        yield from (f"rbwp events {files}", f"rbwp events --json {files}")
    for form in ("iris", "chrome", "ndjson", "rbwp"):
        yield f"rbwp events --to {form} -o out/x.{form} r0.evt r1.evt"
    yield "rbwp events --to iris --merge -o out/x.iris r0.evt r1_ahead.evt"
    for file in ("r0.evt", "nvidia.evt", "r0.npy"):
        yield f"rbwp events --to iris --clock 1GHz --events 5=five,99=load -o out/x.iris {file}"
    for words in ("--rank 3 --ranks 5 --clock 100MHz --count 5", "--clock 250MHz --count 9", "--clock 100MHz --events 99=gather,5=five"):
        yield from (f"rbwp events --json {words} {file}" for file in ("r0.npy", "r0.arrays"))
    for words in ("0=9000:70", "0=-9000", "1=5 --offset 0=+7", "0=5x"):
        yield f"rbwp events --json --offset {words} r0.evt"
    for words in ("5", "5=9", "=9", "5=x", "5=9x", "5x", "0", "-5"):
        yield f"rbwp lanes --to ndjson --anchor {words} wait.bin"
    yield "rbwp lanes --events x=wait v1.bin"


def whys():
    for files in ("plain.bin", "everything_0.bin", "rows.bin", "job", "golden/multi_thread.bin"):
        for words in ("", "--slower-than 100ns", "--slower-than 2us --limit 1"):
            yield from (f"rbwp why {words} {files}".replace("  ", " "), f"rbwp why --json {words} {files}".replace("  ", " "))


def others():
    """What makes files of files, shows their ends, or reads in another way."""
    for file in ("everything_0.bin", "plain.bin", "rows.bin", "extended.bin", "golden/level2_all_types_zlib.bin"):
        yield f"rbwp archive -o out/a.rbwa {file} && rbwp archive -d -o out/b.bin out/a.rbwa"
        yield f"rbwp split --by-thread -o out/part.bin {file}"
        yield f"rbwp split --every 1us --from +1us --to +4us -o out/part.bin {file}"
        yield f"rbwp tail -n 4 {file}"
        yield f"rbwp tail --records --ndjson -n 4 {file}"
        yield f"rbwp info --index {file}"
        yield f"rbwp info --quick --json {file}"
        yield f"rbwp dump --gpu-bias --spans {file}"
        yield f"rbwp dump --ndjson --rows 2 --from +1us --to +3us {file}"
        yield f"rbwp timeline --width 60 --from +1us --to +4us {file}"
        yield f"rbwp timeline --width 60 --json {file}"
        yield f"rbwp export --to folded --json -o out/x.folded {file}"
        yield f"rbwp export --to csv --raw-text --kind gpu {file}"
        yield f"rbwp export --to npz --columns start,name -o out/x.npz {file}"
        yield f"rbwp export --to perfetto --no-deflate -o out/x.perfetto {file}"
        yield f"rbwp export --to chrome --raw-times -o out/x.json.gz {file}"
    for file in ("killed.bin", "golden/crash_killed.bin", "golden/crash_cut_in_data.bin", "golden/crash_header_only.bin", "bad/torn_blocks/input.bin", "rows.bin"):
        yield from (f"rbwp repair -o out/whole.bin {file}", f"rbwp repair --json --no-live -o out/whole.bin {file}")
    for words in ("--annotate", "--outer-ranges", "--raw-times"):
        yield from (f"rbwp export --to kineto {words} -o out/x.json {file}" for file in ("everything_0.bin", "kineto.json"))
    for version in (1006, 1007, 1008, 1011):
        yield f"rbwp export --to legion --legion-version {version} -o out/x.legion everything_0.bin"
    yield "rbwp export --to chrome --block-processes -o out/x.json everything_0.bin"
    yield "rbwp report --source probes.py -o out/page.html probes.bin"
    yield "rbwp report --detail 0 -o out/page.html everything_0.bin"
    yield "rbwp report -o out/page.html everything_0.bin && rbwp report -o out/page.html everything_0.bin"
    yield "rbwp export --to nothing rows.bin"
    yield "rbwp export rows.bin"
    yield from (f"rbwp {words}" for words in (
        "export", "export --to kinto rows.bin", "export --to legion rows.bin", "lanes", "events", "ptx", "ptx fly", "ptx print", "ptx print a b", "top --interval 1ms", "top --sort x", "top missing.bin",
        "split", "split rows.bin gpu.bin", "archive -o out/a.rbwa ours.legion.gz", "merge --align none job", "diff rows.bin", "ctl 1 --level 1 stop", "tail a b", "repair", "record", "record --what x -- true"))
    for file in ("gpux.bin", "rows.bin", "kernels.bin", "strangers.bin", "probes.bin", "ring.bin"):
        for window in ("--from +1us --until +4us", "--from +20us", "--until +10us"):
            yield f"rbwp export --to ndjson {window} {file}"
            yield from (f"rbwp {words} {window} {file}".replace("--until", "--to") for words in ("stats --json", "timeline --ascii --width 60", "dump --spans"))
    yield "rbwp check -q gpu_broken.bin"
    yield "rbwp dump gpu_broken.bin"


def groups():
    made = {"stats": stats(), "diff": diffs(), "tables": tables(), "merge": merges(), "lanes": lanes(), "why": whys(), "others": others()}
    made |= {f"golden_{path.stem}": whole(f"golden/{path.name}") for path in sorted((TESTS / "golden").glob("*.bin"))}
    made |= {name: whole(files) for name, files in TRACES.items()}
    made |= {f"of_{name}": traced(files) for name, files in FOREIGN.items()}
    made["bad"] = [f"rbwp {view} bad/{path.parent.name}/{path.name}" for path in sorted((TESTS / "bad").glob("*/input.bin"))
                   for view in ("check", "check --json", "info", "stats --json", "dump")]
    return {group: list(cases) for group, cases in made.items()}
