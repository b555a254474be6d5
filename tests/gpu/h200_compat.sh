#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_compat.sh [BUILD_DIR] - scripts of other systems with their import lines changed (docs/coming-from.md), on a
# machine with an NVIDIA GPU, PyTorch and Triton. Prints what they say, then a table; the exit status is 1 if anything failed.
#
# What it wants is in h200_lib.sh, and nvcc for warpscope's kernel. The log goes to $OUT, or to the build directory.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target rbwp-command rbwp-shared
}
build_step
export RBWP_LIBRARY=$build/librbwp.so RBWP_COMMAND=$build/tools/rbwp PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
export TRITON_CACHE_DIR=$build/triton-cache PATH=$PATH:/usr/local/cuda/bin
rm -rf "$TRITON_CACHE_DIR" # what an earlier state of the code left

warpscope=()
if step "warpscope's kernel" 120 nvcc -O3 -arch=native -std=c++17 -shared -Xcompiler=-fPIC,-Wall,-Wextra \
    -I "$build/include" -o "$build/compat_warpscope.so" tests/gpu/python/compat_warpscope.cu; then
    warpscope=("$build/compat_warpscope.so")
fi
shown_step compat 120 "$python" -u tests/gpu/python/compat_examples.py "$build/compat" "${warpscope[@]}"
finish
