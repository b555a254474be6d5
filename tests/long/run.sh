#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [--scale S] [--store] [PART...] - what one evening is for; see README.md.
#
#   fuzz      every fuzz target an hour, as many at once as there are processors
#   kill      2000 programs killed while they record; 2000 disks that fill up, 2000 that fill up and are killed;
#             60 killed in each of the other ways, unmodified programs and their forked children among them
#   tsan      an hour of the tests in which threads run, under ThreadSanitizer, again and again
#   plain     all tests, each in whole
#   gcc       all tests under gcc's ASan and UBSan
#   months    a year of one session, and a year in a file a day, in fast motion
#   drift     an hour's session beside the system's clock
#   coverage  which lines the fuzz targets and all tests execute
#
# Without PARTs all of them. --scale 0.02 takes that much of each of these times and numbers. Each part ends
# with a line "PART: good" or "PART: BAD", and the exit status is 1 if one is bad. Builds and logs are in
# $RBWP_LONG_DIR (default build/long). --store keeps what is printed as tests/long/results.txt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scale=1 store=
while [[ ${1:-} == --* ]]; do
    case $1 in
    --scale) scale=$2 && shift ;;
    --store) store=1 ;;
    *) sed -n '4,18s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
    shift
done
parts=("$@")
((${#parts[@]})) || parts=(months kill drift plain gcc tsan coverage fuzz)
dir=${RBWP_LONG_DIR:-$root/build/long}
jobs=${RBWP_JOBS:-$(nproc)}
export LC_ALL=C.UTF-8
export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# scaled NUMBER [LEAST]: so much of it, and at least that.
scaled() { awk -v n="$1" -v s="$scale" -v least="${2:-1}" 'BEGIN {n = int(n * s); print (n > least ? n : least)}'; }

# build NAME "TARGET..." OPTION...: configures and builds $dir/NAME.
build() {
    local name=$1 target=$2
    shift 2
    # shellcheck disable=SC2086 # words are meant
    cmake -S "$root" -B "$dir/$name" -G Ninja -DRBWP_BUILD_TESTS=ON -DRBWP_BUILD_EXAMPLES=ON -DRBWP_BUILD_BENCH=ON \
        "$@" >"$dir/$name.log" 2>&1 && cmake --build "$dir/$name" -j "$jobs" --target $target >"$dir/$name.log" 2>&1 ||
        { grep -v '^\[' "$dir/$name.log" | tail -n 30 && return 1; }
}
sanitized=(-DCMAKE_BUILD_TYPE=Debug '-DCMAKE_C_FLAGS_DEBUG=-O1 -g1')

# gcc 12's sanitizers expect the address space of a kernel with at most 28 random bits.
still() { if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi; }

tests() { # NAME OPTION...
    local name=$1
    shift
    still ctest --test-dir "$dir/$name" -j "$jobs" --timeout 1500 --output-on-failure --no-label-summary "$@" \
        >"$dir/$name.tests" 2>&1 || { sed -n '/The following tests FAILED/,$p' "$dir/$name.tests" && return 1; }
}

part_fuzz() { RBWP_FUZZ_DIR=$dir/fuzz RBWP_JOBS=$jobs "$root/tests/fuzz/run.sh" all "$(scaled 3600 5)"; }

# As many at once as there are processors, each from a seed of its own. With RBWP_LONG_PROGRAMS, a folder with victim,
# unmodified, libfaults.so, librbwp-threads.so and rbwp in it, nothing is built.
part_kill() {
    local share scenario began failed= from=${RBWP_LONG_PROGRAMS:-}
    local -A runs=([kill]=2000 [disk]=2000 [full]=2000)
    if [[ ! $from ]]; then
        build kill "victim faults rbwp-command" -DBUILD_SHARED_LIBS=OFF || return 1
        build preload "unmodified rbwp-threads" || return 1 # which is shared
        from=$dir/kill/programs
        mkdir -p "$from"
        cp "$dir"/kill/tests/crash/{victim,libfaults.so} "$dir/kill/tools/rbwp" \
            "$dir"/preload/{tests/crash/unmodified,librbwp-threads.so} "$from"
    fi
    for scenario in kill disk full memory closed moved rotated lone children; do
        share=$((($(scaled "${runs[$scenario]:-60}" 4) + jobs - 1) / jobs))
        began=$SECONDS
        for ((i = 0; i < jobs; i++)); do
            VICTIM=$from/victim UNMODIFIED=$from/unmodified FAULTS=$from/libfaults.so RBWP=$from/rbwp \
                RBWP_THREADS=$from/librbwp-threads.so \
                python3 -B "$root/tests/crash/crash.py" "$scenario" "$share" >"$dir/$scenario.$i" 2>&1 &
        done
        while wait -n; [[ $(jobs -rp) ]]; do :; done
        for ((i = 0; i < jobs; i++)); do
            grep "^$scenario: $share runs" "$dir/$scenario.$i" || { failed=1 && tail -n 3 "$dir/$scenario.$i"; }
        done
        echo "$scenario: $((share * jobs)) runs in $((SECONDS - began)) s"
    done
    [[ ! $failed ]]
}

part_tsan() {
    local end=$((SECONDS + $(scaled 3600 20))) rounds=0
    build tsan all -DCMAKE_C_COMPILER=gcc "${sanitized[@]}" -DRBWP_SANITIZE=thread || return 1
    tests tsan || return 1 # each test once, also what ./check leaves out
    end=$((end > SECONDS ? end : SECONDS + $(scaled 3600 20)))
    while ((SECONDS < end)); do
        tests tsan -R '^(cli_(export_perfetto|jobs|stats|tail)$|unit_(race_|stress|test_(record|session|drain|live_snapshot|work|message|rows|queue|range|args|doorbell|partition)))' \
            --stop-on-failure || return 1
        rounds=$((rounds + 1))
    done
    echo "$rounds rounds of $(sed -n 's/.* out of //p' "$dir/tsan.tests") tests"
}

part_plain() {
    build whole all -DRBWP_TEST_ALL=ON || return 1
    tests whole || return 1
    grep 'tests passed' "$dir/whole.tests"
}

part_gcc() {
    build gcc all -DCMAKE_C_COMPILER=gcc "${sanitized[@]}" -DRBWP_SANITIZE=address,undefined -DRBWP_TEST_ALL=ON || return 1
    tests gcc || return 1
    grep 'tests passed' "$dir/gcc.tests"
}

part_months() {
    local days
    days=$(scaled 365 40)
    build plain test_months || return 1
    "$dir/plain/tests/unit/test_months" "$days" >"$dir/months.log" 2>&1 || { tail -n 5 "$dir/months.log" && return 1; }
    "$dir/plain/tests/unit/test_months" "$days" rotated >"$dir/months.log" 2>&1 || { tail -n 5 "$dir/months.log" && return 1; }
    echo "$days days in one file, and in $(sed -n 's/ files of.*//p' "$dir/months.log") files"
}

# What the kept inputs of the fuzz targets execute, and what all tests do. Programs that are killed leave nothing. Some
# tests fail in this build (what gcov takes of memory and files counts as ours, and installed archives want it), and have executed their lines.
part_coverage() {
    local -A chosen=([fuzz]="-R ^fuzz_" [suite]="")
    local what
    build coverage all -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug \
        '-DCMAKE_C_FLAGS_DEBUG=-O1 -g1 --coverage -fprofile-update=atomic' || return 1
    for what in fuzz suite; do
        find "$dir/coverage" -name '*.gcda' -delete
        # shellcheck disable=SC2086 # words are meant
        tests coverage ${chosen[$what]} || grep 'tests passed' "$dir/coverage.tests"
        echo "$what:"
        python3 -B "$here/coverage.py" "$root" "$dir/coverage"
    done
}

part_drift() {
    build plain bench_drift || return 1
    "$dir/plain/bench/bench_drift" "$(scaled 3600 10)"
}

all() {
    echo "machine    $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | xargs), $(nproc) CPUs"
    echo "date       $(date -u +%F), scale $scale"
    echo "commit     $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo none)"
    local part began bad=
    for part in "${parts[@]}"; do
        printf '\n== %s\n' "$part"
        began=$SECONDS
        if "part_$part"; then
            echo "$part: good, $((SECONDS - began)) s"
        else
            echo "$part: BAD, $((SECONDS - began)) s"
            bad=1
        fi
    done
    [[ ! $bad ]]
}

status=0
all 2>&1 | tee "$dir/results.txt" || status=1
[[ ! $store ]] || cp "$dir/results.txt" "$here/results.txt"
exit "$status"
