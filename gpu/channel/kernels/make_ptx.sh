#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# make_ptx.sh - makes transfer.ptx from transfer.cl, or checks that it is what would be made.
#
#   make_ptx.sh           writes transfer.ptx beside this script
#   make_ptx.sh --check   exit 1 if transfer.ptx is not what is made here, 77 if that cannot be known
#
# transfer.ptx travels with the source so that a program needs neither a CUDA toolkit nor NVRTC.
# clang 14 makes it, since its output can be had again anywhere; no header of CUDA is read. PTX 6.0
# for sm_52 is taken by every driver since CUDA 9 and every GPU since Maxwell. The target is a host of 64 bits,
# whatever compiles.
set -euo pipefail
cd "$(dirname "$0")"

compiler=${CLANG:-clang-14}
if ! "$compiler" --version 2>/dev/null | grep -q 'clang version 14\.'; then
    echo "make_ptx.sh: no clang 14 here, whose output transfer.ptx is (CLANG names it)" >&2
    exit 77
fi

made=$(mktemp)
trap 'rm -f "$made"' EXIT
{
    echo '// SPDX-License-Identifier: Apache-2.0'
    echo '// Made from transfer.cl by make_ptx.sh. Do not change by hand.'
    "$compiler" --target=x86_64-linux-gnu -x cuda --cuda-device-only --cuda-gpu-arch=sm_52 -nocudainc -nocudalib \
        -Xclang -target-feature -Xclang +ptx60 -Wno-unknown-cuda-version -Wall -Wextra -Werror \
        -O2 -S -o - transfer.cl | grep -v '^//'
} >"$made"

if [[ ${1:-} == --check ]]; then
    cmp "$made" transfer.ptx || { echo "transfer.ptx is not made from transfer.cl: run gpu/channel/kernels/make_ptx.sh" >&2; exit 1; }
else
    cat "$made" >transfer.ptx
fi
