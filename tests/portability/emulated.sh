# SPDX-License-Identifier: Apache-2.0
# emulated.sh - what s390x.sh and aarch64.sh share: all tests on a machine that qemu-user plays. They are built here by a
# cross compiler; the kernel starts qemu for each program of that machine (binfmt_misc, registered by this script and
# forgotten at its end), so scripts run them, and what they build with gcc and g++, by name.
#
# The scripts themselves, Python and CMake are this machine's: RBWP_BYTE_ORDER tells them what the programs write. What a
# test preloads a library of ours into is the other machine's, in RBWP_TEST_PROGRAMS.

# programs MACHINE: a folder with some of its programs, which find their libraries.
programs() {
    local program sysroot=$dir/sysroot
    export RBWP_TEST_PROGRAMS=$dir/programs
    [[ ! -e $dir/programs/python3 ]] || return 0
    mkdir -p "$dir/programs"
    for program in true sleep env cat; do
        cp "$sysroot/bin/$program" "$dir/programs" 2>/dev/null || cp "$sysroot/usr/bin/$program" "$dir/programs"
    done
    cp "$sysroot/bin/dash" "$dir/programs/sh"
    patchelf --force-rpath --set-rpath "$sysroot/lib/$1-linux-gnu:$sysroot/usr/lib/$1-linux-gnu" \
        "$dir"/programs/{true,sleep,env,cat,sh} "$sysroot/usr/bin/python3.11"
    ln -s "$sysroot/usr/bin/python3.11" "$dir/programs/python3" # it looks for its modules from where it is
}

# emulated MACHINE MAGIC MASK BYTE_ORDER: the first twenty bytes of its programs.
emulated() {
    local machine=$1 magic=$2 mask=$3 debian=$1
    export RBWP_BYTE_ORDER=$4 RBWP_TIMES_AS_LONG=10
    [[ $machine != aarch64 ]] || debian=arm64
    ((EUID == 0)) || skip "needs root, for binfmt_misc"
    need gcc g++ "gcc-12-$machine-linux-gnu" "g++-12-$machine-linux-gnu" "libc6-dev-$debian-cross" qemu-user-static cmake \
        ninja-build pkg-config python3 zlib1g-dev libcmocka-dev libsqlite3-dev patchelf
    unpack "$debian" zlib1g zlib1g-dev libcmocka0 libcmocka-dev libsqlite3-0 libsqlite3-dev dash coreutils libacl1 libattr1 libgmp10 \
        libpcre2-8-0 libselinux1 python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 libffi8
    programs "$machine"

    local formats=/proc/sys/fs/binfmt_misc
    [[ -e $formats/register ]] || mount -t binfmt_misc none "$formats" || skip "no binfmt_misc here"
    if [[ ! -e $formats/rbwp-$machine ]]; then
        printf '%s' ":rbwp-$machine:M::$magic:$mask:/usr/bin/qemu-$machine-static:PF" >"$formats/register"
        # shellcheck disable=SC2064 # now
        trap "echo -1 >$formats/rbwp-$machine; rm /etc/qemu-binfmt/$machine" EXIT
        # Where qemu looks for libraries, also in programs that are started without an environment.
        mkdir -p /etc/qemu-binfmt
        ln -sfn "/usr/$machine-linux-gnu" "/etc/qemu-binfmt/$machine"
    fi

    local libraries=$dir/sysroot/usr/lib/$machine-linux-gnu tool
    local own=$dir/sysroot/lib/$machine-linux-gnu
    mkdir -p "$dir/bin"
    for tool in gcc g++; do
        printf '#!/bin/sh\nexec %s-linux-gnu-%s-12 "$@" -Wno-psabi -idirafter %s -L%s -L%s -Wl,-rpath,%s:%s\n' "$machine" "$tool" \
            "$dir/sysroot/usr/include" "$libraries" "$own" "$libraries" "$own" >"$dir/bin/$tool"
        chmod +x "$dir/bin/$tool"
    done
    for tool in clang clang++; do
        printf '#!/bin/sh\nexec /usr/bin/%s --target=%s-linux-gnu "$@"\n' "$tool" "$machine" >"$dir/bin/$tool"
        chmod +x "$dir/bin/$tool"
    done
    ln -sf gcc "$dir/bin/cc"
    ln -sf g++ "$dir/bin/c++"
    for tool in ar nm objcopy objdump ranlib readelf strip ld; do
        ln -sf "/usr/bin/$machine-linux-gnu-$tool" "$dir/bin/$tool"
    done
    local there=(env "PATH=$dir/bin:$PATH" "PKG_CONFIG_LIBDIR=$libraries/pkgconfig" "PKG_CONFIG_SYSROOT_DIR=$dir/sysroot")

    echo "== $name: build"
    "${there[@]}" cmake -S "$root" -B "$dir/build" -G Ninja -DRBWP_BUILD_TESTS=ON -DRBWP_BUILD_EXAMPLES=ON \
        -DRBWP_TEST_SHARE=1/13 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" -DCMAKE_C_COMPILER="$dir/bin/gcc" \
        -DCMAKE_LIBRARY_ARCHITECTURE="$machine-linux-gnu" -DRBWP_WITH_MPI=OFF \
        -DZLIB_INCLUDE_DIR="$dir/sysroot/usr/include" -DZLIB_LIBRARY="$libraries/libz.so" \
        -DSQLite3_INCLUDE_DIR="$dir/sysroot/usr/include" -DSQLite3_LIBRARY="$libraries/libsqlite3.so" \
        >"$dir/build.log" 2>&1 || { cat "$dir/build.log"; exit 1; }
    "${there[@]}" cmake --build "$dir/build" -j "$jobs" >"$dir/build.log" 2>&1 ||
        { grep -v '^\[' "$dir/build.log"; exit 1; }
    longer build 0 # ten times
    suite "${there[@]:0:3}" "CMAKE_LIBRARY_PATH=$libraries" ctest --test-dir "$dir/build" # what is installed does not lie below the packages
}
