#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - fuzzes with clang's libFuzzer, ASan and UBSan.
#
#   run.sh TARGET|all SECONDS   each target so long, as many at once as there are processors
#   run.sh TARGET|all merge     what was found becomes the corpus, without what adds nothing
#
# Built in $RBWP_FUZZ_DIR (default build/fuzz); what a run finds is kept there for the next one.
# A crash goes to tests/fuzz/crashes/TARGET/, where every later test run replays it, and the exit
# status is 1. A line of each target: runs, speed, edges covered, and the seed (RBWP_FUZZ_SEED gives it).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=${RBWP_FUZZ_DIR:-$root/build/fuzz}
export LC_ALL=C.UTF-8

usage() {
    sed -n '5,6s/^# *//p' "$0" >&2
    exit 2
}
[[ $# == 2 && ($2 == merge || $2 =~ ^[0-9]+$) ]] || usage

"$root/.ci/install_packages" clang-19 libclang-rt-19-dev cmake ninja-build pkg-config zlib1g-dev \
    libcmocka-dev
cmake -S "$root" -B "$dir" -G Ninja -DCMAKE_C_COMPILER=clang-19 -DCMAKE_BUILD_TYPE=Debug \
    '-DCMAKE_C_FLAGS_DEBUG=-O1 -g' -DBUILD_SHARED_LIBS=OFF -DRBWP_BUILD_TESTS=ON -DRBWP_FUZZ=ON \
    -DRBWP_SANITIZE=address,undefined,fuzzer-no-link >"$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }
cmake --build "$dir" --target fuzzers >"$dir.log" 2>&1 || { cat "$dir.log"; exit 1; }

bin=$dir/tests/fuzz
targets=()
for source in "$here"/fuzz_*.c; do
    target=$(basename "$source" .c)
    targets+=("${target#fuzz_}")
done
if [[ $1 != all ]]; then
    [[ -x $bin/fuzz_$1 ]] || { echo "no target '$1'; there are: ${targets[*]}" >&2; exit 2; }
    targets=("$1")
fi

# Whole files: those of the tests, and valid ones made for this.
files=$dir/files
if [[ ! -d $files ]]; then
    mkdir -p "$files"
    "$bin/fuzz_make_seeds" "$files" 48
    for file in "$root"/tests/golden/*.bin "$root"/tests/bad/*/input.bin; do
        cp "$file" "$files/$(basename "$(dirname "$file")")_$(basename "$file")"
    done
fi

seeds() {
    case $1 in
    reader | verify | tools | trace) echo "$files" ;;
    ptx) echo "$root/tests/ptx/corpus" ;;
    esac
}

limits=(-rss_limit_mb=2048 -malloc_limit_mb=40 -timeout=10 -close_fd_mask=2)

fuzz() {
    local target=$1 seconds=$2 inputs status=0
    mapfile -t inputs < <(seeds "$target")
    RBWP_FUZZ_CRASHES=$here/crashes/$target RBWP_FUZZ_OPTIONS=-use_value_profile=1 \
        "$here/one.sh" "$bin/fuzz_$target" "$seconds" "$dir/work/$target" "${inputs[@]}" || status=1
    rmdir --ignore-fail-on-non-empty "$here/crashes/$target"
    return "$status"
}

merge() {
    local target=$1
    rm -rf "$dir/merged"
    mkdir -p "$dir/merged"
    "$bin/fuzz_$target" -merge=1 "${limits[@]}" -max_len=4096 "$dir/merged" "$dir/work/$target/found" \
        "$here/corpus/$target" >"$dir/$target.log" 2>&1
    mkdir -p "$here/corpus/$target"
    cp -n "$dir"/merged/* "$here/corpus/$target/"
    du -sh "$here/corpus/$target"
}

if [[ $2 == merge ]]; then
    for target in "${targets[@]}"; do
        merge "$target"
    done
    exit
fi
rm -f "$dir/failed"
for target in "${targets[@]}"; do
    while (($(jobs -rp | wc -l) >= ${RBWP_JOBS:-$(nproc)})); do
        wait -n || true
    done
    fuzz "$target" "$2" || touch "$dir/failed" &
done
wait
[[ ! -e $dir/failed ]]
