#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# stencil_cost.sh [ROUNDS [STENCIL]] - what profiling at level 2 costs a job of 4 nodes: the stencil with and without, in
# turns, medians and quartiles. By the time of an iteration, which is what a user waits for, and by the processors' time of the
# whole job, with what a session's start and stop cost however long it is. In 4 processes where mpirun is, else in one. At real-time
# priority where that is allowed: with other load four processes on few processors wait for each other, and times double from run to
# run. Not for longer than 0.9 s a run: the kernel holds up who takes more of each second (REALTIME=0: without).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
rounds=${1:-21} stencil=$(realpath "${2:-$here/build/examples/stencil}")
side=${SIDE:-1200} iterations=${ITERATIONS:-100} target=${TARGET:-1.02}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

launch=()
nodes=(--nodes 4)
if [[ $(ldd "$stencil") == *librbwp-mpi* ]] && command -v "${MPIRUN:=mpirun}" >/dev/null; then
    launch=("$MPIRUN" -n 4)
    nodes=()
    if "$MPIRUN" --version | grep -q 'Open MPI\|OpenRTE'; then
        launch=("$MPIRUN" --allow-run-as-root --oversubscribe --bind-to none --mca plm isolated
            --mca btl_vader_single_copy_mechanism none -n 4)
    fi
fi

first=()
if [[ ${REALTIME:-1} = 1 ]] && chrt -f 1 true 2>/dev/null; then
    first=(chrt -f 1)
fi

# once LEVEL: "seconds-an-iteration processor-seconds".
once() {
    local TIMEFORMAT='%U %S'
    { time "${first[@]}" "${launch[@]}" "$stencil" "${nodes[@]}" --side "$side" --iterations "$iterations" \
        -bgworkprofile "$1" >out 2>err; } 2>cpu || { cat out err; exit 1; }
    awk 'FNR == NR {if ($1 == "time") print_this = $2; next} {print print_this, $1 + $2}' out <(tail -1 cpu)
    rm -f bgwork_*
}

for ((round = 0; round < rounds; round++)); do
    levels=(0 2)
    ((round % 2)) && levels=(2 0)
    for level in "${levels[@]}"; do
        once "$level" >>"level_$level"
    done
done

quarter() { # FILE COLUMN QUARTERS
    awk -v c="$2" '{print $c}' "$1" | sort -g | awk -v q="$3" '{v[NR] = $1} END {print v[int((NR - 1) * q / 4) + 1]}'
}
echo "stencil    $side x $side, $iterations iterations, 4 nodes in $([[ ${#launch[@]} -gt 0 ]] && echo "4 processes" || echo "one process"), $rounds rounds$([[ ${#first[@]} -gt 0 ]] && echo ", real-time priority")"
names=([1]="an iteration" [2]="all processors' time")
for what in "1 iteration" "2 processors"; do
    column=${what% *}
    plain=$(quarter level_0 "$column" 2) profiled=$(quarter level_2 "$column" 2)
    awk -v n="${what#* }" -v a="$plain" -v b="$profiled" \
        -v q="$(quarter level_0 "$column" 1) to $(quarter level_0 "$column" 3), $(quarter level_2 "$column" 1) to $(quarter level_2 "$column" 3)" \
        'BEGIN {printf "%-10s %.6f s plain, %.6f s at level 2: %.4f x (quartiles %s)\n", n, a, b, b / a, q}'
    ratio=$(awk -v a="$plain" -v b="$profiled" 'BEGIN {print b / a}')
    python3 -B "$here/bench/figure.py" "the stencil at level 2, ${names[column]}" "$ratio" "x without" at most "$target"
done
