# SPDX-License-Identifier: Apache-2.0
"""What programs and readers that share no code with an exporter find in what it wrote: Found, with as much of it as
the form holds. Each opens its file once."""
import collections
import csv
import json
import os
import sqlite3
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [f"{here}/../cli", f"{here}/../python"]
import legion_log
import parquet_reader

OURS = ("link", "loss", "fact")  # slices of Perfetto's form that are no spans


class Found:
    """spans: {(category or None, name): [count, ns]}; extent: (first, last) in ns since 1970; the rest is None where the
    form has no place for it. launches: (how many spans, sum of the latencies); certain: (how many spans, ns that they ran at least);
    counters: {name: (samples, sum)}; held: {name: sum of value times ns until the next sample}."""

    def __init__(self, extent=None, links=None, launches=None, certain=None, counters=None, held=None):
        self.spans = collections.defaultdict(lambda: [0, 0])
        self.extent, self.links, self.launches, self.certain, self.counters, self.held = extent, links, launches, certain, counters, held

    def add(self, category, name, count, ns):
        sums = self.spans[category and category.partition(",")[0], name]
        sums[0] += int(count)
        sums[1] += ns
        return self


def node(script, *words):
    done = subprocess.run(["node", script, *words], capture_output=True, timeout=240)
    assert done.returncode == 0, (words, done.stdout[-500:], done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines() if line[:1] in b"[{"]


def perfetto(engine, trace, origin):
    slices = f"slice where category not in {OURS}"
    rows, ((first, last),), ((links,),), counters, errors = node(
        f"{here}/perfetto.mjs", engine, trace, f"select category, name, count(*), sum(dur) from {slices} group by 1, 2",
        f"select min(ts), max(ts + dur) from {slices}", "select count(*) from flow",
        "select t.name, count(*), sum(value), sum(value * (next - ts)) from counter_track t join (select *, lead(ts, 1, ts) over (partition by track_id order by"
        " ts, id) as next from counter) c on c.track_id = t.id group by 1", "select name, value from stats where value != 0 and severity not in ('info')")
    assert errors == [], (trace, errors)
    counters = {row[0].removesuffix(" value"): [float(v) for v in row[1:]] for row in counters}
    found = Found((int(first) + origin, int(last) + origin), int(links), counters={k: tuple(v[:2]) for k, v in counters.items()},
                  held={k: v[2] for k, v in counters.items()})
    for category, name, count, ns in rows:
        found.add(category, name, count, int(ns))
    return found


def catapult(assets, trace):
    """Of arrows that begin or end where no slice is, it says that it has none."""
    seen = node(f"{here}/catapult.mjs", assets, trace)[-1]
    lost = sum("does not start at an actual slice" in w for w in seen["warnings"])
    assert len(seen["warnings"]) == 2 * lost, seen["warnings"]  # its end is one too many
    found = Found(links=seen["arrows"] + lost, counters={k.removesuffix(".value"): tuple(v) for k, v in seen["counters"].items()})
    for category, name, count, ms in seen["spans"]:
        found.add(category, name, count, ms * 1e6)
    return found


def speedscope(release, *traces):
    for seen in node(f"{here}/speedscope.mjs", release, *traces):
        assert seen["warnings"] == [], (seen["file"], seen["warnings"][:3])
        found = Found()
        for frame, sums in seen["frames"].items():
            found.add(None, frame.partition(' {"')[0], sums["count"], sums["ns"])
        yield found


