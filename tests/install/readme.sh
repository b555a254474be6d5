#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# readme.sh SOURCE PREFIX WORK - the programs of README.md and docs/instrument.md compile and run with the flags given
# there, and the commands of README.md and docs/commands.md read what they leave. What was measured no page of the design says
# otherwise. (Console blocks, with what is answered, are docs.py's.)
set -euo pipefail
source=$1 prefix=$2 work=$3
command -v pkg-config >/dev/null || { echo "skipped: no pkg-config"; exit 77; }
export PKG_CONFIG_PATH=$prefix/$LIBDIR/pkgconfig LD_LIBRARY_PATH=$prefix/$LIBDIR PATH=$prefix/bin:$PATH

rm -rf "$work"
mkdir -p "$work"
cd "$work"

# lines PAGE LANGUAGE PATTERN: lines with PATTERN from the code blocks of that language.
lines() {
    sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/p" "$source/$1" | grep -v '^```' | grep -e "$3"
}
# program PAGE CALLS: the page's program is built and run as it says, and leaves so many calls.
program() {
    lines "$1" c '' >cleaner.c
    eval "$(lines "$1" sh '^cc ')"
    eval "$(lines "$1" sh '^\./cleaner ')"
    local calls
    calls=$(rbwp-dump bgwork_0.bin | grep -o COARSE_BEGIN | wc -l)
    ((calls == $2)) || { echo "$1: $calls calls, not $2"; exit 1; }
}
# commands PAGE: those that read files end well.
commands() {
    lines "$1" sh '^rbwp' | while read -r command; do
        echo "$command"
        # The program's calls are short: a filter for long ones is right to say that there are none. Other programs of this
        # machine, which top sees, may be of another byte order, have their files elsewhere, or end as it looks.
        # Of two runs of one program one in a hundred pairs may differ by chance (exit 4).
        eval "$command" >/dev/null 2>errors || [[ $? == 4 && $command == 'rbwp compare '* ]] || grep -qE 'nothing fits the filters|^rbwp top: .*: (live file|cannot be opened): ' errors ||
            { cat errors; exit 1; }
    done
}
program README.md 1000
ln -s cleaner a
ln -s cleaner b
commands README.md
program docs/instrument.md 100 >/dev/null # a call in ten did work: those 100 are in the file, and no other
commands docs/commands.md
[[ $(wc -lw <"$source/README.md" | awk '{ print $1 <= 150 && $2 <= 1300 }') == 1 ]] || { echo "README.md has grown: 150 lines and 1300 words are all"; exit 1; }
# What was measured stands in docs/figures.md alone: other pages would keep the figures of another day.
if grep -nE '[0-9] x (two|one) (bare |clock )*reads?|SQLite [0-9.]+ M|Measured: [0-9.]+ M records' "$source"/docs/design/*.md; then
    echo "a figure of docs/figures.md"; exit 1
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

# quickstart --help says all of what it does. It shows how far the build is, and what stands out before anything else of the profile.
# (Here nothing is built: a cmake that only prints, and a bgpack that has packed already.)
exec 2>&3
"$source/quickstart" --help | tail -1 | grep -q '\.$' || { echo "quickstart --help ends mid-sentence"; exit 1; }
mkdir -p fresh/.ci fresh/build/quickstart/examples fresh/bin
cp "$source/quickstart" fresh
ln -s "$prefix/bin" fresh/build/quickstart/tools
printf '#!/bin/sh\n' >fresh/.ci/install_packages
printf '#!/bin/sh\nfor n in 1 40 100; do echo "[ $n%%] Building"; done\n' >fresh/bin/cmake
printf '#!/bin/sh\ncp "%s" "$4"\n' "$PWD/bgwork_0.bin" >fresh/build/quickstart/examples/bgpack
chmod +x fresh/.ci/install_packages fresh/bin/cmake fresh/build/quickstart/examples/bgpack
PATH=$PWD/fresh/bin:$PATH fresh/quickstart /usr/include >shown || { cat shown; echo "quickstart fails"; exit 1; }
grep -qx '10% 20% 30% 40% 50% 60% 70% 80% 90% 100% *' shown || { cat shown; echo "quickstart builds in silence"; exit 1; }
[[ $(grep -oE '^(Findings|Work items|format  |report  )' shown | tr -d ' \n') == FindingsWorkitemsreport ]] ||
    { cat shown; echo "quickstart does not open with what stands out"; exit 1; }
