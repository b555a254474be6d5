# SPDX-License-Identifier: Apache-2.0
# A file that is gzip is read by every command as the file itself, whatever its name, and a cut one
# as far as it goes, with exit 3; an output whose name ends in .gz is gzip, in every text form.
. "$(dirname "$0")/lib.sh"
name=multi_thread
cp "$GOLDEN/$name.bin" "$work/plain.bin"
gzip -nc "$work/plain.bin" >"$work/packed.bin"

for command in "dump" "dump --spans --ndjson" "info" "info --json" "check" "check --json" "stats" "stats --json" "timeline" "tail -n 5" \
    "export -t csv" "export -t perfetto" "report"; do
    mkdir -p "$work/a" "$work/b"
    cp "$work/plain.bin" "$work/a/in.bin"
    cp "$work/packed.bin" "$work/b/in.bin"
    (cd "$work/a" && "$RBWP" $command in.bin >"$work/want" 2>&1)
    (cd "$work/b" && "$RBWP" $command in.bin >"$work/got" 2>&1)
    code=$?
    [ $code -eq 0 ] && cmp -s "$work/want" "$work/got" || fail "$command of a packed file (exit $code)"
done
expect_exit 0 "$RBWP" diff --threshold 0 "$work/plain.bin" "$work/packed.bin"
"$RBWP" stats --json - <"$work/packed.bin" >"$work/got" 2>&1 || fail "packed standard input"
cat "$work/packed.bin" | "$RBWP" stats --json - >"$work/want" 2>&1 || fail "a packed pipe"
cmp -s "$work/want" "$work/got" || fail "a packed pipe is another"

# Where it is unpacked: /tmp without TMPDIR; a folder that is not there is named.
expect_exit 0 env -u TMPDIR "$RBWP" info "$work/packed.bin"
expect_exit 1 env TMPDIR="$work/none" "$RBWP" info "$work/packed.bin"
expect_error "$work/none"
expect_one_line

# split writes plain files; repair wants the file itself.
expect_exit 0 "$RBWP" split -o "$work/part.bin" --slot '*' "$work/packed.bin"
expect_exit 0 "$RBWP" check "$work/part.bin"
expect_exit 1 "$RBWP" repair "$work/packed.bin"
expect_error "is gzip; unpack it first: gunzip"
expect_one_line

head -c 1000 "$work/packed.bin" >"$work/cut.bin"
for command in dump info stats timeline "export -t csv"; do
    expect_exit 3 "$RBWP" $command "$work/cut.bin"
    expect_error "the compressed data are cut"
done
expect_exit 3 "$RBWP" check "$work/cut.bin"

for kind in csv tsv ndjson json folded pftrace; do
    expect_exit 0 "$RBWP" export -o "$work/out.$kind" "$work/plain.bin"
    expect_exit 0 "$RBWP" export -o "$work/out.$kind.gz" "$work/plain.bin"
    gzip -dc "$work/out.$kind.gz" | cmp -s - "$work/out.$kind" || fail "$kind.gz"
done
expect_exit 0 "$RBWP" stats -o "$work/out.txt" "$work/plain.bin"
expect_exit 0 "$RBWP" stats -o "$work/out.txt.gz" "$work/plain.bin"
gzip -dc "$work/out.txt.gz" | cmp -s - "$work/out.txt" || fail "stats -o X.gz"
expect_exit 2 "$RBWP" export -o "$work/out.nothing.gz" "$work/plain.bin"
finish
