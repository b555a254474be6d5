#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_device.sh [BUILD_DIR] - markers in kernels (rbwp_device.h) on a machine with one or two NVIDIA
# GPUs: is what they write true, is disabled code no code, and what do records and events cost, in each
# variant of the header's switches. With two GPUs: puts into each other's memory and barriers.
#
# What it wants is in h200_lib.sh, and nvcc. cuobjdump and compute-sanitizer are used where they are
# found. A table and all figures with their targets come last; the exit status is 1 if anything was
# not true (a figure above its target is told, and is no failure). $OUT gets one log, and the machine code
# of small kernels with markers.
#
#   BUILD_ONLY=1     stops before anything runs on a GPU
#   VARIANTS="..."   of the events' switches to build and measure, e.g. "c1w0k0 c3w1k0 c1w0k0o2"
#   QUICK=1          all figures, and no examples, other compilers or sanitizer
#   LAUNCHES=N       of the kernel that is compared with itself, compiled out (1000)
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"
logs=$build/logs
mkdir -p "$logs"

nvcc=$(command -v nvcc || first_of /usr/local/cuda*/bin/nvcc)
cuobjdump=$(command -v cuobjdump || first_of /usr/local/cuda*/bin/cuobjdump)
[[ $nvcc ]] || { echo "no nvcc here" >&2; exit 1; }
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -cd '0-9')
[[ $arch != sm_ ]] || arch=sm_90
[[ ${VARIANTS:-} ]] || VARIANTS="$(echo c{1,2,3}w{0,1}k{0,1}) c1w0k0o0 c1w0k0o1 c4w0k0 c4w0k1 c4w0k0a1 c4w0k1a1"

hip=$(dirname "$(dirname "$(first_of "$extra/usr/include/hip/hiprtc.h" /opt/rocm/include/hip/hiprtc.h \
    /usr/include/hip/hiprtc.h)")")
