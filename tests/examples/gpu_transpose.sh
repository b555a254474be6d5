#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# gpu_transpose on whatever device there is, and on none: guards that results are right, that a
# profile tells of every kernel, and that a machine without a GPU gets the work done and is told so.
. "$(dirname "$0")/lib.bash"
: "${GPU_TRANSPOSE:?the example}"

# Every device found; each kernel launched is a GPU_WORK record.
expect 0 "$GPU_TRANSPOSE" -bgworkprofile 2 -bgworkprofile_logfile all_%.bin --size 300x421 --matrices 5
expect_output '^device '
expect_output 'wrong 0, failed 0$'
expect_output '^profile .*lost 0$'
kernels=$(sed -n 's/^.* \([0-9]*\) kernels;.*/\1/p' "$work/out" | awk '{n += $1} END {print n + 0}')
devices=$(grep -c ' kernels;' "$work/out")
cp "$work/out" said
expect 0 "$RBWP" check all_0.bin
expect 0 "$dump" all_0.bin
works=$(grep -c '"GPU_WORK"' "$work/out")
((works == kernels)) || fail "$works GPU_WORK records of $kernels kernels"
((devices == 0 || kernels >= devices * 15)) || fail "too few kernels: $(cat said)"
if ((devices > 0)); then
    expect 0 "$RBWP" info all_0.bin
    for name in 'gpu memcpy channel' 'gpu memfill channel' 'gpu transpose channel' \
        'gpu memreduce channel' 'host-to-device' 'device-to-host' 'gpu_transpose compare'; do
        expect_output "$name"
    done
else
    echo "note: no GPU and no PoCL here; only the host's channels were tried"
    grep -q 'the host.s channels do the work' said || fail "it does not say that there is no GPU"
fi

# Without workers the main thread does it all; no profile unless it is asked for.
expect 0 "$GPU_TRANSPOSE" -bgwork 0 --size 33x1 --matrices 2
expect_output 'wrong 0, failed 0$'
compgen -G 'bgwork_*' >/dev/null && fail "a profile was written without being asked for"

# The host alone, and a driver that is not there.
expect 0 "$GPU_TRANSPOSE" --api host --size 64x1000 -bgworkprofile 2 -bgworkprofile_logfile host.bin
expect_output '^device    the host'
expect 0 "$dump" --spans host.bin
expect_output 'transpose channel'
expect 0 "$GPU_TRANSPOSE" --api cuda --driver /nonexistent/libcuda.so --size 10x10
expect_output '^no GPU .*nonexistent'
expect_output '^device    the host'

for usage in '--size 10' '--size 0x5' '--size 5x70000' '--matrices x' '--api vulkan' '--nonsense 1' \
    '--size' '--driver x' '-bgworkprofile 3'; do
    expect 2 "$GPU_TRANSPOSE" $usage
    [[ $(wc -l <"$work/err") == 1 ]] || fail "'$usage': not one line: $(cat "$work/err")"
done
finish
