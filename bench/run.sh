#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [--store] [ROUNDS] - builds the benchmarks and runs them all. What stands in one line, or
# under one heading, was measured in turns within one run; compare nothing else. Lines "target" have
# what is to be reached, and whether it is; those that are missed stand once more at the end.
#
# --store keeps the output as bench/results/run.txt, and makes docs/figures.md of it.
set -euo pipefail
cd "$(dirname "$0")/.."
store=
[[ ${1:-} != --store ]] || { store=1 && shift; }
rounds=${1:-5}
dir=${RBWP_BENCH_DIR:-build/bench}
[[ ! -e $dir/CMakeCache.txt ]] || [[ -e $dir/build.ninja ]] || rm -rf "$dir" # of another generator
cmake -S . -B "$dir" -G Ninja -DRBWP_BUILD_BENCH=ON -DRBWP_BUILD_EXAMPLES=ON >/dev/null
cmake --build "$dir" -j "$(nproc)" >/dev/null

# heading WHAT; program NAME ARGUMENT...
heading() { printf '\n== %s\n' "$1"; }
program() { "$dir/bench/bench_$1" "${@:2}" || echo "bench_$1 ended with $?"; }

# What a span of a real program takes in a Parquet file: of bgpack, with a folder that has many files.
parquet_bytes() {
    local work rows
    work=$(mktemp -d)
    "$dir/examples/bgpack" -bgwork 3 -bgworkprofile 2 -bgworkprofile_logfile "$work/pack.bin" /usr/include "$work/pack.tar.gz" >/dev/null &&
        "$dir/tools/rbwp" export -o "$work/pack.parquet" "$work/pack.bin" 2>/dev/null &&
        rows=$("$dir/tools/rbwp" export --to ndjson "$work/pack.bin" 2>/dev/null | wc -l) && ((rows > 0)) &&
        python3 -B bench/figure.py "a span of bgpack in Parquet" \
            "$(awk "BEGIN {print $(stat -c %s "$work/pack.parquet") / $rows}")" bytes at most 4 || echo "bgpack could not be exported"
    rm -r "$work"
}

all() {
    echo "machine    $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "compiler   $(cc --version | head -1)"
    echo "date       $(date -u +%F)"
    echo "commit     $(git rev-parse --short HEAD 2>/dev/null || echo none)"
    heading recording
    program record "$rounds"
    heading "the clock beside the system's"
    program drift 15
    heading 'work manager'
    program work "$rounds"
    heading dump
    program dump "$dir/tools/rbwp"
    heading export
    program export "$dir/tools/rbwp"
    parquet_bytes
    heading 'sums and time windows'
    program sums "$dir/tools/rbwp" "$dir/bench/make_profile"
    heading tables
    program table
    program model
    heading archives
    "$dir/bench/make_profile" "$dir/mixed.bin" 4 >/dev/null
    program archive "$dir/mixed.bin"
    rm "$dir/mixed.bin"
    heading 'flight recorder'
    program keep
    heading 'a family of processes'
    program family "$dir/tools/rbwp"
    heading 'rbwp top'
    program top "$dir/tools/rbwp"
    heading 'queue delay'
    program queue
    heading why
    python3 -B bench/why.py "$dir/tools/rbwp" "$dir/bench/make_profile" || echo "why.py ended with $?"
    heading 'what if'
    python3 -B bench/what_if.py "$dir/bench/bench_what_if" "$dir/tools/rbwp" || echo "what_if.py ended with $?"
    heading 'arguments and counters'
    program args
    heading ranges
    program range
    heading 'calls that may block'
    program threads compare "$dir/librbwp-threads.so" 60
    heading 'programs nobody changed'
    python3 -B bench/mpi_cost.py "$dir/librbwp-threads.so" || echo "mpi_cost.py ended with $?"
    python3 -B bench/openmp_cost.py "$dir/librbwp-ompt.so" || echo "openmp_cost.py ended with $?"
    python3 -B bench/redis_cost.py "$dir/tools/rbwp" || echo "redis_cost.py ended with $?"
    RBWP_LIBRARY=$(realpath "$dir/librbwp.so") python3 -B bench/python_item.py || echo "python_item.py ended with $?"
    python3 -B bench/cpu_times.py "$dir/tools/rbwp" || echo "cpu_times.py ended with $?"
    python3 -B bench/python_look.py "$dir/tools/rbwp" || echo "python_look.py ended with $?"
    heading messages
    program message
    # Under each MPI library that is here.
    for bench in "$dir"/bench/bench_message_mpi-*; do
        flavour=${bench##*-} options=()
        [[ $flavour != openmpi ]] || options=(--allow-run-as-root --oversubscribe --bind-to none)
        [[ ! -x $bench ]] || { echo "$flavour" && "mpiexec.$flavour" "${options[@]}" -n 2 "$bench" || echo "it ended with $?"; }
    done
    heading partitioning
    program partition
    heading 'a job of four nodes'
    bench/stencil_cost.sh "$rounds" "$dir/examples/stencil" || echo "stencil_cost.sh ended with $?"
    heading 'probes in PTX'
    program ptx
    heading 'lanes of kernels'
    program lanes "$dir/tools/rbwp"
    heading 'jobs of many nodes'
    python3 -B bench/many_files.py "$dir/tools/rbwp" "$dir/bench/make_job" || echo "many_files.py ended with $?"
}

output=$dir/run.txt
began=$SECONDS
all | tee "$output"
printf '\n== summary\n'
python3 -B bench/figures.py summary "$output"
echo "it took $((SECONDS - began)) s"
[[ ! $store ]] || { cp "$output" bench/results/run.txt && python3 -B bench/figures.py write; }
