#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# libuv.sh BUILD - contrib/libuv: Debian's libuv with the cookbook's patch in place of the one that a program is linked with. As many calls
# as the program counts, also where it kills itself; each with its time in the queue; what is cancelled is none; what the program does is the
# same without a recording. What a piece of work costs, in turns. Then Node's pool by rbwp record, if node is here. Fetches libuv's source.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
top=$here/../..
build=$(realpath "$1")
rbwp=$build/tools/rbwp
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "libuv: $*"; exit 1; }

# The patch leaves the headers as they are, so the program is one of Debian's library.
patched=$("$top/tests/cookbook/debian_source.sh" libuv1 "$folder/patched" "$top/tests/cookbook/libuv.patch")
RBWP_BUILD=$build "$top/contrib/libuv/build.sh" "$patched" "$folder/lib" >/dev/null
program=$folder/libuv_pool
gcc -O1 "$here/libuv_pool.c" -I"$patched/include" -l:libuv.so.1 -o "$program"
cd "$folder"

recorded() { LD_LIBRARY_PATH=$folder/lib RBWP_FLAGS="-bgworkprofile 2 -bgworkprofile_logfile uv.bin" "$@"; }

# counts FILE: calls of cpu work and file work, and how many have a time in the queue.
counts() {
    "$rbwp" stats --json "$1" | python3 -c 'import json, sys
found = json.load(sys.stdin)
rows = {row["name"]: row["count"] + row["open"] for row in found["work_items"]}
print(rows.get("cpu work", 0), rows.get("file work", 0), sum(row["count"] for row in found["queued"]))'
}

read -r begun stated cancelled <<<"$(recorded "$program" 5000)"
[[ $stated == 5000 && $((begun + cancelled)) == 5000 ]] || fail "the program did $begun, $stated, $cancelled"
[[ $(counts uv.bin) == "$begun 5000 $((begun + 5000))" ]] || fail "$begun and 5000 were done, recorded: $(counts uv.bin)"
"$rbwp" check uv.bin >/dev/null
begun=$(recorded "$program" 5000 kill) && fail "it lives"
"$rbwp" repair uv.bin -o whole.bin >/dev/null 2>&1
read -r more _ <<<"$(counts whole.bin)"
((more >= begun && more <= begun + 3)) || fail "$begun had begun, recorded: $more" # begun, and not counted yet
rm -f ./*.bin*
LD_LIBRARY_PATH=$folder/lib "$program" 1000 >/dev/null && ! ls ./*.bin 2>/dev/null || fail "a file without flags"
python3 - "$program" "$folder" <<'END'
import os, subprocess, sys, time
program, folder = sys.argv[1:]
kinds = {"plain": {},
         "recorded": {"LD_LIBRARY_PATH": f"{folder}/lib", "RBWP_FLAGS": f"-bgworkprofile 2 -bgworkprofile_logfile {folder}/cost.bin"}}
took = {kind: [] for kind in kinds}
for _ in range(9):
    for kind, variables in kinds.items():
        begin = time.monotonic(), sum(os.times()[2:4])
        subprocess.run([program, "20000"], env={**os.environ, **variables}, check=True, stdout=subprocess.DEVNULL)
        took[kind].append((time.monotonic() - begin[0], sum(os.times()[2:4]) - begin[1]))
for kind, times in took.items():
    wall, cpu = (min(column) * 1e9 / 40000 for column in zip(*times))
    print(f"a piece of work, from uv_queue_work or uv_fs_stat to its callback, {kind}: {wall:.0f} ns, CPU time of all threads {cpu:.0f} ns")
END
if command -v node >/dev/null; then
    RBWP_THREADS=$build/librbwp-threads.so "$rbwp" record --what threads -o node.bin -- \
        node -e 'for (let i = 0; i < 40; i++) require("crypto").pbkdf2("a", "b", 20000, 32, "sha256", () => {})' >/dev/null 2>&1
    busy=$("$rbwp" stats --json node.bin | python3 -c 'import json, sys
print(sum(row["running"] > 1e6 for row in json.load(sys.stdin)["threads"]))')
    ((busy >= 4)) || fail "Node's pool has four threads, and $busy of all ran"
else
    echo "skipped: Node's pool: node is not installed"
fi
echo "libuv: all passed"
