#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# channel_ptx.sh KERNELS: the PTX in the source tree is what clang 14 makes of transfer.cl, and
# ptxas, where there is one, takes it for old and new GPUs. Guards against kernels that were changed
# in one of the two. The text itself is compiled for all three APIs, as far as compilers are here.
set -u
kernels=${1:?folder of transfer.cl}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0 done=0

try() {
    local what=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        echo "good: $what"
        done=$((done + 1))
    else
        echo "FAILED: $what: $(head -5 "$work/out")"
        failures=$((failures + 1))
    fi
}

"$kernels/make_ptx.sh" --check
case $? in
0) done=1 && echo "good: transfer.ptx is made from transfer.cl" ;;
77) echo "not tried: clang 14 is not here" ;;
*) failures=1 ;;
esac

ptxas=$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | tail -1)
for arch in sm_75 sm_90 sm_100 sm_120; do
    [[ $ptxas ]] || break
    "$ptxas" --help | grep -q "'$arch'" || continue
    try "ptxas $arch" "$ptxas" -arch="$arch" -o "$work/cubin" "$kernels/transfer.ptx"
done
nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2>/dev/null | tail -1)
[[ $nvcc ]] && try "nvcc" "$nvcc" -x cu -ptx -o "$work/ptx" "$kernels/transfer.cl"
if clang=$(command -v clang-14); then
    try "clang, HIP" "$clang" -x hip --cuda-device-only --offload-arch=gfx90a -nogpuinc -nogpulib \
        -Wall -Wextra -Werror -O1 -S -o "$work/gcn" "$kernels/transfer.cl"
    try "clang, OpenCL C 1.2" "$clang" -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Wall -Wextra \
        -Werror -fsyntax-only "$kernels/transfer.cl"
fi
((failures == 0)) || exit 1
((done > 0)) || { echo "skipped: neither clang 14 nor a CUDA toolkit is here"; exit 77; }
