# SPDX-License-Identifier: Apache-2.0
# A folder of Parquet files, one a node, holds what one file of all nodes does: the same spans, at the same times,
# each in the file of its node; several processes that make a part each make the whole.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
check "making a job" "$MAKE_JOB" -c 3 -o 100000 -d 20000 -r 60 -s 2 job 5
export_job() { expect_exit 0 "$RBWP" export --no-progress --to parquet "$@" job; }
cat >same.py <<'P'
import pathlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import check_parquet
def rows(path):
    file = check_parquet.parquet_reader.File(str(path))
    return list(zip(*(file.column(name) for name in ("process", "track", "name", "start", "duration_ns", "depth"))))
whole, parts = rows("whole.parquet"), sorted(pathlib.Path(sys.argv[2]).glob("node=*/*.parquet"))
assert [str(part.relative_to(sys.argv[2])) for part in parts] == [f"node={node}/part.parquet" for node in range(5)], parts
assert "node" not in check_parquet.parquet_reader.File(str(parts[0])).groups[0]
found = []
for node, part in enumerate(parts):
    assert rows(part) and all(row[0].endswith(f"node {node}") for row in rows(part)), part
    found += rows(part)
assert len(found) == len(whole) and sorted(found) == sorted(whole)
P
summary() {
    "$PYTHON" -c 'import json, os, sys; files = json.load(sys.stdin)["files"]
assert len(files) == 5 and all(file["bytes"] == os.path.getsize(file["file"]) and file["spans"] for file in files), files' <"$work/out" || fail "what was written"
}
same() { check "$1 is not the whole" "$PYTHON" same.py "$here" "$1"; }
export_job -o whole.parquet
export_job --json -o all/
summary
same all
for part in 0 1 2; do
    export_job -o shards/ --shard $part/3
done
same shards

# Files are not written over unless that is said; a folder that is there is one; two files of a node.
expect_exit 1 "$RBWP" export --no-progress --to parquet -o all job
expect_error "all/node=0/part.parquet: exists; give -f to overwrite it"
export_job -f -o all
same all
expect_exit 0 "$RBWP" merge --no-progress --align start --to parquet -o two/ "$GOLDEN/gaps.bin" "$GOLDEN/straddle.bin"
[ "$(cd two && echo */*)" = "node=0/part-1.parquet node=0/part.parquet" ] || fail "two files of a node: $(cd two && echo */*)"
expect_exit 1 "$RBWP" export --no-progress --to parquet -o a/b/c/ job
expect_error "a/b/c/: cannot be made: No such file or directory"

# What the filters leave out of a node is no error: its file has no rows.
export_job -o window/ --slot messages --from +0 --until +30us
[ "$(ls window/node=*/part.parquet | wc -l)" -eq 5 ] || fail "not five files"
finish
