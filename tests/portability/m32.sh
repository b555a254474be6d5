#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# m32.sh - a 32-bit build (i386), with all unit, tool and golden tests.
#
# gcc-12-multilib instead of gcc-multilib, which Debian does not let live beside cross compilers;
# what is missing then is one link to the kernel's headers. Two warnings are off: notes on an ABI
# change of gcc 11, and one that takes a struct for its first member here.
. "$(dirname "$0")/lib.sh"
need gcc-12-multilib libc6-dev-i386 cmake ninja-build pkg-config python3
unpack i386 zlib1g zlib1g-dev libcmocka0 libcmocka-dev

libraries=$dir/sysroot/usr/lib/i386-linux-gnu
export PKG_CONFIG_LIBDIR=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/sysroot
build i386 -DCMAKE_C_COMPILER=gcc-12 -DBUILD_SHARED_LIBS=OFF -DRBWP_WITH_SQLITE=OFF -DRBWP_BUILD_EXAMPLES=ON \
    -DCMAKE_C_FLAGS="-m32 -msse2 -mfpmath=sse -Wno-psabi -Wno-stringop-overread -idirafter /usr/include/x86_64-linux-gnu" \
    -DCMAKE_EXE_LINKER_FLAGS="-Wl,-rpath,$libraries:$dir/sysroot/lib/i386-linux-gnu" \
    -DZLIB_INCLUDE_DIR="$dir/sysroot/usr/include" -DZLIB_LIBRARY="$libraries/libz.a"
[[ $(od -An -tx1 -j4 -N1 "$dir/i386/tools/rbwp") == ' 01' ]] || { echo "not a 32-bit program"; exit 1; }
"$dir/i386/tools/rbwp" --version >/dev/null || skip "this kernel does not run 32-bit programs"
run_tests i386 -R '^(unit|cli|fuzz|python|example)' "$@"
