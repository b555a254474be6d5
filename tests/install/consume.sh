#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# consume.sh WAY CMAKE SOURCE PREFIX WORK - builds tests/consumer against the
# installed library in one of the ways a user has, as C and as C++, runs it, and
# looks whether it uses the library that was meant.
set -euo pipefail
way=$1 cmake=$2 source=$3 prefix=$4 work=$5
command -v g++ >/dev/null || { echo "skipped: no g++"; exit 77; }
lib=$prefix/$LIBDIR

rm -rf "$work"
mkdir -p "$work"
cd "$work"

with_cmake() {
    "$cmake" -S "$source/tests/consumer/$1" -B . "${@:2}"
    "$cmake" --build . -j 2 --target consumer_c consumer_cpp # of us what they need
}

with_pkg_config() {
    export PKG_CONFIG_PATH=$lib/pkgconfig
    command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
    local warn=(-Wall -Wextra -pedantic -Werror) flags
    read -ra flags <<<"$(pkg-config --cflags --libs "$@" rbwp)"
    gcc -std=c11 "${warn[@]}" "$source/tests/consumer/consumer.c" -o consumer_c "${flags[@]}"
    g++ -std=c++11 "${warn[@]}" "$source/tests/consumer/consumer_cpp.cpp" -o consumer_cpp "${flags[@]}"
    # Flags before the sources, as in LDFLAGS, where the distribution's linker drops what nobody has asked for yet.
    if [[ ${1:-} != --static ]]; then
        gcc -std=c11 -Wl,--as-needed "$source/tests/consumer/consumer.c" "${flags[@]}" -o consumer_c
        gcc -std=c11 -Wl,--as-needed "${flags[@]}" "$source/tests/consumer/consumer.c" -o consumer_c
    fi
}

shared=
case $way in
find_package)
    with_cmake find_package -DCMAKE_PREFIX_PATH="$prefix" -DRBWP_TARGET=rbwp::rbwp
    shared=1
    ;;
find_package_static)
    with_cmake find_package -DCMAKE_PREFIX_PATH="$prefix" -DRBWP_TARGET=rbwp::static
    ;;
pkg_config)
    with_pkg_config
    shared=1
    ;;
pkg_config_static)
    # The linker takes the shared library where both lie side by side.
    cp -r "$prefix" static
    lib=$work/static/$LIBDIR
    rm "$lib"/librbwp.so*
    with_pkg_config --static
    ;;
add_subdirectory)
    with_cmake add_subdirectory -DRBWP_SOURCE_DIR="$source"
    ;;
esac

for program in consumer_c consumer_cpp; do
    LD_LIBRARY_PATH=$lib ./$program "$work/$program.bin"
    if objdump -p $program | grep -q 'NEEDED *librbwp.so'; then uses_shared=1; else uses_shared=; fi
    [[ $uses_shared == "$shared" ]] || { echo "$program: linked to the other kind of library"; exit 1; }
done
