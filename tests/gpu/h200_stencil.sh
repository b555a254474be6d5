#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_stencil.sh [BUILD_DIR] - examples/stencil with its cells on NVIDIA GPUs, as many as there are: one process and one GPU,
# one process and two (pieces by peer copies), several nodes in a process, several processes (pieces into each other's memory)
# where MPI is; HIP over the shim. Each result is verified; of each profile the files are whole, they merge, no message
# is handled before it was sent. Prints how pieces went and how long an iteration took, then a table; the exit status is 1 if anything
# failed. SIDE and ITERATIONS change the larger runs.
#
# What it wants is in h200_lib.sh; MPI as librbwp-mpi does.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/h200_lib.sh"
options+=(-DRBWP_BUILD_EXAMPLES=ON)

build_all() {
    "${cmake[@]}" -S . -B "$build" "${options[@]}" &&
        "${cmake[@]}" --build "$build" -j "$(nproc)" --target stencil rbwp-command &&
        gcc -O2 -g -std=gnu11 -Wall -Wextra -fvisibility=hidden -Igpu/backend -Igpu/backend/include -Iformat/include -D_GNU_SOURCE -shared -fPIC \
            -o "$build/libamdhip64.so.7" tests/gpu/hip_shim.c -ldl -pthread
}
build_step || finish
gpus=$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU')
gpus=${RBWP_FAKE_GPUS:-$gpus}
nvrtc=$(first_of /usr/local/cuda/lib64/libnvrtc.so.1[23] \
    "$("$python" -c 'import site; print(site.getsitepackages()[0])' 2>/dev/null)"/nvidia/*/lib/libnvrtc.so.1[23])
export RBWP_HIP_SHIM_NVRTC=$nvrtc
launch=()
if [[ $(ldd "$build/examples/stencil") == *librbwp-mpi* ]] && command -v mpirun >/dev/null; then
    launch=(mpirun)
    if mpirun --version | grep -q 'Open MPI\|OpenRTE'; then
        launch=(mpirun --allow-run-as-root --oversubscribe --bind-to none --mca plm isolated --mca btl_vader_single_copy_mechanism none)
    fi
fi
echo "== $gpus GPUs; MPI: ${launch[0]:-none}"

# job NAME WAY PROCESSES OPTION...: a run with a profile of each process. WAY must be among the ways that pieces went; "-": any.
job() {
    local name=$1 way=$2 processes=$3 files peers
    shift 3
    cd "$build" && rm -rf "jobs/$name" && mkdir -p "jobs/$name" && cd "jobs/$name" || return 1
    local command=("$build/examples/stencil" "$@" -bgworkprofile 2)
    ((processes == 0)) || command=("${launch[@]}" -n "$processes" "${command[@]}")
    "${command[@]}" >out 2>err || { cat out err; return 1; }
    cat out err
    grep -q 'solution validates' out || return 1
    mapfile -t files < <(printf '%s\n' bgwork_*.bin)
    "$build/tools/rbwp" check "${files[@]}" && "$build/tools/rbwp" merge -f -o job.json "${files[@]}" >merged 2>&1 || { cat merged; return 1; }
    cat merged
    if grep -q 'before it was sent' merged; then return 1; fi
    "$build/tools/rbwp" stats "${files[@]}" | tee stats
    peers=$(awk '/gpu peer copy channel$/ {print $1; exit}' stats)
    echo "peer copies: ${peers:-0}"
    [[ $way == - ]] || grep '^pieces' out | grep -q "$way"
}
try() { # NAME LIMIT_S WAY PROCESSES OPTION...
    local name=$1 limit=$2
    shift 2
    step "$name" "$limit" bash -c "$(declare -f job); $(declare -p launch build); job \"\$@\"" _ "${name// /_}" "$@"
    grep -hE '^(cells on|pieces|time|norm|peer copies|stencil:)' "$logs/${name// /_}.log" 2>/dev/null | sed "s/^/    /"
}

side=${SIDE:-4000} iterations=${ITERATIONS:-50}
size=(--side "$side" --iterations "$iterations")
# Odd sizes, many tiles and slices of time too: what is at the borders.
try "one GPU" 120 - 0 --gpu cuda --gpus 1 "${size[@]}"
try "one GPU, four tiles" 120 "within one" 0 --gpu cuda --gpus 1 --tiles 4 "${size[@]}" -bgwork 2
CUDA_VISIBLE_DEVICES=0 try "one GPU twice" 120 "within one\|from one to another" 0 --gpu cuda --gpus 2 --tiles 2 --side 1001 --iterations 20
try "one GPU, two nodes" 120 "within one\|from one to another" 0 --gpu cuda --nodes 2 --tiles 2 --side 1003 --iterations 20
if ((gpus >= 2)); then
    try "two GPUs" 120 "from one to another\|by way of the host" 0 --gpu cuda --gpus 2 --tiles 2 "${size[@]}" -bgwork 2
    try "two GPUs, sixteen tiles" 120 "from one to another\|by way of the host" 0 --gpu cuda --gpus 2 --tiles 16 --side 997 --iterations 40 -bgwork 4
    try "two GPUs, four nodes" 120 "from one to another\|by way of the host" 0 --gpu cuda --nodes 4 --gpus 2 --tiles 4 --side 999 --iterations 40
fi
if ((${#launch[@]})); then
    # Where a sandbox refuses that memory is shared the log says so, and the pieces go through the host.
    try "two processes" 180 "another process\|through memory of the host" 2 --gpu cuda --tiles 2 "${size[@]}" -bgwork 2
    try "two processes, one GPU" 180 "another process\|through memory of the host" 2 --gpu cuda --gpus 1 --tiles 3 --side 1001 --iterations 40
    try "four processes" 180 "another process\|through memory of the host" 4 --gpu cuda --tiles 4 --side 1002 --iterations 40 -bgwork 2
else
    table+=("several processes                  not here: no MPI")
fi
if [[ $nvrtc || ${RBWP_FAKE_GPUS:-} ]]; then
    export LD_LIBRARY_PATH=$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    try "hip shim" 180 - 0 --gpu hip --tiles 2 --side 1001 --iterations 20
    ((${#launch[@]})) && try "hip shim, two processes" 180 "another process\|through memory of the host" 2 --gpu hip --tiles 2 --side 1001 --iterations 20
fi

# ---- figures ---------------------------------------------------------------------------------

echo
echo "== figures: an iteration of $side x $side"
for name in "one_GPU" "one_GPU,_four_tiles" "two_GPUs" "two_processes"; do
    [[ -e $build/jobs/$name/out ]] || continue
    printf '%-22s %s\n' "$name" "$(grep '^time' "$build/jobs/$name/out")"
    grep '^pieces' "$build/jobs/$name/out"
done
finish
