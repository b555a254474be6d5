# SPDX-License-Identifier: Apache-2.0
"""merged.py RBWP HERE WORK PACKAGE MAKE_MODEL MODULES QUEUE_DEPTH BGPACK: what our own sums say of two runs, and what
programs of others and readers that share no code with the exporters find in each format that has spans: the same
counts and sums by category and name, ends of time, links, launches with their latency, bounds, samples and sums of
counters, rows of tables.

The runs: a merge of a GPU profile with tables, three nodes, a foreign program's counters, what kernels noted inside, a
Legion Prof log and a Chrome trace; and what bgpack recorded at level 2. MODULES, QUEUE_DEPTH and BGPACK may be empty."""
import collections
import glob
import json
import os
import sqlite3
import subprocess
import sys

rbwp, here, work, package, make_model, modules, queue_depth, bgpack = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path[:0] = [here, f"{here}/../cli", f"{here}/../python"]
import export_expect as x
import kernels_make
import legion_make as legion
import opened
import rbwp_make as m
import rbwp_reader
from firefox_profile import Profile

T = 1_700_000_000_000_000_000
ALONE = ("queue_depth.bin", "kernels.bin")  # of other days: brought onto the axis when they are merged


def run(*words, code=0):
    done = subprocess.run([rbwp, *words], capture_output=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout


def table(path, name):
    """[(row number, {column: value})]; a column may be called row, too."""
    lines = run("tables", "--table", name, "--as", "ndjson", path).splitlines()
    return [(pairs[0][1], dict(pairs[1:])) for pairs in (json.loads(line, object_pairs_hook=list) for line in lines)]


# ---- inputs --------------------------------------------------------------------------------


def three_nodes():
    for node in range(3):
        records = [r for i in range(500) for r in ((T + 1000 * i + node, "cb", i % 3), (T + 1000 * i + node + 100, "fb", 1),
                                                   (T + 1000 * i + node + 300, "fe"), (T + 1000 * i + node + 400 + i, "ce"))]
        path = f"{work}/n{node}.bin"
        with open(path, "wb") as file:
            file.write(m.file([m.block(7, 0, records)], [(s, b"item %d" % s) for s in range(3)], [(1, 0, b"handler")], T, 1, node + 1))
        yield path


def foreign():
    proc = legion.proc(1, 1)
    rows = legion.head("A", 1, 3, T) + [("ProcDesc", {"proc_id": proc, "kind": 2})]
    rows += [("TaskInfo", {"op_id": i + 1, "proc_id": proc, "start": 700 * i, "stop": 700 * i + 90, "fevent": legion.event(1, i + 1)}) for i in range(200)]
    with open(f"{work}/log", "wb") as file:
        file.write(legion.log("A", rows))
    events = [{"ph": "X", "name": f"kernel {i % 5}", "ts": 3 * i, "dur": 2, "pid": 9, "tid": 9} for i in range(300)]
    with open(f"{work}/torch.json", "w") as file:
        json.dump({"traceEvents": events, "baseTimeNanoseconds": T}, file)
    return [f"{work}/log", f"{work}/torch.json"]


def inside_kernels():
    profile, path = kernels_make.Profile(), f"{work}/kernels.bin"
    for launch in range(1, 4):
        profile.kernel("pipeline", launch, 20000 * launch, 20000 * launch + 9000)
        for number in range(4):
            kernels_make.pipeline(profile, launch, number, number % 2, 20000 * launch + 1000 * number)
        profile.event(launch, 1, "put", 20000 * launch + 100, 20000 * launch + 800)
    profile.write(path, 90000)
    return path


def inputs():
    subprocess.run([make_model, f"{work}/model.bin", "rows"], check=True)
    counted = []
    if queue_depth:
        subprocess.run([queue_depth, "-bgworkprofile", "1", "-bgworkprofile_logfile", f"{work}/{ALONE[0]}"], check=True, stdout=subprocess.DEVNULL)
        counted = [f"{work}/{ALONE[0]}"]
    return [*three_nodes(), f"{work}/model.bin", *counted, inside_kernels(), *foreign()]


# ---- what we say ---------------------------------------------------------------------------


def ours(paths):
    """What rbwp stats says of them all. It has no time but since the first begin, and counters by time."""
    told = [json.loads(run("stats", "--json", *group)) for group in
            ([p for p in paths if os.path.basename(p) not in ALONE], *([p] for p in paths if os.path.basename(p) in ALONE)) if group]
    found, gpus = opened.Found((told[0]["first"], told[0]["last"]), sum(t["links"] for t in told)), [g for t in told for g in t["gpus"]]
    for t in told:
        for row in t["work_items"] + t["sub_items"] + t["gpu_work"] + t["ranges"]:
            found.add(row["category"], row["name"], row["count"], row["total"])
        assert t["spans"] == sum(row["spans"] for row in t["threads"] + t["gpus"] + t["other_tracks"]) + sum(r["count"] for r in t["ranges"]), t
    assert sum(t["spans"] for t in told) == sum(n for n, _ in found.spans.values())
    latencies = [g["launch_latency"] for g in gpus if "launch_latency" in g]
    found.launches = sum(l["count"] for l in latencies), round(sum(l["count"] * l["mean"] for l in latencies))
    found.certain = sum(g.get("with_bounds", 0) for g in gpus), sum(g.get("certain_busy", 0) for g in gpus)
    found.own = collections.Counter()
    for t in told:
        for row in t["work_items"] + t["sub_items"] + t["gpu_work"] + t["ranges"]:
            found.own[row["name"]] += row["self"]
    found.stats = {c["name"]: c for t in told for c in t["counters"]}
    found.rows_left = sum(t["table_rows"] for t in told)
    return found


def counters_of_rows(path):
    """The samples that the rows of its counter tables are, by the counter."""
    samples, tables = collections.defaultdict(list), json.loads(run("tables", "--json", path))["tables"]
    for t in tables:
        values = [c["name"] for c in t["columns"] if c["role"] == "counter"]
        time, track = (next((c["name"] for c in t["columns"] if c["role"] == role), None) for role in ("start", "track"))
        for _, row in table(path, t["name"]) if values else ():
            for value in values:
                samples[f"{t['name']} {row[track]}" + (f" {value}" if len(values) > 1 else "")].append((row[time], row[value]))
    return samples


def check_files(paths, want):
    """Stats, dump and tables say the same, and the second reader has these rows."""
    counters, rows, calls = {}, {}, collections.defaultdict(lambda: [0, 0])
    for path in paths:
        if not path.endswith(".bin"):
            continue
        for span, n in x.spans(rbwp, path).items():
            calls[span[:2]][0] += n
            calls[span[:2]][1] += n * (span.stop - span.start)
        counters.update(counters_of_rows(path))
        parsed = rbwp_reader.parse(open(path, "rb").read())
        assert not parsed["problems"], (path, parsed["problems"])
        listed = json.loads(run("tables", "--json", path))["tables"]
        assert [(s["name"], len(s["rows"])) for s in parsed["schemas"]] == [(t["name"], t["row_count"]) for t in listed], path
        for s in parsed["schemas"]:
            have = table(path, s["name"])
            assert [number for number, _ in have] == [r["row"] for r in s["rows"]]
            # Names and bytes are compared by tests/cli/test_tables_command.py.
            for i, column in enumerate(have[0][1]):
                values = [row[column] for _, row in have]
                if all(type(v) in (int, float) for v in values):
                    assert sum(values) == sum(r["values"][i] for r in s["rows"]), (path, s["name"], column)
            rows[s["name"], path] = len(have)
    calls = {key: sums for key, sums in calls.items() if key[0] != "gpu"}  # which has no rows, nor corrected times there
    assert {key: want.spans[key] for key in calls} == calls, calls
    want.counters = {name: (len(s), sum(v for _, v in s)) for name, s in counters.items()}
    want.held = {}
    for name, samples in counters.items():
        samples.sort()
        stats, span_ns = want.stats[name], samples[-1][0] - samples[0][0]
        want.held[name] = sum(v * (after - t) for (t, v), (after, _) in zip(samples, samples[1:]))
        assert (stats["samples"], stats["min"], stats["max"], stats["last"]) == (len(samples), min(v for _, v in samples), max(v for _, v in samples), samples[-1][1]), name
        assert abs(stats["mean"] - want.held[name] / span_ns) <= 1e-9 * stats["mean"], (stats, want.held[name] / span_ns)
    assert want.stats.keys() == counters.keys()
    return rows


# ---- what others say -------------------------------------------------------------------------


def make(command, kind, paths, name):
    out = f"{work}/{name}"
    more = ["--force-merge", "--align", "start"] if command == "merge" else []
    run(command, "--to", kind, *more, "-f", "-o", out, *paths)
    return out


def by_name(spans, use=lambda n, ns: (n, ns)):
    sums = collections.defaultdict(lambda: (0, 0))
    for (_, name), (n, ns) in spans.items():
        sums[name] = sums[name][0] + n, sums[name][1] + ns
    return {name: use(*both) for name, both in sums.items()}


def agree(who, have, want, near=0, named=False, instants=True):
    """near: of the nanoseconds of a span, what its form may lose; named: it has no categories; not instants: nor what takes no time."""
    a, b = (by_name(f.spans) if named else {k: tuple(v) for k, v in f.spans.items()} for f in (have, want))
    b = {k: v for k, v in b.items() if instants or v[1]}
    assert a.keys() == b.keys() and all(a[k][0] == b[k][0] and abs(a[k][1] - b[k][1]) <= near * a[k][0] for k in a), \
        (who, {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)})
    for what in "extent", "links", "launches", "certain":
        assert getattr(have, what) is None or getattr(have, what) == getattr(want, what), (who, what, getattr(have, what), getattr(want, what))
    if have.counters is not None:
        assert have.counters.keys() == want.counters.keys(), (who, have.counters.keys() ^ want.counters.keys())
        for name, (n, total) in have.counters.items():
            assert n == want.counters[name][0] and total in (None, want.counters[name][1]), (who, name, n, total, want.counters[name])
    for name, held in (have.held or {}).items():
        assert abs(held - want.held[name]) <= 1e-12 * abs(held), (who, name, held, want.held[name])
    print(f"  {who}: agrees")


