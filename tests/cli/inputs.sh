# SPDX-License-Identifier: Apache-2.0
# The ways to name many files mean the same as naming each: patterns, lists with zero bytes, a tar archive
# on standard input, from a pipe too; what is wrong with them is told. Parts of a job (--shard) together
# are the whole of it, each file in just one, on the axis of the whole.
. "$(dirname "$0")/lib.sh"
mkdir "$work/deep"
check "making a job" "$MAKE_JOB" -r 40 -s 2 -o 5000 "$work/run" 3
for node in 0 1 2; do
    mv "$work/run/bgwork_$node.bin" "$work/run/b_$node.bin"
done
cp "$GOLDEN/gaps.bin" "$work/odd[1]*.bin"
echo words >"$work/run/c.bin"
echo words >"$work/run/notes"
cd "$work" || exit 1
files="run/b_0.bin run/b_1.bin run/b_2.bin"
sums() { # of what a command read, whatever its files are called
    sed -e 's,[^ "]*b_,b_,' -e 's,"source":"[^"]*",,' "$work/out"
}
expect_exit 0 "$RBWP" check $files
sums >want_check
expect_exit 0 "$RBWP" dump --spans --ndjson $files
sums >want_dump
same() {
    for command in check "dump --spans --ndjson"; do
        "$@" $command
        sums | cmp -s - "want_${command%% *}" || fail "$* $command is not of the files"
    done
}

# Patterns.
pattern() { expect_exit 0 "$RBWP" "$@" 'run/b_*.bin'; }
same pattern
expect_exit 0 "$RBWP" check 'odd[1]*.bin' # a file of that name
expect_exit 1 "$RBWP" stats 'run/none_*.bin'
expect_error "run/none_*.bin: there is no such file, and none that it matches"
expect_no_output

# Lists.
printf '%s\0' $files >list
listed() { expect_exit 0 "$RBWP" "$@" --files0-from list; }
same listed
listed_stdin() { expect_exit 0 sh -c '"$0" "$@" --files0-from=- <list' "$RBWP" "$@"; }
same listed_stdin
expect_exit 2 "$RBWP" stats --files0-from list run/b_0.bin
expect_error "'run/b_0.bin' beside --files0-from"
bad_list() {
    printf -- "$1" >list
    expect_exit 1 "$RBWP" check --files0-from list
    expect_error "$2"
    expect_no_output
}
bad_list 'run/b_0.bin\nrun/b_2.bin\n' "its names end in new lines; they are to end in zero bytes"
bad_list '' "there is no name in it"
bad_list 'run/b_0.bin\0\0' "a name in it is empty"
bad_list '-\0' "standard input is no name"
expect_exit 1 "$RBWP" check --files0-from none
expect_error "none: cannot be opened"

# Archives, of each kind that writers make; long names need entries of their own in each.
long=deep/$(printf '%0120d' 7)/$(printf '%0130d' 8)
mkdir -p "$long"
cp $files "$long"
piped() { expect_exit 0 sh -c 'cat run.tar | "$0" "$@" -' "$RBWP" "$@"; }
redirected() { expect_exit 0 sh -c '"$0" "$@" - <run.tar' "$RBWP" "$@"; }
for format in ustar pax gnu; do
    tar --format=$format -cf run.tar run || fail "tar"
    same piped
    expect_error "standard input: run/c.bin: left out: no RBWP file"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one file is left out"
    same redirected
done
for format in pax gnu; do
    tar --format=$format -cf run.tar deep || fail "tar"
    same piped
done
expect_exit 0 sh -c '"$0" check - <run/b_0.bin' "$RBWP" # no archive
# An entry whose record tells its size: that counts, not the header's; what is no number is none.
"$PYTHON" - <<'P'
import os, tarfile

size = os.path.getsize("run/b_0.bin")
for name, text in (("sized", f"{size}"), ("odd", f"{size}x"), ("odd2", "/7")):
    with tarfile.open(f"{name}.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        entry = tarfile.TarInfo("run/b_0.bin")
        entry.size, entry.pax_headers = size, {"size": text}
        tar.addfile(entry, open("run/b_0.bin", "rb"))
data = bytearray(open("sized.tar", "rb").read())
at = 1024  # of the entry behind its records: a size of 0, and the sum of the header that fits
data[at + 124:at + 136] = b"0" * 11 + b"\0"
data[at + 148:at + 156] = b" " * 8
data[at + 148:at + 156] = b"%06o\0 " % sum(data[at:at + 512])
open("sized.tar", "wb").write(data)
P
for name in sized odd odd2; do
    expect_exit 0 sh -c '"$0" stats --json - <"$1"' "$RBWP" $name.tar
    grep -q '"spans":[1-9]' "$work/out" || fail "$name.tar: no spans of it"
done
bad_tar() {
    expect_exit 1 sh -c '"$0" stats - <bad.tar' "$RBWP"
    expect_error "$1"
    expect_no_output
}
head -c 3000 run.tar >bad.tar
bad_tar "the tar archive cannot be read: it is cut"
tar --format=ustar -cf run.tar run
"$PYTHON" - <<'P'
whole = bytearray(open("run.tar", "rb").read())
at = 512  # of the first file's header, behind the folder's
whole[at + 124] ^= 1
open("bad.tar", "wb").write(whole)
P
bad_tar "a header in it is damaged"
tar -cf bad.tar run/c.bin run/notes
bad_tar "is a tar archive without RBWP files"
tar --hard-dereference -cf bad.tar run/b_0.bin run/b_0.bin
bad_tar "run/b_0.bin is twice in the tar archive"

# Parts.
spans() { cut -d, -f1-8 "$work/out" | tail -n +2; } # without ids, which are a part's own
for how in "merge --force-merge --to csv" "merge --align start --to csv"; do
    expect_exit 0 "$RBWP" $how $files
    spans | sort >whole
    : >parts
    for part in 0 1; do
        expect_exit 0 "$RBWP" $how --shard $part/2 $files
        spans >>parts
        [ "$part" = 0 ] || [ "$(spans | wc -l)" -lt "$(wc -l <whole)" ] || fail "a part is the whole"
    done
    sort parts | cmp -s - whole || fail "$how: the parts are not the whole"
done
expect_exit 0 "$RBWP" check --shard 2/3 $files
[ "$(grep -c . "$work/out")" = 1 ] && grep -q b_2 "$work/out" || fail "check --shard is not of the third file"
expect_exit 0 "$RBWP" stats --shard 3/4 $files
expect_error "part 3 of 4 has none of the 3 files"
expect_no_output
alone() { expect_exit 0 env -i "$@" "$RBWP" check --shard auto $files; }
for variables in RBWP_SHARD=1/3 "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3" "PMI_RANK=1 PMI_SIZE=3" \
    "SLURM_PROCID=1 SLURM_NTASKS=3" "PMI_RANK=1 PMI_SIZE=3 SLURM_PROCID=0 SLURM_NTASKS=1"; do
    alone $variables
    grep -q b_1 "$work/out" || fail "$variables: not the second file"
done
for wrong in 3/3 1 /3 1/ 1/0 -1/3 x; do
    expect_exit 2 "$RBWP" check --shard=$wrong $files
    expect_error "--shard '$wrong'"
done
expect_exit 2 env -i "$RBWP" check --shard auto $files
expect_error "finds no launcher"
expect_exit 2 env -i SLURM_PROCID=3 SLURM_NTASKS=3 "$RBWP" check --shard auto $files
expect_error "SLURM_PROCID and SLURM_NTASKS, which are '3' and '3'"
finish
