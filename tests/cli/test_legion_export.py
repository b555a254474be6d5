# SPDX-License-Identifier: Apache-2.0
"""What goes to a Legion Prof log breaks none of the rules on which Legion Prof fails, as a strict reader judges that knows nothing of
the writer; every span is there, of GPUs, hostile nestings and merged nodes too. Of each version, it comes back with the same spans,
names, work items and launches."""
import glob
import gzip
import json
import os
import pathlib
import random
import shutil

import legion_log
import legion_make
import pytest
import ranges_make
import rbwp_make as m

T = 1_700_000_000_000_000_000
GOOD = [path for path in sorted(pathlib.Path(os.environ["GOLDEN"]).glob("*.bin")) if "crash" not in path.name and "defect" not in path.name]


@pytest.fixture
def export(rbwp, work):
    """export(file, ...): the log, checked; its files are work/prof_NODE.gz."""
    def log_of(*files, version="1008", **options):
        for old in glob.glob(f"{work}/prof_*"):
            os.unlink(old)
        rbwp("merge", "--to=legion", f"--legion-version={version}", "-o", f"{work}/prof_%.gz", *files, **options)
        log = legion_log.Log()
        for path in sorted(glob.glob(f"{work}/prof_*")):
            log.load(pathlib.Path(path).read_bytes())
        return log.check()

    return log_of


@pytest.fixture(scope="module")
def lines(rbwp):
    return lambda *files: [json.loads(line) for line in rbwp("merge", "--to=ndjson", *files).lines]


@pytest.fixture(scope="module")
def content(rbwp, lines):
    def of(*paths):
        spans = lines(*paths)
        by_id = {s["id"]: s for s in spans}
        kind = lambda s: s["category"] if s["category"] in ("bgwork", "gpu") else "other"
        launches = sorted((s["launch_ns"], by_id[s["launch_span"]]["start_ns"], s["start_ns"]) for s in spans if s.get("launch_span"))
        events = rbwp("export", "--to=chrome", *paths).json["traceEvents"]
        ends = {ph: {e["id"]: e["ts"] for e in events if e["ph"] == ph and e["name"] == "launch"} for ph in "sf"}
        return sorted((s["start_ns"], s["duration_ns"], s["name"], kind(s)) for s in spans), launches, sorted((ends["s"][i], ends["f"][i]) for i in ends["s"])

    return of


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def same(log, spans, zero):
    """By name and time; what is a task and what a call is for the reader's rules to judge."""
    got = sorted((s[2], s[3], s[4]) for s in log.spans())
    want = sorted((s["name"], max(s["start_ns"] - zero, 0), max(s["start_ns"] + s["duration_ns"] - zero, 0)) for s in spans)
    assert got == want, (got[:5], want[:5], len(got), len(want))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_files(export, lines, path):
    """In both versions; level 2 in each."""
    spans = lines(path)
    for version, dialect in (("1008", "A"), ("1011", "B"), ("1006", "A"), ("1007", "A"))[:4 if "level2" in path.name else 2]:
        log = export(path, version=version)
        if not spans and not log.files[0][4]:
            continue
        assert log.versions == {int(version)} and log.files[0][5] == dialect
        same(log, spans, log.files[0][4] or 0)


def test_sub_items_are_calls_of_their_work_item(export, golden):
    log = export(golden / "level2_all_types.bin")
    assert {"call", "task"} <= {s[1] for s in log.spans()}
    assert {v["kind"] for v in log.call_rows} == set(log.calls)


def test_processors_of_gpu_work(export, golden):
    log = export(golden / "gpu_work.bin")
    assert {log.procs[s[0]] for s in log.spans() if s[1] == "gpu"} == {1}
    assert all(log.procs[s[0]] == 3 and 0xC00 <= s[0] & 0xFFF for s in log.spans() if s[1] == "task")


