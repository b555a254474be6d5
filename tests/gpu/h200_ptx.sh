#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_ptx.sh [BUILD_DIR] [STEP...] - probes in PTX on a machine with an NVIDIA GPU: results that stay the same,
# what probes cost and whether their times are true, Triton under `rbwp record --ptx` and in the Python context.
# Prints all that the steps say, then a table; the exit status is 1 if anything failed or a target was missed.
#
# What it wants is in h200_lib.sh; ptxas and nvcc of CUDA, NumPy, and PyTorch with Triton for the last steps. STEP:
# only the steps whose names contain it (ptx/h200_ptx.py --list). The log goes to $OUT, or to the build directory;
# so do profiles and reports, where they are small.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"
shift

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target rbwp-command rbwp-shared || return 1
    "${cmake[@]}" --build "$build" -j "$(nproc)" --target rbwp-inject # without it the other steps can be tried
}
build_step
export RBWP_LIBRARY=$build/librbwp.so RBWP_COMMAND=$build/tools/rbwp PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
export PATH=$PATH:/usr/local/cuda/bin TRITON_CACHE_DIR=$build/triton-cache
rm -rf "$TRITON_CACHE_DIR" "$build/ptx-out" # what an earlier state of the code left
mkdir -p "$build/ptx-out"

[[ $* == examples ]] || shown_step ptx 500 env OUT="$build/ptx-out" "$python" -u tests/gpu/ptx/h200_ptx.py "$@"
if [[ ! $* || $* == examples ]]; then
    shown_step example_ptx_lines 120 "$python" -u examples/gpu_python/ptx_lines.py --out "$build/ptx-out"
fi
if [[ $logs != "$build" ]]; then
    find "$build/ptx-out" -maxdepth 1 -type f -size -15M -exec cp {} "$logs" \;
fi
echo "== figures"
grep -hE '^(figure|cost|sums|WRONG)' "$logs/ptx.log"
finish
