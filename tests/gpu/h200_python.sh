#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_python.sh [BUILD_DIR] [STEP...] - the Python package on a machine with one or two NVIDIA GPUs, PyTorch and Triton:
# device code in Triton and Gluon step by step, what it costs beside the C header, the examples. Prints all that
# the steps say, then a table; the exit status is 1 if anything failed.
#
# What it wants is in h200_lib.sh; nvcc for the C header's cost, and cuobjdump, are used where they are found. STEP: only
# the steps whose names contain it (python/h200_python.py --list), or "examples" for these alone. Logs go to $OUT, or to the build directory.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"
shift

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target rbwp-command rbwp-shared
}
build_step
export RBWP_LIBRARY=$build/librbwp.so RBWP_COMMAND=$build/tools/rbwp PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
export TRITON_CACHE_DIR=$build/triton-cache PATH=$PATH:/usr/local/cuda/bin
rm -rf "$TRITON_CACHE_DIR" # what an earlier state of the code left

cost=()
if command -v nvcc >/dev/null; then
    if step "header's cost" 200 nvcc -O3 -arch=native -std=c++17 -shared -Xcompiler -fPIC,-fvisibility=hidden \
        -Igpu/device/include -o "$build/libdevice_cost.so" tests/gpu/python/device_cost.cu; then
        cost=(--cost "$build/libdevice_cost.so")
    fi
else
    table+=("nvcc                         not here")
fi

[[ $* == examples ]] || shown_step python_steps 600 "$python" -u tests/gpu/python/h200_python.py "${cost[@]}" "$@"

# example NAME ARGUMENT...: with all that it prints.
example() {
    local name=$1 title="example $*"
    shift
    step "$title" 240 "$python" -u "examples/gpu_python/$name.py" "$@" --out "$build/examples" &&
        cat "$logs/${title// /_}.log" # of one that failed step has shown the end
}
if [[ ! $* || $* == examples ]]; then
    gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())')
    for name in triton_gemm_scatter gluon_all_gather; do
        example "$name" --gpus 1
        ((gpus > 1)) && example "$name" --gpus 2
    done
    example gluon_pipeline
fi
finish
