#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# s390x.sh - all tests on a big-endian machine, which qemu-user plays; and files written there and read here, and the
# other way round.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/emulated.sh"

# Files that both write are seen alike by both, to the last byte.
across() {
    echo "== $name: files across"
    local side path across=$dir/across here=$dir/here there=$dir/build count=0
    cmake --build "$here" -j "$jobs" --target fuzz_make_seeds rbwp-command >"$dir/here.log" 2>&1 ||
        { grep -v '^\[' "$dir/here.log"; return 1; }
    rm -rf "$across"
    mkdir -p "$across"/{big,little}
    "$there/tests/fuzz/fuzz_make_seeds" "$across/big" 32
    "$here/tests/fuzz/fuzz_make_seeds" "$across/little" 32
    for path in "$across"/*/made_*; do
        "$here/tools/rbwp-dump" "$path" >"$across/here" 2>/dev/null
        "$there/tools/rbwp-dump" "$path" >"$across/there" 2>/dev/null
        cmp "$across/here" "$across/there" || return 1
        count=$((count + 1))
    done
    for path in "$across"/little/made_*; do
        # And both have written the same records; how zlib packs them is its own affair.
        for side in big little; do
            (cd "$across/$side" && "$here/tools/rbwp-dump" --ndjson "$(basename "$path")") >"$across/$side.ndjson" 2>/dev/null
        done
        cmp "$across/big.ndjson" "$across/little.ndjson" || return 1
    done
    echo "$name: $count files, half of them written on each side, are the same on both"
}

status=0
emulated s390x '\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16' \
    '\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff' big || status=1
((${#words[@]})) || across || status=1
exit "$status"
