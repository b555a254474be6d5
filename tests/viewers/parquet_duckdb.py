# SPDX-License-Identifier: Apache-2.0
"""parquet_duckdb.py RBWP GOLDEN QUERY MODULES WORK MAKE_MODEL: see parquet_duckdb.sh."""

import json
import os
import subprocess
import sys

rbwp, golden, query, modules, work, make_model = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cli"))
import export_check as x


def ask(*queries):
    done = subprocess.run(["node", query, modules, *queries], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


TYPES = dict(start="TIMESTAMP_NS", duration_ns="BIGINT", process="VARCHAR", track="VARCHAR", track_kind="VARCHAR", category="VARCHAR", name="VARCHAR",
             depth="UINTEGER", lane="UINTEGER", item="UINTEGER", id="UBIGINT", parent="UBIGINT", finished="BOOLEAN", instant="BOOLEAN",
             open="BOOLEAN", node="UINTEGER", process_id="UBIGINT", os_thread_id="UBIGINT", thread_id="UBIGINT", proc_id="UBIGINT", stream="UBIGINT", correlation="UBIGINT",
             launch="TIMESTAMP_NS", launch_thread_id="UBIGINT", launch_span="UBIGINT", launch_inferred="BOOLEAN", start_uncertain_ns="UBIGINT",
             stop_uncertain_ns="UBIGINT", certain_ns="UBIGINT", own_category="VARCHAR", args="VARCHAR")

for path, code in x.golden_files(golden) + x.hard_files(work):
    want = x.expected(rbwp, path, code)
    out = f"{work}/out.parquet"
    x.export(rbwp, path, out, "-f", code=code, kind="parquet")
    table = f"'{out}'"
    types, (totals,), names, facts, whole = ask(
        f"DESCRIBE SELECT * FROM {table}",
        f"SELECT count(*) AS n, count(DISTINCT id) AS ids, count(parent) AS parents, sum(parent)::VARCHAR AS parent_sum, sum(duration_ns) FILTER (finished) AS sum,"
        f" min(epoch_ns(start)) AS first, max(epoch_ns(start)) AS last, count(*) FILTER (NOT finished) AS open, bool_or(instant) AS instant FROM {table}",
        f"SELECT category, name, count(*) AS n FROM {table} GROUP BY ALL",
        f"SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata({table})",
        f"SELECT sum(hash(t)) AS h FROM {table} AS t")
    assert {t["column_name"]: t["column_type"] for t in types} == TYPES, types
    number = lambda key: None if totals[key] is None else int(totals[key])
    assert number("n") == number("ids") == len(want), (path, totals)
    parents = [s[3] for s in want.values() if s[3] is not None]
    assert (number("parents"), number("parent_sum") or 0) == (len(parents), sum(parents)), (path, totals)
    lengths = [min(s[1], 2**63 - 1) for s in want.values() if s[1] is not None]
    assert (number("sum") or 0) == sum(lengths) and number("open") == len(want) - len(lengths), (path, totals)
    if not path.endswith("far.bin") and not path.endswith("gpu_work.bin"):  # beyond what DuckDB has dates for
        assert (number("first"), number("last")) == (min((s[0] for s in want.values()), default=None), max((s[0] for s in want.values()), default=None)), (path, totals)
    counts = {}
    for _, _, name, _, category in want.values():
        counts[category, x.repaired(name)] = counts.get((category, x.repaired(name)), 0) + 1
    assert {(r["category"], r["name"]): int(r["n"]) for r in names} == counts, path
    assert {f["key"]: f["value"] for f in facts}["process.0.file"] == path
    if path.endswith("many.bin"):
        (groups,), (few,) = ask(
            f"SELECT count(DISTINCT row_group_id) AS n, sum(row_group_num_rows) FILTER (column_id = 0) AS rows FROM parquet_metadata({table})",
            f"SELECT count(*) AS n FROM {table} WHERE start >= (SELECT max(start) FROM {table})")
        assert int(groups["n"]) == 2 and int(groups["rows"]) == len(want), groups
        begins = [s[0] for s in want.values()]
        assert int(few["n"]) == begins.count(max(begins))

# A folder of files, one a node: the node is a column, from the path.
nodes = x.m.same_run(work, [f"{golden}/{name}.bin" for name in ("gaps", "straddle", "multi_thread")])
x.export(rbwp, nodes[0], f"{work}/parts/", *nodes[1:], kind="parquet")
types, found = ask(f"DESCRIBE SELECT * FROM read_parquet('{work}/parts/*/*.parquet', hive_partitioning = true)",
                   f"SELECT node::INT AS node, count(*)::INT AS n FROM read_parquet('{work}/parts/*/*.parquet', hive_partitioning = true) GROUP BY node ORDER BY node")
assert [t["column_name"] for t in types].count("node") == 1, types
assert found == [dict(node=node, n=len(x.expected(rbwp, path))) for node, path in enumerate(nodes)], found

# A file's own tables, each a Parquet file beside that of spans.
subprocess.run([make_model, f"{work}/rows.bin", "rows"], check=True)
x.export(rbwp, f"{work}/rows.bin", f"{work}/rows.parquet", "-f", kind="parquet")
setting, odd = f"'{work}/rows.setting.parquet'", f"'{work}/rows.Setting.parquet'"
types, rows, odd_types, odd_rows = ask(
    f"DESCRIBE SELECT * FROM {setting}", f'SELECT process, "row"::INT AS n, name, value::INT AS value, epoch_ns(since)::VARCHAR AS since, decode("text") AS t FROM {setting} ORDER BY n',
    f"DESCRIBE SELECT * FROM {odd}", f'SELECT row_2::VARCHAR AS u, isnan(_2) AS nan, "a""b" AS name, "A""B_2"::INT AS other, _2_2::INT AS d FROM {odd} ORDER BY "row"')
assert [t["column_type"] for t in types] == ["VARCHAR", "UBIGINT", "VARCHAR", "BIGINT", "TIMESTAMP_NS", "BLOB"], types
assert rows == [dict(process="node 0", n=n, name="limit", value=1 - n, since=str(1700000000000000000), t="a,b") for n in (1, 2)], rows
assert [t["column_type"] for t in odd_types] == ["VARCHAR", "UBIGINT", "UBIGINT", "DOUBLE", "VARCHAR", "UBIGINT", "UBIGINT"], odd_types
assert odd_rows == [dict(u=str(2**64 - 1), nan=True, name=None, other=None, d=5), dict(u="1", nan=False, name="limit", other=1, d=6)], odd_rows

