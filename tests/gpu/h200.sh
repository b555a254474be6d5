#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200.sh [DIRECTORY] - builds and runs the tests and the bench of gpu/ on a machine with an NVIDIA
# GPU. Needs gcc, CMake and zlib. Ends with 1 if anything failed, with 77 if the tests were left out.
#
#   CMOCKA=DIR    where include/cmocka.h and lib/libcmocka.so are, if not among the system's;
#                 without cmocka the tests are left out, and that is said
#   ROUNDS=N      rounds of the bench (31)
#   SANITIZER=1   the tests once more under compute-sanitizer, if that is there
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/h200}
mkdir -p "$build"
if [[ ${CMOCKA:-} ]]; then # for pkg-config, as a package would say it
    mkdir -p "$build/pkgconfig"
    printf 'Name: cmocka\nDescription: tests\nVersion: 1\nCflags: -I%s/include\nLibs: -L%s/lib -Wl,-rpath,%s/lib -lcmocka\n' \
        "$CMOCKA" "$CMOCKA" "$CMOCKA" >"$build/pkgconfig/cmocka.pc"
    export PKG_CONFIG_PATH=$PWD/$build/pkgconfig
    [[ $build == /* ]] && export PKG_CONFIG_PATH=$build/pkgconfig
fi
status=0
tests=ON
if ! pkg-config --exists cmocka; then
    echo "== tests: left out, there is no cmocka (CMOCKA=DIR says where one is)"
    tests=OFF
    status=77
fi

echo "== build"
cmake -S . -B "$build" -DRBWP_BUILD_TESTS=$tests -DRBWP_BUILD_BENCH=ON >"$build/configure.log" ||
    { cat "$build/configure.log"; exit 1; }
targets=(bench_gpu)
[[ $tests == ON ]] && targets+=(test_gpu_device)
cmake --build "$build" -j "$(nproc)" --target "${targets[@]}" >"$build/build.log" 2>&1 ||
    { tail -n 30 "$build/build.log"; exit 1; }

if [[ $tests == ON ]]; then
    test=$(find "$build" -name test_gpu_device -type f)
    echo "== tests: cuda"
    "$test" cuda
    if [[ ${SANITIZER:-} ]] && command -v compute-sanitizer >/dev/null; then
        echo "== tests under compute-sanitizer"
        compute-sanitizer --tool memcheck --error-exitcode 9 "$test" cuda
    fi
fi

echo "== bench: cuda"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || true
"$build/bench/bench_gpu" cuda "${ROUNDS:-31}"
exit "$status"