def check(command, paths):
    want = ours(paths)
    rows = check_files(paths, want)
    lines = [json.loads(line) for line in open(make(command, "ndjson", paths, "out.ndjson"))]
    assert len(lines) == sum(n for n, _ in want.spans.values())
    chrome, csv_file, sqlite = make(command, "chrome", paths, "out.json"), make(command, "csv", paths, "out.csv"), make(command, "sqlite", paths, "out.sqlite")
    parquet, speedscope, firefox = (make(command, kind, paths, f"out.{kind}") for kind in ("parquet", "speedscope", "firefox"))
    origin = int(json.load(open(chrome))["otherData"]["origin_ns"])
    engine = f"{package}/assets/trace-processor"
    agree("Perfetto, protobuf", opened.perfetto(engine, make(command, "perfetto", paths, "out.pftrace"), 0), want)
    agree("Perfetto, JSON", opened.perfetto(engine, chrome, origin), want)
    agree("SQLite", opened.sqlite(sqlite), want)
    agree("the second reader of Parquet", opened.parquet(parquet), want)
    agree("csv", opened.plain_csv(csv_file), want)
    for who, found in zip(("speedscope", "speedscope, Chrome JSON"), opened.speedscope(f"{package}/dist/release", speedscope, chrome)):
        agree(who, found, want, near=0 if who == "speedscope" else .4, named=True, instants=False)
    if os.environ["CHROMIUM"] and command == "merge":
        agree("Catapult", opened.catapult(f"{package}/assets", chrome), want, near=.4)
    if command == "merge":
        with opened.Firefox(f"{package}/dist/profiler-cli.js", firefox) as opened_profile:
            agree("Firefox Profiler", opened_profile.found(), want)
    profile = Profile(open(firefox).read())
    sums = {c.name.partition(" (")[0]: (len(c.values), sum(v for _, v in c.values)) for c in profile.counters}
    assert sums == want.counters, ("firefox", sums, want.counters)
    have = {name: ns for (_, name), (_, ns) in opened.folded(make(command, "folded", paths, "out.folded")).spans.items()}
    no_work = {line["name"] for line in lines if line["category"] == "range" and line["track_kind"] != "lane"}  # they hold the work again
    own = {name: ns for name, ns in want.own.items() if ns and name not in no_work}
    assert have == own, ("folded", have.items() - own.items(), own.items() - have.items())
    make(command, "legion", paths, "prof_%.gz")
    agree("Legion Prof's rules", opened.legion(sorted(glob.glob(f"{work}/prof_*"))), want, named=True)
    for old in glob.glob(f"{work}/prof_*"):
        os.unlink(old)
    check_rows_left(want, sqlite)
    if modules and command == "merge":
        check_duckdb(want, rows, (csv_file, f"{work}/out.ndjson", parquet))
    print(f"{command}: {len(lines)} spans, {want.links} links, {len(want.counters)} counters, {sum(rows.values())} rows, alike in all formats")


