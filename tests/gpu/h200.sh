#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200.sh [BUILD_DIR] - what the fake driver can't tell, on a machine with an NVIDIA GPU: graph captures
# beside and around brackets, notifications, channels and opening devices, in all modes; what brackets
# cost and how true they are, on busy and idle streams; the same in a PyTorch program; all of it under
# compute-sanitizer. What it wants is in h200_lib.sh; PyTorch and compute-sanitizer are used where
# they are found. Logs go to $OUT, or to the build directory. Figures and a table come last; the exit
# status is 1 if anything in it failed.
#
#   CMOCKA=DIR   where include/cmocka.h and lib/libcmocka.so are: then test_gpu_device runs, too
#   ROUNDS=N     rounds of the bench (31)
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"

tests=OFF
if [[ ${CMOCKA:-} ]]; then # for pkg-config, as a package would say it
    mkdir -p "$build/pkgconfig"
    printf 'Name: cmocka\nDescription: tests\nVersion: 1\nCflags: -I%s/include\nLibs: -L%s/lib -Wl,-rpath,%s/lib -lcmocka\n' \
        "$CMOCKA" "$CMOCKA" "$CMOCKA" >"$build/pkgconfig/cmocka.pc"
    export PKG_CONFIG_PATH=$build/pkgconfig
fi
pkg-config --exists cmocka 2>/dev/null && tests=ON

build_all() {
    local headers=(-I"$build/include")
    local targets=(bench_gpu bench_gpu_times rbwp-command rbwp-jobs-shared)
    [[ $tests == ON ]] && targets+=(test_gpu_device)
    "${cmake[@]}" -S . -B "$build" "${options[@]}" -DRBWP_BUILD_TESTS=$tests -DRBWP_BUILD_BENCH=ON &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target "${targets[@]}" || return 1
    gcc -O2 -g -std=gnu11 -Wall -Wextra "${headers[@]}" -Igpu/backend/include -Iformat/include -o "$build/h200_capture" tests/gpu/h200_capture.c \
        -L"$build" -lrbwp-jobs -lrbwp -Wl,-rpath,"$build" -ldl -pthread &&
        gcc -O2 -g -std=gnu11 -Wall -Wextra "${headers[@]}" -fvisibility=hidden -shared -fPIC \
            -o "$build/h200_torch.so" tests/gpu/h200_torch.c -L"$build" -lrbwp -Wl,-rpath,"$build"
}
build_step || finish

step "captures" 120 "$build/h200_capture" 100 "$build/captures.bin"
step "captures check" 60 "$build/tools/rbwp" check "$build/captures.bin"
[[ $tests == ON ]] && step "test_gpu_device" 120 "$build/tests/gpu/test_gpu_device" cuda
step "bench" 200 "$build/bench/bench_gpu" cuda "${ROUNDS:-31}"
step "times" 100 "$build/bench/bench_gpu_times" "${ROUNDS:-31}"
if [[ $python ]] && "$python" -c 'import torch' 2>/dev/null; then
    step "pytorch" 200 "$python" tests/gpu/h200_torch.py "$build/h200_torch.so" "$build/tools/rbwp" "$build"
else
    table+=("pytorch                      not here")
fi
if [[ $sanitizer ]]; then
    step "memcheck" 200 "$sanitizer" --tool memcheck --error-exitcode 9 "$build/h200_capture" 4 "$build/memcheck.bin" checked
else
    table+=("compute-sanitizer            not here")
fi

echo "== figures"
cat "$logs/captures.log" "$logs/bench.log" "$logs/times.log" 2>/dev/null
grep '^pytorch' "$logs/pytorch.log" 2>/dev/null
finish