@pytest.fixture(scope="module")
def guessed(shared):
    """Launches that the file does not know."""
    records = []
    for i in range(20):
        records += [(T + 1000 * i, "cb", 1), (T + 1000 * i + 500, "ce"), (T + 1000 * i + 600, "cb", 2),
                    (T + 1000 * i + 700, "gpu", 0x1D00000000000001, 1, T + 1000 * i + 400, T + 1000 * i + 650), (T + 1000 * i + 750, "ce")]
    return put(f"{shared}/gpu", m.file([m.block(7, 0, records)], [(1, b"launch"), (2, b"reap")], (), T))


@pytest.fixture(scope="module")
def known(run, program, shared):
    run(program("MAKE_MODEL"), shared / "known", "rows")
    return f"{shared}/known"


def gpu_variants(log):
    found = {}
    for v in log.tasks.values():
        found.setdefault((log.kinds[v["task_id"]], log.variants[v["task_id"], v["variant_id"]]), []).append(v)
    return found


def test_gpu_work_has_a_variant_of_its_own(export, guessed):
    """Which leaves the statistics of the calls alone."""
    variants = gpu_variants(export(guessed))
    assert {k: len(v) for k, v in variants.items()} == {(b"launch", b"bgwork"): 20, (b"launch", b"gpu"): 20, (b"reap", b"bgwork"): 20}, variants.keys()
    assert all(v["create"] % 1000 == 0 and v["create"] < v["start"] for v in variants[b"launch", b"gpu"])


def test_launching_call_is_the_creator(export, known):
    """Where the file knows it; and created it when it did."""
    variants = gpu_variants(export(known))
    works, tasks = [[v for (_, name), some in variants.items() for v in some if (name == b"gpu") == gpu] for gpu in (True, False)]
    calls = {v["fevent"]: v for v in tasks}
    assert len(works) >= 72 and sum(v["creator"] in calls for v in works) >= 72, (len(works), sum(v["creator"] in calls for v in works))
    for v in works:
        by = calls.get(v["creator"])
        assert by is None or by["start"] <= v["create"] <= by["stop"] and v["create"] <= v["start"], (by, v)


@pytest.fixture(scope="module")
def returning(shared, golden, known):
    """Files that are read back, with their numbers of launches. What waited in a queue has the name of its work item, and is no call
    of it."""
    queued = [("enqueued", 4, 1), ("begun", 4, 2), ("thread", 1, 10), ("slot", 1, 0), ("from", 1, 0)]
    ranges_make.write(f"{shared}/waited", [b"x"], ("queued", queued, [(ranges_make.T0 + 20000, ranges_make.T0 + 20050, 7, 0, 8)]))
    nested = [r for i in range(9) for r in ((T + 99 * i, "cb", i % 2), (T + 99 * i, "fb", 3), (T + 99 * i + 7, "fb", 4), (T + 99 * i + 8, "fe"),
                                            (T + 99 * i + 40, "fe"), (T + 99 * i + 99, "ce"))]
    put(f"{shared}/nested", m.file([m.block(1, 0, nested)], [(0, b"w"), (1, b"v")], [(3, 1, b"s"), (4, 0, b"am")], T, 3))
    return ((known, 72), (f"{shared}/nested", 0), (f"{shared}/waited", 0), (golden / "multi_thread.bin", 0))


@pytest.fixture(scope="module")
def originals(content, returning):
    return [content(path) for path, _ in returning]


@pytest.mark.parametrize("version", ["1006", "1007", "1008", "1011"])
def test_read_back(export, content, work, returning, originals, version):
    """Counts, sums, names, what is a work item and what ran on a GPU, and both ends of each launch are those of the source. Sub-items
    lose their type; links of other kinds are reported as dropped."""
    for (path, launches), was in zip(returning, originals):
        export(path, version=version)
        now = content(*glob.glob(f"{work}/prof_*"))
        assert set(now[2]) <= set(was[2]), set(now[2]) - set(was[2]) # rows of tables may launch, too; they say not what
        for what, a, b in zip(("spans", "launches"), was, now):
            assert a == b, (version, path, what, len(a), len(b), [p for p in zip(a, b) if p[0] != p[1]][:3])
        assert len(now[1]) == len(now[2]) == launches, (len(now[1]), len(now[2]))


