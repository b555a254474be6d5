#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# s390x.sh - a big-endian machine, under qemu-user: reader, writer, verifier, tools and the golden
# files, and files written there and read here and the other way round.
#
# Runtime tests are left out: they measure threads against clocks, which an emulator bends; and
# fuzz_mutated, which bounds what a command needs.
. "$(dirname "$0")/lib.sh"
need gcc-12 gcc-12-s390x-linux-gnu libc6-dev-s390x-cross qemu-user cmake ninja-build pkg-config \
    python3 zlib1g-dev libcmocka-dev
unpack s390x zlib1g zlib1g-dev libcmocka0 libcmocka-dev

libraries=$dir/sysroot/usr/lib/s390x-linux-gnu
qemu=(qemu-s390x -L /usr/s390x-linux-gnu
    -E "LD_LIBRARY_PATH=$libraries:$dir/sysroot/lib/s390x-linux-gnu")
PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/sysroot build s390x \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=s390x \
    -DCMAKE_C_COMPILER=s390x-linux-gnu-gcc-12 -DCMAKE_C_FLAGS="-Wno-psabi" \
    -DBUILD_SHARED_LIBS=OFF -DRBWP_WITH_SQLITE=OFF -DRBWP_BUILD_EXAMPLES=ON \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=$(IFS=';' && echo "${qemu[*]}")" \
    -DZLIB_INCLUDE_DIR="$dir/sysroot/usr/include" -DZLIB_LIBRARY="$libraries/libz.a"
build native -DCMAKE_C_COMPILER=gcc-12 -DBUILD_SHARED_LIBS=OFF

# The scripts run programs by name, so each of those becomes a script that runs the emulator.
for program in tools/rbwp tests/cli/rbwp-make-extended; do
    path=$dir/s390x/$program
    [[ $(head -c 2 "$path") == '#!' ]] || mv "$path" "$path.s390x"
    printf '#!/bin/sh\nexec %s -0 "$0" "%s" "$@"\n' "$(printf "'%s' " "${qemu[@]}")" "$path.s390x" \
        >"$path"
    chmod +x "$path"
done
[[ $(od -An -tx1 -j5 -N1 "$dir/s390x/tools/rbwp.s390x") == ' 02' ]] || { echo "not big-endian"; exit 1; }
export RBWP_BYTE_ORDER=big # of the live files that tests make
run_tests s390x -R '^(unit|cli|python|fuzz)' \
    -E '^unit_(stress|test_(recorder|record_|session|work|clock|drain|doorbell|numa|thread_registry))|^fuzz_mutated$' \
    "$@"

echo "== $name: files across"
across=$dir/across
rm -rf "$across"
mkdir -p "$across"/{big,little}
"${qemu[@]}" "$dir/s390x/tests/fuzz/fuzz_make_seeds" "$across/big" 32
"$dir/native/tests/fuzz/fuzz_make_seeds" "$across/little" 32
count=0
for path in "$across"/*/made_*; do
    # Each machine sees the same in each file, to the last byte.
    "$dir/native/tools/rbwp-dump" "$path" >"$across/here" 2>/dev/null
    "$dir/s390x/tools/rbwp-dump" "$path" >"$across/there" 2>/dev/null
    cmp "$across/here" "$across/there"
    count=$((count + 1))
done
for path in "$across"/little/made_*; do
    # And both have written the same records; how zlib packs them is its own affair.
    for side in big little; do
        (cd "$across/$side" && "$dir/native/tools/rbwp-dump" --ndjson "$(basename "$path")") \
            >"$across/$side.ndjson" 2>/dev/null
    done
    cmp "$across/big.ndjson" "$across/little.ndjson"
done
echo "$name: $count files, half of them written on each side, are the same on both"
