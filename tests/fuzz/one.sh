#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# one.sh PROGRAM SECONDS WORK [INPUTS...] - runs one fuzzer so long.
#
# It starts from the topic's corpus, from inputs that once crashed it, from INPUTS (folders), and from what
# earlier runs left in WORK/found; a crash goes to $RBWP_FUZZ_CRASHES, else to WORK/crashes. The seed is
# $RBWP_FUZZ_SEED, else another one each time. Says the seed, runs, speed and edges covered in one line; of
# a failure also the report, the input where that is small, and how to run it again.
# The exit status is 1 then. Words for libFuzzer may stand in $RBWP_FUZZ_OPTIONS.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$1 seconds=$2 work=$3
shift 3
topic=${program##*/fuzz_}
seed=${RBWP_FUZZ_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
crashes=${RBWP_FUZZ_CRASHES:-$work/crashes}
log=$work/log
mkdir -p "$work/found" "$crashes"

# Words of the target: files and their parts, or command lines.
case $topic in
flags | node | options | pattern) dictionary=words ;;
ptx) dictionary=ptx ;;
*) dictionary=rbwp ;;
esac
inputs=("$@")
for kept in "$here/corpus/$topic" "$here/crashes/$topic"; do
    [[ ! -d $kept ]] || inputs+=("$kept")
done

# Standard error is closed for the commands, which print much about hostile files; reports come through.
read -ra more <<<"${RBWP_FUZZ_OPTIONS:-}"
status=0
"$program" -seed="$seed" -max_total_time="$seconds" -rss_limit_mb=2048 -malloc_limit_mb=40 -timeout=10 \
    -close_fd_mask=2 -max_len=65536 -print_final_stats=1 -dict="$here/$dictionary.dict" \
    -artifact_prefix="$crashes/" "${more[@]}" "$work/found" "${inputs[@]}" >"$log" 2>&1 || status=$?

# figure COMMAND...: the last number that it finds in the log.
figure() { "$@" "$log" | tail -n 1 | tr -dc 0-9 || true; }
runs=$(figure sed -n 's/^stat::number_of_executed_units: *//p')
speed=$(figure sed -n 's/^stat::average_exec_per_sec: *//p')
peak=$(figure sed -n 's/^stat::peak_rss_mb: *//p')
edges=$(figure grep -o 'cov: [0-9]*')
all=$(figure sed -n 's/^INFO: Loaded [0-9]* modules *(\([0-9]*\) .*/\1/p')
printf '%-12s %10s runs %8s/s %6s of %6s edges %5s MB  seed %-10s  %s\n' "$topic" "${runs:-?}" "${speed:-?}" \
    "${edges:-?}" "${all:-?}" "${peak:-?}" "$seed" "$( ((status)) && echo FAILED || echo ok)"
((status)) || exit 0

grep -v '^#[0-9]' "$log" | tail -n 60
artifact=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
if [[ -n $artifact && -e $artifact ]]; then
    echo "again: $program $artifact"
    if (($(wc -c <"$artifact") <= 65536)); then
        echo "the input (base64 -d | xz -d > FILE gives it back):"
        xz -9c "$artifact" | base64
    fi
fi
echo "the whole run again: RBWP_FUZZ_SEED=$seed $0 $program $seconds $work $*"
exit 1
