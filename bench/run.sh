#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [ROUNDS] - builds the benchmarks and runs them all. What stands in one line, or under one
# heading, was measured in turns within one run; compare nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
dir=${RBWP_BENCH_DIR:-build/bench}
cmake -S . -B "$dir" -DRBWP_BUILD_BENCH=ON -DRBWP_BUILD_EXAMPLES=ON >/dev/null
cmake --build "$dir" -j "$(nproc)" >/dev/null

echo "machine    $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) CPUs, load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "compiler   $(cc --version | head -1)"
echo "commit     $(git rev-parse --short HEAD 2>/dev/null || echo none)"
echo
echo "== recording"
"$dir/bench/bench_record" "$rounds"
echo
echo "== work manager"
"$dir/bench/bench_work" "$rounds"
echo
echo "== dump"
"$dir/bench/bench_dump" "$dir/tools/rbwp"

echo
echo "== export"
"$dir/bench/bench_export" "$dir/tools/rbwp"

echo
echo "== tables"
"$dir/bench/bench_table"
"$dir/bench/bench_model"

echo
echo "== flight recorder"
"$dir/bench/bench_keep"

echo
echo "== queue delay"
"$dir/bench/bench_queue"

echo
echo "== arguments and counters"
"$dir/bench/bench_args"

echo
echo "== ranges"
"$dir/bench/bench_range"

echo
echo "== messages"
"$dir/bench/bench_message"
# Under each MPI library that is here.
for program in "$dir"/bench/bench_message_mpi-*; do
    flavour=${program##*-} options=()
    [[ $flavour != openmpi ]] || options=(--allow-run-as-root --oversubscribe --bind-to none)
    [[ ! -x $program ]] || { echo "$flavour" && "mpiexec.$flavour" "${options[@]}" -n 2 "$program"; }
done

echo
echo "== partitioning"
"$dir/bench/bench_partition"

echo
echo "== a job of four nodes"
bench/stencil_cost.sh "$rounds" "$dir/examples/stencil"

echo
echo "== probes in PTX"
"$dir/bench/bench_ptx"

echo
echo "== lanes of kernels"
"$dir/bench/bench_lanes" "$dir/tools/rbwp"

echo
echo "== jobs of many nodes"
python3 -B bench/many_files.py "$dir/tools/rbwp" "$dir/bench/make_job"
