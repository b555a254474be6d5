# SPDX-License-Identifier: Apache-2.0
# A folder stands for the RBWP files *.bin in it, in the order of their names, in every tool that
# takes several: the output is that of the files. Others of that name are named and left out; none at
# all is an error. More files than may be open at first are no trouble.
. "$(dirname "$0")/lib.sh"
mkdir "$work/run" "$work/run/below" "$work/run/folder.bin" "$work/other" "$work/text"
for name in gaps multi_thread straddle; do
    cp "$GOLDEN/$name.bin" "$work/run/b_$name.bin"
done
"$MAKE_EXTENDED" "$work/run/a.bin"
cp "$GOLDEN/gpu_work.bin" "$work/run/.hidden.bin"
cp "$GOLDEN/gpu_work.bin" "$work/run/below/gpu_work.bin"
cp "$GOLDEN/gpu_work.bin" "$work/run/gpu_work.trace"
echo words >"$work/run/c.bin"
cp "$GOLDEN/gaps.bin" "$work/other/z.bin"
echo words >"$work/text/z.bin"
cd "$work" || exit 1
files="run/a.bin run/b_gaps.bin run/b_multi_thread.bin run/b_straddle.bin"

for command in check dump "dump --spans --ndjson" info "info --json"; do
    expect_exit 0 "$RBWP" $command $files
    mv "$work/out" "$work/want"
    for folder in run run/; do
        expect_exit 0 "$RBWP" $command $folder
        cmp -s "$work/out" "$work/want" || fail "$command $folder is not its files"
        expect_error "run/c.bin: left out: no RBWP file"
        expect_error "run/folder.bin: left out"
    done
done

# Nodes of one run, on one axis.
mkdir nodes first
"$PYTHON" - "$here" "$GOLDEN" <<'P' || fail "making nodes"
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import rbwp_make as m
m.same_run("nodes", [f"{sys.argv[2]}/gaps.bin", f"{sys.argv[2]}/multi_thread.bin"] + [f"{sys.argv[2]}/straddle.bin"] * 98)
P
mv nodes/node0.bin first
files="first/node0.bin $(ls nodes/* | LC_ALL=C sort | tr '\n' ' ')"
for command in "stats --no-progress" "stats --json" timeline "export --no-progress --to=csv" "merge --no-progress --to=ndjson" \
    "report --no-progress -o -"; do
    expect_exit 0 "$RBWP" $command $files
    mv "$work/out" "$work/want"
    expect_exit 0 "$RBWP" $command first nodes
    cmp -s "$work/out" "$work/want" || fail "$command is not of the files in the folders"
done
expect_exit 0 "$RBWP" diff first nodes
expect_exit 0 sh -c "ulimit -Sn 40; '$RBWP' stats first nodes"
expect_exit 0 sh -c "ulimit -n 40; '$RBWP' stats first nodes" # so many are not open at the same time

# Nothing is there, or it cannot be looked at; an input is no output.
for command in check dump info stats timeline "export --to=csv" "merge --to=csv" "diff $GOLDEN/gaps.bin" "report -o $work/page.html"; do
    for bad in no_files text; do
        expect_exit 1 "$RBWP" $command "$bad"
        expect_error "$bad: is a folder without RBWP files named *.bin"
        expect_no_output
    done
done
expect_exit 1 "$RBWP" export -f --to csv -o nodes/node7.bin nodes
expect_error "is an input too"
finish
