# SPDX-License-Identifier: Apache-2.0
# Parquet files, read back by a strict reader of our own that was written from the specification,
# hold each span of the dump: times, names, parents; bounds and sums of every page are right. Arrays for NumPy
# (.npz), read back by another, hold what the Parquet file does: each column, the facts.
. "$(dirname "$0")/lib.sh"

"$PYTHON" - "$RBWP" "$GOLDEN" "$here" "$work" <<'P' || fail "parquet"
import os
import subprocess
import sys

rbwp, golden, here, work = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, here)
import check_parquet
import export_check as x
import npz_reader


def check_arrays(file, path, code):
    x.export(rbwp, path, f"{work}/out.npz", "-f", code=code)
    arrays = npz_reader.File(f"{work}/out.npz")
    for column in check_parquet.COLUMNS:
        want = file.column(column)
        found = arrays.columns.get(column)
        if found is None:  # no span has it
            assert not file.rows or set(want) == {None}, (path, column)
            continue
        found = [x.repaired(value) if isinstance(value, bytes) else value for value in found]
        assert found == want, (path, column, next(pair for pair in enumerate(zip(found, want)) if pair[1][0] != pair[1][1]))
    assert {key.decode(): x.repaired(value) for key, value in arrays.facts.items()} == file.facts, path
    return arrays


for path, code in x.golden_files(golden) + x.hard_files(work):
    file = check_parquet.check(rbwp, path, code, f"{work}/out.parquet")
    check_arrays(file, path, code)
    if path.endswith("many.bin"):
        assert len(file.groups) == 2 and file.rows == 136000
        assert file.columns[0].bound and min(file.groups[1]["start"]) > min(file.groups[0]["start"])

# Two nodes: two processes.
nodes = x.m.same_run(work, [f"{golden}/{n}.bin" for n in ("gaps", "straddle")])
done = x.export(rbwp, nodes[0], f"{work}/two.parquet", nodes[1])
two = check_parquet.parquet_reader.File(f"{work}/two.parquet")
assert two.rows == sum(len(x.expected(rbwp, f"{golden}/{n}.bin")) for n in ("gaps", "straddle"))
assert len(set(two.column("process"))) == 2 and len(set(two.column("id"))) == two.rows

# Columns that are the same in all rows of a track are not made row by row: they hold what csv does.
import csv

for path in nodes, [f"{golden}/gpu_work.bin"], [f"{golden}/multi_thread.bin"]:
    for kind in "parquet", "csv":
        x.export(rbwp, path[0], f"{work}/same.{kind}", "-f", *path[1:], kind=kind)
    file = check_parquet.parquet_reader.File(f"{work}/same.parquet")
    told = {int(row["id"]): row for row in csv.DictReader(open(f"{work}/same.csv"))}
    for name in "thread_id", "proc_id", "finished", "open", "item", "lane":
        for id, value in zip(file.column("id"), file.column(name)):
            assert told[id][name] == ("" if value is None else str(int(value))), (path, name, id, value, told[id])

# Facts that some spans have, arguments, what tracks know: in a file that has all of them.
subprocess.run([os.environ["MAKE_MODEL"], f"{work}/model.bin", "rows"], check=True)
x.export(rbwp, f"{work}/model.bin", f"{work}/model.parquet")
model = check_arrays(check_parquet.parquet_reader.File(f"{work}/model.parquet"), f"{work}/model.bin", 0)
assert {"launch", "correlation", "certain_ns", "args", "own_category", "stream"} <= set(model.columns), sorted(model.columns)

# Some columns only: the same ones; an unknown one, and formats that have none, are refused.
x.export(rbwp, f"{work}/model.bin", f"{work}/some.npz", "--columns=name,start,args")
some = npz_reader.File(f"{work}/some.npz")
assert list(some.columns) == ["start", "name", "args"] and all(some.columns[c] == model.columns[c] for c in some.columns)
x.export(rbwp, f"{work}/model.bin", f"{work}/some.parquet", "--columns=name,start")
some = check_parquet.parquet_reader.File(f"{work}/some.parquet")
assert [c.name for c in some.columns] == ["start", "name"] and some.column("start") == model.columns["start"]
for words, said in (("-tnpz", "--columns=start,nam"), b"'nam', which is no column"), (("-tnpz", "--columns="), b"'', which is"), (("-tcsv", "--columns=start"), b"not for csv"):
    assert said in x.export(rbwp, f"{work}/model.bin", "-", *words, code=2).stderr

# A table that says not how to show it has a file of its own; of its name only what any file system takes.
import ranges_make

ranges_make.write(f"{work}/own.bin", [b"x"], ("a/b.c\u00e9-1", [("n", 1, 0)], [(5,), (7,)]), ("plain", [("n", 1, 0)], [(9,)]))
x.export(rbwp, f"{work}/own.bin", f"{work}/own.parquet")
own = {name: check_parquet.parquet_reader.File(f"{work}/{name}").column("n") for name in os.listdir(work) if name.startswith("own.") and name.endswith(".parquet") and name != "own.parquet"}
assert own == {"own.a_b_c__-1.parquet": [5, 7], "own.plain.parquet": [9]}, own

# A window without spans is no mistake of who asked for arrays: they are empty, and all there.
x.export(rbwp, f"{golden}/gaps.bin", f"{work}/none.npz", "--until=1")
none = npz_reader.File(f"{work}/none.npz")
assert none.rows == 0 and {c for c in check_parquet.COLUMNS[:16] if c != "parent"} == set(none.columns), sorted(none.columns)
P

# Through a pipe it is the same file; what exists is left alone; a text is no reason for a file.
expect_exit 0 "$RBWP" export --to parquet -o "$work/a.parquet" "$GOLDEN/multi_thread.bin"
"$RBWP" export --to parquet "$GOLDEN/multi_thread.bin" | cmp - "$work/a.parquet" || fail "pipe"
expect_exit 0 "$RBWP" export -o "$work/a.npz" "$GOLDEN/multi_thread.bin"
"$RBWP" export --to npz "$GOLDEN/multi_thread.bin" | cmp - "$work/a.npz" || fail "pipe of arrays"
expect_exit 1 "$RBWP" export -o "$work/a.parquet" "$GOLDEN/multi_thread.bin"
expect_error "exists"
for bad in "$GOLDEN/README.md" /dev/null "$work/no_files" "$work/nothing"; do
    expect_exit 1 "$RBWP" export -o "$work/none.parquet" "$bad"
    expect_one_line
    [ ! -e "$work/none.parquet" ] || fail "a file was made of $bad"
done
[ ! -e /dev/full ] || { expect_exit 1 "$RBWP" export --to npz -f -o /dev/full "$GOLDEN/multi_thread.bin" && expect_error "cannot be written"; }
[ ! -e /dev/full ] || { expect_exit 1 "$RBWP" export --to parquet -f -o /dev/full "$GOLDEN/multi_thread.bin" && expect_error "cannot be written"; }
finish
