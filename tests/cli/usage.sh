# SPDX-License-Identifier: Apache-2.0
# Wrong use: exit 2, one line on standard error with a hint, nothing on standard output. Help and
# version: standard output, exit 0. Guards the conventions that scripts rely on.
. "$(dirname "$0")/lib.sh"
gaps=$GOLDEN/gaps.bin

wrong() {
    text=$1
    shift
    expect_exit 2 "$@"
    expect_error "$text"
    expect_error "--help"
    expect_one_line
    expect_no_output
}
wrong "no command given" "$RBWP"
wrong "unknown command 'dmp', did you mean 'dump'?" "$RBWP" dmp
wrong "no FILE given" "$RBWP" dump
wrong "no FILE given" "$dump"
wrong "no FILE given (see" "$RBWP" archive
wrong "no FILE given" "$RBWP" info --json
wrong "rbwp-dump: unknown option '--sapns', did you mean '--spans'?" "$dump" --sapns "$gaps"
wrong "rbwp dump: unknown option '-x'" "$RBWP" dump -x "$gaps"
wrong "option '--spans' takes no value" "$dump" --spans=1 "$gaps"
wrong "option '--from' needs a value: TIME" "$dump" "$gaps" --from
wrong "option '-o' needs a value: FILE" "$dump" "$gaps" -o
for time in x 1.5 +1.0000000001s 5m -x + - 99999999999999999999 9999999999s 1e3; do
    wrong "--from '$time'" "$dump" --from "$time" "$gaps"
done
wrong "--slot '256' is no slot" "$dump" --slot 256 "$gaps"
wrong "--kind 'cores' is no kind" "$dump" --kind cores "$gaps"
wrong "--kind '' is no kind" "$dump" --kind= "$gaps"
wrong "--thread '' is empty" "$dump" --thread= "$gaps"
wrong "--min-duration needs --spans" "$dump" --min-duration 1us "$gaps"
wrong "unknown option '--json'" "$dump" --json "$gaps"
# No word is suggested that nobody meant; a file in the place of a command is told from a misspelt one.
wrong "unknown option '--sort' (" "$RBWP" timeline --sort "$gaps"
wrong "'$gaps' is a file, a command comes first: rbwp info '$gaps' tells what is in it" "$RBWP" "$gaps"
wrong "unknown command 'nothing' (" "$RBWP" nothing

wrong "--color 'red' is none of auto, always, never" "$RBWP" processes --color red "$gaps"
wrong "--csv: 'trees' is no table that --json has" "$RBWP" processes --csv trees "$gaps"
wrong "--csv does not go with --json" "$RBWP" processes --csv processes --json "$gaps"
for command in info check repair; do
    wrong "--csv: 'trees' is no table that --json has" "$RBWP" $command --csv trees "$gaps"
    wrong "--csv does not go with --json" "$RBWP" $command --csv files --json "$gaps"
done
wrong "--csv and --quiet exclude each other" "$RBWP" check --csv files --quiet "$gaps"

helps() {
    expect_exit 0 "$@"
    expect_silence
    grep -q "^Usage: " "$work/out" || fail "no usage line from $*"
    [ "$(awk '{ if (length > 100) n++ } END { print n + 0 }' "$work/out")" -eq 0 ] || fail "long lines in $*"
}
helps "$RBWP" --help
helps "$RBWP" help
helps "$RBWP" -h
helps "$RBWP" dump --help
helps "$RBWP" help dump
helps "$dump" --help
helps "$dump" -h "$gaps"
helps "$RBWP" info --help
# Help has the words that an option takes, and the filters of a command no --to that is a format.
for words in "export:chrome csv firefox folded kineto legion ndjson npz parquet perfetto speedscope sqlite tsv" "merge:auto clocks monotonic zero realtime messages start" \
    "stats:slot sub-item thread node gpu kernel range counter message arg:"; do
    helps "$RBWP" ${words%%:*} --help
    tr -s '\n ' ' ' <"$work/out" | grep -q -- " ${words#*:} " || fail "no words in the help of ${words%%:*}"
done
for command in export merge; do
    helps "$RBWP" $command --help
    [ "$(grep -c -- ' --to ' "$work/out")" -eq 1 ] || fail "--to twice in the help of $command"
    grep -q -- "--until TIME  *before TIME" "$work/out" || fail "no --until in the help of $command"
done
for call in "$RBWP --version" "$RBWP version" "$RBWP dump --version" "$dump --version"; do
    expect_exit 0 $call
    grep -Eqx 'rbwp [0-9]+\.[0-9]+\.[0-9]+' "$work/out" || fail "version of $call"
done

# "--" ends the options, and options may follow operands.
cp "$gaps" "$work/--spans"
cd "$work" || exit 1
expect_exit 0 "$dump" -- --spans
grep -q '"file":"--spans"' "$work/out" || fail "-- does not end the options"
expect_exit 0 "$dump" "$gaps" --ndjson
[ "$(head -c 8 "$work/out")" = '{"file":' ] || fail "an option after an operand"

# Nothing depends on the locale.
expect_exit 0 "$RBWP" info "$gaps"
cp "$work/out" "$work/c.txt"
expect_exit 0 env LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo "$RBWP" info "$gaps"
cmp -s "$work/out" "$work/c.txt" || fail "the locale or time zone changes the output"

# Every option is in the manual.
for command in dump export info; do
    expect_exit 0 "$RBWP" $command --help
    for option in $(grep -o -- '--[a-z0-9-]*' "$work/out" | sort -u); do
        grep -Eq -- "^\.It Fl (. , )?${option#-}( |\$)" "$MAN/rbwp-$command.1" ||
            fail "$option of $command is not in its manual"
    done
done
finish
