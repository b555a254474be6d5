#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - fuzzes with clang's libFuzzer, ASan and UBSan.
#
#   run.sh TARGET|all SECONDS   each target so long, one after the other
#   run.sh TARGET|all merge     what was found becomes the corpus, without what adds nothing
#
# Built in $RBWP_FUZZ_DIR (default build/fuzz); what a run finds is kept there for the next one.
# A crash goes to tests/fuzz/crashes/TARGET/, where every later test run replays it, and the exit
# status is 1. The last lines are a table: runs, speed, edges covered.
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

"$root/.ci/install_packages" clang libclang-rt-14-dev cmake ninja-build pkg-config zlib1g-dev \
    libcmocka-dev
cmake -S "$root" -B "$dir" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
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
    local folder
    for folder in "$here/corpus/$1" "$here/crashes/$1"; do
        [[ ! -d $folder ]] || echo "$folder"
    done
    case $1 in
    reader | verify | tools) echo "$files" ;;
    ptx) echo "$root/tests/ptx/corpus" ;;
    esac
}

# Words of the target: files and their parts, or command lines.
dictionary() {
    case $1 in
    flags | node | options | pattern) echo "$here/words.dict" ;;
    ptx) echo "$here/ptx.dict" ;;
    *) echo "$here/rbwp.dict" ;;
    esac
}

# Standard error is closed for the commands, which tell much of hostile files; reports come through.
limits=(-rss_limit_mb=2048 -malloc_limit_mb=40 -timeout=10 -close_fd_mask=2)

fuzz() {
    local target=$1 seconds=$2 log=$dir/$1.log seed_folders
    mapfile -t seed_folders < <(seeds "$target")
    mkdir -p "$dir/found/$target" "$here/crashes/$target"
    local status=0
    "$bin/fuzz_$target" -max_total_time="$seconds" "${limits[@]}" -max_len=65536 -use_value_profile=1 \
        -dict="$(dictionary "$target")" -artifact_prefix="$here/crashes/$target/" \
        -print_final_stats=1 "$dir/found/$target" "${seed_folders[@]}" >"$log" 2>&1 || status=$?
    rmdir --ignore-fail-on-non-empty "$here/crashes/$target"
    local edges runs speed peak
    edges=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9 || true)
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    local all
    all=$(sed -n 's/^INFO: Loaded 1 modules *(\([0-9]*\) .*/\1/p' "$log")
    printf '%-12s %10s runs %8s/s %6s of %6s edges %5s MB  %s\n' "$target" "${runs:-?}" \
        "${speed:-?}" "${edges:-?}" "${all:-?}" "${peak:-?}" "$( ((status)) && echo FAILED || echo ok)"
    ((status == 0)) || grep -v '^#[0-9]' "$log" | tail -n 40
    return "$((status != 0))"
}

merge() {
    local target=$1 seed_folders
    mapfile -t seed_folders < <(seeds "$target")
    rm -rf "$dir/merged"
    mkdir -p "$dir/merged"
    "$bin/fuzz_$target" -merge=1 "${limits[@]}" -max_len=4096 "$dir/merged" "$dir/found/$target" \
        "$here/corpus/$target" >"$dir/$target.log" 2>&1
    mkdir -p "$here/corpus/$target"
    cp -n "$dir"/merged/* "$here/corpus/$target/"
    du -sh "$here/corpus/$target"
}

failed=0
for target in "${targets[@]}"; do
    if [[ $2 == merge ]]; then
        merge "$target"
    else
        fuzz "$target" "$2" || failed=1
    fi
done
exit "$failed"
