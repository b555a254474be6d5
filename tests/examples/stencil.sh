#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# stencil: guards that work which is spread over nodes comes to the right result, with pieces that
# go by channels and by messages, and that its profile says so: each message once at either end,
# none handled before it was sent. Nodes are in one process here (stencil_mpi.sh has several).
. "$(dirname "$0")/lib.bash"

for shape in "--side 5" "--side 61 --tiles 3" "--side 60 --nodes 2 -bgwork 2" "--side 24 --nodes 4 --tiles 16 -bgslice 1"; do
    # shellcheck disable=SC2086 # several words
    expect 0 "$STENCIL" --iterations 25 $shape
    expect_output 'norm      52, wanted 52: solution validates'
done

expect 0 "$STENCIL" --side 90 --nodes 4 --tiles 2 --iterations 20 -bgworkprofile 2
expect_output '20 pieces an iteration, 12 of them messages'
expect 0 "$RBWP" check bgwork_0.bin
expect 0 "$RBWP" stats bgwork_0.bin
for name in 'by field op' 'image op' 'preimage op' 'union op' 'intersection op' 'difference op' 'memcpy channel' 'stencil piece' \
    'stencil tile 7' 'stencil pieces node 3' 'message node 3'; do
    expect_output " $name\$"
done
for table in message_sent message_handled; do
    expect 0 "$RBWP" tables --table $table --as ndjson -o $table.ndjson bgwork_0.bin
done
python3 - <<'END' || fail "the messages are not those of the stencil"
import json
sent, handled = ([json.loads(line) for line in open(f"{table}.ndjson")] for table in ("message_sent", "message_handled"))
assert len(sent) == len(handled) == 12 * 21 + 4, (len(sent), len(handled))
ends = {row["key"]: row for row in handled}
assert len(ends) == len(handled) and ends.keys() == {row["key"] for row in sent}
for row in sent:
    end = ends[row["key"]]
    assert row["time"] <= end["arrived"] <= end["start"] <= end["stop"], (row, end)
    assert (row["name"], row["bytes"]) == (end["name"], end["bytes"]), (row, end)
    assert row["key"] >> 40 == end["peer"], (row, end)
END

# The cells on a GPU, if there is one (PoCL is): copies and reductions of its channel compute the same.
# PoCL's compiler leaves a signal stack of its own on the thread, which AddressSanitizer would unmap.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}use_sigaltstack=0
if "$STENCIL" --side 40 --gpu opencl >out 2>err; then
    expect 0 "$STENCIL" --side 41 --nodes 2 --tiles 2 --iterations 7 --gpu opencl -bgworkprofile 2 -bgworkprofile_logfile gpu.bin
    expect_output 'norm      16, wanted 16: solution validates'
    expect 0 "$RBWP" check gpu.bin
    expect 0 "$RBWP" stats gpu.bin
    for name in 'gpu memreduce channel' 'gpu memcpy channel' 'stencil piece'; do
        expect_output " $name\$"
    done
    expect 0 "$STENCIL" --side 31 --tiles 2 --iterations 5 --gpu opencl --gpus 2 # OpenCL's devices share no memory
    expect_output '2 through memory of the host$'
    expect_output 'norm      12, wanted 12: solution validates'
else
    echo "note: no GPU and no PoCL here: $(cat err)"
    [[ $(wc -l <err) == 1 ]] || fail "not one line: $(cat err)"
fi

# Cells on several GPUs, which a driver plays that computes on the processor: pieces go from GPU to GPU within a process, by
# nodes of it too, as copies of the channel that has the source; where GPUs do not reach each other, through the host.
mkdir driver
ln -s "$FAKE_GPU" driver/libcuda.so.1
gpus() { # NUMBER OPTION...
    RBWP_FAKE_GPUS=$1 LD_LIBRARY_PATH=$PWD/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
        expect 0 "$STENCIL" --iterations 5 --gpu cuda "${@:2}"
    expect_output 'norm      12, wanted 12: solution validates'
}
gpus 2 --side 31 --tiles 4 -bgworkprofile 2 -bgworkprofile_logfile peers.bin
expect_output 'cells on  cuda:0 fake 0, cuda:1 fake 1$'
expect_output 'in an iteration: 4 within one, 4 from one to another$'
expect 0 "$RBWP" check peers.bin
expect 0 "$RBWP" stats peers.bin
expect_output ' 24 .* gpu peer copy channel$'
gpus 1 --side 31 --tiles 4 --gpus 2
expect_output 'in an iteration: 8 within one$'
gpus 2 --side 31 --nodes 2 --tiles 2
expect_output 'in an iteration: 4 within one, 4 from one to another$'
RBWP_FAKE_REFUSES=peer_enable gpus 2 --side 31 --tiles 2
expect_output 'in an iteration: 2 through memory of the host$'

# What cannot be is refused, and says why.
expect 1 "$STENCIL" --side 20 --nodes 4 --tiles 16
expect_error '8 x 8 tiles of 20 cells would be less than 3 wide: take fewer tiles'
expect 2 "$STENCIL" --nodes 17
expect 2 "$STENCIL" -bgwork 0
expect 2 "$STENCIL" --side
expect 2 "$STENCIL" --gpu vulkan

# A process that is killed leaves what its nodes had done.
expect 137 "$STENCIL" --side 90 --nodes 2 --kill 1 -bgworkprofile 2 -bgworkprofile_logfile killed.bin
expect 0 "$RBWP" repair -o repaired.bin killed.bin
expect 0 "$RBWP" check repaired.bin
expect 0 "$RBWP" stats repaired.bin
expect_output ' stencil piece$'
finish
