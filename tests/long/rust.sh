#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# rust.sh BUILD - the crate rust/rbwp with Debian's cargo, without a network: its example's calls and sub-items are as many as it
# counts, under the threads' names, with arguments; nothing is lost where it kills itself; a wrong flag is refused in one line; without a
# flag there is no file; all of it once more with the static library. Then what a call costs, off, at level 1 and at level 2, in turns.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
rbwp=$build/tools/rbwp
cargo=$(PATH=/usr/bin:$PATH command -v cargo) || { echo "skipped: cargo is not installed (Debian: cargo, rustc)"; exit 77; }
[[ $cargo != /usr/bin/cargo ]] || export RUSTC=/usr/bin/rustc
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$source/rust/rbwp" "$folder/crate" # cargo writes Cargo.lock beside Cargo.toml
cd "$folder"

fail() { echo "rust: $*"; exit 1; }

# counts FILE: calls and sub-items that began.
counts() {
    "$rbwp" stats --json "$1" | python3 -c 'import json, sys
rows = json.load(sys.stdin)
print(*(sum(row["count"] + row["open"] for row in rows[name]) for name in ("work_items", "sub_items")))'
}

for kind in shared static; do
    static=$([[ $kind == static ]] && echo 1 || echo 0)
    RBWP_LIB_DIR=$build RBWP_STATIC=$static "$cargo" build --quiet --offline --release --examples --manifest-path crate/Cargo.toml --target-dir "$kind"
    pool=$kind/release/examples/pool
    ldd "$pool" | grep -q librbwp.so && linked=shared || linked=static
    [[ $linked == "$kind" ]] || fail "$kind: the program is linked with the $linked library"
    began=$("$pool" -bgworkprofile 2 -bgworkprofile_logfile "$kind.bin")
    [[ $began == "1000 2000" && $(counts "$kind.bin") == "$began" ]] || fail "$kind: $began began, $(counts "$kind.bin") recorded"
    "$rbwp" check "$kind.bin" >/dev/null
    # A name of a thread that had no turn is not there.
    "$rbwp" info "$kind.bin" | grep -q ' worker [01]$' || fail "$kind: threads have no names"
    "$rbwp" stats --json --by arg:tenant "$kind.bin" | grep -q '"name":"6"' || fail "$kind: no argument"
    began=$("$pool" kill -bgworkprofile 2 -bgworkprofile_logfile killed.bin) && fail "$kind: it lives"
    "$rbwp" repair killed.bin -o whole.bin >/dev/null
    [[ $began == "1000 2000" && $(counts whole.bin) == "$began" ]] || fail "$kind, killed: $began began, $(counts whole.bin) recorded"
    said=$("$pool" -bgworkprofile 7 2>&1) && fail "$kind: level 7 is good"
    [[ $said == 'not recorded: flag -bgworkprofile'* && $(wc -l <<<"$said") == 1 ]] || fail "$kind: $said"
    rm -f ./*.bin*
    "$pool" >/dev/null && ! ls ./*.bin 2>/dev/null || fail "$kind: a file without a flag"
done
for turn in 1 2 3; do
    for level in 0 1 2; do
        echo "turn $turn, level $level: $(shared/release/examples/cost -bgworkprofile $level -bgworkprofile_logfile cost.bin)"
    done
done
echo "rust: all passed"
