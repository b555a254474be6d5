#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# written_files: files that the recorder wrote mean the same to the independent Python reader as to
# rbwp-dump, and a strict version-1 reader, which knows nothing of our extensions, accepts them.
. "$(dirname "$0")/lib.bash"
compare=$(cd "$(dirname "$0")/../python" 2>/dev/null && pwd)/compare.py

mkdir tree && head -c 3000000 /dev/urandom >tree/noise && seq 200000 >tree/text
record() {
    expect 0 "$BGPACK" -bgwork 3 -bgworkprofile_logfile "$1.bin" "${@:2}" tree archive.tar.gz
    rm -f archive.tar.gz
}
record level1 -bgworkprofile 1
record level2 -bgworkprofile 2
record strict -bgworkprofile 2 -bgworkprofile_strict 1
record small_cap -bgworkprofile 2 -bgworkprofile_bufsize 1 -bgworkprofile_block 1
for level in 0 1 2 6 9; do
    expect 0 "$FOREIGN_POOL" -bgworkprofile 2 -bgworkprofile_compress "$level" \
        -bgworkprofile_node 7 -bgworkprofile_logfile "compress$level-%.bin"
done
"${PYTHON:-python3}" -B "$compare" --good "$dump" ./*.bin >out 2>&1 || fail "$(cat out)"
[[ $(grep -c 'agree' out) -ge 9 ]] || fail "fewer files than written: $(cat out)"
finish
