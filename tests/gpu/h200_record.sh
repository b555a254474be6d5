#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_record.sh [BUILD_DIR] [STEP...] - rbwp record on a machine with NVIDIA GPUs: a PyTorch training loop, Triton, JAX, plain
# CUDA with streams and threads, graphs, several processes; every kernel counted against the program's own number and PyTorch's
# profiler, annotations against the kernels, what it costs beside plain runs and that profiler, bytes a kernel.
# Prints all that the steps say, then a table; the exit status is 1 if anything failed or a target was missed.
#
# What it wants is in h200_lib.sh; nvcc and CUPTI of CUDA 12 or 13, PyTorch with Triton; JAX and mpirun where they are. STEP: only
# the steps whose names contain it (record/h200_record.py --list). The log goes to $OUT, or to the build directory; so do
# profiles and reports, where they are small.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"
shift

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target rbwp-command rbwp-inject rbwp-threads rbwp-record
}
build_step
export RBWP_COMMAND=$build/tools/rbwp INJECT_LIBRARY=$build/librbwp-inject.so PYTHONPATH=$PWD/python:$PWD/tests/python PYTHONDONTWRITEBYTECODE=1
export PATH=$PATH:/usr/local/cuda/bin TRITON_CACHE_DIR=$build/triton-cache
mkdir -p "$build/record-out"

shown_step record 560 env OUT="$build/record-out" "$python" -u tests/gpu/record/h200_record.py "$@"
if [[ $logs != "$build" ]]; then
    find "$build/record-out" -maxdepth 1 -type f -size -15M -exec cp {} "$logs" \;
fi
echo "== figures"
grep -hE '^(figure|target|right|WRONG)' "$logs/record.log"
finish
