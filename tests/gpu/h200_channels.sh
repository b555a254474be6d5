#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_channels.sh [BUILD_DIR] - GPU channels and gpu_transpose on a machine with an NVIDIA GPU:
# through CUDA, through HIP over the shim, through OpenCL where that is, and under compute-sanitizer.
#
# What it wants is in h200_lib.sh. NVRTC and OpenCL are used where they are found. Logs go to $OUT, or
# to the build directory. A table comes last; the exit status is 1 if anything in it failed.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"
options+=(-DRBWP_BUILD_EXAMPLES=ON)

packages=$([[ $python ]] && "$python" -c 'import site; print(site.getsitepackages()[0])' 2>/dev/null)
nvrtc=$(first_of /usr/local/cuda/lib64/libnvrtc.so.1[23] "${packages:-/nowhere}"/nvidia/*/lib/libnvrtc.so.1[23])

# OpenCL: NVIDIA's driver, also where nobody has registered it with the loader.
opencl_driver=$(ldconfig -p | sed -n 's/^.*libnvidia-opencl\.so\.1 .*=> //p' | head -1)
opencl_driver=${opencl_driver:-$(first_of /usr/local/nvidia/lib64/libnvidia-opencl.so.1 /usr/local/nvidia/lib/libnvidia-opencl.so.1)}
if [[ $opencl_driver && ! -e /etc/OpenCL/vendors/nvidia.icd ]]; then
    mkdir -p "$build/vendors" && echo "$opencl_driver" >"$build/vendors/nvidia.icd"
    export OCL_ICD_VENDORS=$build/vendors OCL_ICD_FILENAMES=$opencl_driver
fi
opencl=$(ldconfig -p | sed -n 's/^.*libOpenCL\.so\.1 .*=> //p' | head -1)
opencl=${opencl:-$(first_of "${libraries:-/nowhere}/libOpenCL.so.1" /usr/local/cuda/lib64/libOpenCL.so.1)}

# ---- build ----------------------------------------------------------------------------------------

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" || return 1
    local headers=(-I"$build/include")
    gcc -O2 -g -std=gnu11 -Wall -Wextra "${headers[@]}" -o "$build/test_gpu_channel" tests/gpu/test_gpu_channel.c \
        -L"$build" -lrbwp-jobs -lrbwp -Wl,-rpath,"$build" -pthread &&
        gcc -O2 -g -std=gnu11 -Wall -Wextra -fvisibility=hidden -Igpu/backend -Igpu/backend/include -Iformat/include -D_GNU_SOURCE -shared -fPIC \
            -o "$build/libamdhip64.so" tests/gpu/hip_shim.c -ldl -pthread
}
build_step || finish

# ---- run ---------------------------------------------------------------------------------------------

channel=$build/test_gpu_channel
shim=$build/libamdhip64.so
export RBWP_HIP_SHIM_NVRTC=$nvrtc
compiler=(${nvrtc:+--compiler "$nvrtc"})

# transpose API OPTION...: the example with a profile that is whole and tells of every kernel.
transpose() {
    local api=$1 profile=$build/transpose_$1.bin kernels works
    shift
    "$build/examples/gpu_transpose" --api "$api" -bgworkprofile 2 -bgworkprofile_logfile "$profile" \
        "$@" >"$build/transpose_$api.out" || { cat "$build/transpose_$api.out"; return 1; }
    cat "$build/transpose_$api.out"
    "$build/tools/rbwp" check "$profile" && "$build/tools/rbwp" info "$profile" || return 1
    kernels=$(sed -n 's/^.* \([0-9]*\) kernels;.*/\1/p' "$build/transpose_$api.out" | awk '{n += $1} END {print n + 0}')
    works=$("$build/tools/rbwp-dump" "$profile" | grep -c '"GPU_WORK"')
    echo "$works GPU_WORK records of $kernels kernels"
    ((kernels > 0 && works == kernels))
}
# Through a shell of its own, since step runs commands under a time limit.
run_transpose() {
    local api=$1
    step "gpu_transpose $api" 120 bash -c "$(declare -f transpose); build='$build'; transpose \"\$@\"" _ "$@"
}

step "channels cuda, ptx" 120 "$channel" cuda
step "channels cuda, nvrtc" 180 "$channel" cuda --source "${compiler[@]}"
step "channels hip shim" 180 "$channel" hip --driver "$shim" --compiler "$shim"
may_lack=1 step "channels opencl" 180 "$channel" opencl ${opencl:+--driver "$opencl"}
run_transpose cuda --size 4096x8192 --matrices 4
run_transpose hip --driver "$shim" --compiler "$shim" --size 1000x1500
if [[ $sanitizer ]]; then
    step "memcheck" 240 "$sanitizer" --tool memcheck --error-exitcode 9 "$channel" cuda --rounds 15
    step "racecheck" 240 "$sanitizer" --tool racecheck --error-exitcode 9 "$channel" cuda --rounds 8 --small
else
    table+=("compute-sanitizer            not here")
fi

# How long kernels took, from the profile itself: the device sums and transposes 128 MiB each time.
if [[ $python && -e $build/transpose_cuda.bin ]]; then
    "$build/tools/rbwp-dump" "$build/transpose_cuda.bin" | "$python" -c '
import re, sys
took = [int(b) - int(a) for a, b in re.findall(r"\"GPU_WORK\".*?\"start\":(\d+),\"stop\":(\d+)", sys.stdin.read())]
print("GPU_WORK durations (us):", *(round(t / 1000) for t in took))' | fold -s -w 110
    grep -A 3 '^device' "$build/transpose_cuda.out"
fi
finish
