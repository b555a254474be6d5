#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# rust.sh BUILD [short] - the crates rust/rbwp and rust/rbwp-tracing with Debian's cargo, without a network: their examples' calls and sub-items
# are as many as these count, under the threads' names, with arguments; nothing is lost where they kill themselves; a wrong flag is refused
# in one line; without a flag there is no file; all of it once more with the static library. Then what a call costs, and a span of
# tracing, plain, off, at level 1 and at level 2, in turns. short (./check): the first crate with
# the shared library alone, and no costs.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
kinds=(shared static) turns=(1 2 3)
[[ ${2:-} != short ]] || kinds=(shared) turns=()
rbwp=$build/tools/rbwp
cargo=$(PATH=/usr/bin:$PATH command -v cargo) || { echo "skipped: cargo is not installed (Debian: cargo, rustc)"; exit 77; }
[[ $cargo != /usr/bin/cargo ]] || export RUSTC=/usr/bin/rustc
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$source"/rust/rbwp{,-tracing} "$folder" # cargo writes Cargo.lock beside Cargo.toml
cd "$folder"

fail() { echo "rust: $*"; exit 1; }

# counts FILE: calls and sub-items that began.
counts() {
    "$rbwp" stats --json "$1" | python3 -c 'import json, sys
rows = json.load(sys.stdin)
print(*(sum(row["count"] + row["open"] for row in rows[name]) for name in ("work_items", "sub_items")))'
}

# build CRATE KIND
build() {
    RBWP_LIB_DIR=$build RBWP_STATIC=$([[ $2 == static ]] && echo 1 || echo 0) "$cargo" build --quiet --offline --release --examples \
        --manifest-path "$1/Cargo.toml" --target-dir "$2"
}

# counted KIND EXAMPLE: it records what it counts, also where it kills itself, under its threads' names and with its arguments.
counted() {
    local example=$1/release/examples/$2 linked=static began
    [[ $(ldd "$example") != *librbwp.so* ]] || linked=shared
    [[ $linked == "$1" ]] || fail "$1: the program is linked with the $linked library"
    began=$("$example" -bgworkprofile 2 -bgworkprofile_logfile "$1.bin")
    [[ $began == "$3" && $(counts "$1.bin") == "$began" ]] || fail "$1: $began began, $(counts "$1.bin") recorded"
    "$rbwp" check "$1.bin" >/dev/null
    # A name of a thread that had no turn is not there.
    "$rbwp" info "$1.bin" | grep ' worker [01]$' >/dev/null || fail "$1: threads have no names"
    "$rbwp" stats --json --by arg:tenant "$1.bin" | grep '"name":"6"' >/dev/null || fail "$1: no argument"
    began=$("$example" kill -bgworkprofile 2 -bgworkprofile_logfile killed.bin) && fail "$1: it lives"
    "$rbwp" repair killed.bin -o whole.bin >/dev/null
    [[ $began == "$3" && $(counts whole.bin) == "$began" ]] || fail "$1, killed: $began began, $(counts whole.bin) recorded"
}

for kind in "${kinds[@]}"; do
    build rbwp "$kind"
    pool=$kind/release/examples/pool
    counted "$kind" pool "1000 2000"
    said=$("$pool" -bgworkprofile 7 2>&1) && fail "$kind: level 7 is good"
    [[ $said == 'not recorded: flag -bgworkprofile'* && $(wc -l <<<"$said") == 1 ]] || fail "$kind: $said"
    rm -f ./*.bin*
    "$pool" >/dev/null && ! ls ./*.bin 2>/dev/null || fail "$kind: a file without a flag"
done
for turn in "${turns[@]}"; do
    for level in 0 1 2; do
        echo "turn $turn, level $level: $(shared/release/examples/cost -bgworkprofile $level -bgworkprofile_logfile cost.bin)"
    done
done

[[ ${2:-} != short ]] || { echo "rust: the first crate passed"; exit 0; }
registry=/usr/share/cargo/registry
ls -d $registry/tracing-subscriber-* $registry/tracing-0* >/dev/null ||
    { echo "skipped: spans of tracing (Debian: librust-tracing-dev, librust-tracing-subscriber-dev); all before passed"; exit 77; }
mkdir -p .cargo
printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "%s"\n' $registry >.cargo/config.toml
for kind in "${kinds[@]}"; do
    build rbwp-tracing "$kind"
    counted "$kind" spans "999 1899"
    for argument in size:-3 file:orders.csv "part:(1, 2)"; do
        "$rbwp" stats --json --by "arg:${argument%:*}" "$kind.bin" | grep -F "\"name\":\"${argument#*:}\"" >/dev/null || fail "$kind: no argument $argument"
    done
    "$rbwp" stats --json "$kind.bin" | python3 -c 'import json, sys
stats = json.load(sys.stdin)
assert [row["name"] for row in stats["sub_items"]] == ["parse"], stats["sub_items"]' || fail "$kind: two places of one name"
    rm -f ./*.bin*
done
for turn in "${turns[@]}"; do
    echo "turn $turn, tracing alone: $(shared/release/examples/spans cost plain)"
    for level in 0 1 2; do
        echo "turn $turn, level $level: $(shared/release/examples/spans cost -bgworkprofile $level -bgworkprofile_logfile cost.bin)"
    done
done
echo "rust: all passed"
