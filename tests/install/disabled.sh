#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# disabled.sh COMPILER INCLUDE - with RBWP_DISABLE the recording calls leave no
# trace: machine code, relocations and symbols are those of the source without
# the calls. Without RBWP_DISABLE they differ, or the comparison sees nothing.
set -euo pipefail
compiler=$1 include=$2
command -v "$compiler" >/dev/null || { echo "skipped: no $compiler"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# code NAME FLAG...: what disabled.c compiles to.
code() {
    local name=$1
    shift
    "$compiler" -std=c11 "$@" -I "$include" -c disabled.c -o "$work/step.o"
    { objdump -dr "$work/step.o" && nm "$work/step.o"; } >"$work/$name"
}
for level in -O1 -O2 -O3 -Os; do
    code none $level -DWITHOUT_CALLS
    code disabled $level -DRBWP_DISABLE
    code enabled $level
    diff "$work/none" "$work/disabled" || { echo "$compiler $level: the code differs"; exit 1; }
    ! cmp -s "$work/none" "$work/enabled" || { echo "$compiler $level: enabled is no code"; exit 1; }
done
