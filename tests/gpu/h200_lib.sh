#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# h200_lib.sh - for the scripts that run on a machine with an NVIDIA GPU, which source it with their
# first argument: goes to the repository's root; makes build (a directory), logs ($OUT, or build);
# finds cmake, ninja, python and the driver. step runs something and notes how it ended; finish prints the
# table and ends the script, with 1 if anything in it failed.
#
# Wants gcc, CMake (a command, or Python's package), an NVIDIA driver, zlib's header. Packages that
# are missing can lie unpacked in a folder that RBWP_EXTRA_ROOT names (usr/include, usr/lib/...).
set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
build=$(mkdir -p "${1:-build/h200}" && cd "${1:-build/h200}" && pwd) || exit 1
logs=${OUT:-$build}
mkdir -p "$logs" || exit 1
table=()
failed=0

# step NAME LIMIT_S COMMAND...: runs it with its output in a log, and notes how it ended. A test that
# finds no device (77) has failed here, but for may_lack=1.
may_lack=0
step() {
    local name=$1 limit=$2 log result status begin=$SECONDS
    shift 2
    log=$logs/${name// /_}.log
    timeout "$limit" "$@" >"$log" 2>&1
    status=$?
    case $status in
    0) result=passed ;;
    77) ((may_lack)) && result="not here: $(tail -n 1 "$log")" || result="FAILED: $(tail -n 1 "$log")" ;;
    124) result="FAILED: not done in $limit s" ;;
    *) result="FAILED: exit $status: $(grep -v '^$' "$log" | tail -n 1)" ;;
    esac
    [[ $result == FAILED* ]] && failed=1 && tail -n 15 "$log"
    table+=("$(printf '%-28s %4d s  %s' "$name" $((SECONDS - begin)) "${result:0:150}")")
    return $status
}

# shown_step NAME LIMIT_S COMMAND...: the same of one that is worth reading while it runs: all it prints is shown, too.
shown_step() {
    local name=$1 limit=$2 result=passed begin=$SECONDS
    shift 2
    timeout "$limit" "$@" 2>&1 | tee "$logs/${name// /_}.log"
    ((PIPESTATUS[0] == 0)) || result=FAILED failed=1
    table+=("$(printf '%-28s %4d s  %s' "$name" $((SECONDS - begin)) "$result")")
}

# build_step: build_all, which the script defines. False where it fails: what needs nothing of it can be tried all the same.
build_step() {
    local begin=$SECONDS
    if build_all >"$logs/build.log" 2>&1; then
        table+=("$(printf '%-28s %4d s  passed' build $((SECONDS - begin)))")
    else
        tail -n 30 "$logs/build.log"
        table+=("build                        FAILED")
        failed=1
        return 1
    fi
}

# What a log begins with, for bench/figures.py: the GPU, its driver, the date, and the state ($RBWP_COMMIT where git does not know).
head_line() {
    local gpu
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)
    echo "${gpu/, /, driver }, $(date +%F), commit ${RBWP_COMMIT:-$(git rev-parse --short HEAD 2>/dev/null)}: tests/gpu/$(basename "$0")"
}

finish() {
    echo
    printf '%s\n' "${table[@]}"
    ((failed == 0)) && echo "== all good" || echo "== something failed"
    exit "$failed"
}

# ---- what is here ----------------------------------------------------------------------------

first_of() {
    local path
    for path; do
        [[ -e $path ]] && echo "$path" && return
    done
}

extra=${RBWP_EXTRA_ROOT:-}
options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo)
if [[ $extra ]]; then
    extra=$(cd "$extra" && pwd)
    options+=("-DCMAKE_PREFIX_PATH=$extra/usr")
    libraries=$extra/usr/lib/$(uname -m)-linux-gnu
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
if [[ -d /usr/local/nvidia/lib64 ]] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
    export LD_LIBRARY_PATH=/usr/local/nvidia/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
# zlib's library without its header's package: name the library itself.
if [[ $extra && -e $extra/usr/include/zlib.h ]]; then
    options+=("-DZLIB_INCLUDE_DIR=$extra/usr/include"
        "-DZLIB_LIBRARY=$(ldconfig -p | sed -n 's/^.*libz\.so\.1 .*=> //p' | head -1)")
fi
python=$(command -v python3)
if command -v cmake >/dev/null; then
    cmake=(cmake)
elif [[ $python ]] && "$python" -m cmake --version >/dev/null 2>&1; then
    cmake=("$python" -m cmake)
else
    echo "no CMake here: neither the command nor Python's package" >&2
    exit 1
fi
command -v ninja >/dev/null && options+=(-G Ninja)
sanitizer=$(command -v compute-sanitizer || first_of /usr/local/cuda/bin/compute-sanitizer \
    /opt/nvidia/*/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer)
head_line
