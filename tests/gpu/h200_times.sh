#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_times.sh [BUILD_DIR] - how true the times of brackets are on a machine with an NVIDIA GPU, and what a
# bracket costs beside its two event records: each figure beside its target. What it wants is in
# h200_lib.sh. raw.csv.gz in $OUT, or the build directory, has what was known of each kernel.
#
#   RAW=0   no such file: nothing stands between the library and the driver
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" -DRBWP_BUILD_BENCH=ON &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target bench_gpu_times
}
build_step || finish

shown_step "times" 100 "$build/bench/bench_gpu_times" "${ROUNDS:-31}" -
if [[ ${RAW:-1} != 0 ]]; then
    step "times, watched" 100 "$build/bench/bench_gpu_times" 1 "$logs/raw.csv" && gzip -f "$logs/raw.csv"
fi
finish