[[ $hip != . ]] || hip=
packages=$([[ $python ]] && "$python" -c 'import site; print(site.getsitepackages()[0])' 2>/dev/null)
RBWP_HIP_SHIM_NVRTC=$(first_of /usr/local/cuda*/lib64/libnvrtc.so.1[23] /usr/local/cuda*/lib/libnvrtc.so.1[23] \
    "${packages:-/nowhere}"/nvidia/*/lib/libnvrtc.so.1[23])
export RBWP_HIP_SHIM_NVRTC

# ---- build ------------------------------------------------------------------------------------

# cu OUTPUT SOURCE FLAG...: a program of a .cu file, with the library and its headers.
cu() {
    local output=$1 source=$2
    shift 2
    "$nvcc" -arch="$arch" -O3 -std=c++17 -lineinfo -Xcompiler=-Wall,-Wextra -Xptxas=-v -I "$build/include" "$@" \
        -o "$output" "$source" -L "$build" -lrbwp -Xlinker -rpath -Xlinker "$build"
}

# variant cCwWkK, and aA or oO behind it: the switches of events.
variant_flags() {
    sed -E 's/o(.)$/ -DRBWP_DEV_EVENT_ONCE=\1/
        s/a(.)$/ -DRBWP_DEV_EVENT_AHEAD=\1/
        s/c(.)w(.)k(.)/-DRBWP_DEV_EVENT_COUNTERS=\1 -DRBWP_DEV_EVENT_WARP=\2 -DRBWP_DEV_EVENT_KEEP=\3/' <<<"$1"
}

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target rbwp-command rbwp-shared || return 1
    local jobs=() name job bad=0
    throttled() { # COMMAND...: in the background, as many at a time as there are processors
        while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || bad=1; done
        "$@" &
        jobs+=($!)
    }
    throttled cu "$build/check" tests/gpu/h200_device_check.cu
    [[ ${QUICK:-} ]] || for name in pipeline persistent; do
        throttled cu "$build/$name" examples/gpu_lanes/$name.cu
        throttled cu "$build/${name}_off" examples/gpu_lanes/$name.cu -DRBWP_DEVICE_ENABLED=0
    done
    if [[ $hip && ! ${QUICK:-} ]]; then # the example in HIP, and what stands for HIP's library here
        gcc -O2 -g -std=gnu11 -Wall -Wextra -fvisibility=hidden -Igpu/backend -Igpu/backend/include -Iformat/include \
            -D_GNU_SOURCE -shared -fPIC -o "$build/libamdhip64.so" tests/gpu/hip_shim.c -ldl -pthread &&
            gcc -O2 -g -std=gnu11 -Wall -Wextra -D__HIP_PLATFORM_AMD__ -I "$build/include" -isystem "$hip" \
                -o "$build/persistent_hip" examples/gpu_lanes/persistent_hip.c -L "$build" -lrbwp -lamdhip64 \
                -Wl,-rpath,"$build" || bad=1
    fi
    throttled cu "$build/check_warp" tests/gpu/h200_device_check.cu -DRBWP_DEV_EVENT_WARP=1
    throttled cu "$build/cost" tests/gpu/h200_device_cost.cu
    throttled cu "$build/cost_no_fence" tests/gpu/h200_device_cost.cu -DRBWP_DEV_FENCE=0
    for name in $VARIANTS; do
        # shellcheck disable=SC2046 # several words
        throttled cu "$build/cost_$name" tests/gpu/h200_device_cost.cu $(variant_flags "$name")
        # shellcheck disable=SC2046
        [[ $name != *o? ]] || throttled cu "$build/check_$name" tests/gpu/h200_device_check.cu $(variant_flags "$name")
    done
    for job in "${jobs[@]}"; do
        wait "$job" || bad=1
    done
    return $bad
}

begin=$SECONDS
if build_all >"$logs/build.log" 2>&1; then
    table+=("$(printf '%-28s %4d s  passed' build $((SECONDS - begin)))")
else
    grep -vE '^ptxas info|^\[|^    0 bytes' "$logs/build.log" | tail -n 30
    table+=("build FAILED")
    failed=1
    finish
fi

# ---- disabled code is no code ------------------------------------------------------------------------

# The machine code of the kernels, without what names the file.
sass() {
    local name=$1
    shift
    "$nvcc" -arch="$arch" -O3 -std=c++17 -I "$build/include" -cubin -o "$build/$name.cubin" "$@" tests/gpu/device_kernels.cu &&
        "$cuobjdump" -sass "$build/$name.cubin" >"$build/$name.sass" && grep -q 'Function : one_span' "$build/$name.sass"
}
same_sass() {
    sass plain -DPLAIN && sass off -DOFF && sass switched_off -DRBWP_DEVICE_ENABLED=0 && sass on || return 1
    local name different=0 lines
    for name in off switched_off; do
        lines=$(diff "$build/plain.sass" "$build/$name.sass" | grep -c '^[<>]')
        different=$((different + lines))
    done
    echo "figure lines of SASS that differ, compiled out from without markers $different"
    ((different == 0)) && ! cmp -s "$build/plain.sass" "$build/on.sass"
}
[[ $python && ! ${QUICK:-} ]] && step "code of all compilers" 300 "$python" tests/gpu/device_code.py "$build/include/rbwp_device.h" all
if [[ $cuobjdump ]]; then
    step "SASS of disabled code" 120 bash -c \
        "$(declare -f sass same_sass); nvcc='$nvcc' arch='$arch' build='$build' cuobjdump='$cuobjdump'; same_sass"
else
    table+=("cuobjdump                    not here")
fi
[[ ${BUILD_ONLY:-} ]] && finish

# ---- run ---------------------------------------------------------------------------------------------

step "events" 120 "$build/check" events
step "events, by warps" 120 "$build/check_warp" events
step "lanes against clock64" 120 "$build/check" lanes
step "host library" 120 "$build/check" host
# example NAME ARGUMENT...: runs it traced; its profile is whole, its lanes are read by the tool.
example() {
    local name=$1
    shift
    cd "$build" || return 1
    "./$name" "$@" -bgworkprofile 2 -bgworkprofile_logfile "$name.bin" && tools/rbwp check "$name.bin" || return 1
    tools/rbwp lanes "$name.lanes" && tools/rbwp tables "$name.bin" | grep lane_span || return 1
    tools/rbwp report -f -o "$name.html" "$name.bin" && ls -l "$name.html"
}
run_example() {
    step "example $1" 120 bash -c "$(declare -f example); build='$build'; example \"\$@\"" _ "$@"
}
may_lack=1 step "two GPUs" 120 "$build/check" two
if [[ ! ${QUICK:-} ]]; then
    run_example pipeline
    run_example persistent
    step "example pipeline, off" 60 "$build/pipeline_off"
    step "example persistent, off" 60 "$build/persistent_off"
    if [[ $hip ]]; then
        # By the name that the library asks for first, too: a machine may have the real one as well.
        ln -sf libamdhip64.so "$build/libhiprtc.so"
        ln -sf libamdhip64.so "$build/libamdhip64.so.7"
        RBWP_HIP_SHIM_NVRTC=$(first_of /usr/local/cuda*/lib64/libnvrtc.so /usr/local/cuda*/targets/*/lib/libnvrtc.so) \
            LD_LIBRARY_PATH=$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} run_example persistent_hip "$PWD/examples/gpu_lanes" "$build/include"
    else
        table+=("example persistent_hip       HIP's headers are not here")
    fi
fi
step "cost of lanes" 60 "$build/cost" lanes
step "cost of lanes, no fence" 60 "$build/cost_no_fence" lanes
for name in $VARIANTS; do
    [[ $name != *o? ]] || step "events $name" 60 "$build/check_$name" events
    step "cost of events $name" 60 "$build/cost_$name" events
done
step "compiled out" 200 "$build/cost" off "${LAUNCHES:-1000}"
step "copy with records" 200 "$build/cost" memory
if [[ ! ${QUICK:-} ]]; then
    if [[ $sanitizer ]]; then
        for tool in memcheck racecheck; do
            for what in events lanes; do
                step "$tool $what" 300 "$sanitizer" --tool $tool --error-exitcode 9 "$build/check" $what small
            done
            step "$tool events by warps" 300 "$sanitizer" --tool $tool --error-exitcode 9 "$build/check_warp" events small
        done
    else
        table+=("compute-sanitizer            not here")
    fi
fi

# ---- figures ---------------------------------------------------------------------------------------

# Of the variants of events a line each, in cycles: figures come in this order, then again for counters apart.
variant_table() {
    echo "variant   pair, blocks 1      132      528   opened 1      132      528   pair round work 1  528   opened 1  528   four in a loop, adds alone"
    local name
    for name in $VARIANTS; do
        awk -v name="$name" '/^figure (event|.64-bit add)/ { value[++n] = substr($0, 66, 11) + 0 }
            END {
                for (at = 0; at < n; at += at ? 10 : 16) {
                    more = "counters apart"
                    if (!at)
                        more = sprintf("%.0f %.0f %.0f, %.0f %.0f %.0f", value[11], value[13], value[15], value[12],
                            value[14], value[16])
                    printf "%-14s %8.0f %8.0f %8.0f %10.0f %8.0f %8.0f %14.0f %8.0f %6.0f %8.0f   %s\n", name,
                        value[at + 1], value[at + 3], value[at + 5], value[at + 2], value[at + 4], value[at + 6],
                        value[at + 7], value[at + 9], value[at + 8], value[at + 10], more
                }
            }' "$logs/cost_of_events_$name.log"
    done
    echo "target              450      450     1000        450      450     1000"
}
echo "== figures"
for log in "$logs"/*.log; do
    [[ $log == */cost_of_events_* || $log == */*check_* ]] || sed -n 's/^figure //p' "$log"
done
variant_table
if [[ ${OUT:-} ]]; then
    tail -n +1 "$logs"/*.log >"$OUT/h200_device.log"
    [[ -e $build/on.sass ]] && cp "$build/on.sass" "$OUT/h200_device_on.sass"
fi
finish
