#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# consume_mpi.sh CMAKE SOURCE PREFIX WORK LIBRARY... - a program of one node is built against each
# installed librbwp-mpi, by CMake and by pkg-config, with nothing of MPI on its command line, and
# runs; a component that was not built is named, with those that were.
set -euo pipefail
cmake=$1 source=$2 prefix=$3 work=$4
lib=$prefix/$LIBDIR
export RES_OPTIONS='timeout:1 attempts:1' # where nobody knows the host's name
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }

rm -rf "$work"
mkdir -p "$work"
cd "$work"

# configure COMPONENT
configure() {
    "$cmake" -S "$source/tests/consumer/mpi" -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DRBWP_COMPONENT="$1"
}

# runs PROGRAM LIBRARY
runs() {
    [[ $(LD_LIBRARY_PATH=$lib "./$1") == "node 0 of 1" ]] || { echo "$1 does not run as a job of its own"; exit 1; }
    objdump -p "$1" | grep -q "NEEDED *lib$2.so" || { echo "$1 is not linked with $2"; exit 1; }
    ! objdump -p "$1" | grep -q 'NEEDED *libmpi' || { echo "$1 is linked with MPI itself"; exit 1; }
}

for library in "${@:5}"; do
    component=${library#rbwp-}
    configure "$component"
    "$cmake" --build "$component"
    runs "$component/consumer_mpi" "$library"

    read -ra flags <<<"$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs "$library")"
    gcc -std=c11 -Wall -Wextra -pedantic -Werror "$source/tests/consumer/mpi/consumer_mpi.c" -o "$component/by_pkg_config" "${flags[@]}"
    runs "$component/by_pkg_config" "$library"
    gcc -std=c11 -Wl,--as-needed "${flags[@]}" "$source/tests/consumer/mpi/consumer_mpi.c" -o "$component/before_the_source"
    runs "$component/before_the_source" "$library"
done

! configure mpi-other 2>errors || { echo "a component that is not there was found"; exit 1; }
tr -s ' \n' ' ' <errors | grep -q 'without an MPI library for the component mpi-other; it has: mpi' ||
    { cat errors; echo "it was not said what is missing"; exit 1; }
