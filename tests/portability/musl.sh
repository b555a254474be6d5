#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# musl.sh - a build with musl, with all tests. zlib and cmocka are built from Debian's sources.
. "$(dirname "$0")/lib.sh"
need musl-tools linux-libc-dev cmake ninja-build pkg-config python3 dpkg-dev

# source PACKAGE: unpacks Debian's source of it into $dir/PACKAGE.
source_package() {
    local package=$1 apt=$dir/apt
    [[ ! -d $dir/$package ]] || return 0
    mkdir -p "$apt/lists/partial"
    printf 'deb-src http://deb.debian.org/debian bookworm main\n' >"$apt/sources.list"
    local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o APT::Sandbox::User=root -o Acquire::Retries=3)
    (cd "$apt" && apt-get "${options[@]}" update &&
        apt-get "${options[@]}" source "$package") >"$dir/apt.log" 2>&1 ||
        { tail -n 3 "$dir/apt.log"; skip "no source of $package"; }
    mv "$apt/$package"-*/ "$dir/$package"
}

export CC=musl-gcc
prefix=$dir/prefix
source_package zlib
if [[ ! -e $prefix/lib/libz.a ]]; then
    (cd "$dir/zlib" && CFLAGS="-O2 -fPIC" ./configure --prefix="$prefix" && make -j "$jobs" install) \
        >"$dir/zlib.log" 2>&1 || { tail "$dir/zlib.log"; exit 1; }
fi
source_package cmocka
if [[ ! -e $prefix/lib/pkgconfig/cmocka.pc ]]; then
    (cmake -S "$dir/cmocka" -B "$dir/cmocka/build" -G Ninja -DCMAKE_C_COMPILER=musl-gcc \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DUNIT_TESTING=OFF -DWITH_EXAMPLES=OFF &&
        cmake --build "$dir/cmocka/build" --target install) >"$dir/cmocka.log" 2>&1 ||
        { tail "$dir/cmocka.log"; exit 1; }
fi
# (Of zlib the archive: ld wraps what a library of musl takes of the C library for tests that wrap calloc.)
# musl-gcc sees nothing but musl's headers; the kernel's are links beside them.
mkdir -p "$dir/kernel"
ln -sfn /usr/include/linux "$dir/kernel/linux"
ln -sfn /usr/include/asm-generic "$dir/kernel/asm-generic"
ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$dir/kernel/asm"

link=(-DCMAKE_{EXE,SHARED,MODULE}_LINKER_FLAGS="-Wl,-rpath,$prefix/lib")
PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig build musl -DCMAKE_C_COMPILER=musl-gcc \
    -DRBWP_WITH_SQLITE=OFF -DRBWP_WITH_MPI=OFF -DRBWP_BUILD_EXAMPLES=ON "${link[@]}" \
    -DCMAKE_C_FLAGS="-idirafter $dir/kernel" \
    -DZLIB_INCLUDE_DIR="$prefix/include" -DZLIB_LIBRARY="$prefix/lib/libz.a"
suite ctest --test-dir "$dir/musl"