class Firefox:
    """profiler.firefox.com's own loader, by its command line: a session, with a profile in it. The process that holds it is
    started here: the command to load would wait half a second for it, whatever else the machine does. Nothing is asked before
    the session's file is whole: to a question that comes between the socket and that file the command answers by
    removing the socket, and nobody would ever be answered."""

    def __init__(self, program, profile, session="ours"):
        self.program, self.session = program, session
        said = os.path.join(os.environ["PROFILER_CLI_SESSION_DIR"], f"{session}.json")
        self.daemon = subprocess.Popen(["node", program, "--daemon", profile, "--session", session], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end, why = time.monotonic() + 100, "nothing is heard of it"
        while self.daemon.poll() is None and time.monotonic() < end:
            if self.told(said):
                why = self.run("status")
                if why.returncode == 0:
                    return
            time.sleep(0.02)
        self.daemon.kill()
        raise AssertionError(profile, "the profile is not opened", why)

    @staticmethod
    def told(path):
        try:
            return bool(json.load(open(path)))
        except (FileNotFoundError, json.JSONDecodeError):
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("stop")
        self.daemon.wait(60)

    def run(self, *words):
        return subprocess.run(["node", self.program, *words, "--session", self.session], capture_output=True, timeout=120)

    def ask(self, *words):
        done = self.run(*words, "--json")
        assert done.returncode == 0, (words, done.stdout[-500:], done.stderr[-500:])
        return json.loads(done.stdout)

    def threads(self):
        return [t["threadHandle"] for p in self.ask("profile", "info", "--all")["processes"] for t in p["threads"]]

    def found(self):
        counters = {c["name"].partition(" (")[0]: (c["rangeSampleCount"], None) for c in self.ask("counter", "list")["counters"]}
        found = Found(counters=counters)
        for m in self.ask("profile", "markers", "--limit", "100000")["markers"]:
            found.add(m["category"], m["name"], 1, round((m.get("duration") or 0) * 1e6))
        return found


def duckdb(modules, csv_file, ndjson, parquet, queries=()):
    """Found in each of the three, and the answers to the queries."""
    sources = f"read_csv('{csv_file}')", f"read_json('{ndjson}', format='newline_delimited')", f"'{parquet}'"
    start = "start_ns", "start_ns", "epoch_ns(start)"
    launch = "launch_ns", "launch_ns", "epoch_ns(launch)"
    groups = [f"select category, name, count(*) as n, sum(duration_ns)::varchar as ns, min({s}) as first, max({s} + duration_ns) as last, count({l}) as launches,"
              f" sum({s} - {l})::varchar as latency, count(certain_ns) as bounded, sum(certain_ns)::varchar as certain from {source} group by all"
              for source, s, l in zip(sources, start, launch)]
    answers = node(f"{here}/duckdb/query.mjs", modules, *groups, *queries)
    found = []
    for rows in answers[:3]:
        both = lambda a, b: (sum(int(r[a]) for r in rows), sum(int(r[b] or 0) for r in rows))
        one = Found((min(int(r["first"]) for r in rows), max(int(r["last"]) for r in rows)), launches=both("launches", "latency"), certain=both("bounded", "certain"))
        for r in rows:
            one.add(r["category"], r["name"], r["n"], int(r["ns"]))
        found.append(one)
    return (*found, answers[3:])


def plain_csv(path):
    rows = list(csv.DictReader(open(path, newline="")))
    spans = [(int(r["start_ns"]), int(r["duration_ns"])) for r in rows]
    found = Found((min(s for s, _ in spans), max(s + d for s, d in spans)))
    for row in rows:
        found.add(row["category"], row["name"], 1, int(row["duration_ns"]))
    return found


def sqlite(path):
    base = sqlite3.connect(path)
    assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
    row = lambda query: base.execute(query).fetchone()
    held = dict(base.execute("select counter, sum(value * (next - time_ns)) from (select *, lead(time_ns, 1, time_ns) over (partition by process, counter"
                             " order by time_ns) as next from counter_view) group by 1"))
    found = Found(row("select min(start_ns), max(start_ns + duration_ns) from span"), row("select count(*) from link")[0],
                  row("select count(launch_ns), ifnull(sum(start_ns - launch_ns), 0) from detail join span on span.id = detail.span where launch_ns is not null"),
                  row("select count(certain_ns), ifnull(sum(certain_ns), 0) from detail"),
                  {k: (n, s) for k, n, s in base.execute("select counter, count(*), sum(value) from counter_view group by 1")}, held)
    for category, name, count, ns in base.execute("select category, name, sum(calls), sum(total_ns) from summary group by 1, 2"):
        found.add(category, name, count, ns)
    return found


def parquet(path):
    table = parquet_reader.File(path)
    starts, lengths = table.column("start"), table.column("duration_ns")
    found = Found((min(starts), max(s + d for s, d in zip(starts, lengths))))
    for category, name, ns in zip(table.column("category"), table.column("name"), lengths):
        found.add(category, name, 1, ns)
    return found


def folded(path):
    """Of what ran inside, what it ran in has not the time: own times, without counts."""
    found = Found()
    for stack, own in (line.rsplit(" ", 1) for line in open(path)):
        found.add(None, stack.rpartition(";")[2].rstrip("\n"), 0, int(own))
    return found


def legion(paths):
    """By a reader which refuses whatever Legion Prof would."""
    log = legion_log.Log()
    for path in paths:
        log.load(open(path, "rb").read())
    found = Found()
    for _, kind, name, start, stop in log.check().spans():
        found.add(kind, name, 1, stop - start)
    return found
