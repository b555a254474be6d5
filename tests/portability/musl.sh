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

prefix=$dir/prefix
source_package zlib
if [[ ! -e $prefix/lib/libz.a ]]; then
    (cd "$dir/zlib" && CC=musl-gcc CFLAGS="-O2 -fPIC" ./configure --prefix="$prefix" && make -j "$jobs" install) \
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
# musl-gcc sees nothing but musl's headers; the kernel's are links beside them, and those of GPUs.
mkdir -p "$dir"/{kernel,gpu,bin}
ln -sfn /usr/include/linux "$dir/kernel/linux"
ln -sfn /usr/include/asm-generic "$dir/kernel/asm-generic"
ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$dir/kernel/asm"
of_gpus=(-DRBWP_{HIP,OPENCL,EXAMPLES_HIP}_INCLUDE=)
for header in HIP=hip/hip_runtime_api.h OPENCL=CL/cl.h; do
    folder=$(dirname "${header#*=}")
    [[ -e /usr/include/${header#*=} ]] || continue
    ln -sfn "/usr/include/$folder" "$dir/gpu/$folder"
    of_gpus+=("-DRBWP_${header%=*}_INCLUDE=$dir/gpu")
done

# compiler NAME COMMAND...: $dir/bin/NAME is that command. musl-gcc calls what REALGCC names; tests of what a user
# builds call gcc and g++, too, and have C programs for both (as needed: g++ links a libstdc++, which is glibc's).
compiler() {
    printf '#!/bin/sh\nexec %s\n' "${*:2}" >"$dir/bin/$1"
    chmod +x "$dir/bin/$1"
}
of_musl="\"\$@\" -idirafter $dir/kernel -idirafter $prefix/include -L$prefix/lib -Wl,-rpath,$prefix/lib -Wl,--as-needed"
compiler real-gcc "$(gcc -print-multiarch)-gcc" "$of_musl"
compiler real-g++ "$(gcc -print-multiarch)-g++" "$of_musl"
for called in gcc cc; do compiler "$called" musl-gcc '"$@"'; done
for called in g++ c++; do compiler "$called" "env REALGCC=$dir/bin/real-g++ musl-gcc" '"$@"'; done

export REALGCC=$dir/bin/real-gcc
PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig build musl -DCMAKE_C_COMPILER=musl-gcc \
    -DRBWP_WITH_SQLITE=OFF -DRBWP_WITH_MPI=OFF -DRBWP_BUILD_EXAMPLES=ON "${of_gpus[@]}" \
    -DZLIB_INCLUDE_DIR="$prefix/include" -DZLIB_LIBRARY="$prefix/lib/libz.a"
longer musl 0 # ten times: the machine may have much else to do
suite env CC=musl-gcc CXX="$dir/bin/g++" PATH="$dir/bin:$PATH" PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" ZLIB_ROOT="$prefix" \
    ctest --test-dir "$dir/musl"
