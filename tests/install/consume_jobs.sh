#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# consume_jobs.sh CMAKE SOURCE PREFIX WORK - a program with a channel is built against the installed librbwp-jobs by
# CMake, shared and static, and by pkg-config, by its own name and, as before it was a library of its own, by that of rbwp;
# and a program that only records is not linked with it.
set -euo pipefail
cmake=$1 source=$2 prefix=$3 work=$4
lib=$prefix/$LIBDIR
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib

rm -rf "$work"
mkdir -p "$work"
cd "$work"

# needs PROGRAM PATTERN: its libraries of ours are these.
needs() {
    local needed
    needed=$(objdump -p "$1" | sed -n 's/.*NEEDED *lib\(rbwp[a-z-]*\).*/\1/p' | sort | xargs)
    [[ $needed == "$2" ]] || { echo "$1 is linked with '$needed', not '$2'"; exit 1; }
}
# runs PROGRAM LIBRARIES
runs() {
    [[ $("./$1") == copied ]] || { echo "$1 does not copy"; exit 1; }
    needs "$1" "$2"
}

"$cmake" -S "$source/tests/consumer/jobs" -B . -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build .
runs consumer_jobs 'rbwp rbwp-jobs'
runs consumer_jobs-static ''

for name in rbwp-jobs rbwp; do
    read -ra flags <<<"$(pkg-config --cflags --libs "$name")"
    gcc -std=c11 -Wall -Wextra -pedantic -Werror "$source/tests/consumer/jobs/consumer_jobs.c" -o "by_$name" "${flags[@]}"
    runs "by_$name" 'rbwp rbwp-jobs'
    gcc -std=c11 "$source/tests/consumer/consumer.c" -o "records_$name" "${flags[@]}"
done
# Where linkers drop what nobody has asked for yet, and with the flags behind the sources or, as in LDFLAGS, before them.
read -ra flags <<<"$(pkg-config --cflags --libs rbwp-jobs)"
gcc -std=c11 -Wl,--as-needed "$source/tests/consumer/jobs/consumer_jobs.c" "${flags[@]}" -o behind
gcc -std=c11 -Wl,--as-needed "${flags[@]}" "$source/tests/consumer/jobs/consumer_jobs.c" -o before
runs behind 'rbwp rbwp-jobs'
runs before 'rbwp rbwp-jobs'
needs records_rbwp rbwp