def test_guessed_launches_are_no_creators(rbwp, export, content, work, guessed):
    export(guessed)
    rbwp("merge", "--to=legion", "-f", "-o", f"{work}/prof_0.gz", guessed).says("legion: dropped 20 links")
    found = content(f"{work}/prof_0.gz")
    assert found[1:] == ([], []) and found[0] == content(guessed)[0]


def test_log_of_a_log_is_the_same_again(export, content, work, known):
    export(known)
    once = shutil.copy(f"{work}/prof_0.gz", f"{work}/once.gz")
    export(once)
    assert content(f"{work}/prof_0.gz") == content(once)


def test_two_profiles_of_one_node(export, work, guessed):
    """Exported apart, they are loaded together: no event is in both. Their numbers come from their names, so these must be the same in
    each run of the test."""
    both = legion_log.Log()
    for name in "gpu", "gpu2":
        shutil.copy(guessed, work / name)
        export(name, cwd=work)
        both.load((work / "prof_0.gz").read_bytes(), beside=True)
    assert len(both.check().spans()) == 120 and len(both.procs) == 3, both.procs


def test_random_nests(export, lines, work):
    """Nests, overlaps and points of many threads."""
    random.seed(9)
    spans = [{"ph": "X", "name": f"n{random.randrange(9)}", "ts": random.randrange(400), "dur": random.choice([0, 1, 3, 30, 200]), "pid": 1,
              "tid": random.randrange(3)} for _ in range(3000)]
    (work / "o.json").write_text(json.dumps(spans))
    log = export(work / "o.json")
    same(log, lines(work / "o.json"), log.files[0][4] or 0)
    assert {s[1] for s in log.spans()} == {"task", "call"}


def test_spans_before_the_zero_time(export, work):
    early = m.file([m.block(1, 0, [(T - 9, "cb", 0), (T - 5, "fb", 3), (T + 4, "fe"), (T + 5, "ce")])], [(0, b"w")], [(3, 1, b"s")], T, 3)
    assert [s[1:] for s in export(put(work / "early", early)).spans()] == [("call", "s", 0, 4), ("task", "w", 0, 5)]


@pytest.fixture(scope="module")
def nodes(shared):
    """Three of one run."""
    files = []
    for node in range(3):
        files.append(f"{shared}/n{node}")
        records = [m.block(t, 0, [(T + 10 * node + t, "cb", 0), (T + 50 + t, "ce")]) for t in range(1, 4)]
        put(files[-1], m.file(records, [(0, b"work")], (), T, 0, node))
    return files


def test_merged_with_a_log(export, lines, work, nodes):
    """Of one of them, whose real processors stay what they are."""
    cpu, gpu = legion_make.proc(1, 2), legion_make.proc(1, 3)
    rows = legion_make.head("A", 1, 3, T, "knot") + [
        ("ProcDesc", {"proc_id": cpu, "kind": 2}), ("ProcDesc", {"proc_id": gpu, "kind": 1}), ("TaskKind", {"task_id": 5, "name": "stencil"}),
        ("TaskInfo", {"op_id": 7, "task_id": 5, "proc_id": cpu, "start": 100, "stop": 900, "fevent": 5}),
        ("TaskWaitInfo", {"op_id": 7, "task_id": 5, "wait_start": 200, "wait_ready": 250, "wait_end": 300, "wait_event": 1}),
        ("RuntimeCallInfo", {"kind": 3, "proc_id": cpu, "start": 290, "stop": 400, "fevent": 5}),
        ("GPUTaskInfo", {"op_id": 8, "task_id": 5, "proc_id": gpu, "start": 500, "stop": 510, "gpu_start": 600, "gpu_stop": 700, "fevent": 6})]
    log_path = put(f"{work}/log", legion_make.log("A", rows))
    log = export(*nodes, log_path)
    same(log, lines(*nodes, log_path), T)
    assert [f[:2] + f[4:5] for f in log.files] == [(0, 3, T), (1, 3, T), (2, 3, T)]
    assert log.procs[cpu] == 2 and log.procs[gpu] == 1
    assert sorted(s[1] for s in log.spans() if s[0] == gpu) == ["gpu", "task"]


