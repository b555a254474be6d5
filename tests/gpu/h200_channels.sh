#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_channels.sh [BUILD_DIR] - GPU channels and gpu_transpose on a machine with an NVIDIA GPU:
# through CUDA, through HIP over the shim, through OpenCL where that is, and under compute-sanitizer.
#
# Wants gcc, CMake (a command, or Python's package), an NVIDIA driver, zlib's header. Packages that
# are missing can lie unpacked in a folder that RBWP_EXTRA_ROOT names (usr/include, usr/lib/...).
# NVRTC and OpenCL are used where they are found. Logs go to $OUT, or to the build directory. A
# table comes last; the exit status is 1 if anything in it failed.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
build=$(mkdir -p "${1:-build/h200}" && cd "${1:-build/h200}" && pwd) || exit 1
logs=${OUT:-$build}
table=()
failed=0

# step NAME LIMIT_S COMMAND...: runs it with its output in a log, and notes how it ended. A test that
# finds no device (77) has failed here, but for may_lack=1.
may_lack=0
step() {
    local name=$1 limit=$2 log result status begin=$SECONDS
    shift 2
    log=$logs/${name// /_}.log
    timeout "$limit" "$@" >"$log" 2>&1
    status=$?
    case $status in
    0) result=passed ;;
    77) ((may_lack)) && result="not here: $(tail -n 1 "$log")" || result="FAILED: $(tail -n 1 "$log")" ;;
    124) result="FAILED: not done in $limit s" ;;
    *) result="FAILED: exit $status: $(grep -v '^$' "$log" | tail -n 1)" ;;
    esac
    [[ $result == FAILED* ]] && failed=1 && tail -n 15 "$log"
    table+=("$(printf '%-28s %4d s  %s' "$name" $((SECONDS - begin)) "${result:0:150}")")
    return $status
}

finish() {
    echo
    echo "== $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)"
    printf '%s\n' "${table[@]}"
    ((failed == 0)) && echo "== all good" || echo "== something failed"
    exit "$failed"
}

# ---- what is here ----------------------------------------------------------------------------

first_of() {
    local path
    for path; do
        [[ -e $path ]] && echo "$path" && return
    done
}

extra=${RBWP_EXTRA_ROOT:-}
options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DRBWP_BUILD_EXAMPLES=ON)
if [[ $extra ]]; then
    extra=$(cd "$extra" && pwd)
    options+=("-DCMAKE_PREFIX_PATH=$extra/usr")
    libraries=$extra/usr/lib/$(uname -m)-linux-gnu
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
if [[ -d /usr/local/nvidia/lib64 ]] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
    export LD_LIBRARY_PATH=/usr/local/nvidia/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
# zlib's library without its header's package: name the library itself.
if [[ $extra && -e $extra/usr/include/zlib.h ]]; then
    options+=("-DZLIB_INCLUDE_DIR=$extra/usr/include"
        "-DZLIB_LIBRARY=$(ldconfig -p | sed -n 's/^.*libz\.so\.1 .*=> //p' | head -1)")
fi
python=$(command -v python3)
if command -v cmake >/dev/null; then
    cmake=(cmake)
elif [[ $python ]] && "$python" -m cmake --version >/dev/null 2>&1; then
    cmake=("$python" -m cmake)
else
    echo "no CMake here: neither the command nor Python's package" >&2
    exit 1
fi
command -v ninja >/dev/null && options+=(-G Ninja)

packages=$([[ $python ]] && "$python" -c 'import site; print(site.getsitepackages()[0])' 2>/dev/null)
nvrtc=$(first_of /usr/local/cuda/lib64/libnvrtc.so.1[23] "${packages:-/nowhere}"/nvidia/*/lib/libnvrtc.so.1[23])
sanitizer=$(command -v compute-sanitizer || first_of /usr/local/cuda/bin/compute-sanitizer \
    /opt/nvidia/*/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer)

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
    local headers=(-I"$build/include/rbwp-gpu" -I"$build/include/rbwp-runtime" -I"$build/include/rbwp-format")
    gcc -O2 -g -std=gnu11 -Wall -Wextra "${headers[@]}" -o "$build/test_gpu_channel" tests/gpu/test_gpu_channel.c \
        -L"$build" -lrbwp -Wl,-rpath,"$build" -pthread &&
        gcc -O2 -g -std=gnu11 -Wall -Wextra -fvisibility=hidden -Igpu -Iformat -D_GNU_SOURCE -shared -fPIC \
            -o "$build/libamdhip64.so" tests/gpu/hip_shim.c -ldl -pthread
}
begin=$SECONDS
if build_all >"$logs/build.log" 2>&1; then
    table+=("$(printf '%-28s %4d s  passed' build $((SECONDS - begin)))")
else
    tail -n 30 "$logs/build.log"
    table+=("build FAILED")
    failed=1
    finish
fi

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
