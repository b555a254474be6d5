#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# readme.sh SOURCE PREFIX WORK - the README's program and the commands below it do
# what the README says: the C block compiles, runs with the flags given there, and
# the tools read what it leaves. And what it measured, no page of the design says otherwise.
set -euo pipefail
source=$1 prefix=$2 work=$3
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig LD_LIBRARY_PATH=$prefix/$LIBDIR PATH=$prefix/bin:$PATH

rm -rf "$work"
mkdir -p "$work"
cd "$work"

# lines LANGUAGE PATTERN: lines with PATTERN from the code blocks of that language.
lines() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$source/README.md" | grep -v '^```' | grep -e "$2"
}
lines c '' >cleaner.c
eval "$(lines sh '^cc ')"
eval "$(lines sh '^\./cleaner ')" >dump.json
# A call in ten did work: those 100 are in the file, and no other.
(($(grep -o COARSE_BEGIN dump.json | wc -l) == 100)) || { echo "not 100 items:"; head -c 400 dump.json; exit 1; }
lines sh '^rbwp' | while read -r command; do
    echo "$command"
    # The program's calls are short: a filter for long ones is right to say that there are none. Other programs of this
    # machine, which top sees, may be of another byte order, have their files elsewhere, or end as it looks.
    eval "$command" >/dev/null 2>errors || grep -qE 'nothing fits the filters|^rbwp top: .*: (live file|cannot be opened): ' errors ||
        { cat errors; exit 1; }
done
# What was measured stands here alone: other pages would keep the figures of another day.
if grep -nE '[0-9] x (two|one) (bare |clock )*reads?|SQLite [0-9.]+ M|Measured: [0-9.]+ M records' "$source"/docs/design/*.md; then
    echo "a figure of the README's table"; exit 1
fi

# docs/production.md, "It hangs": typed as it stands there it does hang, and rbwp stacks shows who waits for what.
eval "gcc -O2 '$source/tests/cookbook/service.c' $(pkg-config --cflags --libs rbwp) -pthread -o service"
exec 3>&2 2>service.log
trap '[[ ! ${service:-} ]] || kill -9 "$service"' EXIT
typed=$(sed -n '/^## It hangs/,/^## /s/^\$ //p' "$source/docs/production.md")
grep -q '^kill -USR1' <<<"$typed" || { echo "nothing makes it hang" >&3; exit 1; }
eval "$(head -1 <<<"$typed")"
service=$!
until rbwp stacks "$service" | grep -q 'worker 2'; do :; done # its handler is there, and all have begun
for ((tries = 0; tries < 400; tries++)); do
    eval "$(grep '^kill -USR1' <<<"$typed")" # on a busy machine the two locks may miss each other once
    [[ $(rbwp stacks "$service" | grep -c 'wait for \(index\|journal\)  for [0-9.]* s') -lt 4 ]] || break
done
((tries < 400)) || { echo "it does not hang" >&3; exit 1; }

# quickstart --help says all of what it does.
"$source/quickstart" --help | tail -1 | grep -q '\.$' || { echo "quickstart --help ends mid-sentence" >&3; exit 1; }