def check_rows_left(want, database):
    """Rows that no span or counter shows are in the database."""
    base = sqlite3.connect(database)
    kept = [name for name, in base.execute("select name from sqlite_schema where type = 'table' and name like 'rows!_%' escape '!'")]
    assert sum(base.execute(f'select count(*) from "{name}"').fetchone()[0] for name in kept) == want.rows_left


def check_duckdb(want, rows, spans):
    """DuckDB reads the spans, and the rows of each table."""
    queries, counts = [], []
    for i, ((name, path), count) in enumerate(rows.items()):
        run("tables", "--table", name, "-f", "-o", f"{work}/rows{i}.csv", path)
        queries.append(f"select count(*) as n, sum(\"row\")::varchar as numbers from read_csv('{work}/rows{i}.csv')")
        counts.append((count, count * (count + 1) // 2))
    *found, answers = opened.duckdb(modules, *spans, queries)
    for who, one in zip(("csv", "ndjson", "Parquet"), found):
        agree(f"DuckDB, {who}", one, want)
    assert [(int(a["n"]), int(a["numbers"])) for a, in answers] == counts, (rows, answers)


check("merge", inputs())
if bgpack:  # of version 1: what waits in its queues is told by rows, and begins before the first span that stats count from
    profile = f"{work}/pack.bin"
    subprocess.run([bgpack, "-q", "-f", "-bgwork", "2", "-bgworkprofile", "2", "-bgworkprofile_strict", "1", "-bgworkprofile_logfile", profile, f"{here}/..", f"{work}/pack.tgz"], check=True)
    check("export", [profile])