def test_same_name_has_the_same_number(export, nodes):
    """When nodes are exported apart."""
    one = {v: k for k, v in export(nodes[0]).kinds.items()}
    assert one == {v: k for k, v in export(nodes[1]).kinds.items()} and one


def test_nodes_are_read_back(export, lines, work, nodes):
    export(*nodes)
    back = lines(*sorted(glob.glob(f"{work}/prof_*")))
    assert sorted((s["start_ns"], s["duration_ns"]) for s in back) == sorted((s["start_ns"], s["duration_ns"]) for s in lines(*nodes))


def test_file_for_each_node(rbwp, work, nodes):
    rbwp("merge", "--to=legion", *nodes, code=2).says("cannot go to standard output")
    rbwp("merge", "--to=legion", "-o", work / "one.gz", *nodes, code=1).says("put a % where")
    rbwp("merge", "--to=legion", "--legion-version=7", "-o", work / "x", nodes[0], code=2)


def test_nothing_is_overwritten(rbwp, work, nodes):
    (work / "prof_0.gz").write_text("mine")
    rbwp("merge", "-o", work / "prof_%.gz", nodes[0], code=1).says("exists")
    assert (work / "prof_0.gz").read_text() == "mine"
    rbwp("merge", "-f", "-o", work / "prof_%.gz", nodes[0])


def places_in(text):
    """Of records, by kind: where each is and how many bytes."""
    dialect, version, kinds, at = legion_log.preamble(text)
    places = {}
    while at < len(text):
        for name, v in list(legion_log.records(text, kinds, at)):
            fields = next(kind[1] for kind in kinds.values() if kind[0] == name)
            size = 4 + sum(len(v[f]) + 1 if s == -1 else v["uuid_size"] if f == "uuid" else s for f, s in fields)
            places.setdefault(name, []).append((at, size))
            at += size
    return places


def test_the_judge_itself(rbwp, golden, work):
    """Each rule, broken, is seen."""
    rbwp("merge", "-f", "--to=legion", "-o", work / "prof_0.gz", golden / "level2_all_types.bin")
    whole = gzip.decompress((work / "prof_0.gz").read_bytes())
    places = places_in(whole)

    def broken(change):
        text = bytearray(whole)
        change(text)
        try:
            legion_log.Log().load(gzip.compress(bytes(text))).check()
        except ValueError as error:
            return str(error)
        return "not seen"

    def put(name, offset, value, size=8, which=0):
        def change(text):
            text[places[name][which][0] + offset:places[name][which][0] + offset + size] = value.to_bytes(size, "little")
        return change

    def drop(name):
        def change(text):
            del text[places[name][0][0]:sum(places[name][0])]
        return change

    assert broken(lambda t: None) == "not seen"
    assert "cut" in broken(lambda t: t.pop())
    assert "processor without" in broken(drop("ProcDesc"))
    assert "task without" in broken(drop("TaskKind"))
    assert "variant without" in broken(drop("TaskVariant"))
    assert "call without" in broken(drop("RuntimeCallDesc"))
    assert "no MachineDesc" in broken(drop("MachineDesc"))
    assert "times" in broken(put("TaskInfo", 52, 1))
    assert "call of no task" in broken(put("RuntimeCallInfo", 32, 1))
    assert "call outside" in broken(put("RuntimeCallInfo", 16, (1 << 63)))
    assert "call on another" in broken(put("RuntimeCallInfo", 24, 1))
    first = int.from_bytes(whole[places["TaskInfo"][0][0] + 76:places["TaskInfo"][0][0] + 84], "little")
    assert "event twice" in broken(put("TaskInfo", 76, first, which=1))
