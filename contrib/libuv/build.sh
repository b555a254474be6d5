#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh SOURCE FOLDER - builds libuv.so.1 of libuv 1.44, unpacked in SOURCE with tests/cookbook/libuv.patch, into FOLDER. RBWP is where
# pkg-config has it, or, with RBWP_BUILD, in that build folder. Wants CMake and a C compiler.
set -euo pipefail
source=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
if [[ ${RBWP_BUILD:-} ]]; then
    cflags=-I$RBWP_BUILD/include libs="-L$RBWP_BUILD -lrbwp -Wl,-rpath,$RBWP_BUILD"
else
    cflags=$(pkg-config --cflags rbwp) libs="$(pkg-config --libs rbwp) -Wl,-rpath,$(pkg-config --variable=libdir rbwp)"
fi
grep -q rbwp_begin_with "$source/src/threadpool.c" || { echo "build.sh: $source has not the patch: patch -p1 <tests/cookbook/libuv.patch"; exit 1; }
cmake -S "$source" -B "$folder/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF -DCMAKE_C_FLAGS="$cflags" \
    -DCMAKE_C_STANDARD_LIBRARIES="$libs" >"$folder/build.log" 2>&1 &&
    cmake --build "$folder/build" -j "$(nproc)" --target uv >>"$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log" >&2; exit 1; }
cp -P "$folder"/build/libuv.so* "$folder"
echo "$folder/libuv.so.1"
