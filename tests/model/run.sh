#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - searches all states of the models here, and shows that each property
# fails when the bug that it excludes is planted.
#
#   tests/model/run.sh          all models and planted bugs
#   tests/model/run.sh --deep   larger ones as well: minutes, 4 GB
#   tests/model/run.sh --part I/N  each N-th search from the I-th on
#   tests/model/run.sh NAME     one model
#
# Needs spin (Debian: spin) and a C compiler; without them it exits with 77. With tcc the models are
# compiled in no time: gcc -O1 takes about as long as it saves.
set -euo pipefail
cd "$(dirname "$0")"

CC=${CC:-gcc}
if ! command -v spin >/dev/null || ! command -v "$CC" >/dev/null; then
    echo "skipped: needs spin and $CC (apt-get install spin gcc)"
    exit 77
fi

compile=$(command -v tcc || echo "$CC -O0")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp ./*.pml "$work"
cd "$work"
failures=0
only= deep= part=1 parts=1 searches=0 compress= # states as they are: half a gigabyte, and a third faster
case ${1:-} in
--deep) deep=1 compress=-DCOLLAPSE ;;
--part) part=${2%/*} parts=${2#*/} ;;
*) only=${1:-} ;;
esac

# search MODEL [-l] [-DNAME...]: leaves the checker's words in ./out. -l: looks for cycles.
search() {
    local model=$1 mode=-DSAFETY
    shift
    local options=()
    if [[ ${1:-} == -l ]]; then
        mode=-DNP options=(-l)
        shift
    fi
    rm -f pan pan.* out
    spin "$@" -a "$model.pml" >out || { cat out; return 1; }
    $compile -w "$mode" $compress -DMEMLIM=6000 -o pan pan.c
    nice ./pan "${options[@]}" -m"$depth" -w"$hash" >out 2>&1 || true
    if ! grep -q 'errors: ' out || grep -Eq 'max search depth|out of memory|memory limit' out; then
        cat out
        return 1
    fi
}

report() {
    printf '%-10s %-44s %s\n' "$@"
}

hash=24 depth=1000000
# holds MODEL OPTION...: no property is violated in any state.
holds() {
    [[ $only && $only != "$1" ]] && return
    ((searches++ % parts == part - 1)) || return 0
    search "$@" || { failures=$((failures + 1)); return; }
    local states
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out)
    if grep -q 'errors: 0' out; then
        report "$1" "${*:2}" "holds, $states states"
    else
        report "$1" "${*:2}" "VIOLATED: $(grep -m1 '^pan:1' out)"
        failures=$((failures + 1))
    fi
}

# catches MODEL OPTION...: the planted bug, the last option, violates a property.
catches() {
    [[ $only && $only != "$1" ]] && return
    ((searches++ % parts == part - 1)) || return 0
    local hash=18 depth=100000 # few states
    search "$@" || { failures=$((failures + 1)); return; }
    if grep -q 'errors: 0' out; then
        report "$1" "${*:2}" "NOT CAUGHT"
        failures=$((failures + 1))
    else
        report "$1" "${*:2}" "caught: $(sed -n '/^pan:1: /{s///; s/ (at depth.*//; s/\(.\{50\}\).*/\1.../; p; q}' out)"
    fi
}

holds handshake
[[ ! $deep ]] || holds handshake -DCALLS=3
for bug in 1 2 3 4 5 6; do catches handshake -DBUG_$bug; done

holds freelist
holds freelist -DCAP=2
for bug in 1 2 3; do catches freelist -DBUG_$bug; done
catches freelist -DCAP=2 -DBUG_4

# Two threads and two sessions; one thread, longer, with items over several chunks.
holds handover -DCALLS=2 -DCALLS_2=1
[[ ! $deep ]] || holds handover -DSESSIONS=1 -DCALLS=6 -DCALLS_2=0 -DWORDS=2
for bug in 1 2 3 4 5 6 7 8 9 10 11; do
    catches handover -DSESSIONS=1 -DCALLS=3 -DCALLS_2=1 -DBUG_$bug
done

holds settled
for bug in 1 2 3 4 5 6 7 8; do catches settled -DBUG_$bug; done

# Ends as it should, and without turning in circles.
holds lent
holds lent -l
for bug in 1 2 3 4; do catches lent -DBUG_$bug; done
catches lent -l -DBUG_5

# Two workers; with offers of the CPU; with a lent thread; closed at any moment. Deep: three workers.
holds doorbell
holds doorbell -DARMS=2 -DYIELDS
holds doorbell -DLENT -DWORKERS=1
holds doorbell -DARMS=1 -DCLOSE_EARLY
[[ ! $deep ]] || holds doorbell -DARMS=2 -DCLOSE_EARLY
[[ ! $deep ]] || holds doorbell -DARMS=1 -DWORKERS=3
for bug in 1 2 3 4 5 6 7 8 9 11; do catches doorbell -DBUG_$bug; done
for bug in 10 12; do catches doorbell -DLENT -DWORKERS=1 -DBUG_$bug; done

if [[ $deep ]]; then
    holds doorbell -DARMS=2 -DLENT
    holds handover -DSESSIONS=1 -DCALLS=3 -DCALLS_2=1
    holds handover -DSESSIONS=2 -DCALLS=3 -DCALLS_2=1
fi

((failures == 0)) || { echo "$failures of the above are not as they should be"; exit 1; }
